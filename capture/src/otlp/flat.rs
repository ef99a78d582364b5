//! Messages that come as one attribute for each of their members: `llm.input_messages.0.message.role` (`OpenInference`) and
//! `gen_ai.prompt.0.role` (`OpenLLMetry`). They are put together by number: as texts, 10 would stand before 2.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::attributes::{Attributes, as_json, sound};
use super::messages::{object, written};
use super::wire::Value;

/// How one convention names its members.
pub(super) struct Naming {
    prefix: &'static str,
    /// Between a message's number and its members.
    of_message: &'static str,
    /// Between a call's number and its members.
    of_call: &'static str,
}

/// `OpenInference`: what was sent.
pub(super) const OPENINFERENCE_INPUT: Naming = Naming {
    prefix: "llm.input_messages.",
    of_message: "message.",
    of_call: "tool_call.",
};
/// `OpenInference`: what came back.
pub(super) const OPENINFERENCE_OUTPUT: Naming = Naming {
    prefix: "llm.output_messages.",
    ..OPENINFERENCE_INPUT
};
/// `OpenLLMetry`: what was sent.
pub(super) const OPENLLMETRY_INPUT: Naming = Naming {
    prefix: "gen_ai.prompt.",
    of_message: "",
    of_call: "",
};
/// `OpenLLMetry`: what came back.
pub(super) const OPENLLMETRY_OUTPUT: Naming = Naming {
    prefix: "gen_ai.completion.",
    ..OPENLLMETRY_INPUT
};

/// What was said of one message.
#[derive(Default)]
struct Message {
    members: BTreeMap<String, Json>,
    contents: BTreeMap<u32, Map<String, Json>>,
    calls: BTreeMap<u32, Map<String, Json>>,
}

/// The messages under a prefix in the form of the `GenAI` conventions; `None` if there are none.
pub(super) fn messages(attributes: &Attributes<'_>, naming: &Naming) -> Option<Json> {
    let mut messages: BTreeMap<u32, Message> = BTreeMap::new();
    for (name, value) in attributes.under(naming.prefix) {
        let Some((number, rest)) = numbered(name) else {
            continue;
        };
        let Some(member) = rest.strip_prefix(naming.of_message) else {
            continue;
        };
        let message = messages.entry(number).or_default();
        message.note(member, value, naming);
    }
    let messages: Vec<Json> = messages.into_values().map(Message::into_json).collect();
    (!messages.is_empty()).then_some(Json::Array(messages))
}

/// The definitions of tools: `llm.tools.0.tool.json_schema` (`OpenInference`) or `llm.request.functions.0.name` and so on.
pub(super) fn tools(attributes: &Attributes<'_>) -> Option<Json> {
    let mut tools: BTreeMap<u32, Json> = BTreeMap::new();
    for (name, value) in attributes.under("llm.tools.") {
        if let Some((number, "tool.json_schema")) = numbered(name) {
            tools.insert(number, parsed(value));
        }
    }
    let mut functions: BTreeMap<u32, Map<String, Json>> = BTreeMap::new();
    for (name, value) in attributes.under("llm.request.functions.") {
        if let Some((number, member)) = numbered(name) {
            let function = functions.entry(number).or_default();
            function.insert(member.to_owned(), parsed(value));
        }
    }
    let functions = functions.into_values().map(Json::Object);
    let tools: Vec<Json> = tools.into_values().chain(functions).collect();
    (!tools.is_empty()).then_some(Json::Array(tools))
}

impl Message {
    fn note(&mut self, member: &str, value: &Value, naming: &Naming) {
        if let Some((number, rest)) = member.strip_prefix("contents.").and_then(numbered) {
            let name = rest.strip_prefix("message_content.").unwrap_or(rest);
            let content = self.contents.entry(number).or_default();
            content.insert(name.to_owned(), as_json(value));
        } else if let Some((number, rest)) = member.strip_prefix("tool_calls.").and_then(numbered) {
            let name = rest.strip_prefix(naming.of_call).unwrap_or(rest);
            let call = self.calls.entry(number).or_default();
            let name = name.strip_prefix("function.").unwrap_or(name);
            call.insert(name.to_owned(), as_json(value));
        } else {
            self.members.insert(member.to_owned(), as_json(value));
        }
    }

