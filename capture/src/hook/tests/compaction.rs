//! Compactions, as each program tells of them.

use super::*;

#[test]
fn a_compaction_is_recorded_with_its_summary_and_the_transcript_before() {
    let mut hooks = Hooks::prompted(Program::Claude);
    hooks.call("a");
    hooks.returned("a");
    hooks.batch(&["a"]);
    let copy = TranscriptCopy {
        hash: ContentHash::of(b"transcript"),
        bytes: 10,
        skipped: 7,
    };
    let attached = Attached {
        transcript: Some(Ok(copy)),
        ..Attached::default()
    };
    hooks.hook_with(
        "PreCompact",
        json!({"trigger": "auto", "custom_instructions": "keep rules"}),
        attached,
    );
    let rules = Attached {
        instructions: Some(Ok("Never push.".to_owned())),
        ..Attached::default()
    };
    hooks.hook_with(
        "InstructionsLoaded",
        json!({"file_path": "/home/ada/shop/CLAUDE.md", "load_reason": "compact"}),
        rules,
    );
    hooks.hook("SessionStart", json!({"source": "compact"}));
    let summary = "<analysis>rules: never delete</analysis>\n<summary>Shelves are tidy.</summary>";
    hooks.hook(
        "PostCompact",
        json!({"trigger": "auto", "compact_summary": summary}),
    );
    hooks.call("b");

    let artifacts = hooks.payloads(|payload| match payload {
        Payload::ArtifactChanged(changed) => Some(changed),
        _ => None,
    });
    assert_eq!(artifacts[0].kind.as_deref(), Some("transcript"));
    assert_eq!(
        (artifacts[0].hash, artifacts[0].turn),
        (Some(ContentHash::of(b"transcript")), Some(1))
    );
    let introduced = hooks
        .recorded
        .iter()
        .find(|one| one.kind == EventType::ArtifactChanged);
    assert_eq!(introduced.map(|one| one.blobs.len()), Some(1));
    assert_eq!(hooks.custom("transcript_cut")[0]["skipped_bytes"], 7);
    assert_eq!(
        hooks.custom("compaction_begun")[0]["custom_instructions"],
        "keep rules"
    );
    let mutations = hooks.payloads(|payload| match payload {
        Payload::ContextMutated(mutated) => Some(mutated),
        _ => None,
    });
    assert_eq!(mutations.len(), 1, "told twice, recorded once");
    assert_eq!(
        (mutations[0].turn, mutations[0].kind),
        (2, MutationKind::Compaction)
    );
    let cause = mutations[0]
        .trigger
        .as_ref()
        .and_then(|trigger| trigger.cause.as_deref());
    assert_eq!(cause, Some("automatic"));
    let text = &mutations[0].summary.as_ref().expect("a summary").text;
    assert_eq!(text, "<summary>Shelves are tidy.</summary>");
    assert_eq!(
        hooks.custom("compaction_analysis")[0]["text"],
        "rules: never delete"
    );
    let after = hooks.contexts()[1];
    assert_eq!((after.turn, after.base), (2, None));
    assert_eq!(
        kinds_of(&after.parts),
        [PartKind::Summary, PartKind::Memory]
    );
    assert_eq!(after.parts[0].hash, Some(ContentHash::of(text.as_bytes())));
    assert_eq!(after.parts[1].text.as_deref(), Some("Never push."));
    assert_eq!(hooks.turns().last(), Some(&("b".to_owned(), 2)));
}

#[test]
fn a_compaction_without_its_last_hook_is_known_by_the_sessions_new_start() {
    let mut hooks = Hooks::prompted(Program::Codex);
    hooks.call("a");
    hooks.hook("PreCompact", json!({"trigger": "manual"}));
    hooks.hook("SessionStart", json!({"source": "compact"}));
    hooks.hook("UserPromptSubmit", json!({"prompt": "On."}));
    hooks.call("b");
    let mutations = hooks.payloads(|payload| match payload {
        Payload::ContextMutated(mutated) => Some(mutated),
        _ => None,
    });
    assert_eq!(
        (mutations[0].turn, mutations[0].kind),
        (2, MutationKind::Compaction)
    );
    assert!(mutations[0].summary.is_none());
    assert_eq!(hooks.contexts()[1].base, None);
    // One that was begun and stopped changes nothing.
    hooks.hook("PreCompact", json!({"trigger": "auto"}));
    hooks.hook("UserPromptSubmit", json!({"prompt": "Go on."}));
    hooks.call("c");
    assert_eq!(hooks.contexts()[2].base, Some(2));
}

#[test]
fn gemini_tells_the_texts_of_its_requests_and_a_compression_is_seen_in_them() {
    let mut hooks = Hooks::of(Program::Gemini);
    let request = |texts: &[(&str, &str)]| {
        let messages: Vec<Value> = texts
            .iter()
            .map(|(role, text)| json!({"role": role, "content": text}))
            .collect();
        json!({"llm_request": {"model": "g", "messages": messages}})
    };
    hooks.hook("BeforeAgent", json!({"prompt": "Tidy."}));
    hooks.hook("BeforeModel", request(&[("user", "Tidy.")]));
    hooks.hook(
        "BeforeTool",
        json!({"tool_name": "read_file", "tool_input": {"path": "a"}}),
    );
    hooks.hook("AfterTool", json!({"tool_name": "read_file", "tool_input": {"path": "a"}, "tool_response": {"llmContent": "x", "error": {"message": "gone"}}}));
    hooks.hook(
        "BeforeModel",
        request(&[("user", "Tidy."), ("model", "Looked."), ("user", "On.")]),
    );
    hooks.hook("PreCompress", json!({"trigger": "auto"}));
    hooks.hook(
        "BeforeModel",
        request(&[("user", "A summary."), ("user", "On.")]),
    );
    hooks.hook(
        "AfterAgent",
        json!({"prompt": "Tidy.", "prompt_response": "Done."}),
    );
    let contexts = hooks.contexts();
    let shape: Vec<_> = contexts
        .iter()
        .map(|one| (one.turn, one.base, one.parts.len()))
        .collect();
    assert_eq!(shape, [(1, None, 1), (2, Some(1), 2), (3, None, 2)]);
    assert_eq!(contexts[2].parts[1].hash, Some(ContentHash::of(b"On.")));
    assert_eq!(contexts[2].parts[1].text, None);
    let mutations = hooks.payloads(|payload| match payload {
        Payload::ContextMutated(mutated) => Some(mutated),
        _ => None,
    });
    assert_eq!((mutations.len(), mutations[0].turn), (1, 3));
    assert_eq!(hooks.turns(), [("call-1".to_owned(), 1)]);
    let returned = hooks.payloads(|payload| match payload {
        Payload::ToolReturned(returned) => Some(returned),
        _ => None,
    });
    assert_eq!(
        (returned[0].call_id.as_str(), returned[0].status),
        ("call-1", ReturnStatus::Error)
    );
    let responded = hooks.payloads(|payload| match payload {
        Payload::ModelResponded(responded) => Some(responded),
        _ => None,
    });
    assert_eq!(
        (responded[0].turn, &responded[0].text[0]),
        (3, &"Done.".to_owned())
    );
}
