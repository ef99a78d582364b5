//! The price of remembering, from two analyses.

use std::collections::{BTreeMap, BTreeSet};

use remembrancer_schema::payload::MutationKind;

use crate::Analysis;
use crate::analysis::{
    AnatomyDifference, Budget, Difference, DifferingLabel, Mutation, MutationIndex,
    PriceOfRemembering, PricedCompaction,
};

/// The difference of the compacted requests of two sessions with the same labels and another condition, split into parts.
pub fn price_of_remembering(first: &Analysis, second: &Analysis) -> PriceOfRemembering {
    let (left, right) = (compactions(first), compactions(second));
    let paired = left.len().min(right.len());
    let (differing_labels, shared_labels) = labels(&first.overview.labels, &second.overview.labels);
    PriceOfRemembering {
        first: first.overview.session.clone(),
        second: second.overview.session.clone(),
        differing_labels,
        shared_labels,
        compactions: left
            .iter()
            .zip(&right)
            .map(|(first, second)| priced(*first, *second))
            .collect(),
        first_unpaired: (left.len() - paired) as u64,
        second_unpaired: (right.len() - paired) as u64,
        run_input_tokens: run_input_tokens(first)
            .zip(run_input_tokens(second))
            .map(|(first, second)| Difference::of(first, second)),
    }
}

/// The compactions of a session, one for each turn.
fn compactions(analysis: &Analysis) -> Vec<(MutationIndex, &Mutation)> {
    let mut turns = BTreeSet::new();
    analysis
        .mutations
        .iter()
        .enumerate()
        .filter(|(_, mutation)| {
            mutation.kind == MutationKind::Compaction && turns.insert(mutation.turn)
        })
        .collect()
}

fn priced(
    (first, one): (MutationIndex, &Mutation),
    (second, other): (MutationIndex, &Mutation),
) -> PricedCompaction {
    let both = |number: fn(&Budget) -> Option<u64>| {
        let (first, second) = number(&one.budget).zip(number(&other.budget))?;
        Some(Difference::of(first, second))
    };
    let counted = both(|budget| Some(budget.counted?.compacted)).zip(
        one.budget
            .counted
            .zip(other.budget.counted)
            .filter(|(one, other)| one.source == other.source)
            .map(|(counted, _)| counted.source),
    );
    let measured = || {
        let (one, other) = one.budget.tokens_after.zip(other.budget.tokens_after)?;
        (one.source == other.source).then(|| (Difference::of(one.count, other.count), one.source))
    };
    let compacted = counted.or_else(measured);
    PricedCompaction {
        first,
        second,
        compacted: compacted.map(|(difference, _)| difference),
        compacted_source: compacted.map(|(_, source)| source),
        fixed_overhead: both(|budget| budget.counted?.fixed_overhead),
        compressible_after: both(|budget| budget.compressible_after),
        reduction_points: one
            .budget
            .reduction_percent
            .zip(other.budget.reduction_percent)
            .map(|(one, other)| ((other - one) * 10.0).round() / 10.0),
        anatomy: one
            .aftermath
            .anatomy
            .as_ref()
            .zip(other.aftermath.anatomy.as_ref())
            .map(|(one, other)| AnatomyDifference::of(one, other)),
    }
}

fn labels(
    first: &BTreeMap<String, String>,
    second: &BTreeMap<String, String>,
) -> (Vec<DifferingLabel>, u64) {
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let total = names.len();
    let differing: Vec<DifferingLabel> = names
        .into_iter()
        .filter(|name| first.get(*name) != second.get(*name))
        .map(|name| DifferingLabel {
            name: name.clone(),
            first: first.get(name).cloned(),
            second: second.get(name).cloned(),
        })
        .collect();
    let shared = (total - differing.len()) as u64;
    (differing, shared)
}

