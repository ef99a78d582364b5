//! Contexts, rebuilt from what was captured.
//!
//! A part that stands at the same place of consecutive contexts is held once: a capture that builds on an earlier turn takes
//! over its indices, and a capture of the whole list is aligned with the context before it.

mod building;
mod texts;
mod told;

use remembrancer_schema::payload::{ConstraintDeclared, PartKind};

use crate::analysis::{Analysis, Content, ContextPart, PartIndex, Turn};
use crate::reading::{LeftOut, Reading};
use crate::record::SessionRecord;
pub(crate) use building::Contexts;
use building::Room;

/// Every context of a session, with parts and contents held once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextTimeline {
    /// The distinct contents, in order of first appearance.
    pub contents: Vec<Content>,
    /// The parts, in order of first appearance.
    pub parts: Vec<ContextPart>,
    /// The model requests, by number.
    pub turns: Vec<Turn>,
}

/// A constraint as declared, with its place in the session.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredConstraint {
    /// The declaration.
    pub declared: ConstraintDeclared,
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The first turn that was recorded after the declaration; none if no turn was. Earlier turns are still looked at, but not
    /// counted.
    pub from_turn: Option<u32>,
}

impl DeclaredConstraint {
    /// Whether it was declared when a turn was recorded.
    pub fn is_declared_at(&self, turn: u32) -> bool {
        self.from_turn.is_some_and(|from| turn >= from)
    }
}

/// What makes two parts of different contexts the same.
pub(crate) type PartKey<'a> = (usize, PartKind, Option<&'a str>);

impl ContextTimeline {
    /// Rebuilds every context of a record.
    pub fn rebuild(record: &SessionRecord) -> Self {
        rebuild(record).0
    }

    /// The contexts of an analysis, taken out of it for as long as they are worked on.
    pub(crate) fn lent_by(analysis: &mut Analysis) -> Self {
        Self {
            contents: std::mem::take(&mut analysis.contents),
            parts: std::mem::take(&mut analysis.parts),
            turns: std::mem::take(&mut analysis.turns),
        }
    }

    /// The way back of [`ContextTimeline::lent_by`].
    pub(crate) fn give_back(self, analysis: &mut Analysis) {
        analysis.contents = self.contents;
        analysis.parts = self.parts;
        analysis.turns = self.turns;
    }

    /// The part at an index.
    ///
    /// # Panics
    /// If the index is not one of this timeline's.
    pub fn part(&self, index: PartIndex) -> &ContextPart {
        &self.parts[index as usize]
    }

    /// The text of a part, where it can be read.
    pub fn text(&self, index: PartIndex) -> Option<&str> {
        self.contents[self.part(index).content].text.as_deref()
    }

    /// Position of a turn by its number.
    pub fn turn_position(&self, number: u32) -> Option<usize> {
        self.turns
            .binary_search_by_key(&number, |turn| turn.number)
            .ok()
    }

    pub(crate) fn key(&self, index: PartIndex) -> PartKey<'_> {
        let part = self.part(index);
        (part.content, part.kind, part.call_id.as_deref())
    }
}

/// Estimated size of a text in tokens: a quarter of its characters, rounded up.
pub(crate) fn estimated_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// Rebuilds the contexts, and names the entries that do not count because their turn was told before.
pub(crate) fn rebuild(record: &SessionRecord) -> (ContextTimeline, Vec<LeftOut>) {
    rebuild_within(record, Room::WHOLE)
}

/// Contexts that no longer fit into `room` are not known.
fn rebuild_within(record: &SessionRecord, room: Room) -> (ContextTimeline, Vec<LeftOut>) {
    let mut reading = Reading::of(record);
    let mut contexts = Contexts::with_room(room);
    let mut timeline = ContextTimeline::default();
    for (hash, bytes) in &record.blobs {
        contexts.keep_blob(*hash, bytes);
    }
    for at in 0..reading.events.len() {
        contexts.keep_texts(&mut reading.events[at].payload);
        contexts.note(&reading.events, at);
    }
    contexts.build(&reading.events, &mut timeline, 0);
    (timeline, contexts.left_out().to_vec())
}

#[cfg(test)]
mod tests;
