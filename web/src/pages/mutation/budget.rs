//! What a mutation did to the request's size.

use remembrancer_replay::analysis::{Budget, Mutation};
use remembrancer_schema::payload::TokenCount;

use crate::page::count;

/// One measure.
pub(crate) struct BudgetRow {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

/// What a mutation did to the request's size, as rows.
pub(super) fn budget_rows(budget: &Budget, mutation: &Mutation) -> Vec<BudgetRow> {
    let sized =
        |tokens: TokenCount| format!("{} tokens, {}", count(tokens.count), tokens.source.as_str());
    let mut rows = Vec::new();
    let mut add = |name, value: Option<String>| {
        if let Some(value) = value {
            rows.push(BudgetRow { name, value });
        }
    };
    add("Last request before", budget.tokens_before.map(sized));
    add("First request after", budget.tokens_after.map(sized));
    add(
        "Same request without the change",
        budget.counted.map(|same| {
            format!(
                "{} tokens, {}",
                count(same.uncompacted),
                same.source.as_str()
            )
        }),
    );
    add(
        "Same request with the change",
        budget
            .counted
            .map(|same| format!("{} tokens, {}", count(same.compacted), same.source.as_str())),
    );
    add(
        "Saved",
        budget.saved_tokens.map(|saved| {
            let sign = if saved < 0 { "−" } else { "" };
            let share = budget
                .reduction_percent
                .map(|share| format!(" ({share} %)"))
                .unwrap_or_default();
            format!("{sign}{} tokens{share}", count(saved.unsigned_abs()))
        }),
    );
    add(
        "Compacted over uncompacted",
        budget.ratio.map(|ratio| ratio.to_string()),
    );
    add(
        "Fixed overhead",
        budget
            .counted
            .and_then(|same| same.fixed_overhead)
            .map(|tokens| format!("{} tokens", count(tokens))),
    );
    add(
        "Compressible after",
        budget
            .compressible_after
            .map(|tokens| format!("{} tokens", count(tokens))),
    );
    add(
        "Parts compared",
        (!mutation.fates.is_empty()).then(|| count(mutation.fates.len() as u64)),
    );
    rows
}
