//! Whole conversations as events.

use remembrancer_schema::payload::{PartKind, Payload, ReturnStatus};
use remembrancer_schema::{ContentHash, Event};
use serde_json::{Value, json};

use super::*;

mod rules;

const TIME: &str = "2026-11-30T08:00:00Z";

struct Rig {
    recorder: CallRecorder,
    api: Api,
    events: Vec<Vec<u8>>,
    blobs: BTreeMap<ContentHash, Vec<u8>>,
    fresh: u32,
}

impl Rig {
    fn new(api: Api) -> Self {
        Self {
            recorder: CallRecorder::new("run1".to_owned(), SessionRules::default()),
            api,
            events: Vec::new(),
            blobs: BTreeMap::new(),
            fresh: 0,
        }
    }

    fn keep(&mut self, written: Written) -> Vec<(String, Payload)> {
        self.blobs.extend(written.blobs);
        let new = written
            .events
            .into_iter()
            .map(|event| event.bytes)
            .collect::<Vec<_>>();
        let read = new.iter().map(|bytes| {
            let event = Event::parse(bytes).expect("the recorder takes it");
            // What a mission file declares is somebody's word; all else passed through the proxy.
            let expected = match &event.payload {
                Payload::IntentDeclared(_) | Payload::ScopeDeclared(_) => Witness::Claimed,
                Payload::ConstraintDeclared(rule) if !rule.inferred => Witness::Claimed,
                _ => Witness::Exact,
            };
            assert_eq!(crate::recorded_data::witness_of(&event), expected);
            (event.kind.to_string(), event.payload)
        });
        let read = read.collect();
        self.events.extend(new);
        read
    }

    fn ask(&mut self, body: &Value) -> (CallPlace, Vec<(String, Payload)>) {
        self.fresh += 1;
        let fresh = format!("fresh-{}", self.fresh).parse().expect("an id");
        let body = body.to_string();
        let asked = Asked {
            api: self.api,
            body: body.as_bytes(),
            session: None,
            agent: None,
            time: TIME,
            fresh: &fresh,
        };
        let (place, written) = self.recorder.asked(&asked).expect("it can be recorded");
        (place, self.keep(written))
    }

    fn answer(&mut self, place: &CallPlace, body: &Value) -> Vec<(String, Payload)> {
        let body = body.to_string();
        self.answer_with(place, Some(200), body.as_bytes(), Ending::Whole)
    }

    fn answer_with(
        &mut self,
        place: &CallPlace,
        status: Option<u16>,
        body: &[u8],
        ending: Ending,
    ) -> Vec<(String, Payload)> {
        let is_stream = body.starts_with(b"data:") || body.starts_with(b"event:");
        let answered = Answered {
            status,
            is_stream,
            body,
            ending,
            time: TIME,
        };
        let written = self
            .recorder
            .answered(place, answered)
            .expect("it can be recorded");
        self.keep(written)
    }

    /// The data of the events of a type, as JSON.
    fn told(&self, kind: &str) -> Vec<Value> {
        let read = self
            .events
            .iter()
            .map(|bytes| serde_json::from_slice::<Value>(bytes).expect("JSON"));
        read.filter(|event| event["type"] == kind)
            .map(|event| event["data"].clone())
            .collect()
    }
}

