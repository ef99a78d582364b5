//! A group's rows: what one transaction writes.

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::{Entry, EntryHash, SessionId, TreeHash};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::Group;
use crate::error::LedgerError;
use crate::session;
use crate::tree::number;

/// Rows per INSERT: full statements first, then smaller ones, so that three SQL texts cover every count and stay prepared.
const ROWS_PER_INSERT: [usize; 3] = [50, 8, 1];

/// An entry to be written.
pub(super) struct Row {
    pub(super) session_no: i64,
    pub(super) entry: Entry,
    pub(super) bytes: Vec<u8>,
    pub(super) hash: EntryHash,
    pub(super) leaf: TreeHash,
    pub(super) salt: [u8; 32],
    pub(super) data: bytes::Bytes,
}

impl Group<'_> {
    /// Writes entries, payloads, tiles and session rows.
    pub(crate) async fn write(&self, connection: &mut SqliteConnection) -> Result<(), LedgerError> {
        for rows in insert_chunks(&self.rows) {
            insert_entries(connection, rows).await?;
            insert_payloads(connection, rows).await?;
        }
        for tile in &self.tiles {
            sqlx::query("INSERT INTO tiles (level, tile, hashes) VALUES (?, ?, ?)")
                .bind(tile.level)
                .bind(number(tile.tile)?)
                .bind(tile.hashes.as_slice())
                .execute(&mut *connection)
                .await?;
        }
        let mut sessions: Vec<&SessionId> =
            self.rows.iter().map(|row| &row.entry.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        for id in sessions {
            if let Some(session) = self.changed.get(id) {
                session::store(connection, session).await?;
            }
        }
        Ok(())
    }
}

/// Stores the signed root of a size.
pub(crate) async fn store_checkpoint(
    connection: &mut SqliteConnection,
    checkpoint: &Checkpoint,
    note: &str,
) -> Result<(), LedgerError> {
    sqlx::query("INSERT INTO checkpoints (size, root, note) VALUES (?, ?, ?)")
        .bind(number(checkpoint.size)?)
        .bind(checkpoint.root.as_bytes().as_slice())
        .bind(note)
        .execute(connection)
        .await?;
    Ok(())
}

fn insert_chunks(mut rows: &[Row]) -> Vec<&[Row]> {
    let mut chunks = Vec::new();
    for size in ROWS_PER_INSERT {
        while let Some((chunk, rest)) = rows.split_at_checked(size) {
            chunks.push(chunk);
            rows = rest;
        }
    }
    chunks
}

async fn insert_entries(
    connection: &mut SqliteConnection,
    rows: &[Row],
) -> Result<(), LedgerError> {
    let mut insert: QueryBuilder<Sqlite> = QueryBuilder::new(
        "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) ",
    );
    insert.push_values(rows, |mut values, row| {
        values
            .push_bind(row.entry.index as i64)
            .push_bind(row.session_no)
            .push_bind(row.entry.sequence as i64)
            .push_bind(row.entry.event.as_str())
            .push_bind(row.bytes.as_slice())
            .push_bind(row.hash.as_bytes().as_slice())
            .push_bind(row.leaf.as_bytes().as_slice());
    });
    insert.build().execute(connection).await?;
    Ok(())
}

async fn insert_payloads(
    connection: &mut SqliteConnection,
    rows: &[Row],
) -> Result<(), LedgerError> {
    let mut insert: QueryBuilder<Sqlite> =
        QueryBuilder::new("INSERT INTO payloads (idx, salt, data) ");
    insert.push_values(rows, |mut values, row| {
        values
            .push_bind(row.entry.index as i64)
            .push_bind(row.salt.as_slice())
            .push_bind(&row.data[..]);
    });
    insert.build().execute(connection).await?;
    Ok(())
}
