//! The stylesheet and the icon, within the binary, under addresses that name their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use remembrancer_schema::hash::sha256;

use crate::error::PageError;

/// The stylesheet of pages and reports.
pub(crate) const STYLESHEET: &str = include_str!("../assets/viewer.css");
const ICON: &[u8] = include_bytes!("../assets/icon.svg");

static STYLESHEET_NAME: LazyLock<String> = LazyLock::new(|| named(STYLESHEET.as_bytes(), "css"));
static ICON_NAME: LazyLock<String> = LazyLock::new(|| named(ICON, "svg"));

/// Address of the stylesheet.
pub(crate) fn stylesheet_url() -> String {
    format!("/assets/{}", *STYLESHEET_NAME)
}

/// Address of the icon.
pub(crate) fn icon_url() -> String {
    format!("/assets/{}", *ICON_NAME)
}

pub(crate) async fn serve(Path(name): Path<String>) -> Result<Response, PageError> {
    let (kind, bytes) = if name == *STYLESHEET_NAME {
        ("text/css; charset=utf-8", STYLESHEET.as_bytes())
    } else if name == *ICON_NAME {
        ("image/svg+xml", ICON)
    } else {
        return Err(PageError::NotFound("page"));
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, bytes).into_response())
}

fn named(bytes: &[u8], extension: &str) -> String {
    format!("{}.{extension}", hex::encode(&sha256(bytes)[..8]))
}
