//! Which requests are seen, and what their contexts hold.

use super::*;

#[test]
fn a_prompt_begins_a_turn_and_its_context_is_recorded_once_the_model_answers() {
    let mut hooks = Hooks::prompted(Program::Claude);
    assert_eq!(hooks.kinds(), ["session.started", "intent.declared"]);
    hooks.hook(
        "Stop",
        json!({"stop_hook_active": false, "last_assistant_message": "Done."}),
    );
    assert_eq!(hooks.kinds()[2..], ["context.captured", "model.responded"]);
    let context = hooks.contexts()[0];
    assert_eq!(
        (context.turn, context.base, context.witness),
        (1, None, Some(Witness::Hook))
    );
    assert_eq!(
        context.parts[0].text.as_deref(),
        Some("Tidy the shelves. Never delete a ledger.")
    );
    hooks.hook("UserPromptSubmit", json!({"prompt": "And now?"}));
    hooks.hook("Stop", json!({"last_assistant_message": "Nothing."}));
    let context = hooks.contexts()[1];
    assert_eq!((context.turn, context.base), (2, Some(1)));
    assert_eq!(
        kinds_of(&context.parts),
        [PartKind::Assistant, PartKind::User]
    );
    assert_eq!(context.parts[0].hash, Some(ContentHash::of(b"Done.")));
    let Payload::SessionStarted(started) = &hooks.recorded[0].payload else {
        panic!("{:?}", hooks.recorded[0].payload);
    };
    assert_eq!(hooks.recorded[0].session, "claude-code-hooks:b7c1");
    assert_eq!(
        (started.model.as_deref(), started.witness),
        (Some("m"), Some(Witness::Hook))
    );
    assert_eq!(started.labels["program_session"], "b7c1");
}

#[test]
fn no_context_is_ever_said_to_be_whole() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.call("a");
    hooks.returned("a");
    hooks.batch(&["a"]);
    hooks.hook(
        "PostCompact",
        json!({"trigger": "auto", "compact_summary": "All is well."}),
    );
    hooks.call("b");
    hooks.hook("SessionEnd", json!({"reason": "other"}));
    let contexts = hooks.contexts();
    assert_eq!(contexts.len(), 2);
    assert!(contexts.iter().all(|one| one.incomplete.is_some()));
    let mut gemini = Hooks::of(Program::Gemini);
    gemini.hook(
        "BeforeModel",
        json!({"llm_request": {"messages": [{"role": "user", "content": "x"}]}}),
    );
    assert!(gemini.contexts()[0].incomplete.is_some());
}

#[test]
fn calls_of_one_batch_belong_to_one_turn_and_the_next_carries_what_the_model_saw() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.call("a");
    hooks.call("b");
    hooks.returned("b");
    hooks.returned("a");
    hooks.batch(&["a", "b"]);
    hooks.call("c");
    hooks.returned("c");
    hooks.call("d");
    hooks.returned("d");
    hooks.batch(&["c", "d"]);
    hooks.hook("Stop", json!({"last_assistant_message": "Done."}));
    let turn = |id: &str, turn| (id.to_owned(), turn);
    assert_eq!(
        hooks.turns(),
        [turn("a", 1), turn("b", 1), turn("c", 2), turn("d", 2)]
    );
    let contexts = hooks.contexts();
    assert_eq!(contexts.len(), 3);
    let parts = &contexts[1].parts;
    use PartKind::{ToolCall, ToolResult};
    assert_eq!(
        kinds_of(parts),
        [ToolCall, ToolResult, ToolCall, ToolResult]
    );
    assert_eq!(parts[0].hash, Some(ContentHash::of(br#"{"file":"a"}"#)));
    assert_eq!(parts[1].text.as_deref(), Some("seen a"));
    assert_eq!(parts[3].call_id.as_deref(), Some("b"));
}

#[test]
fn without_batches_a_call_after_all_returned_begins_a_turn() {
    let mut hooks = Hooks::prompted(Program::Codex);
    // Whether batches are told is not known yet: one turn for all of the first prompt's calls.
    hooks.call("a");
    hooks.returned("a");
    hooks.call("b");
    hooks.returned("b");
    hooks.hook("Stop", json!({"last_assistant_message": "Done."}));
    hooks.hook("UserPromptSubmit", json!({"prompt": "On."}));
    for id in ["c", "d"] {
        hooks.call(id);
    }
    hooks.returned("c");
    hooks.returned("d");
    hooks.call("e");
    let turns: Vec<u32> = hooks.turns().into_iter().map(|(_, turn)| turn).collect();
    assert_eq!(turns, [1, 1, 3, 3, 4]);
    let last = hooks.contexts().pop().expect("a context");
    use PartKind::{ToolCall, ToolResult};
    assert_eq!(
        kinds_of(&last.parts),
        [ToolCall, ToolResult, ToolCall, ToolResult]
    );
    assert_eq!(
        last.parts[1].hash,
        Some(ContentHash::of(br#"{"text":"c"}"#))
    );
}

#[test]
fn rules_that_are_loaded_stand_in_the_next_context_and_those_that_cannot_be_read_are_named() {
    let mut hooks = Hooks::of(Program::Claude);
    let loaded = |reason: &str| json!({"file_path": "/home/ada/shop/CLAUDE.md", "memory_type": "Project", "load_reason": reason});
    let read = Attached {
        instructions: Some(Ok("Never push to main.".to_owned())),
        ..Attached::default()
    };
    hooks.hook_with("InstructionsLoaded", loaded("session_start"), read);
    let refused = Attached {
        instructions: Some(Err("it is no plain file".to_owned())),
        ..Attached::default()
    };
    hooks.hook_with("InstructionsLoaded", loaded("include"), refused);
    hooks.hook("UserPromptSubmit", json!({"prompt": "Hello."}));
    hooks.call("a");
    let parts = &hooks.contexts()[0].parts;
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0].text.as_deref(), Some("Never push to main."));
    assert_eq!(parts[0].name.as_deref(), Some("/home/ada/shop/CLAUDE.md"));
    assert!(parts[0].kind.is_carrying());
    let told = hooks.custom("instructions_loaded");
    assert_eq!(
        told[0]["blake3"],
        ContentHash::of(b"Never push to main.").to_string()
    );
    assert_eq!(told[1]["not_read"], "it is no plain file");
}
