//! What is kept of sessions between requests, over a real ledger and its API.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use remembrancer_recorder::{
    ApiState, Intake, IntakeAnswer, IntakeDescription, Ledger, LedgerOptions, Problem, Role,
    create_token,
};
use remembrancer_schema::payload::{ContextCaptured, EventType, Part, PartKind, SessionStarted};
use tower::ServiceExt as _;

use super::*;

const PATH: &str = "/v1/contexts";

/// Takes a body as the texts of the whole context of the next turn, one a line, and answers with the turn's number.
struct Contexts(Arc<Sessions<SessionWriter>>);

#[async_trait]
impl Intake for Contexts {
    fn description(&self) -> IntakeDescription {
        IntakeDescription {
            summary: "A context",
            media_types: &["text/plain"],
            answers: &[],
        }
    }

    async fn take(&self, request: IntakeRequest) -> IntakeAnswer {
        let body = String::from_utf8(request.body.to_vec()).expect("text");
        let session: SessionId = "s".parse().expect("an id");
        let mut open = self.0.open(&request, &session).await.expect("opens");
        let writer = open.state();
        let turn = writer.last_turn() + 1;
        if writer.events() == 0 {
            let started = SessionStarted::default();
            writer
                .push("start", &EventType::SessionStarted, None, &started)
                .expect("an event");
        }
        let parts = body.lines().map(|line| Part::inline(PartKind::User, line));
        let captured = ContextCaptured {
            turn,
            parts: parts.collect(),
            ..ContextCaptured::default()
        };
        writer
            .context(&format!("turn-{turn}"), None, captured)
            .expect("a context");
        let refused = open.append(&request).await.expect("appends");
        let told = format!("{turn} {}", refused.len());
        IntakeAnswer::new(StatusCode::OK, "text/plain", told.into_bytes())
    }

    fn refuse(&self, _: &HeaderMap, problem: &Problem) -> IntakeAnswer {
        IntakeAnswer::empty(problem.kind.status())
    }
}

struct Server {
    folder: tempfile::TempDir,
    ledger: Ledger,
    sessions: Arc<Sessions<SessionWriter>>,
    router: Router,
    key: String,
}

impl Server {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(LedgerOptions::new(folder.path()))
            .await
            .expect("opens");
        let key = create_token(folder.path(), Role::Write, "test")
            .await
            .expect("makes")
            .token;
        Self::over(folder, ledger, key)
    }

    fn over(folder: tempfile::TempDir, ledger: Ledger, key: String) -> Self {
        let sessions = Arc::new(Sessions::new());
        let state = ApiState::without_bundles(ledger.clone())
            .with_intake(PATH, Arc::new(Contexts(Arc::clone(&sessions))));
        let router = remembrancer_recorder::router(state);
        Self {
            folder,
            ledger,
            sessions,
            router,
            key,
        }
    }

    /// The same server after a restart, which knows nothing but its ledger.
    async fn restarted(self) -> Self {
        self.ledger.close().await;
        let ledger = Ledger::open(LedgerOptions::new(self.folder.path()))
            .await
            .expect("opens");
        Self::over(self.folder, ledger, self.key)
    }

    async fn post(&self, path: &str, media: &str, body: String) -> String {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", media)
            .body(Body::from(body))
            .expect("valid");
        let response = self.router.clone().oneshot(request).await.expect("answers");
        assert!(response.status().is_success(), "{response:?}");
        let body = to_bytes(response.into_body(), usize::MAX).await;
        String::from_utf8(body.expect("a body").to_vec()).expect("text")
    }

    async fn context(&self, texts: &str) -> String {
        self.post(PATH, "text/plain", texts.to_owned()).await
    }

    /// What each capture of the session says: turn, base, number of parts, and how many of them have their text.
    async fn captures(&self) -> Vec<(u32, Option<u32>, usize, usize)> {
        let reader = self.ledger.reader();
        let session: SessionId = "s".parse().expect("an id");
        let record = reader.session_record(&session).await.expect("reads");
        let captures = record.events.iter().filter_map(|event| match event.read() {
            Some(remembrancer_schema::Payload::ContextCaptured(captured)) => Some(captured),
            _ => None,
        });
        captures
            .map(|captured| {
                let texts = captured.parts.iter().filter(|part| part.text.is_some());
                let texts = texts.count();
                (captured.turn, captured.base, captured.parts.len(), texts)
            })
            .collect()
    }
}

