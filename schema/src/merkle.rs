//! The ledger's Merkle tree: RFC 6962 with SHA-256 over entry bytes.
//!
//! Nothing here holds the tree. Proofs are computed in two steps so that the caller may fetch hashes from wherever it keeps
//! them: first the ranges of leaves that the proof needs, then, for each range, the perfect subtrees that make it up.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::hash::TreeHash;

/// Hash of a leaf: SHA-256 of a zero byte and the entry's bytes (RFC 6962 §2.1).
pub fn leaf_hash(entry_bytes: &[u8]) -> TreeHash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(entry_bytes);
    TreeHash::from_bytes(hasher.finalize().into())
}

/// Hash of an inner node: SHA-256 of a one byte and both children (RFC 6962 §2.1).
pub fn node_hash(left: &TreeHash, right: &TreeHash) -> TreeHash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    TreeHash::from_bytes(hasher.finalize().into())
}

/// Root of the tree without leaves: SHA-256 of nothing.
pub fn empty_root() -> TreeHash {
    TreeHash::from_bytes(Sha256::digest([]).into())
}

/// The right edge of a growing tree: one hash per perfect subtree, largest first. O(log n) memory, amortised O(1) per leaf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<TreeHash>,
}

impl Frontier {
    /// The tree without leaves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes up a tree of `size` leaves again from the hashes of [`perfect_subtrees`]`(0..size)`; `None` if there are not
    /// as many as that size has.
    pub fn resume(size: u64, peaks: Vec<TreeHash>) -> Option<Self> {
        (peaks.len() as u32 == size.count_ones()).then_some(Self { size, peaks })
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf. `completed` is told of every perfect subtree that this leaf completes, the leaf itself included,
    /// as (level, index at that level, hash).
    pub fn push(&mut self, leaf: TreeHash, mut completed: impl FnMut(u32, u64, TreeHash)) {
        completed(0, self.size, leaf);
        let mut hash = leaf;
        for level in 0..self.size.trailing_ones() {
            let left = self
                .peaks
                .pop()
                .expect("a set bit of the size stands for one peak");
            hash = node_hash(&left, &hash);
            completed(level + 1, self.size >> (level + 1), hash);
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Root over all leaves so far.
    pub fn root(&self) -> TreeHash {
        fold_subtrees(&self.peaks).unwrap_or_else(empty_root)
    }
}

/// A perfect subtree: `2^level` leaves starting at leaf `index << level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subtree {
    /// Height: the subtree has `2^level` leaves.
    pub level: u32,
    /// Position among the subtrees of its level, from the left.
    pub index: u64,
}

/// The perfect subtrees that make up a range which a proof asked for, from the left.
pub fn perfect_subtrees(range: Range<u64>) -> Vec<Subtree> {
    let mut subtrees = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let fits = (range.end - start).ilog2();
        let level = if start == 0 {
            fits
        } else {
            fits.min(start.trailing_zeros())
        };
        subtrees.push(Subtree {
            level,
            index: start >> level,
        });
        start += 1 << level;
    }
    subtrees
}

/// Root over the hashes of [`perfect_subtrees`], given in the same order; `None` for none.
pub fn fold_subtrees(hashes: &[TreeHash]) -> Option<TreeHash> {
    hashes
        .iter()
        .rev()
        .copied()
        .reduce(|right, left| node_hash(&left, &right))
}

/// Largest power of two smaller than `n`, for `n` ≥ 2.
fn split(n: u64) -> u64 {
    1 << (n - 1).ilog2()
}

/// The ranges whose roots prove that leaf `index` is in the tree of `size` leaves, in proof order (RFC 6962 §2.1.1).
/// `None` unless `index < size`.
pub fn inclusion_ranges(index: u64, size: u64) -> Option<Vec<Range<u64>>> {
    if index >= size {
        return None;
    }
    let mut ranges = Vec::new();
    let (mut start, mut end) = (0, size);
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            ranges.push(middle..end);
            end = middle;
        } else {
            ranges.push(start..middle);
            start = middle;
        }
    }
    ranges.reverse();
    Some(ranges)
}

