//! Texts that were not looked at as a whole: each is told once for each constraint, where it first stands.

use std::collections::HashMap;

use remembrancer_schema::ContentHash;

use crate::analysis::PartIndex;
use crate::context::ContextTimeline;

/// A text of which some clauses were not compared with a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limited {
    /// Position of the constraint.
    pub(crate) constraint: usize,
    /// The first turn whose context holds the text.
    pub(crate) turn: u32,
    /// The text, as a part of that context.
    pub(crate) part: PartIndex,
    /// Clauses with enough of the constraint's words that were not compared with it.
    pub(crate) left: usize,
}

/// Those that were found so far, in the order of the turns.
#[derive(Debug, Default)]
pub(super) struct Limits {
    found: Vec<Limited>,
    /// By constraint and text: the first turn.
    known: HashMap<(usize, ContentHash), u32>,
}

impl Limits {
    /// Forgets what turns from a number on showed: they are judged anew.
    pub(super) fn rewind(&mut self, from: u32) {
        if self.found.last().is_some_and(|last| last.turn >= from) {
            self.found.retain(|found| found.turn < from);
            self.known.retain(|_, turn| *turn < from);
        }
    }

    pub(super) fn note(
        &mut self,
        timeline: &ContextTimeline,
        turn: u32,
        constraint: usize,
        part: PartIndex,
        left: usize,
    ) {
        let content = timeline.parts.get(part as usize).map(|part| part.content);
        let Some(content) = content.and_then(|content| timeline.contents.get(content)) else {
            return;
        };
        if let std::collections::hash_map::Entry::Vacant(new) =
            self.known.entry((constraint, content.hash))
        {
            new.insert(turn);
            self.found.push(Limited {
                constraint,
                turn,
                part,
                left,
            });
        }
    }

    pub(super) fn found(&self) -> &[Limited] {
        &self.found
    }

    /// Bytes that they hold, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.found.len() * size_of::<Limited>()
            + self.known.len() * size_of::<((usize, ContentHash), u32)>()
    }
}
