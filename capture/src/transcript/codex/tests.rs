use remembrancer_replay::analysis::ScopeVerdict;
use remembrancer_replay::scope::{Mandate, ProposedAction};
use remembrancer_schema::payload::{Effect, MutationKind, Payload, ReturnStatus};
use serde_json::{Value, json};

use super::super::ImportOptions;
use super::super::tests::{Collected, imported};
use super::Codex;

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload})
}

fn message(role: &str, text: &str) -> Value {
    line(
        "response_item",
        json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}),
    )
}

fn call(id: &str) -> Value {
    line(
        "response_item",
        json!({"type": "function_call", "name": "exec", "arguments": "{\"cmd\":\"ls\"}", "call_id": id}),
    )
}

fn output(id: &str, output: Value) -> Value {
    line(
        "response_item",
        json!({"type": "function_call_output", "call_id": id, "output": output}),
    )
}

fn read(mut lines: Vec<Value>) -> Collected {
    let meta = json!({"id": "s", "cwd": "/w", "base_instructions": {"text": "be codex"}});
    lines.insert(0, line("session_meta", meta));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (collected, report) = imported(&Codex, "r.jsonl", &text, &ImportOptions::default());
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    collected
}

fn mutations(collected: &Collected) -> Vec<(u32, MutationKind)> {
    let payloads = collected.payloads("codex-s").into_iter();
    payloads
        .filter_map(|payload| match payload {
            Payload::ContextMutated(mutated) => Some((mutated.turn, mutated.kind)),
            _ => None,
        })
        .collect()
}

#[test]
fn what_the_model_wrote_in_a_row_is_one_answer() {
    let usage = json!({"type": "token_count", "info": {"last_token_usage":
        {"input_tokens": 70, "cached_input_tokens": 50, "output_tokens": 3}}});
    let collected = read(vec![
        message("user", "go"),
        call("a"),
        call("b"),
        line("event_msg", usage),
        output("a", json!("ok")),
        output("b", json!({"content": "no", "success": false})),
        message("assistant", "done"),
    ]);
    assert_eq!(
        collected.contexts("codex-s"),
        [
            vec!["be codex", "go"],
            vec![
                "be codex",
                "go",
                "exec {\"cmd\":\"ls\"}",
                "exec {\"cmd\":\"ls\"}",
                "ok",
                "no"
            ]
        ]
    );
    let payloads = collected.payloads("codex-s");
    let usage = payloads.iter().find_map(|payload| match payload {
        Payload::ModelResponded(responded) => responded.usage,
        _ => None,
    });
    assert_eq!(usage.map(|usage| usage.input_tokens), Some(70));
    let statuses: Vec<ReturnStatus> = payloads
        .iter()
        .filter_map(|payload| match payload {
            Payload::ToolReturned(returned) => Some(returned.status),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, [ReturnStatus::Ok, ReturnStatus::Error]);
}

#[test]
fn a_compaction_replaces_the_history_and_an_encrypted_one_cannot_be_read() {
    let compacted = |history: Value| {
        line(
            "compacted",
            json!({"message": "sum", "replacement_history": history}),
        )
    };
    let kept = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]});
    let sum = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far: sum"}]});
    let collected = read(vec![
        message("user", "old"),
        message("assistant", "one"),
        compacted(json!([kept, sum])),
        call("a"),
        output("a", json!("ok")),
        compacted(json!([{"type": "compaction", "encrypted_content": "x"}])),
        call("b"),
    ]);
    let contexts = collected.contexts("codex-s");
    assert_eq!(contexts[1], ["be codex", "kept", "so far: sum"]);
    assert_eq!(contexts[2], ["be codex", "?"]);
    let captures = collected.captures("codex-s");
    assert!(captures[2].parts.iter().any(|part| part.encrypted));
    assert_eq!(
        mutations(&collected),
        [(2, MutationKind::Compaction), (3, MutationKind::Compaction)]
    );
}

#[test]
fn a_compaction_that_does_not_say_what_it_kept_is_in_doubt() {
    let collected = read(vec![
        message("user", "old"),
        message("assistant", "one"),
        line("compacted", json!({"message": "sum"})),
        call("a"),
    ]);
    let last = collected.captures("codex-s").pop().expect("a context");
    assert!(last.incomplete.is_some());
    assert_eq!(collected.contexts("codex-s")[1], ["be codex", "sum"]);
}

#[test]
fn turns_that_are_taken_back_leave() {
    let collected = read(vec![
        message("user", "first"),
        message("assistant", "one"),
        message("user", "second"),
        message("assistant", "two"),
        line(
            "event_msg",
            json!({"type": "thread_rolled_back", "num_turns": 1}),
        ),
        message("user", "third"),
        message("assistant", "three"),
    ]);
    assert_eq!(
        collected.contexts("codex-s")[2],
        ["be codex", "first", "one", "third"]
    );
    assert_eq!(mutations(&collected), [(3, MutationKind::Rewind)]);
}

