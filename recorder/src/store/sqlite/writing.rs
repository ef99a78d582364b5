//! What a sequencer writes.

use std::sync::LazyLock;

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use super::reading::{Reading, entry_from_row, select_sessions, session_from_row, size};
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::store::{Connection, EntryRow, GroupRows, IdentityRow, NewEntry, Result, Writer};
use crate::tree::number;

/// Rows per INSERT: full statements first, then smaller ones, so that three texts cover every count and stay prepared.
const ROWS_PER_INSERT: [usize; 3] = [50, 8, 1];

/// The texts of [`ROWS_PER_INSERT`], made once: a multi-row INSERT takes half the time of as many single ones.
static INSERT_ENTRIES: LazyLock<[String; 3]> = LazyLock::new(|| {
    ROWS_PER_INSERT.map(|rows| {
        insert(
            "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES ",
            "(?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    })
});
static INSERT_PAYLOADS: LazyLock<[String; 3]> = LazyLock::new(|| {
    ROWS_PER_INSERT.map(|rows| {
        insert(
            "INSERT INTO payloads (idx, salt, data) VALUES ",
            "(?, ?, ?)",
            rows,
        )
    })
});

fn insert(head: &str, row: &str, rows: usize) -> String {
    format!("{head}{}", vec![row; rows].join(", "))
}

/// The connection of a sequencer.
pub(super) struct SqliteWriter {
    reading: Reading<Box<SqliteConnection>>,
    /// Size at the beginning of the group that is open.
    begun: Option<u64>,
}

impl SqliteWriter {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self {
            reading: Reading(Box::new(connection)),
            begun: None,
        }
    }

    fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.reading.0
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        sqlx::query(statement).execute(self.connection()).await?;
        Ok(())
    }
}

#[async_trait]
impl Writer for SqliteWriter {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.reading
    }

    async fn write_identity(&mut self, identity: &IdentityRow) -> Result<()> {
        sqlx::query(
            "INSERT INTO ledger (one, origin, public_key, created) VALUES (1, ?, ?, ?) ON CONFLICT (one) DO NOTHING",
        )
        .bind(&identity.origin)
        .bind(&identity.public_key)
        .bind(&identity.created)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn begin(&mut self) -> Result<u64> {
        // IMMEDIATE takes the write lock now: a transaction that finds out later that somebody else writes cannot go on.
        self.execute("BEGIN IMMEDIATE").await?;
        match size(self.connection()).await {
            Ok(size) => {
                self.begun = Some(size);
                Ok(size)
            }
            Err(error) => {
                self.rollback().await?;
                Err(error)
            }
        }
    }

    async fn look_up_sessions(&mut self, ids: &[&SessionId]) -> Result<Vec<SessionSummary>> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let row = sqlx::query(select_sessions!("WHERE id = ?"))
                .bind(id.as_str())
                .fetch_optional(self.connection())
                .await?;
            if let Some(row) = row {
                found.push(session_from_row(&row)?);
            }
        }
        Ok(found)
    }

    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        // The pairs go in as one JSON parameter: one statement text for every number of them.
        let pairs = serde_json::to_string(events)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        let rows = sqlx::query(
            "SELECT e.idx, e.session_no, e.sequence, e.event, e.bytes, e.hash, e.leaf, p.salt, p.data \
             FROM json_each(?) AS wanted \
             CROSS JOIN entries AS e ON e.session_no = wanted.value ->> 0 AND e.event = wanted.value ->> 1 \
             LEFT JOIN payloads AS p ON p.idx = e.idx",
        )
        .bind(pairs)
        .fetch_all(self.connection())
        .await?;
        rows.iter().map(entry_from_row).collect()
    }

    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>> {
        let mut found = Vec::with_capacity(hashes.len());
        for hash in hashes {
            let row = sqlx::query("SELECT 1 FROM blobs WHERE hash = ?")
                .bind(hash.as_bytes().as_slice())
                .fetch_optional(self.connection())
                .await?;
            if row.is_some() {
                found.push(*hash);
            }
        }
        Ok(found)
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        let row = sqlx::query("SELECT coalesce(max(no), 0) AS no FROM sessions")
            .fetch_one(self.connection())
            .await?;
        Ok(row.try_get("no")?)
    }

    fn entries_at_once(&self) -> usize {
        ROWS_PER_INSERT[0]
    }

    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()> {
        let mut rest = entries;
        for (at, size) in ROWS_PER_INSERT.into_iter().enumerate() {
            while rest.len() >= size {
                let behind = rest.split_off(size);
                insert_rows(self.connection(), at, rest).await?;
                rest = behind;
            }
        }
        Ok(())
    }

    async fn write(&mut self, old_size: u64, rows: &GroupRows) -> Result<()> {
        // What `begin` saw cannot have changed since: the lock is held.
        if self.begun != Some(old_size) {
            return Err(LedgerError::HeadMoved {
                expected: old_size,
                stored: self.begun.unwrap_or_default(),
            });
        }
        for blob in &rows.blobs {
            sqlx::query(
                "INSERT INTO blobs (hash, bytes) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
            )
            .bind(blob.hash.as_bytes().as_slice())
            .bind(&blob.bytes[..])
            .execute(self.connection())
            .await?;
        }
        for tile in &rows.tiles {
            sqlx::query("INSERT INTO tiles (level, tile, hashes) VALUES (?, ?, ?)")
                .bind(tile.level)
                .bind(number(tile.tile)?)
                .bind(tile.hashes.as_slice())
                .execute(self.connection())
                .await?;
        }
        for session in &rows.sessions {
            store_session(self.connection(), session).await?;
        }
        if let Some(checkpoint) = &rows.checkpoint {
            // The primary key refuses a second root for a size.
            sqlx::query("INSERT INTO checkpoints (size, root, note) VALUES (?, ?, ?)")
                .bind(number(checkpoint.size)?)
                .bind(checkpoint.root.as_bytes().as_slice())
                .bind(&checkpoint.note)
                .execute(self.connection())
                .await?;
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        self.begun = None;
        self.execute("COMMIT").await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.begun = None;
        self.execute("ROLLBACK").await
    }

    async fn close(mut self: Box<Self>) {
        // Readers may still be open, and a read-only connection cannot empty the WAL when it closes as the last one: done
        // here, so that the database file alone is the whole ledger once its server has stopped.
        if let Err(error) = self.execute("PRAGMA wal_checkpoint(TRUNCATE)").await {
            tracing::debug!(%error, "emptying the write-ahead log");
        }
        if let Err(error) = (*self.reading.0).close().await {
            tracing::warn!(%error, "closing the ledger's database");
        }
    }
}

