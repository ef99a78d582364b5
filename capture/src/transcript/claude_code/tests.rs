mod added;

use remembrancer_schema::payload::{MutationKind, Payload, ReturnStatus};
use serde_json::{Value, json};

use super::super::tests::{Collected, imported};
use super::super::{FileReport, ImportOptions};
use super::ClaudeCode;

/// Builds a session's lines, each the child of the one before unless it says otherwise.
#[derive(Default)]
struct Lines {
    lines: Vec<Value>,
}

impl Lines {
    fn add(&mut self, mut record: Value) -> &mut Self {
        let at = self.lines.len();
        let parent = at.checked_sub(1).map(|at| json!(format!("u{at}")));
        let fields = record.as_object_mut().expect("an object");
        fields.entry("uuid").or_insert(json!(format!("u{at}")));
        fields.entry("parentUuid").or_insert(json!(parent));
        fields.entry("sessionId").or_insert(json!("s"));
        fields
            .entry("timestamp")
            .or_insert(json!("2026-01-01T00:00:00Z"));
        self.lines.push(record);
        self
    }

    fn user(&mut self, text: &str) -> &mut Self {
        self.add(json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    fn says(&mut self, id: &str, tokens: u64, text: &str) -> &mut Self {
        self.add(json!({"type": "assistant", "message": {"id": id, "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": tokens, "output_tokens": 1}}}))
    }

    fn calls(&mut self, id: &str, tokens: u64, call: &str) -> &mut Self {
        self.add(json!({"type": "assistant", "message": {"id": id, "model": "m",
            "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}}],
            "usage": {"input_tokens": tokens}}}))
    }

    fn returns(&mut self, call: &str, text: &str) -> &mut Self {
        self.add(json!({"type": "user", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}}))
    }

    fn boundary(&mut self) -> &mut Self {
        self.add(
            json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
            "compactMetadata": {"trigger": "auto", "preTokens": 100}}),
        )
    }

    fn summary(&mut self, text: &str) -> &mut Self {
        self.add(
            json!({"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
            "message": {"role": "user", "content": text}}),
        )
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn read(&self) -> (Collected, FileReport) {
        imported(
            &ClaudeCode,
            "s.jsonl",
            &self.text(),
            &ImportOptions::default(),
        )
    }
}

fn mutations(collected: &Collected) -> Vec<(u32, MutationKind)> {
    let payloads = collected.payloads("cc-s").into_iter();
    payloads
        .filter_map(|payload| match payload {
            Payload::ContextMutated(mutated) => Some((mutated.turn, mutated.kind)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_compaction_leaves_the_summary_and_what_follows() {
    let mut lines = Lines::default();
    lines.user("never push").says("m1", 20_010, "ok").boundary();
    lines
        .summary("sum")
        .user("go on")
        .says("m2", 20_020, "done");
    let (collected, report) = lines.read();
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    assert_eq!(
        collected.contexts("cc-s"),
        [vec!["never push"], vec!["sum", "go on"]]
    );
    assert_eq!(mutations(&collected), [(2, MutationKind::Compaction)]);
    let captures = collected.captures("cc-s");
    assert!(
        captures
            .iter()
            .all(|captured| captured.incomplete.is_none())
    );
}

#[test]
fn a_compaction_after_which_the_request_stays_large_is_in_doubt_until_the_next() {
    let mut lines = Lines::default();
    lines.user("never push").says("m1", 20_000, "ok");
    lines.user("more").says("m2", 150_000, "ok").boundary();
    lines
        .summary("sum")
        .user("go on")
        .says("m3", 120_000, "done");
    lines.user("and on").says("m4", 121_000, "done").boundary();
    lines
        .summary("sum")
        .user("go on")
        .says("m5", 25_000, "done");
    let captures = lines.read().0.captures("cc-s");
    let doubts: Vec<bool> = captures
        .iter()
        .map(|captured| captured.incomplete.is_some())
        .collect();
    assert_eq!(doubts, [false, false, true, true, false]);
}

#[test]
fn parallel_calls_of_one_message_are_of_one_turn() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 9, "c1").calls("m1", 9, "c2");
    lines.add(
        json!({"type": "user", "parentUuid": "u1", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "r1"}]}}),
    );
    lines.add(json!({"type": "user", "parentUuid": "u2", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "r2"}]}]}}));
    lines.says("m2", 12, "done");
    let collected = lines.read().0;
    assert_eq!(
        collected.contexts("cc-s")[1],
        [
            "go",
            r#"Bash {"command":"c1"}"#,
            r#"Bash {"command":"c2"}"#,
            "r1",
            "r2"
        ]
    );
    let turns: Vec<u32> = collected
        .payloads("cc-s")
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ToolCalled(called) => Some(called.turn),
            _ => None,
        })
        .collect();
    assert_eq!(turns, [1, 1]);
}

