use remembrancer_schema::payload::Payload;
use serde_json::json;

use super::*;
use crate::transcript::collected::Collected;

/// The fields that the SDK's spans export.
fn span(id: &str, parent: &str, data: &Value, error: Option<&Value>) -> Value {
    json!({"object": "trace.span", "id": id, "trace_id": "trace_1", "parent_id": parent,
        "started_at": "2026-11-30T05:00:00.000000+00:00", "ended_at": "2026-11-30T05:00:01.000000+00:00",
        "span_data": data, "error": error})
}

fn items() -> Vec<Value> {
    vec![
        json!({"object": "trace", "id": "trace_1", "workflow_name": "Support", "group_id": "g", "metadata": null}),
        span(
            "span_r1",
            "agent_1",
            &json!({"type": "response", "response_id": "resp_1",
            "usage": {"input_tokens": 100, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 30}}}),
            None,
        ),
        span(
            "span_f1",
            "agent_1",
            &json!({"type": "function", "name": "refund", "input": "{\"b\": 1, \"a\": 2}", "output": "done"}),
            None,
        ),
        span(
            "span_f2",
            "agent_1",
            &json!({"type": "function", "name": "mail", "input": null, "output": null}),
            Some(&json!({"message": "no route", "data": null})),
        ),
        span(
            "span_g",
            "agent_1",
            &json!({"type": "guardrail", "name": "no_pii", "triggered": true}),
            None,
        ),
        span(
            "span_h",
            "agent_1",
            &json!({"type": "handoff", "from_agent": "a", "to_agent": "b"}),
            None,
        ),
        span(
            "span_r2",
            "agent_2",
            &json!({"type": "generation", "model": "gpt-x", "input": [], "output": [],
            "usage": {"input_tokens": 50, "output_tokens": 1}}),
            None,
        ),
        span(
            "span_f3",
            "agent_1",
            &json!({"type": "function", "name": "late", "input": "x", "output": {"k": [1]}}),
            None,
        ),
        span(
            "agent_1",
            "",
            &json!({"type": "agent", "name": "Billing", "handoffs": [], "tools": ["refund"]}),
            None,
        ),
    ]
}

fn lines(items: &[Value]) -> String {
    let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn calls_belong_to_the_last_response_of_their_own_agent() {
    let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", &lines(&items()));
    assert_eq!((read.report.records, read.report.malformed), (9, 0));
    assert_eq!(read.report.sessions[0].as_str(), "oai-trace_1");
    let calls: Vec<(u32, &str, Option<&str>)> = read
        .calls()
        .iter()
        .map(|call| {
            (
                call.turn,
                call.tool.as_str(),
                call.arguments.as_ref().map(|raw| raw.get()),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            (1, "refund", Some("{\"b\": 1, \"a\": 2}")),
            (1, "mail", None),
            (1, "late", Some("\"x\""))
        ]
    );
    let returns = read.returns();
    let results: Vec<Option<&str>> = returns
        .iter()
        .map(|one| one.result.as_ref().map(|raw| raw.get()))
        .collect();
    assert_eq!(results[0], Some("\"done\""));
    assert!(results[1].is_some_and(|error| error.contains("no route")));
    assert_eq!(results[2], Some("{\"k\":[1]}"));
    assert_eq!(
        (returns[0].status, returns[1].status),
        (ReturnStatus::Ok, ReturnStatus::Error)
    );
    let answers = read.answers();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].response_id.as_deref(), Some("resp_1"));
    let usage = answers[0].usage.expect("usage");
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens),
        (100, Some(30))
    );
    assert_eq!(answers[1].model.as_deref(), Some("gpt-x"));
}

#[test]
fn presence_cannot_be_answered_and_the_report_says_so() {
    let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", &lines(&items()));
    assert!(read.captures().is_empty() && read.mutations().is_empty());
    let told: Vec<&str> = read
        .report
        .notices
        .iter()
        .map(|notice| notice.text.as_str())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(
        told[0].contains("2 of 2 model calls do not say what was sent"),
        "{told:?}"
    );
    assert_eq!(told[1], NO_COMPACTIONS);
    let guard = read.events().iter().find_map(|event| match &event.payload {
        Payload::DecisionRecorded(decision) => Some(decision),
        _ => None,
    });
    let guard = guard.expect("a decision");
    assert_eq!((guard.verdict, guard.enforced), (Some(Verdict::Deny), true));
    let kept: Vec<&str> = read
        .events()
        .iter()
        .map(|event| event.kind.as_str())
        .filter(|kind| kind.starts_with("custom."))
        .collect();
    assert_eq!(
        kept,
        [
            "custom.openai_agents.trace",
            "custom.openai_agents.handoff",
            "custom.openai_agents.agent"
        ]
    );
}

