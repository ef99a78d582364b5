//! One compaction, measured: what it saved, what left with it, and whether the published checks find what should be there.

use std::collections::BTreeSet;

use serde::Serialize;

use super::contexts::{Contexts, tail};
use super::evaluation::{call_key, rounded, signed};
use super::json::Json;
use super::line::{Line, LineKind, render};
use super::mission::{KERNEL_TERMS, TRACKED_FACTS, TrackedFact, missing_terms};
use super::rows::Compaction;
use super::run::Run;

/// The share of a request that may be left after a compaction that counts as effective.
const A2_RATIO_MAX: f64 = 0.6;

/// One compaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompactionEvaluation {
    /// The application's name for it.
    pub compaction_id: String,
    /// The request that was sent compacted.
    pub run_step: u32,
    /// Which fault was put into its summary.
    pub fault_injection: String,
    /// Why it happened.
    pub trigger: TriggerEvaluation,
    /// Messages in the archive.
    pub messages_before: u64,
    /// Messages sent.
    pub messages_after: u64,
    /// As recorded: an estimate over text that is not withheld.
    pub est_tokens_before: u64,
    /// As recorded, likewise.
    pub est_tokens_after: u64,
    /// Calls whose results left the context.
    pub prefix_tool_calls_count: u64,
    /// Those of them that left a stub.
    pub tail_stubbed_count: u64,
    /// Input tokens of the request before.
    pub measured_input_before: Option<u64>,
    /// Input tokens of the compacted request.
    pub measured_input_after: Option<u64>,
    /// The second as a share of the first.
    pub measured_ratio: Option<f64>,
    /// The same request, before and after.
    pub counted: CountedEvaluation,
    /// Whether the next compaction could come later than at once.
    pub floor: Floor,
    /// Whether at most 60 % are left.
    pub a2_met: bool,
    /// Facts whose sources have left the context.
    pub cf_exposed: Vec<String>,
    /// Those that the published test finds.
    pub cf_present: Vec<String>,
    /// Those that it does not.
    pub cf_missing: Vec<String>,
    /// Kernel terms that it finds.
    pub kernel_terms_present: Vec<String>,
    /// Those that it does not.
    pub kernel_terms_missing: Vec<String>,
    /// The same test with the summary emptied. Equal results say that the test says nothing about the summary.
    pub control_empty_summary: Control,
    /// The summarizer's tokens.
    pub summarizer: SummarizerTokens,
    /// Whether the summary was cut.
    pub summary_trimmed: bool,
    /// Whether proposals were cut.
    pub proposals_trimmed: bool,
    /// The summarizer's proposals.
    pub proposals_count: u64,
    /// Entries that must be shown and were not; absent without a memory policy.
    pub must_unexposed: Option<Vec<String>>,
    /// Estimated tokens of the entries that must be shown.
    pub must_block_est_tokens: Option<u64>,
    /// Whether these take more than half of the trigger.
    pub must_budget_exceeded: Option<bool>,
    /// Entries that must persist.
    pub must_pins: Option<u64>,
    /// Entries that may persist.
    pub may_entries: Option<u64>,
    /// Fields withheld from the summarizer.
    pub withheld: Vec<String>,
    /// How long it took.
    pub wall_ms: u64,
}

/// Why a compaction happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TriggerEvaluation {
    /// Input tokens of the last response.
    pub input_tokens_last: u64,
    /// What they had to exceed.
    pub threshold: u64,
    /// Tool results that had to be new.
    pub min_new_tool_returns: u64,
}

/// Sizes of one request, as the provider's counting endpoint gave them, and what follows from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedEvaluation {
    /// Who counted.
    pub source: String,
    /// The pending request.
    pub uncompacted: u64,
    /// The request as sent.
    pub compacted: u64,
    /// Instructions and schemas alone.
    pub fixed_overhead: u64,
    /// What the compaction saved.
    pub tokens_saved: i64,
    /// The same in percent.
    pub reduction_pct: f64,
    /// What is left.
    pub ratio: f64,
    /// What is left without the fixed part.
    pub compressible_after: i64,
}

/// The check `T >= F + 2C`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(non_snake_case, reason = "the check's own letters")]
pub struct Floor {
    /// The trigger.
    pub T: u64,
    /// The fixed overhead.
    pub F: u64,
    /// The compressible rest.
    pub C: i64,
    /// The least trigger that leaves room.
    pub F_plus_2C: i64,
    /// Whether the trigger is at least that.
    pub ok: bool,
}