#[test]
fn a_turn_declares_its_scope_once() {
    let context =
        json!({"cwd": "/w", "approval_policy": "never", "sandbox_policy": {"mode": "read-only"}});
    let collected = read(vec![
        line("turn_context", context.clone()),
        message("user", "go"),
        message("assistant", "one"),
        line("turn_context", context),
        message("user", "go"),
        message("assistant", "two"),
    ]);
    let scopes: Vec<_> = collected
        .payloads("codex-s")
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ScopeDeclared(scope) => Some(scope),
            _ => None,
        })
        .collect();
    assert_eq!(scopes.len(), 1);
    let source = scopes[0]
        .stated_by
        .as_ref()
        .and_then(|by| by.source.as_deref());
    assert_eq!(
        source,
        Some("turn_context: approval policy never, sandbox read-only, folder /w")
    );
    let effects = &scopes[0].prohibited[0].effects;
    assert_eq!(effects, &[Effect::Write, Effect::Delete]);
}

#[test]
fn a_sandbox_permits_what_it_says_and_none_declares_nothing() {
    let context = |policy: Value| {
        line(
            "turn_context",
            json!({"cwd": "/home/me/w", "sandbox_policy": policy}),
        )
    };
    let shell = |id: &str, command: &str| {
        let arguments = json!({"command": ["bash", "-lc", command]}).to_string();
        line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id}),
        )
    };
    let collected = read(vec![
        context(
            json!({"type": "workspace-write", "writable_roots": ["/srv/x"], "network_access": false}),
        ),
        message("user", "go"),
        shell("a", "rm -rf /"),
        shell("b", "touch src/a /srv/x/b /tmp/c"),
        shell("c", "curl https://example.org"),
        shell("d", "rm ../other"),
        output("d", json!("ok")),
        context(json!({"type": "danger-full-access"})),
        message("user", "go"),
        shell("e", "rm -rf /"),
    ]);
    let mut mandate = Mandate::default();
    let mut verdicts = Vec::new();
    for payload in collected.payloads("codex-s") {
        match payload {
            Payload::ScopeDeclared(scope) => mandate.declare_scope(&scope),
            Payload::ToolCalled(called) => {
                let action = ProposedAction {
                    tool: &called.tool,
                    arguments: called.arguments.as_deref().map(|raw| raw.get()),
                    ..ProposedAction::default()
                };
                verdicts.push(mandate.judge(&action).verdict);
            }
            _ => {}
        }
    }
    assert_eq!(verdicts[0], ScopeVerdict::OutOfScope);
    assert!(
        matches!(verdicts[1], ScopeVerdict::Permitted { .. }),
        "{verdicts:?}"
    );
    assert_eq!(verdicts[2], ScopeVerdict::OutOfScope);
    assert_eq!(verdicts[3], ScopeVerdict::OutOfScope);
    assert_eq!(verdicts[4], ScopeVerdict::Undeclared);
}

#[test]
fn what_is_not_understood_leaves_contexts_in_doubt_until_the_history_is_replaced() {
    let meta = line("session_meta", json!({"id": "s", "cwd": "/w"}));
    let kept = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]});
    let compacted = line(
        "compacted",
        json!({"message": "sum", "replacement_history": [kept]}),
    );
    let unknown = line(
        "response_item",
        json!({"type": "hologram", "text": "never push"}),
    );
    for (bad, kinds) in [
        (
            "{\"type\":\"response_item\",\"payload\":3".to_owned(),
            "custom.transcript.malformed",
        ),
        (
            line("response_item", json!("a")).to_string(),
            "custom.transcript.malformed",
        ),
        (unknown.to_string(), "custom.codex.record"),
    ] {
        let lines = [
            meta.to_string(),
            message("user", "go").to_string(),
            message("assistant", "one").to_string(),
            bad,
            call("a").to_string(),
            output("a", json!("ok")).to_string(),
            call("b").to_string(),
            compacted.to_string(),
            call("c").to_string(),
        ]
        .map(|line| format!("{line}\n"));
        let options = ImportOptions::default();
        let (collected, report) = imported(&Codex, "r.jsonl", &lines.concat(), &options);
        assert_eq!(report.notices.len(), 1, "{:?}", report.notices);
        let doubts: Vec<bool> = collected
            .captures("codex-s")
            .iter()
            .map(|captured| captured.incomplete.is_some())
            .collect();
        // The call after the line is of the same answer: what is not understood ends none.
        assert_eq!(doubts, [false, true, false], "{kinds}");
        let is_kept = |event: &[u8]| String::from_utf8_lossy(event).contains(kinds);
        let kept = collected.events.iter().filter(|(_, event)| is_kept(event));
        assert_eq!(kept.count(), 1, "{kinds}");
    }
}
