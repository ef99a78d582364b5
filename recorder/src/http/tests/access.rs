//! Who may do what, and what is answered when the ledger stands still.

use super::*;
use crate::store::faulty::{Fault, Step};

#[tokio::test]
async fn roles_decide_who_may_do_what_and_revocation_holds_at_once() {
    let api = api_with_sessions().await;
    let send = |method: Method, uri: &'static str, key: Option<&str>| {
        let mut request = HttpRequest::builder().method(method).uri(uri);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        request = request.header("content-type", "application/json");
        api.send(
            request
                .body(Body::from(note_text("s", "denied", "x")))
                .expect("valid"),
        )
    };
    let wrong_secret = format!(
        "{}{}",
        &api.write[..api.write.len() - 1],
        if api.write.ends_with('0') { '1' } else { '0' }
    );
    let raised = api.read.replacen("_read_", "_admin_", 1);
    for key in [
        None,
        Some("rmb_write_x"),
        Some(wrong_secret.as_str()),
        Some(raised.as_str()),
    ] {
        let answer = send(Method::POST, "/v1/events", key).await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (401, "unauthorized")
        );
        assert!(answer.headers.contains_key(header::WWW_AUTHENTICATE));
    }
    let answer = send(Method::POST, "/v1/events", Some(&api.read)).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (403, "forbidden")
    );
    let answer = send(Method::GET, "/v1/sessions", Some(&api.write)).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (403, "forbidden")
    );
    assert_eq!(api.size().await, 3);

    let admin = create_token(api.test.path(), Role::Admin, "admin")
        .await
        .expect("makes");
    assert_eq!(
        send(Method::GET, "/v1/sessions", Some(&admin.token))
            .await
            .status,
        200
    );
    assert_eq!(
        send(Method::POST, "/v1/events", Some(&admin.token))
            .await
            .status,
        201
    );
    assert!(
        api.test
            .ledger
            .reader()
            .may_read(&admin.token)
            .await
            .expect("reads")
    );
    revoke_token(api.test.path(), &admin.id)
        .await
        .expect("revokes");
    assert_eq!(
        send(Method::GET, "/v1/sessions", Some(&admin.token))
            .await
            .status,
        401
    );
    assert!(
        !api.test
            .ledger
            .reader()
            .may_read(&admin.token)
            .await
            .expect("reads")
    );
    assert!(
        !api.test
            .ledger
            .reader()
            .may_read(&api.write)
            .await
            .expect("reads")
    );

    let listed = list_tokens(api.test.path()).await.expect("lists");
    assert_eq!(listed.len(), 3);
    assert!(
        listed
            .iter()
            .any(|key| key.id == admin.id && key.revoked.is_some())
    );
    assert!(revoke_token(api.test.path(), "nobody").await.is_err());
    let file = std::fs::read(api.test.path().join("ledger.sqlite")).expect("reads");
    let secret = admin.token.rsplit('_').next().expect("a secret").as_bytes();
    assert!(
        !file.windows(secret.len()).any(|window| window == secret),
        "the secret is stored"
    );
}

