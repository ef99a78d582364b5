//! Mutations of the context: derived from consecutive contexts, joined with what the application declared.

use std::collections::BTreeMap;
use std::ops::Bound;

use remembrancer_schema::payload::{ContextMutated, DeclaredFate, Fate, MutationKind, Payload};

use crate::analysis::{Aftermath, DeclaredMutation, Disagreement, Mutation, Turn};
use crate::budget::budget;
use crate::clearing;
use crate::context::ContextTimeline;
use crate::declaration;
use crate::fate::{self, DerivedChange};
#[cfg(test)]
use crate::reading::Reading;
use crate::reading::{LeftOut, ReadEvent};

/// Most declarations that are joined with the change of one turn: each repeats what became of its parts.
const TURN_DECLARATIONS_MAX: usize = 16;

/// Derives every mutation, joins the declarations, and tells each turn which mutation it was the first to be sent with. Names
/// the declarations that are left out.
#[cfg(test)]
pub(crate) fn mutations(
    reading: &Reading,
    timeline: &mut ContextTimeline,
    session_trigger: Option<u64>,
) -> (Vec<Mutation>, Vec<LeftOut>) {
    let mut changes = Changes::default();
    for at in 0..reading.events.len() {
        changes.note(&reading.events, at);
    }
    let mut mutations = Vec::new();
    changes.derive(&reading.events, timeline, &mut mutations, session_trigger);
    (mutations, changes.left_out)
}

/// What the application declared of a session that grows, and how far its mutations were derived.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// By turn: positions among the events read.
    declared: BTreeMap<u32, Vec<usize>>,
    left_out: Vec<LeftOut>,
    /// For each turn of the timeline: what there was before it.
    marks: Vec<Mark>,
    /// Behind the last of them.
    end: Mark,
}

/// How far the mutations had been derived before a turn.
#[derive(Debug, Default, Clone, Copy)]
struct Mark {
    mutations: usize,
    /// The number of the turn before it: declarations up to there are assembled.
    previous: Option<u32>,
    /// Position of the last turn whose context is known.
    last_known: Option<usize>,
}

impl Changes {
    /// Takes the event at a position; the first turn that it declares something new of.
    pub(crate) fn note(&mut self, events: &[ReadEvent], at: usize) -> Option<u32> {
        let read = &events[at];
        let Payload::ContextMutated(mutated) = &read.payload else {
            return None;
        };
        let of_turn = self.declared.entry(mutated.turn).or_default();
        if of_turn.len() < TURN_DECLARATIONS_MAX {
            of_turn.push(at);
            return Some(mutated.turn);
        }
        self.left_out.push(LeftOut {
            entry: read.entry(),
            turn: Some(mutated.turn),
            reason: format!(
                "{TURN_DECLARATIONS_MAX} mutations were declared for turn {} before",
                mutated.turn
            ),
        });
        None
    }

    /// The declarations that are left out.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Takes back the mutations of the turns from a position on, and those of turns that were never recorded behind it.
    pub(crate) fn rewind(&mut self, mutations: &mut Vec<Mutation>, position: usize) {
        if let Some(&mark) = self.marks.get(position) {
            self.end = mark;
            self.marks.truncate(position);
        }
        mutations.truncate(self.end.mutations);
    }

    /// Derives the mutations of the turns that have none yet, and tells those turns. What follows the last turn is derived
    /// anew each time.
    pub(crate) fn derive(
        &mut self,
        events: &[ReadEvent],
        timeline: &mut ContextTimeline,
        mutations: &mut Vec<Mutation>,
        session_trigger: Option<u64>,
    ) {
        mutations.truncate(self.end.mutations);
        for position in self.marks.len()..timeline.turns.len() {
            self.marks.push(self.end);
            let number = timeline.turns[position].number;
            let earlier = Bound::Excluded(number);
            self.unrecorded(events, timeline, mutations, session_trigger, earlier);
            let first = mutations.len();
            self.of_turn(events, timeline, mutations, session_trigger, position);
            let turn = &mut timeline.turns[position];
            turn.mutation = (mutations.len() > first).then_some(first);
            self.end = Mark {
                mutations: mutations.len(),
                previous: Some(number),
                last_known: match turn.unknown {
                    None => Some(position),
                    Some(_) => self.end.last_known,
                },
            };
        }
        self.unrecorded(
            events,
            timeline,
            mutations,
            session_trigger,
            Bound::Unbounded,
        );
    }

