//! `/tlog/…`: the ledger as a tiled transparency log, C2SP `tlog-tiles`. Any client of such logs can follow it from here.

use std::io::Cursor;

use async_compression::Level;
use async_compression::tokio::bufread::GzipEncoder;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use remembrancer_schema::ContentHash;
use remembrancer_schema::tile::{Tile, TileError, TileIndex};
use tokio_util::io::ReaderStream;

use super::path::Named;
use super::problem::{Problem, Slug};
use super::workspace::Workspace;
use super::{immutable, proofs};

/// The same address is another ledger's with another key, and a bundle may come packed.
const VARY: &str = "authorization, accept-encoding";

#[utoipa::path(
    get, path = "/tlog/checkpoint", operation_id = "get_tlog_checkpoint", tag = "proofs",
    responses(
        (status = 200, description = "The newest signed checkpoint, with the signatures of witnesses", body = String, content_type = "text/plain"),
        (status = 404, description = "The ledger is empty, or not enough witnesses have signed yet", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn checkpoint(workspace: Workspace) -> Result<Response, Problem> {
    proofs::checkpoint(workspace).await
}

#[utoipa::path(
    get, path = "/tlog/tile/{level}/{tile}", operation_id = "get_tlog_tile", tag = "proofs",
    params(
        ("level" = u32, Path, description = "Level of the tile, from 0"),
        ("tile" = String, Path, description = "Number in groups of three digits with slashes between them, and `.p/W` for the first W hashes: `x001/x234/067.p/8`"),
    ),
    responses(
        (status = 200, description = "Hashes of the tree, 32 bytes each", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, description = "Not the address of a tile", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "The tree has not grown so far", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn tile(
    workspace: Workspace,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let tile = Tile::parse(&name).map_err(bad_address)?;
    let bytes = workspace.reader().tile(tile).await?.ok_or_else(not_yet)?;
    // Hashes do not pack.
    Ok(forever(&headers, bytes, false))
}

#[utoipa::path(
    get, path = "/tlog/tile/entries/{tile}", operation_id = "get_tlog_entries", tag = "proofs",
    params(("tile" = String, Path, description = "As for a tile of level 0: the entries that its hashes are of")),
    responses(
        (status = 200, description = "Entries, each behind its length in two bytes, the higher first", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, description = "Not the address of a tile", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "The ledger has not grown so far", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn entries(
    workspace: Workspace,
    Named(name): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let index = TileIndex::parse(&name).map_err(bad_address)?;
    let bytes = workspace.reader().entry_bundle(index).await?;
    Ok(forever(
        &headers,
        bytes.ok_or_else(not_yet)?,
        takes_gzip(&headers),
    ))
}

fn bad_address(error: TileError) -> Problem {
    Problem::new(Slug::InvalidParameter, error.to_string())
}

fn not_yet() -> Problem {
    Problem::new(
        Slug::NotFound,
        "the tree has not grown so far; a checkpoint says how far it has",
    )
}

/// Bytes that never change, packed if asked for.
fn forever(headers: &HeaderMap, bytes: Vec<u8>, is_packed: bool) -> Response {
    let mut tag = ContentHash::of(&bytes).to_string();
    if is_packed {
        tag.push_str("-gzip");
    }
    let mut response = immutable(headers, &tag, || {
        let body = if is_packed {
            // Packed piece by piece, while it is sent.
            let packed = GzipEncoder::with_quality(Cursor::new(bytes), Level::Fastest);
            Body::from_stream(ReaderStream::new(packed))
        } else {
            Body::from(bytes)
        };
        let mut response = body.into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        );
        if is_packed {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    });
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// Whether a client says that it takes gzip (RFC 9110 §12.5.3). One that says nothing gets the bytes as they are.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let codings = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let mut takes_any = false;
    for coding in codings {
        let mut fields = coding.split(';').map(str::trim);
        let name = fields.next().unwrap_or_default();
        let is_refused = fields
            .filter_map(|field| field.split_once('='))
            .any(|(name, weight)| {
                name.trim().eq_ignore_ascii_case("q")
                    && weight
                        .trim()
                        .parse::<f32>()
                        .is_ok_and(|weight| weight <= 0.0)
            });
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return !is_refused;
        }
        takes_any |= name == "*" && !is_refused;
    }
    takes_any
}
