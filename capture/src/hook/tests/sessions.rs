//! Where sessions begin, go on, and are found again.

use super::*;

#[test]
fn a_sub_agent_has_a_session_of_its_own_below_the_call_that_started_it() {
    let mut hooks = Hooks::prompted(Program::Claude);
    let input =
        json!({"subagent_type": "Explore", "prompt": "Find the ledger.", "description": "d"});
    hooks.hook(
        "PreToolUse",
        json!({"tool_name": "Task", "tool_use_id": "t1", "tool_input": input}),
    );
    let within = |fields: Value| {
        let mut all = json!({"agent_id": "a9", "agent_type": "Explore"});
        all.as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("an object").clone());
        all
    };
    hooks.hook("SubagentStart", within(json!({})));
    hooks.hook(
        "PreToolUse",
        within(json!({"tool_name": "Read", "tool_use_id": "s1", "tool_input": {}})),
    );
    hooks.hook(
        "SubagentStop",
        within(json!({"last_assistant_message": "Found."})),
    );
    hooks.hook("PostToolUse", json!({"tool_name": "Task", "tool_use_id": "t1", "tool_input": input, "tool_response": "Found."}));
    let child: Vec<&Recorded> = hooks
        .recorded
        .iter()
        .filter(|one| one.session == "claude-code-hooks:b7c1:a9")
        .collect();
    let kinds: Vec<&str> = child.iter().map(|one| one.kind.as_str()).collect();
    let expected = [
        "session.started",
        "intent.declared",
        "context.captured",
        "tool.called",
        "model.responded",
        "session.ended",
    ];
    assert_eq!(kinds, expected);
    let Payload::SessionStarted(started) = &child[0].payload else {
        panic!("{:?}", child[0].payload);
    };
    let parent = started.parent.as_ref().expect("a parent");
    assert_eq!(
        (parent.session.as_str(), parent.call_id.as_deref()),
        ("claude-code-hooks:b7c1", Some("t1"))
    );
    let Payload::ContextCaptured(context) = &child[2].payload else {
        panic!("{:?}", child[2].payload);
    };
    assert_eq!(context.parts[0].text.as_deref(), Some("Find the ledger."));
    // One that is spoken to again goes on in a further session.
    hooks.hook(
        "PreToolUse",
        within(json!({"tool_name": "Read", "tool_use_id": "s2", "tool_input": {}})),
    );
    assert_eq!(
        hooks.recorded.last().expect("recorded").session,
        "claude-code-hooks:b7c1:a9:run-2"
    );
}

#[test]
fn a_session_that_is_resumed_after_its_end_goes_on_in_another() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.hook("SessionEnd", json!({"reason": "prompt_input_exit"}));
    // The prompt's request may have been sent.
    assert_eq!(
        hooks.kinds(),
        [
            "session.started",
            "intent.declared",
            "context.captured",
            "session.ended"
        ]
    );
    hooks.hook("SessionStart", json!({"source": "resume"}));
    let resumed: Vec<&Recorded> = hooks
        .recorded
        .iter()
        .filter(|one| one.session.ends_with(":run-2"))
        .collect();
    assert_eq!(resumed[0].kind, EventType::SessionStarted);
    let Payload::ContextMutated(mutated) = &resumed[1].payload else {
        panic!("{:?}", resumed[1].payload);
    };
    assert_eq!((mutated.kind, mutated.turn), (MutationKind::Resume, 1));
}

#[test]
fn what_is_known_is_found_again_in_the_record() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.call("a");
    hooks.returned("a");
    hooks.batch(&["a"]);
    hooks.call("b");
    let recorded: Vec<Payload> = hooks
        .recorded
        .iter()
        .map(|one| one.payload.clone())
        .collect();
    let mut found = SessionStanding::default();
    assert!(!found.knows(None));
    found.restore(None, 1, &recorded);
    assert!(found.knows(None) && !found.knows(Some("x")));
    hooks.standing = found;
    hooks.returned("b");
    hooks.hook("UserPromptSubmit", json!({"prompt": "On."}));
    hooks.call("c");
    assert_eq!(hooks.turns().last(), Some(&("c".to_owned(), 3)));
    assert_eq!(hooks.contexts().last().map(|one| one.base), Some(Some(2)));
    assert_eq!(
        hooks
            .kinds()
            .iter()
            .filter(|kind| **kind == "session.started")
            .count(),
        1
    );
}
