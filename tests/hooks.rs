//! Hooks as coding agents run them: the real program with a payload on standard input, which must print nothing and exit with 0
//! whatever happens; what it spools, and what the recorder has of it in the end.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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

#[test]
fn a_session_is_recorded_while_the_recorder_is_there() {
    let server = Server::start();
    let user = User::of(&server);
    session(&user);
    // What the last hook had no time for.
    user.send();
    check_session(&server);
    let status = user.status();
    assert_eq!(
        (
            &status["backlog"]["records"],
            &status["last_send"]["refused"]
        ),
        (&json!(0), &json!(0))
    );
}

#[test]
fn what_was_spooled_while_the_recorder_was_away_arrives_once_it_is_back() {
    let mut user = User::alone();
    session(&user);
    let status = user.status();
    assert!(
        status["backlog"]["records"].as_u64().unwrap() > 15,
        "{status}"
    );
    assert!(
        status["last_send"]["error"]
            .as_str()
            .unwrap()
            .contains("no recorder at"),
        "{status}"
    );
    let text = user.run(&["hook", "status"]);
    assert!(
        text.contains("records wait in") && text.contains("installed  nowhere"),
        "{text}"
    );

    let server = Server::start();
    // Another recorder has another spool: what is meant for one does not reach another.
    let spool = PathBuf::from(status["spool"].as_str().unwrap());
    user.url = server.url.clone();
    user.key = server.key("write");
    let other = PathBuf::from(user.status()["spool"].as_str().unwrap());
    assert_ne!(spool, other);
    std::fs::remove_dir_all(&other).ok();
    std::fs::rename(&spool, &other).unwrap();
    let sent = user.send();
    assert_eq!(sent["refused"], 0, "{sent}");
    check_session(&server);
    assert_eq!(user.send()["delivered"], 0);
}

#[test]
fn a_hook_sends_what_earlier_ones_left() {
    let server = Server::start();
    let mut user = User::of(&server);
    // No time to send.
    user.send_ms = "0".to_owned();
    user.hook("SessionStart", json!({"source": "startup"}));
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    assert_eq!(user.status()["backlog"]["records"], 2);
    // However loaded the machine is that this runs on.
    user.send_ms = "1500".to_owned();
    let mut waiting = None;
    for number in 0..20 {
        user.hook("PreToolUse", call(&format!("call-{number}")));
        waiting = user.status()["backlog"]["records"].as_u64();
        if waiting == Some(0) {
            break;
        }
    }
    assert_eq!(waiting, Some(0), "{}", user.status());
    let all = recorded(&server, SESSION);
    assert_eq!(of(&all, "intent.declared")[0]["objective"], "Tidy.");
}

#[test]
fn an_agent_sees_nothing_whatever_is_wrong() {
    let user = User::alone();
    for payload in [
        &b""[..],
        b"not json",
        b"[]",
        b"{\"session_id\":\"s\"}",
        b"{\"session_id\":\"s1\",\"hook_event_name\":\"PreToolUse\",\"tool_input\":{\"a\":1,\"a\":1e999}}",
        &vec![b'{'; 1_000_000],
        &vec![b'x'; 17 * 1024 * 1024],
    ] {
        for program in ["claude", "codex", "gemini"] {
            silent(&user.raw(program, payload));
        }
    }
    // A folder that nothing can be made in, a recorder that makes no sense, no home at all.
    let without = |change: fn(&mut Command) -> &mut Command| {
        let mut command = user.command(&["hook", "claude"]);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        drop(
            child
                .stdin
                .take()
                .unwrap()
                .write_all(b"{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}"),
        );
        silent(&child.wait_with_output().unwrap());
    };
    without(|command| command.env("REMEMBRANCER_SPOOL", "/proc/nowhere"));
    without(|command| command.env("REMEMBRANCER_URL", "http://\u{7}::::/"));
    without(|command| command.env("REMEMBRANCER_KEY", "a\nb"));
    without(|command| command.env_remove("HOME"));
    for more in [
        &["--log", "debug"][..],
        &["--no-such-option"],
        &["more", "--help"],
    ] {
        let mut command = user.command(&["hook", "claude"]);
        silent(&command.args(more).stdin(Stdio::null()).output().unwrap());
    }
}

