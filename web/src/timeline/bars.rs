//! The upper half: how large each request was, in tokens.

use remembrancer_replay::Analysis;
use remembrancer_schema::payload::TokenSource;

use super::axis::{GUTTER, Slot};
use super::{BARS_HEIGHT, BARS_TOP, Drawing, close_link, open_link};
use crate::markup::{Attribute, Markup};
use crate::page::count;

/// Draws the token axis and returns the highest value on it.
pub(super) fn draw_scale(svg: &mut Markup, drawing: &Drawing<'_>) -> u64 {
    let Drawing {
        analysis,
        slots,
        right,
        ..
    } = *drawing;
    let tallest = slots
        .iter()
        .filter_map(|slot| size(analysis, slot.turn))
        .map(|(tokens, _)| tokens)
        .max();
    let trigger = analysis.overview.compaction_trigger_tokens;
    let top = nice(tallest.unwrap_or(0).max(trigger.unwrap_or(0)).max(4));
    svg.element(
        "text",
        &[("class", &"axis-name"), ("x", &0), ("y", &(BARS_TOP + 4))],
        "tokens per request",
    );
    for step in 0..=2u64 {
        let tokens = top / 2 * step;
        let y = height_at(tokens, top);
        svg.empty(
            "line",
            &[
                ("class", &"grid"),
                ("x1", &GUTTER),
                ("x2", &right),
                ("y1", &y),
                ("y2", &y),
            ],
        );
        svg.element(
            "text",
            &[
                ("class", &"axis"),
                ("x", &(GUTTER - 8)),
                ("y", &(y + 4)),
                ("text-anchor", &"end"),
            ],
            count(tokens),
        );
    }
    top
}

/// Draws a turn's bar and its number.
pub(super) fn draw_bar(svg: &mut Markup, drawing: &Drawing<'_>, slot: &Slot, top: u64) {
    let Drawing {
        analysis,
        links,
        id,
        ..
    } = *drawing;
    let turn = &analysis.turns[slot.turn];
    let base = BARS_TOP + BARS_HEIGHT;
    let middle = slot.left + slot.width / 2;
    open_link(svg, links.turn(turn.number).as_deref());
    match size(analysis, slot.turn) {
        Some((tokens, source)) => {
            let y = height_at(tokens, top);
            let measured = source == TokenSource::Measured;
            let class = if measured {
                "bar measured"
            } else {
                "bar estimated"
            };
            svg.open("g", &[]);
            svg.element(
                "title",
                &[],
                format_args!(
                    "Turn {}: {} tokens, {}",
                    turn.number,
                    count(tokens),
                    source.as_str()
                ),
            );
            let place: [Attribute<'_>; 4] = [
                ("x", &(slot.left + 1)),
                ("y", &y),
                ("width", &slot.width.saturating_sub(2)),
                ("height", &base.saturating_sub(y).max(1)),
            ];
            let [x, y_attribute, width, height] = place;
            svg.empty("rect", &[("class", &class), x, y_attribute, width, height]);
            if !measured {
                let pattern = format!("url(#{id}-estimated)");
                svg.empty("rect", &[("fill", &pattern), x, y_attribute, width, height]);
            }
            svg.empty(
                "line",
                &[
                    ("class", &if measured { "crest" } else { "crest dashed" }),
                    ("x1", &slot.left),
                    ("x2", &(slot.left + slot.width)),
                    ("y1", &y),
                    ("y2", &y),
                ],
            );
            svg.close("g");
        }
        None => {
            svg.element(
                "text",
                &[
                    ("class", &"axis"),
                    ("x", &middle),
                    ("y", &(base - 6)),
                    ("text-anchor", &"middle"),
                ],
                "?",
            );
        }
    }
    close_link(svg, links.turn(turn.number).as_deref());
    draw_turn_number(svg, drawing, slot, base + 16);
}

/// Writes a turn's number under or over its column.
pub(super) fn draw_turn_number(svg: &mut Markup, drawing: &Drawing<'_>, slot: &Slot, y: usize) {
    let number = drawing.analysis.turns[slot.turn].number;
    let link = drawing.links.turn(number);
    open_link(svg, link.as_deref());
    svg.element(
        "text",
        &[
            ("class", &"turn"),
            ("x", &(slot.left + slot.width / 2)),
            ("y", &y),
            ("text-anchor", &"middle"),
        ],
        number,
    );
    close_link(svg, link.as_deref());
}

/// Draws the size at which the runtime compacts, where it is known.
pub(super) fn draw_trigger(svg: &mut Markup, drawing: &Drawing<'_>, top: u64) {
    let Drawing {
        analysis, right, ..
    } = *drawing;
    let Some(trigger) = analysis.overview.compaction_trigger_tokens else {
        return;
    };
    let y = height_at(trigger, top);
    svg.empty(
        "line",
        &[
            ("class", &"trigger"),
            ("x1", &GUTTER),
            ("x2", &right),
            ("y1", &y),
            ("y2", &y),
        ],
    );
    svg.element(
        "text",
        &[
            ("class", &"trigger-name"),
            ("x", &(right + 6)),
            ("y", &(y + 4)),
        ],
        "trigger",
    );
}

/// Size of a turn's request: as stated, else estimated from its parts.
fn size(analysis: &Analysis, turn: usize) -> Option<(u64, TokenSource)> {
    let turn = analysis.turns.get(turn)?;
    if let Some(tokens) = turn.tokens {
        return Some((tokens.count, tokens.source));
    }
    if turn.unknown.is_some() || turn.parts.is_empty() {
        return None;
    }
    let estimated = turn
        .parts
        .iter()
        .filter_map(|part| analysis.parts.get(part as usize))
        .map(|part| part.estimated_tokens)
        .fold(0, u64::saturating_add);
    Some((estimated, TokenSource::Estimated))
}

/// The vertical place of a value.
fn height_at(tokens: u64, top: u64) -> usize {
    let share = u128::from(tokens.min(top)) * BARS_HEIGHT as u128 / u128::from(top.max(1));
    BARS_TOP + BARS_HEIGHT - usize::try_from(share).unwrap_or(BARS_HEIGHT)
}

/// The next round number of two digits, the second even.
fn nice(value: u64) -> u64 {
    let mut unit = 1u64;
    while value / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    value
        .div_ceil(unit.saturating_mul(2))
        .saturating_mul(2)
        .saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_on_a_round_number_above_every_bar() {
        for (value, top) in [
            (4, 4),
            (11_402, 12_000),
            (20_001, 22_000),
            (99, 100),
            (100, 100),
        ] {
            assert_eq!(nice(value), top);
        }
        assert_eq!(height_at(0, 100), BARS_TOP + BARS_HEIGHT);
        assert_eq!(height_at(u64::MAX, 100), BARS_TOP);
    }
}
