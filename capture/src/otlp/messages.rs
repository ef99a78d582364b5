//! Messages of the `GenAI` semantic conventions as the parts of a context.
//!
//! A part is told by its own type, never by its message's role: instrumentations put tool results into messages of a user. Parts
//! of a type that is not known are kept as they are.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin};
use serde_json::{Map, Value as Json};

/// Parts read from messages, and what is known to be missing.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    /// Parts of which only the kind was sent.
    pub(super) empty: usize,
    /// What a compaction part says, where there is one: its text, unless the provider keeps it encrypted.
    pub(super) compaction: Option<Option<String>>,
}

/// A tool call in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: Option<Json>,
}

/// What an answer holds.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: Vec<String>,
    pub(super) calls: Vec<Call>,
    /// Results of tools that the provider ran: the call's id and the result.
    pub(super) returned: Vec<(Option<String>, Json)>,
    pub(super) finish_reason: Option<String>,
    pub(super) compaction: Option<Option<String>>,
}

impl Parts {
    /// Adds system instructions: a list of parts, or a text.
    pub(super) fn instructions(&mut self, instructions: &Json) {
        match instructions {
            Json::String(text) => self.push(Part::inline(PartKind::System, text)),
            Json::Array(parts) => {
                for part in parts {
                    self.part(part, "system", None);
                }
            }
            other => self.part(other, "system", None),
        }
    }

    /// Adds the definitions of tools: constraints can hide in a description.
    pub(super) fn tools(&mut self, definitions: &Json) {
        for definition in list(definitions) {
            let function = definition.get("function").unwrap_or(definition);
            let mut part = Part::inline(PartKind::ToolSchema, written(definition));
            part.name = function
                .get("name")
                .and_then(Json::as_str)
                .map(str::to_owned);
            self.push(part);
        }
    }

    /// Adds messages, in their order.
    pub(super) fn messages(&mut self, messages: &Json) {
        for (index, message) in (0..).zip(list(messages)) {
            let role = message.get("role").and_then(Json::as_str).unwrap_or("user");
            match message.get("parts").or_else(|| message.get("content")) {
                Some(Json::Array(parts)) => {
                    for part in parts {
                        self.part(part, role, Some(index));
                    }
                }
                Some(Json::Null) | None => {}
                Some(content) => {
                    let part = self.text_of(kind_of(role), &written(content), Some(index));
                    self.push(Part {
                        call_id: named(message, &["id", "tool_call_id"]),
                        ..part
                    });
                }
            }
            for call in message.get("tool_calls").map(list).unwrap_or_default() {
                self.call(call, Some(index));
            }
        }
    }

    fn part(&mut self, part: &Json, role: &str, message: Option<u32>) {
        if let Json::String(text) = part {
            let part = self.text_of(kind_of(role), text, message);
            return self.push(part);
        }
        let kind = part.get("type").and_then(Json::as_str).unwrap_or_default();
        match kind {
            "text" => match content(part, &["content", "text"]) {
                Some(text) => {
                    let part = self.text_of(kind_of(role), &text, message);
                    self.push(part);
                }
                None => self.empty += 1,
            },
            "reasoning" | "thinking" => match content(part, &["content", "text", "thinking"]) {
                Some(text) if !text.is_empty() => {
                    let part = self.text_of(PartKind::Reasoning, &text, message);
                    self.push(part);
                }
                _ => self.sealed(PartKind::Reasoning, part, message),
            },
            "tool_call" | "server_tool_call" => self.call(part, message),
            "tool_call_response" | "server_tool_call_response" => self.result(part, message),
            "compaction" => {
                let text = content(part, &["content"]).filter(|text| !text.is_empty());
                match &text {
                    Some(text) => {
                        let part = self.text_of(PartKind::Summary, text, message);
                        self.push(part);
                    }
                    None => self.sealed(PartKind::Summary, part, message),
                }
                self.compaction = Some(text);
            }
            _ => {
                let part = self.text_of(PartKind::Other, &written(part), message);
                self.push(part);
            }
        }
    }

    fn call(&mut self, part: &Json, message: Option<u32>) {
        let Call {
            id,
            tool,
            arguments,
        } = call(part);
        let text = match &arguments {
            Some(arguments) => format!("{tool} {}", written(arguments)),
            None => tool.clone(),
        };
        let part = self.text_of(PartKind::ToolCall, &text, message);
        self.push(Part {
            call_id: id,
            tool: Some(tool),
            ..part
        });
    }

