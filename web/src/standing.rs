//! How every constraint stood at one turn, as a list beside the turn or the action.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::ConstraintIndex;

use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::text::line;
use crate::verdict::{split_rows, state_at};

/// The list, in the order and with the folding of the drawing.
pub(crate) struct Standing {
    pub(crate) shown: Vec<Row>,
    pub(crate) folded: Vec<Row>,
}

/// One constraint.
pub(crate) struct Row {
    pub(crate) name: Markup,
    pub(crate) link: String,
    pub(crate) kind: &'static str,
    pub(crate) mark: Mark,
    /// The action that the list stands beside breaks it.
    pub(crate) broken: bool,
}

/// The constraints at a turn. `breaks` are those that an action breaks, `link` is where each row leads.
pub(crate) fn standing(
    analysis: &Analysis,
    turn: u32,
    breaks: &[ConstraintIndex],
    link: impl Fn(ConstraintIndex) -> String,
) -> Standing {
    let row = |constraint: ConstraintIndex| Row {
        name: line(&analysis.constraints[constraint].id, 80),
        link: link(constraint),
        kind: analysis.constraints[constraint].kind.as_str(),
        mark: mark(state_at(analysis, turn, constraint)),
        broken: breaks.contains(&constraint),
    };
    let (shown, folded) = split_rows(analysis);
    Standing {
        shown: shown.into_iter().map(row).collect(),
        folded: folded.into_iter().map(row).collect(),
    }
}
