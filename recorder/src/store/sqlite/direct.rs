//! The connection of a sequencer: SQLite is called on the thread that has it.
//!
//! sqlx keeps a thread for each connection, and every statement is handed over to it and back. A group of few events is about
//! ten statements of a few microseconds each, so that the hand-overs cost more than the statements. Here a statement is a
//! function call. Both drivers link the same copy of SQLite; two copies in one process would break each other's file locks.

use std::path::Path;
use std::time::Duration;

use remembrancer_schema::{ContentHash, SessionId};
use rusqlite::{ErrorCode, OpenFlags, OptionalExtension as _, Row, ToSql, params};

use super::reading::{SIZE, select_entries, select_sessions};
use super::{BUSY_TIMEOUT, PAGE_BYTES, WAL_CHECKPOINT_PAGES, blobs};
use crate::admin_act::AdminActRow;
use crate::data_dir::failed;
use crate::error::LedgerError;
use crate::session::{SessionColumns, SessionSummary};
use crate::store::columns;
use crate::store::{
    CondemnedBlob, EntryRow, GroupRows, IdentityRow, NewBlob, NewCheckpoint, NewEntry, Result,
};
use crate::tree::{FullTile, number};

/// More than there are statements here, so that each is prepared once.
const STATEMENTS_KEPT: usize = 32;

/// A connection that writes.
pub(super) struct Direct(rusqlite::Connection);

