//! The tree cut into tiles, as a tiled log serves it (C2SP `tlog-tiles`), and proofs from fetched tiles.
//!
//! <https://c2sp.org/tlog-tiles>
//!
//! A reader that trusts a checkpoint asks which tiles it needs, fetches them from wherever they are, and computes the proof
//! itself. Nothing that was fetched is trusted: a proof from wrong tiles does not lead to the checkpoint's root.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use crate::hash::TreeHash;
use crate::limits::ENTRY_BYTES_MAX;
use crate::merkle::{
    self, Subtree, consistency_ranges, fold_subtrees, inclusion_ranges, leaf_hash, node_hash,
    perfect_subtrees,
};

/// Hashes in a full tile.
pub const TILE_WIDTH: u64 = 256;
/// Levels of the tree in a tile.
pub const TILE_HEIGHT: u32 = 8;
/// Highest level of a tile that an address may name.
pub const TILE_LEVEL_MAX: u32 = 63;
/// Bytes of a hash in a tile.
const HASH_BYTES: usize = 32;

/// Why a tile, an address or a bundle of entries was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TileError {
    /// Not an address of the form that the specification gives.
    #[error("{0}")]
    Address(&'static str),
    /// A tile whose bytes are not as many hashes as its address says.
    #[error("tile {tile} has {got} bytes instead of {expected}")]
    Length {
        /// Its address.
        tile: String,
        /// Bytes that it has.
        got: usize,
        /// Bytes that it should have.
        expected: usize,
    },
    /// A tile that the proof needs was not given.
    #[error("tile {0} is needed and was not fetched")]
    Missing(String),
    /// Index or sizes make no sense together.
    #[error("the index or the sizes are out of range")]
    OutOfRange,
    /// An entry that is too long for a bundle.
    #[error("an entry has {0} bytes; at most {ENTRY_BYTES_MAX} can stand in a bundle")]
    Entry(usize),
    /// A bundle of entries that ends within one, or has more of them than its address says.
    #[error("the bundle of entries is not {0} entries, each behind its length")]
    Bundle(u64),
}

/// Where a tile stands among those of its level, and how many hashes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileIndex {
    /// Its position, from 0.
    pub number: u64,
    /// Hashes, or entries, that it has: 1 to 256.
    pub width: u64,
}

impl TileIndex {
    /// Reads `<N>[.p/<W>]`: the number in groups of three digits, all but the last behind an `x`, and the width of a partial tile.
    pub fn parse(text: &str) -> Result<Self, TileError> {
        let (number, width) = match text.split_once(".p/") {
            None => (text, TILE_WIDTH),
            Some((number, width)) => (number, parse_width(width)?),
        };
        let (leading, last) = match number.rsplit_once('/') {
            None => (None, number),
            Some((leading, last)) => (Some(leading), last),
        };
        let mut value = 0_u64;
        for group in leading.iter().flat_map(|leading| leading.split('/')) {
            let group = group
                .strip_prefix('x')
                .and_then(three_digits)
                .ok_or(NUMBER)?;
            value = joined(value, group)?;
            // One tile has one address: no groups of zeros in front.
            if value == 0 {
                return Err(NUMBER);
            }
        }
        value = joined(value, three_digits(last).ok_or(NUMBER)?)?;
        Ok(Self {
            number: value,
            width,
        })
    }
}

const NUMBER: TileError = TileError::Address(
    "the number of a tile is written in groups of three digits, all but the last behind an x: 1234067 is x001/x234/067",
);
const WIDTH: TileError = TileError::Address(
    "the width of a partial tile is a number from 1 to 255 without leading zeros",
);
const LEVEL: TileError =
    TileError::Address("the level of a tile is a number from 0 to 63 without leading zeros");

/// A number with three more digits behind it.
fn joined(number: u64, group: u64) -> Result<u64, TileError> {
    number
        .checked_mul(1000)
        .and_then(|number| number.checked_add(group))
        .ok_or(NUMBER)
}

/// The value of exactly three decimal digits.
fn three_digits(group: &str) -> Option<u64> {
    let is_number = group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| group.parse().ok()).flatten()
}

