//! Events as bytes: envelope, id, and the parts whose texts were sent before.

use std::collections::{BTreeSet, HashMap};

use remembrancer_schema::limits::EVENT_BLOBS_MAX;
use remembrancer_schema::payload::{ContextCaptured, EventType, Part, Payload, Witness};
use remembrancer_schema::{AgentName, ContentHash, Event, EventId, SessionId};
use serde::Serialize;

use crate::new_event::{Envelope, NewEvent, WriteError, Written, id_of, witnessed};

/// A part with more bytes than this is sent as a blob.
const INLINE_PART_BYTES_MAX: usize = 16 * 1024;
/// Once an event's parts have more bytes than this together, every further one is sent as a blob.
const INLINE_EVENT_BYTES_MAX: usize = 96 * 1024;
/// A list of parts that is longer than this as JSON, in bytes, is sent as a blob of its own.
const INLINE_LIST_BYTES_MAX: usize = 160 * 1024;
/// Bytes that an id takes in memory, about.
const ID_BYTES_HELD: usize = 120;
/// Bytes of blobs that wait to be taken and count as one event that waits.
const BYTES_WAITING_AS_EVENT: usize = 64 * 1024;
/// Type of the events that introduce the blobs which do not fit into the event that needs them.
const BLOBS_INTRODUCED: &str = "custom.blobs_introduced";

/// Writes the events of one session, one after the other.
///
/// It keeps the ids and the hashes of all texts that it wrote, and the parts of the last context: what it holds grows with the
/// number of events and distinct texts, not with their size.
#[derive(Debug)]
pub struct SessionWriter {
    session: SessionId,
    agent: Option<AgentName>,
    witness: Witness,
    ids: BTreeSet<EventId>,
    /// The next number behind each id that came more than once.
    numbers: HashMap<EventId, u32>,
    /// Texts that were sent inline or as a blob.
    sent: BTreeSet<ContentHash>,
    /// Those among them that no event holds yet.
    fresh: Vec<ContentHash>,
    /// The last context, every part by its hash.
    previous: Option<(u32, Vec<Part>)>,
    /// The highest number of a turn.
    last_turn: u32,
    written: Written,
    /// Bytes of the blobs in `written`.
    waiting_bytes: usize,
}

impl SessionWriter {
    /// A writer for a new session. Every event that does not say how it became known says `witness`.
    pub fn new(session: SessionId, agent: Option<AgentName>, witness: Witness) -> Self {
        Self {
            session,
            agent,
            witness,
            ids: BTreeSet::new(),
            numbers: HashMap::new(),
            sent: BTreeSet::new(),
            fresh: Vec::new(),
            previous: None,
            last_turn: 0,
            written: Written::default(),
            waiting_bytes: 0,
        }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The highest number of a turn so far; 0 before the first.
    pub fn last_turn(&self) -> u32 {
        self.last_turn
    }

    /// The last context, every part by its hash.
    pub fn last_context(&self) -> Option<&[Part]> {
        self.previous.as_ref().map(|(_, parts)| parts.as_slice())
    }

    /// Whether the session has an event of this name: a resend is told by that.
    pub fn has(&self, id: &str) -> bool {
        id_of(id).is_ok_and(|id| self.ids.contains(&id))
    }

    /// Whether the session has an event whose id begins like this.
    pub fn has_any(&self, beginning: &str) -> bool {
        let Ok(from) = beginning.parse::<EventId>() else {
            return false;
        };
        let first = self.ids.range(from..).next();
        first.is_some_and(|id| id.as_str().starts_with(beginning))
    }

    /// Number of the session's events.
    pub fn events(&self) -> usize {
        self.ids.len()
    }

    /// Sets the agent that the events from here on speak for.
    pub fn speak_for(&mut self, agent: Option<AgentName>) {
        self.agent = agent;
    }

    /// Bytes of memory that it holds, roughly.
    pub fn bytes(&self) -> usize {
        let parts = self.previous.as_ref().map_or(0, |(_, parts)| parts.len());
        (self.ids.len() + self.numbers.len()) * ID_BYTES_HELD
            + self.sent.len() * 2 * size_of::<ContentHash>()
            + parts * 2 * size_of::<Part>()
    }

    /// What was written since this was called last.
    pub fn take(&mut self) -> Written {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.written)
    }