fn kinds(events: &[(String, Payload)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

fn captured(events: &[(String, Payload)]) -> &ContextCaptured {
    let found = events.iter().find_map(|(_, payload)| match payload {
        Payload::ContextCaptured(captured) => Some(captured),
        _ => None,
    });
    found.expect("a context")
}

fn tool_answer(id: &str) -> Value {
    json!({ "id": "msg_1", "model": "claude", "stop_reason": "tool_use", "content": [
        { "type": "text", "text": "Reading." },
        { "type": "tool_use", "id": id, "name": "read", "input": { "shelf": 7 } },
    ], "usage": { "input_tokens": 10, "output_tokens": 2 } })
}

#[test]
fn a_call_and_its_result_become_events_in_their_order() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let first = json!({ "model": "m", "system": "Never delete.", "messages": [{ "role": "user", "content": "go" }] });
    let (place, events) = rig.ask(&first);
    assert_eq!(
        (place.turn, kinds(&events)),
        (1, vec!["session.started", "context.captured"])
    );
    assert_eq!(captured(&events).witness, Some(Witness::Exact));
    let answered = rig.answer(&place, &tool_answer("t1"));
    assert_eq!(kinds(&answered), ["model.responded", "tool.called"]);
    let second = json!({ "model": "m", "system": "Never delete.", "messages": [
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": tool_answer("t1")["content"] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "damp", "is_error": true }] },
    ] });
    let (place, events) = rig.ask(&second);
    assert_eq!(
        (place.turn, kinds(&events)),
        (2, vec!["tool.returned", "context.captured"])
    );
    assert!(matches!(&events[0].1, Payload::ToolReturned(returned)
        if returned.call_id == "t1" && returned.tool.as_deref() == Some("read") && returned.status == ReturnStatus::Error));
    let context = captured(&events);
    assert_eq!((context.base, context.parts.len()), (Some(1), 3));
    let known = context
        .parts
        .iter()
        .filter(|part| part.hash == Some(ContentHash::of(b"Reading.")))
        .count();
    assert_eq!(known, 1, "what the response said is named by its hash");
    // The same result again is not a second one.
    rig.answer(
        &place,
        &json!({ "id": "msg_2", "content": [{ "type": "text", "text": "ok" }] }),
    );
    let mut third = second;
    let more = json!({ "role": "user", "content": "more" });
    third["messages"].as_array_mut().expect("a list").push(more);
    assert_eq!(kinds(&rig.ask(&third).1), ["context.captured"]);
    let called = &rig.told("tool.called")[0];
    assert_eq!(
        (&called["turn"], &called["arguments"]),
        (&json!(1), &json!({ "shelf": 7 }))
    );
}

#[test]
fn a_compaction_keeps_the_session_and_says_that_this_is_derived() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let (place, _) =
        rig.ask(&json!({ "system": "s", "messages": [{ "role": "user", "content": "go" }] }));
    rig.answer(&place, &tool_answer("t1"));
    let compacted = json!({ "system": "s", "messages": [
        { "role": "user", "content": "summary of it all" },
        { "role": "assistant", "content": tool_answer("t1")["content"] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "damp" }] },
    ] });
    let (later, events) = rig.ask(&compacted);
    assert_eq!((later.session, later.turn), (place.session, 2));
    assert_eq!(
        kinds(&events),
        [
            "custom.conversation_matched",
            "tool.returned",
            "context.captured"
        ]
    );
    assert_eq!(
        rig.told("custom.conversation_matched")[0],
        json!({ "turn": 2, "by": "calls", "derived": true, "witness": "exact" })
    );
    assert_eq!(captured(&events).base, None);
}

#[test]
fn what_the_provider_does_to_a_context_is_recorded_as_its_doing() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "go" }] }));
    let mut answer = tool_answer("t1");
    answer["context_management"] = json!({ "applied_edits": [{ "type": "clear_tool_uses_20250919", "cleared_input_tokens": 90 }] });
    let events = rig.answer(&place, &answer);
    assert_eq!(
        kinds(&events),
        [
            "model.responded",
            "tool.called",
            "context.mutated",
            "custom.server_edit"
        ]
    );
    let Payload::ContextMutated(edited) = &events[2].1 else {
        panic!("{events:?}")
    };
    assert_eq!(
        (edited.kind, edited.turn),
        (remembrancer_schema::payload::MutationKind::ServerEdit, 1)
    );
    assert_eq!(
        edited
            .counted
            .map(|counted| (counted.uncompacted, counted.compacted)),
        Some((100, 10))
    );
    let compacted = json!({ "messages": [
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "compaction", "content": "the sum" }] },
        { "role": "user", "content": "next" },
    ] });
    let (place, events) = rig.ask(&compacted);
    assert_eq!(kinds(&events), ["context.mutated", "context.captured"]);
    let Payload::ContextMutated(mutated) = &events[0].1 else {
        panic!("{events:?}")
    };
    assert_eq!(
        mutated
            .summary
            .as_ref()
            .map(|summary| summary.text.as_str()),
        Some("the sum")
    );
    let parts: Vec<PartKind> = captured(&events)
        .parts
        .iter()
        .map(|part| part.kind)
        .collect();
    assert_eq!(parts, [PartKind::Summary, PartKind::User]);
    rig.answer_with(&place, Some(500), b"{}", Ending::Whole);
    let (_, again) = rig.ask(&compacted);
    assert!(
        !kinds(&again).contains(&"context.mutated"),
        "a compaction is told once"
    );
}

