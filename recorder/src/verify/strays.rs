//! Rows that no entry explains. Nothing reads them by a known path, so nothing else would notice them.

use super::Run;
use crate::error::LedgerError;
use crate::store::Connection;
use crate::tree::TILE_HEIGHT;

/// A tile holds hashes of 2^8 subtrees; levels above this one are empty at any size.
const TILE_LEVELS: u32 = u64::BITS / TILE_HEIGHT;

impl Run<'_> {
    /// Looks for rows outside of what the entries explain. Tiles that should be there were compared one by one, so that any
    /// further one is seen by their number.
    pub(super) async fn strays(
        &mut self,
        connection: &mut dyn Connection,
    ) -> Result<(), LedgerError> {
        let size = self.tree.size();
        let tiles: u64 = (1..TILE_LEVELS)
            .map(|level| size >> (TILE_HEIGHT * level))
            .sum();
        let strays = connection.strays(size, tiles).await?;
        for (stray, what) in [
            (strays.entries, "entries have an index below 0"),
            (strays.payloads, "payloads belong to no entry"),
            (strays.checkpoints, "checkpoints cover no entry"),
            (strays.tiles, "tiles belong to no entries"),
        ] {
            if stray > 0 {
                self.faults.general(format!("{stray} {what}"));
            }
        }
        Ok(())
    }
}
