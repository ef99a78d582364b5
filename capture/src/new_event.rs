//! Events that are ready to be sent, and why one may not be.

use std::collections::BTreeMap;

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::Witness;
use remembrancer_schema::{AgentName, ContentHash, EventError, EventId, IdError, SessionId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// An event as `POST /v1/events` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id, the same at every import of the same files.
    pub id: EventId,
    /// The envelope's JSON, checked with [`remembrancer_schema::Event::parse`].
    pub bytes: Vec<u8>,
}

impl NewEvent {
    /// The envelope without the witness at the end of its data, which is how versions that did not name the witness of every event
    /// wrote the same one. `None` where no witness stands there.
    pub fn without_witness(&self) -> Option<Vec<u8>> {
        let data = Witness::ALL
            .iter()
            .find_map(|witness| self.bytes.strip_suffix(member(*witness).as_bytes()))?;
        let data = data.strip_suffix(b",").unwrap_or(data);
        Some([data, b"}}"].concat())
    }
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

/// The data as JSON, with the witness at its end where it does not name one itself.
pub(crate) fn witnessed<T: Serialize>(
    witness: Witness,
    data: &T,
) -> Result<Box<RawValue>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Told {
        witness: Option<IgnoredAny>,
    }
    let data = serde_json::value::to_raw_value(data)?;
    let is_silent = serde_json::from_str(data.get()).is_ok_and(|told: Told| told.witness.is_none());
    match data.get().strip_suffix('}').filter(|_| is_silent) {
        Some(members) => {
            let separator = if members == "{" { "" } else { "," };
            let member = member(witness);
            // The last brace closes the envelope.
            let member = member.strip_suffix('}').unwrap_or(&member);
            RawValue::from_string(format!("{members}{separator}{member}"))
        }
        None => Ok(data),
    }
}

/// A witness as the last member of an event's data, which is the last of its envelope.
fn member(witness: Witness) -> String {
    format!(r#""witness":"{}"}}}}"#, witness.as_str())
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
