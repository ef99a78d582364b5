//! Who is let in, and what is refused.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;

use super::*;

#[tokio::test]
async fn nothing_but_sign_in_help_and_assets_is_open() {
    let viewer = Viewer::over(plain);
    for closed in [
        "/sessions/1",
        "/sessions/1/turns/2?part=3",
        "/sessions/1/integrity",
        "/sessions/999",
    ] {
        let answer = viewer.get(closed).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{closed}");
        assert!(
            answer
                .header("location")
                .starts_with("/login?to=%2Fsessions")
                || answer.header("location").starts_with("/login?to=/sessions"),
            "{}",
            answer.header("location")
        );
        assert_headers(closed, &answer);
    }
    assert_eq!(viewer.get("/").await.header("location"), "/login");
    for open in ["/login", "/help"] {
        let answer = viewer.get(open).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_page(open, &answer);
        assert!(
            !answer.body.contains("ledger.example"),
            "{open} names the ledger"
        );
    }
    let lost = viewer.get("/nowhere").await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert_headers("/nowhere", &lost);
    assert_page("/nowhere", &lost);
}

#[tokio::test]
async fn a_key_signs_in_and_returns_to_local_pages_only() {
    let mut viewer = Viewer::over(plain);
    let answer = viewer
        .sign_in(&format!("key={READ_KEY}&to=%2Fsessions%2F1"), &[])
        .await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::SEE_OTHER, "/sessions/1")
    );
    let cookie = answer.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    viewer.cookie = cookie.split(';').next().map(str::to_owned);
    assert_eq!(viewer.get("/sessions/1").await.status, StatusCode::OK);
    for elsewhere in [
        "%2F%2Fevil.example",
        "https%3A%2F%2Fevil.example",
        "%2F%5Cevil.example",
    ] {
        let answer = viewer
            .sign_in(&format!("key={READ_KEY}&to={elsewhere}"), &[])
            .await;
        assert_eq!(answer.header("location"), "/", "{elsewhere}");
    }
    let out = viewer
        .send(
            Method::POST,
            "/logout",
            &[("sec-fetch-site", "same-origin")],
            "",
        )
        .await;
    assert_eq!(
        (out.status, out.header("location")),
        (StatusCode::SEE_OTHER, "/login")
    );
    assert_eq!(
        viewer.get("/sessions/1").await.status,
        StatusCode::SEE_OTHER,
        "the cookie is worth nothing now"
    );
}

