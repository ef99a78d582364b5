//! Sessions for tests, built event by event.

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_schema::commitment::commit;
use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash, genesis};
use remembrancer_schema::{ContentHash, Entry, EntryHash, EventType, Origin, Salt, SessionId};

use super::{RecordedEvent, RecordedPayload, SessionRecord};

/// Builds a [`SessionRecord`] whose entries link, commit and count as a ledger's do.
#[derive(Debug, Clone)]
pub struct SessionFixture {
    origin: Origin,
    record: SessionRecord,
}

impl Default for SessionFixture {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionFixture {
    /// An empty session `s-1` of the agent `tester`.
    pub fn new() -> Self {
        Self {
            origin: "ledger.example/test".parse().expect("within the alphabet"),
            record: SessionRecord {
                session: "s-1".parse().expect("within the alphabet"),
                events: Vec::new(),
                blobs: HashMap::new(),
            },
        }
    }

    /// Names the session; only before its first event, because entries name it.
    ///
    /// # Panics
    /// If it has events, or the name is not a session id.
    pub fn session(mut self, id: &str) -> Self {
        assert!(self.record.events.is_empty(), "entries name their session");
        self.record.session = id.parse::<SessionId>().expect("a session id");
        self
    }

    /// Appends an event of a type, with its data as JSON. Data that does not fit the type is kept as it is.
    ///
    /// # Panics
    /// If the type is not known.
    pub fn event(self, kind: &str, data: impl Into<String>) -> Self {
        self.append(kind, Some(data.into()))
    }

    /// Appends an event whose payload was erased.
    ///
    /// # Panics
    /// If the type is not known.
    pub fn erased(self, kind: &str) -> Self {
        self.append(kind, None)
    }

    /// Adds a blob; the next event introduces none, contexts may name it by its hash.
    pub fn blob(mut self, bytes: &[u8]) -> Self {
        self.record
            .blobs
            .insert(ContentHash::of(bytes), Arc::from(bytes));
        self
    }

    /// The record.
    pub fn record(self) -> SessionRecord {
        self.record
    }

    fn append(mut self, kind: &str, data: Option<String>) -> Self {
        let sequence = self.record.events.len() as u64;
        let kind: EventType = kind.parse().expect("a known event type");
        let mut salt = [0; 32];
        salt[..8].copy_from_slice(&sequence.to_le_bytes());
        let salt = Salt::from_bytes(salt);
        let prev: EntryHash = self
            .record
            .head()
            .unwrap_or_else(|| genesis(&self.origin, &self.record.session));
        let entry = Entry {
            agent: Some("tester".parse().expect("no control characters")),
            blobs: Vec::new(),
            commitment: commit(&salt, data.as_deref().unwrap_or_default().as_bytes()),
            event: format!("e-{sequence}")
                .parse()
                .expect("within the alphabet"),
            index: sequence,
            origin: self.origin.clone(),
            prev,
            received: format!(
                "2026-11-30T08:{:02}:{:02}.000Z",
                (sequence / 60) % 60,
                sequence % 60
            ),
            sequence,
            session: self.record.session.clone(),
            time: None,
            kind,
            v: ENTRY_VERSION,
        };
        let entry_bytes: Arc<[u8]> = entry.to_bytes().into();
        self.record.events.push(RecordedEvent {
            hash: entry_hash(&entry_bytes),
            entry,
            entry_bytes,
            payload: data.map(|data| RecordedPayload {
                salt,
                data: data.into(),
            }),
        });
        self
    }
}
