//! Events of a trace, and which model calls sent which tool calls.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use crate::transcript::{ImportError, Lines};

/// Most calls whose turn is told by a model call.
const CALLS_MAX: usize = 200_000;

/// One event of a trace.
#[derive(Debug, Deserialize)]
pub(super) struct TraceEvent {
    pub(super) event_id: String,
    pub(super) event_type: String,
    pub(super) session_id: String,
    pub(super) event_sequence_number: u64,
    pub(super) previous_event_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) deployment_mode: Option<String>,
    pub(super) timestamp_utc: Option<String>,
    #[serde(default)]
    pub(super) payload: Payload,
    #[serde(default)]
    pub(super) advisory_flags: Vec<String>,
    #[serde(default)]
    pub(super) policy_violations: Vec<String>,
    pub(super) simulated_consequence: Option<String>,
    #[serde(default = "passes")]
    pub(super) pass_through: bool,
}

fn passes() -> bool {
    true
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub(super) agent_version: Option<String>,
    pub(super) vendor_id: Option<String>,
    pub(super) owner_claim: Option<String>,
    pub(super) declared_capabilities: Vec<String>,
    pub(super) stated_objective: Option<String>,
    pub(super) intent_source: Option<String>,
    pub(super) intent_confidence: Option<String>,
    pub(super) session_scope_hint: Vec<String>,
    pub(super) tool_id: Option<String>,
    pub(super) target_system: Option<String>,
    pub(super) operation_type: Option<String>,
    pub(super) tool_use_id: Option<String>,
    pub(super) tool_use_ids: Vec<String>,
    pub(super) llm_turn_id: Option<String>,
    pub(super) llm_prompt_tokens: Option<u64>,
    pub(super) llm_completion_tokens: Option<u64>,
    pub(super) llm_cached_read_tokens: Option<u64>,
    pub(super) llm_cached_write_tokens: Option<u64>,
    pub(super) model_identifier: Option<String>,
}

impl TraceEvent {
    pub(super) fn is_model_call(&self) -> bool {
        self.event_type == "CONTEXT_SNAPSHOT" && self.payload.llm_turn_id.is_some()
    }

    /// The call's id; the event's where the wrapper knows none.
    pub(super) fn call_id(&self) -> &str {
        self.payload
            .tool_use_id
            .as_deref()
            .unwrap_or(&self.event_id)
    }
}

/// Which model call sent which tool calls. A trace tells it after the calls, so the file is read for it first.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By session and id of the tool call.
    of_call: HashMap<(String, String), u32>,
    /// By session and id of the model call.
    of_model_call: HashMap<(String, String), u32>,
    /// How many model calls each session has.
    counts: HashMap<String, u32>,
}

impl Turns {
    /// Reads the model calls of a file.
    pub(super) fn read(path: &Path) -> Result<Self, ImportError> {
        let mut turns = Self::default();
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            let Ok(event) = serde_json::from_slice::<TraceEvent>(&line.bytes) else {
                continue;
            };
            let Some(model_call) = event.payload.llm_turn_id.clone() else {
                continue;
            };
            let named = (event.session_id.clone(), model_call);
            if turns.of_model_call.len() >= CALLS_MAX || turns.of_model_call.contains_key(&named) {
                continue;
            }
            let turn = turns.counts.entry(event.session_id.clone()).or_default();
            *turn += 1;
            turns.of_model_call.insert(named, *turn);
            for call in event.payload.tool_use_ids {
                if turns.of_call.len() < CALLS_MAX {
                    turns
                        .of_call
                        .entry((event.session_id.clone(), call))
                        .or_insert(*turn);
                }
            }
        }
        Ok(turns)
    }

    /// How many model calls a session has.
    pub(super) fn count(&self, session: &str) -> u32 {
        self.counts.get(session).copied().unwrap_or(0)
    }

    /// The turn whose response sent a tool call.
    pub(super) fn of_call(&self, event: &TraceEvent) -> Option<u32> {
        let named = (event.session_id.clone(), event.call_id().to_owned());
        self.of_call.get(&named).copied()
    }

    /// The turn of a model call.
    pub(super) fn of_model_call(&self, event: &TraceEvent) -> Option<u32> {
        let named = (event.session_id.clone(), event.payload.llm_turn_id.clone()?);
        self.of_model_call.get(&named).copied()
    }
}