#[tokio::test]
async fn who_sends_data_to_a_page_is_refused_and_not_redirected() {
    let viewer = Viewer::over(plain);
    for media in ["application/x-protobuf", "application/json"] {
        for page in ["/", "/sessions/1", "/rejected"] {
            let headers = [("content-type", media)];
            let answer = viewer.send(Method::POST, page, &headers, "{}").await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{page}");
            assert!(!answer.headers.contains_key(header::LOCATION), "{page}");
        }
    }
    // A form of somebody whose sign-in ended leads to another one.
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let answer = viewer.send(Method::POST, "/sessions/1", &form, "a=b").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_revoked_key_ends_its_sign_ins_and_no_others() {
    let mut viewer = Viewer::signed_in(plain).await;
    let by_code = viewer.cookie.take();
    let answer = viewer.sign_in(&format!("key={READ_KEY}"), &[]).await;
    let by_key = answer
        .header("set-cookie")
        .split(';')
        .next()
        .map(str::to_owned);
    viewer.cookie.clone_from(&by_key);
    assert_eq!(viewer.get("/").await.status, StatusCode::OK);
    let revoked = |is_revoked| {
        let flag = &viewer.fixture.key_is_revoked;
        flag.store(is_revoked, std::sync::atomic::Ordering::SeqCst);
    };
    revoked(true);
    for page in ["/", "/sessions/1"] {
        assert_eq!(
            viewer.get(page).await.status,
            StatusCode::SEE_OTHER,
            "{page}"
        );
    }
    revoked(false);
    let again = viewer.get("/").await.status;
    assert_eq!(again, StatusCode::SEE_OTHER, "it ended for good");
    viewer.cookie = by_code;
    assert_eq!(viewer.get("/").await.status, StatusCode::OK);
}

#[tokio::test]
async fn forms_from_elsewhere_and_wrong_keys_are_refused() {
    let viewer = Viewer::over(plain);
    let right = format!("key={READ_KEY}");
    for headers in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", "https://evil.example")],
        [("origin", "null")],
    ] {
        assert_eq!(
            viewer.sign_in(&right, &headers).await.status,
            StatusCode::FORBIDDEN,
            "{headers:?}"
        );
    }
    assert_eq!(
        viewer
            .sign_in(&right, &[("origin", "http://localhost:7331")])
            .await
            .status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        viewer.sign_in("nonsense", &[]).await.status,
        StatusCode::BAD_REQUEST
    );
    for _ in 0..10 {
        let answer = viewer.sign_in("key=wrong", &[]).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(answer.count("[role=alert]"), 1);
    }
    let throttled = viewer.sign_in("key=wrong", &[]).await;
    assert_eq!(
        (throttled.status, throttled.header("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, "60")
    );
    assert_eq!(
        viewer.sign_in(&right, &[]).await.status,
        StatusCode::SEE_OTHER,
        "the right key is not held up"
    );
}

#[tokio::test]
async fn wrong_keys_from_one_address_make_no_other_wait() {
    let viewer = Viewer::over(plain);
    let attempt = |last: u8| {
        let mut request = Request::post("/login")
            .header("host", "localhost:7331")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from("key=wrong"))
            .expect("a request");
        let peer = SocketAddr::from(([192, 0, 2, last], 1));
        request.extensions_mut().insert(ConnectInfo(peer));
        let router = viewer.router.clone();
        async move { router.oneshot(request).await.expect("infallible").status() }
    };
    for _ in 0..10 {
        assert_eq!(attempt(1).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(attempt(1).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(attempt(2).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn wrong_links_lock_nobody_out() {
    let viewer = Viewer::over(plain);
    let code = viewer.state.logins().issue_code().expect("random bytes");
    for _ in 0..10 {
        let answer = viewer.get("/login/wrong").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    }
    let throttled = viewer.get("/login/wrong").await;
    assert_eq!(throttled.status, StatusCode::TOO_MANY_REQUESTS);
    let right = viewer.get(&format!("/login/{code}")).await;
    assert_eq!(right.status, StatusCode::SEE_OTHER);
    let wrong_key = viewer.sign_in("key=wrong", &[]).await;
    assert_eq!(wrong_key.status, StatusCode::UNAUTHORIZED);
    let right_key = viewer.sign_in(&format!("key={READ_KEY}"), &[]).await;
    assert_eq!(right_key.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_one_time_link_works_once() {
    let viewer = Viewer::over(plain);
    let code = viewer.state.logins().issue_code().expect("random bytes");
    assert_eq!(
        viewer.get(&format!("/login/{code}")).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        viewer.get(&format!("/login/{code}")).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn other_host_names_are_not_answered() {
    let viewer = Viewer::over(plain);
    let named = |host: &'static str, router: Router| async move {
        let request = Request::get("/help")
            .header("host", host)
            .body(Body::empty())
            .expect("a request");
        router.oneshot(request).await.expect("infallible").status()
    };
    for host in ["localhost", "127.0.0.1:1", "[::1]:7331", "LOCALHOST:80"] {
        assert_eq!(
            named(host, viewer.router.clone()).await,
            StatusCode::OK,
            "{host}"
        );
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
    ] {
        assert_eq!(
            named(host, viewer.router.clone()).await,
            StatusCode::MISDIRECTED_REQUEST,
            "{host}"
        );
    }
    let wider = router(
        viewer
            .state
            .clone()
            .with_hosts(["Audit.Example".to_owned()]),
    );
    assert_eq!(named("audit.example:443", wider).await, StatusCode::OK);
}
