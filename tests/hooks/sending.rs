//! What hooks spool reaches the recorder: at once, later, by another hook, and only the one that it is meant for.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{SESSION, User, call, check_session, of, recorded, session};
use crate::support::Server;

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