#[test]
fn what_could_not_be_spooled_is_told_as_a_gap() {
    let server = Server::start();
    let user = User::of(&server);
    user.hook("SessionStart", json!({"source": "startup"}));
    // No spool at all: a file stands where its folder should be.
    let blocked = user.path("blocked");
    std::fs::write(&blocked, "").unwrap();
    for _ in 0..3 {
        let mut command = user.command(&["hook", "claude"]);
        let mut child = command.env("REMEMBRANCER_SPOOL", &blocked).spawn().unwrap();
        let payload = json!({"session_id": "s1", "hook_event_name": "Stop"}).to_string();
        drop(child.stdin.take().unwrap().write_all(payload.as_bytes()));
        silent(&child.wait_with_output().unwrap());
    }
    silent(&user.raw("claude", b"no payload"));
    user.send();
    let all = recorded(&server, "claude-code-hooks:unread");
    let gaps = of(&all, "custom.gap");
    assert_eq!(
        gaps.iter()
            .map(|gap| gap["count"].as_u64().unwrap())
            .sum::<u64>(),
        4,
        "{gaps:?}"
    );
    assert_eq!(user.status()["backlog"]["lost"], 0);
}

#[test]
fn hooks_of_one_session_at_the_same_time_lose_nothing() {
    let server = Server::start();
    let user = User::of(&server);
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    std::thread::scope(|scope| {
        for number in 0..16 {
            let user = &user;
            scope.spawn(move || user.hook("PreToolUse", call(&format!("call-{number}"))));
        }
    });
    user.send();
    let all = recorded(&server, SESSION);
    let calls = of(&all, "tool.called");
    assert_eq!(calls.len(), 16);
    assert!(calls.iter().all(|call| call["turn"] == 1));
    assert_eq!(of(&all, "context.captured").len(), 1);
}

#[test]
fn a_transcript_path_that_leads_elsewhere_is_not_followed() {
    let server = Server::start();
    let user = User::of(&server);
    std::fs::write(user.path("secret.jsonl"), "secret").unwrap();
    let outside = user.path(".claude/projects/../../secret.jsonl");
    user.hook(
        "PreCompact",
        json!({"trigger": "auto", "transcript_path": outside}),
    );
    user.hook(
        "PreCompact",
        json!({"trigger": "auto", "transcript_path": "/dev/zero"}),
    );
    user.send();
    let all = recorded(&server, SESSION);
    assert!(of(&all, "artifact.changed").is_empty());
    let refused = of(&all, "custom.transcript_not_copied");
    assert_eq!(refused.len(), 2);
    assert!(
        refused[0]["reason"].as_str().unwrap().contains("outside"),
        "{refused:?}"
    );
}

#[test]
fn other_programs_hooks_are_recorded_too() {
    let server = Server::start();
    let user = User::of(&server);
    user.hook_of(
        "codex",
        "c1",
        "UserPromptSubmit",
        json!({"prompt": "Tidy.", "turn_id": "t", "model": "gpt"}),
    );
    user.hook_of("codex", "c1", "PreToolUse", json!({"turn_id": "t", "model": "gpt", "tool_name": "shell", "tool_use_id": "x", "tool_input": {}}));
    let request = json!({"model": "g", "messages": [{"role": "user", "content": "Tidy."}]});
    user.hook_of(
        "gemini",
        "g1",
        "BeforeModel",
        json!({"llm_request": request}),
    );
    user.send();
    assert_eq!(
        of(&recorded(&server, "codex-hooks:c1"), "tool.called").len(),
        1
    );
    let gemini = recorded(&server, "gemini-cli-hooks:g1");
    assert_eq!(
        of(&gemini, "context.captured")[0]["parts"][0]["text"],
        "Tidy."
    );
}

