//! What the agent sees of a hook, and whom it lets see what: nothing, whatever is wrong.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{SESSION, User, of, recorded, silent};
use crate::support::Server;

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
fn what_is_known_of_sessions_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::alone();
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    let folder = PathBuf::from(user.status()["spool"].as_str().unwrap()).join("hook-sessions");
    let spool = folder.parent().unwrap().to_owned();
    let files = || -> Vec<PathBuf> {
        let entries = [&folder, &spool].map(|folder| std::fs::read_dir(folder).unwrap());
        let paths = entries.into_iter().flatten();
        paths.map(|entry| entry.unwrap().path()).collect()
    };
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let all_private = || {
        let (folders, files): (Vec<_>, Vec<_>) =
            files().into_iter().partition(|path| path.is_dir());
        assert!(folders.len() == 1 && files.len() >= 6, "{files:?}");
        for folder in folders.iter().chain([&spool]) {
            assert_eq!(mode(folder), 0o700, "{folder:?}");
        }
        for file in files {
            assert_eq!(mode(&file), 0o600, "{file:?}");
        }
    };
    all_private();
    // As a copy or another program leaves them.
    let set = |path: &Path, mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, rights).unwrap();
    };
    set(&spool, 0o755);
    for path in files() {
        set(&path, if path.is_dir() { 0o755 } else { 0o644 });
    }
    // The recorder is not left alone after the last failure, so that everything is used.
    std::fs::remove_file(folder.join("last-send.json")).unwrap();
    user.hook("Stop", json!({}));
    all_private();
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
