//! The witness over HTTP: `POST /add-checkpoint`, and its key for people. Requests carry no key: what counts is the ledger's
//! signature.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};

use super::{BODY_BYTES_MAX, Refusal, Witness};

/// Media type of a size that is told.
const SIZE_TYPE: &str = "text/x.tlog.size";

/// The routes of a witness.
pub(crate) fn router(witness: Arc<Witness>) -> Router {
    Router::new()
        .route("/add-checkpoint", post(add_checkpoint))
        .route("/verifier-key", get(verifier_key))
        .route("/healthz", get(async || "ok\n"))
        .with_state(witness)
}

async fn add_checkpoint(State(witness): State<Arc<Witness>>, body: Body) -> Response {
    let Ok(bytes) = axum::body::to_bytes(body, BODY_BYTES_MAX).await else {
        let told = format!("the body does not arrive, or has more than {BODY_BYTES_MAX} bytes\n");
        return (StatusCode::PAYLOAD_TOO_LARGE, told).into_response();
    };
    // It waits for the disk.
    let judged = tokio::task::spawn_blocking(move || {
        let body = std::str::from_utf8(&bytes)
            .map_err(|_| Refusal::Malformed("the body is not UTF-8".to_owned()))?;
        witness.add_checkpoint(body)
    })
    .await;
    match judged {
        Ok(Ok(line)) => {
            ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], line).into_response()
        }
        Ok(Err(refusal)) => answer(&refusal),
        Err(error) => {
            tracing::error!(%error, "a checkpoint was not looked at");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn answer(refusal: &Refusal) -> Response {
    let (status, told) = match refusal {
        Refusal::OtherSize(size) | Refusal::Fork(size) => {
            let size_type = [(header::CONTENT_TYPE, SIZE_TYPE)];
            return (StatusCode::CONFLICT, size_type, format!("{size}\n")).into_response();
        }
        Refusal::Malformed(why) => (StatusCode::BAD_REQUEST, why.clone()),
        Refusal::UnknownLedger(origin) => (
            StatusCode::NOT_FOUND,
            format!("this witness signs for no ledger called {origin}"),
        ),
        Refusal::NotSigned => (
            StatusCode::FORBIDDEN,
            "no signature by the key that this witness knows of the ledger".to_owned(),
        ),
        Refusal::NotProven(why) => (StatusCode::UNPROCESSABLE_ENTITY, why.clone()),
        Refusal::NotKept(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "the checkpoint cannot be remembered, so it is not signed".to_owned(),
        ),
    };
    (status, format!("{told}\n")).into_response()
}

async fn verifier_key(State(witness): State<Arc<Witness>>) -> String {
    format!("{}\n", witness.verifier_key())
}
