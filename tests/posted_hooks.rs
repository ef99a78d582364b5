//! `POST /hooks/claude`: an agent reads a body into its context or as a decision, so there is never one.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::support::Server;

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
