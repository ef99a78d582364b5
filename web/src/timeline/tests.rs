use std::collections::BTreeMap;

use remembrancer_replay::analysis::{Constraint, PresenceState};
use remembrancer_schema::payload::ConstraintKind;
use scraper::{ElementRef, Html, Selector};

use super::*;
use crate::fixture::Fixture;
use crate::verdict::limit_positions;

/// The fixture's first session with `more` facts declared after all else, each in another state at each turn.
fn with_facts(more: usize) -> Analysis {
    let mut analysis = Fixture::new(str::to_owned).first().clone();
    for number in 0..more {
        analysis.constraints.push(Constraint {
            id: format!("fact_{number}_whose_name_is_longer_than_a_line"),
            kind: ConstraintKind::Fact,
            ..analysis.constraints[4].clone()
        });
    }
    for (turn, presence) in analysis.presence.iter_mut().enumerate() {
        for number in 0..more {
            let mut like = presence[0].clone();
            // One past the last stands for none.
            let state = (turn + number) % (PresenceState::ALL.len() + 1);
            like.state = PresenceState::ALL.get(state).copied();
            presence.push(like);
        }
    }
    analysis
}

/// State by address of the evidence, of the cells that `selector` finds.
fn cells(
    html: &str,
    selector: &str,
    class_of: fn(&ElementRef<'_>) -> String,
) -> BTreeMap<String, String> {
    let dom = Html::parse_document(html);
    let selector = Selector::parse(selector).expect("a selector");
    let mut found = BTreeMap::new();
    for cell in dom.select(&selector) {
        let link = cell
            .ancestors()
            .chain(cell.descendants())
            .filter_map(ElementRef::wrap)
            .find_map(|element| element.value().attr("href").map(str::to_owned));
        let earlier = found.insert(link.expect("a link"), class_of(&cell));
        assert_eq!(earlier, None, "each cell once");
    }
    found
}

#[test]
fn drawing_and_table_hold_the_same_cells() {
    for more in [0, 15] {
        let analysis = with_facts(more);
        let links = Links::Viewer { session: 1 };
        let every = 0..analysis.turns.len();
        let drawn = timeline(&analysis, every.clone(), links);
        let folded = drawn.folded.as_ref();
        assert_eq!(folded.is_some(), more > 0);
        let svg = format!(
            "{}{}",
            drawn.svg,
            folded
                .map(|folded| folded.svg.to_string())
                .unwrap_or_default()
        );
        let in_drawing = cells(&svg, "g.cell", |cell| {
            let class = cell.value().attr("class").unwrap_or_default();
            class.trim_start_matches("cell s-").to_owned()
        });
        let table = crate::matrix::matrix(&analysis, columns(&analysis, &every), links);
        let in_table: BTreeMap<String, String> = table
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .map(|cell| (cell.link.clone(), cell.mark.class.to_owned()))
            .collect();
        assert_eq!(
            in_table.len(),
            analysis.actions.len() * analysis.constraints.len()
        );
        assert_eq!(in_drawing, in_table);
        for row in &table.rows {
            assert!(svg.contains(&format!(">{} of {}<", row.present, row.counted)));
        }
    }
}

#[test]
fn limits_are_never_folded() {
    let analysis = with_facts(15);
    let (shown, folded) = split_rows(&analysis);
    assert_eq!(shown, limit_positions(&analysis));
    assert_eq!(shown.len() + folded.len(), analysis.constraints.len());
    let mut none = analysis.clone();
    for constraint in &mut none.constraints {
        constraint.kind = ConstraintKind::Fact;
    }
    assert!(
        split_rows(&none).1.is_empty(),
        "without limits, all are shown"
    );
}