impl Direct {
    /// Opens a file as [`super::writing()`] has it opened for sqlx.
    pub(super) fn open(file: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}"))?;
        // Where the log cannot be kept SQLite stays in another mode and says so only in its answer. The connection that reads
        // beside this one relies on the log.
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            let reason = format!(
                "SQLite stays in journal mode {mode:?}; keep the data folder on a local file system"
            );
            let kept = failed("cannot keep a write-ahead log beside", file);
            return Err(kept(std::io::Error::other(reason)));
        }
        connection.execute_batch(&format!(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; \
             PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES}"
        ))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        Ok(Self(connection))
    }

    /// Begins a group if nobody else is writing; whether it did.
    pub(super) fn try_begin(&self) -> Result<bool> {
        self.0.busy_timeout(Duration::ZERO)?;
        let begun = self.begin();
        self.0.busy_timeout(BUSY_TIMEOUT)?;
        match begun {
            Err(LedgerError::Sqlite(error))
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                Ok(false)
            }
            begun => begun.map(|()| true),
        }
    }

    /// Begins a group. Waits for somebody else who writes.
    pub(super) fn begin(&self) -> Result<()> {
        // IMMEDIATE takes the write lock now: a transaction that finds out later that somebody else writes cannot go on.
        self.execute("BEGIN IMMEDIATE", &[])
    }

    /// Writes the first page of the file as it is: SQLite does so even where the version that is set is the one that stands
    /// there. Nothing else uses that number.
    pub(super) fn probe(&self) -> Result<()> {
        let version = self.number("PRAGMA user_version")?;
        Ok(self
            .0
            .execute_batch(&format!("PRAGMA user_version = {version}"))?)
    }

    pub(super) fn commit(&self) -> Result<()> {
        self.execute("COMMIT", &[])
    }

    pub(super) fn rollback(&self) -> Result<()> {
        self.execute("ROLLBACK", &[])
    }

    /// Empties the write-ahead log, and closes.
    pub(super) fn close(self) {
        // Readers may still be open, and a read-only connection cannot empty the WAL when it closes as the last one: done
        // here, so that the database file alone is the whole ledger once its server has stopped.
        if let Err(error) = self.0.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
            tracing::debug!(%error, "emptying the write-ahead log");
        }
        if let Err((_, error)) = self.0.close() {
            tracing::warn!(%error, "closing the ledger's database");
        }
    }

    /// The one value that a statement tells, as text.
    #[cfg(test)]
    pub(super) fn told(&self, statement: &str) -> String {
        let told = self.0.query_row(statement, (), |row| row.get(0));
        match told.expect(statement) {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => panic!("{statement}: {other:?}"),
        }
    }

    fn execute(&self, statement: &'static str, values: &[&dyn ToSql]) -> Result<()> {
        self.0.prepare_cached(statement)?.execute(values)?;
        Ok(())
    }

    /// The first row, as `read` makes of it.
    fn first<T>(
        &self,
        statement: &'static str,
        values: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.0.prepare_cached(statement)?;
        Ok(statement.query_row(values, read).optional()?)
    }

    /// The number that a statement without parameters selects.
    fn number(&self, statement: &'static str) -> Result<i64> {
        let mut statement = self.0.prepare_cached(statement)?;
        Ok(statement.query_row((), |row| row.get(0))?)
    }

    pub(super) fn write_identity(&self, identity: &IdentityRow) -> Result<()> {
        self.execute(
            "INSERT INTO ledger (one, origin, public_key, created) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO NOTHING",
            params![identity.origin, identity.public_key, identity.created],
        )
    }

    pub(super) fn size(&self) -> Result<u64> {
        columns::count("size", self.number(SIZE)?)
    }

    pub(super) fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        let columns = self.first(
            select_sessions!("WHERE id = ?"),
            &[&id.as_str()],
            session_columns,
        )?;
        columns.map(SessionColumns::check).transpose()
    }

    pub(super) fn last_session_number(&self) -> Result<i64> {
        self.number("SELECT coalesce(max(no), 0) FROM sessions")
    }

    pub(super) fn event(&self, session_no: i64, id: &str) -> Result<Option<EntryRow>> {
        self.first(
            select_entries!("WHERE e.event = ? AND e.session_no = ?"),
            &[&id, &session_no],
            entry_row,
        )
    }

    pub(super) fn has_blob(&self, hash: &ContentHash) -> Result<bool> {
        let found = self.first(
            "SELECT 1 FROM blobs WHERE hash = ?",
            &[&hash.as_bytes().as_slice()],
            |_| Ok(()),
        )?;
        Ok(found.is_some())
    }

    pub(super) fn is_valid_key(&self, id: &str) -> Result<bool> {
        let valid = self.first(
            "SELECT 1 FROM tokens WHERE id = ? AND revoked IS NULL",
            &[&id],
            |_| Ok(()),
        )?;
        Ok(valid.is_some())
    }

    pub(super) fn acts(&self, limit: u32) -> Result<Vec<AdminActRow>> {
        let mut statement = self.0.prepare_cached(
            "SELECT id, kind, happened, data FROM admin_acts ORDER BY id LIMIT ?",
        )?;
        let rows = statement.query_map([limit], |row| {
            Ok(AdminActRow {
                id: row.get(0)?,
                kind: row.get(1)?,
                happened: row.get(2)?,
                data: row.get(3)?,
                acting_key: None,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(super) fn write_entries(&self, entries: &[NewEntry]) -> Result<()> {
        let mut rows = self.0.prepare_cached(
            "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        let mut payloads = self
            .0
            .prepare_cached("INSERT INTO payloads (idx, salt, data) VALUES (?, ?, ?)")?;
        for entry in entries {
            let index = number(entry.index)?;
            rows.execute(params![
                index,
                entry.session_no,
                number(entry.sequence)?,
                entry.event,
                entry.bytes,
                entry.hash.as_bytes(),
                entry.leaf.as_bytes(),
            ])?;
            payloads.execute(params![index, entry.salt, entry.data.as_ref()])?;
        }
        Ok(())
    }

    /// Writes what a group adds besides entries.
    pub(super) fn write(&self, rows: &GroupRows) -> Result<()> {
        for blob in &rows.blobs {
            self.store_blob(blob)?;
        }
        self.release_blobs(&rows.pardoned_blobs)?;
        for tile in &rows.tiles {
            self.write_tile(tile)?;
        }
        for session in &rows.sessions {
            self.store_session(session)?;
        }
        if let Some(checkpoint) = &rows.checkpoint {
            self.write_checkpoint(checkpoint)?;
        }
        for act in &rows.acts {
            self.execute("DELETE FROM admin_acts WHERE id = ?", &[act])?;
        }
        Ok(())
    }

    fn store_blob(&self, blob: &NewBlob) -> Result<()> {
        self.execute(
            "INSERT INTO blobs (hash, size, place, stored, bytes) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (hash) DO UPDATE SET stored = excluded.stored",
            params![
                blob.hash.as_bytes(),
                number(blob.size)?,
                columns::place(blob.inline.is_some()),
                blob.stored,
                blob.inline.as_deref(),
            ],
        )
    }

    fn release_blobs(&self, blobs: &[CondemnedBlob]) -> Result<()> {
        if blobs.is_empty() {
            return Ok(());
        }
        self.execute(blobs::RELEASE, &[&blobs::marks(blobs)?])
    }

    fn write_tile(&self, tile: &FullTile) -> Result<()> {
        self.execute(
            "INSERT INTO tiles (level, tile, hashes) VALUES (?, ?, ?)",
            params![tile.level, number(tile.tile)?, tile.hashes],
        )
    }

    fn store_session(&self, session: &SessionSummary) -> Result<()> {
        self.execute(
            "INSERT INTO sessions \
             (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (no) DO UPDATE SET model = excluded.model, last_received = excluded.last_received, \
             sealed = excluded.sealed, entries = excluded.entries, actions = excluded.actions, turns = excluded.turns, \
             head = excluded.head",
            params![
                session.number,
                session.id.as_str(),
                session.label,
                session.agent,
                session.model,
                session.parent.as_ref().map(SessionId::as_str),
                session.started,
                session.last_received,
                session.sealed,
                number(session.entries)?,
                number(session.actions)?,
                number(session.turns)?,
                session.head.as_bytes(),
            ],
        )
    }

    fn write_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<()> {
        // The primary key refuses a second root for a size.
        self.execute(
            "INSERT INTO checkpoints (size, root, note) VALUES (?, ?, ?)",
            params![
                number(checkpoint.size)?,
                checkpoint.root.as_bytes(),
                checkpoint.note,
            ],
        )
    }
}

/// What [`select_sessions`] selects.
fn session_columns(row: &Row<'_>) -> rusqlite::Result<SessionColumns> {
    Ok(SessionColumns {
        number: row.get(0)?,
        id: row.get(1)?,
        label: row.get(2)?,
        agent: row.get(3)?,
        model: row.get(4)?,
        parent: row.get(5)?,
        started: row.get(6)?,
        last_received: row.get(7)?,
        sealed: row.get(8)?,
        entries: row.get(9)?,
        actions: row.get(10)?,
        turns: row.get(11)?,
        head: row.get(12)?,
    })
}

/// What [`select_entries`] selects.
fn entry_row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        index: row.get(0)?,
        session_no: row.get(1)?,
        sequence: row.get(2)?,
        event: row.get(3)?,
        bytes: row.get(4)?,
        hash: row.get(5)?,
        leaf: row.get(6)?,
        salt: row.get(7)?,
        data: row.get(8)?,
    })
}
