//! A compaction as the application's own account of it.

use std::collections::BTreeSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ContextMutated, CountedTokens, DeclaredFate, Fate, MutationKind, PartKind, SummaryRecord,
    TokenSource, Trigger,
};

use super::contexts::{Contexts, tail};
use super::line::{Line, LineKind};
use super::rows::Compaction;
use super::run::Run;

/// The account of a compaction: what the run's files say became of each part of the request that was pending.
pub(super) fn declared(run: &Run, contexts: &Contexts, compaction: &Compaction) -> ContextMutated {
    let counted = &compaction.counted;
    let summarizer = &compaction.summarizer;
    let trace = summarizer
        .session_id
        .as_ref()
        .and_then(|session| run.traces.get(session));
    let model = trace
        .into_iter()
        .flatten()
        .find_map(|event| event.payload.model_identifier.clone());
    ContextMutated {
        turn: compaction.run_step,
        kind: MutationKind::Compaction,
        name: Some(compaction.compaction_id.clone()),
        trigger: Some(Trigger {
            cause: Some("automatic".to_owned()),
            threshold_tokens: Some(compaction.trigger.threshold),
            observed_tokens: Some(compaction.trigger.input_tokens_last),
        }),
        parts: fates(run, contexts, compaction),
        summary: Some(SummaryRecord {
            text: compaction.summary_text.clone(),
            model,
            input_tokens: Some(summarizer.input_tokens),
            output_tokens: Some(summarizer.output_tokens),
        }),
        counted: Some(CountedTokens {
            uncompacted: counted.uncompacted,
            compacted: counted.compacted,
            fixed_overhead: Some(counted.fixed_overhead),
            source: TokenSource::Counted,
        }),
        withheld: compaction.withheld.clone(),
        injected_fault: (compaction.fault_injection != "none")
            .then(|| compaction.fault_injection.clone()),
        witness: None,
    }
}

/// What the split into prefix and tail, the stubs, the pins and the new head say of every part of the pending request.
fn fates(run: &Run, contexts: &Contexts, compaction: &Compaction) -> Vec<DeclaredFate> {
    let archive = run
        .archives
        .get(&compaction.compaction_id)
        .map_or(&[][..], Vec::as_slice);
    let previous = compaction.run_step.checked_sub(1);
    let before = previous.and_then(|step| contexts.by_step.get(&step));
    let after: BTreeSet<String> = contexts
        .by_step
        .get(&compaction.run_step)
        .into_iter()
        .flatten()
        .map(Line::words)
        .collect();
    let pinned: BTreeSet<&str> = run
        .memory_of(&compaction.compaction_id)
        .filter(|row| row.exposed)
        .flat_map(|row| row.sigma.tool_call_ids.iter().map(String::as_str))
        .collect();
    let replaced = if compaction.summary_text.is_empty() {
        Fate::Dropped
    } else {
        Fate::Summarised
    };
    let mut fates = Vec::new();
    for line in before.into_iter().flatten() {
        let words = line.words();
        let fate = match line.kind {
            LineKind::Instructions => Fate::Kept,
            LineKind::HeadMemory | LineKind::HeadSummary if after.contains(&words) => Fate::Kept,
            LineKind::HeadMemory => Fate::Dropped,
            LineKind::HeadSummary | LineKind::User | LineKind::Text | LineKind::Retry => replaced,
            LineKind::Call | LineKind::Return => {
                let kind = line.to_part().kind;
                let is_pinned = line
                    .call_id
                    .as_deref()
                    .is_some_and(|id| pinned.contains(id));
                let fate = if kind == PartKind::ToolResult && is_pinned {
                    Fate::Pinned
                } else {
                    replaced
                };
                fates.push(of_call(fate, line.call_id.as_deref(), kind));
                continue;
            }
        };
        fates.push(DeclaredFate {
            hash: Some(ContentHash::of(words.as_bytes())),
            ..of_nothing(fate)
        });
    }
    for part in tail(archive).iter().flat_map(|message| &message.parts) {
        let id = part.tool_call_id.as_deref();
        let is_stubbed = id.is_some_and(|id| {
            compaction
                .tail_stubbed_tool_call_ids
                .iter()
                .any(|one| one == id)
        });
        match part.part_kind.as_str() {
            "tool-call" => fates.push(of_call(Fate::Kept, id, PartKind::ToolCall)),
            "tool-return" if is_stubbed => {
                fates.push(of_call(Fate::Stubbed, id, PartKind::ToolResult));
            }
            "tool-return" => fates.push(of_call(Fate::Kept, id, PartKind::ToolResult)),
            _ => {}
        }
    }
    fates
}

fn of_nothing(fate: Fate) -> DeclaredFate {
    DeclaredFate {
        fate,
        hash: None,
        call_id: None,
        part_kind: None,
        position: None,
    }
}

fn of_call(fate: Fate, call_id: Option<&str>, kind: PartKind) -> DeclaredFate {
    DeclaredFate {
        call_id: call_id.map(str::to_owned),
        part_kind: Some(kind),
        ..of_nothing(fate)
    }
}
