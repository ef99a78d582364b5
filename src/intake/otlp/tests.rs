//! The intake of traces over a real ledger and its API.

use std::path::Path;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use remembrancer_recorder::{ApiState, Ledger, LedgerOptions, Limits, Role, create_token};
use remembrancer_schema::Payload;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

struct Server {
    folder: tempfile::TempDir,
    ledger: Ledger,
    router: Router,
    write: String,
    read: String,
}

impl Server {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = open(folder.path()).await;
        let key = async |role| {
            let made = create_token(folder.path(), role, "test").await;
            made.expect("makes").token
        };
        let (write, read) = (key(Role::Write).await, key(Role::Read).await);
        Self {
            router: router(&ledger),
            folder,
            ledger,
            write,
            read,
        }
    }

    /// The same server after a restart, which knows nothing but its ledger.
    async fn restarted(self) -> Self {
        self.ledger.close().await;
        let ledger = open(self.folder.path()).await;
        Self {
            router: router(&ledger),
            ledger,
            ..self
        }
    }

    async fn send(&self, method: Method, path: &str, key: &str, body: String) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(Body::from(body))
            .expect("valid");
        let response = self.router.clone().oneshot(request).await.expect("answers");
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await;
        let body = serde_json::from_slice(&body.expect("a body")).expect("JSON");
        (status, body)
    }

    async fn traces(&self, spans: &[Value]) -> Value {
        let body = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": spans }] }] });
        let (status, told) = self
            .send(Method::POST, PATH, &self.write, body.to_string())
            .await;
        assert_eq!(status, 200, "{told}");
        told
    }

    async fn session(&self, id: &str) -> Value {
        let path = format!("/v1/sessions/{id}");
        let (status, session) = self
            .send(Method::GET, &path, &self.read, String::new())
            .await;
        assert_eq!(status, 200, "{session}");
        session
    }
}

impl Server {
    /// The turns of a session at which a change of its context was declared or found.
    async fn mutations(&self, session: &str) -> Vec<u64> {
        let path = format!("/v1/sessions/{session}/mutations");
        let (status, told) = self
            .send(Method::GET, &path, &self.read, String::new())
            .await;
        assert_eq!(status, 200, "{told}");
        let all = told.as_array().or_else(|| told["items"].as_array());
        let turns = all.expect("a list").iter();
        turns
            .map(|one| one["turn"].as_u64().expect("a turn"))
            .collect()
    }
}

async fn open(folder: &Path) -> Ledger {
    let opened = Ledger::open(LedgerOptions::new(folder)).await;
    opened.expect("opens")
}

fn router(ledger: &Ledger) -> Router {
    let state = ApiState::without_bundles(ledger.clone())
        .with_limits(Limits::default())
        .with_intake(PATH, Arc::new(Otlp::new()));
    remembrancer_recorder::router(state)
}

fn attributes(conversation: &str, agent: &str, operation: &str) -> Vec<Value> {
    let attribute = |key: &str, text: &str| json!({ "key": key, "value": { "stringValue": text } });
    vec![
        attribute("gen_ai.operation.name", operation),
        attribute("gen_ai.conversation.id", conversation),
        attribute("gen_ai.agent.name", agent),
    ]
}

/// A request to a model whose answer calls a tool.
fn chat(number: u8, conversation: &str, agent: &str, text: &str) -> Value {
    let mut attributes = attributes(conversation, agent, "chat");
    let input = json!([{ "role": "user", "parts": [{ "type": "text", "content": text }] }]);
    let call = json!({ "type": "tool_call", "id": format!("c{number}"), "name": "delegate", "arguments": {} });
    let output = json!([{ "role": "assistant", "parts": [call] }]);
    for (key, value) in [
        ("gen_ai.input.messages", input),
        ("gen_ai.output.messages", output),
    ] {
        let value = json!({ "stringValue": value.to_string() });
        attributes.push(json!({ "key": key, "value": value }));
    }
    json!({
        "traceId": "07".repeat(16),
        "spanId": format!("{number:02x}").repeat(8),
        "name": "chat",
        "startTimeUnixNano": (1_796_000_000_000_000_000 + u64::from(number) * 1_000_000_000).to_string(),
        "endTimeUnixNano": (1_796_000_000_500_000_000 + u64::from(number) * 1_000_000_000).to_string(),
        "attributes": attributes,
    })
}