#[test]
fn batches_and_lists_give_the_same_events_as_lines_do() {
    let by_line = Collected::of_text(&OpenAiAgents, "trace.jsonl", &lines(&items()));
    let batch = json!({"data": items()}).to_string();
    let list = Value::from(items()).to_string();
    for text in [batch, list] {
        let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", &text);
        let ids = |read: &Collected| -> Vec<String> {
            read.events().iter().map(|event| event.id.clone()).collect()
        };
        assert_eq!(ids(&read), ids(&by_line));
        assert_eq!(read.calls(), by_line.calls());
    }
    let opening = |text: &str| Opening {
        records: text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
        ..Opening::default()
    };
    assert!(OpenAiAgents.recognises(&opening(&lines(&items()))));
    assert!(OpenAiAgents.recognises(&opening(&json!({"data": items()}).to_string())));
    assert!(!OpenAiAgents.recognises(&opening("{\"object\":\"list\",\"data\":[]}")));
}

#[test]
fn what_is_no_span_is_told_with_its_line() {
    let text = format!(
        "{}\nnot json\n{{\"object\":\"other\",\"id\":\"x\"}}\n",
        items()[0]
    );
    let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", &text);
    assert_eq!(read.report.malformed, 2);
    let lines: Vec<Option<u64>> = read
        .report
        .notices
        .iter()
        .map(|notice| notice.line)
        .collect();
    assert_eq!(lines, [Some(2), Some(3), None, None]);
    assert!(
        read.events()
            .iter()
            .any(|event| event.kind == "custom.transcript.malformed")
    );
}

#[test]
fn a_generation_span_holds_what_was_sent() {
    let input = json!([
        {"role": "system", "content": "never refund"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "done"}
    ]);
    let generation = json!({"type": "generation", "input": input, "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}});
    let text = span("span_x", "agent_1", &generation, None).to_string();
    let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", &text);
    let told: Vec<String> = read.contexts()[0]
        .iter()
        .map(|(kind, text)| format!("{kind}: {text}"))
        .collect();
    assert_eq!(
        told,
        [
            "system: never refund",
            "user: hi",
            "user: <not text>",
            "tool_call: f {}",
            "tool_result: done"
        ]
    );
    assert_eq!(read.captures()[0].tokens.expect("a count").count, 5);
    assert_eq!(read.report.notices.len(), 1);
}

#[test]
fn what_the_sdk_exports_is_read() {
    let exported = include_str!("exported_by_sdk_0.24.0.jsonl");
    let read = Collected::of_text(&OpenAiAgents, "trace.jsonl", exported);
    assert_eq!((read.report.records, read.report.malformed), (9, 0));
    let calls: Vec<(u32, &str)> = read
        .calls()
        .iter()
        .map(|call| (call.turn, call.tool.as_str()))
        .collect();
    assert_eq!(calls, [(1, "refund"), (1, "mail")]);
    let statuses: Vec<ReturnStatus> = read.returns().iter().map(|one| one.status).collect();
    assert_eq!(statuses, [ReturnStatus::Ok, ReturnStatus::Error]);
    assert_eq!(read.contexts(), [[("user".to_owned(), "hi".to_owned())]]);
    assert!(
        read.report.notices[0].text.contains("1 of 2 model calls"),
        "{:?}",
        read.report.notices
    );
}

#[test]
fn a_file_that_grows_gives_no_event_another_content_and_damage_ends_no_import() {
    let text = format!("{}\n", lines(&items()));
    Collected::assert_growth_agrees(&OpenAiAgents, "trace.jsonl", &text);
    Collected::assert_survives_damage(&OpenAiAgents, "trace.jsonl", &text);
}
