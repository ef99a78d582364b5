//! Every route with every kind of key.

use std::time::Duration;

use super::*;
use crate::{NewToken, WorkspaceName};

/// What a key has to be for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    Read,
    Write,
    Admin,
}

/// Which key a request comes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum With {
    NoKey,
    Garbage,
    WrongSecret,
    Revoked,
    ForeignWorkspace,
    Key(Role),
}

const ALL: [With; 8] = [
    With::NoKey,
    With::Garbage,
    With::WrongSecret,
    With::Revoked,
    With::ForeignWorkspace,
    With::Key(Role::Write),
    With::Key(Role::Read),
    With::Key(Role::Admin),
];

/// The rule for the routes, from their addresses alone: a new route follows it or stands here.
fn need(method: &str, path: &str) -> Need {
    match (method, path) {
        ("get", "/healthz" | "/readyz") => Need::Nothing,
        (_, path) if path.starts_with("/v1/keys") => Need::Admin,
        ("get", _) => Need::Read,
        _ => Need::Write,
    }
}

/// What a request with a key that may is answered.
fn success(method: &str, path: &str) -> u16 {
    match (method, path) {
        ("post", "/v1/events" | "/v1/keys") | ("put", "/v1/blobs/{hash}") => 201,
        // This server was given nothing that makes bundles.
        ("get", "/v1/sessions/{session}/bundle") => 404,
        _ => 200,
    }
}

fn expected(method: &str, path: &str, with: With) -> u16 {
    let may = match (need(method, path), with) {
        (Need::Nothing, _) => true,
        (Need::Read, With::Key(role)) => role.may_read(),
        (Need::Write, With::Key(role)) => role.may_write(),
        (Need::Admin, With::Key(role)) => role == Role::Admin,
        (_, _) => return 401,
    };
    if may { success(method, path) } else { 403 }
}

struct Keys {
    write: NewToken,
    read: NewToken,
    admin: NewToken,
    revoked: NewToken,
}

impl Keys {
    async fn make(api: &TestApi) -> Self {
        let make = async |role| {
            create_token(api.test.path(), role, "key")
                .await
                .expect("makes")
        };
        let keys = Self {
            write: make(Role::Write).await,
            read: make(Role::Read).await,
            admin: make(Role::Admin).await,
            revoked: make(Role::Admin).await,
        };
        revoke_token(api.test.path(), &keys.revoked.id)
            .await
            .expect("revokes");
        keys
    }

    fn text(&self, with: With) -> Option<String> {
        let acme: WorkspaceName = "acme".parse().expect("a name");
        Some(match with {
            With::NoKey => return None,
            With::Garbage => "rmb_admin_default_x_y".to_owned(),
            With::WrongSecret => {
                let (start, _) = self.admin.token.rsplit_once('_').expect("a secret");
                format!("{start}_{}", "0".repeat(64))
            }
            With::Revoked => self.revoked.token.clone(),
            With::ForeignWorkspace => {
                let foreign = format!("_{acme}_");
                self.admin.token.replacen("_default_", &foreign, 1)
            }
            With::Key(Role::Write) => self.write.token.clone(),
            With::Key(Role::Read) => self.read.token.clone(),
            With::Key(Role::Admin) => self.admin.token.clone(),
        })
    }
}

/// A request that is answered well if its key may: `number` makes it one that nobody sent before.
async fn request(api: &TestApi, method: &str, path: &str, number: usize) -> HttpRequest<Body> {
    let blob = format!("blob {number}").into_bytes();
    let stored = ContentHash::of(b"stored").to_string();
    let mut address = path.replace("{session}", "s").replace("{index}", "0");
    address = address.replace("{level}", "0").replace("{tile}", "000.p/2");
    if address.contains("{hash}") {
        let hash = if method == "put" {
            ContentHash::of(&blob).to_string()
        } else {
            stored
        };
        address = address.replace("{hash}", &hash);
    }
    if address.contains("{id}") {
        let key = create_token(api.test.path(), Role::Read, "to be revoked").await;
        address = address.replace("{id}", &key.expect("makes").id);
    }
    address.push_str(match path {
        "/v1/sessions/{session}/price" => "?against=s",
        "/v1/proofs/inclusion" => "?index=0&size=1",
        "/v1/proofs/consistency" => "?old=1&new=2",
        _ => "",
    });
    assert!(
        !address.contains('{'),
        "{path} has a parameter for which this test has no value: give it one"
    );
    let body = match (method, path) {
        ("post", "/v1/events") => note_text("s", &format!("r{number}"), "x").into_bytes(),
        ("post", "/v1/keys") => br#"{"role":"read","name":"made over HTTP"}"#.to_vec(),
        ("put", "/v1/blobs/{hash}") => blob,
        ("post", "/v1/blobs/missing") => br#"[]"#.to_vec(),
        _ => Vec::new(),
    };
    HttpRequest::builder()
        .method(method.to_uppercase().as_str())
        .uri(address)
        .header("content-type", "application/json")
        .body(Body::from(body))
        .expect("valid")
}

