//! Two workspaces on one server: the key decides, and what is another's is not there.

use super::*;
use crate::{LedgerLocation, LedgerOptions, Metrics, WorkspaceName, Workspaces, create_workspace};

/// A server with a default workspace and two more; keys by workspace.
struct Server {
    api: TestApi,
    workspaces: Workspaces,
}

impl Server {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspaces = Workspaces::open(LedgerOptions::new(folder.path()), 8, Metrics::new())
            .await
            .expect("opens");
        let api = TestApi {
            router: router(ApiState::without_bundles(workspaces.clone())),
            test: TestLedger {
                folder,
                ledger: workspaces.default_ledger().clone(),
                plan: Default::default(),
            },
            write: String::new(),
            read: String::new(),
        };
        Self { api, workspaces }
    }

    /// Makes a workspace while the server runs, and an admin key for it.
    async fn make(&self, workspace: &str) -> String {
        let name: WorkspaceName = workspace.parse().expect(workspace);
        create_workspace(self.api.test.path(), &name, None)
            .await
            .expect("makes");
        self.key(workspace, Role::Admin).await
    }

    async fn key(&self, workspace: &str, role: Role) -> String {
        let location = LedgerLocation::new(self.api.test.path());
        let location = location.workspace(workspace.parse().expect(workspace));
        let made = create_token(location, role, "test").await;
        made.expect("makes").token
    }

    async fn send(&self, key: &str, method: Method, uri: &str, body: impl Into<Body>) -> Answer {
        let request = HttpRequest::builder()
            .method(method)
            .uri(uri)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        self.api
            .send(request.body(body.into()).expect("valid"))
            .await
    }

    async fn get(&self, key: &str, uri: &str) -> Answer {
        self.send(key, Method::GET, uri, "").await
    }

    async fn post(&self, key: &str, body: String) -> Answer {
        self.send(key, Method::POST, "/v1/events", body).await
    }
}

#[tokio::test]
async fn the_same_session_and_blob_are_two_in_two_workspaces() {
    let server = Server::new().await;
    let keys = [
        server.key("default", Role::Admin).await,
        server.make("acme").await,
        server.make("other").await,
    ];
    let blob = ContentHash::of(b"large");
    let blob = format!("/v1/blobs/{blob}");
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(server.get(key, "/v1/sessions/s").await.status, 404);
        assert_eq!(server.get(key, &blob).await.status, 404);
        let session = format!(
            "[{},{}]",
            started_text("s"),
            note_text("s", "same", &at.to_string())
        );
        let answer = server.post(key, session).await;
        assert_eq!(answer.json()["results"][1]["status"], "recorded");
        assert_eq!(answer.json()["results"][1]["sequence"], 1);
        let stored = server.send(key, Method::PUT, &blob, "large").await.status;
        assert_eq!(stored, 201, "new in each of them");
    }
    let mut origins = Vec::new();
    let mut roots = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let entries = server.get(key, "/v1/sessions/s/entries").await.json();
        assert_eq!(entries["items"].as_array().expect("items").len(), 2);
        assert_eq!(entries["items"][1]["data"]["text"], at.to_string());
        let note = server.get(key, "/v1/checkpoint").await.bytes;
        let note = String::from_utf8(note).expect("UTF-8");
        origins.push(note.lines().next().expect("an origin").to_owned());
        let size = note.lines().nth(1).expect("a size");
        let address = format!("/v1/proofs/inclusion?index=0&size={size}");
        let proof = server.get(key, &address).await;
        roots.push(proof.json()["root"].as_str().expect("a root").to_owned());
        let entry = &server.get(key, "/v1/entries/0").await.json()["entry"];
        assert_eq!(entry["origin"], origins[at].as_str());
    }
    assert_eq!(origins[1], format!("{}/acme", origins[0]));
    for values in [origins, roots] {
        let distinct: std::collections::BTreeSet<_> = values.iter().collect();
        assert_eq!(distinct.len(), 3, "{values:?}");
    }
    server.workspaces.close().await;
}

