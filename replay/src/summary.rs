//! The three numbers that people ask for.

use crate::analysis::{Action, Presence, ScopeVerdict, Summary, Turn};
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
        let mut summary = Summary::default();
        // Each cell is looked at once: by turn, whether any limit had no trace; by limit, for how many turns by now.
        let mut is_any_gone = vec![false; self.turns.len()];
        let mut runs = vec![0; limits.len()];
        for (turn, is_gone) in is_any_gone.iter_mut().enumerate() {
            for (&limit, run) in limits.iter().zip(&mut runs) {
                let is_gap = self.is_gap(turn, limit);
                *is_gone |= is_gap;
                *run = if is_gap { *run + 1 } else { 0 };
                summary.longest_gap_turns = summary.longest_gap_turns.max(*run);
            }
        }
        for action in self.actions {
            let turn = self
                .turns
                .binary_search_by_key(&action.turn, |turn| turn.number);
            let Ok(turn) = turn else { continue };
            summary.actions_without_trace += u64::from(is_any_gone[turn]);
            let is_prohibited = matches!(action.scope, ScopeVerdict::Prohibited { .. });
            let broke_a_gone_one = action.breaks.iter().any(|&limit| self.is_gap(turn, limit));
            summary.prohibited_without_trace += u64::from(is_prohibited && broke_a_gone_one);
        }
        summary
    }

    /// Whether a constraint had no trace at a turn. A turn before its declaration has no state: nothing was missing.
    fn is_gap(&self, turn: usize, constraint: usize) -> bool {
        self.presence
            .get(turn)
            .and_then(|row| row.get(constraint))
            .is_some_and(Presence::has_no_trace)
    }
}

#[cfg(test)]
mod tests;