#[tokio::test]
async fn a_ledger_in_doubt_is_unavailable_and_not_ready() {
    let api = api_with_sessions().await;
    assert_eq!(api.get("/readyz").await.status, 200);
    api.test.plan.add(Step::Commit, Fault::NotDone);
    let answer = api.post(note_text("s", "1", "x")).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (503, "unavailable")
    );
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    assert_eq!(api.get("/readyz").await.problem(), "unavailable");
    assert_eq!(api.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn everything_under_v1_asks_for_a_key_first() {
    let api = api_with_sessions().await;
    let request = |method: &Method, uri: &str, key: Option<&str>| {
        let mut request = HttpRequest::builder().method(method.clone()).uri(uri);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        request.body(Body::empty()).expect("valid")
    };
    let hash = ContentHash::of(b"x").to_string();
    let paths = [
        "/v1/events".to_owned(),
        format!("/v1/blobs/{hash}"),
        "/v1/sessions".to_owned(),
        "/v1/sessions/s".to_owned(),
        "/v1/sessions/s/entries".to_owned(),
        "/v1/sessions/s/presence".to_owned(),
        "/v1/sessions/s/bundle".to_owned(),
        "/v1/sessions/s/price?against=over".to_owned(),
        "/v1/entries/0".to_owned(),
        "/v1/checkpoint".to_owned(),
        "/v1/proofs/inclusion?index=0&size=1".to_owned(),
        "/v1/limits".to_owned(),
        "/v1/nothing/here".to_owned(),
        "/v1/".to_owned(),
        "/v1".to_owned(),
    ];
    for method in [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
    ] {
        for path in &paths {
            let answer = api.send(request(&method, path, None)).await;
            assert_eq!(answer.status, 401, "{method} {path}");
        }
    }
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let answer = api.send(request(&Method::GET, path, None)).await;
        assert_eq!(answer.status, 200, "{path}");
    }

    let head = api
        .send(request(&Method::HEAD, "/v1/sessions", Some(&api.read)))
        .await;
    assert_eq!((head.status, head.bytes.len()), (200, 0));
    let head = api
        .send(request(&Method::HEAD, "/v1/sessions", Some(&api.write)))
        .await;
    assert_eq!(head.status, 403);
    let answer = api
        .send(request(&Method::DELETE, "/v1/events", Some(&api.write)))
        .await;
    assert_eq!(answer.problem(), "method-not-allowed");
    assert_eq!(answer.headers[header::ALLOW], "POST");
    let answer = api.send(request(&Method::DELETE, "/v1/events", None)).await;
    assert_eq!(answer.status, 401, "a key comes first");
    let answer = api.get("/v1/nothing/here").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (404, "not-found")
    );
    let answer = api.get("/v1").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (404, "not-found")
    );
    assert_eq!(api.size().await, 3);
}

/// A body of which nothing, or only the beginning, ever comes.
fn slow_body(beginning: &'static str) -> Body {
    use futures_util::StreamExt as _;
    let beginning = (!beginning.is_empty()).then_some(Ok::<_, std::io::Error>(beginning));
    Body::from_stream(futures_util::stream::iter(beginning).chain(futures_util::stream::pending()))
}

#[tokio::test]
async fn a_revoked_key_is_refused_before_its_body_is_sent() {
    let api = api_with_sessions().await;
    let stored = api.size().await;
    let hash = ContentHash::of(b"never sent").to_string();
    let blob = format!("/v1/blobs/{hash}");
    let send = async |method: Method, path: &str, beginning: &'static str| {
        let request = HttpRequest::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", api.write))
            .header("content-type", "application/json")
            .body(slow_body(beginning))
            .expect("valid");
        tokio::time::timeout(std::time::Duration::from_secs(5), api.send(request)).await
    };
    let asked = [
        (Method::POST, "/v1/events", ""),
        (Method::POST, "/v1/events", r#"[{"id":"1""#),
        (Method::PUT, blob.as_str(), ""),
        (Method::PUT, blob.as_str(), "never"),
        (Method::POST, "/v1/blobs/missing", "["),
        (Method::POST, intake::ECHO, "x"),
    ];
    // A key that is good is waited for. It was used before, so that it is recognised.
    let waited = tokio::time::timeout(
        std::time::Duration::from_millis(300),
        send(Method::POST, "/v1/events", "["),
    );
    assert!(waited.await.is_err(), "the body was not waited for");
    let listed = list_tokens(api.test.path()).await.expect("lists");
    let key = listed.iter().find(|key| key.role == Role::Write);
    revoke_token(api.test.path(), &key.expect("made").id)
        .await
        .expect("revokes");
    for (method, path, beginning) in asked {
        let answer = send(method.clone(), path, beginning).await;
        let answer = answer.unwrap_or_else(|_| panic!("{method} {path} waited for its body"));
        assert_eq!(answer.status, 401, "{method} {path}");
    }
    // The act itself may have been taken meanwhile, with the start of its session.
    assert!(api.size().await <= stored + 2);
}

#[tokio::test]
async fn a_closed_ledger_is_unavailable_to_readers_too() {
    let api = api_with_sessions().await;
    api.test.ledger.close().await;
    let answer = api.get("/v1/sessions").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (503, "unavailable")
    );
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    let ready = HttpRequest::get("/readyz")
        .body(Body::empty())
        .expect("valid");
    assert_eq!(api.send(ready).await.status, 503);
}
