//! The rows of a recorded run's files. Members that no code here needs are not read.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Json;

#[derive(Debug, Deserialize)]
pub(super) struct Settings {
    pub(super) label: String,
    pub(super) arm: String,
    pub(super) mode: String,
    #[serde(default)]
    pub(super) guard: bool,
    pub(super) fault_injection: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    pub(super) trigger_input_tokens: Option<u64>,
    pub(super) kernel_sha256: String,
    pub(super) dataset_sha256: String,
    pub(super) policy_sha256: String,
    pub(super) started_at: String,
    pub(super) ended_at: String,
    pub(super) wall_seconds: f64,
    pub(super) outcome: String,
    #[serde(default)]
    pub(super) error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub(super) enum ContextRow {
    Request(RequestRow),
    Response(ResponseRow),
}

#[derive(Debug, Deserialize)]
pub(super) struct RequestRow {
    pub(super) ts: String,
    pub(super) run_step: u32,
    pub(super) governor_session_id: Option<String>,
    pub(super) n_messages: u64,
    pub(super) est_tokens_context: u64,
    pub(super) compaction_id: Option<String>,
    pub(super) instructions_sha256: String,
    pub(super) context_sha256: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResponseRow {
    pub(super) ts: String,
    pub(super) run_step: u32,
    pub(super) provider_response_id: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    #[serde(default)]
    pub(super) text_parts: Vec<String>,
    #[serde(default)]
    pub(super) tool_calls: Vec<CallName>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallName {
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolRow {
    pub(super) ts: String,
    pub(super) run_step: u32,
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
    pub(super) args: Box<RawValue>,
    pub(super) category: String,
    pub(super) effect: String,
    pub(super) result: Box<RawValue>,
}

impl ToolRow {
    pub(super) fn args(&self) -> Json {
        Json::parse(self.args.get()).unwrap_or(Json::Null)
    }

    pub(super) fn result(&self) -> Json {
        Json::parse(self.result.get()).unwrap_or(Json::Null)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Compaction {
    pub(super) ts: String,
    pub(super) compaction_id: String,
    pub(super) run_step: u32,
    pub(super) trigger: CompactionTrigger,
    pub(super) messages_before: u64,
    pub(super) messages_after: u64,
    pub(super) est_tokens_before: u64,
    pub(super) est_tokens_after: u64,
    pub(super) prefix_tool_calls: Vec<PrefixCall>,
    pub(super) archive_ref: String,
    pub(super) summary_text: String,
    #[serde(default)]
    pub(super) proposals: Vec<serde_json::Value>,
    #[serde(default)]
    pub(super) withheld: Vec<String>,
    pub(super) fault_injection: String,
    pub(super) summarizer: Summarizer,
    pub(super) summarizer_caps: SummarizerCaps,
    pub(super) counted: Counted,
    #[serde(default)]
    pub(super) tail_stubbed_tool_call_ids: Vec<String>,
    pub(super) assembled_head: String,
    pub(super) instructions_text: String,
    #[serde(default)]
    pub(super) precedence_check: Option<PrecedenceCheck>,
    pub(super) context_checks: ContextChecks,
    pub(super) wall_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct CompactionTrigger {
    pub(super) input_tokens_last: u64,
    pub(super) threshold: u64,
    pub(super) min_new_tool_returns: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct PrefixCall {
    pub(super) tool_call_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Summarizer {
    pub(super) session_id: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct SummarizerCaps {
    pub(super) summary_trimmed: bool,
    pub(super) proposals_trimmed: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Counted {
    pub(super) source: String,
    pub(super) uncompacted: u64,
    pub(super) compacted: u64,
    pub(super) fixed_overhead: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct PrecedenceCheck {
    pub(super) must_budget_exceeded: bool,
    pub(super) must_block_est_tokens: u64,
    pub(super) must_unexposed: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContextChecks {
    pub(super) kernel_terms_present: Vec<String>,
    pub(super) kernel_terms_missing: Vec<String>,
    pub(super) cf_exposed: Vec<String>,
    pub(super) cf_present: Vec<String>,
    pub(super) cf_missing: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MemoryRow {
    pub(super) compaction_id: String,
    pub(super) entry_id: String,
    pub(super) class: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) sigma: Sigma,
    pub(super) exposed: bool,
    /// The row as it stands in the file.
    #[serde(skip)]
    pub(super) line: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Sigma {
    #[serde(default)]
    pub(super) tool_call_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    #[serde(default)]
    pub(super) findings: Vec<ReportFinding>,
    #[serde(default)]
    pub(super) corrections: Vec<Correction>,
    #[serde(default)]
    pub(super) actions_requiring_human_authorization: Vec<HumanAction>,
    #[serde(default)]
    pub(super) actions_taken_by_agent: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReportFinding {
    pub(super) verdict: String,
    pub(super) amount_at_issue: Option<f64>,
    #[serde(default)]
    pub(super) record_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Correction {
    pub(super) prior_statement_ref: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct HumanAction {
    pub(super) action_type: String,
    pub(super) amount: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) kind: String,
    pub(super) parts: Vec<MessagePart>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessagePart {
    pub(super) part_kind: String,
    #[serde(default)]
    pub(super) content: Option<Json>,
    #[serde(default)]
    pub(super) args: Option<Json>,
    #[serde(default)]
    pub(super) tool_name: Option<String>,
    #[serde(default)]
    pub(super) tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TraceEvent {
    pub(super) event_id: String,
    pub(super) event_type: String,
    pub(super) event_sequence_number: u64,
    pub(super) previous_event_id: Option<String>,
    pub(super) agent_id: String,
    pub(super) timestamp_utc: String,
    pub(super) payload: TracePayload,
    #[serde(default)]
    pub(super) advisory_flags: Vec<String>,
    #[serde(default)]
    pub(super) policy_violations: Vec<String>,
    #[serde(default)]
    pub(super) simulated_consequence: Option<String>,
    #[serde(default)]
    pub(super) pass_through: bool,
}

impl TraceEvent {
    pub(super) fn is_scope(&self) -> bool {
        self.event_type == "SCOPE_ASSERTED"
    }

    pub(super) fn is_flagged(&self) -> bool {
        !self.advisory_flags.is_empty() || !self.policy_violations.is_empty()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct TracePayload {
    #[serde(default)]
    pub(super) tool_id: Option<String>,
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) target_system: Option<String>,
    #[serde(default)]
    pub(super) operation_type: Option<String>,
    #[serde(default)]
    pub(super) stated_objective: Option<String>,
    #[serde(default)]
    pub(super) session_scope_hint: Vec<String>,
    #[serde(default)]
    pub(super) llm_turn_id: Option<String>,
    #[serde(default)]
    pub(super) llm_prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) llm_completion_tokens: Option<u64>,
    #[serde(default)]
    pub(super) model_identifier: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Intervention {
    #[serde(rename = "type")]
    pub(super) kind: String,
}
