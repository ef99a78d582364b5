//! The site map.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use crate::error::PageError;
use crate::pages::{
    action, constraint, evidence, findings, help, integrity, login, mutation, rejected, session,
    sessions, turn,
};
use crate::state::ViewerState;
use crate::{assets, guard};

/// Largest form, in bytes.
const FORM_BYTES_MAX: usize = 8 * 1024;

/// The viewer. Its fallback answers addresses that do not exist with a page of its own.
pub fn router(state: ViewerState) -> Router {
    let behind_sign_in = Router::new()
        .route("/", get(sessions::list))
        .route("/rejected", get(rejected::list))
        .route("/sessions/{number}", get(session::replay))
        .route("/sessions/{number}/turns/{turn}", get(turn::context))
        .route(
            "/sessions/{number}/mutations/{mutation}",
            get(mutation::change),
        )
        .route("/sessions/{number}/actions/{action}", get(action::call))
        .route(
            "/sessions/{number}/constraints/{constraint}",
            get(constraint::lifeline),
        )
        .route(
            "/sessions/{number}/evidence/{action}/{constraint}",
            get(evidence::card),
        )
        .route("/sessions/{number}/findings", get(findings::list))
        .route("/sessions/{number}/integrity", get(integrity::panel))
        .layer(from_fn_with_state(state.clone(), guard::signed_in));
    Router::new()
        .merge(behind_sign_in)
        .route("/login", get(login::form).post(login::with_key))
        .route("/login/{code}", get(login::with_code))
        .route("/logout", post(login::out))
        .route("/help", get(help::states))
        .route("/assets/{name}", get(assets::serve))
        .fallback(|| async { PageError::NotFound("page") })
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), guard::host))
        .layer(from_fn(guard::headers))
        .with_state(state)
}
