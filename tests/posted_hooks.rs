//! `POST /hooks/claude`: an agent reads a body into its context or as a decision, so there is never one.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::process::{Process, Setup, data_in};

/// A hook that the route takes.
const GOOD: &[u8] = br#"{"session_id":"s1","hook_event_name":"Stop"}"#;

/// Posts a hook and returns the status; nothing else may come back.
fn post(server: &Server, key: Option<&str>, media: &str, body: &[u8]) -> u16 {
    let answer = server.send("POST", "/hooks/claude", key, media, body);
    assert_eq!(
        (answer.body.as_str(), answer.content_type.as_str()),
        ("", ""),
        "{answer:?}"
    );
    answer.status
}

/// Posts a hook with further headers; the status line and the headers in lower case. Nothing may come behind them.
fn post_raw(url: &str, key: &str, headers: &str, body: &[u8]) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /hooks/claude HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\
         {headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap().to_lowercase();
    assert!(answer.ends_with("\r\n\r\n"), "a body: {answer}");
    assert_eq!(answer.matches("\r\n\r\n").count(), 1, "a body: {answer}");
    for header in ["content-type:", "transfer-encoding:"] {
        assert!(!answer.contains(header), "{answer}");
    }
    answer
}

/// Announces a body and sends none of it; the whole answer.
fn announced(server: &Server, key: &str, bytes: usize) -> String {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /hooks/claude HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn hook(server: &Server, key: &str, event: &str, fields: Value) -> u16 {
    let mut payload = json!({"session_id": "s1", "hook_event_name": event, "cwd": "/", "transcript_path": "/etc/passwd"});
    payload
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    post(
        server,
        Some(key),
        "application/json",
        payload.to_string().as_bytes(),
    )
}

fn kinds(server: &Server) -> Vec<String> {
    let entries = server.get(
        &server.key("read"),
        "/v1/sessions/claude-code-hooks:s1/entries?limit=500",
    );
    let items = entries["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            item["entry"]["type"]
                .as_str()
                .unwrap_or_else(|| panic!("{item}"))
                .to_owned()
        })
        .collect()
}

#[test]
fn posted_hooks_are_recorded_and_a_restart_in_between_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let call =
        |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": id}});
    let key = {
        let server = Server::start_on(&data);
        let key = server.key("write");
        assert_eq!(
            hook(&server, &key, "SessionStart", json!({"source": "startup"})),
            204
        );
        assert_eq!(
            hook(
                &server,
                &key,
                "UserPromptSubmit",
                json!({"prompt": "Tidy."})
            ),
            204
        );
        assert_eq!(hook(&server, &key, "PreToolUse", call("a")), 204);
        key
    };
    let server = Server::start_on(&data);
    assert_eq!(hook(&server, &key, "PostToolUse", call("a")), 204);
    assert_eq!(
        hook(
            &server,
            &key,
            "PostToolBatch",
            json!({"tool_calls": [call("a")]})
        ),
        204
    );
    assert_eq!(hook(&server, &key, "PreToolUse", call("b")), 204);
    assert_eq!(
        hook(&server, &key, "SessionEnd", json!({"reason": "other"})),
        204
    );
    let expected = [
        "session.started",
        "intent.declared",
        "context.captured",
        "tool.called",
        "tool.returned",
        "context.captured",
        "tool.called",
        "session.ended",
    ];
    assert_eq!(kinds(&server), expected);
    let presence = server.get(
        &server.key("read"),
        "/v1/sessions/claude-code-hooks:s1/presence",
    );
    assert_eq!(
        presence["turns"].as_array().map(Vec::len),
        Some(2),
        "{presence}"
    );
}

#[test]
fn a_hook_whose_event_is_rejected_is_refused_and_the_next_is_recorded() {
    let server = Server::start();
    let key = server.key("write");
    let call = |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {}});
    assert_eq!(hook(&server, &key, "PreToolUse", call("a")), 204);
    // Somebody else ends the session.
    let ended = json!([{"id": "end", "session": "claude-code-hooks:s1", "type": "session.ended", "data": {"status": "completed"}}]);
    let ended = ended.to_string();
    let answer = server.send(
        "POST",
        "/v1/events",
        Some(&key),
        "application/json",
        ended.as_bytes(),
    );
    assert!(answer.body.contains("recorded"), "{answer:?}");
    assert_eq!(hook(&server, &key, "PreToolUse", call("b")), 422);
    assert_eq!(hook(&server, &key, "PreToolUse", call("c")), 204);
    let run = "/v1/sessions/claude-code-hooks:s1:run-2/entries?limit=500";
    let entries = server.get(&server.key("read"), run).to_string();
    assert!(entries.contains("tool.called"), "{entries}");
}

#[test]
fn another_method_is_refused_without_a_body_too() {
    let server = Server::start();
    for (method, role) in [("GET", "read"), ("PUT", "write"), ("DELETE", "write")] {
        let key = server.key(role);
        let answer = server.send(method, "/hooks/claude", Some(&key), "application/json", b"");
        assert_eq!((answer.status, answer.body.as_str()), (405, ""), "{method}");
    }
}

