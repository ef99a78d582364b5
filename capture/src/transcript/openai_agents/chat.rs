//! Messages of the Chat Completions API, as a generation span holds them.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

/// The parts of a list of messages. None for a list without any: a trace that leaves out what was said has none.
pub(super) fn parts(input: &str) -> Option<Vec<Part>> {
    let messages: Vec<Message<'_>> = serde_json::from_str(input).ok()?;
    let mut parts = Vec::new();
    for (message, number) in messages.iter().zip(0u32..) {
        let first = parts.len();
        message.add(&mut parts);
        for part in &mut parts[first..] {
            part.message = Some(number);
        }
    }
    (!parts.is_empty()).then_some(parts)
}

impl Message<'_> {
    fn add(&self, parts: &mut Vec<Part>) {
        let kind = match self.role.as_str() {
            "system" | "developer" => PartKind::System,
            "assistant" => PartKind::Assistant,
            "tool" | "function" => PartKind::ToolResult,
            _ => PartKind::User,
        };
        let like = Part {
            call_id: self.tool_call_id.clone(),
            ..Part::inline(kind, "")
        };
        let content = self.content.map(|raw| serde_json::from_str(raw.get()));
        let blocks = match content {
            Some(Ok(Value::Array(blocks))) => blocks,
            Some(Ok(other)) => vec![other],
            // Valid as JSON and still not to be held, such as a number that is too large: something was there.
            Some(Err(_)) => vec![Value::Bool(false)],
            None => Vec::new(),
        };
        for block in blocks.iter().filter(|block| !block.is_null()) {
            let text = block.get("text").unwrap_or(block).as_str();
            parts.push(match text {
                Some(text) => Part {
                    text: Some(text.to_owned()),
                    ..like.clone()
                },
                // An image, a file or a sound: it is there, and cannot be read.
                None => Part {
                    text: None,
                    hash: self
                        .content
                        .map(|raw| ContentHash::of(raw.get().as_bytes())),
                    withheld: Some("not text".to_owned()),
                    ..like.clone()
                },
            });
        }
        for call in self.tool_calls.iter().flatten() {
            let text = format!("{} {}", call.function.name, call.function.arguments);
            parts.push(Part {
                call_id: Some(call.id.clone()),
                tool: Some(call.function.name.clone()),
                ..Part::inline(PartKind::ToolCall, text)
            });
        }
    }
}
