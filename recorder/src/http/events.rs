//! `POST /v1/events`: one event, an array of events, or one event a line.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use remembrancer_schema::receipt::ReceiptLine;
use remembrancer_schema::{EntryHash, EventId};
use serde::Serialize;

use super::access::{self, Answered, Caller};
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use super::{body, method_not_allowed};
use crate::error::LedgerError;
use crate::incoming::Outcome;
use cutting::{Checked, parse};

/// Room that the answer to one event fits in, receipt included.
const ANSWER_BYTES_USUAL: usize = 1024;

/// What became of one event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub(crate) enum EventResult {
    /// Stored, durably.
    Recorded(Place),
    /// The same event was stored before.
    Duplicate(Place),
    /// Not stored.
    Rejected {
        /// The event's id, where it could be read.
        id: Option<EventId>,
        /// Why.
        problem: Problem,
    },
}

/// Where an event stands.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    /// The event's id.
    id: EventId,
    /// Index in the ledger, from 0.
    index: u64,
    /// Position in the session, from 0.
    sequence: u64,
    /// Hash of its entry.
    hash: EntryHash,
}

/// The answer to a batch.
#[derive(Debug, Serialize)]
pub(crate) struct BatchAnswer {
    /// One per event, in order.
    results: Vec<EventResult>,
    /// Signed note over what is recorded; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
}

/// The answer to one event.
#[derive(Debug, Serialize)]
pub(crate) struct EventAnswer {
    #[serde(flatten)]
    result: EventResult,
    /// Signed note over the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<String>,
}

#[utoipa::path(
    post, path = "/v1/events", operation_id = "post_events", tag = "record",
    request_body(
        content((super::shapes::Events = "application/json"), (String = "application/x-ndjson")),
        description = "One event, an array of events, or one event a line"
    ),
    responses(
        (status = 200, description = "A batch: one result per event; or one event that is recorded already", body = super::shapes::EventsAnswer),
        (status = 201, description = "One event, recorded", body = super::shapes::EventAnswer),
        (status = "4XX", description = "Nothing was stored", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The ledger does not write at the moment: send again what was not acknowledged", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn post(State(state): State<ApiState>, request: Request) -> Response {
    access::guarded(
        &state,
        request,
        true,
        async |request, workspace, caller| match take(&state, request, &workspace, &caller).await {
            Ok(answered) => answered,
            Err(problem) => Answered {
                response: problem.into_response(),
                key_was_valid: false,
            },
        },
    )
    .await
}

/// The same address with a method that it does not take.
pub(super) async fn other_method(State(state): State<ApiState>, request: Request) -> Response {
    access::guarded(&state, request, false, async |_, _, _| Answered {
        response: method_not_allowed().await.into_response(),
        key_was_valid: false,
    })
    .await
}

async fn take(
    state: &ApiState,
    request: Request,
    workspace: &Workspace,
    caller: &Caller,
) -> Result<Answered, Problem> {
    let headers = request.headers();
    let lines = is_lines(headers)?;
    let encoding = body::Encoding::of(headers)?;
    let reading = body::read(
        state,
        encoding,
        request.into_body(),
        state.limits.batch_bytes_max,
        Slug::BatchTooLarge,
    );
    let mut reading = std::pin::pin!(reading);
    // Most bodies came along with their request, and the group that takes their events reads the row of the key. One that is
    // still to be sent is waited for only if that row is good.
    let begun = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    let upload = match begun {
        Poll::Ready(upload) => upload?,
        Poll::Pending => {
            access::require_valid(workspace, caller).await?;
            reading.await?
        }
    };
    let (is_single, checked, place) = parse(upload, lines, &state.limits).await?;
    let reaches_ledger = checked.iter().any(Result::is_ok);
    let (results, receipt) = append(workspace, caller, checked).await?;
    drop(place);
    Ok(Answered {
        response: respond(is_single, results, receipt)?,
        key_was_valid: reaches_ledger,
    })
}

fn respond(
    is_single: bool,
    mut results: Vec<EventResult>,
    receipt: Option<String>,
) -> Result<Response, Problem> {
    if !is_single {
        return json(StatusCode::OK, &BatchAnswer { results, receipt });
    }
    match results.pop() {
        Some(EventResult::Rejected { problem, .. }) => Err(problem),
        Some(result) => {
            let status = match &result {
                EventResult::Recorded(_) => StatusCode::CREATED,
                _ => StatusCode::OK,
            };
            json(status, &EventAnswer { result, receipt })
        }
        None => Err(Problem::internal(&"an event has no result")),
    }
}

/// An answer in JSON, whose bytes are moved once rather than each time that they outgrow their room.
fn json(status: StatusCode, answer: &impl Serialize) -> Result<Response, Problem> {
    let mut bytes = Vec::with_capacity(ANSWER_BYTES_USUAL);
    serde_json::to_writer(&mut bytes, answer).map_err(|error| Problem::internal(&error))?;
    let media = HeaderValue::from_static("application/json");
    Ok((status, [(header::CONTENT_TYPE, media)], bytes).into_response())
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

async fn append(
    workspace: &Workspace,
    caller: &Caller,
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

mod cutting;
