//! HTTP alone: the same requests are read, their events parsed and answered at the same length, and nothing is stored. What
//! it reaches is the most that anything behind this HTTP server could.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use bytes::Bytes;
use remembrancer_recorder::OwnedEvent;

use crate::{Measured, client, server};

/// Length of the answer to one event, receipt included.
const ANSWER_BYTES: usize = 640;

pub(crate) fn send_all(runtime: &tokio::runtime::Runtime, clients: Vec<Vec<Vec<u8>>>) -> Measured {
    let router = Router::new().route("/v1/events", post(answer));
    let (address, serving) = runtime.block_on(server::serve(router));
    let measured = client::send_all(address, clients);
    serving.abort();
    measured
}

async fn answer(body: Bytes) -> impl IntoResponse {
    let event = OwnedEvent::parse(body).unwrap();
    let mut answer = event.id.to_string();
    answer.extend(std::iter::repeat_n('x', ANSWER_BYTES - answer.len()));
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::CREATED, headers, answer)
}