#[test]
fn a_context_that_the_provider_keeps_is_put_together_from_what_passed() {
    let mut rig = Rig::new(Api::OpenAiResponses);
    let (place, _) =
        rig.ask(&json!({ "model": "m", "instructions": "Never delete.", "input": "go" }));
    let output = json!([
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] },
        { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}" },
    ]);
    rig.answer(
        &place,
        &json!({ "id": "resp_1", "status": "completed", "output": output }),
    );
    let next = |id: &str| {
        json!({ "instructions": "Be brief.", "previous_response_id": id, "input": [
        { "type": "function_call_output", "call_id": "c1", "output": "damp" },
    ] })
    };
    let (later, events) = rig.ask(&next("resp_1"));
    assert_eq!((later.session, later.turn), (place.session, 2));
    assert_eq!(kinds(&events), ["tool.returned", "context.captured"]);
    let context = captured(&events);
    assert_eq!(context.incomplete, None);
    let parts: Vec<(PartKind, Option<ContentHash>)> = context
        .parts
        .iter()
        .map(|part| {
            (
                part.kind,
                part.hash.or(part
                    .text
                    .as_deref()
                    .map(|text| ContentHash::of(text.as_bytes()))),
            )
        })
        .collect();
    let expected = [
        (PartKind::System, "Be brief."),
        (PartKind::User, "go"),
        (PartKind::Assistant, "ok"),
        (PartKind::ToolCall, "read {}"),
        (PartKind::ToolResult, "damp"),
    ];
    assert_eq!(
        parts,
        expected.map(|(kind, text)| (kind, Some(ContentHash::of(text.as_bytes()))))
    );
    let elsewhere = json!({ "previous_response_id": "resp_elsewhere", "input": "go on" });
    let (other, events) = rig.ask(&elsewhere);
    assert_eq!(other.turn, 1);
    assert!(
        captured(&events)
            .incomplete
            .as_deref()
            .is_some_and(|why| why.contains("did not pass here"))
    );
    let (_, events) = rig.ask(&json!({ "input": "a", "conversation": "conv_1" }));
    assert!(
        captured(&events)
            .incomplete
            .as_deref()
            .is_some_and(|why| why.contains("conversation"))
    );
}

#[test]
fn what_the_provider_compacted_in_a_context_that_it_keeps_is_not_taken_for_known() {
    let mut rig = Rig::new(Api::OpenAiResponses);
    let (place, _) = rig.ask(&json!({ "instructions": "Never delete.", "input": "the task" }));
    let output = json!([
        { "type": "compaction", "encrypted_content": "opaque" },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] },
    ]);
    rig.answer(
        &place,
        &json!({ "id": "resp_1", "status": "completed", "output": output }),
    );
    let next = |id: &str| json!({ "instructions": "Never delete.", "previous_response_id": id, "input": "on" });
    for (id, answer, mutations) in [("resp_1", "resp_2", 1), ("resp_2", "resp_3", 0)] {
        let (place, events) = rig.ask(&next(id));
        let context = captured(&events);
        assert!(
            context
                .incomplete
                .as_deref()
                .is_some_and(|why| why.contains("compacted")),
            "{id}"
        );
        let told: Vec<(PartKind, bool)> = context
            .parts
            .iter()
            .map(|part| (part.kind, part.encrypted))
            .collect();
        // The second one only says what is new.
        let expected = match context.base {
            None => vec![
                (PartKind::System, false),
                (PartKind::Summary, true),
                (PartKind::Assistant, false),
                (PartKind::User, false),
            ],
            Some(_) => vec![(PartKind::User, false)],
        };
        assert_eq!(
            (told, context.base.is_some()),
            (expected, mutations == 0),
            "{id}"
        );
        let mutated = kinds(&events)
            .iter()
            .filter(|kind| **kind == "context.mutated")
            .count();
        assert_eq!(mutated, mutations, "{id}");
        rig.answer(
            &place,
            &json!({ "id": answer, "status": "completed", "output": [] }),
        );
    }
}

