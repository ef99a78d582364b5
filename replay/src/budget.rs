//! What a mutation did to the request's size, and whether its trigger leaves room to grow.

use remembrancer_schema::payload::{CountedTokens, TokenCount};

use crate::analysis::{Budget, Floor, Growth};

/// Computes the budget. Shares are of the same request, without and with the change; what was measured for the requests
/// before and after is shown beside them, because those differ by what was appended.
pub(crate) fn budget(
    tokens_before: Option<TokenCount>,
    tokens_after: Option<TokenCount>,
    counted: Option<CountedTokens>,
    trigger: Option<u64>,
) -> Budget {
    let compressible_after =
        counted.and_then(|counted| counted.compacted.checked_sub(counted.fixed_overhead?));
    Budget {
        tokens_before,
        tokens_after,
        counted,
        saved_tokens: counted.and_then(saved),
        reduction_percent: counted.and_then(|counted| {
            let saved = i128::from(counted.uncompacted) - i128::from(counted.compacted);
            rounded_share(saved * 1000, counted.uncompacted).map(|tenths| tenths / 10.0)
        }),
        ratio: counted.and_then(|counted| {
            rounded_share(i128::from(counted.compacted) * 1000, counted.uncompacted)
                .map(|thousandths| thousandths / 1000.0)
        }),
        compressible_after,
        floor: trigger
            .and_then(|trigger| floor(trigger, counted?.fixed_overhead?, compressible_after?)),
    }
}

/// The sizes that show whether the request grew: of the same request without and with the change where that was counted, else
/// of the requests before and after where both are known in the same way.
pub(crate) fn sizes(budget: &Budget) -> Option<Growth> {
    if let Some(counted) = budget.counted {
        return Some(Growth {
            source: counted.source,
            before: counted.uncompacted,
            after: counted.compacted,
        });
    }
    let (before, after) = budget.tokens_before.zip(budget.tokens_after)?;
    (before.source == after.source).then_some(Growth {
        source: before.source,
        before: before.count,
        after: after.count,
    })
}

fn saved(counted: CountedTokens) -> Option<i64> {
    let saved = i128::from(counted.uncompacted) - i128::from(counted.compacted);
    i64::try_from(saved).ok()
}

fn floor(trigger: u64, fixed_overhead: u64, compressible: u64) -> Option<Floor> {
    let required = compressible.checked_mul(2)?.checked_add(fixed_overhead)?;
    Some(Floor {
        trigger,
        required,
        holds: trigger >= required,
    })
}

/// `numerator / denominator` as a whole number, half away from zero. Integers, so that every machine rounds alike.
fn rounded_share(numerator: i128, denominator: u64) -> Option<f64> {
    if denominator == 0 {
        return None;
    }
    let denominator = i128::from(denominator);
    let magnitude = (numerator.abs() * 2 + denominator) / (denominator * 2);
    Some((magnitude * numerator.signum()) as f64)
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::payload::TokenSource;

    use super::*;

    fn has_grown(budget: &Budget) -> bool {
        sizes(budget).is_some_and(|sizes| sizes.after > sizes.before)
    }

    fn counted(
        uncompacted: u64,
        compacted: u64,
        fixed_overhead: Option<u64>,
    ) -> Option<CountedTokens> {
        Some(CountedTokens {
            uncompacted,
            compacted,
            fixed_overhead,
            source: TokenSource::Counted,
        })
    }

    #[test]
    fn the_recorded_compactions_give_their_published_numbers() {
        for (uncompacted, compacted, overhead, percent, ratio, compressible, required, holds) in [
            (12_316, 4_541, 3_250, 63.1, 0.369, 1_291, 5_832, true),
            (11_907, 7_457, 3_512, 37.4, 0.626, 3_945, 11_402, false),
            (12_251, 7_981, 3_512, 34.9, 0.651, 4_469, 12_450, false),
        ] {
            let budget = budget(
                None,
                None,
                counted(uncompacted, compacted, Some(overhead)),
                Some(11_000),
            );
            assert_eq!(budget.reduction_percent, Some(percent));
            assert_eq!(budget.ratio, Some(ratio));
            assert_eq!(budget.compressible_after, Some(compressible));
            assert_eq!(
                budget.floor,
                Some(Floor {
                    trigger: 11_000,
                    required,
                    holds
                })
            );
            assert!(!has_grown(&budget));
        }
    }

    #[test]
    fn halves_round_away_from_zero_and_growth_is_negative() {
        let half = budget(None, None, counted(2_000, 1_999, None), None);
        assert_eq!(half.reduction_percent, Some(0.1));
        assert_eq!(half.ratio, Some(1.0));
        let grown = budget(None, None, counted(2_000, 2_001, None), None);
        assert_eq!(
            (grown.saved_tokens, grown.reduction_percent),
            (Some(-1), Some(-0.1))
        );
        assert!(has_grown(&grown));
    }

    #[test]
    fn numbers_that_make_no_sense_give_no_result_instead_of_a_wrong_one() {
        let none = budget(None, None, counted(0, 5, Some(9)), Some(1));
        assert_eq!(
            (none.ratio, none.compressible_after, none.floor),
            (None, None, None)
        );
        let huge = budget(
            None,
            None,
            counted(u64::MAX, u64::MAX - 1, Some(0)),
            Some(1),
        );
        assert_eq!((huge.floor, huge.saved_tokens), (None, Some(1)));
    }

    #[test]
    fn what_was_counted_decides_and_without_it_sizes_known_in_the_same_way() {
        let known = |count, source| Some(TokenCount { count, source });
        let measured = |count| known(count, TokenSource::Measured);
        assert!(has_grown(&budget(measured(100), measured(101), None, None)));
        assert!(!has_grown(&budget(
            measured(101),
            measured(100),
            None,
            None
        )));
        let shrunk = counted(120, 90, None);
        assert!(!has_grown(&budget(
            measured(100),
            measured(101),
            shrunk,
            None
        )));
        let estimated = known(101, TokenSource::Estimated);
        assert_eq!(sizes(&budget(measured(100), estimated, None, None)), None);
        assert_eq!(sizes(&budget(measured(100), None, None, None)), None);
    }
}
