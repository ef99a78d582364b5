//! Whether the run's files tell the same story: every call and every response must be in the governor's trace, and the other
//! way round.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::rows::TraceEvent;
use super::run::Run;

/// How many rows of one file have their counterpart in another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Joins {
    /// Rows of `tools.jsonl`.
    pub tool_calls: u64,
    /// Those whose call has a scope assertion in the agent's own trace.
    pub tool_calls_joined: u64,
    /// Those whose call has a snapshot of its result in the agent's own trace.
    pub tool_snapshots_joined: u64,
    /// Those whose call is named by the response to the same request.
    pub tool_calls_requested: u64,
    /// Responses in `requests.jsonl`.
    pub model_responses: u64,
    /// Those with a token snapshot in the agent's own trace that has the same prompt tokens.
    pub token_snapshots_joined: u64,
    /// Those with a token snapshot that has the same completion tokens too.
    pub completion_tokens_joined: u64,
    /// Scope assertions for calls that `tools.jsonl` lacks.
    pub trace_calls_without_row: u64,
    /// Token snapshots of the agent for responses that `requests.jsonl` lacks.
    pub trace_responses_without_row: u64,
    /// Call ids that more than one row of `tools.jsonl` has.
    pub duplicate_call_ids: u64,
    /// Governor sessions with a trace.
    pub governor_sessions: u64,
    /// Events in all traces.
    pub governor_events: u64,
    /// Events whose number or link to the event before does not follow from the one before.
    pub governor_chain_breaks: u64,
}

impl Joins {
    pub(super) fn count(run: &Run) -> Self {
        let trace = run.main_trace();
        let count = |number: usize| number as u64;
        let scopes: BTreeSet<&str> = call_ids(trace, TraceEvent::is_scope);
        let results: BTreeSet<&str> = call_ids(trace, |event| {
            event.event_type == "CONTEXT_SNAPSHOT" && event.payload.llm_turn_id.is_none()
        });
        let turns: BTreeMap<&str, &TraceEvent> = trace
            .iter()
            .filter_map(|event| Some((event.payload.llm_turn_id.as_deref()?, event)))
            .collect();
        let calls: BTreeSet<&str> = run
            .tools
            .iter()
            .map(|row| row.tool_call_id.as_str())
            .collect();
        let is_requested = |step: u32, call: &str| {
            run.responses.get(&step).is_some_and(|response| {
                response
                    .tool_calls
                    .iter()
                    .any(|one| one.tool_call_id == call)
            })
        };
        let mut joins = Self {
            tool_calls: count(run.tools.len()),
            model_responses: count(run.responses.len()),
            trace_calls_without_row: count(scopes.difference(&calls).count()),
            duplicate_call_ids: count(run.tools.len() - calls.len()),
            governor_sessions: count(run.traces.len()),
            governor_events: count(run.traces.values().map(Vec::len).sum()),
            governor_chain_breaks: run.traces.values().map(|trace| chain_breaks(trace)).sum(),
            ..Self::default()
        };
        for row in &run.tools {
            let id = row.tool_call_id.as_str();
            joins.tool_calls_joined += u64::from(scopes.contains(id));
            joins.tool_snapshots_joined += u64::from(results.contains(id));
            joins.tool_calls_requested += u64::from(is_requested(row.run_step, id));
        }
        let mut answered = BTreeSet::new();
        for response in run.responses.values() {
            let Some(id) = response.provider_response_id.as_deref() else {
                continue;
            };
            answered.insert(id);
            let Some(event) = turns.get(id) else { continue };
            let is_joined = event.payload.llm_prompt_tokens == Some(response.input_tokens);
            let is_equal = event.payload.llm_completion_tokens == Some(response.output_tokens);
            joins.token_snapshots_joined += u64::from(is_joined);
            joins.completion_tokens_joined += u64::from(is_joined && is_equal);
        }
        joins.trace_responses_without_row =
            count(turns.keys().filter(|id| !answered.contains(*id)).count());
        joins
    }

    /// What an auditor should know: nothing, if the files agree.
    pub(super) fn notices(&self) -> Vec<String> {
        let of = |what: &str, joined: u64, all: u64| {
            (joined != all).then(|| format!("{what}: {joined} of {all}"))
        };
        let any = |what: &str, number: u64| (number > 0).then(|| format!("{what}: {number}"));
        let (calls, responses) = (self.tool_calls, self.model_responses);
        [
            of(
                "calls with a scope assertion in the trace",
                self.tool_calls_joined,
                calls,
            ),
            of(
                "calls with a result snapshot in the trace",
                self.tool_snapshots_joined,
                calls,
            ),
            of(
                "calls that their response names",
                self.tool_calls_requested,
                calls,
            ),
            of(
                "responses with a token snapshot in the trace",
                self.token_snapshots_joined,
                responses,
            ),
            of(
                "responses with equal completion tokens",
                self.completion_tokens_joined,
                responses,
            ),
            any(
                "scope assertions without a tool row",
                self.trace_calls_without_row,
            ),
            any(
                "token snapshots without a response",
                self.trace_responses_without_row,
            ),
            any("tool rows that repeat a call id", self.duplicate_call_ids),
            any(
                "breaks in the governor's chains",
                self.governor_chain_breaks,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn call_ids(trace: &[TraceEvent], is_meant: impl Fn(&TraceEvent) -> bool) -> BTreeSet<&str> {
    trace
        .iter()
        .filter(|event| is_meant(event))
        .filter_map(|event| event.payload.tool_use_id.as_deref())
        .collect()
}

fn chain_breaks(trace: &[TraceEvent]) -> u64 {
    let mut previous: Option<&TraceEvent> = None;
    let mut breaks = 0;
    for event in trace {
        let follows = event.event_sequence_number
            == previous.map_or(1, |before| before.event_sequence_number + 1)
            && event.previous_event_id.as_deref()
                == previous.map(|before| before.event_id.as_str());
        breaks += u64::from(!follows);
        previous = Some(event);
    }
    breaks
}
