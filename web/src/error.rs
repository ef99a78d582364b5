//! What a visitor is told when a page cannot be shown: fixed texts, never internal ones.

use askama::Template;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use remembrancer_recorder::LedgerError;
use serde::de::DeserializeOwned;

use crate::page::{Page, Shell};
use crate::source::SourceError;

/// What is said of a record that cannot be read, whatever the cause.
pub(crate) const UNREADABLE: &str = "The record of this session could not be read as it was written: it is damaged, or the ledger's file cannot be read.";

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error("no such {0}")]
    NotFound(&'static str),
    #[error("the request was not understood")]
    BadRequest,
    #[error("the request came from another site")]
    Forbidden,
    #[error("the request names a host that is not served here")]
    Misdirected,
    /// The session is there, but its record cannot be read as it was written.
    #[error("the record of session {number} cannot be read: {error}")]
    Unreadable { number: i64, error: SourceError },
    #[error(transparent)]
    Source(SourceError),
    #[error("{0}")]
    Internal(String),
}

impl From<SourceError> for PageError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Ledger(LedgerError::BadCursor(_)) => Self::BadRequest,
            SourceError::Ledger(LedgerError::NoSession(_)) => Self::NotFound("session"),
            error => Self::Source(error),
        }
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorView {
    shell: Shell,
    title: &'static str,
    text: String,
    /// Where the integrity of the session that this is about can be read.
    integrity: Option<String>,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, title, text) = match &self {
            Self::NotFound(what) => (
                StatusCode::NOT_FOUND,
                "Not found",
                format!("There is no such {what} in this ledger. Follow a link from the list of sessions."),
            ),
            Self::BadRequest => (
                StatusCode::BAD_REQUEST,
                "Not understood",
                "This address or form could not be read. Follow a link instead of editing the address.".to_owned(),
            ),
            Self::Forbidden => (
                StatusCode::FORBIDDEN,
                "Refused",
                "The form was sent from another site, so nothing was done. Open the viewer directly and try again."
                    .to_owned(),
            ),
            Self::Misdirected => (
                StatusCode::MISDIRECTED_REQUEST,
                "Another host",
                "The viewer does not answer to this host name. Open it by localhost or by a name that it was started with."
                    .to_owned(),
            ),
            Self::Unreadable { error, .. } => {
                tracing::error!(error = %self, "a session could not be read");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "This record is damaged",
                    match error.damage() {
                        Some(damage) => format!("{UNREADABLE} What was found: {damage}"),
                        None => UNREADABLE.to_owned(),
                    },
                )
            }
            Self::Source(_) | Self::Internal(_) => {
                tracing::error!(error = %self, "a page could not be shown");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "The page could not be made",
                    "The reason stands in the server's log. The record itself is not changed by viewing it.".to_owned(),
                )
            }
        };
        let view = ErrorView {
            shell: Shell::bare(),
            title,
            text,
            integrity: match &self {
                Self::Unreadable { number, .. } => Some(format!("/sessions/{number}/integrity")),
                _ => None,
            },
        };
        (status, Page(view)).into_response()
    }
}

/// Path parameters; anything that is not one of our numbers is an address that does not exist.
pub(crate) struct Ids<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Ids<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let Path(ids) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| PageError::NotFound("page"))?;
        Ok(Self(ids))
    }
}

/// Query parameters.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        let Query(params) = Query::from_request_parts(parts, state)
            .await
            .map_err(|_| PageError::BadRequest)?;
        Ok(Self(params))
    }
}
