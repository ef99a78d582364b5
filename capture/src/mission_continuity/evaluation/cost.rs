//! What a run cost.

use serde::Serialize;

use super::{Run, rounded};

const INPUT_USD_PER_MTOK: f64 = 2.0;
const OUTPUT_USD_PER_MTOK: f64 = 10.0;

/// What a run cost, over all governor sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Traces.
    pub governor_sessions: u64,
    /// Token snapshots.
    pub model_turns: u64,
    /// Their prompt tokens.
    pub input_tokens: u64,
    /// Their completion tokens.
    pub output_tokens: u64,
    /// Those of the summarizers, as the compactions record them.
    pub summarizer_input_tokens: u64,
    /// Likewise.
    pub summarizer_output_tokens: u64,
    /// At 2 and 10 dollars a million.
    pub estimated_usd: f64,
    /// As recorded.
    pub wall_seconds: f64,
    /// Rows of `tools.jsonl`.
    pub tool_calls: u64,
}

pub(super) fn cost(run: &Run) -> Cost {
    let snapshots = || {
        let events = run.traces.values().flatten();
        events.filter(|event| event.payload.llm_turn_id.is_some())
    };
    let input: u64 = snapshots()
        .filter_map(|event| event.payload.llm_prompt_tokens)
        .sum();
    let output: u64 = snapshots()
        .filter_map(|event| event.payload.llm_completion_tokens)
        .sum();
    let usd = (INPUT_USD_PER_MTOK * input as f64 + OUTPUT_USD_PER_MTOK * output as f64) / 1e6;
    let summarizers = || run.compactions.iter().map(|one| &one.summarizer);
    Cost {
        governor_sessions: run.traces.len() as u64,
        model_turns: snapshots().count() as u64,
        input_tokens: input,
        output_tokens: output,
        summarizer_input_tokens: summarizers().map(|one| one.input_tokens).sum(),
        summarizer_output_tokens: summarizers().map(|one| one.output_tokens).sum(),
        estimated_usd: rounded(usd, 4),
        wall_seconds: run.settings.wall_seconds,
        tool_calls: run.tools.len() as u64,
    }
}
