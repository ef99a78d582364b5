//! An answer, in one piece or in chunks.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{Part, PartKind, Usage};
use serde::Deserialize;

use super::super::block::{self, piece};
use super::super::{ModelCall, ModelResponse, ReadError, call_part, sse};
use super::{Message, ToolCall, calls, content_parts};

/// Most calls of an answer that are put together from a stream.
const CALLS_MAX: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Option<Counts>,
    error: Option<Fault>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    index: usize,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
}

/// What an answer holds in the place of one, or within one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Fault {
    r#type: Option<String>,
    code: Option<serde_json::Value>,
}

impl Fault {
    /// Its kind. Its message is the provider's prose, and may repeat a part of a key.
    pub(in super::super) fn kind(self) -> String {
        let code = self
            .code
            .as_ref()
            .and_then(|code| code.as_str().map(str::to_owned));
        self.r#type.or(code).unwrap_or_else(|| "error".to_owned())
    }
}

impl Counts {
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            cache_read_tokens: self
                .prompt_tokens_details
                .and_then(|details| details.cached_tokens),
            cache_write_tokens: None,
        }
    }
}

/// Reads an answer's body.
pub fn response(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let answer: Answer<'_> = block::read("response", body)?;
    let mut response = ModelResponse {
        id: answer.id,
        model: answer.model,
        usage: answer.usage.map(Counts::usage),
        error: answer.error.map(Fault::kind),
        is_whole: true,
        ..ModelResponse::default()
    };
    for choice in answer.choices {
        let message = choice.message.unwrap_or_default();
        let (parts, _) = content_parts(message.content, PartKind::Assistant);
        let texts = parts
            .into_iter()
            .filter_map(|part| part.text)
            .chain(message.refusal);
        response.text.extend(texts);
        response
            .calls
            .extend(calls(message.tool_calls, message.function_call));
        response.stop_reason = response.stop_reason.or(choice.finish_reason);
    }
    Ok(with_parts(response))
}

/// The answer with what it says as parts, as the next request has them.
fn with_parts(mut response: ModelResponse) -> ModelResponse {
    let texts = response.text.iter();
    let texts = texts.map(|text| Part::inline(PartKind::Assistant, text.as_str()));
    response.parts = texts.chain(response.calls.iter().map(call_part)).collect();
    response
}

/// A choice as it grows.
#[derive(Debug, Default)]
struct Growing {
    text: String,
    calls: BTreeMap<usize, ModelCall>,
    finish_reason: Option<String>,
}

/// Reads the chunks of an answer, whole or broken off.
pub fn stream(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let text = String::from_utf8_lossy(body);
    let mut response = ModelResponse::default();
    let mut choices: BTreeMap<usize, Growing> = BTreeMap::new();
    for event in sse::events(&text) {
        if event.data == "[DONE]" {
            response.is_whole = true;
            continue;
        }
        // A chunk that cannot be read is left out: the others still say what they say.
        let Ok(chunk) = serde_json::from_str::<Answer<'_>>(&event.data) else {
            continue;
        };
        response.id = response.id.or(chunk.id);
        response.model = response.model.or(chunk.model);
        response.usage = chunk.usage.map(Counts::usage).or(response.usage);
        response.error = response.error.or(chunk.error.map(Fault::kind));
        for choice in chunk.choices {
            if choices.len() < CALLS_MAX || choices.contains_key(&choice.index) {
                choices.entry(choice.index).or_default().take(choice);
            }
        }
    }
    // Some servers end without a last word.
    let is_finished = !choices.is_empty()
        && choices
            .values()
            .all(|choice| choice.finish_reason.is_some());
    response.is_whole |= is_finished;
    for choice in choices.into_values() {
        response
            .text
            .extend((!choice.text.is_empty()).then_some(choice.text));
        response.calls.extend(choice.calls.into_values());
        response.stop_reason = response.stop_reason.or(choice.finish_reason);
    }
    Ok(with_parts(response))
}

impl Growing {
    fn take(&mut self, choice: Choice<'_>) {
        self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        let Some(delta) = choice.delta else { return };
        let pieces = [delta.content.and_then(piece::<String>), delta.refusal];
        self.text.extend(pieces.into_iter().flatten());
        for raw in delta.tool_calls.unwrap_or_default() {
            let Some(part) = piece::<ToolCall<'_>>(raw) else {
                continue;
            };
            // Some servers leave the index away and send each call whole.
            let index = part.index.unwrap_or(self.calls.len());
            self.grow(index, part);
        }
        if let Some(function) = delta.function_call {
            let id = function.name.clone();
            self.grow(
                0,
                ToolCall {
                    id,
                    function: Some(function),
                    ..ToolCall::default()
                },
            );
        }
    }

    fn grow(&mut self, index: usize, part: ToolCall<'_>) {
        if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&index) {
            return;
        }
        let call = self.calls.entry(index).or_insert_with(|| ModelCall {
            call_id: String::new(),
            tool: String::new(),
            arguments: String::new(),
        });
        if let Some(id) = part.id.filter(|id| !id.is_empty()) {
            call.call_id = id;
        }
        let (name, arguments) = match (part.function, part.custom) {
            (Some(function), _) => (function.name, function.arguments),
            (None, Some(custom)) => (custom.name, custom.input.and_then(piece::<String>)),
            (None, None) => (None, None),
        };
        // A name comes whole with the first piece; some servers repeat it with every one.
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            call.tool = name;
        }
        call.arguments.push_str(&arguments.unwrap_or_default());
    }
}
