//! Messages as the conventions had them before they became attributes of a span: one event for each message.

use serde_json::{Map, Value as Json};

use super::attributes::Attributes;
use super::messages::object;
use super::wire::SpanEvent;

/// Messages read from events; `None` where there are none.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) input: Option<Json>,
    pub(super) output: Option<Json>,
}

/// Whether an event holds the attributes that may also stand on the span itself.
pub(super) fn is_details(name: &str) -> bool {
    matches!(
        name,
        "gen_ai.client.inference.operation.details" | "gen_ai.client.inference.details"
    )
}

impl Messages {
    /// Reads the events of a span, and the attribute `events` in which pydantic-ai wrote them.
    pub(super) fn of(attributes: &Attributes<'_>, events: &[SpanEvent]) -> Self {
        let mut input = Vec::new();
        let mut output = Vec::new();
        for event in events {
            let attributes = Attributes::of(&event.attributes);
            let body = attributes.value(&["gen_ai.event.content", "event_body"]);
            let body = match body {
                Some(Json::Object(body)) => body,
                _ => attributes.all(),
            };
            note(&event.name, body, &mut input, &mut output);
        }
        if let Some(Json::Array(events)) = attributes.value(&["events"]) {
            for event in events {
                let Json::Object(body) = event else { continue };
                let name = body.get("event.name").and_then(Json::as_str);
                let name = name.unwrap_or_default().to_owned();
                note(&name, body, &mut input, &mut output);
            }
        }
        let some = |messages: Vec<Json>| (!messages.is_empty()).then_some(Json::Array(messages));
        Self {
            input: some(input),
            output: some(output),
        }
    }
}

fn note(name: &str, mut body: Map<String, Json>, input: &mut Vec<Json>, output: &mut Vec<Json>) {
    let role = match name {
        "gen_ai.system.message" => "system",
        "gen_ai.user.message" => "user",
        "gen_ai.assistant.message" => "assistant",
        "gen_ai.tool.message" => "tool",
        "gen_ai.choice" => {
            let mut message = match body.remove("message") {
                Some(message @ Json::Object(_)) => message,
                Some(text) => object("content", text),
                None => Json::Object(body.clone()),
            };
            let reason = body.remove("finish_reason");
            if let (Some(members), Some(reason)) = (message.as_object_mut(), reason) {
                members.insert("finish_reason".to_owned(), reason);
            }
            return output.push(message);
        }
        _ => return,
    };
    body.entry("role")
        .or_insert_with(|| Json::String(role.to_owned()));
    input.push(Json::Object(body));
}
