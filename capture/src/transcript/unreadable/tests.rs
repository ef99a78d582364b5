//! In every format: a block of a type that nobody knows yet stays a part, and what stands beside it is read.

use remembrancer_schema::Event;
use remembrancer_schema::payload::{ContextCaptured, Payload};
use serde_json::{Value, json};

use crate::transcript::claude_code::ClaudeCode;
use crate::transcript::codex::Codex;
use crate::transcript::gemini::Gemini;
use crate::transcript::inspect::Inspect;
use crate::transcript::openai_agents::OpenAiAgents;
use crate::transcript::openhands::OpenHands;
use crate::transcript::pi::Pi;
use crate::transcript::tests::read;
use crate::transcript::{Format, ImportOptions};

/// What the newest context of a file says of parts that cannot be read, and the texts that were written with any.
fn parts_of(format: &dyn Format, name: &str, lines: &[Value]) -> (Vec<String>, Vec<String>) {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, lines.concat()).expect("a file");
    parts_in(format, &path)
}

fn parts_in(format: &dyn Format, path: &std::path::Path) -> (Vec<String>, Vec<String>) {
    let (collected, report) = read(format, path, &ImportOptions::default());
    assert_eq!(report.malformed, 0, "{:?}", report.notices);
    let captures: Vec<ContextCaptured> = collected
        .events
        .iter()
        .filter_map(
            |(_, bytes)| match Event::parse(bytes).expect("valid").payload {
                Payload::ContextCaptured(captured) => Some(captured),
                _ => None,
            },
        )
        .collect();
    let parts: Vec<_> = captures.into_iter().flat_map(|one| one.parts).collect();
    let withheld = parts.iter().filter_map(|part| {
        assert!(part.withheld.is_none() || part.hash.is_some());
        part.withheld.clone()
    });
    let withheld = withheld.collect();
    (
        withheld,
        parts.into_iter().filter_map(|part| part.text).collect(),
    )
}

fn has(texts: &[String], wanted: &[&str]) {
    for wanted in wanted {
        assert!(
            texts.iter().any(|text| text == wanted),
            "{wanted}: {texts:?}"
        );
    }
}

/// Three blocks: what is known, a type of tomorrow, and JSON that is no block at all.
fn blocks(known: Value) -> Value {
    json!([known, {"type": "hologram", "data": "Never deploy."}, 7])
}

#[test]
fn of_claude_code() {
    let record = |number: u32, kind: &str, content: Value| {
        let parent = (number > 0).then(|| format!("u{}", number - 1));
        json!({"type": kind, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00Z", "message": {"id": format!("m{number}"), "role": kind, "model": "m",
            "content": content, "usage": {"input_tokens": 10, "output_tokens": 1}}})
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let mut said = blocks(text("one"));
    let call = json!({"type": "tool_use", "id": "c", "name": "Read", "input": {}});
    said.as_array_mut().expect("a list").push(call);
    let lines = [
        record(0, "user", blocks(text("go"))),
        record(1, "assistant", said),
        record(
            2,
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c", "content": blocks(text("read"))}]),
        ),
        record(3, "assistant", json!([text("two")])),
        record(4, "user", json!({"type": "whole", "of": "another shape"})),
        record(5, "assistant", json!([text("three")])),
    ];
    let (withheld, texts) = parts_of(&ClaudeCode, "s.jsonl", &lines);
    let (hologram, unknown) = ("not understood: hologram", "not understood: unknown");
    assert_eq!(
        withheld,
        [
            hologram,
            unknown,
            hologram,
            unknown,
            hologram,
            unknown,
            "not understood: whole"
        ]
    );
    has(&texts, &["go", "one", "read", "two"]);
}

#[test]
fn of_codex() {
    let item = |payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload});
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let message = |role: &str, content: Value| {
        item(json!({"type": "message", "role": role, "content": content}))
    };
    let output = |id: &str, output: Value| {
        item(json!({"type": "function_call_output", "call_id": id, "output": output}))
    };
    let call = |id: &str| {
        item(json!({"type": "function_call", "name": "exec", "arguments": "{}", "call_id": id}))
    };
    let lines = [
        json!({"type": "session_meta", "timestamp": "2026-01-01T00:00:00Z", "payload": {"id": "s"}}),
        message("user", blocks(text("go"))),
        item(json!({"type": "reasoning", "summary": blocks(text("hm"))})),
        item(json!({"type": "image_generation_call", "id": "i", "result": "AAAA"})),
        call("a"),
        call("b"),
        output("a", blocks(text("done"))),
        output("b", json!({"hologram": "Never deploy."})),
        output(
            "c",
            json!([{"type": "encrypted_content", "encrypted_content": "x"}]),
        ),
        message("assistant", json!([text("two")])),
    ];
    let (withheld, texts) = parts_of(&Codex, "rollout-s.jsonl", &lines);
    let (hologram, none) = ("not understood: hologram", "not understood: without a type");
    assert_eq!(
        withheld,
        [
            hologram,
            none,
            hologram,
            none,
            "not understood: image_generation_call",
            hologram,
            none
        ]
    );
    has(
        &texts,
        &["go", "hm", "done", "{\"hologram\":\"Never deploy.\"}"],
    );
}

