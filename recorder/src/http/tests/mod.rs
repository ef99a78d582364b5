//! The API over a real ledger, without a network; `connections` has one.

mod access;
mod bodies;
mod connections;
mod description;
mod events;
mod intake;
mod reading;
mod roles;
mod tlog;
mod workspaces;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request as HttpRequest};
use remembrancer_schema::receipt;
use remembrancer_schema::{ContentHash, TreeHash};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::testing::{TestLedger, note_text, started_text, tamper};
use crate::{Role, create_token, list_tokens, revoke_token};

struct TestApi {
    test: TestLedger,
    router: Router,
    write: String,
    read: String,
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).expect("JSON")
    }

    /// The slug of the problem that this answer is.
    fn problem(&self) -> String {
        assert_eq!(
            self.headers[header::CONTENT_TYPE],
            "application/problem+json"
        );
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        slug(&problem)
    }
}

fn slug(problem: &Value) -> String {
    let kind = problem["type"].as_str().expect("a type");
    kind.strip_prefix("urn:remembrancer:problem:")
        .expect(kind)
        .to_owned()
}

impl TestApi {
    async fn new() -> Self {
        Self::with_limits(Limits::default()).await
    }

    async fn with_limits(limits: Limits) -> Self {
        let test = TestLedger::new().await;
        test.ledger.close().await;
        let key = async |role| {
            create_token(test.path(), role, "test")
                .await
                .expect("makes")
                .token
        };
        let (write, read) = (key(Role::Write).await, key(Role::Read).await);
        // The tests count entries: the making of these two keys is none of them.
        tamper(&test, "DELETE FROM admin_acts").await;
        let test = test.reopen().await;
        let state = ApiState::without_bundles(test.ledger.clone())
            .with_limits(limits)
            .with_intake(intake::ECHO, Arc::new(intake::Echo));
        Self {
            router: router(state),
            test,
            write,
            read,
        }
    }

    async fn send(&self, request: HttpRequest<Body>) -> Answer {
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        assert_eq!(
            response.headers()[header::X_CONTENT_TYPE_OPTIONS],
            "nosniff"
        );
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes: to_bytes(body, usize::MAX).await.expect("a body").to_vec(),
        }
    }

    async fn post_as(&self, media: &str, body: impl Into<Body>) -> Answer {
        let request = HttpRequest::post("/v1/events")
            .header("authorization", format!("Bearer {}", self.write))
            .header("content-type", media)
            .body(body.into())
            .expect("valid");
        self.send(request).await
    }

    async fn post(&self, body: impl Into<Body>) -> Answer {
        self.post_as("application/json", body).await
    }

    async fn get(&self, uri: &str) -> Answer {
        let request = HttpRequest::get(uri)
            .header("authorization", format!("Bearer {}", self.read))
            .body(Body::empty())
            .expect("valid");
        self.send(request).await
    }

    async fn put_blob(&self, hash: &str, bytes: Vec<u8>) -> Answer {
        let request = HttpRequest::put(format!("/v1/blobs/{hash}"))
            .header("authorization", format!("Bearer {}", self.write))
            .body(Body::from(bytes))
            .expect("valid");
        self.send(request).await
    }

    async fn description(&self) -> Value {
        let request = HttpRequest::get("/openapi.json")
            .body(Body::empty())
            .expect("valid");
        self.send(request).await.json()
    }

    async fn size(&self) -> u64 {
        self.test.ledger.reader().size().await.expect("reads")
    }
}

async fn api_with_sessions() -> TestApi {
    let api = TestApi::new().await;
    let ended = r#"{"id":"end","session":"over","type":"session.ended","data":{}}"#;
    let body = format!("[{},{},{ended}]", started_text("s"), started_text("over"));
    assert_eq!(api.post(body).await.status, 200);
    api
}
