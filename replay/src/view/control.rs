//! Controls as they are shown to programs: constraints by their ids.

use serde::Serialize;

use crate::analysis::{
    Analysis, ConstraintIndex, EmptiedSummary, MutationIndex, NeverStated, PresenceState,
};

/// The controls of a session's presence checks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlsView<'a> {
    /// The same checks with a summary emptied, for each mutation that brought one.
    pub emptied: Vec<EmptiedView<'a>>,
    /// Constraints that instructions or re-supplied material hold at every known turn: no compaction can change their state.
    pub cannot_fail: Vec<&'a str>,
    /// Statements that nobody made.
    pub never_stated: &'a [NeverStated],
    /// Whether none of them was found.
    pub never_stated_holds: bool,
}

/// What a check says once a summary is emptied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmptiedView<'a> {
    /// The mutation that brought the summary.
    pub mutation: MutationIndex,
    /// The turn.
    pub turn: u32,
    /// The result in words.
    pub result: String,
    /// Whether no result changes: present or not, restated with a difference or not.
    pub says_nothing: bool,
    /// Constraints whose state is another without the summary.
    pub changed: Vec<ChangedView<'a>>,
    /// Present either way, in instructions or re-supplied material: the check cannot fail here.
    pub supplied: Vec<&'a str>,
    /// Present either way, in messages.
    pub elsewhere: Vec<&'a str>,
    /// Not present either way.
    pub absent: Vec<&'a str>,
}

/// A constraint whose state rests on a summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedView<'a> {
    /// The constraint.
    pub constraint: &'a str,
    /// Its state as recorded.
    pub with: PresenceState,
    /// Its state with the summary emptied.
    pub without: PresenceState,
}

pub(super) fn controls(analysis: &Analysis) -> ControlsView<'_> {
    let controls = &analysis.controls;
    ControlsView {
        emptied: controls
            .emptied
            .iter()
            .map(|control| emptied(analysis, control))
            .collect(),
        cannot_fail: ids(analysis, &controls.cannot_fail),
        never_stated: &controls.never_stated,
        never_stated_holds: controls
            .never_stated
            .iter()
            .all(|control| control.found.is_none()),
    }
}

pub(super) fn emptied<'a>(analysis: &'a Analysis, control: &'a EmptiedSummary) -> EmptiedView<'a> {
    EmptiedView {
        mutation: control.mutation,
        turn: control.turn,
        result: control.in_words(),
        says_nothing: control.says_nothing,
        changed: control
            .changed
            .iter()
            .filter_map(|changed| {
                Some(ChangedView {
                    constraint: id(analysis, changed.constraint)?,
                    with: changed.with,
                    without: changed.without,
                })
            })
            .collect(),
        supplied: ids(analysis, &control.supplied),
        elsewhere: ids(analysis, &control.elsewhere),
        absent: ids(analysis, &control.absent),
    }
}

fn ids<'a>(analysis: &'a Analysis, constraints: &[ConstraintIndex]) -> Vec<&'a str> {
    constraints
        .iter()
        .filter_map(|&constraint| id(analysis, constraint))
        .collect()
}

fn id(analysis: &Analysis, constraint: ConstraintIndex) -> Option<&str> {
    analysis
        .constraints
        .get(constraint)
        .map(|constraint| constraint.id.as_str())
}
