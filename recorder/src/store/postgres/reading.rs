//! Everything that is read.

use std::ops::DerefMut;

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::{PgConnection, Row as _};

use super::blobs;
use super::rows::{bytes_max, checkpoint_from_row, count, key_from_row, page, session_from_row};
use super::text::to_stored;
use crate::session::SessionSummary;
use crate::store::{
    BlobRow, CheckpointRow, CondemnedBlob, Connection, EntryPage, IdentityRow, PageLimits, Result,
    Strays,
};
use crate::token::KeyRow;
use crate::tree::number;

/// A connection for reading: one of a pool, a read transaction, or a writer's own.
pub(super) struct Reading<C>(pub(super) C);

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

/// Selects a page of what [`page`] reads. The condition has `$1`, and the order is its own; `$2` is the greatest
/// number of rows and one, `$3` the bytes after which no further row is sent. The server counts the bytes, since whatever it
/// sends has to be taken: a thousand large payloads for a page of ten. `available` counts the rows up to `$2`, sent or not.
macro_rules! select_page {
    ($condition:literal, $order:literal) => {
        concat!(
            "SELECT idx, session_no, sequence, event, bytes, hash, leaf, salt, data, available FROM (\
             SELECT *, count(*) OVER () AS available, \
             coalesce(sum(octet_length(bytes) + coalesce(octet_length(data), 0)) OVER (ORDER BY ", $order,
            " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM (\
             SELECT e.idx, e.session_no, e.sequence, e.event, e.bytes, e.hash, e.leaf, p.salt, p.data \
             FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx WHERE ", $condition,
            " ORDER BY e.", $order, " LIMIT $2) AS wanted) AS counted WHERE before < $3 ORDER BY ", $order
        )
    };
}

#[async_trait]
impl<C: DerefMut<Target = PgConnection> + Send> Connection for Reading<C> {
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
        let row = sqlx::query("SELECT coalesce(max(idx) + 1, 0) AS size FROM entries")
            .fetch_one(&mut *self.0)
            .await?;
        count(&row, "size")
    }

    async fn session(&mut self, id: &SessionId) -> Result<Option<SessionSummary>> {
        sqlx::query(select_sessions!("WHERE id = $1"))
            .bind(id.as_str())
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(session_from_row)
            .transpose()
    }

    async fn session_by_number(&mut self, number: i64) -> Result<Option<SessionSummary>> {
        sqlx::query(select_sessions!("WHERE no = $1"))
            .bind(number)
            .fetch_optional(&mut *self.0)
            .await?
            .as_ref()
            .map(session_from_row)
            .transpose()
    }

    async fn sessions_labelled(&mut self, label: &str, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE label = $1 ORDER BY no LIMIT $2"))
            .bind(to_stored(label))
            .bind(i64::from(limit))
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn count_labelled(&mut self, label: &str) -> Result<u64> {
        let row = sqlx::query("SELECT count(*) AS count FROM sessions WHERE label = $1")
            .bind(to_stored(label))
            .fetch_one(&mut *self.0)
            .await?;
        count(&row, "count")
    }

    async fn sessions_before(&mut self, before: i64, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE no < $1 ORDER BY no DESC LIMIT $2"))
            .bind(before)
            .bind(i64::from(limit))
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn sessions_after(&mut self, after: i64, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE no > $1 ORDER BY no LIMIT $2"))
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&mut *self.0)
            .await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn children(&mut self, parent: &SessionId, limit: u32) -> Result<Vec<SessionSummary>> {
        let rows = sqlx::query(select_sessions!("WHERE parent = $1 ORDER BY no LIMIT $2"))
            .bind(parent.as_str())
            .bind(i64::from(limit))
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
        let rows = sqlx::query(select_page!(
            "e.session_no = $1 AND e.sequence > $4",
            "sequence"
        ))
        .bind(session_no)
        .bind(i64::from(limits.rows) + 1)
        .bind(bytes_max(limits))
        .bind(after)
        .fetch_all(&mut *self.0)
        .await?;
        page(&rows, limits)
    }

    async fn count_session_entries(&mut self, session_no: i64) -> Result<u64> {
        let row = sqlx::query("SELECT count(*) AS count FROM entries WHERE session_no = $1")
            .bind(session_no)
            .fetch_one(&mut *self.0)
            .await?;
        count(&row, "count")
    }

    async fn entries(&mut self, from: u64, limits: PageLimits) -> Result<EntryPage> {
        let rows = sqlx::query(select_page!("e.idx >= $1", "idx"))
            .bind(number(from)?)
            .bind(i64::from(limits.rows) + 1)
            .bind(bytes_max(limits))
            .fetch_all(&mut *self.0)
            .await?;
        page(&rows, limits)
    }

    async fn leaves(&mut self, start: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        let leaves = sqlx::query_scalar(
            "SELECT leaf FROM entries WHERE idx >= $1 AND idx < $2 ORDER BY idx",
        )
        .bind(number(start)?)
        .bind(number(end)?)
        .fetch_all(&mut *self.0)
        .await?;
        Ok(leaves)
    }

    async fn tile(&mut self, level: u32, tile: u64) -> Result<Option<Vec<u8>>> {
        let hashes = sqlx::query_scalar("SELECT hashes FROM tiles WHERE level = $1 AND tile = $2")
            .bind(i64::from(level))
            .bind(number(tile)?)
            .fetch_optional(&mut *self.0)
            .await?;
        Ok(hashes)
    }

    async fn tiles(&mut self, level: u32, start: u64, end: u64) -> Result<Vec<Vec<u8>>> {
        let tiles = sqlx::query_scalar(
            "SELECT hashes FROM tiles WHERE level = $1 AND tile >= $2 AND tile < $3 ORDER BY tile",
        )
        .bind(i64::from(level))
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
            "SELECT size, root, note FROM checkpoints WHERE size >= $1 ORDER BY size LIMIT 1",
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
            "SELECT size, root, note FROM checkpoints WHERE size > $1 AND size <= $2 ORDER BY size",
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
            sqlx::query_as("SELECT idx, bytes FROM entries WHERE idx >= $1 ORDER BY idx LIMIT $2")
                .bind(number(from)?)
                .bind(i64::from(limit))
                .fetch_all(&mut *self.0)
                .await?;
        Ok(rows)
    }

    async fn key(&mut self, id: &str) -> Result<Option<KeyRow>> {
        sqlx::query("SELECT id, role, name, secret, created, revoked FROM tokens WHERE id = $1")
            .bind(to_stored(id))
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
             (SELECT count(*) FROM payloads WHERE idx < 0) + (SELECT count(*) FROM payloads WHERE idx >= $1) AS payloads, \
             (SELECT count(*) FROM checkpoints WHERE size < 1) AS checkpoints, \
             (SELECT greatest(0, count(*) - $2) FROM tiles) AS tiles",
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
        // Reading each index and its table takes long on a large ledger.
        let usual: String = sqlx::query_scalar("SELECT current_setting('statement_timeout')")
            .fetch_one(&mut *self.0)
            .await?;
        sqlx::raw_sql("SET statement_timeout = 0")
            .execute(&mut *self.0)
            .await?;
        let faults = sqlx::query_scalar("SELECT fault FROM structure_faults() AS fault")
            .fetch_all(&mut *self.0)
            .await;
        sqlx::query("SELECT set_config('statement_timeout', $1, false)")
            .bind(usual)
            .execute(&mut *self.0)
            .await?;
        Ok(faults?)
    }
}