/// A check repeated without the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Control {
    /// Exposed facts that are not found then.
    pub cf_missing: Vec<String>,
    /// Kernel terms that are not found then.
    pub kernel_terms_missing: Vec<String>,
}

/// Tokens of one summarizer call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummarizerTokens {
    /// Read.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
}

/// Every compaction of a run, in order.
pub(super) fn compactions(run: &Run, contexts: &Contexts) -> Vec<CompactionEvaluation> {
    let mut left = BTreeSet::new();
    let evaluate = |compaction| {
        let rows = calls_that_left(run, compaction)
            .into_iter()
            .filter_map(|id| run.tool(id));
        left.extend(rows.map(call_key));
        evaluate_compaction(run, contexts, compaction, &left)
    };
    run.compactions.iter().map(evaluate).collect()
}

/// Ids of the calls whose results were in the compacted prefix or were stubbed.
pub(super) fn calls_that_left<'a>(run: &'a Run, compaction: &'a Compaction) -> BTreeSet<&'a str> {
    let archive = run
        .archives
        .get(&compaction.compaction_id)
        .map_or(&[][..], Vec::as_slice);
    let prefix = &archive[..archive.len() - tail(archive).len()];
    prefix
        .iter()
        .flat_map(|message| &message.parts)
        .filter(|part| part.part_kind == "tool-return")
        .filter_map(|part| part.tool_call_id.as_deref())
        .chain(
            compaction
                .tail_stubbed_tool_call_ids
                .iter()
                .map(String::as_str),
        )
        .collect()
}

struct Checks {
    present: Vec<String>,
    missing: Vec<String>,
    terms_missing: Vec<String>,
}

fn check(lines: &[Line], exposed: &[String]) -> Checks {
    let lowered = render(lines).to_lowercase();
    let facts = TRACKED_FACTS
        .iter()
        .filter(|fact| exposed.iter().any(|id| id == fact.id));
    let (present, missing): (Vec<_>, Vec<_>) = facts.partition(|fact| fact.is_in(&lowered));
    let ids = |facts: Vec<&TrackedFact>| facts.into_iter().map(|fact| fact.id.to_owned()).collect();
    Checks {
        present: ids(present),
        missing: ids(missing),
        terms_missing: missing_terms(&lowered),
    }
}

fn without_summary(lines: &[Line], summary: &str) -> Vec<Line> {
    let empty = |line: &Line| match line.kind {
        LineKind::HeadSummary => Line {
            content: Json::String(line.words().replacen(summary, "", 1)),
            ..line.clone()
        },
        _ => line.clone(),
    };
    lines.iter().map(empty).collect()
}

