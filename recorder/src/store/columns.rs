//! What the columns of a stored row say. Each database reads them in its own way; whether they can have been written is judged
//! here, once.

use remembrancer_schema::ContentHash;

use super::{BlobRow, Result};
use crate::error::LedgerError;

const INLINE: &str = "inline";
const STORE: &str = "store";

/// The place of a blob in its column.
pub(super) fn place(is_inline: bool) -> &'static str {
    if is_inline { INLINE } else { STORE }
}

/// A column that counts.
pub(super) fn count(column: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| LedgerError::Damaged(format!("column {column} holds {value}")))
}

/// A blob's address.
pub(super) fn address(hash: &[u8]) -> Result<ContentHash> {
    ContentHash::try_from(hash)
        .map_err(|_| LedgerError::Damaged(format!("a blob has the address {}", hex::encode(hash))))
}

/// The row of a blob as it is stored.
pub(super) struct BlobColumns {
    pub(super) hash: Vec<u8>,
    pub(super) size: i64,
    pub(super) place: String,
    pub(super) stored: String,
}

impl BlobColumns {
    /// What the row says, if it can have been written.
    pub(super) fn check(self) -> Result<BlobRow> {
        Ok(BlobRow {
            hash: address(&self.hash)?,
            size: count("size", self.size)?,
            is_inline: match self.place.as_str() {
                INLINE => true,
                STORE => false,
                other => {
                    return Err(LedgerError::Damaged(format!(
                        "a blob is in the place {other:?}"
                    )));
                }
            },
            stored: self.stored,
        })
    }
}
