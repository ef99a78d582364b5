//! Hooks as coding agents run them: the real program with a payload on standard input, which must print nothing and exit with 0
//! whatever happens; what it spools, and what the recorder has of it in the end.

mod agents_view;
mod installing;
mod sending;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::Server;

/// A user of a coding agent, with a home of their own.
struct User {
    home: tempfile::TempDir,
    url: String,
    key: String,
    /// How long a hook sends: as hooks do by themselves unless set.
    send_ms: String,
}

impl User {
    fn new(url: &str, key: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".claude/projects/-shop")).unwrap();
        Self {
            home,
            url: url.to_owned(),
            key: key.to_owned(),
            send_ms: String::new(),
        }
    }

    /// With a recorder that is not there.
    fn alone() -> Self {
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        Self::new(&url, "rmb_write_default_0_0")
    }

    fn of(server: &Server) -> Self {
        Self::new(&server.url, &server.key("write"))
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remembrancer"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("XDG_RUNTIME_DIR", self.path("runtime"))
            .env("REMEMBRANCER_URL", &self.url)
            .env("REMEMBRANCER_KEY", &self.key)
            .env("REMEMBRANCER_HOOK_SEND_MS", &self.send_ms)
            .current_dir(self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn raw(&self, program: &str, payload: &[u8]) -> Output {
        let mut child = self.command(&["hook", program]).spawn().unwrap();
        // One that does not read all of it is as silent as any other.
        drop(child.stdin.take().unwrap().write_all(payload));
        child.wait_with_output().unwrap()
    }

    fn hook_of(&self, program: &str, session: &str, event: &str, fields: Value) {
        let mut payload = json!({
            "session_id": session, "hook_event_name": event, "cwd": self.home.path(),
            "transcript_path": self.path(".claude/projects/-shop").join(format!("{session}.jsonl")),
        });
        let members = payload.as_object_mut().unwrap();
        members.extend(fields.as_object().unwrap().clone());
        silent(&self.raw(program, payload.to_string().as_bytes()));
    }

    fn hook(&self, event: &str, fields: Value) {
        self.hook_of("claude", "s1", event, fields);
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["hook", "status", "--format", "json"])).unwrap()
    }

    fn send(&self) -> Value {
        serde_json::from_str(&self.run(&["hook", "send", "--format", "json"])).unwrap()
    }
}

/// What an agent must see of a hook: nothing.
fn silent(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let seen = (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    );
    assert_eq!(seen, (Some(0), String::new(), String::new()));
}

/// A whole session with two calls at once, a compaction, and an end.
fn session(user: &User) {
    std::fs::write(user.path("CLAUDE.md"), "Never delete a ledger.\n").unwrap();
    let transcript = user.path(".claude/projects/-shop/s1.jsonl");
    std::fs::write(transcript, "{\"type\":\"user\"}\n".repeat(2_000)).unwrap();
    let rules = |reason: &str| json!({"file_path": user.path("CLAUDE.md"), "memory_type": "Project", "load_reason": reason});
    user.hook(
        "SessionStart",
        json!({"source": "startup", "model": "claude-x"}),
    );
    user.hook("InstructionsLoaded", rules("session_start"));
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy the shelves."}));
    for id in ["a", "b"] {
        user.hook("PreToolUse", call(id));
    }
    for id in ["a", "b"] {
        let mut returned = call(id);
        returned["tool_response"] = json!({"stdout": id});
        user.hook("PostToolUse", returned);
    }
    let calls = ["a", "b"].map(|id| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": id}, "tool_response": id}));
    user.hook("PostToolBatch", json!({"tool_calls": calls}));
    user.hook(
        "PreCompact",
        json!({"trigger": "auto", "custom_instructions": null}),
    );
    user.hook("InstructionsLoaded", rules("compact"));
    user.hook("SessionStart", json!({"source": "compact"}));
    user.hook(
        "PostCompact",
        json!({"trigger": "auto", "compact_summary": "The shelves are tidy."}),
    );
    user.hook("PreToolUse", call("c"));
    user.hook("Stop", json!({"last_assistant_message": "Done."}));
    user.hook("SessionEnd", json!({"reason": "other"}));
}

fn call(id: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": id}})
}

/// The types of a session's events, in order, and their payloads.
fn recorded(server: &Server, session: &str) -> Vec<(String, Value)> {
    let path = format!("/v1/sessions/{session}/entries?limit=500");
    let entries = server.get(&server.key("read"), &path);
    let items = entries["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            let entry = &item["entry"];
            let kind = entry["type"]
                .as_str()
                .or(item["type"].as_str())
                .unwrap_or_else(|| panic!("{item}"));
            let data = &item["data"];
            let data = data
                .as_str()
                .map_or_else(|| data.clone(), |text| serde_json::from_str(text).unwrap());
            (kind.to_owned(), data)
        })
        .collect()
}

fn of<'a>(recorded: &'a [(String, Value)], kind: &str) -> Vec<&'a Value> {
    let found = recorded.iter().filter(|(one, _)| one == kind);
    found.map(|(_, data)| data).collect()
}

const SESSION: &str = "claude-code-hooks:s1";

/// What a session must have left in the recorder, however it got there.
fn check_session(server: &Server) {
    let all = recorded(server, SESSION);
    let turns: Vec<_> = of(&all, "tool.called")
        .iter()
        .map(|call| (call["call_id"].clone(), call["turn"].clone()))
        .collect();
    assert_eq!(
        turns,
        [
            (json!("a"), json!(1)),
            (json!("b"), json!(1)),
            (json!("c"), json!(2))
        ]
    );
    assert_eq!(of(&all, "tool.returned").len(), 2);
    let mutated = of(&all, "context.mutated");
    assert_eq!(mutated.len(), 1);
    assert_eq!(
        (&mutated[0]["kind"], &mutated[0]["turn"]),
        (&json!("compaction"), &json!(2))
    );
    assert_eq!(mutated[0]["summary"]["text"], "The shelves are tidy.");
    let hash = of(&all, "artifact.changed")[0]["hash"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/v1/blobs/{hash}");
    let copy = server.send(
        "GET",
        &path,
        Some(&server.key("read")),
        "application/json",
        b"",
    );
    assert_eq!(copy.body, "{\"type\":\"user\"}\n".repeat(2_000));
    let contexts = of(&all, "context.captured");
    assert_eq!(contexts.len(), 2);
    assert!(
        contexts
            .iter()
            .all(|one| one["witness"] == "hook" && one["incomplete"].is_string())
    );
    assert_eq!(contexts[0]["parts"][0]["text"], "Never delete a ledger.\n");
    assert_eq!(of(&all, "model.responded")[0]["text"][0], "Done.");
    assert_eq!(of(&all, "session.ended").len(), 1);
}
