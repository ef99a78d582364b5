//! What is told of requests: one line of log each, and counters. Neither has bodies, keys, addresses or query strings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::access;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::metrics::{CONTENT_TYPE, Metrics};

/// Route of a request that no route takes.
const NO_ROUTE: &str = "none";
/// Headers by which proxies say for whom they ask.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Who may read `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Whoever presents a key that may read.
    Key,
    /// Programs on this machine that do not come through a proxy that says so.
    Loopback,
    /// Everybody who can reach the address.
    Open,
}

impl MetricsAccess {
    /// The choice as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Loopback => "loopback",
            Self::Open => "open",
        }
    }
}

/// Id of the key that a request was let in with: an extension of its answer.
#[derive(Debug, Clone)]
pub(crate) struct KeyId(pub(crate) Arc<str>);

/// A router whose requests are logged and counted.
pub fn observed(router: Router, metrics: Metrics) -> Router {
    router.layer(middleware::from_fn_with_state(metrics, observe))
}

/// A request under way. Dropped without an answer, its client has left.
struct Observation {
    metrics: Metrics,
    method: &'static str,
    route: Option<MatchedPath>,
    begun: Instant,
    bytes_in: Option<u64>,
    is_answered: bool,
}

async fn observe(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let mut observation = Observation {
        metrics,
        method: method_name(request.method()),
        route: request.extensions().get::<MatchedPath>().cloned(),
        begun: Instant::now(),
        bytes_in: request.body().size_hint().exact(),
        is_answered: false,
    };
    let response = next.run(request).await;
    observation.answered(&response);
    response
}

impl Observation {
    fn route(&self) -> &str {
        self.route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str)
    }

    fn answered(&mut self, response: &Response) {
        self.is_answered = true;
        let took = self.begun.elapsed();
        let status = response.status().as_u16();
        let problem = response.extensions().get::<Slug>().copied();
        self.metrics
            .request(self.method, self.route(), Some(status), took);
        if let Some(kind) = problem
            && matches!(status, 429 | 503)
        {
            self.metrics.refused(kind);
        }
        tracing::info!(
            target: "remembrancer::request",
            method = self.method,
            route = self.route(),
            status,
            milliseconds = milliseconds(took),
            bytes_in = self.bytes_in,
            bytes_out = response.body().size_hint().exact(),
            problem = problem.map(Slug::as_str),
            key = response.extensions().get::<KeyId>().map(|KeyId(id)| &**id),
            "request"
        );
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let took = self.begun.elapsed();
        self.metrics.request(self.method, self.route(), None, took);
        tracing::info!(
            target: "remembrancer::request",
            method = self.method,
            route = self.route(),
            milliseconds = milliseconds(took),
            bytes_in = self.bytes_in,
            "request without an answer: its client left, or the server stops"
        );
    }
}

/// The methods that routes take, by name; others are a client's text.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// With three digits behind the point.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// `/metrics`, for those who may read it.
pub(super) fn metrics_route(state: &ApiState) -> Router<ApiState> {
    let route = Router::new().route("/metrics", get(metrics));
    match state.metrics_access {
        MetricsAccess::Open => route,
        MetricsAccess::Loopback => route.layer(middleware::from_fn(require_loopback)),
        MetricsAccess::Key => route
            .layer(middleware::from_fn(require_default_workspace))
            .layer(middleware::from_fn_with_state(
                state.clone(),
                access::require_key,
            )),
    }
}

#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "health",
    responses(
        (status = 200, description = "Counters in the text format that Prometheus reads", body = String, content_type = "text/plain"),
        (status = 401, description = "The server wants a key for this", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("key" = []))
)]
pub(crate) async fn metrics(State(state): State<ApiState>) -> Response {
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], state.metrics.text()).into_response()
}

/// The counters are of all workspaces, which know nothing of each other. Stands behind [`access::require_key`].
async fn require_default_workspace(workspace: Workspace, request: Request, next: Next) -> Response {
    if workspace.reader().location().workspace.is_default() {
        return next.run(request).await;
    }
    Problem::new(
        Slug::Forbidden,
        "the counters are of all workspaces; they are shown to keys of the default one",
    )
    .into_response()
}

async fn require_loopback(request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_local = peer.is_some_and(|ConnectInfo(address)| address.ip().is_loopback());
    if is_local && !is_forwarded(request.headers()) {
        return next.run(request).await;
    }
    Problem::new(
        Slug::Forbidden,
        "the counters are for programs on the server's machine; its setting `metrics` says so",
    )
    .into_response()
}

fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDED.iter().any(|name| headers.contains_key(*name))
}