    fn result(&mut self, part: &Json, message: Option<u32>) {
        // The conventions' own example says `result` where their schema says `response`.
        let names = ["response", "result", "content", "server_tool_call_response"];
        match content(part, &names) {
            Some(text) => {
                let result = self.text_of(PartKind::ToolResult, &text, message);
                self.push(Part {
                    call_id: named(part, &["id", "tool_call_id"]),
                    tool: named(part, &["name"]),
                    ..result
                });
            }
            None => self.empty += 1,
        }
    }

    /// A part without a text. With anything else in it, such as a signature, its text is the provider's, and what was sent of it
    /// stands for it; with its type alone, the instrumentation left everything out.
    fn sealed(&mut self, kind: PartKind, part: &Json, message: Option<u32>) {
        if part.as_object().is_none_or(|members| members.len() <= 1) {
            self.empty += 1;
            return;
        }
        let hash = ContentHash::of(written(part).as_bytes());
        self.push(Part {
            encrypted: true,
            message,
            ..Part::by_hash(kind, hash)
        });
    }

    fn text_of(&self, kind: PartKind, text: &str, message: Option<u32>) -> Part {
        Part {
            message,
            origin: (kind == PartKind::Other).then_some(PartOrigin::Application),
            ..Part::inline(kind, text)
        }
    }

    fn push(&mut self, part: Part) {
        self.parts.push(part);
    }
}

impl Answer {
    /// Reads the messages of an answer.
    pub(super) fn of(messages: &Json) -> Self {
        let mut answer = Self::default();
        for message in list(messages) {
            let reason = named(message, &["finish_reason"]);
            answer.finish_reason = answer.finish_reason.or(reason);
            match message.get("parts").or_else(|| message.get("content")) {
                Some(Json::Array(parts)) => parts.iter().for_each(|part| answer.part(part)),
                Some(Json::String(text)) => answer.text.push(text.clone()),
                _ => {}
            }
            let calls = message.get("tool_calls").map(list).unwrap_or_default();
            answer.calls.extend(calls.iter().map(call));
        }
        answer
    }

    fn part(&mut self, part: &Json) {
        if let Json::String(text) = part {
            return self.text.push(text.clone());
        }
        match part.get("type").and_then(Json::as_str).unwrap_or_default() {
            "text" => self.text.extend(content(part, &["content", "text"])),
            "tool_call" | "server_tool_call" => self.calls.push(call(part)),
            "tool_call_response" | "server_tool_call_response" => {
                let names = ["response", "result", "server_tool_call_response"];
                let result = names.iter().find_map(|name| part.get(name));
                let id = named(part, &["id", "tool_call_id"]);
                self.returned
                    .extend(result.map(|result| (id, result.clone())));
            }
            "compaction" => self.compaction = Some(content(part, &["content"])),
            _ => {}
        }
    }
}

/// A tool call in one of the forms that it has: flat, under `function`, or with what the provider's tool got under
/// `server_tool_call`.
fn call(part: &Json) -> Call {
    let function = part.get("function").unwrap_or(part);
    let tool = named(function, &["name"]).or_else(|| named(part, &["name"]));
    let arguments = function.get("arguments").or_else(|| part.get("arguments"));
    let arguments = arguments.or_else(|| part.get("server_tool_call"));
    Call {
        id: named(part, &["id", "tool_call_id"]),
        tool: tool.unwrap_or_else(|| "unnamed".to_owned()),
        arguments: arguments.filter(|value| !value.is_null()).map(unpacked),
    }
}

/// Arguments, which providers hand out as JSON in a string.
pub(super) fn unpacked(value: &Json) -> Json {
    let inner = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .filter(|inner: &Json| inner.is_object() || inner.is_array());
    inner.map_or_else(|| value.clone(), |inner| super::attributes::sound(inner, 0))
}

/// A value as a model reads it: a text as it is, everything else as JSON.
pub(super) fn written(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn content(part: &Json, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| part.get(name));
    found.filter(|value| !value.is_null()).map(written)
}

fn named(value: &Json, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| value.get(name)?.as_str());
    found.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn list(value: &Json) -> &[Json] {
    match value {
        Json::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

fn kind_of(role: &str) -> PartKind {
    match role {
        "system" | "developer" => PartKind::System,
        "assistant" | "model" | "ai" => PartKind::Assistant,
        "tool" | "function" => PartKind::ToolResult,
        "user" | "human" => PartKind::User,
        _ => PartKind::Other,
    }
}

/// An object with one member.
pub(super) fn object(name: &str, value: Json) -> Json {
    Json::Object(Map::from_iter([(name.to_owned(), value)]))
}

#[cfg(test)]
mod tests;
