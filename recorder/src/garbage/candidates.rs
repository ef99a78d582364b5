//! Blobs that may be garbage, and what speaks for them.

use std::collections::HashMap;

use remembrancer_schema::{ContentHash, Entry};

use super::{GarbageItem, GarbagePlace};
use crate::error::LedgerError;
use crate::store::{CondemnedBlob, Connection};

/// Rows that one statement asks for.
const ROWS_AT_ONCE: usize = 500;
const ENTRIES_AT_ONCE: u32 = 2000;

#[derive(Debug)]
struct About {
    place: GarbagePlace,
    bytes: u64,
    stored: String,
}

/// Blobs that may be garbage.
#[derive(Debug, Default)]
pub(super) struct Candidates(HashMap<ContentHash, About>);

impl Candidates {
    pub(super) fn add(
        &mut self,
        hash: ContentHash,
        place: GarbagePlace,
        bytes: u64,
        stored: String,
    ) {
        let about = About {
            place,
            bytes,
            stored,
        };
        self.0.insert(hash, about);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Their sizes together.
    pub(super) fn bytes(&self) -> u64 {
        self.0.values().map(|about| about.bytes).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn drop(&mut self, hash: &ContentHash) {
        self.0.remove(hash);
    }

    /// The addresses of those in some places.
    pub(super) fn hashes(&self, is_wanted: impl Fn(GarbagePlace) -> bool) -> Vec<ContentHash> {
        let wanted = self.0.iter().filter(|(_, about)| is_wanted(about.place));
        wanted.map(|(hash, _)| *hash).collect()
    }

    /// All of them, marked at a moment.
    pub(super) fn condemned(&self, since: &str) -> Vec<CondemnedBlob> {
        let mark = |hash: &ContentHash| CondemnedBlob {
            hash: *hash,
            since: since.to_owned(),
        };
        self.0.keys().map(mark).collect()
    }

    /// Takes some away from these; `None` if there are none.
    pub(super) fn take(&mut self, count: usize) -> Option<Self> {
        let hashes: Vec<ContentHash> = self.0.keys().take(count).copied().collect();
        let taken: HashMap<_, _> = hashes
            .iter()
            .filter_map(|hash| self.0.remove_entry(hash))
            .collect();
        (!taken.is_empty()).then_some(Self(taken))
    }

    /// Drops those that were uploaded since a moment, as their rows say.
    pub(super) async fn keep_old(
        &mut self,
        connection: &mut dyn Connection,
        cutoff: &str,
    ) -> Result<(), LedgerError> {
        for hashes in self.hashes(|_| true).chunks(ROWS_AT_ONCE) {
            for row in connection.blob_rows(hashes).await? {
                if *row.stored >= *cutoff {
                    self.0.remove(&row.hash);
                }
            }
        }
        Ok(())
    }

    /// Drops those that entries from an index on name; says how many entries there are. An entry that cannot be read might
    /// name any of them: then nothing can be told.
    pub(super) async fn keep_unnamed(
        &mut self,
        connection: &mut dyn Connection,
        from: u64,
    ) -> Result<u64, LedgerError> {
        let mut next = from;
        loop {
            let page = connection.entry_bytes(next, ENTRIES_AT_ONCE).await?;
            if page.is_empty() {
                return Ok(next);
            }
            for (index, bytes) in page {
                if u64::try_from(index) != Ok(next) {
                    return Err(LedgerError::Corrupt {
                        index: next,
                        reason: "it is missing, so that nobody knows which blobs it names"
                            .to_owned(),
                    });
                }
                let entry = Entry::from_bytes(&bytes).map_err(|error| LedgerError::Corrupt {
                    index: next,
                    reason: error.to_string(),
                })?;
                for hash in &entry.blobs {
                    self.0.remove(hash);
                }
                next += 1;
            }
        }
    }

    pub(super) fn into_items(self) -> impl Iterator<Item = GarbageItem> {
        let mut items: Vec<(ContentHash, About)> = self.0.into_iter().collect();
        items.sort_unstable_by_key(|(hash, _)| *hash);
        items.into_iter().map(|(hash, about)| GarbageItem {
            place: about.place,
            name: hash.to_string(),
            bytes: about.bytes,
            stored: about.stored,
        })
    }
}
