//! Calls: what they returned, what was decided about them, and what does not fit into their events.

use super::*;

#[test]
fn a_failure_is_an_error_and_a_call_that_was_not_told_is_recorded_with_its_return() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.hook(
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_use_id": "x", "tool_input": {"command": "false"}, "error": "exit 1", "is_interrupt": true}),
    );
    assert_eq!(hooks.turns(), [("x".to_owned(), 1)]);
    // Refused by another hook: only the batch tells.
    hooks.call("y");
    hooks.batch(&["x", "y", "z"]);
    let returned = hooks.payloads(|payload| match payload {
        Payload::ToolReturned(returned) => Some(returned),
        _ => None,
    });
    let told: Vec<_> = returned
        .iter()
        .map(|one| (one.call_id.as_str(), one.status))
        .collect();
    let error = ReturnStatus::Error;
    assert_eq!(told, [("x", error), ("y", error), ("z", error)]);
    let result = returned[0].result.as_ref().expect("a result").get();
    assert_eq!(result, r#"{"error":"exit 1","is_interrupt":true}"#);
    assert_eq!(hooks.turns().len(), 3);
}

#[test]
fn a_refusal_is_a_decision_about_its_call() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.call("a");
    let about = json!({"tool_name": "Read", "tool_input": {"file": "a"}, "reason": "outside", "permission_mode": "auto"});
    hooks.hook("PermissionRequest", about.clone());
    hooks.hook("PermissionDenied", about);
    let decisions = hooks.payloads(|payload| match payload {
        Payload::DecisionRecorded(decision) => Some(decision),
        _ => None,
    });
    assert_eq!(decisions[0].verdict, None);
    assert_eq!(
        (decisions[0].enforced, decisions[0].flags.len()),
        (false, 0)
    );
    assert_eq!(
        (decisions[1].verdict, decisions[1].enforced),
        (Some(Verdict::Deny), true)
    );
    assert_eq!(decisions[1].call_id.as_deref(), Some("a"));
    assert_eq!(decisions[1].reason.as_deref(), Some("outside"));
    assert_eq!(hooks.custom("permission_mode").len(), 1);
}

#[test]
fn what_is_too_long_is_kept_whole_as_a_blob() {
    let mut hooks = Hooks::of(Program::Claude);
    let long = "x".repeat(300 * 1024);
    hooks.hook("UserPromptSubmit", json!({"prompt": long}));
    hooks.hook(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"content": long}}),
    );
    hooks.hook("PostToolUse", json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"content": long}, "tool_response": long}));
    hooks.hook(
        "PostToolBatch",
        json!({"tool_calls": [{"tool_name": "Write", "tool_use_id": "w", "tool_response": long}]}),
    );
    hooks.hook("PostCompact", json!({"compact_summary": long}));
    hooks.hook("Stop", json!({"last_assistant_message": long}));
    assert_eq!(
        hooks.blobs[&ContentHash::of(long.as_bytes())],
        long.as_bytes()
    );
    let known = serde_json::to_vec(&hooks.standing).expect("JSON");
    assert!(known.len() < 4 * 1024, "{} bytes", known.len());
    let called = hooks
        .recorded
        .iter()
        .find(|one| one.kind == EventType::ToolCalled)
        .expect("a call");
    let data: Value = serde_json::from_str(&called.data).expect("JSON");
    assert_eq!(data["arguments"]["cut"]["bytes"], 300 * 1024 + 14);
    assert_eq!(called.blobs.len(), 1);
}

#[test]
fn what_is_not_known_is_kept_as_it_came_and_ids_stay_apart() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.hook("TeammateIdle", json!({"teammate": "x\u{1b}[2J"}));
    assert_eq!(
        hooks.custom("hook_event")[0]["payload"]["teammate"],
        "x\u{1b}[2J"
    );
    hooks.hook(
        "StopFailure",
        json!({"error": "rate_limit", "error_details": "429"}),
    );
    assert_eq!(hooks.custom("turn_failed")[0]["error"], "rate_limit");
    hooks.hook("SessionStart", json!({"source": "clear"}));
    hooks.hook("SessionStart", json!({"source": "fork"}));
    hooks.hook("Stop", json!({}));
    let mut ids: Vec<&str> = hooks.recorded.iter().map(|one| one.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn names_that_ids_cannot_hold_are_hashed() {
    let id = |session: &str, agent| {
        session_id(Program::Codex, session, agent, 1)
            .expect("an id")
            .to_string()
    };
    assert_eq!(id("abc", Some("x.1")), "codex-hooks:abc:x.1");
    let long = "y".repeat(900);
    let hostile = id("../../\u{1b}[2J é", Some(&long));
    assert!(
        hostile.len() <= 128 && hostile.starts_with("codex-hooks:"),
        "{hostile}"
    );
    assert_ne!(id("a/b", None), id("a.b", None));
}