#[test]
fn requests_of_a_session_may_be_answered_in_another_order() {
    let mut rig = Rig::new(Api::OpenAiResponses);
    let ask = |text: &str| json!({ "input": text, "conversation": "conv_1" });
    let (one, _) = rig.ask(&ask("one"));
    let (two, _) = rig.ask(&ask("two"));
    rig.answer(
        &two,
        &json!({ "id": "resp_2", "status": "completed", "output": [] }),
    );
    rig.answer(
        &one,
        &json!({ "id": "resp_1", "status": "completed", "output": [] }),
    );
    let (_, events) = rig.ask(&json!({ "input": "on", "previous_response_id": "resp_2" }));
    // The one before in the session is the second request, and this is more than it.
    let context = captured(&events);
    assert_eq!((context.base, context.parts.len()), (Some(2), 1));
}

#[test]
fn failures_are_told_without_the_words_that_may_repeat_a_key() {
    let mut rig = Rig::new(Api::OpenAiChat);
    let request = json!({ "messages": [{ "role": "user", "content": "go" }] });
    let (place, _) = rig.ask(&request);
    let refusal = br#"{"error":{"message":"Incorrect API key provided: sk-abc","type":"invalid_request_error"}}"#;
    let events = rig.answer_with(&place, Some(401), refusal, Ending::Whole);
    assert_eq!(kinds(&events), ["custom.model_failed"]);
    let told = &rig.told("custom.model_failed")[0];
    assert_eq!(
        (&told["status"], &told["error"]),
        (&json!(401), &json!("invalid_request_error"))
    );
    assert!(!told.to_string().contains("sk-abc"));
    let (place, _) = rig.ask(&request);
    assert_eq!(place.turn, 2, "tried again");
    rig.answer_with(&place, None, b"", Ending::Unreachable);
    let cut = b"data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hal\",\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"rm\",\"arguments\":\"{\\\"a\"}}]}}]}\n\n";
    let (place, _) = rig.ask(&request);
    let events = rig.answer_with(&place, Some(200), cut, Ending::UpstreamBroke);
    assert_eq!(
        kinds(&events),
        ["custom.model_failed", "model.responded"],
        "a call that was broken off is none"
    );
    let Payload::ModelResponded(responded) = &events[1].1 else {
        panic!("{events:?}")
    };
    assert_eq!(
        (responded.text.as_slice(), responded.stop_reason.as_deref()),
        (&["hal".to_owned()][..], Some("upstream_broke"))
    );
    let events = rig.answer_with(&place, Some(200), b"<html>", Ending::Whole);
    assert_eq!(kinds(&events), ["custom.model_failed"]);
    let done = b"data: {\"id\":\"y\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "another" }] }));
    let events = rig.answer_with(&place, Some(200), done, Ending::ClientLeft);
    assert_eq!(
        kinds(&events),
        ["model.responded"],
        "whoever leaves behind the last event has all of it"
    );
}

#[test]
fn large_texts_arguments_and_results_fit_into_events_and_are_kept_whole() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let (place, _) =
        rig.ask(&json!({ "messages": [{ "role": "user", "content": "x".repeat(300_000) }] }));
    let long = "\u{1}é".repeat(150_000);
    let content = json!([
        { "type": "text", "text": long },
        { "type": "tool_use", "id": "t1", "name": "w".repeat(4000), "input": { "text": long } },
    ]);
    rig.answer(&place, &json!({ "id": "msg_1", "content": content }));
    assert!(rig.blobs.values().any(|blob| blob == long.as_bytes()));
    let called = &rig.told("tool.called")[0];
    let whole = json!({ "text": long }).to_string();
    assert_eq!(
        called["arguments"]["cut"]["blake3"],
        ContentHash::of(whole.as_bytes()).to_string()
    );
    assert!(rig.blobs.values().any(|blob| blob == whole.as_bytes()));
    let (_, events) = rig.ask(&json!({ "messages": [
        { "role": "user", "content": "x".repeat(300_000) },
        { "role": "assistant", "content": content },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": long }] },
    ] }));
    assert_eq!(kinds(&events), ["tool.returned", "context.captured"]);
    assert_eq!(
        rig.told("tool.returned")[0]["result"]["cut"]["bytes"],
        long.len()
    );
    // Each text once: the two in the context are the ones that are there already.
    assert_eq!(
        rig.blobs.len(),
        4,
        "{:?}",
        rig.blobs.values().map(Vec::len).collect::<Vec<_>>()
    );
}