#[tokio::test]
async fn a_sub_agent_that_starts_in_a_later_request_knows_the_call_that_started_it() {
    let server = Server::new().await;
    server.traces(&[chat(1, "talk", "main", "go")]).await;
    server.traces(&[chat(2, "sub", "helper", "sub task")]).await;
    assert_eq!(server.session("sub").await["parent"], "talk");
    // Now two calls are open somewhere, but this session's are not: another trace is nobody's child.
    let mut alone = chat(3, "alone", "main", "go");
    alone["traceId"] = json!("08".repeat(16));
    server.traces(&[alone]).await;
    assert_eq!(server.session("alone").await["parent"], Value::Null);
    // An agent that shares the conversation has a session under it.
    server.traces(&[chat(4, "talk", "other", "go")]).await;
    assert_eq!(server.session("talk:agent:other").await["parent"], "talk");
    assert_eq!(server.session("talk").await["turns"], 1);
}

#[tokio::test]
async fn what_is_sent_again_after_a_restart_adds_nothing() {
    let server = Server::new().await;
    let spans = [
        chat(1, "talk", "main", "go"),
        chat(2, "talk", "main", "again"),
        chat(3, "talk", "other", "x"),
    ];
    server.traces(&spans).await;
    let before = server.session("talk").await;
    let server = server.restarted().await;
    server.traces(&spans).await;
    assert_eq!(server.session("talk").await, before);
    assert_eq!(server.session("talk:agent:other").await["entries"], 4);
    server.traces(&[chat(5, "talk", "main", "more")]).await;
    let session = server.session("talk").await;
    assert_eq!(
        (&session["turns"], &session["actions"]),
        (&json!(3), &json!(3))
    );
}

#[tokio::test]
async fn spans_of_a_session_that_has_ended_are_rejected_and_kept_once() {
    let server = Server::new().await;
    server.traces(&[chat(1, "talk", "main", "go")]).await;
    let end = r#"{"id":"end","session":"talk","type":"session.ended","data":{}}"#;
    let (status, _) = server
        .send(Method::POST, "/v1/events", &server.write, end.to_owned())
        .await;
    assert_eq!(status, 201);
    for _ in 0..2 {
        let mixed = [
            chat(2, "talk", "main", "late"),
            chat(3, "next", "main", "go"),
        ];
        let told = server.traces(&mixed).await;
        assert_eq!(told["partialSuccess"]["rejectedSpans"], "1");
        let message = told["partialSuccess"]["errorMessage"].as_str();
        assert!(
            message.is_some_and(|told| told.contains("has ended")),
            "{told}"
        );
    }
    assert_eq!(server.session("next").await["turns"], 1);
    let kept = server.session(REJECTED_SESSION).await;
    assert_eq!(kept["entries"], 2, "a start and one list: {kept}");
}

#[tokio::test]
async fn batches_for_one_conversation_at_the_same_time_number_its_turns_once() {
    let server = Server::new().await;
    let spans: Vec<[Value; 1]> = (1..=12)
        .map(|number| [chat(number, "talk", "main", &format!("text {number}"))])
        .collect();
    let all = spans.iter().map(|span| server.traces(span));
    futures_util::future::join_all(all).await;
    let reader = server.ledger.reader();
    let session: SessionId = "talk".parse().expect("an id");
    let record = reader.session_record(&session).await.expect("reads");
    let mut turns: Vec<u32> = record
        .events
        .iter()
        .filter_map(|event| match event.read() {
            Some(Payload::ModelResponded(responded)) => Some(responded.turn),
            _ => None,
        })
        .collect();
    turns.sort_unstable();
    assert_eq!(turns, (1..=12).collect::<Vec<u32>>());
}

