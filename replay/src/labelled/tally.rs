//! Labels against states: the confusion table, and how well each class is told.

use std::collections::BTreeMap;

use super::Label;
use crate::analysis::PresenceState;

/// Cases by label and state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<(Label, PresenceState), u64>,
}

/// What a case is, as far as the states can say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// It stands: labelled present, preserved or paraphrased; told by `verbatim`, `matched` and `partial`.
    Kept,
    /// It stands changed: labelled weakened, mutated or contradicted; told by `altered`.
    Altered,
    /// It is gone: labelled dropped or absent; told by every other state.
    Gone,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Kept, Self::Altered, Self::Gone];

    /// The class as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Altered => "altered",
            Self::Gone => "gone",
        }
    }

    /// The class of a label.
    pub fn of_label(label: Label) -> Self {
        match label {
            Label::Present | Label::Preserved | Label::Paraphrased => Self::Kept,
            Label::Weakened | Label::Mutated | Label::Contradicted => Self::Altered,
            Label::Absent | Label::Dropped => Self::Gone,
        }
    }

    /// The class that a state tells.
    pub fn of_state(state: PresenceState) -> Self {
        use PresenceState::{
            Altered, Matched, Mention, NoTrace, Opaque, Partial, Unknown, Verbatim,
        };
        match state {
            Verbatim | Matched | Partial => Self::Kept,
            Altered => Self::Altered,
            Mention | NoTrace | Opaque | Unknown => Self::Gone,
        }
    }
}

impl Tally {
    /// Counts a case.
    pub fn add(&mut self, label: Label, state: PresenceState) {
        *self.counts.entry((label, state)).or_default() += 1;
    }

    /// How many cases have a label and came out in a state.
    pub fn count(&self, label: Label, state: PresenceState) -> u64 {
        self.counts.get(&(label, state)).copied().unwrap_or(0)
    }

    /// How many cases have a label.
    pub fn labelled(&self, label: Label) -> u64 {
        PresenceState::ALL
            .iter()
            .map(|state| self.count(label, *state))
            .sum()
    }

    /// How many cases with a label came out in one of some states.
    pub fn among(&self, label: Label, states: &[PresenceState]) -> u64 {
        states.iter().map(|state| self.count(label, *state)).sum()
    }

    /// Of the cases that are told as a class, how many are of it: those, and all.
    pub fn precision(&self, class: Class) -> (u64, u64) {
        self.sum(class, |of, told| (of && told, told))
    }

    /// Of the cases of a class, how many are told so: those, and all.
    pub fn recall(&self, class: Class) -> (u64, u64) {
        self.sum(class, |of, told| (of && told, of))
    }

    fn sum(&self, class: Class, counts: impl Fn(bool, bool) -> (bool, bool)) -> (u64, u64) {
        let mut sums = (0, 0);
        for ((label, state), count) in &self.counts {
            let (part, whole) = counts(
                Class::of_label(*label) == class,
                Class::of_state(*state) == class,
            );
            sums.0 += u64::from(part) * count;
            sums.1 += u64::from(whole) * count;
        }
        sums
    }
}
