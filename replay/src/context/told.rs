//! What the events say of each turn.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{ContextCaptured, ModelResponded, Payload, Witness};

use crate::reading::{LeftOut, ReadEvent, Reading};

/// What the events say of each turn. Of two captures or two responses for one turn the first counts: what is recorded once
/// cannot be replaced by a later event.
#[derive(Default)]
pub(super) struct Told<'a> {
    pub(super) turns: BTreeMap<u32, TurnSources<'a>>,
    pub(super) witness: Option<Witness>,
    pub(super) left_out: Vec<LeftOut>,
}

#[derive(Default)]
pub(super) struct TurnSources<'a> {
    pub(super) captured: Option<(&'a ReadEvent<'a>, &'a ContextCaptured)>,
    pub(super) responded: Option<(&'a ReadEvent<'a>, &'a ModelResponded)>,
    pub(super) called: Option<&'a ReadEvent<'a>>,
}

impl<'a> Told<'a> {
    pub(super) fn of(reading: &'a Reading<'a>) -> Self {
        let mut told = Self::default();
        for read in &reading.events {
            match &read.payload {
                Payload::SessionStarted(started) => told.witness = told.witness.or(started.witness),
                Payload::ContextCaptured(captured) => {
                    let sources = told.turns.entry(captured.turn).or_default();
                    match sources.captured {
                        None => sources.captured = Some((read, captured)),
                        Some((first, _)) => {
                            let reason = second("context", captured.turn, first.entry());
                            told.leave_out(read, captured.turn, reason);
                        }
                    }
                }
                Payload::ModelResponded(responded) => {
                    let sources = told.turns.entry(responded.turn).or_default();
                    match sources.responded {
                        None => sources.responded = Some((read, responded)),
                        Some((first, _)) => {
                            let reason = second("response", responded.turn, first.entry());
                            told.leave_out(read, responded.turn, reason);
                        }
                    }
                }
                Payload::ToolCalled(called) => {
                    let sources = told.turns.entry(called.turn).or_default();
                    sources.called = sources.called.or(Some(read));
                }
                _ => {}
            }
        }
        told
    }

    fn leave_out(&mut self, read: &ReadEvent<'_>, turn: u32, reason: String) {
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