#[tokio::test]
async fn turns_go_on_over_requests_restarts_and_what_others_write() {
    let server = Server::new().await;
    assert_eq!(server.context("rule\ntask").await, "1 0");
    assert_eq!(server.context("rule\ntask\nmore").await, "2 0");
    let server = server.restarted().await;
    assert_eq!(server.context("rule\ntask\nmore\nagain").await, "3 0");
    let other = r#"{"id":"x","session":"s","type":"context.captured","data":{"turn":4,"base":3,"parts":[{"kind":"user","text":"other"}]}}"#;
    server
        .post("/v1/events", "application/json", other.to_owned())
        .await;
    let after = server.context("rule\ntask\nmore\nagain\nother\nlast").await;
    assert_eq!(after, "5 0");
    let expected = [
        (1, None, 2, 2),
        (2, Some(1), 1, 1),
        (3, Some(2), 1, 1),
        (4, Some(3), 1, 1),
        (5, Some(4), 1, 1),
    ];
    assert_eq!(server.captures().await, expected);
}

#[tokio::test]
async fn what_the_ledger_refuses_is_told_and_the_session_read_anew() {
    let server = Server::new().await;
    assert_eq!(server.context("rule").await, "1 0");
    let taken = r#"{"id":"turn-2","session":"s","type":"custom.x","data":{}}"#;
    let over = r#"{"id":"end","session":"s","type":"session.ended","data":{}}"#;
    server
        .post("/v1/events", "application/json", taken.to_owned())
        .await;
    // The name is taken, which the writer learns: it takes another.
    assert_eq!(server.context("rule\nmore").await, "2 0");
    server
        .post("/v1/events", "application/json", over.to_owned())
        .await;
    assert_eq!(server.context("rule\nmore\nlate").await, "3 1");
    assert_eq!(server.context("rule\nmore\nlate").await, "3 1");
    assert_eq!(server.captures().await.len(), 2);
}

#[tokio::test]
async fn requests_for_one_session_take_turns() {
    let server = Server::new().await;
    let all = (0..20).map(|number| server.context(if number % 2 == 0 { "a" } else { "a\nb" }));
    let mut told = try_join_all(all.map(|told| async { Ok::<_, ()>(told.await) }))
        .await
        .expect("all answer");
    told.sort_by_key(|told| {
        told.split(' ')
            .next()
            .and_then(|turn| turn.parse::<u32>().ok())
    });
    let expected: Vec<String> = (1..=20).map(|turn| format!("{turn} 0")).collect();
    assert_eq!(told, expected);
    assert_eq!(server.sessions.all().kept.len(), 1);
}

#[test]
fn what_was_used_longest_ago_is_forgotten_first_and_what_is_in_use_never() {
    let sessions: Sessions<SessionWriter> = Sessions::within(2, 100);
    let key = |name: &str| -> Key {
        let workspace = "acme".parse().expect("a workspace");
        (workspace, name.parse().expect("an id"))
    };
    let kept = || {
        let mut names: Vec<String> = sessions
            .all()
            .kept
            .keys()
            .map(|(_, session)| session.to_string())
            .collect();
        names.sort();
        names
    };
    for name in ["a", "b"] {
        drop(sessions.slot(&key(name)));
        sessions.weigh(&key(name), 10);
    }
    drop(sessions.slot(&key("a")));
    drop(sessions.slot(&key("c")));
    sessions.weigh(&key("c"), 10);
    assert_eq!(kept(), ["a", "c"], "b was used longest ago");
    let in_use = sessions.slot(&key("a"));
    sessions.weigh(&key("c"), 200);
    assert_eq!(kept(), ["a"], "c holds too much, a is in use");
    assert_eq!(sessions.all().bytes, 10);
    sessions.weigh(&key("a"), 200);
    assert_eq!(kept(), ["a"]);
    drop(in_use);
    sessions.weigh(&key("a"), 200);
    assert_eq!((kept(), sessions.all().bytes), (Vec::new(), 0));
}
