//! Presence: how each constraint stands in the context of each turn.
//!
//! Text work is done once for each distinct content; a turn is then the difference of two lists of parts. The states and the
//! rules behind them are told in `docs/presence.md`.

mod cleared;
mod limited;
mod shown;
mod window;

use std::collections::HashMap;
use std::sync::Arc;

use crate::analysis::{
    Absence, FoundPlaces, Mutation, MutationIndex, PartIndex, PartList, Presence, PresenceState,
    Reason, Risk, Turn,
};
use crate::context::{ContextTimeline, DeclaredConstraint};
use crate::sighting::{Sightings, Watch};
use cleared::{Bracket, Cleared};
pub(crate) use limited::Limited;
use limited::Limits;
use shown::Shown;
use window::Window;

/// Most places that are named for a state.
const EVIDENCE_MAX: usize = 8;
/// Most altered places that are named: each brings two texts, and the next turn names them again.
const ALTERED_MAX: usize = 2;

/// For each turn, for each constraint: its state, where it stands, and what it left with. Depends on nothing but its input.
pub fn matrix(
    timeline: &ContextTimeline,
    mutations: &[Mutation],
    constraints: &[DeclaredConstraint],
) -> Vec<Vec<Presence>> {
    let mut matrix = Vec::with_capacity(timeline.turns.len());
    Seen::new(constraints).extend(&mut matrix, timeline, mutations, constraints);
    matrix
}

/// What the texts of a session show of its constraints, found on first sight and kept by content.
#[derive(Debug)]
pub(crate) struct Seen {
    watch: Watch,
    shown: Shown,
    limits: Limits,
}

impl Seen {
    /// Nothing seen yet of these constraints.
    pub(crate) fn new(constraints: &[DeclaredConstraint]) -> Self {
        Self {
            watch: Watch::new(constraints),
            shown: Shown::default(),
            limits: Limits::default(),
        }
    }

    /// Judges the turns that have no row yet. The constraints are those that it was made for.
    pub(crate) fn extend(
        &mut self,
        matrix: &mut Vec<Vec<Presence>>,
        timeline: &ContextTimeline,
        mutations: &[Mutation],
        constraints: &[DeclaredConstraint],
    ) {
        let Self {
            watch,
            shown,
            limits,
        } = self;
        let mut window = Window::new(timeline, watch);
        let departures = Departures::new(&timeline.turns, mutations);
        let (cleared, mut bracket) = (Cleared::of(mutations), None);
        let mut last = last_present(matrix, timeline, constraints.len());
        let judged = matrix.len();
        let behind = timeline
            .turns
            .last()
            .map(|turn| turn.number.saturating_add(1));
        let next = timeline.turns.get(judged).map(|turn| turn.number);
        limits.rewind(next.or(behind).unwrap_or_default());
        for (position, turn) in timeline.turns.iter().enumerate().skip(judged) {
            let show = |part| shown.of(timeline, watch, part);
            let cleared = cleared.at(turn.number);
            let (mut row, window) = match cleared {
                None => {
                    window.advance(&turn.parts, show);
                    let open = turn.unknown.as_deref().or(turn.incomplete.as_deref());
                    let indices = 0..constraints.len();
                    let row = indices.map(|index| judge(&window, open, index)).collect();
                    (row, &window)
                }
                Some(cleared) => bracket
                    .get_or_insert_with(|| Bracket::new(timeline, watch))
                    .judge(turn, cleared, constraints.len(), show),
            };
            for index in 0..constraints.len() {
                for (part, left) in window.newly_limited(index) {
                    limits.note(timeline, turn.number, index, part, left);
                }
            }
            for (index, (presence, declared)) in row.iter_mut().zip(constraints).enumerate() {
                presence.last_present = last[index]
                    .and_then(|at| timeline.turns.get(at))
                    .map(|turn| turn.number);
                if presence.is_present() {
                    last[index] = Some(position);
                } else {
                    presence.left_with =
                        last[index].and_then(|at| departures.since(at, turn.number));
                    if declared.is_declared_at(turn.number) {
                        let cleared = cleared.map_or(0, |cleared| cleared.cleared.len());
                        explain(presence, turn, cleared);
                    } else {
                        not_yet_declared(presence, declared);
                    }
                }
            }
            if let Some(before) = matrix.last() {
                for (presence, before) in row.iter_mut().zip(before) {
                    share(presence, before);
                }
            }
            matrix.push(row);
        }
        shown.forget(timeline);
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.watch.bytes() + self.shown.bytes + self.limits.bytes()
    }

