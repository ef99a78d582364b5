//! The ledger's Merkle tree as stored: full tiles of 256 hashes, and a right edge that is recomputed.
//!
//! The cut into tiles is that of C2SP `tlog-tiles`: tile level `l` holds hashes of tree level `8 × l`.

use std::ops::Range;

use remembrancer_schema::TreeHash;
use remembrancer_schema::merkle::{self, Frontier, Subtree, node_hash, perfect_subtrees};

use crate::error::LedgerError;
use crate::store::Connection;

pub(crate) use remembrancer_schema::tile::{TILE_HEIGHT, TILE_WIDTH};

/// A full tile that waits to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FullTile {
    pub(crate) level: u32,
    pub(crate) tile: u64,
    pub(crate) hashes: Vec<u8>,
}

/// The growing edge: frontier and unfinished tiles. Cloned for each group, so that a group that fails leaves no trace.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    frontier: Frontier,
    tiles: Vec<Vec<TreeHash>>,
}

impl Edge {
    /// Reads the edge of the first `size` leaves from full tiles and the leaves right of them.
    pub(crate) async fn load(
        connection: &mut dyn Connection,
        size: u64,
    ) -> Result<Self, LedgerError> {
        let mut peaks = Vec::new();
        for subtree in perfect_subtrees(0..size) {
            peaks.push(subtree_hash(connection, subtree).await?);
        }
        let frontier = Frontier::resume(size, peaks)
            .ok_or_else(|| LedgerError::Damaged(format!("no tree has the size {size}")))?;
        let mut tiles = Vec::new();
        for level in 0.. {
            let count = size.checked_shr(TILE_HEIGHT * level).unwrap_or(0);
            if count == 0 {
                break;
            }
            let start = count - count % TILE_WIDTH;
            tiles.push(tile_hashes(connection, level, start..count).await?);
        }
        Ok(Self { frontier, tiles })
    }

    /// The edge of the first `size` leaves, from this one and the leaves that others appended behind it.
    pub(crate) async fn follow(
        &self,
        connection: &mut dyn Connection,
        size: u64,
    ) -> Result<Self, LedgerError> {
        let mut edge = self.clone();
        let mut stored_tiles = Vec::new();
        for leaf in connection.leaves(edge.size(), size).await? {
            let leaf = TreeHash::try_from(leaf.as_slice())
                .map_err(|_| LedgerError::Damaged("a leaf hash has not 32 bytes".to_owned()))?;
            edge.push(leaf, &mut stored_tiles);
            stored_tiles.clear();
        }
        if edge.size() != size {
            return Err(LedgerError::Damaged(format!(
                "leaves up to {size} are not all there"
            )));
        }
        Ok(edge)
    }

    pub(crate) fn size(&self) -> u64 {
        self.frontier.size()
    }

    pub(crate) fn root(&self) -> TreeHash {
        self.frontier.root()
    }

    /// Appends a leaf; tiles that it completes go to `full`.
    pub(crate) fn push(&mut self, leaf: TreeHash, full: &mut Vec<FullTile>) {
        let tiles = &mut self.tiles;
        self.frontier.push(leaf, |level, index, hash| {
            if level % TILE_HEIGHT != 0 {
                return;
            }
            let tile_level = level / TILE_HEIGHT;
            let at = tile_level as usize;
            if tiles.len() <= at {
                tiles.resize_with(at + 1, Vec::new);
            }
            tiles[at].push(hash);
            if tiles[at].len() as u64 == TILE_WIDTH {
                full.push(FullTile {
                    level: tile_level,
                    tile: index / TILE_WIDTH,
                    hashes: tiles[at]
                        .drain(..)
                        .flat_map(|hash| *hash.as_bytes())
                        .collect(),
                });
            }
        });
    }
}

