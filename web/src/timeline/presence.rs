//! The lower half: how each constraint stood in the context when each action was sent.

use remembrancer_replay::analysis::PresenceState;

use super::axis::{GUTTER, Slot};
use super::{BARS_HEIGHT, BARS_TOP, Drawing, close_link, open_link};
use crate::mark::mark;
use crate::markup::{Attribute, Markup};
use crate::matrix::flag;
use crate::text::plain;
use crate::verdict::state_at;

/// Height of a row.
pub(super) const ROW: usize = 28;
/// Characters of a name on one line.
const NAME_CHARS_MAX: usize = 22;

/// Marks the actions that stand out.
pub(super) fn draw_flags(svg: &mut Markup, drawing: &Drawing<'_>, slot: &Slot) {
    let Drawing {
        analysis,
        column,
        links,
        ..
    } = *drawing;
    for (offset, at) in slot.actions.clone().enumerate() {
        let Some(flag) = flag(analysis, at) else {
            continue;
        };
        let x = slot.left + offset * column + column / 2;
        let link = links.action(at);
        open_link(svg, Some(&link));
        svg.open("g", &[]);
        svg.element(
            "title",
            &[],
            format_args!(
                "Action {}, {}: {}",
                at + 1,
                plain(&analysis.actions[at].tool, 60),
                flag.label
            ),
        );
        svg.element(
            "text",
            &[
                ("class", &format_args!("flag {}", flag.class)),
                ("x", &x),
                ("y", &(BARS_TOP + BARS_HEIGHT + 36)),
                ("text-anchor", &"middle"),
            ],
            flag.glyph,
        );
        svg.close("g");
        close_link(svg, Some(&link));
    }
}

/// Names the column of counts.
pub(super) fn draw_counts_head(svg: &mut Markup, drawing: &Drawing<'_>, y: usize) {
    let x = drawing.right + 10;
    svg.element(
        "text",
        &[("class", &"axis"), ("x", &x), ("y", &y)],
        "present at",
    );
}

/// Draws the row of one constraint.
pub(super) fn draw_row(svg: &mut Markup, drawing: &Drawing<'_>, constraint: usize, top: usize) {
    draw_name(svg, drawing, constraint, top);
    draw_states(svg, drawing, constraint, top);
    let states: Vec<PresenceState> = drawing
        .slots
        .iter()
        .flat_map(|slot| slot.actions.clone())
        .filter_map(|at| {
            let turn = drawing.analysis.actions[at].turn;
            state_at(drawing.analysis, turn, constraint)
        })
        .collect();
    let present = states.iter().filter(|state| state.is_present()).count();
    svg.element(
        "text",
        &[
            ("class", &"count"),
            ("x", &(drawing.right + 10)),
            ("y", &(top + 18)),
        ],
        format_args!("{present} of {}", states.len()),
    );
}

/// Writes the name of a row, linked to its constraint.
fn draw_name(svg: &mut Markup, drawing: &Drawing<'_>, constraint: usize, top: usize) {
    let declared = &drawing.analysis.constraints[constraint];
    let link = drawing.links.constraint(constraint);
    let class = if declared.is_limit() {
        "row-name limit"
    } else {
        "row-name"
    };
    open_link(svg, Some(&link));
    svg.open("g", &[]);
    svg.element(
        "title",
        &[],
        format_args!(
            "{}, {}: {}",
            plain(&declared.id, 80),
            declared.kind.as_str(),
            plain(&declared.text, 160)
        ),
    );
    let (first, second) = in_two_lines(&plain(&declared.id, NAME_CHARS_MAX * 2 - 2));
    let baselines = match second {
        None => vec![(first, 18)],
        Some(second) => vec![(first, 11), (second, 24)],
    };
    for (words, below) in baselines {
        svg.element(
            "text",
            &[
                ("class", &class),
                ("x", &(GUTTER - 10)),
                ("y", &(top + below)),
                ("text-anchor", &"end"),
            ],
            words,
        );
    }
    svg.close("g");
    close_link(svg, Some(&link));
}

