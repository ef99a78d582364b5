//! What stands beside the chat: sub-agents, and what the program itself adds.

use remembrancer_schema::payload::{Effect, PartOrigin, Payload};
use serde_json::json;

use super::super::super::tests::{Collected, imported, read};
use super::super::super::{ImportOptions, find};
use super::super::ClaudeCode;
use super::Lines;

#[test]
fn sub_agents_are_sessions_of_their_own() {
    let mut lines = Lines::default();
    lines.user("go");
    lines.add(
        json!({"type": "assistant", "message": {"id": "m1", "model": "m", "content": [
        {"type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "look"}}]}}),
    );
    lines.add(
        json!({"type": "user", "isSidechain": true, "parentUuid": null, "uuid": "side",
        "message": {"content": "look"}}),
    );
    lines.add(
        json!({"type": "assistant", "isSidechain": true, "parentUuid": "side",
        "message": {"id": "n1", "model": "m", "content": [{"type": "text", "text": "seen"}]}}),
    );
    lines.add(
        json!({"type": "user", "parentUuid": "u1", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "task", "content": "seen"}]}}),
    );
    let (collected, report) = lines.read();
    let sessions: Vec<&str> = report.sessions.iter().map(|id| id.as_str()).collect();
    assert_eq!(sessions, ["cc-s", "cc-s-agent-side"]);
    assert_eq!(collected.contexts("cc-s-agent-side"), [["look"]]);
    let started = collected.payloads("cc-s-agent-side").into_iter().next();
    let Some(Payload::SessionStarted(started)) = started else {
        panic!("{started:?}")
    };
    let parent = started.parent.expect("a parent");
    assert_eq!(
        (parent.session.as_str(), parent.call_id.as_deref()),
        ("cc-s", Some("task"))
    );
}

#[test]
fn files_of_sub_agents_are_read_with_the_session_that_started_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut main = Lines::default();
    main.user("go").add(
        json!({"type": "assistant", "message": {"id": "m1", "model": "m", "content": [
        {"type": "tool_use", "id": "task", "name": "Task", "input": {"prompt": "look"}}]}}),
    );
    let mut agent = Lines::default();
    agent.add(json!({"type": "user", "isSidechain": true, "agentId": "a1", "message": {"content": "look"}}));
    agent.add(
        json!({"type": "assistant", "isSidechain": true, "agentId": "a1",
        "message": {"id": "n1", "model": "m", "content": [{"type": "text", "text": "seen"}]}}),
    );
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("s.jsonl", &main.text());
    write("s/subagents/agent-a1.jsonl", &agent.text());
    write(
        "s/subagents/agent-a1.meta.json",
        r#"{"agentType":"Explore"}"#,
    );
    let found = find(folder.path(), None).expect("searches");
    assert_eq!(
        found.len(),
        1,
        "the sub-agent's file is read with the session's"
    );
    let (collected, report) = read(&ClaudeCode, &found[0].path, &ImportOptions::default());
    let sessions: Vec<&str> = report.sessions.iter().map(|id| id.as_str()).collect();
    assert_eq!(sessions, ["cc-s", "cc-s-agent-a1"]);
    let Payload::SessionStarted(started) = &collected.payloads("cc-s-agent-a1")[0] else {
        panic!("no start")
    };
    let parent = started.parent.as_ref().expect("a parent");
    assert_eq!(parent.session.as_str(), "cc-s");
    let told: Vec<serde_json::Value> = collected
        .events
        .iter()
        .map(|(_, event)| serde_json::from_slice::<serde_json::Value>(event).expect("JSON"))
        .filter(|event| event["type"] == "custom.claude_code.sub_agent")
        .map(|event| event["data"].clone())
        .collect();
    assert_eq!(
        told,
        [
            json!({"agent_type": "Explore", "witness": "transcript"}),
            json!({"call_id": "task", "witness": "transcript"})
        ]
    );

    // What other files say of it may come later: the start of its session is the same without.
    std::fs::remove_file(folder.path().join("s/subagents/agent-a1.meta.json")).expect("removed");
    write("s.jsonl", &Lines::default().user("go").text());
    let (earlier, _) = read(&ClaudeCode, &found[0].path, &ImportOptions::default());
    let start = |collected: &Collected| {
        let mut of_agent = collected.events.iter();
        let first = of_agent.find(|(session, _)| session.as_str() == "cc-s-agent-a1");
        first.expect("its start").1.clone()
    };
    assert_eq!(start(&earlier), start(&collected));
}

/// Two calls with one prompt, and a sub-agent for each beside the session's file. `result` is what the program keeps of the
/// second call's result, `meta` the file about the first sub-agent. Returns the call that each sub-agent names.
fn calls_of_twins(result: serde_json::Value, meta: &str) -> [Option<serde_json::Value>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let mut main = Lines::default();
    let task = |id: &str| json!({"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": "look"}});
    main.user("go")
        .add(json!({"type": "assistant", "message": {"id": "m1", "model": "m", "content": [task("t1")]}}))
        .add(json!({"type": "assistant", "message": {"id": "m1", "model": "m", "content": [task("t2")]}}))
        .add(json!({"type": "user", "toolUseResult": result, "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "seen"}]}}));
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("s.jsonl", &main.text());
    for agent in ["a1", "a2"] {
        let mut lines = Lines::default();
        lines
            .add(json!({"type": "user", "isSidechain": true, "agentId": agent, "message": {"content": "look"}}))
            .add(json!({"type": "assistant", "isSidechain": true, "agentId": agent,
                "message": {"id": agent, "model": "m", "content": [{"type": "text", "text": "seen"}]}}));
        write(&format!("s/subagents/agent-{agent}.jsonl"), &lines.text());
    }
    write("s/subagents/agent-a1.meta.json", meta);
    let found = find(folder.path(), None).expect("searches");
    let (collected, _) = read(&ClaudeCode, &found[0].path, &ImportOptions::default());
    let call = |session: &str| {
        let of_session = collected
            .events
            .iter()
            .filter(|(id, _)| id.as_str() == session);
        let events = of_session
            .map(|(_, event)| serde_json::from_slice::<serde_json::Value>(event).expect("JSON"));
        let mut told = events.filter(|event| event["type"] == "custom.claude_code.sub_agent");
        told.find_map(|event| event["data"].get("call_id").cloned())
    };
    ["cc-s-agent-a1", "cc-s-agent-a2"].map(call)
}

#[test]
fn of_two_calls_with_one_prompt_none_is_guessed_and_what_names_its_sub_agent_decides() {
    assert_eq!(calls_of_twins(json!("seen"), "{}"), [None, None]);
    let by_result = calls_of_twins(json!({"status": "completed", "agentId": "a1"}), "{}");
    assert_eq!(by_result, [Some(json!("t2")), Some(json!("t1"))]);
    let by_file = calls_of_twins(json!([]), r#"{"agentType":"Explore","toolUseId":"t2"}"#);
    assert_eq!(by_file, [Some(json!("t2")), Some(json!("t1"))]);
}

#[test]
fn what_the_program_adds_is_its_own_and_unknown_records_are_kept() {
    let mut lines = Lines::default();
    lines.add(
        json!({"type": "attachment", "attachment": {"type": "prompt_snapshot",
        "systemPrompt": ["be good"], "tools": [{"name": "Bash"}]}}),
    );
    lines.add(
        json!({"type": "attachment", "attachment": {"type": "nested_memory", "path": "a/CLAUDE.md",
        "content": {"path": "a/CLAUDE.md", "content": "never edit a"}}}),
    );
    lines.add(
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "hurry"}}),
    );
    lines.add(json!({"type": "new-thing", "payload": 1}));
    lines.says("m1", 9, "ok");
    let (collected, report) = lines.read();
    assert_eq!(
        collected.contexts("cc-s"),
        [["be good", r#"{"name":"Bash"}"#, "never edit a", "hurry"]]
    );
    assert_eq!(report.notices.len(), 1);
    let raw = |payload: &Payload| matches!(payload, Payload::Custom);
    assert_eq!(
        collected
            .payloads("cc-s")
            .iter()
            .filter(|payload| raw(payload))
            .count(),
        2
    );
}

#[test]
fn instructions_stay_and_nested_ones_leave_with_a_compaction() {
    let attached = |kind: &str, text: &str| json!({"type": "attachment", "attachment": {"type": kind, "path": kind, "content": text}});
    let mut lines = Lines::default();
    lines.add(attached("instructions", "root rules"));
    lines.add(attached("nested_memory", "nested rules"));
    lines
        .user("go")
        .says("m1", 9, "ok")
        .boundary()
        .summary("sum");
    lines.says("m2", 9, "ok");
    let contexts = lines.read().0.contexts("cc-s");
    assert_eq!(contexts[0], ["root rules", "nested rules", "go"]);
    assert_eq!(contexts[1], ["root rules", "sum"]);
}

#[test]
fn what_is_typed_while_the_agent_works_is_the_users_and_what_others_send_is_not() {
    let queued = |mode: &str, origin: &str, prompt: serde_json::Value| {
        json!({"type": "attachment", "attachment": {"type": "queued_command", "commandMode": mode,
            "origin": {"kind": origin}, "prompt": prompt}})
    };
    let mut lines = Lines::default();
    lines.add(queued(
        "prompt",
        "human",
        json!([{"type": "text", "text": "typed"}]),
    ));
    lines.add(queued("prompt", "peer", json!("sent")));
    lines.add(queued("task-notification", "human", json!("done")));
    lines.add(
        json!({"type": "attachment", "attachment": {"type": "file", "filename": "a",
        "content": {"type": "text", "file": {"filePath": "a", "content": "of a file"}}}}),
    );
    lines.says("m1", 9, "ok");
    let captures = lines.read().0.captures("cc-s");
    let told: Vec<(Option<&str>, Option<PartOrigin>)> = captures[0]
        .parts
        .iter()
        .map(|part| (part.text.as_deref(), part.origin))
        .collect();
    assert_eq!(
        told,
        [
            (Some("typed"), None),
            (Some("sent"), Some(PartOrigin::Application)),
            (Some("done"), Some(PartOrigin::Application)),
            (Some("of a file"), Some(PartOrigin::Tool)),
        ]
    );
}

#[test]
fn plan_mode_permits_no_change_but_of_its_plan_and_other_modes_declare_nothing() {
    let mut lines = Lines::default();
    for mode in ["default", "plan", "acceptEdits"] {
        lines.add(
            json!({"type": "user", "permissionMode": mode, "cwd": "/home/me/w",
            "message": {"role": "user", "content": mode}}),
        );
    }
    let collected = lines.read().0;
    let scopes: Vec<_> = collected
        .payloads("cc-s")
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ScopeDeclared(scope) => Some(scope),
            _ => None,
        })
        .collect();
    let [plan, after] = &scopes[..] else {
        panic!("{scopes:?}");
    };
    let changes = &plan.permitted[1];
    assert_eq!(changes.effects, [Effect::Write, Effect::Delete]);
    assert_eq!(changes.paths, ["/home/me/.claude/plans"]);
    assert!(plan.prohibited.is_empty() && plan.permitted[0].paths.is_empty());
    let elsewhere = &plan.permitted[0].effects;
    assert_eq!(elsewhere.len(), Effect::ALL.len() - 2);
    assert!(!elsewhere.contains(&Effect::Write) && !elsewhere.contains(&Effect::Delete));
    let home = plan
        .places
        .as_ref()
        .and_then(|places| places.home.as_deref());
    assert_eq!(home, Some("/home/me"));
    assert!(after.withdrawn && after.permitted.is_empty());
}

fn doubts(collected: &Collected) -> Vec<bool> {
    let captures = collected.captures("cc-s").into_iter();
    captures
        .map(|captured| captured.incomplete.is_some())
        .collect()
}

#[test]
fn a_line_that_cannot_be_read_leaves_contexts_in_doubt_until_a_compaction() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 20_010, "c1");
    lines.returns("c1", "never push");
    lines
        .says("m2", 20_020, "ok")
        .user("more")
        .says("m3", 20_030, "ok");
    lines
        .boundary()
        .summary("sum")
        .user("on")
        .says("m4", 20_020, "ok");
    let text = lines.text();
    let (collected, _) = imported(&ClaudeCode, "s.jsonl", &text, &ImportOptions::default());
    assert_eq!(doubts(&collected), [false, false, false, false]);
    let damaged = |line: &str| match line.contains("never push") {
        true => format!("{}\n", &line[..line.len() - 1]),
        false => format!("{line}\n"),
    };
    let text: String = text.lines().map(damaged).collect();
    let (collected, report) = imported(&ClaudeCode, "s.jsonl", &text, &ImportOptions::default());
    assert_eq!(report.malformed, 1);
    assert_eq!(doubts(&collected), [false, true, true, false]);
}

