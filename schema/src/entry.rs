//! The canonical bytes that the ledger keeps for an event, their hash, and their link to the entry before.

use std::sync::LazyLock;

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

/// One entry of the ledger. Its members stand in the order of RFC 8785; a test holds its bytes against an independent
/// canonicaliser.
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
        self.view().to_bytes()
    }

    /// The same entry, borrowed.
    pub fn view(&self) -> EntryView<'_> {
        EntryView {
            agent: self.agent.as_ref(),
            blobs: &self.blobs,
            commitment: &self.commitment,
            event: &self.event,
            index: self.index,
            origin: &self.origin,
            prev: &self.prev,
            received: &self.received,
            sequence: self.sequence,
            session: &self.session,
            time: self.time.as_deref(),
            kind: &self.kind,
            v: self.v,
        }
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

/// An entry whose parts are held elsewhere: what a recorder that only wants the bytes needs no copies for. Its fields are
/// those of [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "described on `Entry`, one for one")]
pub struct EntryView<'a> {
    pub agent: Option<&'a AgentName>,
    pub blobs: &'a [ContentHash],
    pub commitment: &'a Commitment,
    pub event: &'a EventId,
    pub index: u64,
    pub origin: &'a Origin,
    pub prev: &'a EntryHash,
    pub received: &'a str,
    pub sequence: u64,
    pub session: &'a SessionId,
    pub time: Option<&'a str>,
    pub kind: &'a EventType,
    pub v: u8,
}

/// An entry without long names and blobs fits.
const USUAL_BYTES: usize = 768;

impl EntryView<'_> {
    /// The canonical bytes (RFC 8785), as [`Entry::to_bytes`] gives them. Written member by member, since every event pays
    /// for it where events must wait for each other: names of ids, origins and types cannot hold what JSON escapes, and
    /// hashes and numbers cannot either; agent and times go through `serde_json`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        out.push(b'{');
        if let Some(agent) = self.agent {
            out.extend_from_slice(b"\"agent\":");
            put_escaped(&mut out, agent.as_str());
            out.push(b',');
        }
        out.extend_from_slice(b"\"blobs\":[");
        for (position, blob) in self.blobs.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            put_quoted(&mut out, blob.digits().as_str());
        }
        put(
            &mut out,
            "],\"commitment\":",
            self.commitment.digits().as_str(),
        );
        put(&mut out, ",\"event\":", self.event.as_str());
        put_number(&mut out, ",\"index\":", self.index);
        put(&mut out, ",\"origin\":", self.origin.as_str());
        put(&mut out, ",\"prev\":", self.prev.digits().as_str());
        out.extend_from_slice(b",\"received\":");
        put_escaped(&mut out, self.received);
        put_number(&mut out, ",\"sequence\":", self.sequence);
        put(&mut out, ",\"session\":", self.session.as_str());
        if let Some(time) = self.time {
            out.extend_from_slice(b",\"time\":");
            put_escaped(&mut out, time);
        }
        put(&mut out, ",\"type\":", self.kind.as_str());
        put_number(&mut out, ",\"v\":", u64::from(self.v));
        out.push(b'}');
        out
    }
}

/// A member whose text holds nothing that JSON escapes.
fn put(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(name.as_bytes());
    put_quoted(out, text);
}

fn put_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn put_number(out: &mut Vec<u8>, name: &str, number: u64) {
    out.extend_from_slice(name.as_bytes());
    put_json(out, &number);
}

fn put_escaped(out: &mut Vec<u8>, text: &str) {
    put_json(out, text);
}

fn put_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("strings and integers go into memory");
}

/// Hash of an entry's canonical bytes: the link that the session's next entry carries.
pub fn entry_hash(bytes: &[u8]) -> EntryHash {
    // A hash that took nothing but its domain is made once, since making it hashes the domain's name.
    static DOMAIN: LazyLock<blake3::Hasher> =
        LazyLock::new(|| blake3::Hasher::new_derive_key(ENTRY_CONTEXT));
    EntryHash::from_bytes(*DOMAIN.clone().update(bytes).finalize().as_bytes())
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
            origin in "[A-Za-z0-9._:/-]{1,40}",
            custom in proptest::option::of("[A-Za-z0-9._-]{1,90}"),
            blobs in proptest::collection::vec(any::<[u8; 32]>(), 0..4),
            received in "\\PC{0,20}",
        ) {
            let changed = Entry {
                agent: agent.map(|agent| agent.parse().expect("no control characters")),
                time,
                index,
                sequence: index / 2,
                event: id.parse().expect("within the alphabet"),
                session: id.parse().expect("within the alphabet"),
                origin: origin.parse().expect("within the alphabet"),
                blobs: blobs.into_iter().map(ContentHash::from_bytes).collect(),
                received,
                kind: custom.map_or(EventType::ToolCalled, |name| {
                    format!("custom.{name}").parse().expect("within the alphabet")
                }),
                ..entry()
            };
            let canonical = serde_json_canonicalizer::to_vec(&changed).expect("serialises");
            prop_assert_eq!(changed.to_bytes(), canonical);
        }
    }
}