/// The hash of a perfect subtree, all of whose leaves are stored.
async fn subtree_hash(
    connection: &mut dyn Connection,
    subtree: Subtree,
) -> Result<TreeHash, LedgerError> {
    let (tile_level, height) = (subtree.level / TILE_HEIGHT, subtree.level % TILE_HEIGHT);
    let range = subtree.index << height..(subtree.index + 1) << height;
    perfect_root(tile_hashes(connection, tile_level, range).await?)
}

/// Root of the ranges that a proof asks for, in order.
pub(crate) async fn range_roots(
    connection: &mut dyn Connection,
    ranges: Vec<Range<u64>>,
) -> Result<Vec<TreeHash>, LedgerError> {
    let mut roots = Vec::with_capacity(ranges.len());
    for range in ranges {
        roots.push(range_root(connection, range).await?);
    }
    Ok(roots)
}

/// Root over a range of leaves that starts the tree or that a proof asks for.
pub(crate) async fn range_root(
    connection: &mut dyn Connection,
    range: Range<u64>,
) -> Result<TreeHash, LedgerError> {
    let mut hashes = Vec::new();
    for subtree in perfect_subtrees(range) {
        hashes.push(subtree_hash(connection, subtree).await?);
    }
    Ok(merkle::fold_subtrees(&hashes).unwrap_or_else(merkle::empty_root))
}

/// Hashes of tree level `8 × level` within one tile: from the tile if it is full, else from what stands below it.
pub(crate) async fn tile_hashes(
    connection: &mut dyn Connection,
    level: u32,
    range: Range<u64>,
) -> Result<Vec<TreeHash>, LedgerError> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let tile = range.start / TILE_WIDTH;
    let stored = connection.tile(level, tile).await?;
    if let Some(stored) = stored {
        let hashes = split_tile(&stored)?;
        let start = (range.start % TILE_WIDTH) as usize;
        let length = (range.end - range.start) as usize;
        return Ok(hashes[start..start + length].to_vec());
    }
    let below = match level.checked_sub(1) {
        None => connection.leaves(range.start, range.end).await?,
        Some(below) => connection.tiles(below, range.start, range.end).await?,
    };
    if below.len() as u64 != range.end - range.start {
        return Err(LedgerError::Damaged(format!(
            "hashes {}..{} of tree level {} are not all there",
            range.start,
            range.end,
            level * TILE_HEIGHT
        )));
    }
    below
        .iter()
        .map(|bytes| match level {
            0 => TreeHash::try_from(bytes.as_slice())
                .map_err(|_| LedgerError::Damaged("a leaf hash has not 32 bytes".to_owned())),
            _ => perfect_root(split_tile(bytes)?),
        })
        .collect()
}

fn split_tile(bytes: &[u8]) -> Result<Vec<TreeHash>, LedgerError> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if hashes.len() as u64 != TILE_WIDTH || !rest.is_empty() {
        return Err(LedgerError::Damaged(format!(
            "a tile has {} bytes instead of {}",
            bytes.len(),
            TILE_WIDTH * 32
        )));
    }
    Ok(hashes
        .iter()
        .map(|hash| TreeHash::from_bytes(*hash))
        .collect())
}

/// Root over 2^n hashes of one level.
fn perfect_root(mut hashes: Vec<TreeHash>) -> Result<TreeHash, LedgerError> {
    while hashes.len() > 1 {
        hashes = hashes
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => Ok(node_hash(left, right)),
                _ => Err(LedgerError::Damaged("a subtree is not perfect".to_owned())),
            })
            .collect::<Result<_, _>>()?;
    }
    hashes
        .first()
        .copied()
        .ok_or_else(|| LedgerError::Damaged("a subtree has no hashes".to_owned()))
}

/// An index as the database holds it.
pub(crate) fn number(value: u64) -> Result<i64, LedgerError> {
    i64::try_from(value).map_err(|_| LedgerError::OutOfRange {
        what: "number",
        value,
        allowed: "below 2^63".to_owned(),
    })
}

#[cfg(test)]
mod tests;