#[test]
fn what_could_not_be_kept_is_sent_again() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let first =
        json!({ "system": "Never delete.", "messages": [{ "role": "user", "content": "go" }] });
    let (place, _) = rig.ask(&first);
    rig.recorder.lost(&place.session);
    rig.answer_with(&place, Some(500), b"{}", Ending::Whole);
    let mut second = first;
    second["messages"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "role": "user", "content": "more" }));
    let (later, events) = rig.ask(&second);
    assert_eq!((later.session, later.turn), (place.session, 2));
    assert_eq!(kinds(&events), ["session.started", "context.captured"]);
    let context = captured(&events);
    assert_eq!((context.base, context.parts.len()), (None, 3));
    assert!(context.parts.iter().all(|part| part.text.is_some()));
}

#[test]
fn a_later_run_goes_on_with_the_next_number_and_other_ids() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let first = json!({ "messages": [{ "role": "user", "content": "go" }] });
    let (place, _) = rig.ask(&first);
    rig.answer(&place, &tool_answer("t1"));
    let known = rig
        .recorder
        .conversation(&place.session)
        .expect("it is known")
        .clone();
    let ids = |rig: &Rig| -> Vec<String> {
        let read = rig
            .events
            .iter()
            .map(|bytes| Event::parse(bytes).expect("valid").id.to_string());
        read.collect()
    };
    let before = ids(&rig);
    let mut later = Rig::new(Api::AnthropicMessages);
    later.recorder = CallRecorder::new("run2".to_owned(), SessionRules::default());
    later.recorder.remember(known);
    let (next, events) = later.ask(&json!({ "messages": [
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": tool_answer("t1")["content"] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "damp" }] },
    ] }));
    assert_eq!((next.session, next.turn), (place.session, 2));
    assert_eq!(kinds(&events), ["tool.returned", "context.captured"]);
    assert!(ids(&later).iter().all(|id| !before.contains(id)));
}

#[test]
fn results_whose_events_could_not_be_kept_are_sent_again() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "go" }] }));
    rig.answer(&place, &tool_answer("t1"));
    let mut messages = vec![
        json!({ "role": "user", "content": "go" }),
        json!({ "role": "assistant", "content": tool_answer("t1")["content"] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "damp" }] }),
    ];
    let (place, events) = rig.ask(&json!({ "messages": messages }));
    assert!(kinds(&events).contains(&"tool.returned"));
    rig.recorder.lost(&place.session);
    rig.answer_with(&place, Some(500), b"{}", Ending::Whole);
    messages.push(json!({ "role": "user", "content": "on" }));
    let (place, events) = rig.ask(&json!({ "messages": messages }));
    assert_eq!(
        (place.turn, kinds(&events)),
        (
            3,
            vec!["session.started", "tool.returned", "context.captured"]
        )
    );
    let (_, events) = rig.ask(&json!({ "messages": messages }));
    assert!(!kinds(&events).contains(&"tool.returned"));
}

#[test]
fn calls_whose_events_could_not_be_kept_are_sent_again_before_their_results() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "go" }] }));
    let lost = rig.answer(&place, &tool_answer("t1"));
    assert!(kinds(&lost).contains(&"tool.called"));
    rig.recorder.lost(&place.session);
    let mut messages = json!({ "messages": [
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": tool_answer("t1")["content"] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "damp" }] },
    ] });
    // What is kept of it survives the end of the program, and a further loss.
    let known = serde_json::to_vec(rig.recorder.conversation(&place.session).expect("known"));
    rig.recorder = CallRecorder::new("run2".to_owned(), SessionRules::default());
    let known = serde_json::from_slice(&known.expect("JSON")).expect("a conversation");
    rig.recorder.remember(known);
    for turn in [2, 3] {
        let (place, events) = rig.ask(&messages);
        assert_eq!(
            (place.turn, kinds(&events)),
            (
                turn,
                vec![
                    "session.started",
                    "tool.called",
                    "tool.returned",
                    "context.captured"
                ]
            )
        );
        let Payload::ToolCalled(called) = &events[1].1 else {
            panic!("{events:?}");
        };
        assert_eq!((called.turn, called.call_id.as_str()), (1, "t1"));
        let called = rig.told("tool.called");
        assert!(called.iter().all(|one| *one == called[0]), "the same event");
        if turn == 2 {
            rig.recorder.lost(&place.session);
        }
        // The request ended: what follows is not asked beside it.
        rig.answer_with(&place, Some(529), b"{}", Ending::Whole);
        let more = messages["messages"].as_array_mut().expect("a list");
        more.push(json!({ "role": "user", "content": "more" }));
    }
    let (_, events) = rig.ask(&messages);
    assert_eq!(kinds(&events), ["context.captured"]);
}