    /// Adds an event. `id` is a name that is the same whenever the same thing is written; it becomes the event's id, or a hash in
    /// its place where its characters or length do not allow that, with a number behind it where it was used before.
    pub fn push<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        time: Option<&str>,
        data: &T,
    ) -> Result<(), WriteError> {
        self.push_with_blobs(id, kind, time, data, &[])
    }

    /// Adds an event that introduces blobs, given with [`Self::blob`].
    pub fn push_with_blobs<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        time: Option<&str>,
        data: &T,
        blobs: &[ContentHash],
    ) -> Result<(), WriteError> {
        let pushed = self.push_in_pieces(id, kind, time, data, blobs);
        // Texts of an event that was not written are not there: they are sent when they come again.
        for hash in self.fresh.drain(..).filter(|_| pushed.is_err()) {
            self.sent.remove(&hash);
            if let Some(bytes) = self.written.blobs.remove(&hash) {
                self.waiting_bytes -= bytes.len();
            }
        }
        pushed
    }

    fn push_in_pieces<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        time: Option<&str>,
        data: &T,
        blobs: &[ContentHash],
    ) -> Result<(), WriteError> {
        let (introduced_before, own) = blobs.split_at(blobs.len().saturating_sub(EVENT_BLOBS_MAX));
        for some in introduced_before.chunks(EVENT_BLOBS_MAX) {
            let count = serde_json::json!({ "count": some.len() });
            let kind = EventType::Custom(BLOBS_INTRODUCED.to_owned());
            self.push_one(&format!("{id}.blobs"), &kind, time, &count, some)?;
        }
        self.push_one(id, kind, time, data, own)
    }

    fn push_one<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        time: Option<&str>,
        data: &T,
        blobs: &[ContentHash],
    ) -> Result<(), WriteError> {
        let id = self.event_id(id)?;
        let json = |error| WriteError::Json {
            id: id.to_string(),
            error,
        };
        let data = witnessed(self.witness, data).map_err(json)?;
        let envelope = Envelope {
            id: &id,
            session: &self.session,
            r#type: kind.as_str(),
            agent: self.agent.as_ref(),
            time,
            blobs,
            data: &data,
        };
        let bytes = serde_json::to_vec(&envelope).map_err(json)?;
        let event = Event::parse(&bytes).map_err(|error| WriteError::Event {
            id: id.to_string(),
            error,
        })?;
        self.last_turn = self.last_turn.max(turn_of(&event.payload));
        self.written.events.push(NewEvent { id, bytes });
        Ok(())
    }

    /// Adds a context, given as the whole list of its parts with their texts; what the context before holds is not sent again,
    /// and no text twice. Turns are given in growing order.
    pub fn context(
        &mut self,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
    ) -> Result<(), WriteError> {
        let turn = captured.turn;
        let whole: Vec<Part> = captured.parts.iter().map(by_hash).collect();
        let before = self.previous.take();
        let known = before
            .as_ref()
            .filter(|(_, before)| whole.starts_with(before))
            .map(|(base, before)| (*base, before.len()));
        let count = known.map_or(0, |(_, count)| count);
        let appended = captured.parts.into_iter().skip(count).collect();
        let captured = ContextCaptured {
            parts: appended,
            ..captured
        };
        let written = self.capture(id, time, known.map(|(base, _)| base), captured);
        self.previous = match &written {
            Ok(()) => Some((turn, whole)),
            Err(_) => before,
        };
        written
    }

    /// Adds a context that holds the whole one before and, behind it, the given parts. The same as [`Self::context`], for a
    /// caller who knows that nothing else changed: what it costs grows with the new parts alone. Without a context before,
    /// these are the whole.
    pub fn grown_context(
        &mut self,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
    ) -> Result<(), WriteError> {
        let turn = captured.turn;
        let added: Vec<Part> = captured.parts.iter().map(by_hash).collect();
        let base = self.previous.as_ref().map(|(base, _)| *base);
        self.capture(id, time, base, captured)?;
        let (_, mut whole) = self.previous.take().unwrap_or_default();
        whole.extend(added);
        self.previous = Some((turn, whole));
        Ok(())
    }

    /// Writes a capture whose parts follow those of the turn `base`.
    fn capture(
        &mut self,
        id: &str,
        time: Option<&str>,
        base: Option<u32>,
        captured: ContextCaptured,
    ) -> Result<(), WriteError> {
        let mut inline = 0;
        let mut blobs = Vec::new();
        let parts: Vec<Part> = captured
            .parts
            .into_iter()
            .map(|part| self.part(part, &mut inline, &mut blobs))
            .collect();
        let mut data = ContextCaptured {
            base,
            parts,
            ..captured
        };
        self.shorten(id, &mut data, &mut blobs)?;
        self.push_with_blobs(id, &EventType::ContextCaptured, time, &data, &blobs)
    }

    /// Introduces blobs that no event has introduced yet.
    pub fn introduce(&mut self, blobs: &[ContentHash]) -> Result<(), WriteError> {
        for some in blobs.chunks(EVENT_BLOBS_MAX) {
            let count = serde_json::json!({ "count": some.len() });
            let kind = EventType::Custom(BLOBS_INTRODUCED.to_owned());
            let id = some
                .first()
                .map_or_else(String::new, |hash| format!("blobs.{}", hash.short()));
            self.push_one(&id, &kind, None, &count, some)?;
        }
        Ok(())
    }

    /// How much waits to be taken: the number of events, and one more for every few blobs' worth of bytes.
    pub fn waiting(&self) -> usize {
        self.written.events.len() + self.waiting_bytes / BYTES_WAITING_AS_EVENT
    }

    /// Moves a list of parts that is too long for an event into a blob.
    fn shorten(
        &mut self,
        id: &str,
        captured: &mut ContextCaptured,
        blobs: &mut Vec<ContentHash>,
    ) -> Result<(), WriteError> {
        let list = serde_json::to_vec(&captured.parts).map_err(|error| WriteError::Json {
            id: id.to_owned(),
            error,
        })?;
        if list.len() > INLINE_LIST_BYTES_MAX {
            captured.parts = Vec::new();
            captured.parts_blob = Some(self.blob(list, blobs));
        }
        Ok(())
    }

    /// A part as it is sent: with its text the first time, by its hash from then on; a large one as a blob. `inline` counts the
    /// bytes of the event's texts, `blobs` takes what the event has to introduce.
    pub fn part(&mut self, part: Part, inline: &mut usize, blobs: &mut Vec<ContentHash>) -> Part {
        let Some(text) = part.text.as_deref() else {
            return part;
        };
        let hash = ContentHash::of(text.as_bytes());
        if !self.sent.contains(&hash) {
            let length = escaped_length(text);
            *inline = inline.saturating_add(length);
            if length <= INLINE_PART_BYTES_MAX && *inline <= INLINE_EVENT_BYTES_MAX {
                self.sent.insert(hash);
                self.fresh.push(hash);
                return part;
            }
            let bytes = text.as_bytes().to_vec();
            self.blob(bytes, blobs);
        }
        Part {
            text: None,
            hash: Some(hash),
            ..part
        }
    }

    /// Notes that an event says a text, so that later parts name it by its hash.
    pub fn said(&mut self, text: &str) {
        self.sent.insert(ContentHash::of(text.as_bytes()));
    }

    /// Whether an event says this text, or introduces it.
    pub fn has_text(&self, text: &str) -> bool {
        self.sent.contains(&ContentHash::of(text.as_bytes()))
    }

    /// Keeps bytes as a blob, unless the session has them already; `blobs` takes what the event has to introduce.
    pub fn blob(&mut self, bytes: Vec<u8>, blobs: &mut Vec<ContentHash>) -> ContentHash {
        let hash = ContentHash::of(&bytes);
        if self.sent.insert(hash) {
            self.fresh.push(hash);
            self.waiting_bytes += bytes.len();
            self.written.blobs.insert(hash, bytes);
            blobs.push(hash);
        }
        hash
    }
}

/// The number of the turn that an event tells of; 0 for none.
fn turn_of(payload: &Payload) -> u32 {
    match payload {
        Payload::ContextCaptured(captured) => captured.turn,
        Payload::ModelResponded(responded) => responded.turn,
        Payload::ToolCalled(called) => called.turn,
        _ => 0,
    }
}

/// At most how many bytes a text takes in JSON.
fn escaped_length(text: &str) -> usize {
    let length = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(length).sum()
}

/// The part with its text's hash in the place of the text.
pub(crate) fn by_hash(part: &Part) -> Part {
    match &part.text {
        Some(text) => Part {
            hash: Some(ContentHash::of(text.as_bytes())),
            text: None,
            ..part.clone()
        },
        None => part.clone(),
    }
}

mod numbering;
mod resuming;

#[cfg(test)]
pub(crate) mod tests;