    /// The texts that were not looked at as a whole.
    pub(crate) fn limited(&self) -> &[Limited] {
        self.limits.found()
    }

    /// The states of a context that is known and was not sent as it is, such as one without a summary.
    pub(crate) fn states(
        &mut self,
        timeline: &ContextTimeline,
        parts: &PartList,
        constraints: usize,
    ) -> Vec<PresenceState> {
        let Self { watch, shown, .. } = self;
        let mut window = Window::new(timeline, watch);
        window.advance(parts, |part| shown.of(timeline, watch, part));
        (0..constraints)
            .map(|constraint| judged(&window, None, constraint).0)
            .collect()
    }
}

/// For each constraint, the position of the last judged turn at which it was present.
fn last_present(
    matrix: &[Vec<Presence>],
    timeline: &ContextTimeline,
    constraints: usize,
) -> Vec<Option<usize>> {
    let Some(row) = matrix.last() else {
        return vec![None; constraints];
    };
    let last = |presence: &Presence| {
        if presence.is_present() {
            Some(matrix.len() - 1)
        } else {
            timeline.turn_position(presence.last_present?)
        }
    };
    row.iter().map(last).collect()
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
fn judge(window: &Window<'_>, unknown: Option<&str>, constraint: usize) -> Presence {
    let (state, reason) = judged(window, unknown, constraint);
    Presence {
        state: Some(state),
        evidence: FoundPlaces::new(window.tokens(), window.evidence(constraint, EVIDENCE_MAX)),
        at_risk: state
            .is_present()
            .then(|| window.risk(constraint))
            .flatten(),
        reason: reason.map(Reason::from),
        last_present: None,
        left_with: None,
    }
}

/// The state of a constraint, and why where that is no matter of evidence.
fn judged(
    window: &Window<'_>,
    unknown: Option<&str>,
    constraint: usize,
) -> (PresenceState, Option<String>) {
    let found = window.strongest(constraint);
    let watched = window.watched(constraint);
    let (mut state, mut reason) = match found {
        Some(state) => (state, None),
        None => (PresenceState::NoTrace, None),
    };
    let limited = window.limited(constraint, state);
    if !state.is_present() {
        if let Some(unknown) = unknown {
            (state, reason) = (PresenceState::Unknown, Some(unknown.to_owned()));
        } else if let Some(error) = watched.error() {
            (state, reason) = (PresenceState::Unknown, Some(error));
        } else if let Some(unreadable) = window.unreadable(state != PresenceState::NoTrace) {
            (state, reason) = (PresenceState::Opaque, Some(unreadable));
        } else if limited.is_some() {
            (state, reason) = (PresenceState::Opaque, limited);
        }
    } else if limited.is_some() {
        (state, reason) = (PresenceState::Opaque, limited);
    } else if let Some(unknown) = unknown {
        reason = Some(format!(
            "it stands in a part that is known; the rest of the context is not: {unknown}"
        ));
    }
    (state, reason)
}

/// The cell of a constraint that was declared only after a turn and was not present there: it has no state, and no evidence
/// of one. Words that happened to stand there restate nothing.
fn not_yet_declared(presence: &mut Presence, declared: &DeclaredConstraint) {
    let when = match declared.from_turn {
        Some(turn) => format!("it was declared only after this turn, before turn {turn}"),
        None => "it was declared only after the last recorded turn".to_owned(),
    };
    presence.state = None;
    presence.evidence = FoundPlaces::default();
    presence.reason = Some(format!("{}: {when}", Presence::NOT_YET_DECLARED).into());
}

/// Says why a constraint without trace has none. `cleared` is how many of the turn's parts its provider cleared.
fn explain(presence: &mut Presence, turn: &Turn, cleared: usize) {
    if presence.has_no_trace() {
        let parts = turn.parts.len().saturating_sub(cleared);
        presence.reason = Some(Reason::NoTrace {
            parts: u32::try_from(parts).unwrap_or(u32::MAX),
            is_cleared: cleared > 0,
            last_present: presence.last_present,
        });
    }
}

/// Lets a cell hold together with the one of the turn before what is the same in both.
fn share(presence: &mut Presence, before: &Presence) {
    presence.evidence.share(&before.evidence);
    if let (Some(reason), Some(known)) = (&mut presence.reason, &before.reason) {
        reason.share(known);
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
pub(crate) mod tests;