#[test]
fn a_response_lists_calls_under_the_ids_of_their_events() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let long = "x".repeat(200);
    let answer = json!({ "id": "m", "stop_reason": "tool_use", "content": [
        { "type": "tool_use", "id": "c", "name": "read", "input": {} },
        { "type": "tool_use", "id": "c", "name": "read", "input": {} },
        { "type": "tool_use", "id": long, "name": "read", "input": {} },
    ] });
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "go" }] }));
    rig.answer(&place, &answer);
    let ids = |value: &Value| value["call_id"].as_str().expect("an id").to_owned();
    let called: Vec<String> = rig.told("tool.called").iter().map(ids).collect();
    let responded = rig.told("model.responded");
    let listed = responded[0]["calls"].as_array().expect("a list");
    assert_eq!(listed.iter().map(ids).collect::<Vec<_>>(), called);
    assert_eq!(called[..2], ["c".to_owned(), "c@1.1".to_owned()]);
}

#[test]
fn further_conversations_of_a_group_name_its_first_session() {
    let mut rig = Rig::new(Api::OpenAiChat);
    let body = |system: &str| {
        json!({ "metadata": { "session_id": "run-7" }, "messages": [
            { "role": "system", "content": system }, { "role": "user", "content": "go" },
        ] })
    };
    rig.ask(&body("main"));
    assert_eq!(rig.ask(&body("sub")).0.session.as_str(), "run-7.2");
    let started = rig.told("session.started");
    assert_eq!(started[0]["parent"], Value::Null);
    assert_eq!(started[1]["parent"]["session"], "run-7");
}

#[test]
fn nothing_of_an_answer_that_cannot_be_read_is_repeated() {
    let mut rig = Rig::new(Api::OpenAiChat);
    let (place, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "go" }] }));
    rig.answer(
        &place,
        &json!({ "error": "Incorrect API key provided: sk-secret" }),
    );
    let failed = rig.told("custom.model_failed");
    assert!(failed[0]["unreadable"].is_string(), "{failed:?}");
    assert!(!failed[0].to_string().contains("sk-"), "{failed:?}");
}

#[test]
fn edits_that_a_provider_applied_are_recorded_as_told_beside_what_the_client_sent() {
    let mut rig = Rig::new(Api::AnthropicMessages);
    let messages = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "t0", "name": "read", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t0", "content": "Never pay." }] },
    ]);
    let (place, asked) = rig.ask(&json!({ "messages": messages }));
    let edits = json!([
        { "type": "clear_thinking_20251015", "cleared_thinking_turns": 2, "cleared_input_tokens": 40 },
        { "type": "clear_tool_uses_20250919", "cleared_tool_uses": 3, "cleared_input_tokens": 900 },
        { "type": "of_tomorrow", "cleared": ["x"] },
    ]);
    let answer = json!({ "id": "m", "content": [{ "type": "text", "text": "done" }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 90 },
        "context_management": { "applied_edits": edits } });
    // In one piece, and as a stream, which tells the edits with its last message.
    let stream = [
        json!({ "type": "message_start", "message": { "id": "m2", "content": [], "usage": answer["usage"] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "done" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 },
            "context_management": answer["context_management"] }),
        json!({ "type": "message_stop" }),
    ];
    let stream: String = stream
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    rig.answer(&place, &answer);
    let (again, _) = rig.ask(&json!({ "messages": [{ "role": "user", "content": "another" }] }));
    rig.answer_with(&again, Some(200), stream.as_bytes(), Ending::Whole);
    let told = rig.told("custom.server_edit");
    assert_eq!(told.len(), 6);
    for (at, one) in told.iter().enumerate() {
        assert_eq!(one["edit"], edits[at % 3], "in the provider's words");
        assert!(
            one["snapshot"]
                .as_str()
                .is_some_and(|told| told.contains("as the client sent it"))
        );
    }
    let mutated = rig.told("context.mutated");
    let counted: Vec<(&Value, &Value)> = mutated
        .iter()
        .map(|one| (&one["counted"]["uncompacted"], &one["counted"]["compacted"]))
        .collect();
    // One after the other, down to what the provider measured.
    let expected = [
        (json!(1040), json!(1000)),
        (json!(1000), json!(100)),
        (Value::Null, Value::Null),
    ];
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(one, two)| (one, two)).collect();
    assert_eq!(counted, [&expected[..], &expected[..]].concat());
    assert!(
        mutated
            .iter()
            .all(|one| one["kind"] == "server_edit" && one["trigger"]["cause"] == "provider")
    );
    // The snapshot holds what the client sent, the result that was cleared too.
    let parts = &captured(&asked).parts;
    assert!(
        parts
            .iter()
            .any(|part| part.text.as_deref() == Some("Never pay."))
    );
}

