//! The price of remembering, as text.

use remembrancer_replay::analysis::{Difference, PriceOfRemembering, PricedCompaction};

use crate::terminal::{self, excerpt};

/// Both sessions' numbers and what the second costs more.
pub(super) fn text(price: &PriceOfRemembering) -> String {
    let mut text = format!(
        "{} against {}: what the compacted requests of the first cost more\n",
        excerpt(&price.second, 80),
        excerpt(&price.first, 80)
    );
    let value = |value: &Option<String>| match value {
        Some(value) => excerpt(value, 40),
        None => "–".to_owned(),
    };
    for label in &price.differing_labels {
        text.push_str(&format!(
            "  {}: {} against {}\n",
            excerpt(&label.name, 40),
            value(&label.second),
            value(&label.first)
        ));
    }
    if price.differing_labels.is_empty() {
        text.push_str("  they differ in no label: is this a pair?\n");
    }
    text.push_str(&format!(
        "  {} labels are the same\n\n",
        price.shared_labels
    ));
    let rows: Vec<Vec<String>> = price
        .compactions
        .iter()
        .enumerate()
        .flat_map(|(at, pair)| rows(at + 1, pair))
        .chain(
            price
                .run_input_tokens
                .map(|run| row("whole run", "input, summarizers included", "measured", run)),
        )
        .collect();
    text.push_str(&terminal::table(
        &["", "tokens of", "known as", "this", "against", "more"],
        &rows,
    ));
    let unpaired = price.first_unpaired + price.second_unpaired;
    if unpaired > 0 {
        text.push_str(&format!(
            "{unpaired} compactions have no counterpart and are not compared\n"
        ));
    }
    text
}

fn rows(number: usize, pair: &PricedCompaction) -> Vec<Vec<String>> {
    let name = format!("compaction {number}");
    let mut rows = Vec::new();
    let counted = pair.compacted_source.map_or("", |source| source.as_str());
    for (what, difference) in [
        ("the compacted request", pair.compacted),
        ("fixed overhead", pair.fixed_overhead),
        ("compressible after", pair.compressible_after),
    ] {
        rows.extend(difference.map(|difference| row(&name, what, counted, difference)));
    }
    for (what, difference) in pair.anatomy.iter().flat_map(|anatomy| anatomy.rows()) {
        rows.push(row(&name, what, "estimated", difference));
    }
    rows
}

fn row(name: &str, what: &str, source: &str, difference: Difference) -> Vec<String> {
    vec![
        name.to_owned(),
        what.to_owned(),
        source.to_owned(),
        difference.second.to_string(),
        difference.first.to_string(),
        format!("{:+}", difference.difference),
    ]
}
