//! What the events say of each turn.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{ContextCaptured, ModelResponded, Payload, Witness};

use crate::reading::{LeftOut, ReadEvent};

/// What the events say of each turn. Of two captures or two responses for one turn the first counts: what is recorded once
/// cannot be replaced by a later event.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) turns: BTreeMap<u32, TurnSources>,
    pub(super) witness: Option<Witness>,
    pub(super) left_out: Vec<LeftOut>,
}

/// The events that tell of a turn, by their position among those read.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TurnSources {
    captured: Option<usize>,
    responded: Option<usize>,
    called: Option<usize>,
}

impl TurnSources {
    pub(super) fn captured<'a>(
        &self,
        events: &'a [ReadEvent],
    ) -> Option<(&'a ReadEvent, &'a ContextCaptured)> {
        let read = &events[self.captured?];
        match &read.payload {
            Payload::ContextCaptured(captured) => Some((read, captured)),
            _ => None,
        }
    }

    pub(super) fn responded<'a>(
        &self,
        events: &'a [ReadEvent],
    ) -> Option<(&'a ReadEvent, &'a ModelResponded)> {
        let read = &events[self.responded?];
        match &read.payload {
            Payload::ModelResponded(responded) => Some((read, responded)),
            _ => None,
        }
    }

    /// The event that gives the turn its time.
    pub(super) fn first<'a>(&self, events: &'a [ReadEvent]) -> Option<&'a ReadEvent> {
        let at = self.captured.or(self.responded).or(self.called)?;
        events.get(at)
    }
}

impl Told {
    /// Takes the event at a position; the first turn that it tells something new of.
    pub(super) fn note(&mut self, events: &[ReadEvent], at: usize) -> Option<u32> {
        let read = &events[at];
        match &read.payload {
            Payload::SessionStarted(started) => {
                let is_new = self.witness.is_none() && started.witness.is_some();
                self.witness = self.witness.or(started.witness);
                is_new.then_some(0)
            }
            Payload::ContextCaptured(captured) => {
                let sources = self.turns.entry(captured.turn).or_default();
                if let Some(first) = sources.captured {
                    let reason = second("context", captured.turn, events[first].entry());
                    self.leave_out(read, captured.turn, reason);
                    return None;
                }
                sources.captured = Some(at);
                Some(captured.turn)
            }
            Payload::ModelResponded(responded) => {
                let sources = self.turns.entry(responded.turn).or_default();
                if let Some(first) = sources.responded {
                    let reason = second("response", responded.turn, events[first].entry());
                    self.leave_out(read, responded.turn, reason);
                    return None;
                }
                sources.responded = Some(at);
                Some(responded.turn)
            }
            Payload::ToolCalled(called) => {
                let sources = self.turns.entry(called.turn).or_default();
                let is_first = sources.captured.is_none()
                    && sources.responded.is_none()
                    && sources.called.is_none();
                sources.called = sources.called.or(Some(at));
                is_first.then_some(called.turn)
            }
            _ => None,
        }
    }

    fn leave_out(&mut self, read: &ReadEvent, turn: u32, reason: String) {
        self.left_out.push(LeftOut {
            entry: read.entry(),
            turn: Some(turn),
            reason,
        });
    }
}

fn second(what: &str, turn: u32, first: u64) -> String {
    format!(
        "the {what} of turn {turn} was recorded before, with entry {first}; the first one counts"
    )
}
