//! The same conversation as several conventions write it.

use remembrancer_schema::payload::{ContextCaptured, ModelResponded, PartKind};

use super::super::wire::SpanEvent;
use super::*;

/// Three requests of an agent on the `openai` package 3.57.0, as `openinference-instrumentation-openai` 0.1.66 and the exporter
/// 1.45.2 sent them, with ids as hexadecimal digits.
const OPENINFERENCE: &str = include_str!("openinference_openai.json");

/// What a model was sent and answered, of a conversation of one request.
fn only_turn(span: Span) -> (ContextCaptured, ModelResponded, Vec<String>) {
    let export = decoded(&request(vec![span]));
    let mut session = new();
    assert_eq!(session.write(&export.conversations[0], None), []);
    let (mut context, mut answer, mut calls) = (None, None, Vec::new());
    for (.., payload, _) in events(&mut session) {
        match payload {
            Payload::ContextCaptured(captured) => context = Some(captured),
            Payload::ModelResponded(responded) => answer = Some(responded),
            Payload::ToolCalled(called) => {
                let arguments = called.arguments.as_ref().map(|raw| raw.get());
                calls.push(format!("{} {}", called.tool, arguments.unwrap_or_default()));
            }
            _ => {}
        }
    }
    let context = context.expect("a context");
    (context, answer.expect("an answer"), calls)
}

fn assert_is_the_conversation(span: Span) {
    let (context, answer, calls) = only_turn(span);
    let parts: Vec<(PartKind, &str)> = context
        .parts
        .iter()
        .map(|part| (part.kind, part.text.as_deref().expect("a text")))
        .collect();
    assert_eq!(
        parts,
        [
            (PartKind::System, "Never pay."),
            (PartKind::User, "go"),
            (PartKind::ToolCall, "look {\"x\":1}"),
            (PartKind::ToolResult, "seen"),
        ]
    );
    assert_eq!(context.parts[2].call_id.as_deref(), Some("c1"));
    assert_eq!(context.parts[3].call_id.as_deref(), Some("c1"));
    assert_eq!(context.incomplete, None);
    assert_eq!(answer.text, ["I pay."]);
    assert_eq!(calls, ["pay {\"y\":2}"]);
    assert_eq!(answer.usage.map(|usage| usage.input_tokens), Some(100));
    assert_eq!(answer.stop_reason.as_deref(), Some("tool_calls"));
}

fn called(id: &str, tool: &str, arguments: &str) -> Json {
    json!([{ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments } }])
}

fn of_model(mut attributes: Vec<KeyValue>) -> Span {
    attributes.push(attribute("gen_ai.request.model", "model-1"));
    attributes.push(attribute("gen_ai.system", "openai"));
    attributes.push(attribute("gen_ai.usage.prompt_tokens", 100));
    span(1, 1, attributes)
}

fn older_events() -> Vec<(&'static str, Json)> {
    vec![
        ("gen_ai.system.message", json!({ "content": "Never pay." })),
        ("gen_ai.user.message", json!({ "content": "go" })),
        (
            "gen_ai.assistant.message",
            json!({ "tool_calls": called("c1", "look", "{\"x\":1}") }),
        ),
        (
            "gen_ai.tool.message",
            json!({ "id": "c1", "content": "seen" }),
        ),
        (
            "gen_ai.choice",
            json!({ "index": 0, "finish_reason": "tool_calls", "message": {
                "content": "I pay.", "tool_calls": called("c2", "pay", "{\"y\":2}"),
            } }),
        ),
    ]
}

#[test]
fn messages_as_events_of_the_span_are_read() {
    let mut span = of_model(Vec::new());
    for (name, body) in older_events() {
        span.events.push(SpanEvent {
            name: name.to_owned(),
            attributes: vec![attribute("gen_ai.event.content", body)],
            ..SpanEvent::default()
        });
    }
    assert_is_the_conversation(span);
}

#[test]
fn messages_as_a_list_of_events_in_an_attribute_are_read() {
    let events: Vec<Json> = older_events()
        .into_iter()
        .map(|(name, mut body)| {
            body["event.name"] = json!(name);
            body
        })
        .collect();
    assert_is_the_conversation(of_model(vec![attribute("events", json!(events))]));
}

#[test]
fn attributes_of_the_details_event_count_as_the_span_s() {
    let parts = |role: &str, part: Json| json!({ "role": role, "parts": [part] });
    let call = json!({ "type": "tool_call", "id": "c1", "name": "look", "arguments": { "x": 1 } });
    let result = json!({ "type": "tool_call_response", "id": "c1", "response": "seen" });
    let input = json!([
        parts("user", json!({ "type": "text", "content": "go" })),
        parts("assistant", call),
        parts("tool", result),
    ]);
    let answer = json!([{ "role": "assistant", "finish_reason": "tool_calls", "parts": [
        { "type": "text", "content": "I pay." },
        { "type": "tool_call", "id": "c2", "name": "pay", "arguments": { "y": 2 } },
    ] }]);
    let mut span = of_model(vec![attribute("gen_ai.operation.name", "chat")]);
    span.events.push(SpanEvent {
        name: "gen_ai.client.inference.operation.details".to_owned(),
        attributes: vec![
            attribute(
                "gen_ai.system_instructions",
                json!([{ "type": "text", "content": "Never pay." }]),
            ),
            attribute("gen_ai.input.messages", input),
            attribute("gen_ai.output.messages", answer),
        ],
        ..SpanEvent::default()
    });
    assert_is_the_conversation(span);
}