    fn into_json(mut self) -> Json {
        let role = self.members.get("role").map_or("user".to_owned(), written);
        let call_id = self.members.remove("tool_call_id");
        let mut parts = Vec::new();
        if let Some(content) = self.members.remove("content") {
            parts.push(match role.as_str() {
                "tool" | "function" => json!({
                    "type": "tool_call_response",
                    "id": call_id,
                    "name": self.members.get("name"),
                    "response": content,
                }),
                // A message that is nothing but calls comes with an empty text.
                _ if content == Json::String(String::new()) && !self.calls.is_empty() => Json::Null,
                _ => json!({ "type": "text", "content": content }),
            });
        }
        parts.retain(|part| !part.is_null());
        parts.extend(self.contents.into_values().map(Json::Object));
        for mut call in self.calls.into_values() {
            call.insert("type".to_owned(), json!("tool_call"));
            parts.push(Json::Object(call));
        }
        let mut message = object("role", Json::String(role));
        if let Some(members) = message.as_object_mut() {
            members.insert("parts".to_owned(), Json::Array(parts));
            let reason = self.members.remove("finish_reason");
            members.extend(reason.map(|reason| ("finish_reason".to_owned(), reason)));
        }
        message
    }
}

/// A name that begins with a number and a dot.
fn numbered(name: &str) -> Option<(u32, &str)> {
    let (number, rest) = name.split_once('.')?;
    Some((number.parse().ok()?, rest))
}

fn parsed(value: &Value) -> Json {
    let json = as_json(value);
    let inner = json
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    sound(inner.unwrap_or(json), 0)
}

#[cfg(test)]
mod tests {
    use super::super::wire::{AnyValue, KeyValue};
    use super::*;

    #[test]
    fn messages_are_put_together_by_number() {
        let list: Vec<KeyValue> = (0..12)
            .rev()
            .flat_map(|number| {
                let name = format!("llm.input_messages.{number}.message");
                [
                    (format!("{name}.role"), "user".to_owned()),
                    (format!("{name}.content"), format!("text {number}")),
                ]
            })
            .chain(
                [
                    ("llm.input_messages.12.message.role", "assistant"),
                    (
                        "llm.input_messages.12.message.tool_calls.0.tool_call.id",
                        "c1",
                    ),
                    (
                        "llm.input_messages.12.message.tool_calls.0.tool_call.function.name",
                        "look",
                    ),
                    (
                        "llm.input_messages.12.message.tool_calls.0.tool_call.function.arguments",
                        "{\"x\":1}",
                    ),
                    ("llm.input_messages.13.message.role", "tool"),
                    ("llm.input_messages.13.message.tool_call_id", "c1"),
                    ("llm.input_messages.13.message.content", "seen"),
                    ("llm.input_messages.x.message.content", "no number"),
                ]
                .map(|(name, text)| (name.to_owned(), text.to_owned())),
            )
            .map(|(key, text)| KeyValue {
                key,
                value: Some(AnyValue {
                    value: Some(Value::String(text)),
                }),
            })
            .collect();
        let read = messages(&Attributes::of(&list), &OPENINFERENCE_INPUT).expect("messages");
        let read = read.as_array().expect("a list");
        assert_eq!(read.len(), 14);
        assert_eq!(read[10]["parts"][0]["content"], "text 10");
        assert_eq!(read[12]["parts"][0]["name"], "look");
        assert_eq!(read[12]["parts"][0]["arguments"], "{\"x\":1}");
        let result = &read[13]["parts"][0];
        assert_eq!(
            (&result["id"], &result["response"]),
            (&json!("c1"), &json!("seen"))
        );
    }
}
