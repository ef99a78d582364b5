//! `POST /v1/events`: one event, an array of events, or one event a line.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use remembrancer_schema::receipt::ReceiptLine;
use remembrancer_schema::{EntryHash, EventId};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::access::{Caller, KeyWasValid};
use super::body;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::error::LedgerError;
use crate::incoming::{Outcome, OwnedEvent};
use crate::limits::Limits;

/// Bodies above this size are cut and parsed where they do not hold up other requests.
const PARSE_INLINE_BYTES_MAX: usize = 64 * 1024;

/// What became of one event.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case", tag = "status")]
pub(crate) enum EventResult {
    /// Stored, durably.
    Recorded(Place),
    /// The same event was stored before.
    Duplicate(Place),
    /// Not stored.
    Rejected {
        /// The event's id, where it could be read.
        #[schema(value_type = Option<String>)]
        id: Option<EventId>,
        /// Why.
        problem: Problem,
    },
}

/// Where an event stands.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Place {
    /// The event's id.
    #[schema(value_type = String)]
    id: EventId,
    /// Index in the ledger, from 0.
    index: u64,
    /// Position in the session, from 0.
    sequence: u64,
    /// Hash of its entry.
    #[schema(value_type = String)]
    hash: EntryHash,
}

/// The answer to a batch.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BatchAnswer {
    /// One per event, in order.
    results: Vec<EventResult>,
    /// Signed note over what is recorded; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
}

/// The answer to one event.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventAnswer {
    #[serde(flatten)]
    result: EventResult,
    /// Signed note over the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
}

/// A body, cut into events.
enum Batch {
    One(Bytes),
    Many(Vec<Bytes>),
}

/// One event of a body after its own check.
type Checked = Result<OwnedEvent, (Option<EventId>, Problem)>;

#[utoipa::path(
    post, path = "/v1/events", tag = "record",
    request_body(
        content((serde_json::Value = "application/json"), (String = "application/x-ndjson")),
        description = "One event, an array of events, or one event a line"
    ),
    responses(
        (status = 200, description = "A batch: one result per event; or one event that is recorded already", body = BatchAnswer),
        (status = 201, description = "One event, recorded", body = EventAnswer),
        (status = "4XX", description = "Nothing was stored", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn post(
    State(state): State<ApiState>,
    workspace: Workspace,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let lines = is_lines(&headers)?;
    let encoding = body::Encoding::of(&headers)?;
    let upload = body::read(
        &state,
        encoding,
        body,
        state.limits.batch_bytes_max,
        Slug::BatchTooLarge,
    )
    .await?;
    let limits = state.limits.clone();
    let body::Upload { bytes, place } = upload;
    let is_long = bytes.len() > PARSE_INLINE_BYTES_MAX;
    // The work goes on when its client leaves, and with it the memory that it takes: its place too.
    let working = Arc::clone(&place);
    let work = move || -> Result<(bool, Vec<Checked>), Problem> {
        let _working = working;
        let (is_single, mut checked) = match cut(&bytes, lines, &limits)? {
            Batch::One(event) => (true, vec![check(event)]),
            Batch::Many(events) => (false, events.into_iter().map(check).collect()),
        };
        detach(&mut checked, bytes.len());
        Ok((is_single, checked))
    };
    let (is_single, checked) = if is_long {
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| Problem::internal(&error))??
    } else {
        work()?
    };
    let reaches_ledger = checked.iter().any(Result::is_ok);
    let (results, receipt) = append(&workspace, caller, checked).await?;
    drop(place);
    let mut response = respond(is_single, results, receipt)?;
    if reaches_ledger {
        response.extensions_mut().insert(KeyWasValid);
    }
    Ok(response)
}

fn respond(
    is_single: bool,
    mut results: Vec<EventResult>,
    receipt: Option<String>,
) -> Result<Response, Problem> {
    if !is_single {
        return Ok(Json(BatchAnswer { results, receipt }).into_response());
    }
    match results.pop() {
        Some(EventResult::Rejected { problem, .. }) => Err(problem),
        Some(result) => {
            let status = match &result {
                EventResult::Recorded(_) => StatusCode::CREATED,
                _ => StatusCode::OK,
            };
            Ok((status, Json(EventAnswer { result, receipt })).into_response())
        }
        None => Err(Problem::internal(&"an event has no result")),
    }
}

/// Whether the body is one event a line.
fn is_lines(headers: &HeaderMap) -> Result<bool, Problem> {
    let media = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str().unwrap_or_default());
    let essence = media
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(false)
    } else if essence.eq_ignore_ascii_case("application/x-ndjson") {
        Ok(true)
    } else {
        Err(Problem::new(
            Slug::UnsupportedMediaType,
            "events are application/json (one event or an array) or application/x-ndjson (one a line)",
        ))
    }
}

