//! Controls of the presence checks: statements that nobody made, and what a check says once a summary is emptied.

use std::collections::HashSet;

use remembrancer_schema::payload::{
    ConstraintDeclared, ConstraintKind, MatchTerm, Matcher, PartKind,
};
use remembrancer_schema::{ContentHash, SessionId};

use crate::analysis::{
    ChangedState, ConstraintIndex, Controls, EmptiedSummary, FoundControl, Mutation, NeverStated,
    PartList, Presence, PresenceState,
};
use crate::constraint;
use crate::context::{ContextTimeline, DeclaredConstraint};
use crate::presence::Seen;
use crate::weight;

/// What the controls are made from.
#[derive(Clone, Copy)]
pub(crate) struct Checked<'a> {
    pub(crate) timeline: &'a ContextTimeline,
    pub(crate) mutations: &'a [Mutation],
    pub(crate) constraints: &'a [DeclaredConstraint],
    pub(crate) presence: &'a [Vec<Presence>],
    pub(crate) never: &'a Never,
}

/// The statements that nobody made, and how they stood at each turn.
#[derive(Debug)]
pub(crate) struct Never {
    declared: Vec<DeclaredConstraint>,
    seen: Seen,
    rows: Vec<Vec<Presence>>,
}

impl Never {
    /// The statements of a session; no turn is judged yet.
    pub(crate) fn new(session: &SessionId) -> Self {
        let declared = never_stated_of(session);
        Self {
            seen: Seen::new(&declared),
            declared,
            rows: Vec::new(),
        }
    }

    /// Forgets the turns from a position on.
    pub(crate) fn rewind(&mut self, position: usize) {
        self.rows.truncate(position);
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.seen.bytes() + weight::of_rows(&self.rows)
    }

    /// Judges the turns that are not judged yet.
    pub(crate) fn extend(&mut self, timeline: &ContextTimeline, mutations: &[Mutation]) {
        self.seen
            .extend(&mut self.rows, timeline, mutations, &self.declared);
    }
}

/// The controls of a session. `seen` knows what its texts show of the constraints. The summaries of the first `told` mutations
/// were emptied before, with `before` as the result.
pub(crate) fn controls(
    checked: Checked<'_>,
    seen: &mut Seen,
    told: usize,
    mut before: Vec<EmptiedSummary>,
) -> Controls {
    before.retain(|control| control.mutation < told);
    Controls {
        emptied: emptied(checked, seen, told, before),
        cannot_fail: cannot_fail(checked),
        never_stated: checked
            .never
            .declared
            .iter()
            .enumerate()
            .map(|(at, control)| never_stated(checked, at, control))
            .collect(),
    }
}

/// Two statements in made-up words: one looked for as a statement, one by a declared matcher in every part. The words come
/// from the session's id, so that they are the same whenever the session is analysed, and are in no text but one that was
/// copied from its analysis.
fn never_stated_of(session: &SessionId) -> Vec<DeclaredConstraint> {
    let word = |number: u8| {
        let seed = format!("never stated {number} in {session}");
        made_up(ContentHash::of(seed.as_bytes()))
    };
    let control = |id: &str, kind, text: String, matcher| DeclaredConstraint {
        declared: ConstraintDeclared {
            id: id.parse().expect("within the alphabet of ids"),
            kind,
            text,
            matcher,
            actions: Vec::new(),
            stated_by: None,
            inferred: false,
            witness: None,
        },
        entry: 0,
        from_turn: Some(1),
    };
    let statement = format!("You must never {} the {} {}", word(1), word(2), word(3));
    let (first, second) = (word(4), word(5));
    // Expressions, because those need no folded text: a control costs little beside what it controls.
    let expression = |word: &String| MatchTerm {
        regex: Some(word.clone()),
        ..MatchTerm::default()
    };
    let matcher = Matcher {
        all_of: vec![expression(&first)],
        any_of: vec![expression(&second)],
        any_part: true,
    };
    vec![
        control("statement", ConstraintKind::Prohibition, statement, None),
        control(
            "matcher",
            ConstraintKind::Fact,
            format!("{first} {second}"),
            Some(matcher),
        ),
    ]
}

/// Five syllables, each a consonant and a vowel.
fn made_up(hash: ContentHash) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprtvz";
    const VOWELS: &[u8] = b"aiou";
    let hash = hash.to_string();
    let digits: Vec<usize> = hash
        .bytes()
        .rev()
        .filter_map(|digit| char::from(digit).to_digit(16))
        .map(|digit| digit as usize)
        .collect();
    digits
        .chunks_exact(3)
        .take(5)
        .flat_map(|triple| {
            let consonant = CONSONANTS[(triple[0] * 16 + triple[1]) % CONSONANTS.len()];
            [consonant, VOWELS[triple[2] % VOWELS.len()]]
        })
        .map(char::from)
        .collect()
}

