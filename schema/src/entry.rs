//! The canonical bytes that the ledger keeps for an event, their hash, and their link to the entry before.

use serde::{Deserialize, Serialize};

use crate::hash::{Commitment, ContentHash, EntryHash};
use crate::id::{AgentName, EventId, Origin, SessionId};
use crate::limits::ENTRY_BYTES_MAX;
use crate::payload::EventType;

/// Version of the entry format.
pub const ENTRY_VERSION: u8 = 1;
/// Domain of an entry's hash (BLAKE3 `derive_key` context).
pub const ENTRY_CONTEXT: &str = "remembrancer 2026-11 session entry v1";
/// Domain of a session's genesis (BLAKE3 `derive_key` context).
pub const GENESIS_CONTEXT: &str = "remembrancer 2026-11 session genesis v1";

/// One entry of the ledger. Its members stand in the order of RFC 8785, so that serialising it gives its canonical bytes;
/// a test holds this against an independent canonicaliser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The agent that the event speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Blobs that the event introduces.
    pub blobs: Vec<ContentHash>,
    /// Salted commitment to the payload's bytes.
    pub commitment: Commitment,
    /// The event's id.
    pub event: EventId,
    /// Position in the ledger, from 0.
    pub index: u64,
    /// The ledger's name.
    pub origin: Origin,
    /// Hash of the session's previous entry, or its genesis.
    pub prev: EntryHash,
    /// When the recorder received the event: RFC 3339, UTC, milliseconds.
    pub received: String,
    /// Position in the session, from 0.
    pub sequence: u64,
    /// The session.
    pub session: SessionId,
    /// When the event happened, as the client says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The event's type.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// Version of this format.
    pub v: u8,
}

/// Why bytes are not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Larger than an entry may be.
    #[error("the entry has {0} bytes; at most {ENTRY_BYTES_MAX} are allowed")]
    TooLarge(usize),
    /// Not the members of an entry.
    #[error("not an entry: {0}")]
    Malformed(String),
    /// An entry of a format that this version does not know.
    #[error("entry format {0} is not known here")]
    Version(u8),
    /// The same members in other bytes.
    #[error("the entry's bytes are not its canonical form")]
    NotCanonical,
}

impl Entry {
    /// The canonical bytes (RFC 8785): what is hashed, stored, shipped and verified.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self)
            .expect("an entry holds only strings, integers and lists of strings")
    }

    /// Reads an entry and refuses bytes that are not its own canonical form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EntryError> {
        if bytes.len() > ENTRY_BYTES_MAX {
            return Err(EntryError::TooLarge(bytes.len()));
        }
        let entry: Self = serde_json::from_slice(bytes)
            .map_err(|error| EntryError::Malformed(error.to_string()))?;
        if entry.v != ENTRY_VERSION {
            return Err(EntryError::Version(entry.v));
        }
        if entry.to_bytes() != bytes {
            return Err(EntryError::NotCanonical);
        }
        Ok(entry)
    }
}

/// Hash of an entry's canonical bytes: the link that the session's next entry carries.
pub fn entry_hash(bytes: &[u8]) -> EntryHash {
    EntryHash::from_bytes(blake3::derive_key(ENTRY_CONTEXT, bytes))
}

/// What the first entry of a session links to: bound to ledger and session, so that no chain can be moved to another.
pub fn genesis(origin: &Origin, session: &SessionId) -> EntryHash {
    EntryHash::from_bytes(blake3::derive_key(
        GENESIS_CONTEXT,
        format!("{origin}\n{session}").as_bytes(),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::commitment::{Salt, commit};

    fn entry() -> Entry {
        let origin: Origin = "ledger.example/a".parse().expect("valid");
        let session: SessionId = "run-1".parse().expect("valid");
        Entry {
            agent: Some("agent \"é\" \u{2028}\\".parse().expect("valid")),
            blobs: vec![ContentHash::of(b"blob")],
            commitment: commit(&Salt::from_bytes([1; 32]), b"{}"),
            event: "e-1".parse().expect("valid"),
            index: 12,
            prev: genesis(&origin, &session),
            origin,
            received: "2026-11-30T08:00:00.000Z".to_owned(),
            sequence: 0,
            session,
            time: None,
            kind: EventType::SessionStarted,
            v: ENTRY_VERSION,
        }
    }

    #[test]
    fn an_entry_survives_and_every_other_form_of_it_is_refused() {
        let bytes = entry().to_bytes();
        assert_eq!(Entry::from_bytes(&bytes), Ok(entry()));
        let text = String::from_utf8(bytes).expect("UTF-8");
        for other in [
            text.replacen(":12,", ": 12,", 1),
            text.replacen("{\"agent\"", "{ \"agent\"", 1),
            text.replacen("é", "\\u00e9", 1),
            format!("{text}\n"),
        ] {
            assert_eq!(
                Entry::from_bytes(other.as_bytes()),
                Err(EntryError::NotCanonical),
                "{other}"
            );
        }
        assert!(matches!(
            Entry::from_bytes(text.replacen("\"v\":1", "\"v\":2", 1).as_bytes()),
            Err(EntryError::Version(2))
        ));
        assert!(matches!(
            Entry::from_bytes(text.replacen("\"v\":1", "\"v\":1,\"w\":1", 1).as_bytes()),
            Err(EntryError::Malformed(_))
        ));
    }

    proptest! {
        /// `serde_json_canonicalizer` is an independent implementation of RFC 8785.
        #[test]
        fn bytes_are_canonical_by_an_independent_implementation(
            agent in proptest::option::of("[^\\p{Cc}]{1,40}"),
            time in proptest::option::of("[ -~]{0,20}"),
            index in 0u64..(1 << 53),
            id in "[A-Za-z0-9._:@-]{1,40}",
        ) {
            let changed = Entry {
                agent: agent.map(|agent| agent.parse().expect("no control characters")),
                time,
                index,
                event: id.parse().expect("within the alphabet"),
                ..entry()
            };
            let canonical = serde_json_canonicalizer::to_vec(&changed).expect("serialises");
            prop_assert_eq!(changed.to_bytes(), canonical);
        }
    }
}
