//! What a request is made of.

use std::collections::HashSet;

use remembrancer_schema::payload::{ConstraintKind, MutationKind, PartKind, TokenSource};

use super::{Known, Stubs, known_turn};
use crate::analysis::{Anatomy, Mutation, PartIndex, PartList, Turn};
use crate::context::ContextTimeline;

/// Takes contexts apart, mutation after mutation.
pub(super) struct Anatomist<'a> {
    known: Known<'a>,
    /// Contents of the parts that state the task: what the user said before the agent's first words.
    task: HashSet<usize>,
    stubs: Stubs,
}

impl<'a> Anatomist<'a> {
    /// Behind the mutations that are told already.
    pub(super) fn new(known: Known<'a>, told: &[Mutation]) -> Self {
        let first = known
            .timeline
            .turns
            .iter()
            .find(|turn| turn.unknown.is_none());
        let mut anatomist = Self {
            known,
            task: first
                .map(|turn| opening(known.timeline, &turn.parts))
                .unwrap_or_default(),
            stubs: Stubs::default(),
        };
        // Several declarations of one turn tell of one change.
        for of_turn in told.chunk_by(|one, next| one.turn == next.turn) {
            if let Some(turn) = known_turn(known.timeline, of_turn[0].turn) {
                anatomist.learn(&of_turn[0], turn);
            }
        }
        anatomist
    }

    fn learn(&mut self, mutation: &Mutation, turn: &Turn) {
        self.stubs.learn(self.known.timeline, mutation);
        if mutation.kind == MutationKind::Clear {
            self.task.extend(opening(self.known.timeline, &turn.parts));
        }
    }

    /// The anatomy of the context after a mutation. Mutations come in order.
    pub(super) fn after(&mut self, mutation: &Mutation, turn: &Turn) -> Anatomy {
        let timeline = self.known.timeline;
        self.learn(mutation, turn);
        let carriers = self.carriers(turn);
        let mut anatomy = Anatomy {
            source: TokenSource::Estimated,
            fixed_overhead: 0,
            kernel: 0,
            pinned: 0,
            summary: 0,
            recent: 0,
            stubs: 0,
            total: 0,
            told: turn.tokens,
        };
        for index in &turn.parts {
            let part = timeline.part(index);
            let carries = || carriers.contains(&index);
            let field = match part.kind {
                PartKind::System | PartKind::ToolSchema => &mut anatomy.fixed_overhead,
                _ if self.stubs.contains(timeline, index) => &mut anatomy.stubs,
                PartKind::Summary => &mut anatomy.summary,
                PartKind::Memory if part.sources.is_empty() && carries() => &mut anatomy.kernel,
                PartKind::Memory => &mut anatomy.pinned,
                PartKind::User if self.task.contains(&part.content) || carries() => {
                    &mut anatomy.kernel
                }
                _ => &mut anatomy.recent,
            };
            *field = field.saturating_add(part.estimated_tokens);
            anatomy.total = anatomy.total.saturating_add(part.estimated_tokens);
        }
        anatomy
    }

    /// The parts in which a declared limit or permission stands at a turn.
    fn carriers(&self, turn: &Turn) -> HashSet<PartIndex> {
        let row = self
            .known
            .timeline
            .turn_position(turn.number)
            .and_then(|at| self.known.presence.get(at))
            .map_or(&[][..], Vec::as_slice);
        self.known
            .constraints
            .iter()
            .zip(row)
            .filter(|(constraint, _)| constraint.kind != ConstraintKind::Fact)
            .flat_map(|(_, presence)| &presence.evidence)
            .filter(|evidence| evidence.state.is_present())
            .map(|evidence| evidence.part)
            .collect()
    }
}

/// Contents of the user's parts before the agent's first words.
fn opening(timeline: &ContextTimeline, parts: &PartList) -> HashSet<usize> {
    parts
        .iter()
        .map(|index| timeline.part(index))
        .take_while(|part| {
            !matches!(
                part.kind,
                PartKind::Assistant
                    | PartKind::Reasoning
                    | PartKind::ToolCall
                    | PartKind::ToolResult
                    | PartKind::Summary
            )
        })
        .filter(|part| part.kind == PartKind::User)
        .map(|part| part.content)
        .collect()
}
