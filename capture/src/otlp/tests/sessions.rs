//! What becomes of spans that come in order, late, twice, changed, or without what they should have.

use remembrancer_schema::payload::{PartKind, ReturnStatus, Witness};

use super::super::wire::{SpanEvent, Status};
use super::*;

#[test]
fn a_run_becomes_contexts_answers_calls_and_results() {
    // As exporters send them: in the order of their ends, the run itself last.
    let run = span(
        9,
        0,
        vec![
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.conversation.id", "talk"),
            attribute("gen_ai.agent.name", "main"),
            attribute("final_result", "paid nothing"),
            attribute(
                "pydantic_ai.all_messages",
                json!([{ "role": "user", "parts": [{ "type": "text", "content": "rewritten" }] }]),
            ),
        ],
    );
    let mut session = new();
    let events = written(
        &mut session,
        vec![
            chat(1, 1, &["go"], &[("c1", "look")], ""),
            tool(2, 2, Some("c1"), "look", json!({ "y": 2 })),
            chat(3, 3, &["go", "seen"], &[], "done"),
            run,
        ],
    );
    assert_eq!(
        kinds(&events),
        [
            "session.started",
            "custom.otlp.agent_run",
            "context.captured",
            "model.responded",
            "tool.called",
            "tool.returned",
            "context.captured",
            "model.responded",
        ]
    );
    let Payload::SessionStarted(started) = &events[0].2 else {
        panic!("a start");
    };
    assert_eq!(started.witness, Some(Witness::Telemetry));
    assert_eq!(started.labels["service"], "refunds");
    assert_eq!(started.source.as_deref(), Some("OpenTelemetry, tests 1"));
    assert_eq!(started.model.as_deref(), Some("model-1"));
    let contexts = captured(&events);
    assert_eq!(contexts[0].parts[0].kind, PartKind::System);
    assert_eq!(contexts[0].parts.len(), 2);
    assert_eq!((contexts[1].base, contexts[1].parts.len()), (Some(1), 1));
    assert_eq!(contexts[1].incomplete, None);
    let Payload::ToolCalled(called) = &events[4].2 else {
        panic!("a call");
    };
    assert_eq!((called.turn, called.call_id.as_str()), (1, "c1"));
    let Payload::ToolReturned(returned) = &events[5].2 else {
        panic!("a result");
    };
    assert_eq!(returned.status, ReturnStatus::Ok);
    assert_eq!(
        returned.result.as_ref().map(|raw| raw.get()),
        Some("{\"y\":2}")
    );
    let claimed = &events[1].3["claimed_history"];
    assert_eq!(claimed[0]["kind"], "user");
    assert!(
        claimed[0]["hash"].is_string(),
        "a claim stands by its hash: {claimed}"
    );
}

#[test]
fn a_run_that_no_answer_told_of_has_a_turn_of_its_own() {
    let mut session = new();
    let events = written(
        &mut session,
        vec![
            chat(1, 1, &["go"], &[("c1", "look")], ""),
            tool(2, 2, Some("c7"), "pay", json!(1)),
            tool(3, 3, Some("c8"), "pay", json!(1)),
            chat(4, 4, &["go"], &[], "done"),
        ],
    );
    assert_eq!(turns_of(&events, "tool.called"), [1, 2, 2]);
    assert_eq!(turns_of(&events, "context.captured"), [1, 3]);
    // Where the answer is not known, they are the last turn's.
    let mut bare = chat(1, 1, &["go"], &[], "");
    bare.attributes
        .retain(|one| one.key != "gen_ai.output.messages");
    let events = written(
        &mut new(),
        vec![bare, tool(2, 2, Some("c1"), "pay", json!(1))],
    );
    assert_eq!(turns_of(&events, "tool.called"), [1]);
}

