//! Errors as clients see them: RFC 9457 problems with stable types, each described in `docs/http-api.md`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use remembrancer_schema::EventError;
use remembrancer_schema::ijson::IJsonError;
use serde::{Serialize, Serializer};

use crate::blob_store::BlobStoreError;
use crate::error::LedgerError;
use crate::incoming::Rejection;

const URN: &str = "urn:remembrancer:problem:";

macro_rules! slugs {
    ($($(#[$doc:meta])* $name:ident = $slug:literal, $status:ident, $title:literal;)*) => {
        /// The kinds of problem. Their names never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Slug {
            $($(#[$doc])* #[doc = $title] $name,)*
        }

        impl Slug {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The kind as it is written after `urn:remembrancer:problem:`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// The kind in words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Status code of a response that is this problem.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }
        }
    };
}

slugs! {
    NotJson = "not-json", BAD_REQUEST, "Not JSON";
    DuplicateName = "not-i-json#duplicate-name", BAD_REQUEST, "An object has the same name twice";
    NumberOutOfRange = "not-i-json#number-out-of-range", BAD_REQUEST, "A number is outside ±(2^53−1) or does not survive an IEEE 754 double";
    LoneSurrogate = "not-i-json#lone-surrogate", BAD_REQUEST, "A string holds a lone surrogate";
    TooDeep = "not-i-json#too-deep", BAD_REQUEST, "Nested too deeply";
    InvalidEvent = "invalid-event", UNPROCESSABLE_ENTITY, "Not an event";
    UnknownType = "unknown-type", UNPROCESSABLE_ENTITY, "Unknown event type";
    UnknownSession = "unknown-session", CONFLICT, "The session is not started";
    SessionEnded = "session-ended", CONFLICT, "The session has ended";
    SessionAlreadyStarted = "session-already-started", CONFLICT, "The session is already started";
    IdConflict = "id-conflict", CONFLICT, "The id stands for another event";
    Reserved = "reserved", UNPROCESSABLE_ENTITY, "The recorder alone writes this";
    BlobMissing = "blob-missing", UNPROCESSABLE_ENTITY, "A blob is not stored";
    BlobHashMismatch = "blob-hash-mismatch", UNPROCESSABLE_ENTITY, "The bytes have another hash";
    BlobLost = "blob-lost", GONE, "The bytes of a recorded blob are missing";
    BlobDamaged = "blob-damaged", INTERNAL_SERVER_ERROR, "A recorded blob has other bytes than its address says";
    EventTooLarge = "event-too-large", PAYLOAD_TOO_LARGE, "The event is too large";
    BatchTooLarge = "batch-too-large", PAYLOAD_TOO_LARGE, "The batch is too large";
    BlobTooLarge = "blob-too-large", PAYLOAD_TOO_LARGE, "The blob is too large";
    BadEncoding = "bad-encoding", BAD_REQUEST, "The body cannot be unpacked";
    UnsupportedMediaType = "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type or encoding";
    InvalidParameter = "invalid-parameter", BAD_REQUEST, "A parameter is not valid";
    Unauthorized = "unauthorized", UNAUTHORIZED, "No valid bearer key";
    Forbidden = "forbidden", FORBIDDEN, "The key may not do this";
    NotFound = "not-found", NOT_FOUND, "Not found";
    MethodNotAllowed = "method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    AmbiguousSession = "ambiguous-session", CONFLICT, "Several sessions have this label";
    Timeout = "timeout", REQUEST_TIMEOUT, "The request took too long";
    RateLimited = "rate-limited", TOO_MANY_REQUESTS, "Too many requests with this key";
    Busy = "busy", TOO_MANY_REQUESTS, "The ledger cannot keep up";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The ledger does not write";
    TooManyConnections = "too-many-connections", SERVICE_UNAVAILABLE, "Too many connections";
    Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error";
}

impl Slug {
    /// The problem's `type`.
    pub fn urn(self) -> String {
        format!("{URN}{}", self.as_str())
    }
}

impl Serialize for Slug {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.urn())
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// Its kind: a URN that never changes.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: Slug,
    /// The kind in words.
    pub title: &'static str,
    /// The HTTP status code.
    pub status: u16,
    /// What happened here, and what to do.
    pub detail: String,
    /// Seconds to wait, where the kind alone does not say how many.
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

/// Seconds to wait where a client can try again soon, and where somebody has to do something first.
const SOON_SECONDS: u64 = 1;
const LATER_SECONDS: u64 = 10;

impl Problem {
    /// A problem of a kind.
    pub fn new(kind: Slug, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title: kind.title(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// Seconds after which to try again; `None` where that does not help.
    pub fn seconds_to_wait(&self) -> Option<u64> {
        self.retry_after.or(match self.kind {
            Slug::Busy | Slug::RateLimited | Slug::TooManyConnections => Some(SOON_SECONDS),
            Slug::Unavailable => Some(LATER_SECONDS),
            _ => None,
        })
    }

    /// Too many requests with a key.
    pub(crate) fn rate_limited(seconds: u64, detail: impl Into<String>) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::new(Slug::RateLimited, detail)
        }
    }

    /// A blob that cannot be had. Where it should be stays in the log.
    fn lost(kind: Slug, error: &LedgerError) -> Self {
        tracing::error!(%error, "a blob cannot be had");
        let told = error.blob_loss().unwrap_or_default();
        Self::new(kind, format!("{told}; the server's log says where"))
    }

    /// A problem of ours: logged whole, answered with a fixed text, since the cause may name paths and statements.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "internal error");
        Self::new(
            Slug::Internal,
            "an internal error occurred; the server's log has the cause",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.kind.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if self.kind == Slug::Unauthorized {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"remembrancer\""),
            );
        }
        if let Some(seconds) = self.seconds_to_wait() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self.kind);
        // For routes whose clients expect another form of it.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<EventError> for Problem {
    fn from(error: EventError) -> Self {
        let kind = match &error {
            EventError::TooLarge { .. } => Slug::EventTooLarge,
            EventError::NotIJson(IJsonError::NotJson(_)) => Slug::NotJson,
            EventError::NotIJson(IJsonError::DuplicateName { .. }) => Slug::DuplicateName,
            EventError::NotIJson(IJsonError::NumberOutOfRange { .. }) => Slug::NumberOutOfRange,
            EventError::NotIJson(IJsonError::LoneSurrogate(_)) => Slug::LoneSurrogate,
            EventError::NotIJson(IJsonError::TooDeep) => Slug::TooDeep,
            EventError::UnknownType(_) => Slug::UnknownType,
            EventError::Envelope(_)
            | EventError::Name(_)
            | EventError::Time(_)
            | EventError::Payload(_)
            | EventError::TooManyBlobs(_) => Slug::InvalidEvent,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        Self::new(Slug::from(&rejection), rejection.to_string())
    }
}

impl From<&Rejection> for Slug {
    fn from(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::UnknownSession(_) => Self::UnknownSession,
            Rejection::SessionEnded(_) => Self::SessionEnded,
            Rejection::SessionAlreadyStarted(_) => Self::SessionAlreadyStarted,
            Rejection::BlobMissing(_) => Self::BlobMissing,
            Rejection::IdConflict { .. } => Self::IdConflict,
            Rejection::Reserved => Self::Reserved,
            Rejection::EntryTooLarge(_) => Self::EventTooLarge,
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let kind = match &error {
            LedgerError::NoSession(_) => Slug::NotFound,
            LedgerError::AmbiguousLabel { .. } => Slug::AmbiguousSession,
            LedgerError::BadCursor(_) | LedgerError::OutOfRange { .. } => Slug::InvalidParameter,
            LedgerError::BlobStore(BlobStoreError::TooLarge { .. }) => Slug::BlobTooLarge,
            LedgerError::BlobMissing { .. } => return Self::lost(Slug::BlobLost, &error),
            LedgerError::BlobDamaged { .. }
            | LedgerError::BlobStore(BlobStoreError::Occupied { .. }) => {
                return Self::lost(Slug::BlobDamaged, &error);
            }
            LedgerError::BlobStore(
                BlobStoreError::Unavailable { .. }
                | BlobStoreError::NotClaimed { .. }
                | BlobStoreError::AnotherLedger { .. },
            ) => {
                tracing::error!(%error, "the store of blobs does not do its work");
                return Self::new(
                    Slug::Unavailable,
                    "the store of large blobs does not answer at the moment; what was not acknowledged is not stored, try again shortly",
                );
            }
            LedgerError::BlobCondemned(_) => Slug::Unavailable,
            LedgerError::Busy => Slug::Busy,
            LedgerError::KeyRefused => Slug::Unauthorized,
            LedgerError::NoToken(_) => Slug::NotFound,
            LedgerError::TokenName(_) => Slug::InvalidParameter,
            LedgerError::TooManyAttempts { seconds } => {
                return Self::rate_limited(*seconds, error.to_string());
            }
            LedgerError::Database(sqlx::Error::PoolTimedOut) => {
                return Self::new(
                    Slug::Busy,
                    "too much is being read at the moment; try again shortly",
                );
            }
            LedgerError::Stopped(_)
            | LedgerError::InDoubt(_)
            | LedgerError::NotStored(_)
            | LedgerError::Database(sqlx::Error::PoolClosed) => {
                tracing::error!(%error, "the ledger does not write");
                return Self::new(
                    Slug::Unavailable,
                    "the ledger does not write at the moment; send again what was not acknowledged",
                );
            }
            LedgerError::Database(source) if is_cut(source) => {
                tracing::error!(%error, "the connection to the database broke");
                return Self::new(
                    Slug::Unavailable,
                    "the database does not answer at the moment; try again shortly",
                );
            }
            // The reason was logged when it did not open.
            LedgerError::WorkspaceUnavailable { .. } => {
                return Self::new(
                    Slug::Unavailable,
                    "this workspace cannot be used at the moment; the server's log has the cause",
                );
            }
            _ => return Self::internal(&error),
        };
        Self::new(kind, error.to_string())
    }
}

/// Whether a statement failed because its connection was gone: the network broke, or the server ends its connections
/// (SQLSTATE classes 08 and 57P).
fn is_cut(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(source) => source
            .code()
            .is_some_and(|code| code.starts_with("08") || code.starts_with("57P")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_try_again_is_told_when() {
        let text = || "a test's".to_owned();
        for (error, status, seconds) in [
            (LedgerError::Busy, 429, "1"),
            (LedgerError::Database(sqlx::Error::PoolTimedOut), 429, "1"),
            (LedgerError::NotStored(text()), 503, "10"),
            (LedgerError::InDoubt(text()), 503, "10"),
            (LedgerError::Stopped(text()), 503, "10"),
            (LedgerError::Database(sqlx::Error::PoolClosed), 503, "10"),
            (
                LedgerError::Database(
                    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into(),
                ),
                503,
                "10",
            ),
        ] {
            let shown = error.to_string();
            let response = Problem::from(error).into_response();
            assert_eq!(response.status().as_u16(), status, "{shown}");
            assert_eq!(response.headers()[header::RETRY_AFTER], seconds, "{shown}");
        }
        let unknown = Problem::from(LedgerError::Database(sqlx::Error::RowNotFound));
        assert_eq!(unknown.into_response().status().as_u16(), 500);
        for kind in Slug::ALL {
            let response = Problem::new(*kind, "").into_response();
            let is_told = response.headers().contains_key(header::RETRY_AFTER);
            let can_wait = matches!(kind.status().as_u16(), 429 | 503);
            assert_eq!(is_told, can_wait, "{}", kind.as_str());
        }
    }
}