fn cut(bytes: &Bytes, lines: bool, limits: &Limits) -> Result<Batch, Problem> {
    let max = limits.batch_events_max;
    // Counted before anything is made of them: a body can hold millions of empty ones.
    let events: Vec<&[u8]> = if lines {
        bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .take(max.saturating_add(1))
            .collect()
    } else if bytes.trim_ascii_start().first() == Some(&b'[') {
        let mut items = Items {
            events: Vec::new(),
            max,
        };
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = items
            .deserialize_from(&mut reader)
            .and_then(|()| reader.end());
        match read {
            // Nothing after the first event too many is looked at.
            Err(_) if items.events.len() > max => {}
            Err(error) => {
                return Err(Problem::new(
                    Slug::NotJson,
                    format!("the body is not a JSON array: {error}; nothing was stored"),
                ));
            }
            Ok(()) => {}
        }
        items.events
    } else {
        return Ok(Batch::One(bytes.clone()));
    };
    if events.len() > max {
        return Err(Problem::new(
            Slug::BatchTooLarge,
            format!("the batch has more than {max} events; nothing was stored"),
        ));
    }
    let events = events.into_iter().map(|event| bytes.slice_ref(event));
    Ok(Batch::Many(events.collect()))
}

/// The items of an array, read no further than the first one too many.
struct Items<'a> {
    events: Vec<&'a [u8]>,
    max: usize,
}

impl<'a> Items<'a> {
    fn deserialize_from<D: Deserializer<'a>>(&mut self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for &mut Items<'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(event) = items.next_element::<&'a RawValue>()? {
            self.events.push(event.get().as_bytes());
            if self.events.len() > self.max {
                return Err(A::Error::custom("too many events"));
            }
        }
        Ok(())
    }
}

/// Events are views into their body and keep all of it in memory. Where most of a body is not theirs they get their own
/// bytes, so that what waits in the ledger's queue is never much more than the queue is charged for.
fn detach(checked: &mut [Checked], body_bytes: usize) {
    let good = || checked.iter().filter_map(|event| event.as_ref().ok());
    let charged: usize = good().map(|event| event.data.len()).sum();
    if charged >= body_bytes / 2 {
        return;
    }
    for event in checked.iter_mut().filter_map(|event| event.as_mut().ok()) {
        event.data = Bytes::copy_from_slice(&event.data);
    }
}

fn check(bytes: Bytes) -> Checked {
    OwnedEvent::parse(bytes.clone()).map_err(|error| (readable_id(&bytes), error.into()))
}

/// The id of an event that is refused, so that the client can tell which one it was.
fn readable_id(bytes: &[u8]) -> Option<EventId> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    serde_json::from_slice::<Named<'_>>(bytes)
        .ok()?
        .id
        .parse()
        .ok()
}

async fn append(
    workspace: &Workspace,
    caller: Caller,
    checked: Vec<Checked>,
) -> Result<(Vec<EventResult>, Option<String>), Problem> {
    let mut names = Vec::with_capacity(checked.len());
    let mut good = Vec::with_capacity(checked.len());
    for event in checked {
        names.push(match event {
            Ok(event) => {
                let name = (event.id.clone(), event.session.clone());
                good.push(event);
                Ok(name)
            }
            Err(refused) => Err(refused),
        });
    }
    let key = Arc::clone(&caller.id);
    let appended = workspace.ledger().try_append_with(good, key).await;
    if matches!(appended, Err(LedgerError::KeyRefused)) {
        workspace.reader().keys().forget(&caller.id);
    }
    let mut outcomes = appended?.into_iter();
    let mut lines = Vec::new();
    let mut results = Vec::with_capacity(names.len());
    for name in names {
        let (id, session) = match name {
            Ok(name) => name,
            Err((id, problem)) => {
                workspace.ledger().metrics().rejected(problem.kind);
                results.push(EventResult::Rejected { id, problem });
                continue;
            }
        };
        let outcome = outcomes
            .next()
            .ok_or_else(|| Problem::internal(&"an event has no outcome"))?;
        if let Some((index, sequence, hash)) = outcome.place() {
            lines.push(ReceiptLine {
                index,
                session,
                sequence,
                hash,
            });
        }
        results.push(match outcome {
            Outcome::Recorded {
                index,
                sequence,
                hash,
            } => EventResult::Recorded(Place {
                id,
                index,
                sequence,
                hash,
            }),
            Outcome::Duplicate {
                index,
                sequence,
                hash,
            } => EventResult::Duplicate(Place {
                id,
                index,
                sequence,
                hash,
            }),
            Outcome::Rejected(rejection) => EventResult::Rejected {
                id: Some(id),
                problem: rejection.into(),
            },
        });
    }
    let receipt = (!lines.is_empty()).then(|| workspace.ledger().receipt(&lines));
    Ok((results, receipt))
}

#[cfg(test)]
mod tests;