/// The ranges whose roots prove that the tree of `new` leaves extends that of `old` leaves, in proof order (RFC 6962 §2.1.2).
/// Empty for `old` = 0 and `old` = `new`; `None` for `old > new`.
pub fn consistency_ranges(old: u64, new: u64) -> Option<Vec<Range<u64>>> {
    if old > new {
        return None;
    }
    if old == 0 || old == new {
        return Some(Vec::new());
    }
    let mut ranges = Vec::new();
    let (mut start, mut end) = (0, new);
    loop {
        if end == old {
            if start != 0 {
                ranges.push(start..end);
            }
            break;
        }
        let middle = start + split(end - start);
        if old <= middle {
            ranges.push(middle..end);
            end = middle;
        } else {
            ranges.push(start..middle);
            start = middle;
        }
    }
    ranges.reverse();
    Some(ranges)
}

/// Why a proof does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Index or sizes make no sense together.
    #[error("the proof's index or sizes are out of range")]
    OutOfRange,
    /// Too few or too many hashes.
    #[error("the proof has {got} hashes where {expected} are needed")]
    Length {
        /// Hashes given.
        got: usize,
        /// Hashes needed.
        expected: usize,
    },
    /// The computed root differs from the given one.
    #[error("the proof leads to another root")]
    Root,
}

/// Checks that `leaf` is leaf `index` of the tree with `size` leaves and root `root`.
pub fn verify_inclusion(
    leaf: &TreeHash,
    index: u64,
    size: u64,
    proof: &[TreeHash],
    root: &TreeHash,
) -> Result<(), ProofError> {
    let ranges = inclusion_ranges(index, size).ok_or(ProofError::OutOfRange)?;
    if ranges.len() != proof.len() {
        return Err(ProofError::Length {
            got: proof.len(),
            expected: ranges.len(),
        });
    }
    let computed = ranges
        .iter()
        .zip(proof)
        .fold(*leaf, |hash, (range, sibling)| {
            if range.start > index {
                node_hash(&hash, sibling)
            } else {
                node_hash(sibling, &hash)
            }
        });
    if computed == *root {
        Ok(())
    } else {
        Err(ProofError::Root)
    }
}

/// Checks that the tree (`new`, `new_root`) extends the tree (`old`, `old_root`): RFC 9162 §2.1.4.2.
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: &TreeHash,
    new_root: &TreeHash,
    proof: &[TreeHash],
) -> Result<(), ProofError> {
    let expected = consistency_ranges(old, new)
        .ok_or(ProofError::OutOfRange)?
        .len();
    if proof.len() != expected {
        return Err(ProofError::Length {
            got: proof.len(),
            expected,
        });
    }
    let holds = if old == 0 {
        *old_root == empty_root()
    } else if old == new {
        old_root == new_root
    } else {
        let (first, rest) = if old.is_power_of_two() {
            (*old_root, proof)
        } else {
            proof
                .split_first()
                .map(|(first, rest)| (*first, rest))
                .ok_or(ProofError::OutOfRange)?
        };
        let mut position = (old - 1) >> (old - 1).trailing_ones();
        let mut last = (new - 1) >> (old - 1).trailing_ones();
        let (mut old_hash, mut new_hash) = (first, first);
        for sibling in rest {
            if last == 0 {
                return Err(ProofError::OutOfRange);
            }
            if position & 1 == 1 || position == last {
                old_hash = node_hash(sibling, &old_hash);
                new_hash = node_hash(sibling, &new_hash);
                while position & 1 == 0 && position != 0 {
                    position >>= 1;
                    last >>= 1;
                }
            } else {
                new_hash = node_hash(&new_hash, sibling);
            }
            position >>= 1;
            last >>= 1;
        }
        last == 0 && old_hash == *old_root && new_hash == *new_root
    };
    if holds { Ok(()) } else { Err(ProofError::Root) }
}

#[cfg(test)]
mod tests;
