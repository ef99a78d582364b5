//! Controls: what the presence check says where it cannot say anything, so that nobody is flattered by their own test.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{ConstraintIndex, MutationIndex, PartIndex, PresenceState};

/// The controls of a session's presence checks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Controls {
    /// The same checks with a summary emptied, for each mutation that brought one.
    pub emptied: Vec<EmptiedSummary>,
    /// Constraints that stand in instructions or re-supplied material at every turn whose context is known. What any
    /// compaction does to the rest cannot change their state: a check that cannot fail.
    pub cannot_fail: Vec<ConstraintIndex>,
    /// Statements that nobody made: none of them may be found.
    pub never_stated: Vec<NeverStated>,
}

/// The results at the first turn after a mutation, with its summary emptied. Every constraint with a state there is in one of the
/// lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EmptiedSummary {
    /// The mutation.
    pub mutation: MutationIndex,
    /// The turn.
    pub turn: u32,
    /// The summaries that it brought.
    pub summaries: Vec<PartIndex>,
    /// Constraints whose state is another without the summary. `verbatim` and `matched` are one: present. Where the change
    /// counts ([`ChangedState::counts`]) the check speaks of the summary.
    pub changed: Vec<ChangedState>,
    /// Present with and without it, in instructions or re-supplied material: emptying the summary cannot change that.
    pub supplied: Vec<ConstraintIndex>,
    /// Present with and without it, in messages.
    pub elsewhere: Vec<ConstraintIndex>,
    /// Not present, and in the same state with and without it.
    pub absent: Vec<ConstraintIndex>,
    /// Whether no change counts: then the check says nothing about the summary.
    pub says_nothing: bool,
}

/// A constraint whose state rests on a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChangedState {
    /// The constraint.
    pub constraint: ConstraintIndex,
    /// Its state as recorded.
    pub with: PresenceState,
    /// Its state with the summary emptied.
    pub without: PresenceState,
}

impl ChangedState {
    /// Whether the result of the check changes: present or not, restated with a difference or not. `partial`, `mention` and
    /// `no_trace` all say that the constraint is not present; which of them it is asks for a reader.
    pub fn counts(&self) -> bool {
        let is_result =
            |state: PresenceState| state.is_present() || state == PresenceState::Altered;
        is_result(self.with) || is_result(self.without)
    }
}

/// A statement in words that no language has, made up from the session's id and looked for as any other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeverStated {
    /// The statement.
    pub text: String,
    /// How it is looked for, in words.
    pub matcher: String,
    /// At how many turns it came out in which state.
    pub states: BTreeMap<PresenceState, u64>,
    /// The first turn at which anything of it was found: `verbatim`, `matched`, `altered`, `partial` or `mention`.
    pub found: Option<FoundControl>,
}

/// Where a statement that nobody made was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FoundControl {
    /// The turn.
    pub turn: u32,
    /// The state.
    pub state: PresenceState,
    /// The part, where one is named.
    pub part: Option<PartIndex>,
}

impl EmptiedSummary {
    /// The result in words.
    pub fn in_words(&self) -> String {
        let changed = self
            .changed
            .iter()
            .filter(|changed| changed.counts())
            .count();
        let to_read = self.changed.len() - changed;
        let (supplied, elsewhere) = (self.supplied.len(), self.elsewhere.len());
        let absent = self.absent.len();
        let rest = [
            (
                supplied,
                "cannot change: instructions or re-supplied material hold them",
            ),
            (elsewhere, "stay present in messages"),
            (absent, "are not present either way"),
            (
                to_read,
                "not present either way, but in words that the summary brings, to be read",
            ),
        ]
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect::<Vec<_>>()
        .join(", ");
        let rest = if rest.is_empty() {
            String::new()
        } else {
            format!(" ({rest})")
        };
        if self.says_nothing {
            format!(
                "with the summary emptied no result changes at turn {}: the check says nothing about the summary{rest}",
                self.turn
            )
        } else {
            format!(
                "with the summary emptied {changed} of {} results change at turn {}{rest}",
                changed + supplied + elsewhere + absent + to_read,
                self.turn
            )
        }
    }
}