#[test]
fn a_missing_record_is_bridged_only_if_the_size_says_so() {
    let dangling = |tokens: u64| {
        let mut lines = Lines::default();
        lines.user("never push").says("m1", 20_000, "ok");
        lines.user("more").says("m2", 60_000, "ok");
        lines.add(json!({"type": "user", "parentUuid": "gone", "message": {"content": "next"}}));
        lines.says("m3", tokens, "done");
        let (collected, report) = lines.read();
        assert_eq!(report.notices[0].line, Some(5));
        let context = collected.contexts("cc-s").pop().expect("a context");
        let incomplete = collected.captures("cc-s")[2].incomplete.is_some();
        (context.len(), incomplete, mutations(&collected))
    };
    let told = vec![(3, MutationKind::DanglingParent)];
    assert_eq!(dangling(60_500), (5, false, told.clone()));
    assert_eq!(dangling(20_100), (1, false, told.clone()));
    assert_eq!(dangling(45_000), (1, true, told.clone()));
    assert_eq!(dangling(0), (1, true, told));
}

#[test]
fn a_file_that_begins_in_the_middle_is_in_doubt_until_a_compaction() {
    let mut lines = Lines::default();
    lines.add(json!({"type": "user", "parentUuid": "gone", "message": {"content": "next"}}));
    lines
        .says("m1", 90_000, "ok")
        .user("more")
        .says("m2", 91_000, "ok");
    lines
        .boundary()
        .summary("sum")
        .user("go")
        .says("m3", 20_000, "ok");
    let captures = lines.read().0.captures("cc-s");
    let doubts: Vec<bool> = captures
        .iter()
        .map(|captured| captured.incomplete.is_some())
        .collect();
    assert_eq!(doubts, [true, true, false]);
}

#[test]
fn emptied_results_and_rewinds_are_mutations() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 9, "c1").returns("c1", "long");
    lines.add(json!({"type": "system", "subtype": "microcompact_boundary",
        "microcompactMetadata": {"trigger": "auto", "preTokens": 9, "compactedToolIds": ["c1", "no"]}}));
    lines.user("next").says("m2", 9, "two");
    lines.add(json!({"type": "user", "parentUuid": "u0", "message": {"content": "other"}}));
    lines.says("m3", 9, "three");
    let collected = lines.read().0;
    let contexts = collected.contexts("cc-s");
    assert_eq!(contexts[1][2], super::parts::CLEARED_RESULT);
    assert_eq!(contexts[2], ["go", "other"]);
    assert_eq!(
        mutations(&collected),
        [
            (2, MutationKind::Microcompaction),
            (3, MutationKind::Rewind)
        ]
    );
}

#[test]
fn a_refused_call_is_denied_by_the_user() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 9, "c1");
    lines.add(
        json!({"type": "user", "toolDenialKind": "user-rejected", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": "no"}]}}),
    );
    let payloads = lines.read().0.payloads("cc-s");
    assert!(payloads.iter().any(|payload| matches!(payload,
        Payload::ToolReturned(returned) if returned.status == ReturnStatus::Denied)));
    assert!(payloads.iter().any(|payload| matches!(payload,
        Payload::DecisionRecorded(decision) if decision.enforced && decision.decider == "user")));
}

#[test]
fn what_is_written_anew_behind_a_boundary_follows_the_summary_once() {
    let mut lines = Lines::default();
    lines
        .user("old")
        .says("m1", 9, "one")
        .user("kept")
        .boundary();
    lines.summary("sum");
    let kept =
        json!({"type": "user", "uuid": "u2", "parentUuid": "u4", "message": {"content": "kept"}});
    lines.add(kept);
    lines.add(json!({"type": "user", "parentUuid": "u2", "message": {"content": "go on"}}));
    lines.says("m2", 9, "two");
    let (collected, report) = lines.read();
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    assert_eq!(collected.contexts("cc-s")[1], ["sum", "kept", "go on"]);
}

#[test]
fn a_session_that_is_still_being_written_gives_the_same_events_and_then_more() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 9, "c1").returns("c1", "r");
    lines.calls("m1", 9, "c2").returns("c2", "r");
    lines
        .says("m2", 12, "done")
        .boundary()
        .summary("sum")
        .user("on");
    lines.says("m3", 9, "end");
    let whole = lines.read().0.events;
    for count in 1..lines.lines.len() {
        let part = Lines {
            lines: lines.lines[..count].to_vec(),
        };
        let mut part = part.read().0.events;
        // Of an answer that may go on, what is known is told under a name of its own.
        let is_open = |event: &[u8]| String::from_utf8_lossy(event).contains(".first-");
        part.retain(|(_, event)| !is_open(event));
        assert!(whole.starts_with(&part), "{count} lines");
    }
}
