//! The HTTP API of a recorder, whatever carries the requests.

use std::time::Duration;

use bytes::Bytes;
use remembrancer_schema::ContentHash;
use serde::Deserialize;

use super::{DeliveryError, Recorder, Rejection, Taken, later};

/// Longest answer that is read, in bytes.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most hashes of one question for blobs that are missing.
const MISSING_HASHES_MAX: usize = 1000;
/// Longest detail of a problem that is kept, in bytes.
const DETAIL_BYTES_MAX: usize = 300;
/// What the types of a recorder's problems begin with.
const PROBLEM: &str = "urn:remembrancer:problem:";

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// The method as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// An answer of whoever stands at the recorder's address.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header `Retry-After`, where there is one.
    pub retry_after: Option<String>,
    /// The body, at most [`ANSWER_BYTES_MAX`] bytes.
    pub body: Bytes,
}

/// Carries requests to a recorder, and the key with them.
#[async_trait::async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request to a path below the recorder's address, without a slash before it, and waits for the answer.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        media: &'static str,
        body: Bytes,
    ) -> Result<Answer, DeliveryError>;
}

/// A recorder that is reached through its HTTP API.
pub struct ApiRecorder<T> {
    transport: T,
}

#[derive(Deserialize)]
struct BatchAnswer {
    results: Vec<ResultAnswer>,
}

#[derive(Deserialize)]
struct ResultAnswer {
    status: String,
    problem: Option<ProblemAnswer>,
}

#[derive(Deserialize)]
struct ProblemAnswer {
    r#type: String,
    #[serde(default)]
    detail: String,
}

#[derive(Deserialize)]
struct MissingAnswer {
    missing: Vec<ContentHash>,
}

impl From<ProblemAnswer> for Rejection {
    fn from(problem: ProblemAnswer) -> Self {
        let slug = problem.r#type.rsplit([':', '/']).next();
        Self {
            problem: crate::cut::prefix(slug.unwrap_or_default(), 100).to_owned(),
            detail: crate::cut::prefix(&problem.detail, DETAIL_BYTES_MAX).to_owned(),
        }
    }
}

impl<T: Transport> ApiRecorder<T> {
    /// The recorder that the transport leads to.
    pub fn over(transport: T) -> Self {
        Self { transport }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        media: &'static str,
        body: Bytes,
    ) -> Result<Bytes, DeliveryError> {
        let answer = self.transport.exchange(method, path, media, body).await?;
        let (status, body) = (answer.status, answer.body);
        let after = answer.retry_after.and_then(|text| text.trim().parse().ok());
        let after = after.map(Duration::from_secs);
        let said = || rejection(&body);
        match status {
            200..=299 => Ok(body),
            401 | 403 => Err(later(
                None,
                format!("the recorder refuses the key ({status}): {}", said()),
            )),
            404 | 405 => Err(later(
                None,
                format!("no recorder answers at this address ({status})"),
            )),
            408 | 429 => Err(later(
                after,
                format!("the recorder is busy ({status}): {}", said()),
            )),
            // Whatever stands between may answer anything: only a recorder's own word empties the spool.
            413 => Err(DeliveryError::Refused(said())),
            400..=499 if is_problem(&body) => Err(DeliveryError::Refused(said())),
            _ => Err(later(
                after,
                format!("the recorder answers {status}: {}", said()),
            )),
        }
    }

    async fn missing(&self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>, DeliveryError> {
        let question = serde_json::to_vec(hashes).map_err(|error| later(None, error))?;
        let path = "v1/blobs/missing";
        let media = "application/json";
        let answer = self
            .send(Method::Post, path, media, question.into())
            .await?;
        let answer: MissingAnswer =
            serde_json::from_slice(&answer).map_err(|error| later(None, error))?;
        Ok(answer.missing)
    }
}

/// Whether an answer is a recorder's problem report.
fn is_problem(answer: &[u8]) -> bool {
    serde_json::from_slice::<ProblemAnswer>(answer)
        .is_ok_and(|problem| problem.r#type.starts_with(PROBLEM))
}

/// What a problem report says, or what else the answer is.
fn rejection(answer: &[u8]) -> Rejection {
    match serde_json::from_slice::<ProblemAnswer>(answer) {
        Ok(problem) => problem.into(),
        Err(_) => Rejection::named("an answer that is no problem report"),
    }
}

/// The body of a request that appends events. An array and not lines: arguments are kept as sent, and may hold newlines between
/// their members.
fn array(events: &[&[u8]]) -> Vec<u8> {
    let length = events.iter().map(|event| event.len() + 1).sum::<usize>() + 2;
    let mut body = Vec::with_capacity(length);
    body.push(b'[');
    for (number, event) in events.iter().enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(event);
    }
    body.push(b']');
    body
}

#[async_trait::async_trait]
impl<T: Transport> Recorder for ApiRecorder<T> {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError> {
        let mut stored = 0;
        for some in blobs.chunks(MISSING_HASHES_MAX) {
            let hashes: Vec<ContentHash> =
                some.iter().map(|bytes| ContentHash::of(bytes)).collect();
            let missing = self.missing(&hashes).await?;
            for (hash, bytes) in hashes.iter().zip(some) {
                if !missing.contains(hash) {
                    stored += 1;
                    continue;
                }
                let path = format!("v1/blobs/{hash}");
                let body = Bytes::copy_from_slice(bytes);
                let media = "application/octet-stream";
                match self.send(Method::Put, &path, media, body).await {
                    Ok(_) => stored += 1,
                    // The events that name it are refused then, and that is noted.
                    Err(DeliveryError::Refused(why)) => tracing::warn!(
                        problem = why.problem,
                        bytes = bytes.len(),
                        "the recorder refuses a blob"
                    ),
                    Err(later) => return Err(later),
                }
            }
        }
        Ok(stored)
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        let body = array(events).into();
        let answer = self
            .send(Method::Post, "v1/events", "application/json", body)
            .await?;
        let answer: BatchAnswer =
            serde_json::from_slice(&answer).map_err(|error| later(None, error))?;
        if answer.results.len() != events.len() {
            return Err(later(
                None,
                "the recorder's answer has not one result per event",
            ));
        }
        let taken = answer
            .results
            .into_iter()
            .map(|result| match result.status.as_str() {
                "recorded" | "duplicate" => Taken::Recorded,
                _ => Taken::Rejected(match result.problem {
                    Some(problem) => problem.into(),
                    None => Rejection::named("rejected"),
                }),
            });
        Ok(taken.collect())
    }
}
