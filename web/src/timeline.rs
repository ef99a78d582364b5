//! The one drawing of a session: size of each request above, presence of each constraint at each action below, on the same axis.
//!
//! Mutations stand as lines between the turns.

mod axis;
mod bars;
mod presence;

use std::ops::Range;

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::ConstraintIndex;

use crate::links::Links;
use crate::markup::Markup;
use crate::verdict::{is_amiss, rows, split_rows, state_at};

use axis::{GAP, GUTTER, Slot, lay_out};
pub(crate) use axis::{actions_of, columns, windows};
use bars::{draw_bar, draw_scale, draw_trigger, draw_turn_number};
use presence::{ROW, draw_counts_head, draw_flags, draw_row};

/// Most rows of one drawing.
const ROWS_MAX: usize = 40;
const BARS_TOP: usize = 30;
const BARS_HEIGHT: usize = 132;
/// Between the bars and the matrix: turn numbers and flags.
const AXIS: usize = 44;
/// Columns narrower than this have smaller letters.
const TIGHT_BELOW: usize = 28;
/// Right of the last turn: how often each constraint was present.
const MARGIN: usize = 72;

/// The turns of a drawing, and the drawing.
pub(crate) struct Timeline {
    pub(crate) svg: Markup,
    /// The rows that are no limits, where they are many.
    pub(crate) folded: Option<Folded>,
    /// Rows that did not fit.
    pub(crate) rows_left_out: usize,
}

/// A drawing that is shown on demand.
pub(crate) struct Folded {
    pub(crate) svg: Markup,
    pub(crate) rows: usize,
}

/// What every piece of one drawing needs to know.
#[derive(Clone, Copy)]
struct Drawing<'a> {
    analysis: &'a Analysis,
    slots: &'a [Slot],
    /// Width of one column.
    column: usize,
    /// Where the last slot ends.
    right: usize,
    links: Links,
    /// Prefix of the names within the drawing.
    id: &'a str,
}

/// The cells that a report explains: those in which a constraint that was declared is not present, limits first, then by action.
pub(crate) fn reported_cells(analysis: &Analysis) -> Vec<(usize, usize)> {
    rows(analysis)
        .into_iter()
        .flat_map(|constraint| (0..analysis.actions.len()).map(move |action| (action, constraint)))
        .filter(|&(action, constraint)| {
            is_amiss(state_at(
                analysis,
                analysis.actions[action].turn,
                constraint,
            ))
        })
        .collect()
}

/// Draws the turns at the positions `window`.
pub(crate) fn timeline(analysis: &Analysis, window: Range<usize>, links: Links) -> Timeline {
    // Names within the drawing are unique in a document that holds several.
    let place = window.start;
    let (shown, folded) = split_rows(analysis);
    let (slots, column) = lay_out(analysis, window);
    let drawing = Drawing {
        analysis,
        slots: &slots,
        column,
        right: slots.last().map_or(GUTTER, |slot| slot.left + slot.width),
        links,
        id: &format!("t{place}"),
    };
    let folded_drawing = Drawing {
        id: &format!("f{place}"),
        ..drawing
    };
    Timeline {
        svg: whole(&drawing, &shown[..shown.len().min(ROWS_MAX)]),
        folded: (!folded.is_empty()).then(|| Folded {
            svg: rows_alone(&folded_drawing, &folded[..folded.len().min(ROWS_MAX)]),
            rows: folded.len(),
        }),
        rows_left_out: shown.len().saturating_sub(ROWS_MAX) + folded.len().saturating_sub(ROWS_MAX),
    }
}

/// Bars above, presence below.
fn whole(drawing: &Drawing<'_>, constraints: &[ConstraintIndex]) -> Markup {
    let matrix_top = BARS_TOP + BARS_HEIGHT + AXIS;
    let height = matrix_top + constraints.len() * ROW + 10;
    let mut svg = begin(
        drawing,
        height,
        "Requests and presence",
        "Above: the size of each request in tokens, with context mutations as vertical lines. Below, on the same axis: how each constraint stood in the context when each action was sent. The table after the drawing holds the same data.",
    );
    let scale = draw_scale(&mut svg, drawing);
    for slot in drawing.slots {
        draw_bar(&mut svg, drawing, slot, scale);
    }
    draw_trigger(&mut svg, drawing, scale);
    for slot in drawing.slots {
        draw_flags(&mut svg, drawing, slot);
    }
    if !constraints.is_empty() {
        draw_counts_head(&mut svg, drawing, matrix_top - 8);
    }
    for (row, &constraint) in constraints.iter().enumerate() {
        draw_row(&mut svg, drawing, constraint, matrix_top + row * ROW);
    }
    for slot in drawing.slots {
        draw_mutation(&mut svg, drawing, slot, height);
    }
    svg.close("svg");
    svg
}

