//! Rows as the server sends them, and what they are here. One that cannot have been written is an error.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::text::from_stored;
use crate::session::{SessionColumns, SessionSummary};
use crate::store::columns;
use crate::store::{CheckpointRow, EntryPage, EntryRow, PageLimits, Result};
use crate::token::KeyRow;

/// A page has at least one row, so that at least one byte is asked for.
pub(super) fn bytes_max(limits: PageLimits) -> i64 {
    i64::try_from(limits.bytes.max(1)).unwrap_or(i64::MAX)
}

/// A page from the rows of `select_page`.
pub(super) fn page(rows: &[PgRow], limits: PageLimits) -> Result<EntryPage> {
    let available = match rows.first() {
        Some(row) => count(row, "available")?,
        None => 0,
    };
    let rows = rows
        .iter()
        .take(limits.rows.max(1) as usize)
        .map(entry_from_row)
        .collect::<Result<Vec<_>>>()?;
    Ok(EntryPage {
        has_more: available > rows.len() as u64,
        rows,
    })
}

pub(super) fn entry_from_row(row: &PgRow) -> Result<EntryRow> {
    Ok(EntryRow {
        index: row.try_get("idx")?,
        session_no: row.try_get("session_no")?,
        sequence: row.try_get("sequence")?,
        event: row.try_get("event")?,
        bytes: row.try_get("bytes")?,
        hash: row.try_get("hash")?,
        leaf: row.try_get("leaf")?,
        salt: row.try_get("salt")?,
        data: row.try_get("data")?,
    })
}

pub(super) fn session_from_row(row: &PgRow) -> Result<SessionSummary> {
    SessionColumns {
        number: row.try_get("no")?,
        id: row.try_get("id")?,
        label: row.try_get::<Option<String>, _>("label")?.map(from_stored),
        agent: row.try_get("agent")?,
        model: row.try_get::<Option<String>, _>("model")?.map(from_stored),
        parent: row.try_get("parent")?,
        started: row.try_get("started")?,
        last_received: row.try_get("last_received")?,
        sealed: row.try_get("sealed")?,
        entries: row.try_get("entries")?,
        actions: row.try_get("actions")?,
        turns: row.try_get("turns")?,
        head: row.try_get("head")?,
    }
    .check()
}

pub(super) fn checkpoint_from_row(row: &PgRow) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        size: count(row, "size")?,
        root: row.try_get("root")?,
        note: row.try_get("note")?,
    })
}

pub(super) fn key_from_row(row: &PgRow) -> Result<KeyRow> {
    Ok(KeyRow {
        id: row.try_get("id")?,
        role: row.try_get("role")?,
        name: row.try_get("name")?,
        secret: row.try_get("secret")?,
        created: row.try_get("created")?,
        revoked: row.try_get("revoked")?,
    })
}

/// Reads a column that counts.
pub(super) fn count(row: &PgRow, column: &str) -> Result<u64> {
    columns::count(column, row.try_get(column)?)
}