#[test]
fn installing_keeps_what_is_there_and_twice_is_once() {
    let user = User::alone();
    let settings = user.path(".claude/settings.json");
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  \
                  },\n  \"env\": {\"A\": \"1\"}\n}\n";
    std::fs::write(&settings, before).unwrap();
    let dry = user.run(&["hook", "install", "--dry-run"]);
    assert!(dry.contains("+ ") && dry.contains("hook claude"), "{dry}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);

    let said = user.run(&["hook", "install"]);
    assert!(
        said.contains("runs 16 hooks now") && said.contains("settings.json.before-remembrancer-1"),
        "{said}"
    );
    let after: Value = serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
    assert_eq!(
        (&after["model"], &after["env"]["A"]),
        (&json!("opus"), &json!("1"))
    );
    assert_eq!(after["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    let command = after["hooks"]["Stop"][1]["hooks"][0]["command"]
        .as_str()
        .unwrap();
    // As the agent runs it.
    let as_user = user.command(&[]);
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(
            as_user
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}")
        .unwrap();
    silent(&child.wait_with_output().unwrap());
    assert!(user.status()["backlog"]["records"].as_u64().unwrap() > 0);
    let copy = user.path(".claude/settings.json.before-remembrancer-1");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), before);

    let written = std::fs::read(&settings).unwrap();
    assert!(
        user.run(&["hook", "install"])
            .contains("has the hooks already")
    );
    assert_eq!(std::fs::read(&settings).unwrap(), written);
    let status = user.status();
    assert_eq!(status["installed"][0]["events"], 16, "{status}");
}

#[test]
fn installing_for_others_says_what_is_left_to_do() {
    let user = User::alone();
    let said = user.run(&["hook", "install", "--agent", "codex"]);
    assert!(said.contains("review the hooks and trust them"), "{said}");
    assert!(user.path(".codex/hooks.json").exists());
    user.run(&[
        "hook",
        "install",
        "--agent",
        "gemini",
        "--scope",
        "project",
        "--events",
        "BeforeModel,AfterTool",
    ]);
    let gemini: Value =
        serde_json::from_slice(&std::fs::read(user.path(".gemini/settings.json")).unwrap())
            .unwrap();
    assert_eq!(gemini["hooks"].as_object().unwrap().len(), 2);
    assert_eq!(
        gemini["hooks"]["BeforeModel"][0]["hooks"][0]["command"],
        "remembrancer hook gemini"
    );

    let refused = |arguments: &[&str]| {
        let output = user.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        refused(&["hook", "install", "--agent", "codex", "--scope", "local"])
            .contains("--scope user")
    );
    assert!(refused(&["hook", "install", "--events", "Nothing"]).contains("known events"));
    assert!(
        refused(&["hook", "install", "--url", "https://elsewhere"]).contains("on this machine")
    );
    std::fs::write(user.path("settings"), "{ // mine\n}").unwrap();
    std::fs::rename(user.path("settings"), user.path(".claude/settings.json")).unwrap();
    assert!(refused(&["hook", "install"]).contains("not a JSON object"));
}

#[test]
fn a_key_is_kept_for_the_user_alone_and_never_in_a_project() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let mut user = User::of(&server);
    let (key, url) = (std::mem::take(&mut user.key), std::mem::take(&mut user.url));
    std::fs::write(user.path("key"), format!("{key}\n")).unwrap();
    let said = user.run(&[
        "hook",
        "install",
        "--scope",
        "project",
        "--key-file",
        "key",
        "--url",
        &url,
    ]);
    assert!(!said.contains(&key));
    let kept = user.path(".config/remembrancer/hooks.json");
    assert_eq!(
        std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let settings = std::fs::read_to_string(user.path(".claude/settings.json")).unwrap();
    assert!(!settings.contains("rmb_"));
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    assert_eq!(user.send()["refused"], 0);
    assert_eq!(of(&recorded(&server, SESSION), "intent.declared").len(), 1);
    // A key that is no longer good keeps what is spooled.
    user.key = "rmb_write_default_nobody_nothing".to_owned();
    user.hook("Stop", json!({}));
    let failed = user.command(&["hook", "send"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(2));
    assert!(user.status()["backlog"]["records"].as_u64().unwrap() > 0);
}

#[test]
fn hooks_that_come_while_another_holds_the_session_are_recorded_by_the_next() {
    let server = Server::start();
    let user = User::of(&server);
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    let folder = PathBuf::from(user.status()["spool"].as_str().unwrap()).join("hook-sessions");
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "lock");
    let paths = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let lock = std::fs::File::open(paths.into_iter().find(is_lock).unwrap()).unwrap();
    lock.lock().unwrap();
    for id in ["a", "b"] {
        user.hook("PreToolUse", call(id));
    }
    lock.unlock().unwrap();
    user.hook("PreToolUse", call("c"));
    lock.lock().unwrap();
    user.hook("PreToolUse", call("d"));
    lock.unlock().unwrap();
    user.send();
    let all = recorded(&server, SESSION);
    let calls: Vec<_> = of(&all, "tool.called")
        .iter()
        .map(|call| call["call_id"].clone())
        .collect();
    assert_eq!(calls, ["a", "b", "c", "d"]);
    assert!(of(&all, "custom.gap").is_empty());
}

