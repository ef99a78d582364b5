//! A writer for a session that has entries already: what it has to know of them, read from the entries themselves.

use std::collections::{BTreeSet, HashMap};

use remembrancer_replay::SessionRecord;
use remembrancer_schema::payload::{ContextCaptured, Part, Payload, Witness};
use remembrancer_schema::{AgentName, ContentHash};

use super::{SessionWriter, by_hash, turn_of};

impl SessionWriter {
    /// A writer that goes on where the entries of a session end: it knows their ids, the texts that they hold, and the last
    /// context.
    pub fn resume(record: &SessionRecord, agent: Option<AgentName>, witness: Witness) -> Self {
        let mut writer = Self::new(record.session.clone(), agent, witness);
        writer.learn(record);
        writer
    }

    /// Takes note of entries of the session that were written by others, or before: all of them, or those behind the ones that
    /// it knows.
    pub fn learn(&mut self, record: &SessionRecord) {
        let mut captures = HashMap::new();
        let mut last_capture = None;
        for event in &record.events {
            self.ids.insert(event.entry.event.clone());
            self.sent.extend(&event.entry.blobs);
            let Some(payload) = event.read() else {
                continue;
            };
            self.last_turn = self.last_turn.max(turn_of(&payload));
            if let Payload::ContextCaptured(captured) = payload {
                last_capture = last_capture.max(Some(captured.turn));
                let capture = Capture {
                    base: captured.base,
                    parts: listed(&captured, record, &mut self.sent),
                };
                // Of two contexts for one turn the first counts.
                captures.entry(captured.turn).or_insert(capture);
            }
        }
        let newest_known = self.previous.as_ref().map(|(turn, _)| *turn);
        if let Some(turn) = last_capture.filter(|turn| Some(*turn) > newest_known) {
            let parts = self.whole(turn, &captures);
            self.previous = parts.map(|parts| (turn, parts));
        }
    }

    /// The whole context of a turn, every part by its hash. `None` where a part of it is not known: then the next context is
    /// sent whole.
    fn whole(&self, turn: u32, captures: &HashMap<u32, Capture>) -> Option<Vec<Part>> {
        let mut pieces = Vec::new();
        let mut next = Some(turn);
        while let Some(turn) = next {
            let known = self.previous.as_ref();
            if let Some((_, parts)) = known.filter(|(known, _)| *known == turn) {
                pieces.push(parts.clone());
                break;
            }
            let capture = captures.get(&turn)?;
            pieces.push(capture.parts.clone()?);
            next = capture.base;
        }
        Some(pieces.into_iter().rev().flatten().collect())
    }
}

/// What a capture adds to which context. `parts` is absent where its list cannot be read.
struct Capture {
    base: Option<u32>,
    parts: Option<Vec<Part>>,
}

/// The parts that a capture lists, within itself or as a blob, each by its hash; the hashes of the texts that come with them
/// are added to `sent`.
fn listed(
    captured: &ContextCaptured,
    record: &SessionRecord,
    sent: &mut BTreeSet<ContentHash>,
) -> Option<Vec<Part>> {
    let read: Vec<Part>;
    let parts = match &captured.parts_blob {
        None => &captured.parts,
        Some(hash) => {
            read = serde_json::from_slice(record.blobs.get(hash)?).ok()?;
            &read
        }
    };
    let by_hash = |part: &Part| {
        let named = by_hash(part);
        sent.extend(named.hash.filter(|_| part.text.is_some()));
        named
    };
    Some(parts.iter().map(by_hash).collect())
}
