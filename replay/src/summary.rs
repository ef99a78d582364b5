//! The three numbers that people ask for.

use crate::analysis::{Action, Presence, PresenceState, ScopeVerdict, Summary, Turn};
use crate::constraint;
use crate::context::DeclaredConstraint;

/// What the numbers are taken from.
pub(crate) struct Counted<'a> {
    pub(crate) turns: &'a [Turn],
    pub(crate) actions: &'a [Action],
    pub(crate) constraints: &'a [DeclaredConstraint],
    pub(crate) presence: &'a [Vec<Presence>],
}

impl Counted<'_> {
    pub(crate) fn summary(&self) -> Summary {
        let limits: Vec<usize> = (0..self.constraints.len())
            .filter(|&at| constraint::is_limit(&self.constraints[at]))
            .collect();
        let count = |is_counted: &dyn Fn(&Action) -> bool| {
            self.actions
                .iter()
                .filter(|action| is_counted(action))
                .count() as u64
        };
        Summary {
            actions_without_trace: count(&|action| {
                limits
                    .iter()
                    .any(|&limit| self.had_no_trace(action.turn, limit))
            }),
            prohibited_without_trace: count(&|action| {
                matches!(action.scope, ScopeVerdict::Prohibited { .. })
                    && action
                        .breaks
                        .iter()
                        .any(|&limit| self.had_no_trace(action.turn, limit))
            }),
            longest_gap_turns: limits
                .iter()
                .map(|&limit| self.longest_gap(limit))
                .max()
                .unwrap_or(0),
        }
    }

    fn had_no_trace(&self, turn: u32, constraint: usize) -> bool {
        self.turns
            .binary_search_by_key(&turn, |turn| turn.number)
            .is_ok_and(|at| self.is_gap(at, constraint))
    }

    /// Whether a constraint had no trace at a turn. A turn before its declaration does not count: nothing was missing.
    fn is_gap(&self, turn: usize, constraint: usize) -> bool {
        self.turns[turn].number >= self.constraints[constraint].from_turn
            && self
                .presence
                .get(turn)
                .and_then(|row| row.get(constraint))
                .is_some_and(|presence| presence.state == PresenceState::NoTrace)
    }

    fn longest_gap(&self, constraint: usize) -> u64 {
        let (mut run, mut longest) = (0, 0);
        for turn in 0..self.turns.len() {
            run = if self.is_gap(turn, constraint) {
                run + 1
            } else {
                0
            };
            longest = longest.max(run);
        }
        longest
    }
}

#[cfg(test)]
mod tests;
