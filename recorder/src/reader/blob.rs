//! Blobs, wherever they lie, never without a comparison with their address.

use std::collections::HashSet;

use bytes::Bytes;
use remembrancer_schema::ContentHash;

use super::Reader;
use crate::blob_store::{BlobStore, Fetched};
use crate::error::LedgerError;
use crate::store::{BlobRow, Connection};

/// Most hashes that one question for missing blobs may name.
pub(crate) const MISSING_HASHES_MAX: usize = 10_000;

/// Hashes that one statement looks up.
const LOOKED_UP_AT_ONCE: usize = 500;

/// Where the bytes of a small blob are.
const DATABASE: &str = "the database";

impl Reader {
    pub(crate) fn blob_store(&self) -> &BlobStore {
        &self.0.blobs
    }

    /// Where large blobs are kept.
    pub fn blob_location(&self) -> &crate::blob_store::BlobLocation {
        self.0.blobs.location()
    }

    /// Whether the store of large blobs was asked for, or holds some.
    pub(crate) async fn uses_blob_store(&self) -> Result<bool, LedgerError> {
        Ok(self.location().blobs.is_some() || self.connection().await?.has_blobs_outside().await?)
    }

    /// Makes sure that the blob store is this ledger's, and remembers where it is.
    pub(crate) async fn claim_blob_store(&self) -> Result<(), LedgerError> {
        let has_blobs = self.connection().await?.has_blobs_outside().await?;
        self.0.blobs.claim(self.origin(), !has_blobs).await?;
        if self.location().blobs.is_some() {
            self.0.blobs.location().remember(self.location())?;
        }
        Ok(())
    }

    /// A blob's bytes; `None` if no such blob was ever stored. They are what hashes to the address, or this is an error: one
    /// for bytes that are gone, another for other bytes, a third for a store that does not answer.
    pub async fn blob(&self, hash: &ContentHash) -> Result<Option<Bytes>, LedgerError> {
        let found = {
            let mut connection = self.connection().await?;
            find(&mut *connection, hash).await?
        };
        match found {
            None => Ok(None),
            Some(found) => match self.load(hash, found).await? {
                Loaded::Whole(bytes) => Ok(Some(bytes)),
                Loaded::Lost(lost) => Err(lost.into_error(*hash, None)),
            },
        }
    }

    /// Those of the hashes, each once and in their order, that are no stored blob of this ledger: an event that named one would be
    /// refused.
    pub(crate) async fn missing_blobs(
        &self,
        hashes: &[ContentHash],
    ) -> Result<Vec<ContentHash>, LedgerError> {
        let mut known = HashSet::new();
        let mut connection = self.connection().await?;
        for some in hashes.chunks(LOOKED_UP_AT_ONCE) {
            let rows = connection.blob_rows(some).await?;
            known.extend(rows.into_iter().map(|row| row.hash));
        }
        // Inserted once it is told: a hash that comes twice is told once.
        let missing = hashes.iter().filter(|hash| known.insert(**hash));
        Ok(missing.copied().collect())
    }

    /// The bytes of a blob that has a row.
    pub(crate) async fn load(
        &self,
        hash: &ContentHash,
        found: Found,
    ) -> Result<Loaded, LedgerError> {
        let place = |is_inline: bool| {
            if is_inline {
                DATABASE.to_owned()
            } else {
                self.0.blobs.address(hash)
            }
        };
        let fetched = match found.inline {
            Some(bytes) => {
                let has = ContentHash::of(&bytes);
                if has == *hash {
                    Fetched::Whole(Bytes::from(bytes))
                } else {
                    Fetched::Damaged(format!("its {} bytes have the hash {has}", bytes.len()))
                }
            }
            None if found.row.is_inline => Fetched::Missing,
            None => self.0.blobs.fetch(hash).await?,
        };
        let place = place(found.row.is_inline);
        Ok(match fetched {
            Fetched::Whole(bytes) if bytes.len() as u64 != found.row.size => {
                Loaded::Lost(Lost::Damaged {
                    place: DATABASE.to_owned(),
                    reason: format!(
                        "its row says {} bytes, it has {}",
                        found.row.size,
                        bytes.len()
                    ),
                })
            }
            Fetched::Whole(bytes) => Loaded::Whole(bytes),
            Fetched::Missing => Loaded::Lost(Lost::Missing { place }),
            Fetched::Damaged(reason) => Loaded::Lost(Lost::Damaged { place, reason }),
        })
    }
}

/// What the database has of a blob.
pub(crate) struct Found {
    row: BlobRow,
    inline: Option<Vec<u8>>,
}

/// Looks a blob up; `None` if it has no row.
pub(crate) async fn find(
    connection: &mut dyn Connection,
    hash: &ContentHash,
) -> Result<Option<Found>, LedgerError> {
    let Some(row) = connection
        .blob_rows(std::slice::from_ref(hash))
        .await?
        .pop()
    else {
        return Ok(None);
    };
    let inline = if row.is_inline {
        connection.inline_blob(hash).await?
    } else {
        None
    };
    Ok(Some(Found { row, inline }))
}

/// The bytes of a blob, or why there are none.
pub(crate) enum Loaded {
    Whole(Bytes),
    Lost(Lost),
}

/// Why there are no bytes.
#[derive(Debug, Clone)]
pub(crate) enum Lost {
    Missing { place: String },
    Damaged { place: String, reason: String },
}

impl Lost {
    /// Its row is gone too.
    pub(crate) fn without_row() -> Self {
        Self::Missing {
            place: DATABASE.to_owned(),
        }
    }

    pub(crate) fn into_error(self, hash: ContentHash, entry: Option<u64>) -> LedgerError {
        match self {
            Self::Missing { place } => LedgerError::BlobMissing { hash, place, entry },
            Self::Damaged { place, reason } => LedgerError::BlobDamaged {
                hash,
                place,
                reason,
                entry,
            },
        }
    }

    /// For the list of a verification.
    pub(crate) fn fault(&self, hash: &ContentHash) -> String {
        match self {
            Self::Missing { place } => format!("blob {hash} is missing: {place} holds nothing"),
            Self::Damaged { place, reason } => {
                format!("blob {hash} holds other bytes in {place}: {reason}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
