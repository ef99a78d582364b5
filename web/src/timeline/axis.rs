//! The common axis: which turns one drawing holds, and where each of them stands.
//!
//! A turn is as wide as the actions that its response carried, and at least one column.

use std::ops::Range;

use remembrancer_replay::Analysis;

/// Most columns of one drawing.
pub(super) const COLUMNS_MAX: usize = 72;
/// Width of the row labels.
pub(super) const GUTTER: usize = 196;
/// Space between turns.
pub(super) const GAP: usize = 6;
const WIDTH_WANTED: usize = 1072;
const COLUMN_MIN: usize = 20;
const COLUMN_MAX: usize = 44;

/// One turn's place on the axis.
pub(super) struct Slot {
    pub(super) turn: usize,
    pub(super) left: usize,
    pub(super) width: usize,
    pub(super) actions: Range<usize>,
}

/// Splits the turns into drawings of at most [`COLUMNS_MAX`] columns. At least one, and each holds at least one turn.
pub(crate) fn windows(analysis: &Analysis) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    let mut columns = 0;
    for at in 0..analysis.turns.len() {
        let wanted = actions_of(analysis, analysis.turns[at].number).len().max(1);
        if at > start && columns + wanted > COLUMNS_MAX {
            windows.push(start..at);
            start = at;
            columns = 0;
        }
        columns += wanted;
    }
    windows.push(start..analysis.turns.len());
    windows
}

/// Positions of a turn's actions; those of one turn follow each other.
pub(crate) fn actions_of(analysis: &Analysis, turn: u32) -> Range<usize> {
    let actions = &analysis.actions;
    let Some(start) = actions.iter().position(|action| action.turn == turn) else {
        return 0..0;
    };
    let length = actions[start..]
        .iter()
        .take_while(|action| action.turn == turn)
        .count();
    start..start + length
}

/// The actions of the turns in a window; they follow each other.
pub(crate) fn columns(analysis: &Analysis, window: &Range<usize>) -> Range<usize> {
    let within = |turn: u32| {
        analysis
            .turn_position(turn)
            .is_some_and(|at| window.contains(&at))
    };
    let start = analysis
        .actions
        .iter()
        .position(|action| within(action.turn))
        .unwrap_or(0);
    let end = analysis
        .actions
        .iter()
        .rposition(|action| within(action.turn))
        .map_or(start, |at| at + 1);
    start..end
}

/// Places the turns of a window. Returns the slots and the width of one column.
pub(super) fn lay_out(analysis: &Analysis, window: Range<usize>) -> (Vec<Slot>, usize) {
    let turns: Vec<(usize, Range<usize>)> = window
        .filter(|&at| at < analysis.turns.len())
        .map(|at| (at, actions_of(analysis, analysis.turns[at].number)))
        .collect();
    let columns: usize = turns.iter().map(|(_, actions)| actions.len().max(1)).sum();
    let free = WIDTH_WANTED.saturating_sub(GUTTER + turns.len() * GAP);
    let column = free
        .checked_div(columns)
        .unwrap_or(COLUMN_MAX)
        .clamp(COLUMN_MIN, COLUMN_MAX);
    let mut left = GUTTER;
    let slots = turns
        .into_iter()
        .map(|(turn, actions)| {
            // A turn with more actions than a drawing holds is cut; the table has them all.
            let actions = actions.start..actions.end.min(actions.start + COLUMNS_MAX);
            let width = actions.len().max(1) * column;
            let slot = Slot {
                turn,
                left,
                width,
                actions,
            };
            left += width + GAP;
            slot
        })
        .collect();
    (slots, column)
}