#[test]
fn what_was_kept_before_the_boundary_is_sent_behind_the_summary() {
    let mut lines = Lines::default();
    lines.user("old").says("m1", 20_010, "one");
    lines.user("kept").says("m2", 20_012, "also kept");
    lines.add(json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
        "compactMetadata": {"trigger": "auto", "preservedMessages": {"anchorUuid": "u5", "uuids": ["u2", "u3"]}}}));
    lines.summary("sum");
    lines.add(json!({"type": "user", "parentUuid": "u3", "message": {"content": "next"}}));
    lines.says("m3", 20_030, "ok");
    let (collected, report) = lines.read();
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    assert_eq!(
        collected.contexts("cc-s")[2],
        ["sum", "kept", "also kept", "next"]
    );
    assert_eq!(doubts(&collected), [false, false, false]);
}

#[test]
fn what_was_kept_and_is_not_in_the_file_leaves_contexts_in_doubt() {
    for kept in [
        json!({"preservedMessages": {"uuids": ["u1", "gone"]}}),
        json!({"preservedSegment": {"headUuid": "gone", "tailUuid": "u1"}}),
    ] {
        let mut lines = Lines::default();
        lines.user("old").says("m1", 20_010, "one");
        lines.add(
            json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
            "compactMetadata": kept}),
        );
        lines.summary("sum").user("on").says("m2", 20_020, "ok");
        assert_eq!(doubts(&lines.read().0), [false, true], "{kept}");
    }
}

#[test]
fn a_call_on_a_late_line_is_of_its_messages_turn() {
    let mut lines = Lines::default();
    lines.user("go").calls("m1", 9, "c1").returns("c1", "r1");
    lines.calls("m2", 12, "c2").calls("m1", 9, "c3");
    lines.calls("m1", 9, "c1");
    let collected = lines.read().0;
    let calls: Vec<(String, u32)> = collected
        .payloads("cc-s")
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ToolCalled(called) => Some((called.call_id, called.turn)),
            _ => None,
        })
        .collect();
    let expected = [("c1", 1), ("c2", 2), ("c3", 1)].map(|(id, turn)| (id.to_owned(), turn));
    assert_eq!(calls, expected);
}