/// A decimal number as the specification writes it.
fn decimal(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
        && text.len() <= 3;
    is_plain.then(|| text.parse().ok()).flatten()
}

fn parse_width(text: &str) -> Result<u64, TileError> {
    decimal(text)
        .filter(|width| (1..TILE_WIDTH).contains(width))
        .ok_or(WIDTH)
}

impl fmt::Display for TileIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = vec![self.number % 1000];
        let mut rest = self.number / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for group in groups.iter().skip(1).rev() {
            write!(f, "x{group:03}/")?;
        }
        write!(f, "{:03}", groups[0])?;
        if self.width < TILE_WIDTH {
            write!(f, ".p/{}", self.width)?;
        }
        Ok(())
    }
}

/// A tile of hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Level, from 0: it holds hashes of tree level `8 × level`.
    pub level: u32,
    /// Its place and width.
    pub index: TileIndex,
}

impl Tile {
    /// Reads `<L>/<N>[.p/<W>]`.
    pub fn parse(text: &str) -> Result<Self, TileError> {
        let (level, index) = text.split_once('/').ok_or(LEVEL)?;
        let level = decimal(level)
            .and_then(|level| u32::try_from(level).ok())
            .filter(|level| *level <= TILE_LEVEL_MAX)
            .ok_or(LEVEL)?;
        Ok(Self {
            level,
            index: TileIndex::parse(index)?,
        })
    }

    /// The tile that holds a hash of a tree level, as wide as it is in the tree of `size` entries.
    fn holding(subtree: Subtree, size: u64) -> Self {
        let level = subtree.level / TILE_HEIGHT;
        let first = subtree.index << (subtree.level % TILE_HEIGHT);
        let number = first / TILE_WIDTH;
        let hashes = hashes_at(level, size);
        Self {
            level,
            index: TileIndex {
                number,
                width: (hashes - number * TILE_WIDTH).min(TILE_WIDTH),
            },
        }
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.level, self.index)
    }
}

/// How many hashes the tiles of a level have in the tree of `size` entries.
pub fn hashes_at(level: u32, size: u64) -> u64 {
    size.checked_shr(TILE_HEIGHT.saturating_mul(level))
        .unwrap_or(0)
}

/// Writes a bundle of entries: each behind its length in two bytes, the higher first.
pub fn write_entries<'a>(
    entries: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, TileError> {
    let mut bundle = Vec::new();
    for entry in entries {
        let length = u16::try_from(entry.len()).map_err(|_| TileError::Entry(entry.len()))?;
        bundle.extend_from_slice(&length.to_be_bytes());
        bundle.extend_from_slice(entry);
    }
    Ok(bundle)
}

/// Reads a bundle of exactly `width` entries.
pub fn read_entries(bundle: &[u8], width: u64) -> Result<Vec<&[u8]>, TileError> {
    let mut entries = Vec::new();
    let mut rest = bundle;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        if entries.len() as u64 == width || length > behind.len() || length > ENTRY_BYTES_MAX {
            return Err(TileError::Bundle(width));
        }
        let (entry, behind) = behind.split_at(length);
        entries.push(entry);
        rest = behind;
    }
    if entries.len() as u64 == width && rest.is_empty() {
        Ok(entries)
    } else {
        Err(TileError::Bundle(width))
    }
}

/// Whether the entries of a bundle are those of its tile of level 0.
pub fn entries_match(entries: &[&[u8]], tile: &[TreeHash]) -> bool {
    entries.len() == tile.len()
        && entries
            .iter()
            .zip(tile)
            .all(|(entry, hash)| leaf_hash(entry) == *hash)
}

/// Tiles that a proof of inclusion needs; `None` unless `index < size`.
pub fn tiles_for_inclusion(index: u64, size: u64) -> Option<BTreeSet<Tile>> {
    let leaf = index..index.checked_add(1)?;
    let ranges = inclusion_ranges(index, size)?;
    Some(tiles_of(ranges.into_iter().chain([leaf]), size))
}

/// Tiles that a proof of consistency needs; `None` for `old > new`.
pub fn tiles_for_consistency(old: u64, new: u64) -> Option<BTreeSet<Tile>> {
    Some(tiles_of(consistency_ranges(old, new)?, new))
}

