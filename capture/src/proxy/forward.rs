//! The path of a request: to the API and back, with nothing in between that could wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use reqwest::{Client, Url};

use super::queue::Queue;
use super::tap::{Answer, Exchange, RequestTap, ResponseTap};
use crate::call_recorder::Ending;
use crate::model_api::Api;

/// The header that names the session.
const SESSION: &str = "x-remembrancer-session";
/// The header that names the agent.
const AGENT: &str = "x-remembrancer-agent";
/// Headers of this proxy begin with this.
const OWN: &str = "x-remembrancer-";
/// Longest session or agent name that is taken from a header, in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// Headers that concern one connection and are not passed on.
const HOP: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    EXPECT,
];

/// What passing a request on needs.
pub(super) struct Forward {
    client: Client,
    upstream: Url,
    queue: Queue,
}

impl Forward {
    pub(super) fn new(client: Client, upstream: Url, queue: Queue) -> Self {
        Self {
            client,
            upstream,
            queue,
        }
    }

    /// The API's address for a request: its own path behind that of the upstream.
    fn address(&self, path: &str, query: Option<&str>) -> Url {
        let mut address = self.upstream.clone();
        let base = address.path().trim_end_matches('/').to_owned();
        address.set_path(&format!("{base}{path}"));
        address.set_query(query);
        address
    }

    /// The exchange, if it is one that is recorded.
    fn exchange(&self, request: &Request) -> Option<Arc<Exchange>> {
        let api =
            (request.method() == Method::POST).then(|| Api::of_path(request.uri().path()))??;
        let named = |name: &str| {
            // Other letters than those of ASCII are a name too.
            let value = String::from_utf8_lossy(request.headers().get(name)?.as_bytes());
            let value = value.trim();
            (!value.is_empty() && value.len() <= NAME_BYTES_MAX).then(|| value.to_owned())
        };
        Some(Arc::new(Exchange {
            number: self.queue.number(),
            api,
            session: named(SESSION),
            agent: named(AGENT),
            queue: self.queue.clone(),
            is_asked: AtomicBool::new(false),
        }))
    }
}