#[test]
fn a_context_that_the_provider_keeps_is_known_in_a_session_beside_too() {
    let mut rig = Rig::new(Api::OpenAiResponses);
    let (place, _) = rig.ask(&json!({ "model": "m", "input": "Never pay." }));
    let said = json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] }]);
    rig.answer(
        &place,
        &json!({ "id": "resp_1", "status": "completed", "output": said }),
    );
    let next =
        |text: &str| json!({ "model": "m", "input": text, "previous_response_id": "resp_1" });
    let (one, first) = rig.ask(&next("one side"));
    let (two, second) = rig.ask(&next("other side"));
    assert_ne!(one.session, two.session);
    for events in [&first, &second] {
        assert_eq!(captured(events).incomplete, None);
    }
    assert_eq!(
        captured(&second).parts.len(),
        3,
        "all of it, in a session of its own"
    );
    let started = rig.told("session.started");
    assert_eq!(started[1]["parent"]["session"], one.session.as_str());
}

#[test]
fn the_results_that_the_provider_cleared_are_named_where_the_request_settles_which() {
    let body = |management: Value| {
        let mut messages = vec![json!({ "role": "user", "content": "go" })];
        for (id, tool) in [
            ("t1", "read"),
            ("t2", "rules"),
            ("t3", "read"),
            ("t4", "read"),
        ] {
            messages.push(json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": tool, "input": {} }] }));
            messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "x" }] }));
        }
        json!({ "messages": messages, "context_management": management })
    };
    let edit = |more: Value| {
        let mut edit = json!({ "type": "clear_tool_uses_20250919", "exclude_tools": ["rules"],
            "keep": { "type": "tool_uses", "value": 1 } });
        for (name, value) in more.as_object().expect("members") {
            edit[name] = value.clone();
        }
        edit
    };
    let named = |edits: Value, cleared: Value| {
        let mut rig = Rig::new(Api::AnthropicMessages);
        let (place, _) = rig.ask(&body(json!({ "edits": edits })));
        let mut answer = tool_answer("t5");
        answer["context_management"] = json!({ "applied_edits": [
            { "type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared, "cleared_input_tokens": 9 }] });
        let edited =
            rig.answer(&place, &answer)
                .into_iter()
                .find_map(|(_, payload)| match payload {
                    Payload::ContextMutated(edited) => Some(edited),
                    _ => None,
                });
        let parts = edited.expect("an edit").parts.into_iter();
        let parts = parts.map(|part| (part.call_id.unwrap_or_default(), part.part_kind));
        parts.collect::<Vec<_>>()
    };
    let result = |call: &str| (call.to_owned(), Some(PartKind::ToolResult));
    let plain = edit(json!({}));
    assert_eq!(named(json!([plain]), json!(1)), [result("t1")]);
    assert_eq!(
        named(json!([plain]), json!(2)),
        [result("t1"), result("t3")],
        "not the excluded one"
    );
    assert_eq!(
        named(json!([plain]), json!(3)),
        [],
        "more than the rule leaves to clear"
    );
    assert_eq!(named(json!([plain]), Value::Null), [], "no count");
    assert_eq!(
        named(json!([plain, plain]), json!(1)),
        [],
        "two edits, and one count"
    );
    let odd = edit(json!({ "keep": { "type": "tokens", "value": 9 } }));
    assert_eq!(named(json!([odd]), json!(1)), [], "kept by another measure");
    let inputs = edit(json!({ "clear_tool_inputs": true }));
    assert_eq!(
        named(json!([inputs]), json!(1)),
        [("t1".to_owned(), None)],
        "the call too"
    );
    let default = edit(json!({ "keep": null }));
    assert_eq!(
        named(json!([default]), json!(1)),
        [],
        "three stay unless told otherwise"
    );
}
