//! An entry as it is stored.

use remembrancer_replay::{RecordedEvent, RecordedPayload};
use remembrancer_schema::{Entry, EntryHash, Salt};

use crate::error::LedgerError;
use crate::store::EntryRow;

/// An entry with its payload as stored.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    /// Position in the ledger, from 0.
    pub index: u64,
    /// The canonical bytes.
    pub bytes: Vec<u8>,
    /// The hash as stored.
    pub hash: EntryHash,
    /// Salt of the payload's commitment; absent after redaction.
    pub salt: Option<[u8; 32]>,
    /// The payload as received; absent after redaction.
    pub data: Option<String>,
}

impl StoredEntry {
    pub(crate) fn from_row(row: EntryRow) -> Result<Self, LedgerError> {
        let index = u64::try_from(row.index)
            .map_err(|_| LedgerError::Damaged(format!("an entry has the index {}", row.index)))?;
        let corrupt = |reason: &str| LedgerError::Corrupt {
            index,
            reason: reason.to_owned(),
        };
        Ok(Self {
            index,
            bytes: row.bytes,
            hash: EntryHash::try_from(row.hash.as_slice())
                .map_err(|_| corrupt("its hash has not 32 bytes"))?,
            salt: row
                .salt
                .map(|salt| {
                    salt.try_into()
                        .map_err(|_| corrupt("its salt has not 32 bytes"))
                })
                .transpose()?,
            data: row
                .data
                .map(|data| {
                    String::from_utf8(data).map_err(|_| corrupt("its payload is not UTF-8"))
                })
                .transpose()?,
        })
    }

    pub(super) fn into_event(self) -> Result<RecordedEvent, LedgerError> {
        let entry = Entry::from_bytes(&self.bytes).map_err(|error| LedgerError::Corrupt {
            index: self.index,
            reason: error.to_string(),
        })?;
        Ok(RecordedEvent {
            entry,
            entry_bytes: self.bytes.into(),
            hash: self.hash,
            payload: self
                .salt
                .zip(self.data)
                .map(|(salt, data)| RecordedPayload {
                    salt: Salt::from_bytes(salt),
                    data: data.into(),
                }),
        })
    }
}
