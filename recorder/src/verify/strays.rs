//! Rows that no entry explains. Nothing reads them by a known path, so nothing else would notice them.

use sqlx::{Row as _, SqliteConnection};

use super::Run;
use crate::error::LedgerError;
use crate::tree::number;

/// A tile holds hashes of 2^8 subtrees; levels above this one are empty at any size.
const TILE_HEIGHT: u32 = 8;
const TILE_LEVELS: u32 = u64::BITS / TILE_HEIGHT;

impl Run<'_> {
    /// Looks for rows outside of what the entries explain. Tiles that should be there were compared one by one, so that any
    /// further one is seen by their number.
    pub(super) async fn strays(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<(), LedgerError> {
        let size = self.tree.size();
        let tiles: u64 = (1..TILE_LEVELS)
            .map(|level| size >> (TILE_HEIGHT * level))
            .sum();
        let row = sqlx::query(
            "SELECT (SELECT count(*) FROM entries WHERE idx < 0) AS entries, \
             (SELECT count(*) FROM payloads WHERE idx < 0 OR idx >= ?) AS payloads, \
             (SELECT count(*) FROM checkpoints WHERE size < 1) AS checkpoints, \
             (SELECT max(0, count(*) - ?) FROM tiles) AS tiles",
        )
        .bind(number(size)?)
        .bind(number(tiles)?)
        .fetch_one(connection)
        .await?;
        for (column, what) in [
            ("entries", "entries have an index below 0"),
            ("payloads", "payloads belong to no entry"),
            ("checkpoints", "checkpoints cover no entry"),
            ("tiles", "tiles belong to no entries"),
        ] {
            let stray: i64 = row.try_get(column)?;
            if stray > 0 {
                self.faults.general(format!("{stray} {what}"));
            }
        }
        Ok(())
    }
}