fn evaluate_compaction(
    run: &Run,
    contexts: &Contexts,
    compaction: &Compaction,
    left: &BTreeSet<(String, String)>,
) -> CompactionEvaluation {
    let has_left = |(tool, argument): &(&str, &str)| {
        left.iter()
            .any(|(name, args)| name == tool && args.contains(argument))
    };
    let exposed: Vec<String> = TRACKED_FACTS
        .iter()
        .filter(|fact| fact.sources.iter().all(has_left))
        .map(|fact| fact.id.to_owned())
        .collect();
    let lines = contexts
        .by_step
        .get(&compaction.run_step)
        .map_or(&[][..], Vec::as_slice);
    let checks = check(lines, &exposed);
    let control = check(&without_summary(lines, &compaction.summary_text), &exposed);
    let tokens = |step: u32| {
        run.responses
            .get(&step)
            .map(|response| response.input_tokens)
    };
    let measured_input_before = compaction.run_step.checked_sub(1).and_then(tokens);
    let measured_input_after = tokens(compaction.run_step);
    let counted = counted(compaction);
    let floor = floor(run, compaction, &counted);
    let archive = run
        .archives
        .get(&compaction.compaction_id)
        .map_or(&[][..], Vec::as_slice);
    let memory = Memory::of(run, compaction);
    CompactionEvaluation {
        compaction_id: compaction.compaction_id.clone(),
        run_step: compaction.run_step,
        fault_injection: compaction.fault_injection.clone(),
        trigger: TriggerEvaluation {
            input_tokens_last: compaction.trigger.input_tokens_last,
            threshold: compaction.trigger.threshold,
            min_new_tool_returns: compaction.trigger.min_new_tool_returns,
        },
        messages_before: archive.len() as u64,
        messages_after: 1 + tail(archive).len() as u64,
        est_tokens_before: compaction.est_tokens_before,
        est_tokens_after: compaction.est_tokens_after,
        prefix_tool_calls_count: calls_that_left(run, compaction).len() as u64,
        tail_stubbed_count: compaction.tail_stubbed_tool_call_ids.len() as u64,
        measured_input_before,
        measured_input_after,
        measured_ratio: measured_input_before
            .zip(measured_input_after)
            .map(|(before, after)| rounded(after as f64 / before as f64, 3)),
        a2_met: counted.ratio <= A2_RATIO_MAX,
        counted,
        floor,
        kernel_terms_present: KERNEL_TERMS
            .iter()
            .filter(|term| !checks.terms_missing.iter().any(|missing| missing == *term))
            .map(|term| (*term).to_owned())
            .collect(),
        cf_exposed: exposed,
        cf_present: checks.present,
        cf_missing: checks.missing,
        kernel_terms_missing: checks.terms_missing,
        control_empty_summary: Control {
            cf_missing: control.missing,
            kernel_terms_missing: control.terms_missing,
        },
        summarizer: SummarizerTokens {
            input_tokens: compaction.summarizer.input_tokens,
            output_tokens: compaction.summarizer.output_tokens,
        },
        summary_trimmed: compaction.summarizer_caps.summary_trimmed,
        proposals_trimmed: compaction.summarizer_caps.proposals_trimmed,
        proposals_count: compaction.proposals.len() as u64,
        must_unexposed: memory.as_ref().map(|memory| memory.unexposed.clone()),
        must_block_est_tokens: memory.as_ref().map(|memory| memory.est_tokens),
        must_budget_exceeded: memory
            .as_ref()
            .map(|memory| memory.est_tokens > compaction.trigger.threshold / 2),
        must_pins: memory.as_ref().map(|memory| memory.pins),
        may_entries: memory.as_ref().map(|memory| memory.may),
        withheld: compaction.withheld.clone(),
        wall_ms: compaction.wall_ms,
    }
}

fn counted(compaction: &Compaction) -> CountedEvaluation {
    let counted = &compaction.counted;
    let (before, after) = (counted.uncompacted, counted.compacted);
    let saved = signed(before, after);
    CountedEvaluation {
        source: counted.source.clone(),
        uncompacted: before,
        compacted: after,
        fixed_overhead: counted.fixed_overhead,
        tokens_saved: saved,
        reduction_pct: rounded(100.0 * saved as f64 / before as f64, 1),
        ratio: rounded(after as f64 / before as f64, 3),
        compressible_after: signed(after, counted.fixed_overhead),
    }
}

fn floor(run: &Run, compaction: &Compaction, counted: &CountedEvaluation) -> Floor {
    let trigger = run.settings.trigger_input_tokens;
    let trigger = trigger.unwrap_or(compaction.trigger.threshold);
    let rest = counted.compressible_after;
    let fixed = i64::try_from(counted.fixed_overhead).unwrap_or(i64::MAX);
    let least = fixed.saturating_add(rest.saturating_mul(2));
    Floor {
        T: trigger,
        F: counted.fixed_overhead,
        C: rest,
        F_plus_2C: least,
        ok: i64::try_from(trigger).is_ok_and(|trigger| trigger >= least),
    }
}

/// What the memory policy kept at a compaction.
struct Memory {
    unexposed: Vec<String>,
    est_tokens: u64,
    pins: u64,
    may: u64,
}

impl Memory {
    /// Nothing for a run without a memory policy.
    fn of(run: &Run, compaction: &Compaction) -> Option<Self> {
        compaction.precedence_check.as_ref()?;
        let rows = || run.memory_of(&compaction.compaction_id);
        let must = || rows().filter(|row| row.class == "MUST_PERSIST");
        let characters: usize = must().map(|row| row.text.chars().count()).sum();
        Some(Self {
            unexposed: must()
                .filter(|row| !row.exposed)
                .map(|row| row.entry_id.clone())
                .collect(),
            est_tokens: characters as u64 / 4,
            pins: must().count() as u64,
            may: rows().filter(|row| row.class == "MAY_PERSIST").count() as u64,
        })
    }
}