/// Input tokens of every response and of every declared summarizer; `None` if a response does not tell.
fn run_input_tokens(analysis: &Analysis) -> Option<u64> {
    let responses = analysis
        .turns
        .iter()
        .filter_map(|turn| turn.response.as_ref())
        .map(|response| Some(response.usage?.input_tokens));
    let responses = responses.sum::<Option<u64>>()?;
    let summarizers: u64 = analysis
        .mutations
        .iter()
        .filter_map(|mutation| mutation.declared.as_ref()?.summary.as_ref()?.input_tokens)
        .fold(0, u64::saturating_add);
    Some(responses.saturating_add(summarizers))
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::payload::TokenSource;

    use super::*;
    use crate::record::fixture::SessionFixture;

    fn run(mode: &str, memory: &str, counted: (u64, u64, u64), usage: &str) -> Analysis {
        let (uncompacted, compacted, overhead) = counted;
        let record = SessionFixture::new()
            .event(
                "session.started",
                format!(r#"{{"labels":{{"mode":"{mode}","task":"billing"}}}}"#),
            )
            .event(
                "context.captured",
                r#"{"turn":1,"parts":[{"kind":"system","text":"rules"},{"kind":"assistant","text":"I looked into it"}]}"#,
            )
            .event("model.responded", format!(r#"{{"turn":1{usage}}}"#))
            .event(
                "context.mutated",
                format!(
                    r#"{{"turn":2,"kind":"compaction","summary":{{"text":"looked","input_tokens":50}},"counted":{{"uncompacted":{uncompacted},
                        "compacted":{compacted},"fixed_overhead":{overhead},"source":"counted"}}}}"#
                ),
            )
            .event(
                "context.captured",
                format!(
                    r#"{{"turn":2,"parts":[{{"kind":"system","text":"rules"}}{memory},{{"kind":"summary","text":"looked"}}]}}"#
                ),
            )
            .record();
        crate::analyse(&record)
    }

    const USAGE: &str = r#","usage":{"input_tokens":100,"output_tokens":1}"#;

    #[test]
    fn a_pair_gives_the_difference_of_its_compacted_requests_in_parts() {
        let memory = r#",{"kind":"memory","text":"pinned words","sources":["c1"]}"#;
        let baseline = run("baseline", "", (12_316, 4_541, 3_250), USAGE);
        let governed = run("governed", memory, (11_907, 7_457, 3_512), USAGE);
        let price = price_of_remembering(&baseline, &governed);
        assert_eq!(price.shared_labels, 1);
        assert_eq!(
            price.differing_labels,
            [DifferingLabel {
                name: "mode".to_owned(),
                first: Some("baseline".to_owned()),
                second: Some("governed".to_owned()),
            }]
        );
        let pair = &price.compactions[0];
        let difference = |difference: Option<Difference>| difference.map(|it| it.difference);
        assert_eq!(difference(pair.compacted), Some(2_916));
        assert_eq!(pair.compacted_source, Some(TokenSource::Counted));
        assert_eq!(difference(pair.fixed_overhead), Some(262));
        assert_eq!(difference(pair.compressible_after), Some(2_654));
        assert_eq!(pair.reduction_points, Some(-25.7));
        let anatomy = pair.anatomy.expect("both contexts are known");
        assert_eq!(anatomy.pinned, Difference::of(0, 3));
        let sum: i64 = anatomy.rows()[..6]
            .iter()
            .map(|(_, part)| part.difference)
            .sum();
        assert_eq!(sum, anatomy.total.difference);
        assert_eq!(price.run_input_tokens, Some(Difference::of(150, 150)));
    }

    #[test]
    fn what_is_not_known_of_both_is_not_compared() {
        let one = run("a", "", (100, 50, 10), "");
        let mut other = run("b", "", (100, 60, 10), USAGE);
        other.mutations[0].budget = Budget::default();
        other.mutations[0].aftermath.anatomy = None;
        let price = price_of_remembering(&one, &other);
        let pair = &price.compactions[0];
        assert_eq!((pair.compacted, pair.fixed_overhead), (None, None));
        assert_eq!((pair.reduction_points, pair.anatomy), (None, None));
        assert_eq!(price.run_input_tokens, None);
        other.mutations.clear();
        let price = price_of_remembering(&one, &other);
        assert!(price.compactions.is_empty());
        assert_eq!((price.first_unpaired, price.second_unpaired), (1, 0));
    }

    #[test]
    fn extremes_do_not_overflow() {
        assert_eq!(Difference::of(u64::MAX, 0).difference, i64::MIN);
        assert_eq!(Difference::of(0, u64::MAX).difference, i64::MAX);
    }
}