/// Presence alone, on the axis of the whole drawing.
fn rows_alone(drawing: &Drawing<'_>, constraints: &[ConstraintIndex]) -> Markup {
    let matrix_top = 44;
    let height = matrix_top + constraints.len() * ROW + 10;
    let mut svg = begin(
        drawing,
        height,
        "Presence of what is no limit",
        "How each permission and each fact stood in the context when each action was sent. The table after the drawing holds the same data.",
    );
    draw_counts_head(&mut svg, drawing, matrix_top - 8);
    for slot in drawing.slots {
        draw_turn_number(&mut svg, drawing, slot, matrix_top - 8);
    }
    for (row, &constraint) in constraints.iter().enumerate() {
        draw_row(&mut svg, drawing, constraint, matrix_top + row * ROW);
    }
    for slot in drawing.slots {
        draw_mutation(&mut svg, drawing, slot, height);
    }
    svg.close("svg");
    svg
}

fn begin(drawing: &Drawing<'_>, height: usize, title: &str, description: &str) -> Markup {
    let id = drawing.id;
    let width = drawing.right + MARGIN;
    let class = if drawing.column < TIGHT_BELOW {
        "timeline tight"
    } else {
        "timeline"
    };
    let mut svg = Markup::new();
    svg.open(
        "svg",
        &[
            ("class", &class),
            ("role", &"group"),
            ("aria-labelledby", &format_args!("{id}-title {id}-desc")),
            ("width", &width),
            ("height", &height),
            ("viewBox", &format_args!("0 0 {width} {height}")),
            ("xmlns", &"http://www.w3.org/2000/svg"),
        ],
    );
    svg.element("title", &[("id", &format_args!("{id}-title"))], title);
    svg.element("desc", &[("id", &format_args!("{id}-desc"))], description);
    patterns(&mut svg, id);
    svg
}

/// Patterns that set the states apart without colour.
fn patterns(svg: &mut Markup, id: &str) {
    svg.open("defs", &[]);
    let kinds: [(&str, &str, &str); 6] = [
        ("estimated", "6", "M0 6L6 0"),
        ("matched", "6", "M0 0V6"),
        ("altered", "7", "M0 7L7 0"),
        ("partial", "5", "M0 0L5 5"),
        ("mention", "6", "M0 3H6"),
        ("opaque", "5", "M2 2H3.4V3.4H2Z"),
    ];
    for (name, size, path) in kinds {
        svg.open(
            "pattern",
            &[
                ("id", &format_args!("{id}-{name}")),
                ("width", &size),
                ("height", &size),
                ("patternUnits", &"userSpaceOnUse"),
            ],
        );
        svg.empty("path", &[("class", &"hatch"), ("d", &path)])
            .close("pattern");
    }
    svg.close("defs");
}

fn draw_mutation(svg: &mut Markup, drawing: &Drawing<'_>, slot: &Slot, height: usize) {
    let Drawing {
        analysis, links, ..
    } = *drawing;
    let turn = &analysis.turns[slot.turn];
    let Some(index) = turn.mutation else { return };
    let Some(mutation) = analysis.mutations.get(index) else {
        return;
    };
    let x = slot.left - GAP / 2;
    let link = links.mutation(index);
    open_link(svg, Some(&link));
    svg.open("g", &[("class", &"mutation")]);
    svg.element(
        "title",
        &[],
        format_args!(
            "Mutation {} before turn {}: {}",
            index + 1,
            turn.number,
            mutation.kind.as_str()
        ),
    );
    svg.empty(
        "line",
        &[("x1", &x), ("x2", &x), ("y1", &20), ("y2", &(height - 8))],
    );
    svg.empty(
        "rect",
        &[
            ("x", &(x - 13)),
            ("y", &2),
            ("width", &26),
            ("height", &20),
            ("rx", &4),
        ],
    );
    svg.element(
        "text",
        &[("x", &x), ("y", &16), ("text-anchor", &"middle")],
        format_args!("m{}", index + 1),
    );
    svg.close("g");
    close_link(svg, Some(&link));
}

fn open_link(svg: &mut Markup, link: Option<&str>) {
    if let Some(link) = link {
        svg.open("a", &[("href", &link)]);
    }
}

fn close_link(svg: &mut Markup, link: Option<&str>) {
    if link.is_some() {
        svg.close("a");
    }
}

#[cfg(test)]
mod tests;
