//! Errors as clients see them: RFC 9457 problems with stable types, each described in `docs/http-api.md`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use remembrancer_schema::EventError;
use remembrancer_schema::ijson::IJsonError;
use serde::{Serialize, Serializer};

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
    BlobMissing = "blob-missing", UNPROCESSABLE_ENTITY, "A blob is not stored";
    BlobHashMismatch = "blob-hash-mismatch", UNPROCESSABLE_ENTITY, "The bytes have another hash";
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
    Busy = "busy", TOO_MANY_REQUESTS, "The ledger cannot keep up";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The ledger does not write";
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
}

impl Problem {
    /// A problem of a kind.
    pub fn new(kind: Slug, detail: impl Into<String>) -> Self {
        Self {
            kind,
            title: kind.title(),
            status: kind.status().as_u16(),
            detail: detail.into(),
        }
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
        match self.kind {
            Slug::Unauthorized => {
                headers.insert(
                    header::WWW_AUTHENTICATE,
                    HeaderValue::from_static("Bearer realm=\"remembrancer\""),
                );
            }
            Slug::Busy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Slug::Unavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            _ => {}
        }
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
        let kind = match &rejection {
            Rejection::UnknownSession(_) => Slug::UnknownSession,
            Rejection::SessionEnded(_) => Slug::SessionEnded,
            Rejection::SessionAlreadyStarted(_) => Slug::SessionAlreadyStarted,
            Rejection::BlobMissing(_) => Slug::BlobMissing,
            Rejection::IdConflict { .. } => Slug::IdConflict,
            Rejection::EntryTooLarge(_) => Slug::EventTooLarge,
        };
        Self::new(kind, rejection.to_string())
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let kind = match &error {
            LedgerError::NoSession(_) => Slug::NotFound,
            LedgerError::AmbiguousLabel { .. } => Slug::AmbiguousSession,
            LedgerError::BadCursor(_) | LedgerError::OutOfRange { .. } => Slug::InvalidParameter,
            LedgerError::BlobTooLarge { .. } => Slug::BlobTooLarge,
            LedgerError::Busy => Slug::Busy,
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
            _ => return Self::internal(&error),
        };
        Self::new(kind, error.to_string())
    }
}
