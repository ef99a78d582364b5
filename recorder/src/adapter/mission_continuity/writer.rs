//! Events as bytes: envelope, id, and the parts whose texts were sent before.

use std::collections::{BTreeMap, BTreeSet};

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::Part;
use remembrancer_schema::{ContentHash, Event, EventId, IdError, SessionId};
use serde::Serialize;

use super::ImportError;
use super::line::Line;
use crate::adapter::NewEvent;

/// A part with more bytes than this is sent as a blob.
const INLINE_PART_BYTES_MAX: usize = 16 * 1024;
/// Once an event's parts have more bytes than this together, every further one is sent as a blob.
const INLINE_EVENT_BYTES_MAX: usize = 96 * 1024;

/// The events of a session and the blobs that they introduce.
pub(super) struct Written {
    pub(super) events: Vec<NewEvent>,
    pub(super) blobs: BTreeMap<ContentHash, Vec<u8>>,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    id: &'a EventId,
    session: &'a SessionId,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    time: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blobs: &'a [ContentHash],
    data: &'a T,
}

/// Writes events one after the other.
pub(super) struct Writer {
    session: SessionId,
    agent: Option<String>,
    ids: BTreeSet<EventId>,
    /// Texts that were sent inline or as a blob.
    pub(super) sent: BTreeSet<ContentHash>,
    /// The context before, to say only what was appended.
    pub(super) previous: Option<(u32, Vec<Line>)>,
    pub(super) written: Written,
}

impl Writer {
    pub(super) fn new(session: SessionId, agent: Option<String>) -> Self {
        Self {
            session,
            agent,
            ids: BTreeSet::new(),
            sent: BTreeSet::new(),
            previous: None,
            written: Written {
                events: Vec::new(),
                blobs: BTreeMap::new(),
            },
        }
    }

    /// Adds an event. Refuses one that the recorder would refuse.
    pub(super) fn push<T: Serialize>(
        &mut self,
        id: String,
        kind: &str,
        time: &str,
        data: &T,
    ) -> Result<(), ImportError> {
        self.push_with_blobs(id, kind, time, data, &[])
    }

    pub(super) fn push_with_blobs<T: Serialize>(
        &mut self,
        id: String,
        kind: &str,
        time: &str,
        data: &T,
        blobs: &[ContentHash],
    ) -> Result<(), ImportError> {
        let id = self.event_id(id)?;
        let envelope = Envelope {
            id: &id,
            session: &self.session,
            r#type: kind,
            agent: self.agent.as_deref(),
            time,
            blobs,
            data,
        };
        let bytes = serde_json::to_vec(&envelope).map_err(|error| ImportError::Malformed {
            file: id.to_string(),
            line: 0,
            reason: error.to_string(),
        })?;
        Event::parse(&bytes).map_err(|error| ImportError::Event {
            id: id.to_string(),
            error,
        })?;
        self.written.events.push(NewEvent { id, bytes });
        Ok(())
    }

    /// The name as an id where its characters allow, else with a hash in its place; told apart from an earlier one by a number.
    fn event_id(&mut self, name: String) -> Result<EventId, IdError> {
        let base = if name.len() <= 120 && name.parse::<EventId>().is_ok() {
            name
        } else {
            format!("event-{}", &hex::encode(sha256(name.as_bytes()))[..24])
        };
        let mut id: EventId = base.parse()?;
        let mut number = 2u32;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}.{number}").parse()?;
            number += 1;
        }
        Ok(id)
    }

    /// A line's part: with its text the first time, by its hash from then on.
    pub(super) fn part(
        &mut self,
        line: &Line,
        inline: &mut usize,
        blobs: &mut Vec<ContentHash>,
    ) -> Part {
        let part = line.to_part();
        let text = part.text.as_deref().unwrap_or_default();
        let hash = ContentHash::of(text.as_bytes());
        if self.sent.insert(hash) {
            *inline += text.len();
            if text.len() <= INLINE_PART_BYTES_MAX && *inline <= INLINE_EVENT_BYTES_MAX {
                return part;
            }
            self.written.blobs.insert(hash, text.as_bytes().to_vec());
            blobs.push(hash);
        }
        Part {
            text: None,
            hash: Some(hash),
            ..part
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::line::LineKind;
    use super::*;

    fn writer() -> Writer {
        Writer::new("s".parse().expect("an id"), Some("agent".to_owned()))
    }

    #[test]
    fn ids_stay_apart_whatever_the_bundle_calls_its_calls() {
        let mut writer = writer();
        for name in ["call-1", "call-1", "call-\u{1b}[2J/..", "call-\u{1b}[2J/.."] {
            let time = "2026-11-30T08:00:00Z";
            writer
                .push(name.to_owned(), "custom.x", time, &json!({}))
                .expect("a valid event");
        }
        let ids: Vec<&str> = writer
            .written
            .events
            .iter()
            .map(|event| event.id.as_str())
            .collect();
        assert_eq!(ids[..2], ["call-1", "call-1.2"]);
        assert!(
            ids[2].starts_with("event-") && ids[3] == format!("{}.2", ids[2]),
            "{ids:?}"
        );
    }

    #[test]
    fn what_the_recorder_would_refuse_is_refused_by_name() {
        let error = writer().push("x".to_owned(), "custom.x", "yesterday", &json!({}));
        assert!(matches!(error, Err(ImportError::Event { id, .. }) if id == "x"));
        let large = json!({ "text": "x".repeat(300 * 1024) });
        let error = writer().push("y".to_owned(), "custom.x", "2026-11-30T08:00:00Z", &large);
        assert!(matches!(error, Err(ImportError::Event { id, .. }) if id == "y"));
    }

    #[test]
    fn a_text_is_sent_once_and_a_large_one_as_a_blob() {
        let mut writer = writer();
        let (mut inline, mut blobs) = (0, Vec::new());
        let small = Line::text(LineKind::User, Some(0), "small");
        let large = Line::text(
            LineKind::User,
            Some(1),
            "x".repeat(INLINE_PART_BYTES_MAX + 1),
        );
        let first = writer.part(&small, &mut inline, &mut blobs);
        assert_eq!(first.text.as_deref(), Some("small"));
        let again = writer.part(&small, &mut inline, &mut blobs);
        assert_eq!(
            (again.text, again.hash),
            (None, Some(ContentHash::of(b"small")))
        );
        assert!(blobs.is_empty());
        let blob = writer.part(&large, &mut inline, &mut blobs);
        assert_eq!(blob.hash.as_ref(), blobs.first());
        assert_eq!(writer.written.blobs[&blobs[0]], large.words().as_bytes());
    }
}
