//! Spans of an agent as events.

mod arrival;
mod branches;
mod conventions;
mod hostile;
mod sessions;

use prost::Message as _;
use remembrancer_schema::payload::{ContextCaptured, Payload};
use remembrancer_schema::{Event, EventId};
use serde_json::{Value as Json, json};

use super::wire::{
    AnyValue, ExportRequest, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span, Value,
};
use super::*;

/// Nanoseconds of the moment at which the tests' agents begin.
const BEGIN: u64 = 1_796_000_000_000_000_000;

pub(super) fn attribute(key: &str, value: impl Into<Json>) -> KeyValue {
    let value = match value.into() {
        Json::String(text) => Value::String(text),
        Json::Bool(is_true) => Value::Bool(is_true),
        Json::Number(number) => Value::Int(number.as_i64().expect("a whole number")),
        other => Value::String(other.to_string()),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

/// A span that begins so many seconds after the agent, and takes half of one.
pub(super) fn span(number: u8, second: u64, attributes: Vec<KeyValue>) -> Span {
    Span {
        trace_id: vec![7; 16],
        span_id: vec![number; 8],
        name: format!("span {number}"),
        start_time_unix_nano: BEGIN + second * 1_000_000_000,
        end_time_unix_nano: BEGIN + second * 1_000_000_000 + 500_000_000,
        attributes,
        ..Span::default()
    }
}

/// A request to a model with the texts of a user, and the calls and the text of its answer.
pub(super) fn chat(
    number: u8,
    second: u64,
    texts: &[&str],
    calls: &[(&str, &str)],
    answer: &str,
) -> Span {
    let input: Vec<Json> = texts
        .iter()
        .map(|text| json!({ "role": "user", "parts": [{ "type": "text", "content": text }] }))
        .collect();
    let mut parts: Vec<Json> = calls
        .iter()
        .map(|(id, tool)| json!({ "type": "tool_call", "id": id, "name": tool, "arguments": { "x": 1 } }))
        .collect();
    if !answer.is_empty() {
        parts.push(json!({ "type": "text", "content": answer }));
    }
    span(
        number,
        second,
        vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.conversation.id", "talk"),
            attribute("gen_ai.agent.name", "main"),
            attribute("gen_ai.request.model", "model-1"),
            attribute(
                "gen_ai.system_instructions",
                json!([{ "type": "text", "content": "Never pay." }]),
            ),
            attribute("gen_ai.input.messages", json!(input)),
            attribute(
                "gen_ai.output.messages",
                json!([{ "role": "assistant", "parts": parts }]),
            ),
            attribute("gen_ai.usage.input_tokens", 100),
            attribute("gen_ai.usage.output_tokens", 10),
        ],
    )
}

pub(super) fn tool(number: u8, second: u64, id: Option<&str>, name: &str, result: Json) -> Span {
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.conversation.id", "talk"),
        attribute("gen_ai.agent.name", "main"),
        attribute("gen_ai.tool.name", name),
        attribute("gen_ai.tool.call.arguments", json!({ "x": 1 })),
    ];
    attributes.extend(id.map(|id| attribute("gen_ai.tool.call.id", id)));
    if !result.is_null() {
        attributes.push(attribute("gen_ai.tool.call.result", result));
    }
    span(number, second, attributes)
}

pub(super) fn request(spans: Vec<Span>) -> ExportRequest {
    request_of(&[("service.name", "refunds")], spans)
}

pub(super) fn request_of(resource: &[(&str, &str)], spans: Vec<Span>) -> ExportRequest {
    let attributes = resource.iter().map(|(key, text)| attribute(key, *text));
    ExportRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: attributes.collect(),
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(Scope {
                    name: "tests".to_owned(),
                    version: "1".to_owned(),
                }),
                spans,
            }],
        }],
    }
}

pub(super) fn decoded(request: &ExportRequest) -> Export {
    Export::decode(Form::Protobuf, &request.encode_to_vec()).expect("a request")
}

/// The events of a session's spans, each as its id, type and payload.
pub(super) fn written(
    session: &mut Session,
    spans: Vec<Span>,
) -> Vec<(EventId, String, Payload, Json)> {
    let export = decoded(&request(spans));
    assert_eq!(export.rejected, []);
    for conversation in &export.conversations {
        assert_eq!(session.write(conversation, None), []);
    }
    events(session)
}

pub(super) fn events(session: &mut Session) -> Vec<(EventId, String, Payload, Json)> {
    let events = session.take().events.into_iter();
    events
        .map(|event| {
            let read = Event::parse(&event.bytes).expect("a valid event");
            assert_eq!(
                crate::recorded_data::witness_of(&read),
                remembrancer_schema::payload::Witness::Telemetry
            );
            let data = serde_json::from_str(read.data).expect("JSON");
            (read.id, read.kind.to_string(), read.payload, data)
        })
        .collect()
}

pub(super) fn new() -> Session {
    Session::new("talk".parse().expect("an id"))
}

pub(super) fn kinds(events: &[(EventId, String, Payload, Json)]) -> Vec<&str> {
    events.iter().map(|(_, kind, ..)| kind.as_str()).collect()
}

pub(super) fn captured(events: &[(EventId, String, Payload, Json)]) -> Vec<&ContextCaptured> {
    let captures = events
        .iter()
        .filter_map(|(_, _, payload, _)| match payload {
            Payload::ContextCaptured(captured) => Some(captured),
            _ => None,
        });
    captures.collect()
}

pub(super) fn turns_of(events: &[(EventId, String, Payload, Json)], kind: &str) -> Vec<u64> {
    let of_kind = events.iter().filter(|(_, found, ..)| found == kind);
    of_kind
        .map(|(.., data)| data["turn"].as_u64().expect("a turn"))
        .collect()
}
