//! The viewer over the fixture, asked as a browser asks it.

mod access;
mod damage;
mod listing;
mod pages;
mod workspaces;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use scraper::{ElementRef, Html, Selector};
use tower::ServiceExt as _;

use crate::fixture::{Fixture, READ_KEY};
use crate::{ViewerState, router};

/// Everything that could break out of a page or deceive its reader.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;\u{202e}\u{200b}\u{7}\r\u{e0041}{{7*7}}javascript:";

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("ASCII"))
    }

    fn dom(&self) -> Html {
        Html::parse_document(&self.body)
    }

    fn count(&self, selector: &str) -> usize {
        self.dom().select(&parsed(selector)).count()
    }

    fn text(&self, selector: &str) -> String {
        let dom = self.dom();
        let found = dom.select(&parsed(selector)).next();
        found
            .unwrap_or_else(|| panic!("no {selector} in {}", self.body))
            .text()
            .collect()
    }
}

fn parsed(selector: &str) -> Selector {
    Selector::parse(selector).expect("a selector")
}

/// The viewer over a fixture, with or without a sign-in.
struct Viewer {
    router: Router,
    fixture: Arc<Fixture>,
    state: ViewerState,
    cookie: Option<String>,
}

impl Viewer {
    fn over(spoil: fn(&str) -> String) -> Self {
        let fixture = Arc::new(Fixture::new(spoil));
        let state = ViewerState::over(fixture.clone());
        Self {
            router: router(state.clone()),
            fixture,
            state,
            cookie: None,
        }
    }

    async fn signed_in(spoil: fn(&str) -> String) -> Self {
        let mut viewer = Self::over(spoil);
        let code = viewer.state.logins().issue_code().expect("random bytes");
        let answer = viewer.get(&format!("/login/{code}")).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (StatusCode::SEE_OTHER, "/")
        );
        viewer.cookie = answer
            .header("set-cookie")
            .split(';')
            .next()
            .map(str::to_owned);
        viewer
    }

    async fn get(&self, address: &str) -> Answer {
        self.send(Method::GET, address, &[], "").await
    }

    async fn send(
        &self,
        method: Method,
        address: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(address)
            .header("host", "localhost:7331");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        let request = request
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 8 << 20).await.expect("within the bound");
        let body = String::from_utf8(body.to_vec()).expect("UTF-8");
        Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    async fn sign_in(&self, form: &str, headers: &[(&str, &str)]) -> Answer {
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.send(Method::POST, "/login", &all, form).await
    }

    /// Follows every internal link from the list of sessions.
    async fn crawl(&self) -> Vec<(String, Answer)> {
        let mut seen = BTreeSet::from(["/".to_owned()]);
        let mut waiting = VecDeque::from(["/".to_owned()]);
        let mut pages = Vec::new();
        while let Some(address) = waiting.pop_front() {
            let answer = self.get(&address).await;
            if answer.header("content-type").starts_with("text/html") {
                for link in links(&answer, &address) {
                    if seen.insert(link.clone()) {
                        waiting.push_back(link);
                    }
                }
            }
            pages.push((address, answer));
        }
        pages
    }
}

/// Addresses that a page links to, without their fragments. Panics on one that leads elsewhere.
fn links(answer: &Answer, base: &str) -> Vec<String> {
    let dom = answer.dom();
    let path = base.split('?').next().unwrap_or(base);
    let mut found = Vec::new();
    for element in dom.select(&parsed("[href], [src]")) {
        let value = element.value();
        let link = value.attr("href").or(value.attr("src")).unwrap_or_default();
        let link = link.split('#').next().unwrap_or_default();
        match link {
            "" => {}
            query if query.starts_with('?') => found.push(format!("{path}{query}")),
            local if local.starts_with('/') && !local.starts_with("//") => {
                found.push(local.to_owned())
            }
            other => panic!("{base} links to {other:?}"),
        }
    }
    found
}

fn plain(text: &str) -> String {
    text.to_owned()
}

fn hostile(text: &str) -> String {
    format!("{text}{HOSTILE}")
}

fn assert_headers(address: &str, answer: &Answer) {
    let policy = answer.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'self';"),
        "{address}: {policy}"
    );
    assert!(
        !policy.contains("unsafe") && !policy.contains("script-src"),
        "{address}: {policy}"
    );
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), value, "{address}: {name}");
    }
    let cache = answer.header("cache-control");
    if address.starts_with("/assets/") && answer.status == StatusCode::OK {
        assert!(cache.ends_with("immutable"), "{address}: {cache}");
    } else {
        assert_eq!(cache, "no-store", "{address}");
    }
}

fn assert_page(address: &str, answer: &Answer) {
    let dom = answer.dom();
    let count = |selector: &str| dom.select(&parsed(selector)).count();
    assert_eq!(count("h1"), 1, "{address}: one h1");
    assert!(
        !dom.select(&parsed("title"))
            .next()
            .expect("a title")
            .text()
            .collect::<String>()
            .trim_start()
            .starts_with('·'),
        "{address}: a title"
    );
    assert_eq!(count("html[lang]"), 1, "{address}: a language");
    assert_eq!(
        count("script, style, iframe, object, [style], [onclick], [onerror]"),
        0,
        "{address}"
    );
    for input in dom.select(&parsed("input:not([type=hidden])")) {
        let id = input
            .value()
            .attr("id")
            .unwrap_or_else(|| panic!("{address}: an input without an id"));
        assert_eq!(
            count(&format!("label[for={id}]")),
            1,
            "{address}: a label for {id}"
        );
    }
    for table in dom.select(&parsed("table")) {
        assert_eq!(
            table.select(&parsed("caption")).count(),
            1,
            "{address}: a caption"
        );
        assert_eq!(
            table.select(&parsed("th:not([scope])")).count(),
            0,
            "{address}: a scope on each th"
        );
    }
    let mut ids = BTreeSet::new();
    for id in dom
        .select(&parsed("[id]"))
        .filter_map(|element| element.value().attr("id"))
    {
        assert!(ids.insert(id), "{address}: id {id} twice");
    }
    let mut level = 0;
    for heading in dom.select(&parsed("h1, h2, h3")) {
        let this = usize::from(heading.value().name().as_bytes()[1] - b'0');
        assert!(this <= level + 1, "{address}: h{this} after h{level}");
        level = this;
    }
}
