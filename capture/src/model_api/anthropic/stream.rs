//! A stream of an answer, put together to the answer that it would have been in one piece.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::sse;
use super::answer::{Answer, Applied, Counts, Fault, read_answer};
use super::{ModelResponse, ReadError};

/// Most blocks of an answer that are put together.
const BLOCKS_MAX: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamEvent<'a> {
    r#type: String,
    message: Option<Start>,
    index: usize,
    content_block: Option<Map<String, Value>>,
    delta: Option<Map<String, Value>>,
    usage: Option<Counts>,
    #[serde(borrow)]
    context_management: Option<&'a RawValue>,
    error: Option<Fault>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Start {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Counts>,
}

/// A block under way: its fields, and the text of its input as it arrives.
#[derive(Debug, Default)]
struct Growing {
    fields: Map<String, Value>,
    input: String,
}

#[derive(Debug, Default)]
struct Assembly {
    start: Start,
    blocks: BTreeMap<usize, Growing>,
    stop_reason: Option<String>,
    counts: Counts,
    edits: Option<String>,
    error: Option<Fault>,
    is_whole: bool,
}

/// Reads the events of an answer, whole or broken off.
pub fn stream(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let text = String::from_utf8_lossy(body);
    let mut assembly = Assembly::default();
    for event in sse::events(&text) {
        // An event that cannot be read is left out: the others still say what they say.
        if let Ok(event) = serde_json::from_str::<StreamEvent<'_>>(&event.data) {
            assembly.take(event);
        }
    }
    assembly.finish()
}

impl Assembly {
    fn take(&mut self, event: StreamEvent<'_>) {
        match event.r#type.as_str() {
            "message_start" => {
                self.start = event.message.unwrap_or_default();
                self.counts = self.start.usage.unwrap_or_default();
            }
            "content_block_start" if self.blocks.len() < BLOCKS_MAX => {
                let fields = event.content_block.unwrap_or_default();
                self.blocks.insert(
                    event.index,
                    Growing {
                        fields,
                        input: String::new(),
                    },
                );
            }
            "content_block_delta" => {
                let block = self.blocks.get_mut(&event.index);
                if let (Some(block), Some(delta)) = (block, event.delta) {
                    block.grow(delta);
                }
            }
            "message_delta" => {
                let mut delta = event.delta.unwrap_or_default();
                if let Some(Value::String(reason)) = delta.remove("stop_reason") {
                    self.stop_reason = Some(reason);
                }
                self.counts = event.usage.unwrap_or_default().over(self.counts);
                let edits = event.context_management.map(|raw| raw.get().to_owned());
                self.edits = edits.or(self.edits.take());
            }
            "message_stop" => self.is_whole = true,
            "error" => self.error = event.error,
            _ => {}
        }
    }

    fn finish(self) -> Result<ModelResponse, ReadError> {
        let blocks: Result<Vec<Box<RawValue>>, serde_json::Error> =
            self.blocks.into_values().map(Growing::finish).collect();
        let blocks = blocks.map_err(|error| ReadError::new("stream", &error))?;
        let answer = Answer {
            id: self.start.id,
            model: self.start.model,
            content: blocks.iter().map(Box::as_ref).collect(),
            stop_reason: self.stop_reason,
            usage: Some(self.counts),
            context_management: self
                .edits
                .as_deref()
                .and_then(|edits| serde_json::from_str::<Applied<'_>>(edits).ok()),
            error: self.error,
        };
        let is_whole = self.is_whole;
        Ok(ModelResponse {
            is_whole,
            ..read_answer(answer)
        })
    }
}

impl Growing {
    fn grow(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            let Value::String(piece) = value else {
                continue;
            };
            match name.as_str() {
                "type" => {}
                "partial_json" => self.input.push_str(&piece),
                _ => match self.fields.get_mut(&name) {
                    Some(Value::String(text)) => text.push_str(&piece),
                    _ => {
                        self.fields.insert(name, Value::String(piece));
                    }
                },
            }
        }
    }

    /// The block as JSON, with its input as the model wrote it.
    fn finish(mut self) -> Result<Box<RawValue>, serde_json::Error> {
        if self.input.is_empty() {
            return serde_json::value::to_raw_value(&self.fields);
        }
        self.fields.remove("input");
        // Input that was broken off is no JSON and stands as a string.
        let input = match serde_json::from_str::<&RawValue>(&self.input) {
            Ok(raw) => raw.get().to_owned(),
            Err(_) => serde_json::to_string(&self.input)?,
        };
        let mut text = serde_json::to_string(&self.fields)?;
        text.pop();
        let comma = if self.fields.is_empty() { "" } else { "," };
        text.push_str(&format!("{comma}\"input\":{input}}}"));
        RawValue::from_string(text)
    }
}
