use remembrancer_schema::payload::{DecisionRecorded, Payload};

use super::*;
use crate::recorded_data::shared;
use crate::transcript::collected::{Collected, Taken};

fn decisions(events: &[Taken]) -> Vec<&DecisionRecorded> {
    let decision = |event: &'_ Taken| matches!(event.payload, Payload::DecisionRecorded(_));
    events
        .iter()
        .filter(|event| decision(event))
        .filter_map(|event| match &event.payload {
            Payload::DecisionRecorded(decision) => Some(decision),
            _ => None,
        })
        .collect()
}

#[test]
fn conformance_the_hooks_trace_gives_its_calls_to_the_model_calls_that_sent_them() {
    let Some(path) = shared("governor/trace1-claude-code.jsonl") else {
        return;
    };
    assert!(Governor.recognises(&Opening::of(&path).expect("readable")));
    let read = Collected::of(&Governor, &path);
    assert_eq!((read.report.records, read.report.malformed), (26, 0));
    assert_eq!(read.report.sessions[0].as_str(), "gov-cc-sample-0001");
    let calls: Vec<(u32, &str, &str, &str)> = read
        .calls()
        .iter()
        .map(|call| {
            let target = call.target.as_deref().expect("a target");
            (
                call.turn,
                call.tool.as_str(),
                target,
                call.operation.as_deref().expect("an operation"),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            (1, "Read", "filesystem", "READ"),
            (1, "Bash", "shell", "EXECUTE"),
            (2, "Edit", "filesystem", "WRITE"),
            (3, "Edit", "filesystem", "WRITE"),
            (3, "Bash", "shell", "EXECUTE"),
            (3, "mcp__slack__post_message", "slack", "READ"),
        ]
    );
    let inputs: Vec<u64> = read
        .answers()
        .iter()
        .map(|one| one.usage.expect("usage").input_tokens)
        .collect();
    assert_eq!(inputs, [900 + 250, 1100 + 400, 1300 + 500]);
    assert_eq!(read.answers()[0].calls[1].tool, "Bash");
    let decisions = decisions(read.events());
    assert_eq!(decisions.len(), 20);
    assert!(
        decisions
            .iter()
            .all(|one| !one.enforced && one.verdict.is_none())
    );
    let on_bash = decisions.iter().find(|one| {
        one.flags
            .iter()
            .any(|flag| flag == "SCOPE_OPERATION_UNEXPECTED")
    });
    assert_eq!(
        on_bash.expect("flagged").call_id.as_deref(),
        Some("toolu_2")
    );
    let intents: Vec<&str> = read
        .events()
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::IntentDeclared(intent) => Some(intent.objective.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(intents, ["edit the project sources"]);
    assert!(read.captures().is_empty() && read.returns().is_empty());
    let notices: Vec<&str> = read
        .report
        .notices
        .iter()
        .map(|notice| notice.text.as_str())
        .collect();
    assert_eq!(notices, [NO_CONTEXTS]);
}

#[test]
fn conformance_the_wrappers_trace_has_calls_without_ids() {
    let Some(path) = shared("governor/trace2-mcp.jsonl") else {
        return;
    };
    let read = Collected::of(&Governor, &path);
    assert_eq!((read.report.records, read.report.malformed), (21, 0));
    let calls = read.calls();
    assert_eq!(calls.len(), 9);
    assert!(
        calls.iter().all(|call| call.call_id.len() == 36),
        "each has its event's id"
    );
    assert_eq!(read.answers().len(), 4);
    assert_eq!(decisions(read.events()).len(), 12);
    assert_eq!(read.report.notices.len(), 1);
}

#[test]
fn a_broken_chain_is_told_and_what_cannot_be_read_is_kept() {
    let Some(path) = shared("governor/trace2-mcp.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).expect("readable");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(4);
    lines.insert(6, "{\"half\":");
    let read = Collected::of_text(&Governor, "trace.jsonl", &lines.join("\n"));
    assert_eq!(read.report.malformed, 1);
    let at_five: Vec<&str> = read
        .report
        .notices
        .iter()
        .filter(|notice| notice.line == Some(5))
        .map(|notice| notice.text.as_str())
        .collect();
    assert_eq!(at_five.len(), 2, "{:?}", read.report.notices);
    assert!(
        at_five[0].contains("events are missing or were moved")
            && at_five[1].contains("number 6 after 4")
    );
    assert!(
        read.events()
            .iter()
            .any(|event| event.kind == "custom.transcript.malformed")
    );
    let beginning: Vec<&str> = text.lines().take(5).collect();
    Collected::assert_survives_damage(&Governor, "trace.jsonl", &beginning.join("\n"));
}
