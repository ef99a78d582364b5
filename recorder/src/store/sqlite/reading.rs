//! Everything that is read.

use std::ops::DerefMut;

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::blobs;
use crate::session::{SessionColumns, SessionSummary};
use crate::store::columns;
use crate::store::{
    BlobRow, CheckpointRow, CondemnedBlob, Connection, EntryPage, EntryRow, IdentityRow,
    PageLimits, Result, Strays,
};
use crate::token::KeyRow;
use crate::tree::number;

/// A connection for reading: one of a pool, a read transaction, or one beside a writer.
pub(crate) struct Reading<C>(pub(crate) C);

/// Selects what [`session_from_row`] reads; a condition follows.
macro_rules! select_sessions {
    ($rest:literal) => {
        concat!(
            "SELECT no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head \
             FROM sessions ",
            $rest
        )
    };
}
pub(super) use select_sessions;

/// Number of entries.
pub(super) const SIZE: &str = "SELECT coalesce(max(idx) + 1, 0) AS size FROM entries";

/// Selects what [`entry_from_row`] reads; a condition follows.
macro_rules! select_entries {
    ($rest:literal) => {
        concat!(
            "SELECT e.idx, e.session_no, e.sequence, e.event, e.bytes, e.hash, e.leaf, p.salt, p.data \
             FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx ",
            $rest
        )
    };
}
pub(super) use select_entries;

#[async_trait]
impl<C: DerefMut<Target = SqliteConnection> + Send> Connection for Reading<C> {
    async fn identity(&mut self) -> Result<Option<IdentityRow>> {
        let row = sqlx::query("SELECT origin, public_key, created FROM ledger")
            .fetch_optional(&mut *self.0)
            .await?;
        row.map(|row| {
            Ok(IdentityRow {
                origin: row.try_get("origin")?,
                public_key: row.try_get("public_key")?,
                created: row.try_get("created")?,
            })
        })
        .transpose()
    }

    async fn size(&mut self) -> Result<u64> {
        size(&mut self.0).await
    }

    async fn session(&mut self, id: &SessionId) -> Result<Option<SessionSummary>> {
        sqlx::query(select_sessions!("WHERE id = ?"))
            .bind(id.as_str())
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(session_from_row)
            .transpose()
    }

    async fn session_by_number(&mut self, number: i64) -> Result<Option<SessionSummary>> {
        sqlx::query(select_sessions!("WHERE no = ?"))
            .bind(number)
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(session_from_row)
            .transpose()
    }