/// Breaks a name that is too long for a line, after a separator if there is one in the second half of the line.
fn in_two_lines(name: &str) -> (String, Option<String>) {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= NAME_CHARS_MAX {
        return (name.to_owned(), None);
    }
    let at = characters[..NAME_CHARS_MAX]
        .iter()
        .rposition(|character| matches!(character, '_' | '-' | '.' | ' ' | '/' | ':'))
        .filter(|&at| at >= NAME_CHARS_MAX / 2)
        .map_or(NAME_CHARS_MAX, |at| at + 1);
    let second: String = characters[at..].iter().collect();
    (
        characters[..at].iter().collect(),
        Some(plain(&second, NAME_CHARS_MAX)),
    )
}

/// Draws the cells of a row.
fn draw_states(svg: &mut Markup, drawing: &Drawing<'_>, constraint: usize, top: usize) {
    let Drawing {
        analysis,
        slots,
        column,
        ..
    } = *drawing;
    for slot in slots {
        let turn = analysis.turns[slot.turn].number;
        let state = state_at(analysis, turn, constraint);
        if slot.actions.is_empty() {
            // No action: a thin line keeps the state readable between actions.
            svg.empty(
                "rect",
                &[
                    ("class", &format_args!("between s-{}", mark(state).class)),
                    ("x", &(slot.left + 2)),
                    ("y", &(top + 12)),
                    ("width", &(slot.width.saturating_sub(4))),
                    ("height", &4),
                ],
            );
        }
        for (offset, at) in slot.actions.clone().enumerate() {
            let left = slot.left + offset * column;
            draw_cell(svg, drawing, (at, constraint), state, (left, top));
        }
    }
}

fn draw_cell(
    svg: &mut Markup,
    drawing: &Drawing<'_>,
    (action, constraint): (usize, usize),
    state: Option<PresenceState>,
    (left, top): (usize, usize),
) {
    let Drawing {
        analysis,
        column,
        links,
        id,
        ..
    } = *drawing;
    let mark = mark(state);
    let link = links.evidence(action, constraint, mark.is_amiss());
    let sent = &analysis.actions[action];
    open_link(svg, Some(&link));
    svg.open("g", &[("class", &format_args!("cell s-{}", mark.class))]);
    svg.element(
        "title",
        &[],
        format_args!(
            "{} at action {} ({}), turn {}: {}",
            plain(&analysis.constraints[constraint].id, 60),
            action + 1,
            plain(&sent.tool, 60),
            sent.turn,
            mark.label
        ),
    );
    let place: [Attribute<'_>; 4] = [
        ("x", &(left + 1)),
        ("y", &(top + 1)),
        ("width", &(column - 2)),
        ("height", &(ROW - 2)),
    ];
    let [x, y, width, height] = place;
    svg.empty("rect", &[("class", &"fill"), x, y, width, height]);
    if matches!(
        mark.class,
        "matched" | "altered" | "partial" | "mention" | "opaque"
    ) {
        let pattern = format!("url(#{id}-{})", mark.class);
        svg.empty(
            "rect",
            &[
                ("class", &"pattern"),
                ("fill", &pattern),
                x,
                y,
                width,
                height,
            ],
        );
    }
    if sent.breaks.contains(&constraint) {
        svg.empty("rect", &[("class", &"broken"), x, y, width, height]);
        let right = left + column - 1;
        let corner = format!("M{} {}h8v8z", right - 8, top + 1);
        svg.empty("path", &[("class", &"broken-corner"), ("d", &corner)]);
    }
    svg.element(
        "text",
        &[
            ("x", &(left + column / 2)),
            ("y", &(top + 18)),
            ("text-anchor", &"middle"),
        ],
        format_args!("{}{}", mark.glyph, mark.letter),
    );
    svg.close("g");
    close_link(svg, Some(&link));
}
