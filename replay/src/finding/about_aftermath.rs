//! Findings about what mutations left behind.

use std::collections::BTreeSet;

use remembrancer_schema::payload::{Fate, MutationKind};

use super::about_contexts::about;
use super::{Evidence, finding, quoted};
use crate::analysis::{
    Finding, FindingKind, Mutation, MutationIndex, OrphanKind, RepeatedCall, Severity,
};

pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let compacted: BTreeSet<u32> = evidence
        .mutations
        .iter()
        .filter(|mutation| mutation.aftermath.compacted_again)
        .map(|mutation| mutation.turn)
        .collect();
    let mut told_turns = BTreeSet::new();
    for (at, mutation) in evidence.mutations.iter().enumerate() {
        for repeated in &mutation.aftermath.repeated_calls {
            findings.push(repetition(at, mutation, repeated));
        }
        // Several declarations of one turn tell of one change.
        if told_turns.insert(mutation.turn) {
            findings.extend(orphaned(at, mutation, OrphanKind::Result));
            findings.extend(orphaned(at, mutation, OrphanKind::Call));
        }
        let before = mutation.turn.checked_sub(1);
        if mutation.kind == MutationKind::Compaction
            && let Some(before) = before.filter(|before| compacted.contains(before))
        {
            findings.push(about(
                at,
                mutation,
                FindingKind::MutationBackToBack,
                Severity::Notice,
                format!(
                    "the request of turn {} was compacted again, directly after the compaction of turn {before}",
                    mutation.turn
                ),
            ));
        }
    }
}

/// One finding for all parts of a kind that a mutation left alone: the first is named.
fn orphaned(at: MutationIndex, mutation: &Mutation, kind: OrphanKind) -> Option<Finding> {
    let aftermath = &mutation.aftermath;
    let mut orphans = aftermath
        .orphans
        .iter()
        .filter(|orphan| orphan.kind == kind);
    let first = orphans.next()?;
    let more = match orphans.count() {
        0 => String::new(),
        _ if aftermath.orphan_count > aftermath.orphans.len() as u64 => " (and more)".to_owned(),
        count => format!(" (and {count} more)"),
    };
    let (finding_kind, what) = match kind {
        OrphanKind::Result => (
            FindingKind::ContextOrphanedResult,
            "the result of a call stands in the context and the call itself left",
        ),
        OrphanKind::Call => (
            FindingKind::ContextOrphanedCall,
            "a call stands in the context and its result left",
        ),
    };
    Some(Finding {
        call_id: Some(first.call_id.clone()),
        ..about(
            at,
            mutation,
            finding_kind,
            Severity::Warning,
            format!(
                "after the {}, {what}: {}{more}",
                mutation.kind.as_str(),
                quoted(&first.call_id)
            ),
        )
    })
}

fn repetition(at: MutationIndex, mutation: &Mutation, repeated: &RepeatedCall) -> Finding {
    let fate = match repeated.fate {
        Fate::Stubbed => "a stub stood in for its result",
        Fate::Summarised => "its result had gone into a summary",
        Fate::Pinned => "its result stood only, in part, in re-supplied material",
        Fate::Withheld => "its result was withheld",
        _ => "its result had left the context",
    };
    Finding {
        turn: Some(repeated.turn),
        call_id: Some(repeated.call_id.clone()),
        mutation: Some(at),
        entry: Some(repeated.entry),
        ..finding(
            FindingKind::ActionRepeatedAfterLoss,
            Severity::Notice,
            format!(
                "{} was called again with the arguments of turn {}: since the {} before turn {}, {fate}",
                quoted(&repeated.tool),
                repeated.earlier_turn,
                mutation.kind.as_str(),
                mutation.turn
            ),
        )
    }
}
