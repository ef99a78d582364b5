//! What a sequencer writes.
//!
//! Rows go in as arrays (INSERT … SELECT FROM unnest), a whole group per table in one statement: as fast as COPY here, and
//! without its weakness. In the middle of a COPY the server waits for the client's rows without any limit of time; a process
//! that is paused just then would keep the head from all others.

use std::future::Future;

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};

use super::blobs;
use super::connecting::{ANSWER, Purpose, Server, answered};
use super::head;
use super::reading::{Reading, select_sessions};
use super::rows::{count, entry_from_row, session_from_row};
use super::text::{from_stored, to_stored};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::store::{
    Connection, EntryRow, GroupRows, IdentityRow, NewCheckpoint, NewEntry, Result, Writer,
};
use crate::tree::{FullTile, number};

/// Entries of one statement: enough that the trip to the server does not count, and few enough that the next ones are
/// decided meanwhile.
const ENTRIES_AT_ONCE: usize = 500;

/// The connection of a sequencer.
pub(super) struct PostgresWriter {
    connection: Reading<Box<PgConnection>>,
    /// Size of the head that this group has locked.
    locked: Option<u64>,
    /// Set when the server gave no answer: what comes next on this connection answers something else.
    is_broken: bool,
}

impl PostgresWriter {
    pub(super) async fn open(server: Server) -> Result<Self> {
        let connection = server.connect(Purpose::Writing).await?;
        Ok(Self {
            connection: Reading(Box::new(connection)),
            locked: None,
            is_broken: false,
        })
    }

    /// Runs a statement, unless the connection is broken; a bounded time.
    async fn run<'a, T, E, F>(
        &'a mut self,
        statement: impl FnOnce(&'a mut PgConnection) -> F,
    ) -> Result<T>
    where
        E: From<sqlx::Error> + Into<LedgerError>,
        F: Future<Output = std::result::Result<T, E>> + Send + 'a,
    {
        if self.is_broken {
            return Err(sqlx::Error::WorkerCrashed.into());
        }
        let done = answered(ANSWER, statement(&mut self.connection.0))
            .await
            .map_err(Into::into);
        if let Err(LedgerError::Database(error)) = &done {
            self.is_broken = !matches!(error, sqlx::Error::Database(_));
        }
        done
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        self.run(|connection| sqlx::raw_sql(statement).execute(connection))
            .await?;
        Ok(())
    }

    /// Moves the head and stores the signed root of its new size.
    async fn move_head(&mut self, old_size: u64, checkpoint: &NewCheckpoint) -> Result<()> {
        let moving = sqlx::query(
            "WITH moved AS (UPDATE head SET size = $2, root = $3 WHERE one = 1 AND size = $1 RETURNING size) \
             INSERT INTO checkpoints (size, root, note) SELECT size, $3, $4 FROM moved",
        )
        .bind(number(old_size)?)
        .bind(number(checkpoint.size)?)
        .bind(checkpoint.root.as_bytes().as_slice())
        .bind(checkpoint.note.as_str());
        let moved = self.run(|connection| moving.execute(connection)).await?;
        if moved.rows_affected() == 1 {
            return Ok(());
        }
        let head = sqlx::query("SELECT size FROM head WHERE one = 1");
        let row = self.run(|connection| head.fetch_one(connection)).await?;
        Err(LedgerError::HeadMoved {
            expected: old_size,
            stored: count(&row, "size")?,
        })
    }

    async fn insert_entries(&mut self, rows: &[NewEntry]) -> Result<()> {
        let mut indices = Vec::with_capacity(rows.len());
        let mut sequences = Vec::with_capacity(rows.len());
        for row in rows {
            indices.push(number(row.index)?);
            sequences.push(number(row.sequence)?);
        }
        let column = |bytes: fn(&NewEntry) -> &[u8]| rows.iter().map(bytes).collect::<Vec<_>>();
        let entries = sqlx::query(
            "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) \
             SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::TEXT[], $5::BYTEA[], $6::BYTEA[], $7::BYTEA[])",
        )
        .bind(indices.as_slice())
        .bind(rows.iter().map(|row| row.session_no).collect::<Vec<_>>())
        .bind(sequences)
        .bind(rows.iter().map(|row| row.event.as_str()).collect::<Vec<_>>())
        .bind(column(|row| &row.bytes))
        .bind(column(|row| row.hash.as_bytes()))
        .bind(column(|row| row.leaf.as_bytes()));
        self.run(|connection| entries.execute(connection)).await?;
        let payloads = sqlx::query(
            "INSERT INTO payloads (idx, salt, data) SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[])",
        )
        .bind(indices)
        .bind(column(|row| &row.salt))
        .bind(column(|row| &row.data));
        self.run(|connection| payloads.execute(connection)).await?;
        Ok(())
    }

