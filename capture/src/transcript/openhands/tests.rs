use remembrancer_schema::payload::{MutationKind, ReturnStatus};
use serde_json::json;

use super::*;
use crate::recorded_data::shared;
use crate::transcript::collected::Collected;

fn user(id: &str, text: &str) -> serde_json::Value {
    json!({"id": id, "kind": "MessageEvent", "source": "user", "timestamp": "2026-11-30T05:00:00+00:00",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": text}]}})
}

fn action(id: &str, response: &str, call: &str) -> serde_json::Value {
    json!({"id": id, "kind": "ActionEvent", "source": "agent", "thought": [{"type": "text", "text": format!("think {id}")}],
        "tool_name": "terminal", "tool_call_id": call, "llm_response_id": response,
        "tool_call": {"id": call, "name": "terminal", "arguments": format!("{{\"command\": \"{id}\"}}")}})
}

fn result(id: &str, call: &str, text: &str) -> serde_json::Value {
    json!({"id": id, "kind": "ObservationEvent", "source": "environment", "tool_name": "terminal", "tool_call_id": call,
        "observation": {"content": [{"type": "text", "text": text}], "is_error": text == "bad"}})
}

fn system() -> serde_json::Value {
    json!({"id": "s", "kind": "SystemPromptEvent", "source": "agent", "system_prompt": {"type": "text", "text": "You work."},
        "dynamic_context": {"type": "text", "text": "Host a."}, "tools": [{"name": "terminal"}]})
}

fn imported(events: &[serde_json::Value]) -> Collected {
    let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
    Collected::of_text(&OpenHands, "conversation.jsonl", &lines.join("\n"))
}

#[test]
fn conformance_the_recorded_condensation_takes_the_rule_out_of_the_context() {
    let Some(path) = shared("transcripts/openhands-01-condensation-generated.jsonl") else {
        return;
    };
    assert!(OpenHands.recognises(&Opening::of(&path).expect("readable")));
    let read = Collected::of(&OpenHands, &path);
    assert_eq!((read.report.records, read.report.malformed), (7, 0));
    let contexts = read.contexts();
    let rule = "Investigate slow queries. orders_prod is production: read-only queries only, never DELETE.";
    assert_eq!(contexts.len(), 4);
    // No call has a result in this file, and a call without one is not sent.
    for context in &contexts[..3] {
        assert_eq!(context[..], [("user".to_owned(), rule.to_owned())]);
    }
    let summary =
        "User asked to investigate slow queries; EXPLAIN shows a missing index on orders_prod.";
    assert_eq!(
        contexts[3],
        [
            ("summary".to_owned(), summary.to_owned()),
            ("assistant".to_owned(), "Found a missing index.".to_owned())
        ]
    );
    let mutation = read.mutations()[0];
    assert_eq!(
        (mutation.turn, mutation.kind),
        (4, MutationKind::Compaction)
    );
    assert_eq!(
        mutation.summary.as_ref().map(|record| record.text.as_str()),
        Some(summary)
    );
    // The rule, and two calls: the file's thoughts are empty.
    assert_eq!(mutation.parts.len(), 3);
    let calls = read.calls();
    assert_eq!(
        calls.iter().map(|call| call.turn).collect::<Vec<_>>(),
        [1, 2, 4]
    );
    assert!(
        calls[2]
            .arguments
            .as_ref()
            .expect("arguments")
            .get()
            .contains("DELETE FROM orders_prod")
    );
    assert!(
        read.captures()[0]
            .incomplete
            .as_deref()
            .expect("a reason")
            .contains("system prompt")
    );
    assert!(
        read.report
            .notices
            .iter()
            .any(|notice| notice.text.contains("offset from UTC"))
    );
}

#[test]
fn a_response_of_several_calls_is_one_turn_and_results_follow_in_the_next_context() {
    let read = imported(&[
        system(),
        user("u", "go"),
        action("a1", "r1", "c1"),
        action("a2", "r1", "c2"),
        result("o1", "c1", "one"),
        result("o2", "c2", "bad"),
        action("a3", "r2", "c3"),
    ]);
    assert_eq!(read.report.malformed, 0);
    let answers = read.answers();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].calls.len(), 2);
    assert_eq!(answers[0].text, ["think a1", "think a2"]);
    let returns = read.returns();
    assert_eq!(
        (returns[0].status, returns[1].status),
        (ReturnStatus::Ok, ReturnStatus::Error)
    );
    let contexts = read.contexts();
    let kinds = |at: usize| {
        contexts[at]
            .iter()
            .map(|(kind, _)| kind.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(0), ["system", "system", "tool_schema", "user"]);
    assert_eq!(
        kinds(1)[4..],
        [
            "assistant",
            "tool_call",
            "assistant",
            "tool_call",
            "tool_result",
            "tool_result"
        ]
    );
    assert_eq!(contexts[1][5].1, "terminal {\"command\": \"a1\"}");
    assert_eq!(read.captures()[1].base, Some(1));
    assert_eq!(read.captures()[1].incomplete, None);
    assert_eq!(
        read.calls()
            .iter()
            .map(|call| call.turn)
            .collect::<Vec<_>>(),
        [1, 1, 2]
    );
}

#[test]
fn a_summary_stands_at_its_offset_and_can_be_forgotten_in_turn() {
    let condensed = |id: &str, forgotten: &[&str], offset: u64| {
        json!({"id": id, "kind": "Condensation", "source": "environment", "forgotten_event_ids": forgotten,
            "summary": format!("summary {id}"), "summary_offset": offset, "llm_response_id": "x"})
    };
    let read = imported(&[
        system(),
        user("u1", "first"),
        user("u2", "second"),
        json!({"id": "q", "kind": "CondensationRequest", "source": "environment", "reason": "context_limit"}),
        condensed("k1", &["u1"], 1),
        action("a1", "r1", "c1"),
        result("o1", "c1", "one"),
        condensed("k2", &["k1-summary", "u2"], 99),
        action("a2", "r2", "c2"),
        json!({"id": "k3", "kind": "Condensation", "source": "environment", "forgotten_event_ids": ["a1", "o1"]}),
        user("u3", "third"),
        action("a3", "r3", "c3"),
    ]);
    let texts = |at: usize| -> Vec<String> {
        let contexts = read.contexts();
        let own = contexts[at]
            .iter()
            .filter(|(kind, _)| matches!(kind.as_str(), "summary" | "user"));
        own.map(|(_, text)| text.clone()).collect()
    };
    assert_eq!(texts(0), ["summary k1", "second"]);
    assert_eq!(texts(1), ["summary k2"]);
    assert_eq!(texts(2), ["summary k2", "third"]);
    let mutations = read.mutations();
    let told: Vec<(u32, MutationKind)> = mutations.iter().map(|one| (one.turn, one.kind)).collect();
    assert_eq!(
        told,
        [
            (1, MutationKind::Compaction),
            (2, MutationKind::Compaction),
            (3, MutationKind::Truncation)
        ]
    );
    let cause = mutations[0]
        .trigger
        .as_ref()
        .and_then(|trigger| trigger.cause.clone());
    assert_eq!(cause.as_deref(), Some("context_limit"));
    assert_eq!(mutations[1].trigger, None);
}

#[test]
fn a_conversation_folder_is_one_transcript_and_gives_the_same_events_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let conversation = folder.path().join("0f3c");
    std::fs::create_dir_all(conversation.join("events")).expect("folders");
    std::fs::write(conversation.join("base_state.json"), "{}").expect("a file");
    let events = [system(), user("u", "never push"), action("a", "r", "c")];
    for (at, event) in events.iter().enumerate() {
        let name = format!("events/event-{at:05}-x.json");
        std::fs::write(conversation.join(name), event.to_string()).expect("a file");
    }
    assert!(OpenHands.recognises_folder(&conversation));
    let read = Collected::of(&OpenHands, &conversation);
    assert_eq!(read.report.sessions[0].as_str(), "oh-0f3c");
    assert_eq!(read.contexts()[0].last().expect("a part").1, "never push");
    assert_eq!(
        read.events(),
        Collected::of(&OpenHands, &conversation).events()
    );
}