    /// Declarations of turns that were never recorded, from behind the last turn up to a number.
    fn unrecorded(
        &self,
        events: &[ReadEvent],
        timeline: &ContextTimeline,
        mutations: &mut Vec<Mutation>,
        session_trigger: Option<u64>,
        up_to: Bound<u32>,
    ) {
        let after = self.end.previous.map_or(Bound::Unbounded, Bound::Excluded);
        let last_known = self.end.last_known.map(|at| &timeline.turns[at]);
        for (&number, declared) in self.declared.range((after, up_to)) {
            mutations.extend(declarations(events, declared).map(|declaration| {
                assemble(
                    timeline,
                    Place::unrecorded(number, last_known),
                    None,
                    Account::Declared(&declaration),
                    session_trigger,
                )
            }));
        }
    }

    fn of_turn(
        &self,
        events: &[ReadEvent],
        timeline: &ContextTimeline,
        mutations: &mut Vec<Mutation>,
        session_trigger: Option<u64>,
        position: usize,
    ) {
        let turn = &timeline.turns[position];
        let last_known = self.end.last_known.map(|at| &timeline.turns[at]);
        let change = last_known
            .filter(|_| turn.unknown.is_none())
            .and_then(|before| fate::derive(timeline, &before.parts, &turn.parts));
        let place = Place {
            number: turn.number,
            before: last_known,
            turn: Some(turn),
        };
        let told = |account: Account<'_>| {
            assemble(timeline, place, change.as_ref(), account, session_trigger)
        };
        match (self.declared.get(&turn.number), &change) {
            (Some(declared), _) => {
                for declaration in declarations(events, declared) {
                    mutations.push(told(Account::Declared(&declaration)));
                }
            }
            (None, Some(change)) => mutations.push(told(Account::Derived(change.kind))),
            (None, None) => {}
        }
    }
}

fn declarations<'a>(
    events: &'a [ReadEvent],
    positions: &'a [usize],
) -> impl Iterator<Item = Declaration<'a>> {
    positions.iter().filter_map(|&at| {
        let read = &events[at];
        match &read.payload {
            Payload::ContextMutated(mutated) => Some(Declaration { read, mutated }),
            _ => None,
        }
    })
}

struct Declaration<'a> {
    read: &'a ReadEvent,
    mutated: &'a ContextMutated,
}

/// Who tells of a mutation: the application, or the contexts alone.
#[derive(Clone, Copy)]
enum Account<'a> {
    Declared(&'a Declaration<'a>),
    Derived(MutationKind),
}

impl Account<'_> {
    fn kind(self) -> MutationKind {
        match self {
            Self::Declared(declaration) => declaration.mutated.kind,
            Self::Derived(kind) => kind,
        }
    }
}

/// Where a mutation stands: the last known context before it, and the turn that was sent with it.
#[derive(Clone, Copy)]
struct Place<'a> {
    number: u32,
    before: Option<&'a Turn>,
    turn: Option<&'a Turn>,
}

impl<'a> Place<'a> {
    fn unrecorded(number: u32, before: Option<&'a Turn>) -> Self {
        Self {
            number,
            before,
            turn: None,
        }
    }
}

