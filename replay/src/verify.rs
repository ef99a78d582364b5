//! Whether recorded entries are what the ledger once accepted: every entry's bytes, its place in its session's chain, and its
//! payload against the commitment. Bundles, ledgers and pages are judged by this one code.

use remembrancer_schema::commitment::{Salt, commit};
use remembrancer_schema::entry::{entry_hash, genesis};
use remembrancer_schema::payload::{EventType, Payload};
use remembrancer_schema::{ContentHash, Entry, EntryHash, Origin, SessionId};
use serde::Serialize;

use crate::record::SessionRecord;

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Index in the ledger of the entry that it is about, where it is about one.
    pub index: Option<u64>,
    /// That entry's sequence number in its session.
    pub sequence: Option<u64>,
    /// The file of a bundle that it is about, where it is about one.
    pub file: Option<String>,
    /// What does not hold, in words.
    pub message: String,
}

impl Fault {
    /// A fault that no single entry has.
    pub fn general(message: impl Into<String>) -> Self {
        Self {
            index: None,
            sequence: None,
            file: None,
            message: message.into(),
        }
    }

    /// A fault of one file of a bundle.
    pub fn of_file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..Self::general(message)
        }
    }

    /// A fault of one entry, by its place in its session; its index is not known where its bytes cannot be read.
    pub fn of_entry(index: Option<u64>, sequence: u64, message: impl Into<String>) -> Self {
        Self {
            index,
            sequence: Some(sequence),
            ..Self::general(message)
        }
    }

    /// The same fault, seen in a file.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self {
            file: Some(file.into()),
            ..self
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(sequence) = self.sequence {
            match self.index {
                Some(index) => write!(f, "entry {index} (number {sequence} of its session)")?,
                None => write!(f, "entry number {sequence} of the session")?,
            }
            if let Some(file) = &self.file {
                write!(f, ", {file}")?;
            }
            write!(f, ": ")?;
        } else if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// A payload to be checked against its entry's commitment.
#[derive(Debug, Clone, Copy)]
pub struct PayloadBytes<'a> {
    /// The salt.
    pub salt: &'a Salt,
    /// The exact bytes.
    pub data: &'a str,
}

/// Follows the chain of one session from its genesis. Constant memory.
#[derive(Debug, Clone)]
pub struct ChainVerifier {
    origin: Origin,
    session: SessionId,
    next_sequence: u64,
    head: EntryHash,
    last_index: Option<u64>,
    sealed: bool,
    absent_payloads: u64,
}

impl ChainVerifier {
    /// The chain of `session` in the ledger `origin`, before its first entry.
    pub fn new(origin: Origin, session: SessionId) -> Self {
        let head = genesis(&origin, &session);
        Self {
            origin,
            session,
            next_sequence: 0,
            head,
            last_index: None,
            sealed: false,
            absent_payloads: 0,
        }
    }

    /// The same chain behind `entries` entries that were checked before, of which the last has the hash `head`.
    pub fn behind(origin: Origin, session: SessionId, entries: u64, head: EntryHash) -> Self {
        if entries == 0 {
            return Self::new(origin, session);
        }
        Self {
            next_sequence: entries,
            head,
            ..Self::new(origin, session)
        }
    }

    /// Checks the next entry: canonical bytes, ledger, session, sequence, link and payload. After a fault the verifier goes
    /// on from the entry as it is, so that one damaged entry does not hide a second one.
    pub fn push(
        &mut self,
        bytes: &[u8],
        payload: Option<PayloadBytes<'_>>,
    ) -> Result<Entry, Fault> {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let expected_prev = std::mem::replace(&mut self.head, entry_hash(bytes));
        let entry = Entry::from_bytes(bytes)
            .map_err(|error| Fault::of_entry(None, sequence, error.to_string()))?;
        let sealed_before =
            std::mem::replace(&mut self.sealed, entry.kind == EventType::SessionEnded);
        let last_index = self.last_index.replace(entry.index);
        let fault = |message: String| Err(Fault::of_entry(Some(entry.index), sequence, message));
        if entry.origin != self.origin {
            return fault(format!(
                "belongs to the ledger {}, not {}",
                entry.origin, self.origin
            ));
        }
        if entry.session != self.session {
            return fault(format!(
                "belongs to session {}, not {}",
                entry.session, self.session
            ));
        }
        if entry.sequence != sequence {
            return fault(format!(
                "has sequence number {} where {sequence} is due",
                entry.sequence
            ));
        }
        if last_index.is_some_and(|last| entry.index <= last) {
            return fault("does not come after the session's entry before it".to_owned());
        }
        if entry.prev != expected_prev {
            return fault(
                "does not link to the entry before it: one of the two was changed".to_owned(),
            );
        }
        if sealed_before {
            return fault("follows session.ended, which seals a session".to_owned());
        }
        if (sequence == 0) != (entry.kind == EventType::SessionStarted) {
            return fault(
                "session.started is not the session's first entry and only that".to_owned(),
            );
        }
        match payload {
            None => self.absent_payloads += 1,
            Some(payload) if commit(payload.salt, payload.data.as_bytes()) != entry.commitment => {
                return fault("payload or salt does not match the entry's commitment".to_owned());
            }
            Some(payload) => {
                if let Err(error) = Payload::parse(&entry.kind, payload.data) {
                    return fault(format!("payload cannot be read: {error}"));
                }
            }
        }
        Ok(entry)
    }

    /// Hash of the last entry, or the genesis.
    pub fn head(&self) -> EntryHash {
        self.head
    }

    /// Number of entries so far.
    pub fn entries(&self) -> u64 {
        self.next_sequence
    }

    /// Whether the last entry was `session.ended`.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Entries that came without a payload.
    pub fn absent_payloads(&self) -> u64 {
        self.absent_payloads
    }
}

/// Checks a whole session as read: its chain, its payloads, and its blobs against their addresses. Returns every fault, in
/// the order of the entries.
pub fn verify_session(origin: &Origin, record: &SessionRecord) -> (ChainVerifier, Vec<Fault>) {
    let mut chain = ChainVerifier::new(origin.clone(), record.session.clone());
    let mut faults = Vec::new();
    for event in &record.events {
        let payload = event.payload.as_ref().map(|payload| PayloadBytes {
            salt: &payload.salt,
            data: &payload.data,
        });
        match chain.push(&event.entry_bytes, payload) {
            Err(fault) => faults.push(fault),
            Ok(entry) => faults.extend(blob_faults(&entry, record)),
        }
    }
    (chain, faults)
}

/// The blobs of an entry that are missing or do not have their own address.
pub fn blob_faults(entry: &Entry, record: &SessionRecord) -> Vec<Fault> {
    let check = |hash| blob_fault(entry, hash, record.blobs.get(hash).map(AsRef::as_ref));
    entry.blobs.iter().filter_map(check).collect()
}

/// What is wrong with the bytes found for a blob of an entry.
pub fn blob_fault(entry: &Entry, hash: &ContentHash, found: Option<&[u8]>) -> Option<Fault> {
    let fault = |message: String| Some(Fault::of_entry(Some(entry.index), entry.sequence, message));
    match found {
        None => fault(format!("blob {hash} is missing")),
        Some(bytes) if ContentHash::of(bytes) != *hash => {
            fault(format!("blob {hash} holds other bytes"))
        }
        Some(_) => None,
    }
}