#[test]
fn of_pi() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let message = |id: &str, parent: Option<&str>, role: &str, content: Value| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": role, "content": content}});
    let lines = [
        json!({"type": "session", "version": 3, "id": "p", "cwd": "/w"}),
        message("a", None, "user", blocks(text("go"))),
        message("b", Some("a"), "assistant", json!([text("one")])),
        message("c", Some("b"), "user", json!({"type": "whole"})),
        message("d", Some("c"), "assistant", json!([text("two")])),
    ];
    let (withheld, texts) = parts_of(&Pi, "x.jsonl", &lines);
    assert_eq!(
        withheld,
        [
            "not understood: hologram",
            "not understood: without a type",
            "not understood: whole"
        ]
    );
    has(&texts, &["go", "one"]);
}

#[test]
fn of_openhands() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let user = |id: &str, content: Value| {
        json!({"id": id, "kind": "MessageEvent", "source": "user", "timestamp": "2026-11-30T05:00:00+00:00",
            "llm_message": {"role": "user", "content": content}})
    };
    let action = |id: &str, call: &str| {
        json!({"id": id, "kind": "ActionEvent", "source": "agent", "thought": blocks(text("think")), "tool_name": "terminal",
            "tool_call_id": call, "llm_response_id": id, "thinking_blocks": [{"type": "hologram"}],
            "tool_call": {"id": call, "name": "terminal", "arguments": "{}"}})
    };
    let result = |id: &str, call: &str| {
        json!({"id": id, "kind": "ObservationEvent", "source": "environment", "tool_name": "terminal", "tool_call_id": call,
            "observation": {"content": blocks(text("ran")), "is_error": false}})
    };
    let lines = [
        json!({"id": "s", "kind": "SystemPromptEvent", "source": "agent", "system_prompt": text("You work."),
            "tools": {"terminal": {}}}),
        user("u", blocks(text("go"))),
        action("a", "c1"),
        result("r", "c1"),
        action("b", "c2"),
    ];
    let (withheld, texts) = parts_of(&OpenHands, "conversation.jsonl", &lines);
    let (hologram, none) = ("not understood: hologram", "not understood: without a type");
    assert_eq!(
        withheld,
        [hologram, none, hologram, hologram, none, hologram, none]
    );
    has(&texts, &["go", "think", "ran", "{\"terminal\":{}}"]);
}

#[test]
fn of_gemini() {
    let message = |id: &str, kind: &str, content: Value| json!({"id": id, "timestamp": "2026-11-30T05:00:01.000Z", "type": kind, "content": content, "model": "g"});
    let lines = [
        json!({"sessionId": "s1", "projectHash": "ph", "startTime": "2026-11-30T05:00:00.000Z",
            "lastUpdated": "2026-11-30T05:00:00.000Z", "kind": "main"}),
        message("a", "user", blocks(json!({"text": "go"}))),
        message("b", "gemini", json!("one")),
    ];
    let (withheld, texts) = parts_of(&Gemini, "session-2026-11-30T05-00-s1.jsonl", &lines);
    assert_eq!(withheld, ["not text", "not text"]);
    has(&texts, &["go"]);
}

#[test]
fn of_openai_agents() {
    let input = json!([{"role": "user", "content": blocks(json!({"type": "text", "text": "go"}))}]);
    let lines = [
        json!({"object": "trace", "id": "trace_1", "workflow_name": "w"}),
        json!({"object": "trace.span", "id": "r", "trace_id": "trace_1", "started_at": "2026-11-30T05:00:00+00:00",
            "span_data": {"type": "generation", "model": "m", "input": input}}),
    ];
    let (withheld, texts) = parts_of(&OpenAiAgents, "t.jsonl", &lines);
    assert_eq!(withheld, ["not text", "not text"]);
    has(&texts, &["go"]);
}

#[test]
fn of_inspect() {
    let content = json!([{"type": "text", "text": "go"}, {"type": "hologram"}, {"type": "text"}]);
    let sample = json!({"id": 1, "epoch": 1, "messages": [], "events": [{"event": "model", "uuid": "u", "span_id": "s",
        "timestamp": "2026-11-30T05:00:00+00:00", "model": "m", "input": [{"role": "user", "content": content}], "tools": [],
        "output": {"choices": []}}]});
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.eval");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).expect("a file"));
    let header = json!({"version": 2, "eval": {"eval_id": "e", "task": "t", "model": "m"}});
    for (name, content) in [
        ("header.json", &header),
        ("samples/1_epoch_1.json", &sample),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).expect("starts");
        serde_json::to_writer(&mut archive, content).expect("written");
    }
    archive.finish().expect("ends");
    let (withheld, texts) = parts_in(&Inspect, &path);
    assert_eq!(withheld, ["not text: hologram", "not text: text"]);
    has(&texts, &["go"]);
}
