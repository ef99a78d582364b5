//! Whatever is wrong with what a client sends has its own problem type, nothing of it is stored, and the rest of a batch is.

use serde_json::{Value, json};

use crate::support::{ADMIN_SESSION, Server};

fn event(id: &str, kind: &str, data: &Value) -> Value {
    json!({ "id": id, "session": "run", "type": kind, "data": data })
}

fn started() -> Value {
    event("e0", "session.started", &json!({ "label": "bad input" }))
}

/// Number of entries that agents made.
fn size(server: &Server, key: &str) -> u64 {
    let page = server.get(key, "/v1/sessions");
    let sessions = page["items"].as_array().expect("a page has items").clone();
    sessions
        .iter()
        .filter(|session| session["id"] != ADMIN_SESSION)
        .map(|session| session["entries"].as_u64().unwrap())
        .sum()
}

#[test]
fn each_single_fault_has_its_own_problem_and_stores_nothing() {
    let server = Server::start();
    let (write, read) = (server.key("write"), server.key("read"));
    assert_eq!(server.post(&write, &started()).status, 201);
    let note = |id: &str| event(id, "custom.note", &json!({ "text": "x" }));
    assert_eq!(server.post(&write, &note("e1")).status, 201);
    let stored = size(&server, &read);
    assert_eq!(stored, 2);

    let raw = |body: &str| {
        server.send(
            "POST",
            "/v1/events",
            Some(&write),
            "application/json",
            body.as_bytes(),
        )
    };
    let data =
        |data: &str| format!(r#"{{"id":"x","session":"run","type":"custom.note","data":{data}}}"#);
    let large = data(&format!(r#"{{"text":"{}"}}"#, "x".repeat(300 * 1024)));
    let faults = [
        (raw("{\"id\":"), 400, "not-json"),
        (raw(&data(r#"{"a":1,"a":2}"#)), 400, "not-i-json#duplicate-name"),
        (raw(&data(r#"{"n":9007199254740993}"#)), 400, "not-i-json#number-out-of-range"),
        (raw(&data(r#"{"s":"\ud800"}"#)), 400, "not-i-json#lone-surrogate"),
        (server.post(&write, &event("x", "tool.called", &json!({ "turn": "one" }))), 422, "invalid-event"),
        (server.post(&write, &event("x", "tool.invented", &json!({}))), 422, "unknown-type"),
        (
            server.post(&write, &json!({ "id": "x", "session": "never-started", "type": "custom.note", "data": {} })),
            409,
            "unknown-session",
        ),
        (raw(&large), 413, "event-too-large"),
        (server.post(&write, &event("e1", "custom.note", &json!({ "text": "y" }))), 409, "id-conflict"),
        (server.send("POST", "/v1/events", None, "application/json", b"{}"), 401, "unauthorized"),
        (server.post(&read, &note("x")), 403, "forbidden"),
        (server.send("GET", "/v1/sessions", Some(&write), "", b""), 403, "forbidden"),
        (
            server.send("PUT", &format!("/v1/blobs/{}", "0".repeat(64)), Some(&write), "application/octet-stream", b"x"),
            422,
            "blob-hash-mismatch",
        ),
    ];
    for (answer, status, slug) in &faults {
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (*status, *slug),
            "{answer:?}"
        );
        assert!(
            answer.json()["detail"]
                .as_str()
                .is_some_and(|detail| !detail.is_empty()),
            "{answer:?}"
        );
    }
    assert_eq!(
        size(&server, &read),
        stored,
        "nothing was stored for any of them"
    );
    assert_eq!(
        server.post(&write, &note("e1")).status,
        200,
        "the same event again is a duplicate"
    );
    assert_eq!(size(&server, &read), stored);
}

#[test]
fn a_batch_loses_only_what_is_wrong_with_it() {
    let server = Server::start();
    let (write, read) = (server.key("write"), server.key("read"));
    let batch = json!([
        started(),
        event("e1", "custom.note", &json!({})),
        event("e2", "tool.invented", &json!({})),
        event("e3", "custom.note", &json!({ "n": 1 })),
        event("e1", "custom.note", &json!({ "other": true })),
        event("e1", "custom.note", &json!({})),
    ]);
    let answer = server.post(&write, &batch);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let results = answer["results"].as_array().unwrap();
    let statuses: Vec<&str> = results
        .iter()
        .map(|result| result["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "recorded",
            "recorded",
            "rejected",
            "recorded",
            "rejected",
            "duplicate"
        ]
    );
    assert_eq!(results[5]["index"], results[1]["index"]);
    assert_eq!(size(&server, &read), 3);

    let lines = "{\"id\":\"n1\",\"session\":\"run\",\"type\":\"custom.note\",\"data\":{}}\nnonsense\n\
                 {\"id\":\"n2\",\"session\":\"run\",\"type\":\"custom.note\",\"data\":{\"a\":1,\"a\":1}}\n\
                 {\"id\":\"n3\",\"session\":\"run\",\"type\":\"custom.note\",\"data\":{}}\n";
    let answer = server
        .send(
            "POST",
            "/v1/events",
            Some(&write),
            "application/x-ndjson",
            lines.as_bytes(),
        )
        .json();
    let problems: Vec<Option<String>> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result.get("problem").map(crate::support::problem_slug))
        .collect();
    assert_eq!(
        problems,
        [
            None,
            Some("not-json".to_owned()),
            Some("not-i-json#duplicate-name".to_owned()),
            None
        ]
    );
    assert_eq!(size(&server, &read), 5);
}
