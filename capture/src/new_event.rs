//! Events that are ready to be sent, and why one may not be.

use std::collections::BTreeMap;

use remembrancer_schema::hash::sha256;
use remembrancer_schema::{AgentName, ContentHash, EventError, EventId, IdError, SessionId};
use serde::Serialize;

/// An event as `POST /v1/events` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id, the same at every import of the same files.
    pub id: EventId,
    /// The envelope's JSON, checked with [`remembrancer_schema::Event::parse`].
    pub bytes: Vec<u8>,
}

/// Why an event could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// One that the recorder would refuse.
    #[error("the event {id:?} would be refused: {error}")]
    Event {
        /// The event's id.
        id: String,
        /// Why.
        error: EventError,
    },
    /// A name that no id can be made of.
    #[error("no id can be made: {0}")]
    Name(#[from] IdError),
    /// Data that is no JSON.
    #[error("the data of the event {id:?} cannot be written as JSON: {error}")]
    Json {
        /// The event's id.
        id: String,
        /// Why.
        error: serde_json::Error,
    },
}

/// Events of a session and the blobs that they introduce, which are to be stored before them.
#[derive(Debug, Default)]
pub struct Written {
    /// The events, in order.
    pub events: Vec<NewEvent>,
    /// The blobs, each once.
    pub blobs: BTreeMap<ContentHash, Vec<u8>>,
}

/// An event in the form in which it is posted.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T> {
    pub(crate) id: &'a EventId,
    pub(crate) session: &'a SessionId,
    pub(crate) r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<&'a AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) blobs: &'a [ContentHash],
    pub(crate) data: &'a T,
}

/// A name as an id where its characters allow, else with a hash in its place.
pub(crate) fn id_of(name: &str) -> Result<EventId, IdError> {
    if name.len() <= 120
        && let Ok(id) = name.parse()
    {
        return Ok(id);
    }
    format!("event-{}", &hex::encode(sha256(name.as_bytes()))[..24]).parse()
}