#[test]
fn a_file_that_grows_gives_no_event_another_content_and_damage_ends_no_import() {
    let events = [
        system(),
        user("u", "go"),
        action("a1", "r1", "c1"),
        action("a2", "r1", "c2"),
        result("o1", "c1", "one"),
        result("o2", "c2", "two"),
        json!({"id": "k", "kind": "Condensation", "source": "environment", "forgotten_event_ids": ["u"], "summary": "s", "summary_offset": 1}),
        action("a3", "r2", "c3"),
    ];
    let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
    Collected::assert_growth_agrees(&OpenHands, "x.jsonl", &lines.concat());
    Collected::assert_survives_damage(&OpenHands, "x.jsonl", &lines.concat());
}

#[test]
fn what_cannot_be_read_is_kept_and_the_rest_is_imported() {
    let unknown = json!({"id": "p", "kind": "PauseEvent", "source": "user"});
    let text = format!(
        "{}\nnot json\n{{\"kind\":\"x\"}}\n{unknown}\n{}\n",
        user("u", "go"),
        action("a", "r", "c")
    );
    let read = Collected::of_text(&OpenHands, "x.jsonl", &text);
    assert_eq!((read.report.records, read.report.malformed), (5, 2));
    let kept: Vec<&str> = read
        .events()
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(
        kept.iter()
            .filter(|kind| **kind == "custom.transcript.malformed")
            .count(),
        2
    );
    assert!(kept.contains(&"custom.openhands.PauseEvent"), "{kept:?}");
    assert_eq!(read.captures().len(), 1);
    let lines: Vec<Option<u64>> = read
        .report
        .notices
        .iter()
        .map(|notice| notice.line)
        .collect();
    assert!(
        lines.contains(&Some(2)) && lines.contains(&Some(3)),
        "{lines:?}"
    );
}