    async fn insert_tiles(&mut self, tiles: &[FullTile]) -> Result<()> {
        if tiles.is_empty() {
            return Ok(());
        }
        let mut numbers = Vec::with_capacity(tiles.len());
        for tile in tiles {
            numbers.push(number(tile.tile)?);
        }
        let insert = sqlx::query(
            "INSERT INTO tiles (level, tile, hashes) SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BYTEA[])",
        )
        .bind(tiles.iter().map(|tile| i64::from(tile.level)).collect::<Vec<_>>())
        .bind(numbers)
        .bind(tiles.iter().map(|tile| tile.hashes.as_slice()).collect::<Vec<_>>());
        self.run(|connection| insert.execute(connection)).await?;
        Ok(())
    }

    async fn store_sessions(&mut self, sessions: &[SessionSummary]) -> Result<()> {
        if sessions.is_empty() {
            return Ok(());
        }
        let mut counts = [const { Vec::new() }; 3];
        for session in sessions {
            let [entries, actions, turns] = &mut counts;
            entries.push(number(session.entries)?);
            actions.push(number(session.actions)?);
            turns.push(number(session.turns)?);
        }
        let [entries, actions, turns] = counts;
        let text = |text: fn(&SessionSummary) -> Option<&str>| {
            let stored = |session| text(session).map(to_stored);
            sessions.iter().map(stored).collect::<Vec<_>>()
        };
        let upsert = sqlx::query(
            "INSERT INTO sessions \
             (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) \
             SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[], \
             $8::TEXT[], $9::BOOLEAN[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BYTEA[]) \
             ON CONFLICT (no) DO UPDATE SET model = excluded.model, last_received = excluded.last_received, \
             sealed = excluded.sealed, entries = excluded.entries, actions = excluded.actions, turns = excluded.turns, \
             head = excluded.head",
        )
        .bind(sessions.iter().map(|session| session.number).collect::<Vec<_>>())
        .bind(text(|session| Some(session.id.as_str())))
        .bind(text(|session| session.label.as_deref()))
        .bind(text(|session| session.agent.as_deref()))
        .bind(text(|session| session.model.as_deref()))
        .bind(text(|session| session.parent.as_ref().map(SessionId::as_str)))
        .bind(text(|session| Some(&session.started)))
        .bind(text(|session| Some(&session.last_received)))
        .bind(sessions.iter().map(|session| session.sealed).collect::<Vec<_>>())
        .bind(entries)
        .bind(actions)
        .bind(turns)
        .bind(sessions.iter().map(|session| session.head.as_bytes().as_slice()).collect::<Vec<_>>());
        self.run(|connection| upsert.execute(connection)).await?;
        Ok(())
    }
}

