//! What a collection is asked for, and what it found.

use std::time::Duration;

use serde::Serialize;

use super::GRACE;
use crate::admin_act::Actor;

/// What is collected.
#[derive(Debug, Clone)]
pub struct GarbageOptions {
    /// Nothing that was uploaded within this time is garbage.
    pub older_than: Duration,
    /// Whether it is removed; otherwise it is only found.
    pub removes: bool,
    /// Who asks for it, for the entry that tells of a removal.
    pub by: Actor,
}

impl Default for GarbageOptions {
    fn default() -> Self {
        Self {
            older_than: GRACE,
            removes: false,
            by: Actor::local_user(),
        }
    }
}

/// Where a piece of garbage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GarbagePlace {
    /// An object in the blob store.
    Store,
    /// A row of the database.
    Inline,
    /// A file that a crash left half-written.
    HalfWritten,
}

/// A piece of garbage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GarbageItem {
    /// Where it is.
    pub place: GarbagePlace,
    /// Its address, or the name of its file.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last uploaded or written.
    pub stored: String,
}

/// What was found, and whether it was removed.
#[derive(Debug, Clone, Serialize)]
pub struct GarbageReport {
    /// The ledger.
    pub ledger: String,
    /// Where its large blobs are.
    pub blob_store: String,
    /// The grace time in seconds.
    pub older_than_seconds: u64,
    /// Whether what is listed was removed.
    pub removed: bool,
    /// Objects in the blob store that were looked at.
    pub objects: u64,
    /// Entries that were read, over all rounds.
    pub entries_read: u64,
    /// Pieces of garbage.
    pub count: u64,
    /// Their sizes together.
    pub bytes: u64,
    /// Pieces of garbage, at most a thousand.
    pub items: Vec<GarbageItem>,
    /// Objects under names that this program gives to nothing; they are left alone. At most a thousand.
    pub strangers: Vec<String>,
}