#[test]
fn runs_without_a_call_id_join_the_one_call_that_fits() {
    let mut session = new();
    let events = written(
        &mut session,
        vec![
            chat(1, 1, &["go"], &[("c1", "look"), ("c2", "pay")], ""),
            tool(2, 2, None, "pay", json!("paid")),
            tool(3, 3, None, "pay", json!("paid again")),
        ],
    );
    let returned: Vec<&str> = events
        .iter()
        .filter_map(|(.., payload, _)| match payload {
            Payload::ToolReturned(returned) => Some(returned.call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(returned, ["c2", "span:0303030303030303"]);
}

#[test]
fn a_result_without_a_run_is_known_from_the_request_that_holds_it() {
    let after = |number, second| {
        let mut span = chat(number, second, &[], &[], "done");
        span.attributes
            .retain(|one| one.key != "gen_ai.input.messages");
        let result = json!({ "type": "tool_call_response", "id": "c1", "response": "{\"y\":2}" });
        span.attributes.push(attribute(
            "gen_ai.input.messages",
            json!([{ "role": "user", "parts": [result] }]),
        ));
        span
    };
    let mut session = new();
    let spans = vec![
        chat(1, 1, &["go"], &[("c1", "look")], ""),
        after(3, 3),
        after(4, 4),
    ];
    let events = written(&mut session, spans);
    let returned: Vec<_> = events
        .iter()
        .filter(|(_, kind, ..)| kind == "tool.returned")
        .collect();
    assert_eq!(returned.len(), 1);
    assert_eq!(returned[0].3["result"], json!({ "y": 2 }));
    // Its run comes late: there is nothing more to say.
    let late = written(&mut session, vec![tool(2, 2, Some("c1"), "look", json!(2))]);
    assert_eq!(kinds(&late), ["custom.otlp.operation"]);
}

#[test]
fn a_failed_run_is_an_error_whether_it_returned_something_or_not() {
    let mut failed = tool(2, 2, Some("c1"), "look", Json::Null);
    failed.status = Some(Status {
        code: Status::ERROR,
        message: String::new(),
    });
    failed.events.push(SpanEvent {
        name: "exception".to_owned(),
        attributes: vec![
            attribute("exception.type", "RuntimeError"),
            attribute("exception.message", "boom"),
        ],
        ..SpanEvent::default()
    });
    let mut retried = failed.clone();
    retried.span_id = vec![3; 8];
    retried
        .attributes
        .push(attribute("gen_ai.tool.call.result", "try again"));
    let events = written(
        &mut new(),
        vec![chat(1, 1, &["go"], &[("c1", "look")], ""), failed, retried],
    );
    let results: Vec<(ReturnStatus, &str)> = events
        .iter()
        .filter_map(|(.., payload, _)| match payload {
            Payload::ToolReturned(returned) => {
                Some((returned.status, returned.result.as_ref()?.get()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            (ReturnStatus::Error, "{\"error\":\"RuntimeError: boom\"}"),
            (ReturnStatus::Error, "\"try again\""),
        ]
    );
}

#[test]
fn a_context_that_may_lack_parts_says_why() {
    let cut = |change: &dyn Fn(&mut Span)| {
        let mut span = chat(1, 1, &["go"], &[], "a");
        change(&mut span);
        let events = written(&mut new(), vec![span]);
        let contexts = captured(&events);
        contexts
            .first()
            .map(|context| (context.incomplete.clone(), context.parts.len()))
    };
    let replace = |span: &mut Span, key: &str, text: &str| {
        span.attributes.retain(|one| one.key != key);
        span.attributes.push(attribute(key, text));
    };
    let (reason, _) =
        cut(&|span| replace(span, "gen_ai.input.messages", "[{\"role\":\"us")).expect("a context");
    assert!(reason.is_some_and(|reason| reason.contains("no JSON")));
    let empty = json!([{ "role": "user", "parts": [{ "type": "text" }] }]).to_string();
    let (reason, parts) =
        cut(&|span| replace(span, "gen_ai.input.messages", &empty)).expect("a context");
    assert!(reason.is_some_and(|reason| reason.contains("leaves content out")));
    assert_eq!(parts, 1);
    let (reason, _) = cut(&|span| span.dropped_attributes_count = 3).expect("a context");
    assert!(reason.is_some_and(|reason| reason.contains("dropped 3")));
    let (reason, _) = cut(&|span| {
        span.attributes
            .push(attribute("gen_ai.request.previous_response.id", "resp_1"));
    })
    .expect("a context");
    assert!(reason.is_some_and(|reason| reason.contains("resp_1")));
    let nothing = cut(&|span| {
        span.attributes
            .retain(|one| !one.key.contains("messages") && !one.key.contains("system"));
    });
    assert_eq!(
        nothing, None,
        "a context of which nothing is told is not captured"
    );
}

#[test]
fn what_a_resource_declares_is_declared_once() {
    let resource = [
        ("service.name", "refunds"),
        (
            "remembrancer.prohibition.budget",
            "Never refund over 100 EUR.",
        ),
        ("remembrancer.intent", "Handle refunds"),
        ("remembrancer.fact.not an id", "x"),
    ];
    let mut session = new();
    let export = decoded(&request_of(&resource, vec![chat(1, 1, &["go"], &[], "a")]));
    let rejected = session.write(&export.conversations[0], None);
    assert_eq!(rejected.len(), 1);
    assert!(
        rejected[0].reason.contains("remembrancer.fact.not an id"),
        "{rejected:?}"
    );
    let first = events(&mut session);
    assert_eq!(
        kinds(&first)[..3],
        ["session.started", "intent.declared", "constraint.declared"]
    );
    assert_eq!(first[2].3["id"], "budget");
    assert_eq!(first[2].3["kind"], "prohibition");
    let export = decoded(&request_of(&resource, vec![chat(2, 2, &["go"], &[], "a")]));
    session.write(&export.conversations[0], None);
    assert_eq!(
        kinds(&events(&mut session)),
        ["context.captured", "model.responded"]
    );
}

#[test]
fn a_compaction_that_is_claimed_is_declared_at_the_turn_that_it_shows_in() {
    let summary = |number, second| {
        let mut span = chat(number, second, &[], &[], "a");
        span.attributes
            .retain(|one| one.key != "gen_ai.input.messages");
        span.attributes.push(attribute(
            "gen_ai.input.messages",
            json!([{ "role": "assistant", "parts": [{ "type": "compaction", "content": "so far" }] }]),
        ));
        span
    };
    let mut session = new();
    let events = written(
        &mut session,
        vec![chat(1, 1, &["go"], &[], "a"), summary(2, 2), summary(3, 3)],
    );
    assert_eq!(turns_of(&events, "context.mutated"), [2]);
    let mutated = events
        .iter()
        .find(|(_, kind, ..)| kind == "context.mutated");
    assert_eq!(
        mutated.map(|one| &one.3["summary"]["text"]),
        Some(&json!("so far"))
    );

    let mut flagged = chat(5, 5, &["go", "more"], &[], "a");
    flagged
        .attributes
        .push(attribute("gen_ai.conversation.compacted", true));
    let mut still = chat(6, 6, &["go", "more", "on"], &[], "a");
    still
        .attributes
        .push(attribute("gen_ai.conversation.compacted", true));
    let events = written(&mut session, vec![flagged, still]);
    assert_eq!(turns_of(&events, "context.mutated"), [4]);
}

#[test]
fn large_arguments_and_results_are_cut_and_say_so() {
    let large = "x".repeat(300 * 1024);
    let events = written(
        &mut new(),
        vec![
            chat(1, 1, &["go"], &[("c1", "look")], &large),
            tool(2, 2, Some("c1"), "look", json!(large)),
        ],
    );
    let returned = events.iter().find(|(_, kind, ..)| kind == "tool.returned");
    let result = &returned.expect("a result").3["result"]["cut"];
    assert_eq!(result["bytes"], 300 * 1024 + 2);
    assert!(result["blake3"].is_string() && result["start"].is_string());
    let responded = events
        .iter()
        .find(|(_, kind, ..)| kind == "model.responded");
    let text = responded.expect("an answer").3["text"][0]
        .as_str()
        .expect("a text");
    assert!(text.len() < 100 * 1024 && text.contains("\n[cut: 307200 bytes, BLAKE3 "));
}