#[test]
fn openllmetry_s_flat_attributes_are_read() {
    let attributes = [
        ("llm.request.type", "chat"),
        ("gen_ai.prompt.0.role", "system"),
        ("gen_ai.prompt.0.content", "Never pay."),
        ("gen_ai.prompt.1.role", "user"),
        ("gen_ai.prompt.1.content", "go"),
        ("gen_ai.prompt.2.role", "assistant"),
        ("gen_ai.prompt.2.tool_calls.0.id", "c1"),
        ("gen_ai.prompt.2.tool_calls.0.name", "look"),
        ("gen_ai.prompt.2.tool_calls.0.arguments", "{\"x\":1}"),
        ("gen_ai.prompt.3.role", "tool"),
        ("gen_ai.prompt.3.content", "seen"),
        ("gen_ai.prompt.3.tool_call_id", "c1"),
        ("gen_ai.completion.0.role", "assistant"),
        ("gen_ai.completion.0.content", "I pay."),
        ("gen_ai.completion.0.finish_reason", "tool_calls"),
        ("gen_ai.completion.0.tool_calls.0.id", "c2"),
        ("gen_ai.completion.0.tool_calls.0.name", "pay"),
        ("gen_ai.completion.0.tool_calls.0.arguments", "{\"y\":2}"),
    ];
    let attributes = attributes.map(|(key, text)| attribute(key, text));
    assert_is_the_conversation(of_model(attributes.to_vec()));
}

#[test]
fn conformance_what_openinference_sent_for_an_openai_agent_is_read() {
    let export = Export::decode(Form::Json, OPENINFERENCE.as_bytes()).expect("a request");
    assert_eq!(export.conversations.len(), 1);
    let conversation = &export.conversations[0];
    assert_eq!(conversation.session().as_str(), "refund-oi");
    let mut session = Session::new(conversation.session().clone());
    assert_eq!(session.write(conversation, None), []);
    let events = events(&mut session);
    let kinds = kinds(&events);
    let count = |kind: &str| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!(
        (count("context.captured"), count("model.responded")),
        (3, 3)
    );
    assert_eq!(
        (count("tool.called"), count("tool.returned")),
        (2, 2),
        "the results are known from the requests that hold them"
    );
    let first = events
        .iter()
        .find(|(_, kind, ..)| kind == "context.captured");
    let parts = &first.expect("a context").3["parts"];
    let told = |at: usize| (parts[at]["kind"].as_str(), parts[at]["text"].as_str());
    assert_eq!(
        (parts[0]["kind"].as_str(), parts[0]["name"].as_str()),
        (Some("tool_schema"), Some("look"))
    );
    assert_eq!(told(1), (Some("system"), Some("Never pay over 100 EUR.")));
    assert_eq!(told(2), (Some("user"), Some("Refund order 17.")));
    let second = events
        .iter()
        .filter(|(_, kind, ..)| kind == "context.captured")
        .nth(1);
    assert_eq!(
        second.map(|one| &one.3["base"]),
        Some(&json!(1)),
        "it only grew"
    );
    let last = events
        .iter()
        .rfind(|(_, kind, ..)| kind == "model.responded");
    let last = &last.expect("an answer").3;
    assert_eq!(
        (&last["text"], &last["stop_reason"]),
        (&json!(["done"]), &json!("stop"))
    );
    assert_eq!(last["usage"]["input_tokens"], 10);
}

#[test]
fn what_an_agent_tells_of_its_history_is_a_claim_under_every_name() {
    let rewritten =
        json!([{ "role": "user", "parts": [{ "type": "text", "content": "a summary" }] }]);
    let kinds_of_agents = [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.operation.name", "invoke_workflow"),
        ("openinference.span.kind", "AGENT"),
    ];
    let names = [
        "pydantic_ai.all_messages",
        "all_messages_events",
        "gen_ai.input.messages",
        "input.value",
    ];
    for (kind, of) in kinds_of_agents {
        for name in names {
            let conversation = attribute("gen_ai.conversation.id", "talk");
            let agent = span(
                2,
                2,
                vec![
                    attribute(kind, of),
                    conversation,
                    attribute(name, rewritten.clone()),
                ],
            );
            let spans = vec![
                chat(1, 1, &["rule"], &[], "a"),
                agent,
                chat(3, 3, &["rule", "on"], &[], "b"),
            ];
            let events = written(&mut new(), spans);
            let bases: Vec<Option<u32>> = captured(&events).iter().map(|one| one.base).collect();
            assert_eq!(bases, [None, Some(1)], "{of} {name}");
            let run = events
                .iter()
                .find(|(_, kind, ..)| kind == "custom.otlp.agent_run");
            let claimed = &run.expect("it is kept").3["claimed_history"];
            assert_eq!(claimed.as_array().map(Vec::len), Some(1), "{of} {name}");
            assert!(!kinds(&events).contains(&"context.mutated"));
        }
    }
}
