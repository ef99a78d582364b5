//! The part of an address that names something.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::problem::{Problem, Slug};

/// The one name in an address, decoded. One that is not UTF-8 is answered as every other problem.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(name) = Path::from_request_parts(parts, state).await.map_err(
            |error: axum::extract::rejection::PathRejection| {
                Problem::new(Slug::InvalidParameter, error.body_text())
            },
        )?;
        Ok(Self(name))
    }
}
