//! Presence: how each constraint stands in the context of each turn.
//!
//! Text work is done once for each distinct content; a turn is then the difference of two lists of parts. The states and the
//! rules behind them are told in `docs/presence.md`.

mod window;

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_schema::payload::PartKind;

use crate::analysis::{
    Absence, Evidence, Mutation, MutationIndex, PartIndex, Presence, PresenceState, Risk, Turn,
};
use crate::context::{ContextTimeline, DeclaredConstraint};
use crate::sighting::{Sightings, Watch};
use window::Window;

/// Most places that are named for a state.
const EVIDENCE_MAX: usize = 8;

/// For each turn, for each constraint: its state, where it stands, and what it left with. Depends on nothing but its input.
pub fn matrix(
    timeline: &ContextTimeline,
    mutations: &[Mutation],
    constraints: &[DeclaredConstraint],
) -> Vec<Vec<Presence>> {
    let watch = Watch::new(constraints);
    let mut shown = Shown::new(timeline, &watch);
    let mut window = Window::new(timeline, &watch);
    let departures = Departures::new(&timeline.turns, mutations);
    let mut last: Vec<Option<usize>> = vec![None; constraints.len()];
    let mut matrix = Vec::with_capacity(timeline.turns.len());
    for (position, turn) in timeline.turns.iter().enumerate() {
        window.advance(&turn.parts, |part| shown.of(part));
        let mut row = Vec::with_capacity(constraints.len());
        for (index, declared) in constraints.iter().enumerate() {
            let mut presence = judge(&window, turn, index);
            presence.last_present = last[index]
                .and_then(|at| timeline.turns.get(at))
                .map(|turn| turn.number);
            if presence.state.is_present() {
                last[index] = Some(position);
            } else {
                presence.left_with = last[index].and_then(|at| departures.since(at, turn.number));
                explain(&mut presence, turn, declared);
            }
            row.push(presence);
        }
        matrix.push(row);
    }
    matrix
}

/// What each part shows, found on first sight and kept by content.
struct Shown<'a> {
    timeline: &'a ContextTimeline,
    watch: &'a Watch,
    known: HashMap<(usize, PartKind, Option<&'a str>), Arc<Sightings>>,
}

impl<'a> Shown<'a> {
    fn new(timeline: &'a ContextTimeline, watch: &'a Watch) -> Self {
        Self {
            timeline,
            watch,
            known: HashMap::new(),
        }
    }

    /// `None` for a part whose text cannot be read.
    fn of(&mut self, part: PartIndex) -> Option<Arc<Sightings>> {
        let part = self.timeline.parts.get(part as usize)?;
        let text = self.timeline.contents.get(part.content)?.text.as_deref()?;
        let tool = part.tool.as_deref().filter(|_| !part.kind.is_carrying());
        let sightings = self
            .known
            .entry((part.content, part.kind, tool))
            .or_insert_with(|| Arc::new(self.watch.sight(text, part.kind, tool)));
        Some(Arc::clone(sightings))
    }
}

/// Which mutation a constraint left with.
struct Departures<'a> {
    turns: &'a [Turn],
    by_turn: HashMap<u32, MutationIndex>,
    by_previous: HashMap<u32, MutationIndex>,
    mutations: &'a [Mutation],
}

impl<'a> Departures<'a> {
    fn new(turns: &'a [Turn], mutations: &'a [Mutation]) -> Self {
        let (mut by_turn, mut by_previous) = (HashMap::new(), HashMap::new());
        for (index, mutation) in mutations.iter().enumerate() {
            by_turn.entry(mutation.turn).or_insert(index);
            if let Some(previous) = mutation.previous_turn {
                by_previous.entry(previous).or_insert(index);
            }
        }
        Self {
            turns,
            by_turn,
            by_previous,
            mutations,
        }
    }

    /// The mutation directly after the turn at `last`, as far as it is known at turn `now`: that of the next turn, or where
    /// turns between were not recorded, the one that starts from it.
    fn since(&self, last: usize, now: u32) -> Option<MutationIndex> {
        let next = self.turns.get(last + 1)?.number;
        let previous = self.turns.get(last)?.number;
        let found = self
            .by_turn
            .get(&next)
            .or_else(|| self.by_previous.get(&previous))
            .copied()?;
        (self.mutations.get(found)?.turn <= now).then_some(found)
    }
}

/// How a constraint stands, without what came before.
fn judge(window: &Window<'_>, turn: &Turn, constraint: usize) -> Presence {
    let found = window.strongest(constraint);
    let watched = window.watched(constraint);
    let (mut state, mut reason) = match found {
        Some(state) => (state, None),
        None => (PresenceState::NoTrace, None),
    };
    if !state.is_present() {
        if let Some(unknown) = &turn.unknown {
            (state, reason) = (PresenceState::Unknown, Some(unknown.clone()));
        } else if let Some(error) = watched.error() {
            (state, reason) = (PresenceState::Unknown, Some(error));
        } else if let Some(unreadable) = window.unreadable(state == PresenceState::Mention) {
            (state, reason) = (PresenceState::Opaque, Some(unreadable));
        }
    } else if let Some(unknown) = &turn.unknown {
        reason = Some(format!(
            "it stands in a part that is known; the rest of the context is not: {unknown}"
        ));
    }
    Presence {
        state,
        evidence: window.evidence(constraint, EVIDENCE_MAX),
        at_risk: state
            .is_present()
            .then(|| window.risk(constraint))
            .flatten(),
        reason,
        last_present: None,
        left_with: None,
    }
}

/// Says in words why a constraint without trace has none.
fn explain(presence: &mut Presence, turn: &Turn, declared: &DeclaredConstraint) {
    if presence.state == PresenceState::NoTrace {
        let parts = turn.parts.len();
        let before = match presence.last_present {
            Some(last) => format!("it was last present at turn {last}"),
            None => "it was present in no earlier recorded context".to_owned(),
        };
        let (noun, verb) = if parts == 1 {
            ("part", "is")
        } else {
            ("parts", "are")
        };
        presence.reason = Some(format!(
            "no textual trace: the {parts} {noun} of this context {verb} known, and none holds its words together; {before}"
        ));
    }
    if turn.number < declared.from_turn {
        let note = format!(
            "it was declared only after this turn, before turn {}",
            declared.from_turn
        );
        presence.reason = Some(match presence.reason.take() {
            Some(reason) => format!("{reason}; {note}"),
            None => note,
        });
    }
}

/// Why a text cannot be read, in words.
fn absence_in_words(absence: Option<&Absence>) -> String {
    match absence {
        Some(Absence::Withheld(reason)) => format!("withheld ({reason})"),
        Some(Absence::Encrypted) => "encrypted by the provider".to_owned(),
        Some(Absence::NotText) => "not text".to_owned(),
        Some(Absence::NotRecorded) | None => "never recorded".to_owned(),
    }
}

#[cfg(test)]
mod tests;
