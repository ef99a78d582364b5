//! Tiles of the tree and bundles of entries, as a tiled log serves them (C2SP `tlog-tiles`).

use remembrancer_schema::tile::{self, Tile, TileIndex};

use super::Reader;
use crate::error::LedgerError;
use crate::tree::{TILE_WIDTH, tile_hashes};

impl Reader {
    /// The hashes of a tile, one behind the other; `None` if the tree has not grown so far. A partial tile of any width that
    /// the tree had or has is there, also after its tile was filled.
    pub async fn tile(&self, tile: Tile) -> Result<Option<Vec<u8>>, LedgerError> {
        let mut connection = self.connection().await?;
        let there = tile::hashes_at(tile.level, connection.size().await?);
        let Some(range) = range_within(tile.index, there) else {
            return Ok(None);
        };
        let hashes = tile_hashes(&mut *connection, tile.level, range).await?;
        let bytes = hashes.iter().flat_map(|hash| *hash.as_bytes());
        Ok(Some(bytes.collect()))
    }

    /// The entries of a tile of level 0, each behind its length; `None` if the ledger has not grown so far.
    pub async fn entry_bundle(&self, index: TileIndex) -> Result<Option<Vec<u8>>, LedgerError> {
        let mut connection = self.connection().await?;
        let Some(range) = range_within(index, connection.size().await?) else {
            return Ok(None);
        };
        // A width is at most that of a tile.
        let limit = index.width.min(TILE_WIDTH) as u32;
        let rows = connection.entry_bytes(range.start, limit).await?;
        let is_whole = rows.len() as u64 == index.width
            && rows
                .iter()
                .zip(range.clone())
                .all(|((found, _), index)| u64::try_from(*found) == Ok(index));
        if !is_whole {
            return Err(LedgerError::Damaged(format!(
                "entries {}..{} are not all there",
                range.start, range.end
            )));
        }
        tile::write_entries(rows.iter().map(|(_, bytes)| bytes.as_slice()))
            .map(Some)
            .map_err(|error| {
                LedgerError::Damaged(format!("from entry {} on: {error}", range.start))
            })
    }
}

/// The hashes that a place stands for, if there are so many.
fn range_within(index: TileIndex, there: u64) -> Option<std::ops::Range<u64>> {
    let start = index.number.checked_mul(TILE_WIDTH)?;
    let end = start.checked_add(index.width)?;
    (end <= there).then_some(start..end)
}
