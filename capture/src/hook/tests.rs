use remembrancer_schema::payload::{
    ContextCaptured, MutationKind, Part, PartKind, Payload, ReturnStatus, Verdict, Witness,
};
use remembrancer_schema::{ContentHash, Event, EventType};
use serde_json::{Value, json};

use super::*;

/// What a session recorded: its id, the event's type, and its payload.
struct Recorded {
    session: String,
    id: String,
    kind: EventType,
    payload: Payload,
    data: String,
    blobs: Vec<ContentHash>,
}

/// Hooks of one program's session, one after the other.
struct Hooks {
    program: Program,
    standing: SessionStanding,
    recorded: Vec<Recorded>,
    blobs: std::collections::BTreeMap<ContentHash, Vec<u8>>,
    count: u32,
}

impl Hooks {
    fn of(program: Program) -> Self {
        Self {
            program,
            standing: SessionStanding::default(),
            recorded: Vec::new(),
            blobs: std::collections::BTreeMap::new(),
            count: 0,
        }
    }

    fn hook(&mut self, event: &str, fields: Value) {
        self.hook_with(event, fields, Attached::default());
    }

    fn hook_with(&mut self, event: &str, fields: Value, attached: Attached) {
        let mut payload = json!({
            "session_id": "b7c1", "hook_event_name": event, "cwd": "/home/ada/shop",
            "transcript_path": "/home/ada/.claude/projects/-home-ada-shop/b7c1.jsonl",
        });
        let members = payload.as_object_mut().expect("an object");
        members.extend(fields.as_object().expect("an object").clone());
        self.count += 1;
        let text = payload.to_string();
        let arrival = Arrival {
            program: self.program,
            payload: HookPayload::parse(text.as_bytes()).expect("a payload"),
            name: &format!("hook-{}", self.count),
            time: "2026-11-30T08:00:00Z",
            attached,
        };
        // What is known goes through a file between two hooks.
        let kept = serde_json::to_vec(&self.standing).expect("JSON");
        self.standing = serde_json::from_slice(&kept).expect("read back");
        let written = translate(&mut self.standing, &arrival).expect("translated");
        self.blobs.extend(written.blobs);
        for event in written.events {
            let event = Event::parse(&event.bytes).expect("valid");
            assert!(
                event
                    .blobs
                    .iter()
                    .all(|hash| attached_or(&self.blobs, hash))
            );
            self.recorded.push(Recorded {
                session: event.session.to_string(),
                id: event.id.to_string(),
                kind: event.kind.clone(),
                data: event.data.to_owned(),
                blobs: event.blobs.clone(),
                payload: event.payload,
            });
        }
    }

    fn kinds(&self) -> Vec<&str> {
        self.recorded.iter().map(|one| one.kind.as_str()).collect()
    }

    fn contexts(&self) -> Vec<&ContextCaptured> {
        self.payloads(|payload| match payload {
            Payload::ContextCaptured(captured) => Some(captured),
            _ => None,
        })
    }

    fn payloads<'a, T>(&'a self, of: impl Fn(&'a Payload) -> Option<&'a T>) -> Vec<&'a T> {
        self.recorded
            .iter()
            .filter_map(|one| of(&one.payload))
            .collect()
    }

    fn turns(&self) -> Vec<(String, u32)> {
        let calls = self.payloads(|payload| match payload {
            Payload::ToolCalled(called) => Some(called),
            _ => None,
        });
        calls
            .iter()
            .map(|call| (call.call_id.clone(), call.turn))
            .collect()
    }

    fn custom(&self, name: &str) -> Vec<Value> {
        let of_name = self
            .recorded
            .iter()
            .filter(|one| one.kind.as_str() == format!("custom.{name}"));
        of_name
            .map(|one| serde_json::from_str(&one.data).expect("JSON"))
            .collect()
    }

    /// Starts with a prompt.
    fn prompted(program: Program) -> Self {
        let mut hooks = Self::of(program);
        hooks.hook("SessionStart", json!({"source": "startup", "model": "m"}));
        hooks.hook(
            "UserPromptSubmit",
            json!({"prompt": "Tidy the shelves. Never delete a ledger."}),
        );
        hooks
    }

    fn call(&mut self, id: &str) {
        self.hook(
            "PreToolUse",
            json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}}),
        );
    }

    fn returned(&mut self, id: &str) {
        self.hook(
            "PostToolUse",
            json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}, "tool_response": {"text": id}}),
        );
    }

    fn batch(&mut self, ids: &[&str]) {
        let calls: Vec<Value> = ids
            .iter()
            .map(|id| json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}, "tool_response": format!("seen {id}")}))
            .collect();
        self.hook("PostToolBatch", json!({"tool_calls": calls}));
    }
}

/// Copies of transcripts are kept by whoever made them.
fn attached_or(
    blobs: &std::collections::BTreeMap<ContentHash, Vec<u8>>,
    hash: &ContentHash,
) -> bool {
    blobs.contains_key(hash) || *hash == ContentHash::of(b"transcript")
}

fn kinds_of(parts: &[Part]) -> Vec<PartKind> {
    parts.iter().map(|part| part.kind).collect()
}

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
