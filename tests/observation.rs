//! What a server tells about itself: counters for those who may read them, and a log without what it must not hold.

use serde_json::{Value, json};

use crate::support::Server;

const TEXT: &str = "a-text-that-nobody-may-log";

/// Sends what fails in many ways, each with the text in it, and what succeeds.
fn send_all_kinds(server: &Server, write: &str, read: &str) {
    let started = json!({ "id": "0", "session": "watched", "type": "session.started", "data": { "label": TEXT } });
    assert_eq!(server.post(write, &started).status, 201);
    let note =
        json!({ "id": "1", "session": "watched", "type": "custom.note", "data": { "text": TEXT } });
    assert_eq!(server.post(write, &json!([note, note])).status, 200);
    for (media, body) in [
        ("application/json", format!("{{\"{TEXT}\":")),
        (
            "application/json",
            json!({ "id": TEXT, "session": TEXT, "type": TEXT, "data": {} }).to_string(),
        ),
        (
            "application/json",
            json!({ "id": "2", "session": TEXT, "type": "custom.note", "data": {} }).to_string(),
        ),
        ("application/json", format!("{{\"{TEXT}\":1,\"{TEXT}\":2}}")),
        ("application/x-ndjson", format!("{TEXT}\n{TEXT}")),
        (TEXT, TEXT.to_owned()),
    ] {
        let status = server
            .send("POST", "/v1/events", Some(write), media, body.as_bytes())
            .status;
        assert!((200..500).contains(&status), "{status} {body}");
    }
    for path in [
        format!("/v1/sessions/{TEXT}"),
        format!("/v1/sessions?after={TEXT}"),
        format!("/v1/blobs/{TEXT}"),
        format!("/{TEXT}?{TEXT}={TEXT}"),
        "/v1/sessions/watched/entries".to_owned(),
        "/v1/sessions/watched/presence".to_owned(),
    ] {
        server.send("GET", &path, Some(read), "", b"");
    }
    let wrong = format!("{read}x");
    assert_eq!(
        server
            .send("GET", "/v1/sessions", Some(&wrong), "", b"")
            .status,
        401
    );
    assert_eq!(
        server
            .send("GET", "/v1/sessions", Some(write), "", b"")
            .status,
        403
    );
    let login = format!("token={read}&next=%2F{TEXT}");
    server.send(
        "POST",
        "/login",
        None,
        "application/x-www-form-urlencoded",
        login.as_bytes(),
    );
}

#[test]
fn the_log_at_its_most_talkative_holds_no_key_and_no_text() {
    for format in ["text", "json"] {
        let server = Server::with(&["--log", "trace", "--log-format", format]);
        let (write, read) = (server.key("write"), server.key("read"));
        send_all_kinds(&server, &write, &read);
        let log = server.log();
        assert!(
            log.contains("/v1/sessions/{session}"),
            "no request was logged:\n{log}"
        );
        let secret = |key: &str| key.rsplit('_').next().unwrap().to_owned();
        for forbidden in [
            &write,
            &read,
            &secret(&write),
            &secret(&read),
            &TEXT.to_owned(),
        ] {
            let line = log.lines().find(|line| line.contains(forbidden.as_str()));
            assert_eq!(line, None, "{forbidden}");
        }
        for line in log.lines().filter(|_| format == "json") {
            let value: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(value.is_object(), "{line}");
        }
    }
}

#[test]
fn a_request_is_one_line_of_log() {
    let server = Server::with(&["--log", "info", "--log-format", "json"]);
    let write = server.key("write");
    let started = json!({ "id": "0", "session": "s", "type": "session.started", "data": {} });
    assert_eq!(server.post(&write, &started).status, 201);
    assert_eq!(server.post(&write, &json!({})).status, 422);
    let log = server.log();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .filter(|line: &Value| line["message"] == "request")
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    let line = &lines[0];
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["method"], "POST");
    assert_eq!(line["route"], "/v1/events");
    assert_eq!(line["status"], 201);
    assert_eq!(line["bytes_in"], started.to_string().len());
    assert!(line["milliseconds"].as_f64().unwrap() > 0.0, "{line}");
    assert!(line["bytes_out"].as_u64().unwrap() > 100, "{line}");
    assert_eq!(lines[1]["problem"], "invalid-event");
    let id = write.split('_').rev().nth(1).expect("a key has parts");
    assert_eq!(line["key"], id, "{write}");
}

#[test]
fn counters_are_for_those_who_may_read_them() {
    let get = |server: &Server, key: Option<&str>| server.send("GET", "/metrics", key, "", b"");
    let server = Server::with(&[]);
    let (write, read) = (server.key("write"), server.key("read"));
    assert_eq!(get(&server, None).status, 401);
    assert_eq!(get(&server, Some(&write)).status, 403);
    let events = json!([
        { "id": "0", "session": "s", "type": "session.started", "data": {} },
        { "id": "0", "session": "s", "type": "session.started", "data": {} },
        { "id": "1", "session": "never", "type": "custom.x", "data": {} },
        { "id": "1" },
    ]);
    assert_eq!(server.post(&write, &events).status, 200);
    let answer = get(&server, Some(&read));
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.content_type,
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for line in [
        "remembrancer_events_total{workspace=\"default\",outcome=\"recorded\"} 1",
        "remembrancer_events_total{workspace=\"default\",outcome=\"duplicate\"} 1",
        "remembrancer_events_rejected_total{workspace=\"default\",problem=\"unknown-session\"} 1",
        "remembrancer_events_rejected_total{workspace=\"default\",problem=\"invalid-event\"} 1",
        "remembrancer_http_requests_total{method=\"POST\",route=\"/v1/events\",status=\"200\"} 1",
        "remembrancer_http_requests_total{method=\"GET\",route=\"/metrics\",status=\"401\"} 1",
        "remembrancer_queue_requests{workspace=\"default\"} 0",
        "remembrancer_queue_bytes{workspace=\"default\"} 0",
        "remembrancer_connections 1",
    ] {
        assert!(
            answer.body.lines().any(|found| found == line),
            "{line}\n{}",
            answer.body
        );
    }
    let value = |name: &str| -> u64 {
        let beginning = format!("remembrancer_{name}{{workspace=\"default\"}} ");
        let found = answer
            .body
            .lines()
            .find_map(|line| line.strip_prefix(&beginning));
        found.expect(name).parse().expect("a whole number")
    };
    // What was done with keys is in the ledger as well.
    let sessions = crate::support::json(&["sessions", "--data", server.data.to_str().unwrap()]);
    let sessions = sessions.as_array().unwrap().iter();
    let entries: u64 = sessions
        .map(|session| session["entries"].as_u64().unwrap())
        .sum();
    assert_eq!(value("ledger_entries"), entries);
    assert_eq!(value("checkpoint_entries"), entries);
    assert!(value("group_events_count") >= 1);
    assert!(value("commit_seconds_count") >= 1);
    let server = Server::with(&["--metrics", "loopback"]);
    assert_eq!(get(&server, None).status, 200);
    let forwarded = ureq::get(format!("{}/metrics", server.url))
        .config()
        .http_status_as_error(false)
        .build()
        .header("x-forwarded-for", "192.0.2.1")
        .call()
        .expect("an answer");
    assert_eq!(forwarded.status(), 403);
    let server = Server::with(&["--metrics", "open"]);
    assert_eq!(get(&server, None).status, 200);
}
