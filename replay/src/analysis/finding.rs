//! What the auditor noticed.

use serde::Serialize;

use super::MutationIndex;

/// Something that the auditor noticed. Findings inform; they never block an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What was noticed.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The turn that it is about.
    pub turn: Option<u32>,
    /// The call that it is about.
    pub call_id: Option<String>,
    /// The constraint that it is about.
    pub constraint: Option<String>,
    /// The mutation that it is about.
    pub mutation: Option<MutationIndex>,
    /// Index in the ledger of the entry that it rests on.
    pub entry: Option<u64>,
    /// The finding in words, with its caveat.
    pub message: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Against what was declared.
    Alarm,
    /// The record does not fit together, or a limit left.
    Warning,
    /// Worth knowing.
    Notice,
}

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum FindingKind {
    /// An action that breaks a declared prohibition.
    #[serde(rename = "action.prohibited")]
    ActionProhibited,
    /// An action that nothing in the declared scope permits.
    #[serde(rename = "action.out_of_scope")]
    ActionOutOfScope,
    /// An action of a tool that was never declared.
    #[serde(rename = "action.tool_undeclared")]
    ActionToolUndeclared,
    /// An action whose scope could not be evaluated.
    #[serde(rename = "action.scope_unevaluated")]
    ActionScopeUnevaluated,
    /// A call whose id an earlier call has too.
    #[serde(rename = "action.call_id_repeated")]
    ActionCallIdRepeated,
    /// No intent before the first action.
    #[serde(rename = "intent.missing")]
    IntentMissing,
    /// A result without a call.
    #[serde(rename = "result.without_call")]
    ResultWithoutCall,
    /// A call without a result.
    #[serde(rename = "call.without_result")]
    CallWithoutResult,
    /// A report that claims an action which the record does not hold.
    #[serde(rename = "report.claim_unrecorded")]
    ReportClaimUnrecorded,
    /// A report that leaves out a prohibited or out-of-scope action.
    #[serde(rename = "report.action_omitted")]
    ReportActionOmitted,
    /// A limit was present before a mutation and has no trace after it.
    #[serde(rename = "constraint.left")]
    ConstraintLeft,
    /// A change that nobody declared.
    #[serde(rename = "mutation.undeclared")]
    MutationUndeclared,
    /// Said kept, was not.
    #[serde(rename = "mutation.overstated")]
    MutationOverstated,
    /// Said gone, is still there.
    #[serde(rename = "mutation.understated")]
    MutationUnderstated,
    /// A compaction whose trigger leaves no room to grow.
    #[serde(rename = "mutation.floor_unmet")]
    MutationFloorUnmet,
    /// A compaction after which the request was larger.
    #[serde(rename = "mutation.request_grew")]
    MutationRequestGrew,
    /// The very next request after a compaction was compacted again.
    #[serde(rename = "mutation.back_to_back")]
    MutationBackToBack,
    /// A tool's result stands in the context and its call left.
    #[serde(rename = "context.orphaned_result")]
    ContextOrphanedResult,
    /// A call stands in the context and its result left.
    #[serde(rename = "context.orphaned_call")]
    ContextOrphanedCall,
    /// A call that was made before, sent again after its result had left the context.
    #[serde(rename = "action.repeated_after_loss")]
    ActionRepeatedAfterLoss,
    /// A summary says that somebody allowed something, and nobody whom the agent acts for said so.
    #[serde(rename = "authority.unsupported")]
    AuthorityUnsupported,
    /// A statement that nobody made was found: what the presence checks say of this session is in doubt.
    #[serde(rename = "control.failed")]
    ControlFailed,
    /// A context that does not have the hash recorded elsewhere.
    #[serde(rename = "context.hash_mismatch")]
    ContextHashMismatch,
    /// A turn with an action whose context was not recorded.
    #[serde(rename = "context.not_recorded")]
    ContextNotRecorded,
    /// A guard or governor flagged an action.
    #[serde(rename = "decision.flagged")]
    DecisionFlagged,
    /// A text that was not looked at as a whole, because it would take too long.
    #[serde(rename = "analysis.limited")]
    AnalysisLimited,
    /// An entry that this version cannot read.
    #[serde(rename = "entry.unreadable")]
    EntryUnreadable,
}

impl FindingKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActionProhibited => "action.prohibited",
            Self::ActionOutOfScope => "action.out_of_scope",
            Self::ActionToolUndeclared => "action.tool_undeclared",
            Self::ActionScopeUnevaluated => "action.scope_unevaluated",
            Self::ActionCallIdRepeated => "action.call_id_repeated",
            Self::IntentMissing => "intent.missing",
            Self::ResultWithoutCall => "result.without_call",
            Self::CallWithoutResult => "call.without_result",
            Self::ReportClaimUnrecorded => "report.claim_unrecorded",
            Self::ReportActionOmitted => "report.action_omitted",
            Self::ConstraintLeft => "constraint.left",
            Self::MutationUndeclared => "mutation.undeclared",
            Self::MutationOverstated => "mutation.overstated",
            Self::MutationUnderstated => "mutation.understated",
            Self::MutationFloorUnmet => "mutation.floor_unmet",
            Self::MutationRequestGrew => "mutation.request_grew",
            Self::MutationBackToBack => "mutation.back_to_back",
            Self::ContextOrphanedResult => "context.orphaned_result",
            Self::ContextOrphanedCall => "context.orphaned_call",
            Self::ActionRepeatedAfterLoss => "action.repeated_after_loss",
            Self::AuthorityUnsupported => "authority.unsupported",
            Self::ControlFailed => "control.failed",
            Self::ContextHashMismatch => "context.hash_mismatch",
            Self::ContextNotRecorded => "context.not_recorded",
            Self::DecisionFlagged => "decision.flagged",
            Self::AnalysisLimited => "analysis.limited",
            Self::EntryUnreadable => "entry.unreadable",
        }
    }
}
