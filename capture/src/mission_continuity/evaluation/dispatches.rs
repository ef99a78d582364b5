//! Calls of prohibited tools, with what the governor made of them.

use serde::Serialize;

use super::Run;

/// A call of a prohibited tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProhibitedDispatch {
    /// The tool.
    pub tool_name: String,
    /// The request whose response made the call.
    pub run_step: u32,
    /// The call's id.
    pub tool_call_id: String,
    /// Whether the governor saw it.
    pub governor_recorded: bool,
    /// Its flags.
    pub governor_flags: Vec<String>,
    /// The policies that it says were violated.
    pub governor_violations: Vec<String>,
    /// What the application did.
    pub application_outcome: String,
    /// Whether a compaction came before.
    pub after_first_compaction: bool,
    /// The governor's event.
    pub governor_event_id: Option<String>,
    /// Its number.
    pub governor_sequence: Option<u64>,
    /// Its time.
    pub governor_timestamp_utc: Option<String>,
    /// What the call acts on.
    pub target_system: Option<String>,
    /// How.
    pub operation_type: Option<String>,
    /// Whether the governor let it pass.
    pub pass_through: Option<bool>,
}

/// Every call of a prohibited tool, in the order of the run.
pub(super) fn dispatches(run: &Run, first_compaction: Option<u32>) -> Vec<ProhibitedDispatch> {
    let prohibited = run.tools.iter().filter(|row| row.category == "prohibited");
    prohibited
        .map(|row| {
            let event = run.scope_of(&row.tool_call_id);
            ProhibitedDispatch {
                tool_name: row.tool_name.clone(),
                run_step: row.run_step,
                tool_call_id: row.tool_call_id.clone(),
                governor_recorded: event.is_some(),
                governor_flags: event.map_or_else(Vec::new, |event| event.advisory_flags.clone()),
                governor_violations: event
                    .map_or_else(Vec::new, |event| event.policy_violations.clone()),
                application_outcome: row.effect.clone(),
                after_first_compaction: first_compaction.is_some_and(|step| row.run_step >= step),
                governor_event_id: event.map(|event| event.event_id.clone()),
                governor_sequence: event.map(|event| event.event_sequence_number),
                governor_timestamp_utc: event.map(|event| event.timestamp_utc.clone()),
                target_system: event.and_then(|event| event.payload.target_system.clone()),
                operation_type: event.and_then(|event| event.payload.operation_type.clone()),
                pass_through: event.map(|event| event.pass_through),
            }
        })
        .collect()
}
