//! The constraint × action matrix as a table: the same data as the drawing, for every reader.

use std::ops::Range;

use remembrancer_replay::Analysis;
use remembrancer_schema::payload::Witness;

use crate::links::Links;
use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::text::{line, plain};
use crate::verdict::{rows, state_at};

/// The matrix over some of the actions.
pub(crate) struct Matrix {
    pub(crate) turns: Vec<TurnHead>,
    pub(crate) actions: Vec<ActionHead>,
    pub(crate) rows: Vec<Row>,
}

/// The actions of one turn, as a column group.
pub(crate) struct TurnHead {
    pub(crate) number: u32,
    pub(crate) link: Option<String>,
    pub(crate) actions: usize,
    /// How its context became known.
    pub(crate) witness: &'static str,
    /// The mutation that the turn was first sent with.
    pub(crate) mutated: bool,
}

/// One column.
pub(crate) struct ActionHead {
    pub(crate) number: usize,
    pub(crate) tool: Markup,
    pub(crate) link: String,
    pub(crate) flag: Option<Flag>,
}

/// One row.
pub(crate) struct Row {
    pub(crate) name: Markup,
    pub(crate) kind: &'static str,
    pub(crate) link: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) present: usize,
    /// At how many of the actions it was declared, or present all the same.
    pub(crate) counted: usize,
}

/// One cell. Only those that a link leads to have one: a report explains the cells in which something is amiss.
pub(crate) struct Cell {
    pub(crate) mark: Mark,
    pub(crate) link: String,
    pub(crate) id: String,
    /// What a screen reader says.
    pub(crate) label: String,
    /// The action breaks this very prohibition.
    pub(crate) broken: bool,
}

/// Why an action stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) glyph: &'static str,
    pub(crate) class: &'static str,
    pub(crate) label: &'static str,
}

/// The flag of an action, if it has one: the strongest.
pub(crate) fn flag(analysis: &Analysis, action: usize) -> Option<Flag> {
    use remembrancer_replay::analysis::ScopeVerdict;
    let action = analysis.actions.get(action)?;
    if !action.breaks.is_empty() || matches!(action.scope, ScopeVerdict::Prohibited { .. }) {
        return Some(Flag {
            glyph: "▲",
            class: "alarm",
            label: "prohibited",
        });
    }
    if matches!(action.scope, ScopeVerdict::OutOfScope) {
        return Some(Flag {
            glyph: "△",
            class: "alarm",
            label: "out of scope",
        });
    }
    let flagged = action
        .decisions
        .iter()
        .any(|decision| !decision.flags.is_empty() || !decision.violations.is_empty());
    flagged.then_some(Flag {
        glyph: "⚑",
        class: "warning",
        label: "flagged by a guard",
    })
}

/// The matrix over the actions in `columns`.
pub(crate) fn matrix(analysis: &Analysis, columns: Range<usize>, links: Links) -> Matrix {
    let shown = || columns.clone().filter(|&at| at < analysis.actions.len());
    let mut turns: Vec<TurnHead> = Vec::new();
    let mut heads = Vec::new();
    for at in shown() {
        let action = &analysis.actions[at];
        match turns.last_mut() {
            Some(turn) if turn.number == action.turn => turn.actions += 1,
            _ => turns.push(TurnHead {
                number: action.turn,
                link: links.turn(action.turn),
                actions: 1,
                witness: analysis
                    .witness_of(action.turn)
                    .map_or("unknown", Witness::as_str),
                mutated: analysis
                    .turn_position(action.turn)
                    .is_some_and(|turn| analysis.turns[turn].mutation.is_some()),
            }),
        }
        heads.push(ActionHead {
            number: at + 1,
            tool: line(&action.tool, 40),
            link: links.action(at),
            flag: flag(analysis, at),
        });
    }
    let rows = rows(analysis)
        .into_iter()
        .map(|constraint| row(analysis, constraint, shown(), links))
        .collect();
    Matrix {
        turns,
        actions: heads,
        rows,
    }
}

fn row(
    analysis: &Analysis,
    constraint: usize,
    columns: impl Iterator<Item = usize>,
    links: Links,
) -> Row {
    let declared = &analysis.constraints[constraint];
    let cells: Vec<Cell> = columns
        .map(|at| {
            let action = &analysis.actions[at];
            let mark = mark(state_at(analysis, action.turn, constraint));
            Cell {
                mark,
                link: links.evidence(at, constraint, mark.is_amiss()),
                id: format!("{}-{}", at + 1, constraint + 1),
                label: format!(
                    "{} at action {}, turn {}: {}",
                    plain(&declared.id, 80),
                    at + 1,
                    action.turn,
                    mark.label
                ),
                broken: action.breaks.contains(&constraint),
            }
        })
        .collect();
    Row {
        name: line(&declared.id, 80),
        kind: declared.kind.as_str(),
        link: links.constraint(constraint),
        present: cells.iter().filter(|cell| cell.mark.present).count(),
        counted: cells.iter().filter(|cell| cell.mark.counted).count(),
        cells,
    }
}