#[async_trait]
impl Writer for PostgresWriter {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.connection
    }

    async fn write_identity(&mut self, identity: &IdentityRow) -> Result<()> {
        let insert = sqlx::query(
            "INSERT INTO ledger (one, origin, public_key, created) VALUES (1, $1, $2, $3) ON CONFLICT (one) DO NOTHING",
        )
        .bind(identity.origin.as_str())
        .bind(identity.public_key.as_str())
        .bind(identity.created.as_str());
        self.run(|connection| insert.execute(connection)).await?;
        Ok(())
    }

    async fn begin(&mut self) -> Result<u64> {
        let begun = self.run(head::take).await;
        match begun {
            Ok(size) => {
                self.locked = Some(size);
                Ok(size)
            }
            Err(error) => {
                // The first error counts. A connection that cannot roll back is given up by its next use.
                if self.rollback().await.is_ok() {
                    self.run(|connection| head::free(connection, &error))
                        .await?;
                }
                Err(error)
            }
        }
    }

    async fn look_up_sessions(&mut self, ids: &[&SessionId]) -> Result<Vec<SessionSummary>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let select = sqlx::query(select_sessions!("WHERE id = ANY($1::TEXT[])"))
            .bind(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>());
        let rows = self.run(|connection| select.fetch_all(connection)).await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let (numbers, ids): (Vec<i64>, Vec<&str>) = events.iter().copied().unzip();
        let select = sqlx::query(
            "SELECT e.idx, e.session_no, e.sequence, e.event, e.bytes, e.hash, e.leaf, p.salt, p.data \
             FROM unnest($1::BIGINT[], $2::TEXT[]) AS wanted (session_no, event) \
             JOIN entries AS e ON e.session_no = wanted.session_no AND e.event = wanted.event \
             LEFT JOIN payloads AS p ON p.idx = e.idx",
        )
        .bind(numbers)
        .bind(ids);
        let rows = self.run(|connection| select.fetch_all(connection)).await?;
        rows.iter().map(entry_from_row).collect()
    }

    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>> {
        let rows = self
            .run(async |connection| blobs::rows(connection, hashes).await)
            .await?;
        Ok(rows.into_iter().map(|row| row.hash).collect())
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        let select = sqlx::query("SELECT coalesce(max(no), 0) AS no FROM sessions");
        let row = self.run(|connection| select.fetch_one(connection)).await?;
        Ok(row.try_get("no")?)
    }

    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = ids.iter().map(|id| to_stored(id)).collect();
        let select =
            sqlx::query("SELECT id FROM tokens WHERE id = ANY($1::TEXT[]) AND revoked IS NULL")
                .bind(ids);
        let rows = self.run(|connection| select.fetch_all(connection)).await?;
        rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
    }

    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>> {
        let select =
            sqlx::query("SELECT id, kind, happened, data FROM admin_acts ORDER BY id LIMIT $1")
                .bind(i64::from(limit));
        let rows = self.run(|connection| select.fetch_all(connection)).await?;
        let act = |row: &PgRow| {
            Ok(AdminActRow {
                id: row.try_get("id")?,
                kind: row.try_get("kind")?,
                happened: row.try_get("happened")?,
                data: from_stored(row.try_get("data")?),
                acting_key: None,
            })
        };
        rows.iter().map(act).collect()
    }

    fn entries_at_once(&self) -> usize {
        ENTRIES_AT_ONCE
    }

    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.insert_entries(&entries).await
    }

    async fn write(&mut self, old_size: u64, rows: &GroupRows) -> Result<()> {
        if let Some(checkpoint) = &rows.checkpoint {
            self.move_head(old_size, checkpoint).await?;
        } else if self.locked != Some(old_size) {
            // Nothing moves the head, and nobody else can meanwhile.
            return Err(LedgerError::HeadMoved {
                expected: old_size,
                stored: self.locked.unwrap_or_default(),
            });
        }
        for blob in &rows.blobs {
            self.run(|connection| blobs::store(connection, blob))
                .await?;
        }
        if !rows.pardoned_blobs.is_empty() {
            self.run(|connection| blobs::release(connection, &rows.pardoned_blobs))
                .await?;
        }
        if !rows.acts.is_empty() {
            let delete = sqlx::query("DELETE FROM admin_acts WHERE id = ANY($1::TEXT[])")
                .bind(rows.acts.as_slice());
            self.run(|connection| delete.execute(connection)).await?;
        }
        self.insert_tiles(&rows.tiles).await?;
        self.store_sessions(&rows.sessions).await
    }

    async fn probe(&mut self) -> Result<()> {
        // The row is gone before anybody could see it. The head itself moves only forward.
        self.execute(
            "INSERT INTO admin_acts (id, kind, happened, data) VALUES ('probe', '', '', ''); \
             DELETE FROM admin_acts WHERE id = 'probe'",
        )
        .await
    }

    async fn commit(&mut self) -> Result<()> {
        self.locked = None;
        self.execute(head::COMMIT).await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.locked = None;
        self.execute("ROLLBACK").await
    }

    async fn close(self: Box<Self>) {
        if self.is_broken {
            return;
        }
        if let Err(error) = answered(ANSWER, (*self.connection.0).close()).await {
            tracing::debug!(%error, "closing a connection to the database");
        }
    }
}