fn never_stated(checked: Checked<'_>, at: usize, control: &DeclaredConstraint) -> NeverStated {
    let shown = constraint::shown(control);
    let mut told = NeverStated {
        text: shown.text,
        matcher: shown.matcher,
        states: Default::default(),
        found: None,
    };
    for (turn, row) in checked.timeline.turns.iter().zip(&checked.never.rows) {
        let Some(presence) = row.get(at) else {
            continue;
        };
        let Some(state) = presence.state else {
            continue;
        };
        *told.states.entry(state).or_default() += 1;
        let is_found = !matches!(
            state,
            PresenceState::NoTrace | PresenceState::Opaque | PresenceState::Unknown
        );
        if is_found && told.found.is_none() {
            told.found = Some(FoundControl {
                turn: turn.number,
                state,
                part: presence.evidence.first().map(|evidence| evidence.part),
            });
        }
    }
    told
}

/// The constraints that something re-supplied holds at every turn whose context is known, from their declaration on.
fn cannot_fail(checked: Checked<'_>) -> Vec<ConstraintIndex> {
    let is_held = |at: usize, declared: &DeclaredConstraint| {
        let mut rows = checked
            .timeline
            .turns
            .iter()
            .zip(checked.presence)
            .filter(|(turn, _)| turn.unknown.is_none() && declared.is_declared_at(turn.number))
            .filter_map(|(_, row)| row.get(at))
            .peekable();
        rows.peek().is_some() && rows.all(is_supplied)
    };
    checked
        .constraints
        .iter()
        .enumerate()
        .filter(|&(at, declared)| is_held(at, declared))
        .map(|(at, _)| at)
        .collect()
}

/// Present in instructions or re-supplied material.
fn is_supplied(presence: &Presence) -> bool {
    presence.is_present() && presence.at_risk.is_none()
}

fn emptied(
    checked: Checked<'_>,
    seen: &mut Seen,
    told: usize,
    mut controls: Vec<EmptiedSummary>,
) -> Vec<EmptiedSummary> {
    let mut told_turn = None;
    for (index, mutation) in checked.mutations.iter().enumerate().skip(told) {
        // Several declarations of one turn tell of one change.
        if told_turn == Some(mutation.turn) {
            continue;
        }
        told_turn = Some(mutation.turn);
        let Some(at) = checked.timeline.turn_position(mutation.turn) else {
            continue;
        };
        let (turn, row) = (&checked.timeline.turns[at], checked.presence.get(at));
        let brought = brought_summaries(checked.timeline, mutation);
        let (Some(row), false, None) = (row, brought.is_empty(), &turn.unknown) else {
            continue;
        };
        // What may not have reached the model supports nothing, with the summary or without it.
        let of_turn = checked.mutations[index..].iter();
        let cleared: HashSet<u32> = of_turn
            .take_while(|other| other.turn == mutation.turn)
            .filter_map(|other| other.clearing.as_ref())
            .flat_map(|clearing| clearing.cleared.iter().chain(&clearing.possible))
            .copied()
            .collect();
        let without: PartList = turn
            .parts
            .iter()
            .zip(0u32..)
            .filter(|(_, position)| {
                brought.binary_search(position).is_err() && !cleared.contains(position)
            })
            .map(|(part, _)| part)
            .collect();
        let summaries = brought
            .iter()
            .filter_map(|&position| turn.parts.get(position as usize))
            .collect();
        let states = seen.states(checked.timeline, &without, checked.constraints.len());
        controls.push(EmptiedSummary {
            mutation: index,
            turn: mutation.turn,
            summaries,
            ..compared(row, &states)
        });
    }
    controls
}

/// Positions of the summaries that a mutation brought, in order.
fn brought_summaries(timeline: &ContextTimeline, mutation: &Mutation) -> Vec<u32> {
    mutation
        .fates
        .iter()
        .filter(|fate| fate.before.is_none() && timeline.part(fate.part).kind == PartKind::Summary)
        .filter_map(|fate| fate.after)
        .collect()
}

fn compared(row: &[Presence], without: &[PresenceState]) -> EmptiedSummary {
    let mut control = EmptiedSummary::default();
    for (constraint, (presence, &without)) in row.iter().zip(without).enumerate() {
        // What nobody had declared yet has no result that could change.
        let Some(with) = presence.state else {
            continue;
        };
        let is_present_either_way = with.is_present() && without.is_present();
        if with != without && !is_present_either_way {
            control.changed.push(ChangedState {
                constraint,
                with,
                without,
            });
        } else if is_supplied(presence) {
            control.supplied.push(constraint);
        } else if with.is_present() {
            control.elsewhere.push(constraint);
        } else {
            control.absent.push(constraint);
        }
    }
    control.says_nothing = !control.changed.iter().any(ChangedState::counts);
    control
}

#[cfg(test)]
mod tests;
