//! The price of remembering: what one way of surviving compaction costs more than another.

use remembrancer_schema::payload::TokenSource;
use serde::Serialize;

use super::{Anatomy, MutationIndex};

/// The compacted requests of two sessions, side by side. Differences are the second minus the first: positive where the second
/// costs more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceOfRemembering {
    /// Id of the first session.
    pub first: String,
    /// Id of the second session.
    pub second: String,
    /// The labels in which they differ, by name. A pair differs in its condition and in what follows from it alone.
    pub differing_labels: Vec<DifferingLabel>,
    /// Number of labels that they share with the same value.
    pub shared_labels: u64,
    /// Their compactions, the first with the first, and so on.
    pub compactions: Vec<PricedCompaction>,
    /// Compactions of the first session that have no counterpart.
    pub first_unpaired: u64,
    /// Compactions of the second session that have no counterpart.
    pub second_unpaired: u64,
    /// Input tokens of the whole run, as measured: every response and every declared summarizer. `None` unless every
    /// response of both sessions tells its usage.
    pub run_input_tokens: Option<Difference>,
}

/// A label in which two sessions differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DifferingLabel {
    /// Its name.
    pub name: String,
    /// Its value in the first session.
    pub first: Option<String>,
    /// Its value in the second session.
    pub second: Option<String>,
}

/// A number of two sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In the first.
    pub first: u64,
    /// In the second.
    pub second: u64,
    /// The second minus the first.
    pub difference: i64,
}

/// Two compactions side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PricedCompaction {
    /// The compaction of the first session.
    pub first: MutationIndex,
    /// The compaction of the second session.
    pub second: MutationIndex,
    /// Size of the compacted requests, where both are known in the same way.
    pub compacted: Option<Difference>,
    /// How those sizes are known.
    pub compacted_source: Option<TokenSource>,
    /// Fixed overhead, where both were counted.
    pub fixed_overhead: Option<Difference>,
    /// What remains above the fixed overhead, where both were counted.
    pub compressible_after: Option<Difference>,
    /// Difference of the reductions in percentage points, rounded to one decimal.
    pub reduction_points: Option<f64>,
    /// What the requests are made of, in estimated tokens, where both contexts are known.
    pub anatomy: Option<AnatomyDifference>,
}

/// Two anatomies side by side, in estimated tokens. The differences of the parts sum to that of the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AnatomyDifference {
    /// How the numbers are known: they are estimates.
    pub source: TokenSource,
    /// Instructions and schemas.
    pub fixed_overhead: Difference,
    /// The task and its limits.
    pub kernel: Difference,
    /// Pinned material.
    pub pinned: Difference,
    /// Summaries.
    pub summary: Difference,
    /// The conversation.
    pub recent: Difference,
    /// Pointers in the place of results.
    pub stubs: Difference,
    /// The sums.
    pub total: Difference,
}

impl Difference {
    /// Of two numbers; a difference that no number holds is the nearest that one does.
    pub fn of(first: u64, second: u64) -> Self {
        let difference = i128::from(second) - i128::from(first);
        Self {
            first,
            second,
            difference: i64::try_from(difference).unwrap_or(if difference < 0 {
                i64::MIN
            } else {
                i64::MAX
            }),
        }
    }
}

impl AnatomyDifference {
    /// Of two anatomies.
    pub fn of(first: &Anatomy, second: &Anatomy) -> Self {
        let of = |part: fn(&Anatomy) -> u64| Difference::of(part(first), part(second));
        Self {
            source: TokenSource::Estimated,
            fixed_overhead: of(|anatomy| anatomy.fixed_overhead),
            kernel: of(|anatomy| anatomy.kernel),
            pinned: of(|anatomy| anatomy.pinned),
            summary: of(|anatomy| anatomy.summary),
            recent: of(|anatomy| anatomy.recent),
            stubs: of(|anatomy| anatomy.stubs),
            total: of(|anatomy| anatomy.total),
        }
    }

    /// The parts with their names, in order; the total last.
    pub fn rows(&self) -> [(&'static str, Difference); 7] {
        [
            ("fixed overhead", self.fixed_overhead),
            ("kernel", self.kernel),
            ("pinned", self.pinned),
            ("summary", self.summary),
            ("recent", self.recent),
            ("stubs", self.stubs),
            ("total", self.total),
        ]
    }
}
