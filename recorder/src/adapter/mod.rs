//! Runs that were recorded elsewhere, turned into events.
//!
//! An adapter is a pure function from files to events: it opens no ledger and asks no clock, so the same files give the same
//! events, byte for byte, and importing them twice adds nothing.

pub mod mission_continuity;

use remembrancer_schema::{ContentHash, EventId, SessionId};

/// An event as `POST /v1/events` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id, the same at every import of the same files.
    pub id: EventId,
    /// The envelope's JSON, checked with [`remembrancer_schema::Event::parse`].
    pub bytes: Vec<u8>,
}

/// A recorded run as events of one session, in the order in which they happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The session's id, made from the run's label and the SHA-256 of its manifest.
    pub session: SessionId,
    /// The run's own label.
    pub label: String,
    /// The events, from `session.started` to `session.ended`.
    pub events: Vec<NewEvent>,
    /// The blobs that the events introduce, each once; to be stored before the events.
    pub blobs: Vec<(ContentHash, Vec<u8>)>,
    /// How many rebuilt contexts could be proved.
    pub proofs: mission_continuity::ProofCounts,
    /// How the run's files refer to one another.
    pub joins: mission_continuity::Joins,
    /// What the files hold of the run's outcome, computed from them.
    pub evaluation: mission_continuity::Evaluation,
    /// What an auditor should know about this import: every place where the files disagree or fall short.
    pub notices: Vec<String>,
}
