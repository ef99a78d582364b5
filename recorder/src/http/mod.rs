//! The HTTP API that agents post to and auditors read from. Documented in `docs/http-api.md`.

mod access;
mod blobs;
mod body;
mod description;
mod events;
mod intake;
mod keys;
mod observe;
mod path;
mod problem;
mod proofs;
mod rates;
mod schemas;
mod sessions;
mod shapes;
mod state;
mod tlog;
mod workspace;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, delete, get, post, put};
use axum::{Json, Router};

pub use intake::{Intake, IntakeAnswer, IntakeDescription, IntakeRequest};
pub use observe::{MetricsAccess, observed};
pub use problem::{Problem, Slug};
pub use state::{ApiState, BundleMaker};

use crate::limits::Limits;

/// The whole API: `/v1/…` and `/tlog/…` behind bearer keys; health and description without.
pub fn router(state: ApiState) -> Router {
    let admin = Router::new()
        .route("/v1/keys", get(keys::list).post(keys::create))
        .route("/v1/keys/{id}", delete(keys::revoke))
        .route_layer(middleware::from_fn(access::require_admin));
    let v1 = Router::new()
        .route("/v1/blobs/missing", post(blobs::missing))
        .route("/v1/blobs/{hash}", put(blobs::put).get(blobs::get))
        .route("/v1/sessions", get(sessions::list))
        .route("/v1/sessions/{session}", get(sessions::one))
        .route("/v1/sessions/{session}/entries", get(sessions::entries))
        .route("/v1/sessions/{session}/presence", get(sessions::presence))
        .route("/v1/sessions/{session}/mutations", get(sessions::mutations))
        .route("/v1/sessions/{session}/price", get(sessions::price))
        .route("/v1/sessions/{session}/findings", get(sessions::findings))
        .route("/v1/sessions/{session}/bundle", get(sessions::bundle))
        .route("/v1/entries/{index}", get(sessions::entry))
        .route("/v1/checkpoint", get(proofs::checkpoint))
        .route("/v1/proofs/inclusion", get(proofs::inclusion))
        .route("/v1/proofs/consistency", get(proofs::consistency))
        .route("/v1/verifier-key", get(proofs::verifier_key))
        .route("/v1/limits", get(limits))
        .route("/tlog/checkpoint", get(tlog::checkpoint))
        .route("/tlog/tile/entries/{*tile}", get(tlog::entries))
        .route("/tlog/tile/{*tile}", get(tlog::tile))
        .merge(admin)
        .method_not_allowed_fallback(method_not_allowed)
        .route("/v1", any(not_found))
        .route("/v1/", any(not_found))
        .route("/v1/{*rest}", any(not_found))
        .route("/tlog", any(not_found))
        .route("/tlog/", any(not_found))
        .route("/tlog/{*rest}", any(not_found))
        .layer(middleware::from_fn_with_state(state.clone(), access::guard))
        // Where agents post most: guarded within its handlers.
        .route(
            "/v1/events",
            post(events::post).fallback(events::other_method),
        )
        .merge(intake::routes(&state));
    Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/openapi.json", get(description::serve))
        .merge(observe::metrics_route(&state))
        .layer(middleware::map_response(secured))
        .merge(v1)
        .with_state(state)
}

#[utoipa::path(
    get, path = "/v1/limits", operation_id = "get_limits", tag = "record",
    responses((status = 200, description = "The limits of this server", body = Limits)),
    security(("key" = []))
)]
async fn limits(State(state): State<ApiState>) -> Json<Limits> {
    Json((*state.limits).clone())
}

#[utoipa::path(
    get, path = "/healthz", operation_id = "get_health", tag = "health",
    responses((status = 200, description = "The process answers", body = String, content_type = "text/plain"))
)]
async fn healthy() -> &'static str {
    "ok\n"
}

#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readiness", tag = "health",
    responses(
        (status = 200, description = "The default workspace's ledger writes; a line for each other one that does not", body = String, content_type = "text/plain"),
        (status = 503, description = "The default workspace's ledger does not write", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn ready(State(state): State<ApiState>) -> Result<String, Problem> {
    let workspaces = &state.workspaces;
    if workspaces.default_ledger().stopped().is_some() {
        return Err(Problem::new(
            Slug::Unavailable,
            "the ledger does not write at the moment; the server's log has the cause, and it begins again by itself",
        ));
    }
    workspaces.default_ledger().reader().size().await?;
    // One that does not write is no reason to send nobody here any more: the others do. Why it does not is in the log alone.
    let mut answer = "ready\n".to_owned();
    for other in workspaces.standing() {
        if other.problem.is_some() {
            answer.push_str(&format!("workspace {} does not write\n", other.name));
        }
    }
    Ok(answer)
}

async fn not_found() -> Problem {
    Problem::new(
        Slug::NotFound,
        "there is nothing at this address; /openapi.json lists what there is",
    )
}

async fn method_not_allowed() -> Problem {
    Problem::new(
        Slug::MethodNotAllowed,
        "this address takes another method; /openapi.json lists them",
    )
}

/// Headers of every answer. What is not marked immutable by its handler is not kept by anyone on the way.
fn secure(headers: &mut HeaderMap) {
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

async fn secured(mut response: Response) -> Response {
    secure(response.headers_mut());
    response
}

/// Answers with what never changes, or 304 to a client that has it.
fn immutable(request: &HeaderMap, tag: &str, response: impl FnOnce() -> Response) -> Response {
    let mut response = tagged(request, tag, response);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=31536000, immutable"),
    );
    response
}

/// Answers with a tag, or 304 to a client that has what the tag stands for.
fn tagged(request: &HeaderMap, tag: &str, response: impl FnOnce() -> Response) -> Response {
    let tag = format!("\"{tag}\"");
    let has_it = request
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|candidate| candidate.trim().trim_start_matches("W/") == tag);
    let mut response = if has_it {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        response()
    };
    if let Ok(value) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, value);
    }
    response
}

#[cfg(test)]
mod tests;