/// Writes as many entries as a statement of [`ROWS_PER_INSERT`] has. Values are given away, not copied, where they can be.
async fn insert_rows(
    connection: &mut SqliteConnection,
    at: usize,
    rows: Vec<NewEntry>,
) -> Result<()> {
    let mut entries = sqlx::query(AssertSqlSafe(INSERT_ENTRIES[at].as_str()));
    let mut payloads = sqlx::query(AssertSqlSafe(INSERT_PAYLOADS[at].as_str()));
    for row in rows {
        let index = number(row.index)?;
        entries = entries
            .bind(index)
            .bind(row.session_no)
            .bind(number(row.sequence)?)
            .bind(row.event)
            .bind(row.bytes)
            .bind(row.hash.as_bytes().to_vec())
            .bind(row.leaf.as_bytes().to_vec());
        payloads = payloads
            .bind(index)
            .bind(row.salt.to_vec())
            .bind(Vec::from(row.data));
    }
    entries.execute(&mut *connection).await?;
    payloads.execute(connection).await?;
    Ok(())
}

async fn store_session(connection: &mut SqliteConnection, session: &SessionSummary) -> Result<()> {
    sqlx::query(
        "INSERT INTO sessions \
         (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (no) DO UPDATE SET model = excluded.model, last_received = excluded.last_received, \
         sealed = excluded.sealed, entries = excluded.entries, actions = excluded.actions, turns = excluded.turns, \
         head = excluded.head",
    )
    .bind(session.number)
    .bind(session.id.as_str())
    .bind(&session.label)
    .bind(&session.agent)
    .bind(&session.model)
    .bind(session.parent.as_ref().map(SessionId::as_str))
    .bind(&session.started)
    .bind(&session.last_received)
    .bind(session.sealed)
    .bind(number(session.entries)?)
    .bind(number(session.actions)?)
    .bind(number(session.turns)?)
    .bind(session.head.as_bytes().as_slice())
    .execute(connection)
    .await?;
    Ok(())
}
