//! What a mutation left behind: how deep its summaries are, torn pairs, what the request is made of, and what was asked again.

use remembrancer_schema::payload::{Fate, TokenCount, TokenSource};
use serde::Serialize;

use super::PartIndex;

/// What a mutation left behind, as the first context after it and the calls after it show.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Aftermath {
    /// The summaries that stand in the context after it, in order, each with its depth. Empty where that context is not known.
    pub summaries: Vec<SummaryPart>,
    /// Depth of the summary that it brought: 1 for a summary of recorded parts, one more than the deepest summary among the
    /// parts that it stands in for. `None` where it brought none.
    pub generation: Option<u32>,
    /// Results whose call left and calls whose result left, in order of the context after; at most 100.
    pub orphans: Vec<Orphan>,
    /// How many there are in all.
    pub orphan_count: u64,
    /// What the request after it is made of. `None` where its context is not known.
    pub anatomy: Option<Anatomy>,
    /// Set where a change that should shrink the request did not.
    pub growth: Option<Growth>,
    /// The very next request was compacted again.
    pub compacted_again: bool,
    /// Calls that were sent again, with the same arguments, after this mutation had taken the result of the earlier one; in
    /// order of recording, at most 100.
    pub repeated_calls: Vec<RepeatedCall>,
    /// How many there are in all.
    pub repeated_call_count: u64,
}

/// A summary in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SummaryPart {
    /// The part.
    pub part: PartIndex,
    /// Its position in the context after.
    pub position: u32,
    /// How deep it is: 1 for a summary of parts that are no summaries. One that the record holds from its start has at least 1.
    pub generation: u32,
    /// This mutation brought it.
    pub new: bool,
}

/// Which half of a call and its result stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrphanKind {
    /// A result whose call left.
    Result,
    /// A call whose result left.
    Call,
}

/// A part whose counterpart left with a mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Orphan {
    /// Which half is left.
    pub kind: OrphanKind,
    /// The part that stands alone.
    pub part: PartIndex,
    /// Its position in the context after.
    pub position: u32,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: Option<String>,
}

/// What a request is made of: estimated tokens, a quarter of the characters of each part, rounded up. The fields sum to
/// `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Anatomy {
    /// How the numbers are known: they are estimates.
    pub source: TokenSource,
    /// Instructions and the schemas of tools.
    pub fixed_overhead: u64,
    /// The task and its limits: what the user said before the agent's first words (in the first known context, or after the
    /// context was cleared), and user's or re-supplied parts in which a
    /// declared limit or permission stands.
    pub kernel: u64,
    /// Other re-supplied or pinned material.
    pub pinned: u64,
    /// Summaries.
    pub summary: u64,
    /// The conversation: everything else.
    pub recent: u64,
    /// Pointers in the place of results that were removed.
    pub stubs: u64,
    /// The sum.
    pub total: u64,
    /// Size of the same request as it was told, where it was. It differs from `total` by the error of the estimate and by
    /// what was sent and not recorded as a part.
    pub told: Option<TokenCount>,
}

/// That a request is larger with a change that should shrink it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// How the sizes are known. Counted and estimated ones are of the same request without and with the change; measured ones
    /// of the requests before and after, appended parts included.
    pub source: TokenSource,
    /// Size without the change, or before it.
    pub before: u64,
    /// Size with the change, or after it.
    pub after: u64,
}

/// A call that was sent again after the result of the earlier one had left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepeatedCall {
    /// The turn whose response carried it.
    pub turn: u32,
    /// Its id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The last earlier call of the same tool with the same arguments.
    pub earlier_call_id: String,
    /// The turn of that call.
    pub earlier_turn: u32,
    /// What had become of its result. `pinned`: its words stood on, in part, in re-supplied material.
    pub fate: Fate,
}
