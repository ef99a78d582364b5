//! Mutations of the context: derived from consecutive contexts, joined with what the application declared.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{ContextMutated, Fate, MutationKind, Payload};

use crate::analysis::{DeclaredMutation, Disagreement, Mutation, Turn};
use crate::budget::budget;
use crate::context::ContextTimeline;
use crate::declaration;
use crate::fate::{self, DerivedChange};
use crate::reading::{LeftOut, ReadEvent, Reading};

/// Most declarations that are joined with the change of one turn: each repeats what became of its parts.
const TURN_DECLARATIONS_MAX: usize = 16;

/// Derives every mutation, joins the declarations, and tells each turn which mutation it was the first to be sent with. Names
/// the declarations that are left out.
pub(crate) fn mutations(
    reading: &Reading<'_>,
    timeline: &mut ContextTimeline,
    session_trigger: Option<u64>,
) -> (Vec<Mutation>, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    let mut declared: BTreeMap<u32, Vec<Declaration<'_>>> = BTreeMap::new();
    for read in &reading.events {
        if let Payload::ContextMutated(mutated) = &read.payload {
            let of_turn = declared.entry(mutated.turn).or_default();
            if of_turn.len() < TURN_DECLARATIONS_MAX {
                of_turn.push(Declaration { read, mutated });
            } else {
                left_out.push(LeftOut {
                    entry: read.entry(),
                    turn: Some(mutated.turn),
                    reason: format!(
                        "{TURN_DECLARATIONS_MAX} mutations were declared for turn {} before",
                        mutated.turn
                    ),
                });
            }
        }
    }
    let mut mutations = Vec::new();
    let mut first_of_turn = Vec::new();
    let mut last_known: Option<&Turn> = None;
    for turn in &timeline.turns {
        let earlier: Vec<_> = declared
            .range(..turn.number)
            .map(|(&number, _)| number)
            .collect();
        for number in earlier {
            // The request that this was to be sent with was never recorded.
            for declaration in declared.remove(&number).unwrap_or_default() {
                mutations.push(assemble(
                    timeline,
                    Place::unrecorded(number, last_known),
                    None,
                    Account::Declared(&declaration),
                    session_trigger,
                ));
            }
        }
        let declarations = declared.remove(&turn.number).unwrap_or_default();
        let is_known = turn.unknown.is_none();
        let change = last_known
            .filter(|_| is_known)
            .and_then(|before| fate::derive(timeline, &before.parts, &turn.parts));
        let place = Place {
            number: turn.number,
            before: last_known,
            turn: Some(turn),
        };
        if change.is_some() || !declarations.is_empty() {
            first_of_turn.push((turn.number, mutations.len()));
        }
        if declarations.is_empty() {
            mutations.extend(change.as_ref().map(|change| {
                assemble(
                    timeline,
                    place,
                    Some(change),
                    Account::Derived(change.kind),
                    session_trigger,
                )
            }));
        }
        mutations.extend(declarations.iter().map(|declaration| {
            assemble(
                timeline,
                place,
                change.as_ref(),
                Account::Declared(declaration),
                session_trigger,
            )
        }));
        last_known = Some(turn).filter(|_| is_known).or(last_known);
    }
    for (number, declarations) in declared {
        mutations.extend(declarations.iter().map(|declaration| {
            assemble(
                timeline,
                Place::unrecorded(number, last_known),
                None,
                Account::Declared(declaration),
                session_trigger,
            )
        }));
    }
    for (number, mutation) in first_of_turn {
        if let Some(at) = timeline.turn_position(number) {
            timeline.turns[at].mutation = Some(mutation);
        }
    }
    (mutations, left_out)
}

struct Declaration<'a> {
    read: &'a ReadEvent<'a>,
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
            .map(|mutated| disagreements(timeline, place, change, mutated))
            .unwrap_or_default(),
        budget: budget(
            place.before.and_then(|before| before.tokens),
            place.turn.and_then(|turn| turn.tokens),
            mutated.and_then(|mutated| mutated.counted),
            trigger,
        ),
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
        }
    }
}

/// Where declaration and contexts disagree; nothing can be said unless both contexts are known.
fn disagreements(
    timeline: &ContextTimeline,
    place: Place<'_>,
    change: Option<&DerivedChange>,
    mutated: &ContextMutated,
) -> Vec<Disagreement> {
    let (Some(_), Some(turn)) = (place.before, place.turn) else {
        return Vec::new();
    };
    if turn.unknown.is_some() {
        return Vec::new();
    }
    match change {
        Some(change) => declaration::compare(timeline, &mutated.parts, &change.fates, &turn.parts),
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