/// Passes a request on, and its answer back.
pub(super) async fn pass(State(forward): State<Arc<Forward>>, request: Request) -> Response {
    let exchange = forward.exchange(&request);
    let (head, body) = request.into_parts();
    let length = content_length(&head.headers);
    let mut headers = passed_on(&head.headers);
    headers.remove(HOST);
    if exchange.is_some() {
        // What is packed could not be read on its way.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let address = forward.address(head.uri.path(), head.uri.query());
    let mut upstream = forward
        .client
        .request(head.method, address)
        .headers(headers);
    let has_body =
        length.is_some_and(|length| length > 0) || head.headers.contains_key(TRANSFER_ENCODING);
    if let (Some(exchange), false) = (&exchange, has_body) {
        // Without a body there is nothing to hand over.
        exchange.is_asked.store(true, Ordering::Relaxed);
    }
    // From here on, whatever ends this, the exchange's end is told: also that the client left.
    let mut answer = exchange.clone().map(Answer::awaited);
    if has_body {
        let body = body.into_data_stream();
        upstream = upstream.body(match exchange {
            Some(exchange) => reqwest::Body::wrap_stream(RequestTap::new(body, length, exchange)),
            None => reqwest::Body::wrap_stream(body),
        });
    }
    match upstream.send().await {
        Ok(response) => answered(response, answer),
        Err(error) => {
            if let Some(answer) = &mut answer {
                answer.ended(Ending::Unreachable);
            }
            unreachable(error)
        }
    }
}

fn answered(response: reqwest::Response, answer: Option<Answer>) -> Response {
    let response = axum::http::Response::<reqwest::Body>::from(response);
    let (head, body) = response.into_parts();
    let body = match answer {
        None => Body::new(body),
        Some(mut answer) => {
            let media = head
                .headers
                .get(CONTENT_TYPE)
                .and_then(|media| media.to_str().ok());
            let is_stream =
                media.is_some_and(|media| media.trim_start().starts_with("text/event-stream"));
            answer.begun(
                head.status.as_u16(),
                is_stream,
                content_length(&head.headers),
            );
            Body::new(ResponseTap::new(body, answer))
        }
    };
    let mut passed = Response::new(body);
    *passed.status_mut() = head.status;
    *passed.headers_mut() = passed_on(&head.headers);
    passed
}

/// The API cannot be reached: the answer is in the form of its own errors, so that libraries show it.
fn unreachable(error: reqwest::Error) -> Response {
    // Without the address: a query may hold a key.
    let error = error.without_url();
    tracing::warn!(%error, "the API cannot be reached");
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
        error.source()
    });
    let words: Vec<String> = causes.map(ToString::to_string).collect();
    let told = serde_json::json!({
        "type": "error",
        "error": {
            "type": "upstream_unreachable",
            "message": format!("remembrancer proxy: the API cannot be reached: {}", words.join(": ")),
        },
    });
    (StatusCode::BAD_GATEWAY, axum::Json(told)).into_response()
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The headers without those that concern one connection alone, and without this proxy's own.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !HOP.contains(name) && !named.contains(name) && !name.as_str().starts_with(OWN) {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forward(upstream: &str) -> Forward {
        let (queue, _) = super::super::queue::queue();
        Forward::new(Client::new(), upstream.parse().expect("an address"), queue)
    }

    #[test]
    fn a_path_stands_behind_that_of_the_upstream() {
        crate::tls::install();
        for (upstream, path, query, expected) in [
            (
                "https://api.example",
                "/v1/messages",
                None,
                "https://api.example/v1/messages",
            ),
            (
                "https://api.example/",
                "/v1/x",
                Some("beta=true"),
                "https://api.example/v1/x?beta=true",
            ),
            (
                "https://api.example/proxy/",
                "/v1/x",
                None,
                "https://api.example/proxy/v1/x",
            ),
            (
                "https://api.example",
                "/v1/a%2Fb",
                None,
                "https://api.example/v1/a%2Fb",
            ),
            (
                "https://api.example",
                "//evil.example/x",
                None,
                "https://api.example//evil.example/x",
            ),
        ] {
            assert_eq!(forward(upstream).address(path, query).as_str(), expected);
        }
    }

    #[test]
    fn headers_of_one_connection_and_of_the_proxy_stay_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-private"),
            ("x-private", "1"),
            ("transfer-encoding", "chunked"),
            ("x-remembrancer-session", "s"),
            ("x-api-key", "secret"),
            ("content-length", "3"),
        ] {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let passed = passed_on(&headers);
        let names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-api-key", "content-length"]);
        assert_eq!(content_length(&passed), Some(3));
    }

    #[test]
    fn an_exchange_is_a_post_to_an_api_that_is_known() {
        crate::tls::install();
        let forward = forward("https://api.example");
        let named = |method: &str, path: &str, name: &[u8]| {
            let name = HeaderValue::from_bytes(name).expect("a value");
            let request = Request::builder().method(method).uri(path);
            let request = request.header(SESSION, name);
            forward.exchange(&request.body(Body::empty()).expect("a request"))
        };
        let request = |method: &str, path: &str| named(method, path, b" s-1 ");
        let other = named("POST", "/v1/messages", "Prüfung".as_bytes()).expect("recorded");
        assert_eq!(other.session.as_deref(), Some("Prüfung"));
        assert_eq!(
            request("POST", "/v1/messages")
                .and_then(|exchange| exchange.session.clone())
                .as_deref(),
            Some("s-1")
        );
        assert!(request("GET", "/v1/messages").is_none());
        assert!(request("POST", "/v1/messages/count_tokens").is_none());
    }
}