#[tokio::test]
async fn every_route_lets_each_kind_of_key_do_what_its_role_says() {
    let api = api_with_sessions().await;
    assert_eq!(
        api.put_blob(&ContentHash::of(b"stored").to_string(), b"stored".to_vec())
            .await
            .status,
        201
    );
    let keys = Keys::make(&api).await;
    let description = api.description().await;
    let paths = description["paths"].as_object().expect("paths");
    let mut number = 0;
    let mut wrong = Vec::new();
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            for with in ALL {
                number += 1;
                let mut request = request(&api, method, path, number).await;
                if let Some(key) = keys.text(with) {
                    let value = format!("Bearer {key}").parse().expect("a header");
                    request.headers_mut().insert("authorization", value);
                }
                let answer = api.send(request).await;
                let expected = expected(method, path, with);
                if answer.status != expected {
                    wrong.push(format!(
                        "{method} {path} with {with:?}: {} instead of {expected}: {}",
                        answer.status,
                        String::from_utf8_lossy(&answer.bytes)
                    ));
                }
                if matches!(answer.status, 401 | 403) {
                    let told = String::from_utf8_lossy(&answer.bytes);
                    assert!(!told.contains("hash"), "a refusal tells nothing: {told}");
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(number >= 20 * ALL.len(), "{number} requests");
}

async fn send_key(api: &TestApi, key: &str, method: Method, uri: &str, body: &str) -> Answer {
    let request = HttpRequest::builder()
        .method(method)
        .uri(uri)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .expect("valid");
    api.send(request).await
}

#[tokio::test]
async fn an_admin_makes_lists_and_revokes_keys_over_http() {
    let api = api_with_sessions().await;
    let admin = create_token(api.test.path(), Role::Admin, "boss")
        .await
        .expect("makes");
    let boss = admin.token.as_str();
    let made = send_key(
        &api,
        boss,
        Method::POST,
        "/v1/keys",
        r#"{"role":"write","name":"agent 7"}"#,
    )
    .await;
    assert_eq!(made.status, 201);
    let made_key = made.json();
    let text = made_key["token"].as_str().expect("a key").to_owned();
    let id = made_key["id"].as_str().expect("an id").to_owned();
    assert_eq!(made.headers[header::LOCATION], format!("/v1/keys/{id}"));
    assert_eq!(made.headers[header::CACHE_CONTROL], "no-store");
    let posted = send_key(
        &api,
        &text,
        Method::POST,
        "/v1/events",
        &note_text("s", "k1", "x"),
    )
    .await;
    assert_eq!(posted.status, 201);

    let listed = send_key(&api, boss, Method::GET, "/v1/keys", "").await;
    let items = listed.json()["items"].clone();
    let listed_key = items
        .as_array()
        .expect("a list")
        .iter()
        .find(|key| key["id"] == id.as_str())
        .expect("listed");
    assert_eq!(listed_key["name"], "agent 7");
    assert_eq!(listed_key["revoked"], Value::Null);
    let secret = text.rsplit('_').next().expect("a secret");
    let told = String::from_utf8(listed.bytes).expect("text");
    assert!(!told.contains(secret) && !told.contains("argon2"), "{told}");

    let address = format!("/v1/keys/{id}");
    let revoked = send_key(&api, boss, Method::DELETE, &address, "").await;
    assert_eq!(revoked.status, 200);
    assert!(revoked.json()["revoked"].is_string());
    let posted = send_key(
        &api,
        &text,
        Method::POST,
        "/v1/events",
        &note_text("s", "k2", "x"),
    )
    .await;
    assert_eq!(posted.problem(), "unauthorized");
    let nobody = send_key(&api, boss, Method::DELETE, "/v1/keys/nobody", "").await;
    assert_eq!(nobody.problem(), "not-found");
    for bad in [
        "",
        "[]",
        r#"{"role":"owner","name":"x"}"#,
        r#"{"role":"read"}"#,
        r#"{"role":"read","name":""}"#,
        r#"{"role":"read","name":"a\u0007b"}"#,
        r#"{"role":"read","name":"x","secret":"y"}"#,
    ] {
        let refused = send_key(&api, boss, Method::POST, "/v1/keys", bad).await;
        assert_eq!(refused.problem(), "invalid-parameter", "{bad}");
    }
    let long = format!(r#"{{"role":"read","name":"{}"}}"#, "x".repeat(5000));
    let refused = send_key(&api, boss, Method::POST, "/v1/keys", &long).await;
    assert_eq!(refused.status, 413);
    assert_eq!(list_tokens(api.test.path()).await.expect("lists").len(), 4);
}

#[tokio::test]
async fn a_revoked_key_that_was_recognised_writes_and_learns_nothing_more() {
    let api = api_with_sessions().await;
    let body = |id: &str| format!("[{}]", note_text("s", id, "x"));
    // Each answer on another way: a group, none of its events sound, none at all, no JSON, no media type.
    let ways: [(&str, String); 5] = [
        ("application/json", body("new")),
        ("application/json", r#"[{"id":"x"}]"#.to_owned()),
        ("application/json", "[]".to_owned()),
        ("application/json", "{".to_owned()),
        ("text/plain", body("new")),
    ];
    for (number, (media, text)) in ways.into_iter().enumerate() {
        let key = create_token(api.test.path(), Role::Write, "agent")
            .await
            .expect("makes");
        let send = async |media: &str, body: String| {
            let request = HttpRequest::post("/v1/events")
                .header("authorization", format!("Bearer {}", key.token))
                .header("content-type", media)
                .body(Body::from(body))
                .expect("valid");
            api.send(request).await
        };
        assert_eq!(
            send("application/json", body(&format!("w{number}")))
                .await
                .status,
            200
        );
        let keys = api.test.ledger.reader().keys();
        assert!(keys.recognise(&key.token).is_some());
        revoke_token(api.test.path(), &key.id)
            .await
            .expect("revokes");
        assert!(
            keys.recognise(&key.token).is_some(),
            "nobody told this process"
        );
        let refused = send(media, text.clone()).await;
        assert_eq!(refused.problem(), "unauthorized", "{media} {text}");
        assert!(keys.recognise(&key.token).is_none(), "{media} {text}");
        assert_eq!(send(media, text).await.problem(), "unauthorized");
    }
    let entries = api.get("/v1/sessions/s/entries?limit=1000").await;
    let told = String::from_utf8(entries.bytes).expect("text");
    assert!(
        told.contains("\"w0\"") && !told.contains("\"new\""),
        "{told}"
    );
}

#[tokio::test]
async fn a_key_that_sends_too_much_is_told_when_to_come_back_and_disturbs_no_other() {
    let api = TestApi::with_limits(Limits {
        key_requests_per_second_max: 1,
        key_requests_burst_max: 3,
        ..Limits::default()
    })
    .await;
    for _ in 0..3 {
        assert_eq!(api.get("/v1/sessions").await.status, 200);
    }
    let refused = api.get("/v1/sessions").await;
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (429, "rate-limited")
    );
    assert_eq!(refused.headers[header::RETRY_AFTER], "1");
    assert_eq!(api.post(started_text("s")).await.status, 201);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(api.get("/v1/sessions").await.status, 200);
}

#[tokio::test]
async fn what_the_recorder_writes_itself_is_refused_from_clients() {
    let api = api_with_sessions().await;
    for forged in [
        r#"{"id":"1","session":"s","type":"admin.key_created","data":{"subject":"x","by":"y"}}"#
            .to_owned(),
        started_text("remembrancer.admin"),
    ] {
        let refused = api.post(forged).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (422, "reserved")
        );
    }
}
