//! A recorder that is reached through its HTTP API.

use std::time::Duration;

use bytes::Bytes;
use remembrancer_schema::ContentHash;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use serde::Deserialize;

use super::{DeliveryError, Recorder, Taken, blob_hash};

/// Longest time for a connection, and for an answer.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most hashes of one question for blobs that are missing.
const MISSING_HASHES_MAX: usize = 1000;

/// What the types of a recorder's problems begin with.
const PROBLEM: &str = "urn:remembrancer:problem:";

/// Why a recorder cannot be addressed.
#[derive(Debug, thiserror::Error)]
pub enum HttpRecorderError {
    /// Not an address.
    #[error("{0:?} is not the address of a recorder, such as http://127.0.0.1:7171")]
    Address(String),
    /// An address with a user or a password in it.
    #[error(
        "the recorder's address holds a user or a password: leave them out, and give the key with --key or in REMEMBRANCER_KEY"
    )]
    Credentials,
    /// A key with characters that no header takes.
    #[error("the key has characters that no key has")]
    Key,
    /// The client could not be made.
    #[error("no HTTP client can be made: {0}")]
    Client(reqwest::Error),
}

/// A recorder at an address.
pub struct HttpRecorder {
    client: Client,
    base: Url,
    /// Marked as sensitive: it is never shown.
    authorization: HeaderValue,
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
}

#[derive(Deserialize)]
struct MissingAnswer {
    missing: Vec<ContentHash>,
}

impl HttpRecorder {
    /// The recorder at a base address, with a key that may write.
    pub fn new(address: &str, key: &str) -> Result<Self, HttpRecorderError> {
        let bad = || HttpRecorderError::Address(address.to_owned());
        let base = format!("{}/", address.trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|_| bad())?;
        // Before the address is shown anywhere.
        if !base.username().is_empty() || base.password().is_some() {
            return Err(HttpRecorderError::Credentials);
        }
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(bad());
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| HttpRecorderError::Key)?;
        authorization.set_sensitive(true);
        crate::tls::install();
        let mut client = Client::builder()
            .connect_timeout(CONNECT_TIME_MAX)
            .timeout(ANSWER_TIME_MAX)
            .redirect(redirect::Policy::none());
        if crate::tls::is_loopback(&base) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(HttpRecorderError::Client)?;
        Ok(Self {
            client,
            base,
            authorization,
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        media: &'static str,
        body: Bytes,
    ) -> Result<Bytes, DeliveryError> {
        let address = self.base.join(path).map_err(|error| later(None, error))?;
        let request = self
            .client
            .request(method, address)
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, media)
            .body(body);
        // Without the address, which may name what is not to be logged.
        let response = request
            .send()
            .await
            .map_err(|error| later(None, told(&error.without_url())))?;
        let status = response.status();
        let after = retry_after(&response);
        let answer = read(response).await?;
        match status {
            _ if status.is_success() => Ok(answer),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(later(
                None,
                format!(
                    "the recorder refuses the key ({status}): {}",
                    problem(&answer)
                ),
            )),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Err(later(
                None,
                format!("no recorder answers at this address ({status})"),
            )),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Err(later(
                after,
                format!("the recorder is busy ({status}): {}", problem(&answer)),
            )),
            // Whatever stands between may answer anything: only a recorder's own word empties the spool.
            StatusCode::PAYLOAD_TOO_LARGE => Err(DeliveryError::Refused(problem(&answer))),
            _ if status.is_client_error() && is_problem(&answer) => {
                Err(DeliveryError::Refused(problem(&answer)))
            }
            _ => Err(later(
                after,
                format!("the recorder answers {status}: {}", problem(&answer)),
            )),
        }
    }
}

fn later(after: Option<Duration>, reason: impl ToString) -> DeliveryError {
    DeliveryError::Later {
        after,
        reason: reason.to_string(),
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

async fn read(mut response: Response) -> Result<Bytes, DeliveryError> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(chunk)) if bytes.len() + chunk.len() <= ANSWER_BYTES_MAX => {
                bytes.extend_from_slice(&chunk)
            }
            Ok(Some(_)) => return Err(later(None, "the recorder's answer is too long")),
            Err(error) => return Err(later(None, told(&error.without_url()))),
        }
    }
}

/// Whether an answer is a recorder's problem report.
fn is_problem(answer: &[u8]) -> bool {
    serde_json::from_slice::<ProblemAnswer>(answer)
        .is_ok_and(|problem| problem.r#type.starts_with(PROBLEM))
}

/// The name of a problem, or what else the answer is.
fn problem(answer: &[u8]) -> String {
    match serde_json::from_slice::<ProblemAnswer>(answer) {
        Ok(problem) => slug(&problem.r#type),
        Err(_) => "an answer that is no problem report".to_owned(),
    }
}

fn slug(kind: &str) -> String {
    crate::cut::prefix(kind.rsplit(':').next().unwrap_or_default(), 100).to_owned()
}

#[async_trait::async_trait]
impl Recorder for HttpRecorder {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<(), DeliveryError> {
        for some in blobs.chunks(MISSING_HASHES_MAX) {
            let hashes: Vec<ContentHash> = some.iter().map(|bytes| blob_hash(bytes)).collect();
            let question = serde_json::to_vec(&hashes).map_err(|error| later(None, error))?;
            let answer = self
                .send(
                    Method::POST,
                    "v1/blobs/missing",
                    "application/json",
                    question.into(),
                )
                .await?;
            let answer: MissingAnswer =
                serde_json::from_slice(&answer).map_err(|error| later(None, error))?;
            for (hash, bytes) in hashes.iter().zip(some) {
                if !answer.missing.contains(hash) {
                    continue;
                }
                let path = format!("v1/blobs/{hash}");
                let body = Bytes::copy_from_slice(bytes);
                match self
                    .send(Method::PUT, &path, "application/octet-stream", body)
                    .await
                {
                    Ok(_) => {}
                    // The events that name it are refused then, and that is noted.
                    Err(DeliveryError::Refused(problem)) => {
                        tracing::warn!(problem, bytes = bytes.len(), "the recorder refuses a blob");
                    }
                    Err(later) => return Err(later),
                }
            }
        }
        Ok(())
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        // An array and not lines: arguments are kept as sent, and may hold newlines between their members.
        let mut body =
            Vec::with_capacity(events.iter().map(|event| event.len() + 1).sum::<usize>() + 2);
        body.push(b'[');
        for (number, event) in events.iter().enumerate() {
            if number > 0 {
                body.push(b',');
            }
            body.extend_from_slice(event);
        }
        body.push(b']');
        let answer = self
            .send(Method::POST, "v1/events", "application/json", body.into())
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
                _ => Taken::Rejected(
                    result
                        .problem
                        .map_or_else(|| "rejected".to_owned(), |problem| slug(&problem.r#type)),
                ),
            });
        Ok(taken.collect())
    }
}

#[cfg(test)]
mod tests;
