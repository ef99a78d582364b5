//! Request bodies: unpacked, within limits of size, time and memory.

use std::pin::Pin;
use std::sync::Arc;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::io::StreamReader;

use super::problem::{Problem, Slug};
use super::state::ApiState;

/// Largest window of a zstd frame, as a power of two: 8 MiB, what RFC 8878 asks every reader to allow. A frame's header
/// names the memory that reading it takes, so that without a limit a few bytes could ask for gigabytes.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Zstd,
}

impl Encoding {
    /// Refuses an encoding that is not unpacked here.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let (first, second) = (values.next(), values.next());
        let name = first.map_or(&b"identity"[..], |value| value.as_bytes());
        let known = match name.to_ascii_lowercase().as_slice() {
            b"identity" => Some(Self::Identity),
            b"gzip" | b"x-gzip" => Some(Self::Gzip),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        };
        known.filter(|_| second.is_none()).ok_or_else(|| {
            Problem::new(
                Slug::UnsupportedMediaType,
                "bodies may be sent as they are, or with Content-Encoding gzip or zstd",
            )
        })
    }
}

/// A place among the uploads.
pub(crate) type Place = OwnedSemaphorePermit;

/// A body in memory, with the place that it takes among the uploads. Whoever works on the bytes keeps the place until the
/// request is answered: otherwise bodies that were read would wait for the ledger in any number.
pub(crate) struct Upload {
    pub(crate) bytes: Bytes,
    pub(crate) place: Place,
}

/// Reads a body and unpacks it on the way. Memory is bounded by `bytes_max`, and a window, times the uploads at the same time.
pub(crate) async fn read(
    state: &ApiState,
    encoding: Encoding,
    body: Body,
    bytes_max: usize,
    too_large: Slug,
) -> Result<Upload, Problem> {
    let too_large = || {
        Problem::new(
            too_large,
            format!("the body has more than {bytes_max} bytes; nothing was stored"),
        )
    };
    // A body that announces too much is refused before it is sent, packed or not.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let place = Arc::clone(&state.uploads)
        .try_acquire_owned()
        .map_err(|_| {
            Problem::new(
                Slug::Busy,
                "too many bodies are being taken in; nothing was stored, try again shortly",
            )
        })?;
    let reading = async {
        if encoding == Encoding::Identity {
            return collected(body, bytes_max).await;
        }
        let mut bytes = Vec::new();
        unpacked(encoding, body)
            .take(bytes_max as u64 + 1)
            .read_to_end(&mut bytes)
            .await
            .map(|_| bytes)
    };
    let mut bytes = tokio::time::timeout(state.limits.upload_time(), reading)
        .await
        .map_err(|_| {
            Problem::new(
                Slug::Timeout,
                "the body did not arrive in time; nothing was stored",
            )
        })?
        .map_err(|error| {
            tracing::debug!(%error, "a body could not be read");
            Problem::new(
                Slug::BadEncoding,
                "the body ended early or is not what its Content-Encoding says; zstd windows may have at most 8 MiB",
            )
        })?;
    if bytes.len() > bytes_max {
        return Err(too_large());
    }
    // What reading reserved beyond the body is given back: the bytes may wait in the ledger's queue.
    bytes.shrink_to_fit();
    Ok(Upload {
        bytes: Bytes::from(bytes),
        place,
    })
}

/// A body that is not packed, read until it ends or has too much. Room is made once for what it announces, which is no more
/// than a body may have.
async fn collected(body: Body, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let announced = body.size_hint().lower();
    let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or(0).min(bytes_max));
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.try_next().await.map_err(std::io::Error::other)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > bytes_max {
            break;
        }
    }
    Ok(bytes)
}

fn unpacked(encoding: Encoding, body: Body) -> Pin<Box<dyn AsyncRead + Send>> {
    let packed = StreamReader::new(body.into_data_stream().map_err(std::io::Error::other));
    match encoding {
        Encoding::Identity => Box::pin(packed),
        Encoding::Gzip => {
            let mut reader = GzipDecoder::new(packed);
            reader.multiple_members(true);
            Box::pin(reader)
        }
        Encoding::Zstd => {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX);
            let mut reader = ZstdDecoder::with_params(packed, &[window]);
            reader.multiple_members(true);
            Box::pin(reader)
        }
    }
}
