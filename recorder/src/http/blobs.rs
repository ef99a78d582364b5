//! `/v1/blobs/{hash}`: large contents by the BLAKE3 of their bytes.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use remembrancer_schema::ContentHash;
use serde::Serialize;

use super::body;
use super::immutable;
use super::path::Named;
use super::problem::{Problem, Slug};
use super::state::ApiState;

/// A blob that is stored.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BlobAnswer {
    /// Its address.
    #[schema(value_type = String)]
    hash: ContentHash,
    /// Its size.
    bytes: usize,
}

fn parse_hash(text: &str) -> Result<ContentHash, Problem> {
    text.parse()
        .map_err(|error: remembrancer_schema::hash::HashError| {
            Problem::new(Slug::InvalidParameter, error.to_string())
        })
}

#[utoipa::path(
    put, path = "/v1/blobs/{hash}", tag = "record",
    params(("hash" = String, Path, description = "BLAKE3 of the bytes, 64 hexadecimal digits")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "Stored", body = BlobAnswer),
        (status = 200, description = "Stored already", body = BlobAnswer),
        (status = 422, description = "The bytes have another hash", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn put(
    State(state): State<ApiState>,
    Named(hash): Named,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let hash = parse_hash(&hash)?;
    let encoding = body::Encoding::of(&headers)?;
    let body::Upload { bytes, place } = body::read(
        &state,
        encoding,
        body,
        state.limits.blob_bytes_max,
        Slug::BlobTooLarge,
    )
    .await?;
    let size = bytes.len();
    let found = ContentHash::of(&bytes);
    if found != hash {
        return Err(Problem::new(
            Slug::BlobHashMismatch,
            format!("the {size} bytes sent have the BLAKE3 hash {found}; nothing was stored"),
        ));
    }
    let (hash, is_new) = state.ledger.try_store_blob(bytes).await?;
    drop(place);
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(BlobAnswer { hash, bytes: size })).into_response())
}

#[utoipa::path(
    get, path = "/v1/blobs/{hash}", tag = "read",
    params(("hash" = String, Path, description = "BLAKE3 of the bytes, 64 hexadecimal digits")),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 404, description = "Not stored", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn get(
    State(state): State<ApiState>,
    Named(hash): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let hash = parse_hash(&hash)?;
    let bytes =
        state.reader().blob(&hash).await?.ok_or_else(|| {
            Problem::new(Slug::NotFound, format!("blob {hash} is not stored here"))
        })?;
    // Recorded text is hostile: it is handed out as bytes to be saved, never as a page to be shown.
    let mut response = immutable(&headers, &hash.to_string(), || bytes.into_response());
    response.headers_mut().insert(
        header::CONTENT_DISPOSITION,
        header::HeaderValue::from_static("attachment"),
    );
    Ok(response)
}