#[tokio::test]
async fn each_workspace_is_a_log_of_its_own() {
    let server = Server::new().await;
    let keys = [
        server.key("default", Role::Admin).await,
        server.make("acme").await,
    ];
    let mut seen = Vec::new();
    for (count, key) in keys.iter().enumerate() {
        let events: Vec<String> = (0..=count)
            .map(|number| started_text(&format!("s{number}")))
            .collect();
        let answer = server.post(key, format!("[{}]", events.join(","))).await;
        assert_eq!(answer.status, 200);
        let note = server.get(key, "/tlog/checkpoint").await.bytes;
        let line = server.get(key, "/v1/verifier-key").await.bytes;
        let line = String::from_utf8(line).expect("text");
        let verifier: remembrancer_schema::verifier_key::VerifierKey = line.parse().expect("a key");
        let note = String::from_utf8(note).expect("text");
        let checkpoint = remembrancer_schema::checkpoint::Checkpoint::verify(&note, &verifier.key)
            .expect("signed");
        assert_eq!(checkpoint.origin, verifier.name);
        let first = server.get(key, "/tlog/tile/entries/000.p/1").await;
        assert_eq!(first.status, 200);
        let told = String::from_utf8_lossy(&first.bytes).into_owned();
        assert!(told.contains(verifier.name.as_str()), "{told}");
        seen.push((verifier.name, told));
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn what_another_workspace_holds_is_not_there() {
    let server = Server::new().await;
    let here = server.key("default", Role::Admin).await;
    let there = server.make("acme").await;
    let notes = (1..=9).map(|number| note_text("s", &number.to_string(), "x"));
    let events: Vec<String> = [started_text("s")].into_iter().chain(notes).collect();
    let body = format!("[{}]", events.join(","));
    let posted = server.post(&here, body).await.json();
    // The other ledger is shorter: it holds the making of its key alone.
    let index = posted["results"][9]["index"].as_u64().expect("an index");
    let entry = format!("/v1/entries/{index}");
    assert_eq!(server.get(&here, &entry).await.status, 200);
    for path in [
        "/v1/sessions/s",
        "/v1/sessions/label%20of%20s",
        "/v1/sessions/s/entries",
        "/v1/sessions/s/presence",
        "/v1/sessions/s/mutations",
        "/v1/sessions/s/price?against=s",
        "/v1/sessions/s/findings",
        "/v1/sessions/s/bundle",
        entry.as_str(),
    ] {
        let answer = server.get(&there, path).await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (404, "not-found"),
            "{path}"
        );
    }
    let listed = server.get(&there, "/v1/sessions").await.json();
    let listed = listed["items"].as_array().expect("items");
    assert!(listed.iter().all(|session| session["id"] != "s"));
    let address = format!("/v1/proofs/inclusion?index={index}&size={}", index + 1);
    assert_eq!(server.get(&here, &address).await.status, 200);
    assert_eq!(server.get(&there, &address).await.status, 400);
    // The session that exists elsewhere is not started here.
    let answer = server.post(&there, note_text("s", "2", "x")).await;
    assert_eq!(answer.problem(), "unknown-session");
    let blob = ContentHash::of(b"large").to_string();
    let path = format!("/v1/blobs/{blob}");
    assert_eq!(
        server.send(&here, Method::PUT, &path, "large").await.status,
        201
    );
    let ask = format!(r#"["{blob}"]"#);
    for (key, missing) in [(&here, 0), (&there, 1)] {
        let answer = server
            .send(key, Method::POST, "/v1/blobs/missing", ask.clone())
            .await;
        assert_eq!(
            answer.json()["missing"].as_array().map(Vec::len),
            Some(missing),
            "only the own workspace's blobs are known"
        );
    }
    let named = format!(
        r#"{{"id":"start","session":"b","type":"session.started","data":{{}},"blobs":["{blob}"]}}"#
    );
    assert_eq!(
        server.post(&there, named).await.problem(),
        "blob-missing",
        "another's blob is no blob"
    );
    server.workspaces.close().await;
}

#[tokio::test]
async fn a_key_opens_no_other_workspace_than_its_own() {
    let server = Server::new().await;
    let here = server.key("default", Role::Admin).await;
    let there = server.make("acme").await;
    let field = |key: &str, at: usize| key.split('_').nth(at).expect("a field").to_owned();
    for key in [
        here.replacen("_default_", "_acme_", 1),
        there.replacen("_acme_", "_default_", 1),
        there.replacen("_acme_", "_nobody_", 1),
        there.replacen("_acme_", "_", 1),
        // The id of one in the text of the other.
        here.replacen(&field(&here, 3), &field(&there, 3), 1),
        there.replacen(&field(&there, 3), &field(&here, 3), 1),
    ] {
        for (method, path) in [
            (Method::GET, "/v1/sessions"),
            (Method::POST, "/v1/events"),
            (Method::GET, "/v1/limits"),
        ] {
            let answer = server.send(&key, method, path, started_text("s")).await;
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (401, "unauthorized"),
                "{path}"
            );
        }
    }
    for key in [&here, &there] {
        assert_eq!(server.get(key, "/v1/sessions").await.status, 200);
    }
    // The counters are of all of them.
    assert_eq!(server.get(&here, "/metrics").await.status, 200);
    let answer = server.get(&there, "/metrics").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (403, "forbidden")
    );
    // Keys are listed, made and revoked in their own workspace.
    let listed = server.get(&there, "/v1/keys").await.json();
    assert_eq!(listed["items"].as_array().expect("items").len(), 1);
    let address = format!("/v1/keys/{}", field(&here, 3));
    let answer = server.send(&there, Method::DELETE, &address, "").await;
    assert_eq!(answer.status, 404);
    let wanted = r#"{"role":"read","name":"new"}"#;
    let made = server.send(&there, Method::POST, "/v1/keys", wanted).await;
    let token = made.json()["token"].as_str().expect("a key").to_owned();
    assert!(
        token.starts_with("rmb_read_acme_"),
        "of its maker's workspace"
    );
    server.workspaces.close().await;
}

