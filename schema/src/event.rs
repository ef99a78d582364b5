//! The envelope that a client posts.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::hash::ContentHash;
use crate::id::{AgentName, EventId, IdError, SessionId};
use crate::ijson::{self, IJsonError};
use crate::limits::{EVENT_BLOBS_MAX, EVENT_BYTES_MAX};
use crate::payload::{EventType, Payload, PayloadError, UnknownType};

/// Why an event was refused. Nothing of it is stored then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// Larger than [`EVENT_BYTES_MAX`].
    #[error(
        "the event has {bytes} bytes; at most {EVENT_BYTES_MAX} are allowed: send large parts as blobs"
    )]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// Not I-JSON.
    #[error(transparent)]
    NotIJson(#[from] IJsonError),
    /// The envelope has not the members that it must have, or others.
    #[error("the event's envelope: {0}")]
    Envelope(String),
    /// A name outside its alphabet or length.
    #[error(transparent)]
    Name(#[from] IdError),
    /// A type that this version does not know.
    #[error(transparent)]
    UnknownType(#[from] UnknownType),
    /// `time` is not RFC 3339.
    #[error("time {0:?} is not an RFC 3339 timestamp, such as 2026-11-30T12:00:00Z")]
    Time(String),
    /// Data that does not fit its type.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// More blobs than [`EVENT_BLOBS_MAX`].
    #[error("the event names {0} blobs; at most {EVENT_BLOBS_MAX} are allowed")]
    TooManyBlobs(usize),
}

/// The members of the envelope, before they are checked. Members that it does not know are refused rather than lost:
/// whatever a client wants kept belongs under `data`, whose bytes are the record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    session: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    agent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(default)]
    blobs: Vec<ContentHash>,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl<'a> Envelope<'a> {
    /// Reads an envelope that is certainly I-JSON: two passes, one that finds its members and one over `data`. The members
    /// beside `data` are strings and hashes, so that they hold no numbers and no levels, and reading them finds names that
    /// occur twice.
    fn read_sound(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let envelope: Self = serde_json::from_str(text).ok()?;
        ijson::is_sound(envelope.data.get(), 1).then_some(envelope)
    }

    /// The same, with the first thing that is wrong.
    fn explain(bytes: &'a [u8]) -> Result<Self, EventError> {
        ijson::explain(bytes)?;
        serde_json::from_slice(bytes).map_err(|error| EventError::Envelope(error.to_string()))
    }
}

/// A checked event. Its `data` borrows the received bytes, so that what is hashed is what was received.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// Idempotency key within the session.
    pub id: EventId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its type.
    pub kind: EventType,
    /// The agent that it speaks for.
    pub agent: Option<AgentName>,
    /// When it happened, as the client says: RFC 3339, kept as sent.
    pub time: Option<String>,
    /// Blobs that it introduces.
    pub blobs: Vec<ContentHash>,
    /// Its payload, byte for byte as sent.
    pub data: &'a str,
    /// The payload, read.
    pub payload: Payload,
}

impl<'a> Event<'a> {
    /// Parses and checks one event from its bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, EventError> {
        if bytes.len() > EVENT_BYTES_MAX {
            return Err(EventError::TooLarge { bytes: bytes.len() });
        }
        let envelope = match Envelope::read_sound(bytes) {
            Some(envelope) => envelope,
            None => Envelope::explain(bytes)?,
        };
        let kind: EventType = envelope.kind.parse()?;
        if envelope.blobs.len() > EVENT_BLOBS_MAX {
            return Err(EventError::TooManyBlobs(envelope.blobs.len()));
        }
        if let Some(time) = &envelope.time {
            time.parse::<jiff::Timestamp>()
                .map_err(|_| EventError::Time(time.chars().take(64).collect()))?;
        }
        Ok(Self {
            id: envelope.id.parse()?,
            session: envelope.session.parse()?,
            agent: envelope.agent.map(|agent| agent.parse()).transpose()?,
            time: envelope.time.map(Cow::into_owned),
            blobs: envelope.blobs,
            data: envelope.data.get(),
            payload: Payload::parse_sound(&kind, envelope.data.get())?,
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> EventError {
        Event::parse(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn data_is_kept_byte_for_byte_with_members_that_no_type_names() {
        let text = r#"{"id":"e1","session":"s","type":"intent.declared","data":{"objective" : "look",  "x":[1.0,1e1]}}"#;
        let event = Event::parse(text.as_bytes()).expect("valid");
        assert_eq!(event.data, r#"{"objective" : "look",  "x":[1.0,1e1]}"#);
        assert!(
            matches!(&event.payload, Payload::IntentDeclared(intent) if intent.objective == "look")
        );
        let custom = r#"{"id":"e2","session":"s","type":"custom.note","time":"2026-11-30T08:00:00.5+01:00","data":{}}"#;
        let event = Event::parse(custom.as_bytes()).expect("valid");
        assert_eq!(event.time.as_deref(), Some("2026-11-30T08:00:00.5+01:00"));
        assert_eq!(event.payload, Payload::Custom);
    }

    #[test]
    fn each_fault_has_its_own_error() {
        assert!(matches!(
            refused("nonsense"),
            EventError::NotIJson(IJsonError::NotJson(_))
        ));
        let event = |rest: &str| format!(r#"{{"id":"e","session":"s",{rest}}}"#);
        assert!(matches!(
            refused(&event(r#""type":"tool.invented","data":{}"#)),
            EventError::UnknownType(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"custom.","data":{}"#)),
            EventError::UnknownType(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"tool.called","data":{"turn":"one"}"#)),
            EventError::Payload(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"tool.called","data":[]"#)),
            EventError::Payload(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"custom.x","data":7"#)),
            EventError::Payload(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"custom.x","data":{},"extra":1"#)),
            EventError::Envelope(_)
        ));
        assert!(matches!(
            refused(&event(r#""type":"custom.x","data":{},"time":"yesterday""#)),
            EventError::Time(_)
        ));
        assert!(matches!(
            refused(r#"{"id":"e/1","session":"s","type":"custom.x","data":{}}"#),
            EventError::Name(_)
        ));
        let large = event(&format!(
            r#""type":"custom.x","data":{{"text":"{}"}}"#,
            "x".repeat(EVENT_BYTES_MAX)
        ));
        assert!(matches!(refused(&large), EventError::TooLarge { .. }));
    }

    #[test]
    fn a_context_part_has_its_text_or_its_hash() {
        let context = |part: &str| {
            format!(
                r#"{{"id":"e","session":"s","type":"context.captured","data":{{"turn":1,"parts":[{part}]}}}}"#
            )
        };
        let hash = ContentHash::of(b"x");
        for part in [
            r#"{"kind":"user"}"#.to_owned(),
            format!(r#"{{"kind":"user","text":"x","hash":"{hash}"}}"#),
            r#"{"kind":"user","text":"x","encrypted":true}"#.to_owned(),
            r#"{"kind":"nobody","text":"x"}"#.to_owned(),
        ] {
            assert!(
                matches!(refused(&context(&part)), EventError::Payload(_)),
                "{part}"
            );
        }
        assert!(
            Event::parse(
                context(&format!(
                    r#"{{"kind":"user","hash":"{hash}","withheld":"name"}}"#
                ))
                .as_bytes()
            )
            .is_ok()
        );
    }
}
