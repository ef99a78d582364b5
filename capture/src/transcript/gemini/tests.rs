use remembrancer_schema::payload::{MutationKind, ReturnStatus};
use serde_json::json;

use super::*;
use crate::transcript::collected::Collected;

/// The fields of the program's own types, `ConversationRecord` and `MessageRecord`.
fn metadata() -> String {
    json!({"sessionId": "s1", "projectHash": "ph", "startTime": "2026-11-30T05:00:00.000Z",
        "lastUpdated": "2026-11-30T05:00:00.000Z", "kind": "main"})
    .to_string()
}

fn user(id: &str, text: &str) -> serde_json::Value {
    json!({"id": id, "timestamp": "2026-11-30T05:00:01.000Z", "type": "user", "content": [{"text": text}]})
}

fn model(id: &str, text: &str, calls: &serde_json::Value) -> serde_json::Value {
    json!({"id": id, "timestamp": "2026-11-30T05:00:02.000Z", "type": "gemini", "content": text, "model": "gemini-x",
        "toolCalls": calls, "thoughts": [], "tokens": {"input": 100, "output": 7, "cached": 40, "thoughts": 3, "total": 110}})
}

fn call(id: &str, status: &str, output: Option<&str>) -> serde_json::Value {
    let result = output.map(|output| json!([{"functionResponse": {"id": id, "name": "shell", "response": {"output": output}}}]));
    json!({"id": id, "name": "shell", "args": {"z": 1, "a": "rm"}, "result": result, "status": status,
        "timestamp": "2026-11-30T05:00:03.000Z"})
}

fn imported(records: &[serde_json::Value]) -> Collected {
    let lines: Vec<String> = records.iter().map(ToString::to_string).collect();
    let text = format!("{}\n{}\n", metadata(), lines.join("\n"));
    Collected::of_text(&Gemini, "session-2026-11-30T05-00-s1.jsonl", &text)
}

fn texts(read: &Collected, turn: usize) -> Vec<String> {
    let contexts = read.contexts();
    contexts[turn - 1]
        .iter()
        .map(|(kind, text)| format!("{kind}: {text}"))
        .collect()
}

#[test]
fn a_message_that_grows_is_one_response_with_its_calls_and_results() {
    let read = imported(&[
        user("u1", "never push"),
        json!({"id": "i1", "timestamp": "x", "type": "info", "content": "signed in"}),
        model("g1", "", &json!([call("c1", "executing", None)])),
        model(
            "g1",
            "I look.",
            &json!([
                call("c1", "success", Some("fine")),
                call("c2", "cancelled", None)
            ]),
        ),
        model("g2", "Done.", &json!([])),
    ]);
    assert_eq!(read.report.malformed, 0);
    assert_eq!(read.report.sessions[0].as_str(), "gemini-s1");
    assert_eq!(texts(&read, 1), ["user: never push"]);
    let arguments = json!({"z": 1, "a": "rm"}).to_string();
    assert_eq!(
        texts(&read, 2),
        [
            "user: never push".to_owned(),
            "assistant: I look.".to_owned(),
            format!("tool_call: shell {arguments}"),
            format!("tool_call: shell {arguments}"),
            "tool_result: fine".to_owned()
        ]
    );
    let answers = read.answers();
    assert_eq!(answers.len(), 2);
    assert_eq!(
        (answers[0].text[0].as_str(), answers[0].calls.len()),
        ("I look.", 2)
    );
    let usage = answers[0].usage.expect("usage");
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens
        ),
        (100, 10, Some(40))
    );
    assert_eq!(read.captures()[0].tokens.expect("a count").count, 100);
    let statuses: Vec<ReturnStatus> = read.returns().iter().map(|one| one.status).collect();
    assert_eq!(statuses, [ReturnStatus::Ok, ReturnStatus::Denied]);
    let incomplete = read.captures()[0].incomplete.clone().expect("a reason");
    assert!(incomplete.contains("GEMINI.md"), "{incomplete}");
    assert!(
        read.events()
            .iter()
            .any(|event| event.kind == "custom.gemini.info")
    );
}

#[test]
fn a_rewind_takes_the_message_and_all_after_it_and_an_unknown_one_takes_everything() {
    let read = imported(&[
        user("u1", "first"),
        model("g1", "one", &json!([])),
        user("u2", "second"),
        model("g2", "two", &json!([])),
        json!({"$rewindTo": "u2"}),
        user("u3", "third"),
        model("g3", "three", &json!([])),
        json!({"$rewindTo": "nowhere"}),
        user("u4", "fourth"),
        model("g4", "four", &json!([])),
    ]);
    assert_eq!(
        texts(&read, 2),
        ["user: first", "assistant: one", "user: second"]
    );
    assert_eq!(
        texts(&read, 3),
        ["user: first", "assistant: one", "user: third"]
    );
    assert_eq!(texts(&read, 4), ["user: fourth"]);
    let told: Vec<(u32, MutationKind, usize)> = read
        .mutations()
        .iter()
        .map(|one| (one.turn, one.kind, one.parts.len()))
        .collect();
    assert_eq!(
        told,
        [(3, MutationKind::Rewind, 2), (4, MutationKind::Rewind, 4)]
    );
}