#[test]
fn a_large_transcript_keeps_nothing_behind_it_waiting() {
    let server = Server::start();
    let user = User::of(&server);
    let transcript = user.path(".claude/projects/-shop/s1.jsonl");
    let line = "{\"type\":\"user\"}\n";
    let lines = line.repeat(20 * 1024 * 1024 / line.len());
    std::fs::write(transcript, &lines).unwrap();
    user.hook("PreCompact", json!({"trigger": "auto"}));
    let mut waiting = None;
    // Hooks between a call and its result alone: none of them has the time for 20 MB.
    let until = Instant::now() + Duration::from_secs(60);
    for number in 0.. {
        user.hook("PreToolUse", call(&format!("call-{number}")));
        waiting = user.status()["backlog"]["records"].as_u64();
        if waiting.is_some_and(|records| records < 3) || Instant::now() > until {
            break;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    assert!(
        waiting.is_some_and(|records| records < 3),
        "{}",
        user.status()
    );
    let all = recorded(&server, SESSION);
    let changed = of(&all, "artifact.changed");
    assert_eq!(changed.len(), 1);
    assert!(!of(&all, "tool.called").is_empty());
}

#[test]
fn what_was_spooled_for_one_key_is_not_sent_with_another() {
    let server = Server::start();
    let mut user = User::of(&server);
    user.send_ms = "0".to_owned();
    user.hook("UserPromptSubmit", json!({"prompt": "For one project."}));
    let status = user.status();
    assert!(status["backlog"]["records"].as_u64().unwrap() > 0);
    let first = std::mem::replace(&mut user.key, server.key("write"));
    let other = user.status();
    assert_ne!(status["spool"], other["spool"]);
    assert_eq!(other["backlog"]["records"], 0);
    assert_eq!(user.send()["delivered"], 0);
    let secret = first.rsplit('_').next().unwrap();
    assert!(!status["spool"].as_str().unwrap().contains(secret));
    user.key = first;
    user.send();
    assert_eq!(of(&recorded(&server, SESSION), "intent.declared").len(), 1);
}

#[test]
fn a_session_whose_beginning_the_recorder_has_not_is_recorded_from_there() {
    let mut user = User::alone();
    user.send_ms = "0".to_owned();
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    let spool = PathBuf::from(user.status()["spool"].as_str().unwrap());
    for entry in std::fs::read_dir(&spool).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "segment") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let server = Server::start();
    user.url = server.url.clone();
    user.key = server.key("write");
    let other = PathBuf::from(user.status()["spool"].as_str().unwrap());
    std::fs::remove_dir_all(&other).ok();
    std::fs::rename(&spool, &other).unwrap();
    for id in ["a", "b"] {
        user.hook("PreToolUse", call(id));
    }
    assert_eq!(user.send()["refused"], 0);
    let all = recorded(&server, SESSION);
    assert_eq!(of(&all, "tool.called").len(), 2);
    assert_eq!(of(&all, "session.started").len(), 1);
    assert!(of(&all, "custom.gap").is_empty(), "{all:?}");
}

#[test]
fn what_is_known_of_sessions_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::alone();
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    let folder = PathBuf::from(user.status()["spool"].as_str().unwrap()).join("hook-sessions");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
}

#[test]
fn a_recorder_that_never_answers_does_not_hold_a_hook_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut user = User::new(
        &format!("http://{}", listener.local_addr().unwrap()),
        "rmb_write_default_0_0",
    );
    user.send_ms = "300".to_owned();
    let started = Instant::now();
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    // Far from the seconds that whatever waits for an answer would wait; benches/hooks.py measures.
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    let status = user.status();
    assert!(
        status["last_send"]["error"]
            .as_str()
            .unwrap()
            .contains("in time"),
        "{status}"
    );
    assert_eq!(status["backlog"]["records"], 2);
    assert!(Path::new(user.status()["spool"].as_str().unwrap()).exists());
}
