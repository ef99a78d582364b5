//! Lists in pages, by opaque cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::LedgerError;
use crate::session::Page;

pub(super) const SESSIONS_CURSOR: &str = "sessions";
pub(super) const ENTRIES_CURSOR: &str = "entries";

pub(super) fn cursor(list: &str, position: i64) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}:{position}"))
}

pub(super) fn parse_cursor(list: &str, cursor: &str) -> Result<i64, LedgerError> {
    let position = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let position: i64 = text.strip_prefix(list)?.strip_prefix(':')?.parse().ok()?;
        (position >= 0).then_some(position)
    };
    position().ok_or_else(|| LedgerError::BadCursor(cursor.chars().take(64).collect()))
}

/// Makes a page of at most `limit` items out of one more than that.
pub(super) fn page<T>(mut items: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Page<T> {
    let is_last = items.len() <= limit as usize;
    items.truncate(limit as usize);
    let next = if is_last {
        None
    } else {
        items.last().map(cursor)
    };
    Page { items, next }
}
