//! The workspace of a request: the one that its key names. No address names one.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::problem::Problem;
use crate::ledger::Ledger;
use crate::reader::Reader;

/// The ledger that a request works on, and the only one that it reaches. The check of the key puts it into the request;
/// handlers take it from there.
#[derive(Clone)]
pub(crate) struct Workspace(pub(crate) Ledger);

impl Workspace {
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0
    }

    pub(crate) fn reader(&self) -> &Reader {
        self.0.reader()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Workspace {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| {
            Problem::internal(&"a request came to its handler without its workspace")
        })
    }
}