fn assemble(
    timeline: &ContextTimeline,
    place: Place<'_>,
    change: Option<&DerivedChange>,
    account: Account<'_>,
    session_trigger: Option<u64>,
) -> Mutation {
    let declaration = match account {
        Account::Declared(declaration) => Some(declaration),
        Account::Derived(_) => None,
    };
    let mutated = declaration.map(|declaration| declaration.mutated);
    let clearing = mutated
        .zip(place.turn)
        .and_then(|(mutated, turn)| clearing::clearing(timeline, turn, mutated));
    let trigger = mutated
        .and_then(|mutated| mutated.trigger.as_ref()?.threshold_tokens)
        .or(session_trigger);
    Mutation {
        turn: place.number,
        previous_turn: place.before.map(|before| before.number),
        kind: account.kind(),
        declared: declaration.map(Declaration::account),
        fates: change
            .map(|change| change.fates.clone())
            .unwrap_or_default(),
        disagreements: mutated
            .map(|mutated| disagreements(timeline, place, change, mutated, clearing.is_some()))
            .unwrap_or_default(),
        budget: budget(
            place.before.and_then(|before| before.tokens),
            place.turn.and_then(|turn| turn.tokens),
            mutated.and_then(|mutated| mutated.counted),
            trigger,
        ),
        // Told once actions and presence are known.
        aftermath: Aftermath::default(),
        clearing,
    }
}

impl Declaration<'_> {
    fn account(&self) -> DeclaredMutation {
        DeclaredMutation {
            entry: self.read.entry(),
            name: self.mutated.name.clone(),
            kind: self.mutated.kind,
            trigger: self.mutated.trigger.clone(),
            summary: self.mutated.summary.clone(),
            withheld: self.mutated.withheld.clone(),
            injected_fault: self.mutated.injected_fault.clone(),
            witness: self.read.witness(),
        }
    }
}

/// Where declaration and contexts disagree; nothing can be said unless both contexts are known.
fn disagreements(
    timeline: &ContextTimeline,
    place: Place<'_>,
    change: Option<&DerivedChange>,
    mutated: &ContextMutated,
    is_clearing: bool,
) -> Vec<Disagreement> {
    let (Some(_), Some(turn)) = (place.before, place.turn) else {
        return Vec::new();
    };
    if turn.unknown.is_some() {
        return Vec::new();
    }
    // What the provider clears from the request stands in the context that was sent to it, as it must.
    let said: Vec<DeclaredFate> = mutated
        .parts
        .iter()
        .filter(|declared| !is_clearing || !clearing::takes_away(declared))
        .cloned()
        .collect();
    match change {
        Some(change) => declaration::compare(timeline, &said, &change.fates, &turn.parts.to_vec()),
        None if is_clearing => Vec::new(),
        None => unchanged(mutated).into_iter().collect(),
    }
}

/// A declared mutation that left no mark: the context after is the one before with parts appended. A restatement, a resume
/// or an injection may do no more than that.
fn unchanged(mutated: &ContextMutated) -> Option<Disagreement> {
    let said_gone = mutated
        .parts
        .iter()
        .map(|part| part.fate)
        .find(|fate| !matches!(fate, Fate::Kept | Fate::Pinned | Fate::Injected));
    let implied = match mutated.kind {
        MutationKind::Compaction => Some(Fate::Summarised),
        MutationKind::Microcompaction => Some(Fate::Stubbed),
        MutationKind::Truncation | MutationKind::Clear | MutationKind::Rewind => {
            Some(Fate::Dropped)
        }
        MutationKind::ServerEdit
        | MutationKind::Resume
        | MutationKind::Fork
        | MutationKind::DanglingParent
        | MutationKind::Injection
        | MutationKind::Restatement
        | MutationKind::Rewrite => None,
    };
    let declared = said_gone.or(implied)?;
    Some(Disagreement {
        part: None,
        declared: Some(declared),
        derived: Some(Fate::Kept),
        message: format!(
            "a {} is declared, but the context after is the one before with parts appended",
            mutated.kind.as_str()
        ),
    })
}

#[cfg(test)]
mod tests;
