//! An answer, in one piece or as a stream of events.

use std::collections::BTreeMap;

use remembrancer_schema::payload::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::block::{self, Block, piece};
use super::super::openai_chat::answer::Fault;
use super::super::{ModelResponse, ReadError, sse};
use super::read_item;

/// Most items of an answer that are put together from a stream.
const ITEMS_MAX: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    id: Option<String>,
    model: Option<String>,
    status: Option<String>,
    #[serde(borrow)]
    output: Vec<&'a RawValue>,
    usage: Option<Counts>,
    error: Option<Fault>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Counts {
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: self
                .input_tokens_details
                .and_then(|details| details.cached_tokens),
            cache_write_tokens: None,
        }
    }
}

/// Reads an answer's body.
pub fn response(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let answer: Answer<'_> = block::read("response", body)?;
    // A response that is made in the background is answered before it is there.
    let is_whole = !matches!(answer.status.as_deref(), Some("queued" | "in_progress"));
    Ok(ModelResponse {
        is_whole,
        ..read_answer(answer)
    })
}

fn read_answer(answer: Answer<'_>) -> ModelResponse {
    let reason = answer.incomplete_details.and_then(|details| details.reason);
    let mut response = ModelResponse {
        id: answer.id,
        model: answer.model,
        stop_reason: reason.or(answer.status),
        usage: answer.usage.map(Counts::usage),
        error: answer.error.map(Fault::kind),
        ..ModelResponse::default()
    };
    for raw in answer.output {
        let item: Block<'_> = piece(raw).unwrap_or_default();
        let read = read_item(raw, &item);
        response.parts.extend(read.parts);
        response.text.extend(read.text);
        response.calls.extend(read.call);
        response.results.extend(read.result);
    }
    response
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamEvent<'a> {
    r#type: String,
    output_index: usize,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    code: Option<String>,
}

/// Reads the events of an answer, whole or broken off.
pub fn stream(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let text = String::from_utf8_lossy(body);
    let events = sse::events(&text);
    let mut items: BTreeMap<usize, &RawValue> = BTreeMap::new();
    let (mut started, mut ended, mut error) = (None, None, None);
    for event in &events {
        // An event that cannot be read is left out: the others still say what they say.
        let Ok(event) = serde_json::from_str::<StreamEvent<'_>>(&event.data) else {
            continue;
        };
        match event.r#type.as_str() {
            "response.created" => started = event.response,
            "response.completed" | "response.incomplete" | "response.failed" => {
                ended = event.response
            }
            "response.output_item.done" if items.len() < ITEMS_MAX => {
                items.extend(event.item.map(|item| (event.output_index, item)));
            }
            "error" => error = Some(event.code.unwrap_or_else(|| "error".to_owned())),
            _ => {}
        }
    }
    let is_whole = ended.is_some();
    let mut answer: Answer<'_> = ended.or(started).and_then(piece).unwrap_or_default();
    if answer.output.is_empty() {
        answer.output = items.into_values().collect();
    }
    let mut response = read_answer(answer);
    response.is_whole = is_whole;
    response.error = response.error.or(error);
    Ok(response)
}