    async fn sessions_labelled(&mut self, label: &str, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE label = ? ORDER BY no LIMIT ?"))
            .bind(label)
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn count_labelled(&mut self, label: &str) -> Result<u64> {
        let row = sqlx::query("SELECT count(*) AS count FROM sessions WHERE label = ?")
            .bind(label)
            .fetch_one(&mut *self.0)
            .await?;
        count(&row, "count")
    }

    async fn sessions_before(&mut self, before: i64, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE no < ? ORDER BY no DESC LIMIT ?"))
            .bind(before)
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn sessions_after(&mut self, after: i64, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE no > ? ORDER BY no LIMIT ?"))
            .bind(after)
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn children(&mut self, parent: &SessionId, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE parent = ? ORDER BY no LIMIT ?"))
            .bind(parent.as_str())
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn session_entries(
        &mut self,
        session_no: i64,
        after: i64,
        limits: PageLimits,
    ) -> Result<EntryPage> {
        let rows = sqlx::query(select_entries!(
            "WHERE e.session_no = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?"
        ))
        .bind(session_no)
        .bind(after)
        .bind(i64::from(limits.rows) + 1)
        .fetch(&mut *self.0);
        page(rows, limits).await
    }

    async fn count_session_entries(&mut self, session_no: i64) -> Result<u64> {
        let row = sqlx::query("SELECT count(*) AS count FROM entries WHERE session_no = ?")
            .bind(session_no)
            .fetch_one(&mut *self.0)
            .await?;
        count(&row, "count")
    }

    async fn entries(&mut self, from: u64, limits: PageLimits) -> Result<EntryPage> {
        let rows = sqlx::query(select_entries!("WHERE e.idx >= ? ORDER BY e.idx LIMIT ?"))
            .bind(number(from)?)
            .bind(i64::from(limits.rows) + 1)
            .fetch(&mut *self.0);
        page(rows, limits).await
    }

    async fn leaves(&mut self, start: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        let leaves =
            sqlx::query_scalar("SELECT leaf FROM entries WHERE idx >= ? AND idx < ? ORDER BY idx")
                .bind(number(start)?)
                .bind(number(end)?)
                .fetch_all(&mut *self.0)
                .await?;
        Ok(leaves)
    }

    async fn tile(&mut self, level: u32, tile: u64) -> Result<Option<Vec<u8>>> {
        let hashes = sqlx::query_scalar("SELECT hashes FROM tiles WHERE level = ? AND tile = ?")
            .bind(level)
            .bind(number(tile)?)
            .fetch_optional(&mut *self.0)
            .await?;
        Ok(hashes)
    }

    async fn tiles(&mut self, level: u32, start: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        let tiles = sqlx::query_scalar(
            "SELECT hashes FROM tiles WHERE level = ? AND tile >= ? AND tile < ? ORDER BY tile",
        )
        .bind(level)
        .bind(number(start)?)
        .bind(number(end)?)
        .fetch_all(&mut *self.0)
        .await?;
        Ok(tiles)
    }

    async fn newest_checkpoint(&mut self) -> Result<Option<CheckpointRow>> {
        sqlx::query("SELECT size, root, note FROM checkpoints ORDER BY size DESC LIMIT 1")
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(checkpoint_from_row)
            .transpose()
    }

    async fn checkpoint_from(&mut self, size: u64) -> Result<Option<CheckpointRow>> {
        sqlx::query(
            "SELECT size, root, note FROM checkpoints WHERE size >= ? ORDER BY size LIMIT 1",
        )
        .bind(number(size)?)
        .fetch_optional(&mut *self.0)
        .await?
        .as_ref()
        .map(checkpoint_from_row)
        .transpose()
    }

    async fn checkpoints(&mut self, after: u64, last: u64) -> Result<Vec<CheckpointRow>> {
        let rows = sqlx::query(
            "SELECT size, root, note FROM checkpoints WHERE size > ? AND size <= ? ORDER BY size",
        )
        .bind(number(after)?)
        .bind(number(last)?)
        .fetch_all(&mut *self.0)
        .await?;
        rows.iter().map(checkpoint_from_row).collect()
    }

    async fn blob_rows(&mut self, hashes: &[ContentHash]) -> Result<Vec<BlobRow>> {
        blobs::rows(&mut self.0, hashes).await
    }

    async fn inline_blob_rows(
        &mut self,
        after: Option<&ContentHash>,
        limit: u32,
    ) -> Result<Vec<BlobRow>> {
        blobs::inline_rows(&mut self.0, after, limit).await
    }

    async fn inline_blob(&mut self, hash: &ContentHash) -> Result<Option<Vec<u8>>> {
        blobs::inline(&mut self.0, hash).await
    }

    async fn has_blobs_outside(&mut self) -> Result<bool> {
        blobs::any_outside(&mut self.0).await
    }

    async fn condemned_blobs(
        &mut self,
        among: Option<&[ContentHash]>,
    ) -> Result<Vec<CondemnedBlob>> {
        blobs::condemned(&mut self.0, among).await
    }

    async fn entry_bytes(&mut self, from: u64, limit: u32) -> Result<Vec<(i64, Vec<u8>)>> {
        let rows =
            sqlx::query_as("SELECT idx, bytes FROM entries WHERE idx >= ? ORDER BY idx LIMIT ?")
                .bind(number(from)?)
                .bind(limit)
                .fetch_all(&mut *self.0)
                .await?;
        Ok(rows)
    }

    async fn key(&mut self, id: &str) -> Result<Option<KeyRow>> {
        sqlx::query("SELECT id, role, name, secret, created, revoked FROM tokens WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(key_from_row)
            .transpose()
    }

    async fn keys(&mut self) -> Result<Vec<KeyRow>> {
        let rows = sqlx::query(
            "SELECT id, role, name, secret, created, revoked FROM tokens ORDER BY created, id",
        )
        .fetch_all(&mut *self.0)
        .await?;
        rows.iter().map(key_from_row).collect()
    }

    async fn strays(&mut self, size: u64, tiles: u64) -> Result<Strays> {
        let row = sqlx::query(
            "SELECT (SELECT count(*) FROM entries WHERE idx < 0) AS entries, \
             (SELECT count(*) FROM payloads WHERE idx < 0 OR idx >= ?) AS payloads, \
             (SELECT count(*) FROM checkpoints WHERE size < 1) AS checkpoints, \
             (SELECT max(0, count(*) - ?) FROM tiles) AS tiles",
        )
        .bind(number(size)?)
        .bind(number(tiles)?)
        .fetch_one(&mut *self.0)
        .await?;
        Ok(Strays {
            entries: row.try_get("entries")?,
            payloads: row.try_get("payloads")?,
            checkpoints: row.try_get("checkpoints")?,
            tiles: row.try_get("tiles")?,
        })
    }

    async fn structure_faults(&mut self) -> Result<Vec<String>> {
        super::copying::structure_faults(&mut self.0).await
    }
}

pub(super) async fn size(connection: &mut SqliteConnection) -> Result<u64> {
    let row = sqlx::query(SIZE).fetch_one(connection).await?;
    count(&row, "size")
}

/// Takes rows up to a page's limits.
async fn page(
    mut rows: impl futures_util::Stream<Item = sqlx::Result<SqliteRow>> + Unpin + Send,
    limits: PageLimits,
) -> Result<EntryPage> {
    let mut page = EntryPage::default();
    let mut bytes = 0_usize;
    while let Some(row) = rows.try_next().await? {
        let is_full = page.rows.len() >= limits.rows as usize || bytes >= limits.bytes;
        if is_full && !page.rows.is_empty() {
            page.has_more = true;
            break;
        }
        let row = entry_from_row(&row)?;
        bytes = bytes
            .saturating_add(row.bytes.len())
            .saturating_add(row.data.as_ref().map_or(0, Vec::len));
        page.rows.push(row);
    }
    Ok(page)
}

fn entry_from_row(row: &SqliteRow) -> Result<EntryRow> {
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

fn session_from_row(row: &SqliteRow) -> Result<SessionSummary> {
    SessionColumns {
        number: row.try_get("no")?,
        id: row.try_get("id")?,
        label: row.try_get("label")?,
        agent: row.try_get("agent")?,
        model: row.try_get("model")?,
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

fn checkpoint_from_row(row: &SqliteRow) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        size: count(row, "size")?,
        root: row.try_get("root")?,
        note: row.try_get("note")?,
    })
}

fn key_from_row(row: &SqliteRow) -> Result<KeyRow> {
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
pub(super) fn count(row: &SqliteRow, column: &str) -> Result<u64> {
    columns::count(column, row.try_get(column)?)
}