#[test]
fn a_refusal_has_its_status_and_no_body() {
    let server = Server::start();
    let (write, read) = (server.key("write"), server.key("read"));
    let good = json!({"session_id": "s1", "hook_event_name": "Stop"}).to_string();
    let json = "application/json";
    assert_eq!(post(&server, None, json, good.as_bytes()), 401);
    assert_eq!(
        post(
            &server,
            Some("rmb_write_default_x_y"),
            json,
            good.as_bytes()
        ),
        401
    );
    assert_eq!(post(&server, Some(&read), json, good.as_bytes()), 403);
    assert_eq!(post(&server, Some(&write), json, b"not json"), 400);
    let refused = announced(&server, &write, 20 * 1024 * 1024);
    assert!(
        refused.starts_with("HTTP/1.1 413") && refused.ends_with("\r\n\r\n"),
        "{refused}"
    );
    assert_eq!(post(&server, Some(&write), json, good.as_bytes()), 204);
    let wrong_method = server.send("PUT", "/hooks/claude", Some(&write), json, good.as_bytes());
    assert_eq!(wrong_method.status, 405);
}

#[test]
fn posted_hooks_of_one_session_at_the_same_time_lose_nothing() {
    let server = Server::start();
    let key = server.key("write");
    assert_eq!(
        hook(
            &server,
            &key,
            "UserPromptSubmit",
            json!({"prompt": "Tidy."})
        ),
        204
    );
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (server, key) = (&server, &key);
            scope.spawn(move || {
                let fields = json!({"tool_name": "Bash", "tool_use_id": format!("c{number}"), "tool_input": {}});
                assert_eq!(hook(server, key, "PreToolUse", fields), 204);
            });
        }
    });
    let all = kinds(&server);
    assert_eq!(all.iter().filter(|kind| *kind == "tool.called").count(), 16);
    assert_eq!(
        all.iter()
            .filter(|kind| *kind == "context.captured")
            .count(),
        1
    );
}

#[test]
fn a_body_that_is_packed_as_nobody_can_unpack_it_is_refused_without_a_body() {
    let server = Server::start();
    let key = server.key("write");
    let json = "content-type: application/json\r\n";
    let packed = format!("{json}content-encoding: br\r\n");
    let refused = post_raw(&server.url, &key, &packed, GOOD);
    assert!(refused.starts_with("http/1.1 415"), "{refused}");
    let broken = format!("{json}content-encoding: gzip\r\n");
    let refused = post_raw(&server.url, &key, &broken, b"no gzip");
    assert!(refused.starts_with("http/1.1 400"), "{refused}");
    // What stands in the media type is not asked: a payload is told by what it is.
    for media in ["", "content-type: text/plain\r\n"] {
        let taken = post_raw(&server.url, &key, media, GOOD);
        assert!(taken.starts_with("http/1.1 204"), "{media}: {taken}");
        let refused = post_raw(&server.url, &key, media, b"<html>");
        assert!(refused.starts_with("http/1.1 400"), "{media}: {refused}");
    }
}

#[test]
fn more_hooks_than_a_key_may_send_are_refused_without_a_body() {
    let limits = ["key_requests_per_second_max=1", "key_requests_burst_max=3"];
    let server = Server::with(&["--limit", limits[0], "--limit", limits[1]]);
    let key = server.key("write");
    let json = "content-type: application/json\r\n";
    let answers: Vec<String> = (0..8)
        .map(|_| post_raw(&server.url, &key, json, GOOD))
        .collect();
    assert!(answers[0].starts_with("http/1.1 204"), "{answers:?}");
    let refused: Vec<&String> = answers
        .iter()
        .filter(|answer| !answer.starts_with("http/1.1 204"))
        .collect();
    assert!(!refused.is_empty(), "the limit was never met: {answers:?}");
    for refused in refused {
        assert!(refused.starts_with("http/1.1 429"), "{refused}");
        assert!(refused.contains("\r\nretry-after: "), "{refused}");
    }
}

#[test]
fn a_hook_on_a_connection_too_many_is_refused_without_a_body() {
    let server = Server::with(&["--limit", "connections_max=1"]);
    let key = server.key("write");
    let address = server.url.strip_prefix("http://").unwrap();
    let _held = std::net::TcpStream::connect(address).unwrap();
    let json = "content-type: application/json\r\n";
    let refused = post_raw(&server.url, &key, json, GOOD);
    assert!(refused.starts_with("http/1.1 503"), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
}

#[test]
fn a_hook_that_cannot_be_written_is_refused_without_a_body_and_the_next_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_in(&folder);
    // The signal that comes with the error is ignored, as a service manager's limit on file sizes would have it.
    let setup = Setup::in_folder(&data).wrapped(["sh", "-c", r#"trap "" XFSZ; exec "$0" "$@""#]);
    let process = setup.start();
    let key = setup.key("write");
    let json = "content-type: application/json\r\n";
    let call = |id: &str| {
        let payload = json!({"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_use_id": id, "tool_input": {"command": "x".repeat(100_000)}});
        post_raw(&process.url, &key, json, payload.to_string().as_bytes())
    };
    let taken = call("a");
    assert!(taken.starts_with("http/1.1 204"), "{taken}");
    limit_file_size(&process, "8192");
    let refused = call("b");
    assert!(refused.starts_with("http/1.1 503"), "{refused}");
    assert!(refused.contains("\r\nretry-after: "), "{refused}");
    limit_file_size(&process, "unlimited");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut again = call("b");
    while !again.starts_with("http/1.1 204") && std::time::Instant::now() < until {
        assert!(again.starts_with("http/1.1 503"), "{again}");
        std::thread::sleep(std::time::Duration::from_millis(100));
        again = call("b");
    }
    assert!(again.starts_with("http/1.1 204"), "{again}");
}

/// Sets how large a file of a running recorder may grow, as a full disk would.
fn limit_file_size(process: &Process, bytes: &str) {
    let id = process.id().to_string();
    let output = std::process::Command::new("prlimit")
        .args(["--pid", &id, &format!("--fsize={bytes}:unlimited")])
        .output()
        .expect("prlimit runs");
    assert!(output.status.success(), "{output:?}");
}
