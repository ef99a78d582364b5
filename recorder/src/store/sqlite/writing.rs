//! What a sequencer writes.

use std::sync::LazyLock;

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use super::blobs;
use super::reading::{Reading, entry_from_row, select_sessions, session_from_row, size};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::store::{Connection, EntryRow, GroupRows, IdentityRow, NewEntry, Result, Writer};
use crate::tree::number;

/// Rows per statement, largest first: a multi-row INSERT takes half the time of as many single ones, and every statement is a
/// trip to the database's thread. Powers of two, so that a rest takes few of them, and every text stays prepared.
const ROWS_AT_ONCE: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

/// Statements for each of [`ROWS_AT_ONCE`], made once.
type Statements = LazyLock<[String; ROWS_AT_ONCE.len()]>;

/// Entries, then their payloads: two statements in one text.
static INSERT_ENTRIES: Statements = LazyLock::new(|| {
    ROWS_AT_ONCE.map(|rows| {
        format!(
            "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES {}; \
             INSERT INTO payloads (idx, salt, data) VALUES {}",
            repeated("(?, ?, ?, ?, ?, ?, ?)", rows),
            repeated("(?, ?, ?)", rows)
        )
    })
});
static STORE_SESSIONS: Statements = LazyLock::new(|| {
    ROWS_AT_ONCE.map(|rows| {
        format!(
            "INSERT INTO sessions \
             (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) \
             VALUES {} \
             ON CONFLICT (no) DO UPDATE SET model = excluded.model, last_received = excluded.last_received, \
             sealed = excluded.sealed, entries = excluded.entries, actions = excluded.actions, turns = excluded.turns, \
             head = excluded.head",
            repeated("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        )
    })
});

fn repeated(row: &str, rows: usize) -> String {
    vec![row; rows].join(", ")
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
        let rows = blobs::rows(self.connection(), hashes).await?;
        Ok(rows.into_iter().map(|row| row.hash).collect())
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        let row = sqlx::query("SELECT coalesce(max(no), 0) AS no FROM sessions")
            .fetch_one(self.connection())
            .await?;
        Ok(row.try_get("no")?)
    }

    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        let ids =
            serde_json::to_string(ids).map_err(|error| LedgerError::Damaged(error.to_string()))?;
        let valid = sqlx::query_scalar(
            "SELECT id FROM tokens WHERE id IN (SELECT value FROM json_each(?)) AND revoked IS NULL",
        )
        .bind(ids)
        .fetch_all(self.connection())
        .await?;
        Ok(valid)
    }

    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>> {
        let rows =
            sqlx::query("SELECT id, kind, happened, data FROM admin_acts ORDER BY id LIMIT ?")
                .bind(limit)
                .fetch_all(self.connection())
                .await?;
        let act = |row: &SqliteRow| {
            Ok(AdminActRow {
                id: row.try_get("id")?,
                kind: row.try_get("kind")?,
                happened: row.try_get("happened")?,
                data: row.try_get("data")?,
                acting_key: None,
            })
        };
        rows.iter().map(act).collect()
    }

    fn entries_at_once(&self) -> usize {
        ROWS_AT_ONCE[0]
    }

    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()> {
        let mut rest = entries;
        for (at, size) in ROWS_AT_ONCE.into_iter().enumerate() {
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
            blobs::store(self.connection(), blob).await?;
        }
        blobs::release(self.connection(), &rows.pardoned_blobs).await?;
        for tile in &rows.tiles {
            sqlx::query("INSERT INTO tiles (level, tile, hashes) VALUES (?, ?, ?)")
                .bind(tile.level)
                .bind(number(tile.tile)?)
                .bind(tile.hashes.as_slice())
                .execute(self.connection())
                .await?;
        }
        let mut sessions = rows.sessions.as_slice();
        for (at, size) in ROWS_AT_ONCE.into_iter().enumerate() {
            while let Some((chunk, behind)) = sessions.split_at_checked(size) {
                store_sessions(self.connection(), at, chunk).await?;
                sessions = behind;
            }
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
        for act in &rows.acts {
            sqlx::query("DELETE FROM admin_acts WHERE id = ?")
                .bind(act)
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

/// Writes as many entries as a statement of [`ROWS_AT_ONCE`] has. Values are given away, not copied, where they can be.
async fn insert_rows(
    connection: &mut SqliteConnection,
    at: usize,
    rows: Vec<NewEntry>,
) -> Result<()> {
    let mut insert = sqlx::query(AssertSqlSafe(INSERT_ENTRIES[at].as_str()));
    let mut payloads = Vec::with_capacity(rows.len());
    for row in rows {
        let index = number(row.index)?;
        insert = insert
            .bind(index)
            .bind(row.session_no)
            .bind(number(row.sequence)?)
            .bind(row.event)
            .bind(row.bytes)
            .bind(row.hash.as_bytes().to_vec())
            .bind(row.leaf.as_bytes().to_vec());
        payloads.push((index, row.salt, row.data));
    }
    for (index, salt, data) in payloads {
        insert = insert.bind(index).bind(salt.to_vec()).bind(Vec::from(data));
    }
    insert.execute(connection).await?;
    Ok(())
}

/// Writes as many sessions as a statement of [`ROWS_AT_ONCE`] has.
async fn store_sessions(
    connection: &mut SqliteConnection,
    at: usize,
    sessions: &[SessionSummary],
) -> Result<()> {
    let mut store = sqlx::query(AssertSqlSafe(STORE_SESSIONS[at].as_str()));
    for session in sessions {
        store = store
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
            .bind(session.head.as_bytes().as_slice());
    }
    store.execute(connection).await?;
    Ok(())
}