/// A request to a model under instructions, that was in flight from one second to another.
fn asked(number: u8, seconds: (u64, u64), instructions: &str, texts: &[&str]) -> Value {
    let mut span = chat(number, "talk", "main", "");
    let input: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "role": "user", "parts": [{ "type": "text", "content": text }] }))
        .collect();
    let instructions = json!([{ "type": "text", "content": instructions }]);
    let attributes = span["attributes"].as_array_mut().expect("a list");
    attributes.retain(|one| one["key"] != "gen_ai.input.messages");
    for (key, value) in [
        ("gen_ai.input.messages", json!(input)),
        ("gen_ai.system_instructions", instructions),
    ] {
        attributes.push(json!({ "key": key, "value": { "stringValue": value.to_string() } }));
    }
    let nanoseconds = |second: u64| (1_796_000_000 + second) * 1_000_000_000;
    span["startTimeUnixNano"] = json!(nanoseconds(seconds.0).to_string());
    span["endTimeUnixNano"] = json!((nanoseconds(seconds.1) - 1).to_string());
    span
}

fn flagged(mut span: Value) -> Value {
    let flag = json!({ "key": "gen_ai.conversation.compacted", "value": { "boolValue": true } });
    let attributes = span["attributes"].as_array_mut().expect("a list");
    attributes.push(flag);
    span
}

#[tokio::test]
async fn branches_and_the_flag_of_a_compaction_are_the_same_over_restarts() {
    let batches = || {
        [
            vec![asked(1, (1, 4), "Never pay.", &["go"])],
            vec![asked(2, (2, 3), "Find a title.", &["what go says"])],
            vec![asked(3, (5, 6), "Never pay.", &["go", "on"])],
            vec![flagged(asked(4, (7, 8), "Never pay.", &["in short"]))],
            vec![flagged(asked(
                5,
                (9, 10),
                "Never pay.",
                &["in short", "more"],
            ))],
            vec![asked(
                6,
                (11, 12),
                "Find a title.",
                &["what go says", "again"],
            )],
            vec![flagged(asked(
                7,
                (13, 14),
                "Never pay.",
                &["in short", "more", "end"],
            ))],
        ]
    };
    let branch = "talk:branch:0202020202020202";
    let mut server = Server::new().await;
    for batch in batches() {
        server.traces(&batch).await;
        server = server.restarted().await;
    }
    let all: Vec<Value> = batches().into_iter().flatten().collect();
    let (main, beside) = (server.session("talk").await, server.session(branch).await);
    assert_eq!((&main["turns"], &beside["turns"]), (&json!(5), &json!(2)));
    assert_eq!(beside["parent"], "talk");
    assert_eq!(
        server.mutations("talk").await,
        [3],
        "where the context did not just grow"
    );
    assert_eq!(server.mutations(branch).await, [] as [u64; 0]);
    // Again, in one request, by a server that just began: nothing is added.
    server.traces(&all).await;
    assert_eq!(server.session("talk").await, main);
    assert_eq!(server.session(branch).await, beside);
}

#[tokio::test]
async fn a_server_without_room_or_on_its_way_down_tells_exporters_to_come_back() {
    let mut server = Server::new().await;
    let busy = Otlp {
        working: Semaphore::new(0),
        wait: Duration::from_millis(1),
        ..Otlp::new()
    };
    let state = ApiState::without_bundles(server.ledger.clone())
        .with_limits(Limits::default())
        .with_intake(PATH, Arc::new(busy));
    let free = std::mem::replace(&mut server.router, remembrancer_recorder::router(state));
    let spans = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [chat(1, "talk", "main", "go")] }] }] });
    for (router, seconds) in [(server.router.clone(), "1"), (free, "10")] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(PATH)
            .header("authorization", format!("Bearer {}", server.write))
            .header("content-type", "application/json")
            .body(Body::from(spans.to_string()))
            .expect("valid");
        let response = router.oneshot(request).await.expect("answers");
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let wait = response.headers()[header::RETRY_AFTER].to_str();
        assert_eq!(wait.expect("text"), seconds);
        // The second one finds a ledger that takes nothing any more.
        server.ledger.close().await;
    }
}
