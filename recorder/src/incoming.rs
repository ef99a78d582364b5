//! Events on their way in, and what became of each.

use bytes::Bytes;
use remembrancer_schema::commitment::commit;
use remembrancer_schema::payload::{ADMIN_SESSION, ParentSession, Payload};
use remembrancer_schema::{
    AgentName, Commitment, ContentHash, EntryHash, Event, EventError, EventId, EventType, Salt,
    SessionId,
};

use crate::error::LedgerError;

/// A checked event that owns its bytes, so that it can wait for the sequencer.
#[derive(Debug, Clone)]
pub struct OwnedEvent {
    /// Idempotency key within the session.
    pub id: EventId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its type.
    pub kind: EventType,
    /// The agent that it speaks for.
    pub agent: Option<AgentName>,
    /// When it happened, as the client says.
    pub time: Option<String>,
    /// Blobs that it introduces.
    pub blobs: Vec<ContentHash>,
    /// Its payload: a view into the received bytes.
    pub(crate) data: Bytes,
    /// What the session's summary takes from the payload.
    pub(crate) facts: Facts,
}

/// What the session's summary takes from a payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) label: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) parent: Option<SessionId>,
}

impl OwnedEvent {
    /// Parses and checks one event, as [`Event::parse`] does, and keeps its bytes.
    pub fn parse(bytes: Bytes) -> Result<Self, EventError> {
        let event = Event::parse(&bytes)?;
        let data = bytes.slice_ref(event.data.as_bytes());
        Ok(Self::from_parts(event, data))
    }

    /// Takes over an event that is parsed already.
    pub fn from_event(event: Event<'_>) -> Self {
        let data = Bytes::copy_from_slice(event.data.as_bytes());
        Self::from_parts(event, data)
    }

    fn from_parts(event: Event<'_>, data: Bytes) -> Self {
        Self {
            facts: Facts::of(event.payload),
            id: event.id,
            session: event.session,
            kind: event.kind,
            agent: event.agent,
            time: event.time,
            blobs: event.blobs,
            data,
        }
    }

    /// Whether another event with the same id says the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.agent == other.agent
            && self.time == other.time
            && self.blobs == other.blobs
            && self.data == other.data
    }

    /// Whether it is of a kind or a session that only the recorder itself writes.
    pub(crate) fn is_reserved(&self) -> bool {
        matches!(self.kind, EventType::Admin(_)) || self.session.as_str() == ADMIN_SESSION
    }

    /// The payload's bytes as received.
    pub fn data(&self) -> &[u8] {
        &self.data
    }
}

impl Facts {
    pub(crate) fn of(payload: Payload) -> Self {
        match payload {
            Payload::SessionStarted(started) => Self {
                label: started.label,
                model: started.model,
                parent: started.parent.map(|ParentSession { session, .. }| session),
            },
            Payload::ModelResponded(responded) => Self {
                model: responded.model,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Stored, durably.
    Recorded {
        /// Index in the ledger, from 0.
        index: u64,
        /// Position in the session, from 0.
        sequence: u64,
        /// Hash of its entry.
        hash: EntryHash,
    },
    /// The same event was stored before; where it stands.
    Duplicate {
        /// Index in the ledger, from 0.
        index: u64,
        /// Position in the session, from 0.
        sequence: u64,
        /// Hash of its entry.
        hash: EntryHash,
    },
    /// Not stored.
    Rejected(Rejection),
}

impl Outcome {
    /// Index, sequence number and hash, unless it was rejected.
    pub fn place(&self) -> Option<(u64, u64, EntryHash)> {
        match *self {
            Self::Recorded {
                index,
                sequence,
                hash,
            }
            | Self::Duplicate {
                index,
                sequence,
                hash,
            } => Some((index, sequence, hash)),
            Self::Rejected(_) => None,
        }
    }
}

/// Why the ledger refused an event that is well-formed by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The session was never started.
    #[error("session {0} is not started: its first event must be session.started")]
    UnknownSession(SessionId),
    /// The session is sealed.
    #[error("session {0} has ended: nothing can follow session.ended")]
    SessionEnded(SessionId),
    /// A second start.
    #[error("session {0} is already started, by another event")]
    SessionAlreadyStarted(SessionId),
    /// A blob that the event introduces was not stored.
    #[error("blob {0} is not stored here: PUT /v1/blobs/{0} first")]
    BlobMissing(ContentHash),
    /// The id stands for another event of the session.
    #[error("event id {id} of session {session} stands for another event already (index {index})")]
    IdConflict {
        /// The id.
        id: EventId,
        /// The session.
        session: SessionId,
        /// Index of the event that has it.
        index: u64,
    },
    /// The recorder alone writes such events.
    #[error(
        "the session {ADMIN_SESSION} and the types admin.* are the recorder's own: use another session, and custom.* types"
    )]
    Reserved,
    /// Its entry would be larger than an entry may be.
    #[error("the event's envelope is too large: its entry would have {0} bytes")]
    EntryTooLarge(usize),
}

/// A blob on its way into the ledger. If its bytes are not here, they lie in the blob store already, durably.
#[derive(Debug, Clone)]
pub(crate) struct UploadedBlob {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) inline: Option<Bytes>,
}

/// What became of an uploaded blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobTaken {
    /// Stored now.
    New,
    /// Stored before.
    Known,
    /// Not stored: the garbage collection is removing its object, which has to be written again afterwards.
    Condemned,
}

/// An event with its salt and commitment: computed on the caller's task, so that the sequencer does only what must be in order.
#[derive(Debug)]
pub(crate) struct SaltedEvent {
    pub(crate) event: OwnedEvent,
    pub(crate) salt: Salt,
    pub(crate) commitment: Commitment,
}

impl SaltedEvent {
    pub(crate) fn salt_all(events: Vec<OwnedEvent>) -> Result<Vec<Self>, LedgerError> {
        let mut random = vec![0; events.len() * 32];
        crate::random::fill(&mut random)?;
        Ok(events
            .into_iter()
            .zip(random.as_chunks::<32>().0)
            .map(|(event, salt)| {
                let salt = Salt::from_bytes(*salt);
                Self {
                    commitment: commit(&salt, &event.data),
                    salt,
                    event,
                }
            })
            .collect())
    }
}
