//! Changes of the context: what was said of them, what the contexts show, and what they did to the request's size.

use remembrancer_schema::payload::{
    CountedTokens, Fate, MutationKind, SummaryRecord, TokenCount, Trigger, Witness,
};
use serde::Serialize;

use super::{Aftermath, PartIndex};

/// A change of the context that is more than appending.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mutation {
    /// The first turn that was sent with the changed context.
    pub turn: u32,
    /// The last turn before it whose context is known.
    pub previous_turn: Option<u32>,
    /// What kind of change: as declared, or else as derived.
    pub kind: MutationKind,
    /// What the application said of it.
    pub declared: Option<DeclaredMutation>,
    /// What became of each part, as derived from the two contexts: first the parts before, in order, then the parts that
    /// are new. Empty where one of the contexts is not known.
    pub fates: Vec<PartFate>,
    /// Where the declaration and the contexts disagree.
    pub disagreements: Vec<Disagreement>,
    /// What it did to the request's size.
    pub budget: Budget,
    /// What it left behind.
    pub aftermath: Aftermath,
    /// What the provider cleared from the turn's own request before the model read it. The turn's context is recorded as it was
    /// sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearing: Option<Clearing>,
}

/// Parts that a provider cleared from a request, by their positions in the context that was sent. All others stayed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Clearing {
    /// Cleared: their words did not reach the model.
    pub cleared: Vec<u32>,
    /// May have been cleared: nothing tells which of them were.
    pub possible: Vec<u32>,
}

/// The application's account of a mutation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeclaredMutation {
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The application's name for it.
    pub name: Option<String>,
    /// The kind that it stated.
    pub kind: MutationKind,
    /// Why.
    pub trigger: Option<Trigger>,
    /// The summary that stands in for what left.
    pub summary: Option<SummaryRecord>,
    /// Names of fields whose values were withheld.
    pub withheld: Vec<String>,
    /// Set when the change was damaged on purpose.
    pub injected_fault: Option<String>,
    /// How it became known.
    pub witness: Witness,
}

/// What became of one part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartFate {
    /// The part: of the context before, or for `injected` of the context after.
    pub part: PartIndex,
    /// Its position in the context before.
    pub before: Option<u32>,
    /// Its position, or its replacement's, in the context after.
    pub after: Option<u32>,
    /// What became of it.
    pub fate: Fate,
    /// The stub, summary or pinned part that stands in for it.
    pub replaced_by: Option<PartIndex>,
    /// For a new part at the end of the context after: it was simply appended, as in any turn.
    pub appended: bool,
}

/// One place where a declaration and the contexts disagree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The part that it is about, where it could be found.
    pub part: Option<PartIndex>,
    /// What the application said.
    pub declared: Option<Fate>,
    /// What the contexts show.
    pub derived: Option<Fate>,
    /// The disagreement in words.
    pub message: String,
}

/// What a mutation did to the request's size. Token counts of the same request unless they say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Budget {
    /// Size of the last request before, as measured.
    pub tokens_before: Option<TokenCount>,
    /// Size of the first request after, as measured.
    pub tokens_after: Option<TokenCount>,
    /// The same request without and with the change.
    pub counted: Option<CountedTokens>,
    /// Uncompacted minus compacted, in tokens; negative when the request grew.
    pub saved_tokens: Option<i64>,
    /// Saved as a share of uncompacted, in percent, rounded to one decimal.
    pub reduction_percent: Option<f64>,
    /// Compacted over uncompacted, rounded to three decimals.
    pub ratio: Option<f64>,
    /// What remains above the fixed overhead, in tokens.
    pub compressible_after: Option<u64>,
    /// Whether compacting at this trigger leaves room to grow.
    pub floor: Option<Floor>,
}

/// The floor: a compaction is only worth triggering when trigger ≥ fixed overhead + 2 × what remains compressible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Floor {
    /// The trigger in tokens.
    pub trigger: u64,
    /// Fixed overhead + 2 × compressible after, in tokens.
    pub required: u64,
    /// Whether the trigger is at least what is required.
    pub holds: bool,
}
