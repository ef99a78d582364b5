//! An answer as events.

use remembrancer_schema::payload::{EventType, ModelResponded, RequestedCall, ToolCalled, Witness};
use serde_json::json;

use super::{CallPlace, fitting, provider};
use crate::conversation::{Conversation, UnsentCall};
use crate::model_api::{CallResult, ModelCall, ModelResponse};
use crate::{SessionWriter, WriteError};

/// Most calls that a response lists; each is an event of its own besides.
const LISTED_CALLS_MAX: usize = 250;

/// What the recorded context of a request is that the provider edited: it edits what it sends on.
const SNAPSHOT: &str = "as the client sent it, before the edit";

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With the end of the answer's body.
    Whole,
    /// The client went before the answer's end.
    ClientLeft,
    /// The connection to the provider broke before the answer's end.
    UpstreamBroke,
    /// The connection to the provider broke before an answer began.
    Unreachable,
    /// The answer was longer than what is read of one.
    TooLong,
}

impl Ending {
    /// The ending as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::ClientLeft => "client_left",
            Self::UpstreamBroke => "upstream_broke",
            Self::Unreachable => "unreachable",
            Self::TooLong => "too_long",
        }
    }
}

/// What came back for a request.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The status; none if no answer came.
    pub status: Option<u16>,
    /// Whether the body is a stream of events.
    pub is_stream: bool,
    /// The body, as far as it came.
    pub body: &'a [u8],
    /// How the exchange ended.
    pub ending: Ending,
    /// When it ended: RFC 3339.
    pub time: &'a str,
}

/// Writes the events of an answer, and returns it if it is one.
pub(super) fn write(
    run: &str,
    place: &CallPlace,
    answered: Answered<'_>,
    writer: &mut SessionWriter,
    known: &mut Conversation,
) -> Result<Option<ModelResponse>, WriteError> {
    let read = match answered.status {
        Some(200..=299) if !answered.body.is_empty() => {
            place.api.response(answered.body, answered.is_stream)
        }
        _ => Ok(ModelResponse::default()),
    };
    let is_success = matches!(answered.status, Some(200..=299));
    let (mut response, unreadable) = match read {
        Ok(response) => (response, None),
        Err(error) => (ModelResponse::default(), Some(error.to_string())),
    };
    // A client may leave a stream behind its last event without waiting for the end of the connection.
    let is_over = answered.ending == Ending::Whole
        || (answered.is_stream && answered.ending == Ending::ClientLeft);
    let is_whole = is_over && response.is_whole;
    let failed = !is_success || !is_whole || response.error.is_some();
    let error = match is_success {
        true => response.error.clone(),
        false => error_kind(answered.body),
    };
    if failed {
        let told = json!({
            "turn": place.turn,
            "status": answered.status,
            "ending": answered.ending.as_str(),
            "error": error.as_deref().map(fitting::name),
            "unreadable": unreadable.as_deref().map(fitting::name),
            "bytes": answered.body.len(),
        });
        let kind = EventType::Custom("custom.model_failed".to_owned());
        writer.push(
            &format!("{run}.{}.failed", place.turn),
            &kind,
            Some(answered.time),
            &told,
        )?;
    }
    let says_something =
        response.id.is_some() || !response.text.is_empty() || !response.calls.is_empty();
    if !is_success || !says_something {
        return Ok(None);
    }
    if !is_whole {
        // A call that was broken off was never sent: nobody can carry it out.
        response.calls.retain(|call| {
            serde_json::from_str::<&serde_json::value::RawValue>(&call.arguments).is_ok()
        });
    }
    let broken = (!is_whole).then_some(answered.ending);
    known.answered(response.id.as_deref(), &response.parts);
    // Renamed before anything is written: the response lists the calls under the ids of their own events.
    for (number, call) in response.calls.iter_mut().enumerate() {
        let suffix = format!("{}.{number}", place.turn);
        call.call_id = known.called(&call.call_id, &call.tool, &suffix);
    }
    write_response(run, place, &response, broken, answered.time, writer)?;
    for call in &response.calls {
        write_call(&unsent(place, call, answered.time), writer)?;
    }
    push_results(
        std::mem::take(&mut response.results),
        answered.time,
        writer,
        known,
    )?;
    for (number, edit) in response.edits.iter().enumerate() {
        let id = |what| format!("{run}.{}.{what}.{}", place.turn, number + 1);
        // They are applied one after the other: what the later ones took was there when this one was done.
        let later = response.edits[number + 1..].iter();
        let later = later.filter_map(|edit| edit.cleared_tokens);
        let later = later.fold(0, u64::saturating_add);
        let mutated = provider::edited(place, edit, later, &response);
        writer.push(
            &id("edited"),
            &EventType::ContextMutated,
            Some(answered.time),
            &mutated,
        )?;
        let (told, _) = fitting::json(&edit.told).map_err(|error| WriteError::Json {
            id: id("told"),
            error,
        })?;
        let kind = EventType::Custom("custom.server_edit".to_owned());
        let told = json!({ "turn": place.turn, "edit": told, "snapshot": SNAPSHOT });
        writer.push(&id("told"), &kind, Some(answered.time), &told)?;
    }
    Ok(Some(response))
}

