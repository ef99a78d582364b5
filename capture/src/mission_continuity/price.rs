//! The price of remembering: a pair of runs, one with a governed memory, one without.

use serde::Serialize;

use super::evaluation::{Evaluation, rounded, signed};

/// What remembering more costs: a run with a memory policy against one without, at their first compactions and overall.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceOfRemembering {
    /// The run without.
    pub baseline: String,
    /// The run with it.
    pub governed: String,
    /// Difference of the first compacted requests.
    pub first_compaction_compacted_delta_tokens: i64,
    /// The part of it that is sent with every request.
    pub fixed_overhead_delta_tokens: i64,
    /// The rest of it.
    pub compressible_after_delta_tokens: i64,
    /// Difference of the reductions, in percentage points.
    pub reduction_pct_points_delta: f64,
    /// Difference of all input tokens.
    pub run_input_tokens_delta: i64,
    /// Difference of the cost.
    pub run_usd_delta: f64,
}

impl PriceOfRemembering {
    /// Compares two runs; nothing to compare unless both were compacted.
    pub fn between(baseline: &Evaluation, governed: &Evaluation) -> Option<Self> {
        let (left, right) = (baseline.compactions.first()?, governed.compactions.first()?);
        let (left, right) = (&left.counted, &right.counted);
        Some(Self {
            baseline: baseline.label.clone(),
            governed: governed.label.clone(),
            first_compaction_compacted_delta_tokens: signed(right.compacted, left.compacted),
            fixed_overhead_delta_tokens: signed(right.fixed_overhead, left.fixed_overhead),
            compressible_after_delta_tokens: right.compressible_after - left.compressible_after,
            reduction_pct_points_delta: rounded(right.reduction_pct - left.reduction_pct, 1),
            run_input_tokens_delta: signed(governed.cost.input_tokens, baseline.cost.input_tokens),
            run_usd_delta: rounded(governed.cost.estimated_usd - baseline.cost.estimated_usd, 4),
        })
    }
}