#[tokio::test]
async fn one_workspace_that_stands_still_is_named_and_stops_nobody_else() {
    let server = Server::new().await;
    let here = server.key("default", Role::Admin).await;
    let there = server.make("acme").await;
    let damaged = server.make("damaged").await;
    let file = server
        .api
        .test
        .path()
        .join("workspaces/damaged/ledger.sqlite");
    std::fs::write(file, b"no database at all").expect("writes");
    for (key, status) in [(&here, 201), (&there, 201), (&damaged, 503)] {
        let answer = server.post(key, started_text("s")).await;
        assert_eq!(answer.status, status);
        if status == 503 {
            assert_eq!(answer.problem(), "unavailable");
            assert!(answer.headers.contains_key(header::RETRY_AFTER));
            assert!(!String::from_utf8_lossy(&answer.bytes).contains("sqlite"));
        }
    }
    let ready = server.get("", "/readyz").await;
    let text = String::from_utf8(ready.bytes).expect("UTF-8");
    assert_eq!(
        (ready.status, text.as_str()),
        (200, "ready\nworkspace damaged does not write\n")
    );
    let acme: WorkspaceName = "acme".parse().expect("a name");
    let acme = server.workspaces.get(&acme).await.expect("opens");
    acme.expect("is there").close().await;
    assert_eq!(
        server.post(&there, note_text("s", "1", "x")).await.status,
        503
    );
    assert_eq!(
        server.post(&here, note_text("s", "1", "x")).await.status,
        201
    );
    server.workspaces.close().await;
}