/// The kind of error that a refusal names, in the words of all these APIs. Its message is left out: it may repeat a part of a key.
fn error_kind(body: &[u8]) -> Option<String> {
    let told: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = told.get("error").unwrap_or(&told);
    let named = ["type", "code"]
        .into_iter()
        .find_map(|field| error.get(field)?.as_str());
    named.map(str::to_owned)
}

fn write_response(
    run: &str,
    place: &CallPlace,
    response: &ModelResponse,
    broken: Option<Ending>,
    time: &str,
    writer: &mut SessionWriter,
) -> Result<(), WriteError> {
    let mut blobs = Vec::new();
    let (mut room, mut text) = (fitting::INLINE_BYTES_MAX, Vec::new());
    for whole in &response.text {
        let needed = fitting::escaped_len(whole);
        if needed <= room {
            room -= needed;
            writer.said(whole);
            text.push(whole.clone());
        } else {
            let hash = writer.blob(whole.as_bytes().to_vec(), &mut blobs);
            text.push(format!("[cut: {} bytes, BLAKE3 {hash}]", whole.len()));
        }
    }
    // A response of so many texts is cut too: each takes room even where it is cut.
    text.truncate(LISTED_CALLS_MAX);
    let calls = response
        .calls
        .iter()
        .take(LISTED_CALLS_MAX)
        .map(|call| RequestedCall {
            call_id: call.call_id.clone(),
            tool: cut_to(&call.tool, 64),
        });
    let broken = broken.map(|ending| match ending {
        Ending::Whole => "broken_off".to_owned(),
        other => other.as_str().to_owned(),
    });
    let responded = ModelResponded {
        turn: place.turn,
        response_id: response.id.as_deref().map(fitting::name),
        text,
        calls: calls.collect(),
        usage: response.usage,
        model: response.model.as_deref().map(fitting::name),
        stop_reason: broken.or_else(|| response.stop_reason.as_deref().map(fitting::name)),
        witness: Some(Witness::Exact),
    };
    let id = format!("{run}.{}.response", place.turn);
    writer.push_with_blobs(
        &id,
        &EventType::ModelResponded,
        Some(time),
        &responded,
        &blobs,
    )
}

fn cut_to(text: &str, bytes_max: usize) -> String {
    crate::cut::prefix(text, bytes_max).to_owned()
}

/// Writes the results of calls that are known and had none yet.
pub(super) fn push_results(
    results: Vec<CallResult>,
    time: &str,
    writer: &mut SessionWriter,
    known: &mut Conversation,
) -> Result<(), WriteError> {
    // From the last one on: where a server gives an id twice, the newer call is answered behind the older one.
    let mut new = Vec::new();
    for result in results.into_iter().rev() {
        if let Some((call_id, tool)) = known.returned(&result.call_id) {
            new.push((CallResult { call_id, ..result }, tool));
        }
    }
    for (result, tool) in new.into_iter().rev() {
        fitting::push_result(writer, result, Some(tool), time)?;
    }
    Ok(())
}

/// A call as it is kept where its event cannot be.
pub(super) fn unsent(place: &CallPlace, call: &ModelCall, time: &str) -> UnsentCall {
    UnsentCall {
        turn: place.turn,
        call_id: call.call_id.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        time: time.to_owned(),
    }
}

/// Writes the event of a call.
pub(super) fn write_call(call: &UnsentCall, writer: &mut SessionWriter) -> Result<(), WriteError> {
    let id = format!("called.{}", call.call_id);
    let (arguments, whole) = fitting::json(&call.arguments).map_err(|error| WriteError::Json {
        id: id.clone(),
        error,
    })?;
    let mut blobs = Vec::new();
    if let Some(whole) = whole {
        writer.blob(whole, &mut blobs);
    }
    let called = ToolCalled {
        turn: call.turn,
        call_id: call.call_id.clone(),
        tool: fitting::name(&call.tool),
        arguments: Some(arguments),
        target: None,
        operation: None,
        witness: Some(Witness::Exact),
    };
    let kind = EventType::ToolCalled;
    writer.push_with_blobs(&id, &kind, Some(&call.time), &called, &blobs)
}
