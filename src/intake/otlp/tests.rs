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
