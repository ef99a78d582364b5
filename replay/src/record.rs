//! The input of every analysis: a session's entries as recorded, with the bytes that they refer to.

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_schema::payload::Payload;
use remembrancer_schema::{ContentHash, Entry, EntryHash, Salt, SessionId};

/// One entry with its payload, as read from a ledger or a bundle.
#[derive(Debug, Clone)]
pub struct RecordedEvent {
    /// The entry.
    pub entry: Entry,
    /// Its canonical bytes.
    pub entry_bytes: Arc<[u8]>,
    /// Their hash.
    pub hash: EntryHash,
    /// The payload's salt and exact bytes; absent after redaction.
    pub payload: Option<RecordedPayload>,
}

/// A payload as it was received.
#[derive(Debug, Clone)]
pub struct RecordedPayload {
    /// The salt of the entry's commitment.
    pub salt: Salt,
    /// The exact bytes of the event's `data`.
    pub data: Arc<str>,
}

impl RecordedEvent {
    /// The payload, read as its type says; `None` after redaction, or if a newer version wrote what this one cannot read.
    pub fn read(&self) -> Option<Payload> {
        let payload = self.payload.as_ref()?;
        Payload::parse(&self.entry.kind, &payload.data).ok()
    }
}

/// A session as recorded.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    /// Its id.
    pub session: SessionId,
    /// Its entries, by sequence number, without gaps from 0.
    pub events: Vec<RecordedEvent>,
    /// The bytes of the blobs that its entries introduce, by hash. One that is missing was not kept.
    pub blobs: HashMap<ContentHash, Arc<[u8]>>,
}

impl SessionRecord {
    /// Hash of the last entry; `None` for a session without entries.
    pub fn head(&self) -> Option<EntryHash> {
        self.events.last().map(|event| event.hash)
    }
}