/// Tiles that the root of the tree of `size` entries needs.
pub fn tiles_for_root(size: u64) -> BTreeSet<Tile> {
    tiles_of(std::iter::once(0..size), size)
}

fn tiles_of(ranges: impl IntoIterator<Item = Range<u64>>, size: u64) -> BTreeSet<Tile> {
    ranges
        .into_iter()
        .flat_map(perfect_subtrees)
        .map(|subtree| Tile::holding(subtree, size))
        .collect()
}

/// Fetched tiles of the tree of one size.
#[derive(Debug, Clone)]
pub struct FetchedTiles {
    size: u64,
    tiles: BTreeMap<(u32, u64), Vec<TreeHash>>,
}

impl FetchedTiles {
    /// None yet, of the tree of `size` entries.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            tiles: BTreeMap::new(),
        }
    }

    /// Adds the bytes of a tile.
    pub fn add(&mut self, tile: Tile, bytes: &[u8]) -> Result<(), TileError> {
        let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
        if hashes.len() as u64 != tile.index.width || !rest.is_empty() {
            return Err(TileError::Length {
                tile: tile.to_string(),
                got: bytes.len(),
                expected: usize::try_from(tile.index.width).unwrap_or(usize::MAX) * HASH_BYTES,
            });
        }
        let hashes = hashes.iter().map(|hash| TreeHash::from_bytes(*hash));
        self.tiles
            .insert((tile.level, tile.index.number), hashes.collect());
        Ok(())
    }

    /// The hash of an entry, as its tile says.
    pub fn leaf(&self, index: u64) -> Result<TreeHash, TileError> {
        if index >= self.size {
            return Err(TileError::OutOfRange);
        }
        self.subtree(Subtree { level: 0, index })
    }

    /// Root of the tree.
    pub fn root(&self) -> Result<TreeHash, TileError> {
        self.range(0..self.size)
    }

    /// Proof that entry `index` is in the tree (RFC 6962 §2.1.1), to be checked with [`merkle::verify_inclusion`].
    pub fn inclusion_proof(&self, index: u64) -> Result<Vec<TreeHash>, TileError> {
        self.proof(inclusion_ranges(index, self.size))
    }

    /// Proof that the tree extends that of `old` entries (RFC 6962 §2.1.2), to be checked with
    /// [`merkle::verify_consistency`].
    pub fn consistency_proof(&self, old: u64) -> Result<Vec<TreeHash>, TileError> {
        self.proof(consistency_ranges(old, self.size))
    }

    fn proof(&self, ranges: Option<Vec<Range<u64>>>) -> Result<Vec<TreeHash>, TileError> {
        let ranges = ranges.ok_or(TileError::OutOfRange)?;
        ranges.into_iter().map(|range| self.range(range)).collect()
    }

    fn range(&self, range: Range<u64>) -> Result<TreeHash, TileError> {
        let hashes: Vec<TreeHash> = perfect_subtrees(range)
            .into_iter()
            .map(|subtree| self.subtree(subtree))
            .collect::<Result<_, _>>()?;
        Ok(fold_subtrees(&hashes).unwrap_or_else(merkle::empty_root))
    }

    fn subtree(&self, subtree: Subtree) -> Result<TreeHash, TileError> {
        let tile = Tile::holding(subtree, self.size);
        let height = subtree.level % TILE_HEIGHT;
        let first = (subtree.index << height) % TILE_WIDTH;
        let hashes = self
            .tiles
            .get(&(tile.level, tile.index.number))
            .and_then(|hashes| hashes.get(first as usize..(first + (1 << height)) as usize))
            .ok_or_else(|| TileError::Missing(tile.to_string()))?;
        Ok(perfect_root(hashes))
    }
}

/// Root over 2^n hashes of one level, at least one.
fn perfect_root(hashes: &[TreeHash]) -> TreeHash {
    let mut hashes = hashes.to_vec();
    while hashes.len() > 1 {
        hashes = hashes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[left, right]| node_hash(left, right))
            .collect();
    }
    hashes[0]
}

#[cfg(test)]
mod tests;