#[test]
fn a_list_in_the_place_of_the_messages_is_told_by_what_left_and_came() {
    let before = [
        user("u1", "never push"),
        model("g1", "ok", &json!([])),
        user("u2", "go on"),
        model("g2", "yes", &json!([])),
    ];
    let with = |messages: serde_json::Value| {
        let mut records = before.to_vec();
        records.push(json!({"$set": {"messages": messages}}));
        records.extend([user("u3", "next"), model("g3", "end", &json!([]))]);
        imported(&records)
    };
    let [u1, g1, u2, g2] = before.clone();
    let compressed = with(json!([
        user("n1", "<state>they pushed"),
        model("n2", "Got it.", &json!([])),
        u2,
        g2
    ]));
    let mutation = compressed.mutations()[0];
    assert_eq!(
        (mutation.turn, mutation.kind, mutation.parts.len()),
        (3, MutationKind::Compaction, 2)
    );
    assert_eq!(
        mutation.summary.as_ref().expect("a summary").text,
        "<state>they pushed"
    );
    assert_eq!(
        texts(&compressed, 3),
        [
            "summary: <state>they pushed",
            "assistant: Got it.",
            "user: go on",
            "assistant: yes",
            "user: next"
        ]
    );
    let kinds = |messages: serde_json::Value| -> Vec<MutationKind> {
        with(messages)
            .mutations()
            .iter()
            .map(|one| one.kind)
            .collect()
    };
    assert_eq!(kinds(json!([])), [MutationKind::Clear]);
    assert_eq!(kinds(json!([u1, g1, u2, g2])), []);
    assert_eq!(kinds(json!([u1, g1])), [MutationKind::Rewind]);
    assert_eq!(kinds(json!([u2, g2])), [MutationKind::Truncation]);
    assert_eq!(kinds(json!([u2, g2, u1, g1])), [MutationKind::Rewrite]);
    assert_eq!(
        kinds(json!([u1, g1, user("n", "x"), g2])),
        [MutationKind::Rewrite]
    );
    assert_eq!(kinds(json!([u1, g1, u2, g2, user("n", "x")])), []);
}

#[test]
fn what_is_not_understood_is_kept_and_contexts_after_it_say_so() {
    let read = imported(&[
        user("u1", "go"),
        model("g1", "one", &json!([])),
        json!({"$patch": {"removeIds": ["u1"]}}),
        user("u2", "on"),
        model("g2", "two", &json!([])),
        json!({"$set": {"summary": "a title"}}),
    ]);
    let reasons: Vec<String> = read
        .captures()
        .iter()
        .filter_map(|one| one.incomplete.clone())
        .collect();
    assert!(
        !reasons[0].contains("line 4") && reasons[1].contains("line 4"),
        "{reasons:?}"
    );
    let text = format!(
        "{}\n{}\n[1]\n{}\n",
        metadata(),
        user("u1", "go"),
        model("g1", "one", &json!([]))
    );
    let read = Collected::of_text(&Gemini, "session-x.jsonl", &text);
    assert_eq!(read.report.malformed, 1);
    assert!(
        read.captures()[0]
            .incomplete
            .as_deref()
            .is_some_and(|reason| reason.contains("line 3"))
    );
}

#[test]
fn the_older_form_is_one_object_and_a_session_that_grew_gives_its_events_again() {
    let object = json!({"sessionId": "old", "projectHash": "ph", "startTime": "2026-11-30T05:00:00Z",
        "messages": [user("u1", "go"), model("g1", "one", &json!([call("c1", "success", Some("x"))]))]});
    let pretty = serde_json::to_string_pretty(&object).expect("JSON");
    let read = Collected::of_text(&Gemini, "session-old.json", &pretty);
    assert_eq!(read.report.sessions[0].as_str(), "gemini-old");
    assert_eq!(
        (
            read.captures().len(),
            read.calls().len(),
            read.returns().len()
        ),
        (1, 1, 1)
    );
    let short = imported(&[
        user("u1", "go"),
        model("g1", "one", &json!([])),
        user("u2", "on"),
    ]);
    let long = imported(&[
        user("u1", "go"),
        model("g1", "one", &json!([])),
        user("u2", "on"),
        model("g2", "two", &json!([])),
    ]);
    assert_eq!(short.events(), &long.events()[..short.events().len()]);
    assert!(long.events().len() > short.events().len());
}

#[test]
fn a_file_that_grows_gives_no_event_another_content_and_damage_ends_no_import() {
    let mut uncounted = model("g1", "", &json!([call("c1", "executing", None)]));
    uncounted["tokens"] = serde_json::Value::Null;
    let records = [
        user("u1", "go"),
        uncounted,
        model(
            "g1",
            "I look.",
            &json!([call("c1", "success", Some("fine"))]),
        ),
        json!({"$set": {"messages": [user("n1", "summary"), model("g1", "I look.", &json!([]))]}}),
        json!({"$rewindTo": "g1"}),
        user("u2", "on"),
        model("g2", "Done.", &json!([])),
    ];
    let lines: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
    let text = format!("{}\n{}", metadata(), lines.concat());
    Collected::assert_growth_agrees(&Gemini, "session-x.jsonl", &text);
    Collected::assert_survives_damage(&Gemini, "session-x.jsonl", &text);
}
