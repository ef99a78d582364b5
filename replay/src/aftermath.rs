//! What mutations left behind, told once contexts, actions and presence are known.

mod anatomy;
mod generation;
mod pairing;
mod repeat;

use std::collections::HashSet;

use remembrancer_schema::payload::{Fate, MutationKind, PartKind, TokenSource};

use crate::analysis::{Action, Aftermath, Constraint, Growth, Mutation, PartIndex, Presence, Turn};
use crate::budget;
use crate::context::ContextTimeline;
pub(crate) use repeat::Repeats;

/// Most orphans, and most repeated calls, that are named for one mutation.
const NAMED_MAX: usize = 100;

/// What the aftermath is told from.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) timeline: &'a ContextTimeline,
    pub(crate) actions: &'a [Action],
    pub(crate) constraints: &'a [Constraint],
    pub(crate) presence: &'a [Vec<Presence>],
}

/// Tells for every mutation what it left behind. The first `told` of them are told already, except for what comes after them.
/// Linear in the fates of the mutations, and in the parts of the contexts at which a call was repeated.
pub(crate) fn tell(
    mutations: &mut [Mutation],
    told: usize,
    repeats: &mut Repeats,
    known: Known<'_>,
) {
    let (old, new) = mutations.split_at_mut(told.min(mutations.len()));
    let mut depths = generation::Depths::of(known.timeline, old);
    let mut anatomist = anatomy::Anatomist::new(known, old);
    let calls = pairing::Calls::of(if new.is_empty() { &[] } else { known.actions });
    let mut last: Option<(u32, Aftermath)> = None;
    for mutation in new {
        // Several declarations of one turn tell of one change.
        let aftermath = match &last {
            Some((turn, aftermath)) if *turn == mutation.turn => aftermath.clone(),
            _ => of_change(mutation, known, &mut depths, &mut anatomist, &calls),
        };
        last = Some((mutation.turn, aftermath.clone()));
        mutation.aftermath = Aftermath {
            growth: growth(mutation, known.timeline),
            ..aftermath
        };
    }
    let compacted: HashSet<u32> = mutations
        .iter()
        .filter(|mutation| mutation.kind == MutationKind::Compaction)
        .map(|mutation| mutation.turn)
        .collect();
    for mutation in mutations.iter_mut() {
        let next = mutation.turn.checked_add(1);
        mutation.aftermath.compacted_again = mutation.kind == MutationKind::Compaction
            && next.is_some_and(|next| compacted.contains(&next));
    }
    repeats.tell(mutations, known);
}

/// The first mutation that is told otherwise once a call is recorded whose result, recorded with `returned`, waited for it:
/// from the next context on the record shows that the result existed.
pub(crate) fn first_behind(
    returned: u64,
    mutations: &[Mutation],
    timeline: &ContextTimeline,
) -> usize {
    let is_behind = |mutation: &Mutation| {
        let turn = known_turn(timeline, mutation.turn);
        turn.and_then(|turn| turn.entry)
            .is_some_and(|captured| returned < captured)
    };
    mutations
        .iter()
        .position(is_behind)
        .unwrap_or(mutations.len())
}

fn of_change(
    mutation: &Mutation,
    known: Known<'_>,
    depths: &mut generation::Depths,
    anatomist: &mut anatomy::Anatomist<'_>,
    calls: &pairing::Calls<'_>,
) -> Aftermath {
    let Some(turn) = known_turn(known.timeline, mutation.turn) else {
        return Aftermath::default();
    };
    let (summaries, generation) = depths.after(known.timeline, mutation, turn);
    let before = mutation
        .previous_turn
        .and_then(|number| known_turn(known.timeline, number));
    let mut orphans = before.map_or_else(Vec::new, |before| {
        calls.orphans(known.timeline, before, turn)
    });
    let orphan_count = orphans.len() as u64;
    orphans.truncate(NAMED_MAX);
    Aftermath {
        summaries,
        generation,
        orphans,
        orphan_count,
        anatomy: Some(anatomist.after(mutation, turn)),
        ..Aftermath::default()
    }
}

/// The turn of a number, if its context is known.
fn known_turn(timeline: &ContextTimeline, number: u32) -> Option<&Turn> {
    let turn = &timeline.turns[timeline.turn_position(number)?];
    turn.unknown.is_none().then_some(turn)
}

/// Whether a change is one that should shrink the request.
fn should_shrink(kind: MutationKind) -> bool {
    matches!(
        kind,
        MutationKind::Compaction | MutationKind::Microcompaction | MutationKind::Truncation
    )
}

/// That a change which should shrink the request did not. What was counted for the same request decides; without it, what was
/// told of the requests before and after; without that, the estimates of the same request without and with the change.
fn growth(mutation: &Mutation, timeline: &ContextTimeline) -> Option<Growth> {
    if !should_shrink(mutation.kind) {
        return None;
    }
    let sizes = budget::sizes(&mutation.budget).or_else(|| estimated_sizes(mutation, timeline))?;
    (sizes.after > sizes.before).then_some(sizes)
}

fn estimated_sizes(mutation: &Mutation, timeline: &ContextTimeline) -> Option<Growth> {
    if mutation.fates.is_empty() {
        return None;
    }
    let turn = known_turn(timeline, mutation.turn)?;
    let before = known_turn(timeline, mutation.previous_turn?)?;
    let appended = mutation.fates.iter().filter(|fate| fate.appended);
    Some(Growth {
        source: TokenSource::Estimated,
        before: estimate(timeline, &before.parts)
            .saturating_add(estimate(timeline, appended.map(|fate| fate.part))),
        after: estimate(timeline, &turn.parts),
    })
}

fn estimate(timeline: &ContextTimeline, parts: impl IntoIterator<Item = PartIndex>) -> u64 {
    parts.into_iter().fold(0, |sum: u64, part| {
        sum.saturating_add(timeline.part(part).estimated_tokens)
    })
}

/// The contents that stand in for results as stubs, as far as mutations show it. Marked ones say so themselves.
#[derive(Debug, Default)]
struct Stubs(HashSet<usize>);

impl Stubs {
    fn learn(&mut self, timeline: &ContextTimeline, mutation: &Mutation) {
        let stand_ins = mutation
            .fates
            .iter()
            .filter(|fate| fate.fate == Fate::Stubbed)
            .filter_map(|fate| fate.replaced_by);
        self.0
            .extend(stand_ins.map(|part| timeline.part(part).content));
    }

    fn contains(&self, timeline: &ContextTimeline, part: PartIndex) -> bool {
        let part = timeline.part(part);
        part.stub || part.kind == PartKind::ToolResult && self.0.contains(&part.content)
    }
}

#[cfg(test)]
mod tests;
