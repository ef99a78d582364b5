//! `/v1/blobs/{hash}`: large contents by the BLAKE3 of their bytes. `/v1/blobs/missing`: which of them are not stored.

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use remembrancer_schema::ContentHash;
use serde::Serialize;

use super::access::Caller;
use super::body;
use super::immutable;
use super::path::Named;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::reader::MISSING_HASHES_MAX;

/// Room for one hash in a body: its digits, quotes, a comma and some white space.
const HASH_BYTES_MAX: usize = 80;

/// The blobs among those asked for that are not stored.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct MissingAnswer {
    /// Their hashes, each once, in the order of the question.
    #[schema(value_type = Vec<String>)]
    missing: Vec<ContentHash>,
}

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
    put, path = "/v1/blobs/{hash}", operation_id = "put_blob", tag = "record",
    params(("hash" = String, Path, description = "BLAKE3 of the bytes, 64 hexadecimal digits")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "Stored", body = BlobAnswer),
        (status = 200, description = "Stored already", body = BlobAnswer),
        (status = 422, description = "The bytes have another hash", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The store of large blobs does not answer", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn put(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(hash): Named,
    Extension(caller): Extension<Caller>,
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
    let (hash, is_new) = workspace
        .ledger()
        .try_store_blob_with(bytes, caller.id)
        .await?;
    drop(place);
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(BlobAnswer { hash, bytes: size })).into_response())
}

#[utoipa::path(
    get, path = "/v1/blobs/{hash}", operation_id = "get_blob", tag = "read",
    params(("hash" = String, Path, description = "BLAKE3 of the bytes, 64 hexadecimal digits")),
    responses(
        (status = 200, description = "The bytes", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 404, description = "Not stored", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "Stored once, but its bytes are missing", body = Problem, content_type = "application/problem+json"),
        (status = 500, description = "Its bytes are not what was stored", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The store of large blobs does not answer", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn get(
    workspace: Workspace,
    Named(hash): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let hash = parse_hash(&hash)?;
    let bytes =
        workspace.reader().blob(&hash).await?.ok_or_else(|| {
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

#[utoipa::path(
    post, path = "/v1/blobs/missing", operation_id = "find_missing_blobs", tag = "record",
    request_body(content = Vec<String>, description = "Hashes: BLAKE3 of the bytes, 64 hexadecimal digits each; at most 10,000"),
    responses(
        (status = 200, description = "Those that are not stored", body = MissingAnswer),
        (status = 400, description = "Not a list of hashes", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Too many hashes", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn missing(
    State(state): State<ApiState>,
    workspace: Workspace,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<MissingAnswer>, Problem> {
    let encoding = body::Encoding::of(&headers)?;
    let bytes_max = MISSING_HASHES_MAX * HASH_BYTES_MAX;
    let upload = body::read(&state, encoding, body, bytes_max, Slug::BatchTooLarge).await?;
    let hashes: Vec<ContentHash> = serde_json::from_slice(&upload.bytes).map_err(|error| {
        Problem::new(
            Slug::InvalidParameter,
            format!("send a JSON array of hashes, each 64 hexadecimal digits: {error}"),
        )
    })?;
    if hashes.len() > MISSING_HASHES_MAX {
        return Err(Problem::new(
            Slug::BatchTooLarge,
            format!(
                "{} hashes; at most {MISSING_HASHES_MAX} may be asked for at once: split the list",
                hashes.len()
            ),
        ));
    }
    let missing = workspace.reader().missing_blobs(&hashes).await?;
    Ok(Json(MissingAnswer { missing }))
}
