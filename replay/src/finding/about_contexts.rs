//! Findings about contexts and their mutations.

use std::collections::BTreeSet;

use remembrancer_schema::payload::{Fate, ProofOutcome, TokenSource};

use super::{Evidence, finding, quoted};
use crate::analysis::{
    Disagreement, Finding, FindingKind, Mutation, MutationIndex, PresenceState, Severity,
};
use crate::constraint;
use crate::declaration::{is_overstated, is_understated};

pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let mut told_turns = BTreeSet::new();
    for (at, mutation) in evidence.mutations.iter().enumerate() {
        undeclared(evidence, at, mutation, findings);
        misstated(at, mutation, findings);
        size(at, mutation, findings);
        // Several declarations of one turn tell of one change.
        if told_turns.insert(mutation.turn) {
            limits_that_left(evidence, at, mutation, findings);
        }
    }
    for turn in &evidence.timeline.turns {
        if let Some(proof) = &turn.proof
            && proof.outcome == ProofOutcome::Mismatch
        {
            findings.push(Finding {
                turn: Some(turn.number),
                entry: turn.entry,
                ..finding(
                    FindingKind::ContextHashMismatch,
                    Severity::Warning,
                    format!(
                        "the context rebuilt for this turn does not have the recorded hash {} ({})",
                        quoted(&proof.expected),
                        quoted(&proof.method)
                    ),
                )
            });
        }
    }
}

/// A finding about a mutation rests on its declaration, or else on the capture that shows it.
pub(super) fn about(
    at: MutationIndex,
    mutation: &Mutation,
    kind: FindingKind,
    severity: Severity,
    message: String,
) -> Finding {
    Finding {
        turn: Some(mutation.turn),
        mutation: Some(at),
        entry: mutation.declared.as_ref().map(|declared| declared.entry),
        ..finding(kind, severity, message)
    }
}

fn undeclared(
    evidence: &Evidence<'_>,
    at: MutationIndex,
    mutation: &Mutation,
    findings: &mut Vec<Finding>,
) {
    if mutation.declared.is_some() {
        return;
    }
    let count = |is_counted: &dyn Fn(Fate) -> bool| {
        mutation
            .fates
            .iter()
            .filter(|fate| !fate.appended && is_counted(fate.fate))
            .count()
    };
    let new = count(&|fate| fate == Fate::Injected);
    let kept = count(&|fate| fate == Fate::Kept);
    let changed = count(&|fate| !matches!(fate, Fate::Injected | Fate::Kept));
    let turn = evidence
        .timeline
        .turn_position(mutation.turn)
        .map(|turn| &evidence.timeline.turns[turn]);
    findings.push(Finding {
        entry: turn.and_then(|turn| turn.entry),
        ..about(
            at,
            mutation,
            FindingKind::MutationUndeclared,
            Severity::Warning,
            format!(
                "the context changed by {} and no event declares it: of the parts before, {kept} are kept and {changed} \
                 are not; {new} are new before the end",
                mutation.kind.as_str()
            ),
        )
    });
}

fn misstated(at: MutationIndex, mutation: &Mutation, findings: &mut Vec<Finding>) {
    let mut tell = |kind, is_meant: fn(&Disagreement) -> bool, what: &str| {
        let mut meant = mutation
            .disagreements
            .iter()
            .filter(|&disagreement| is_meant(disagreement));
        let Some(first) = meant.next() else { return };
        let more = match meant.count() {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        findings.push(about(
            at,
            mutation,
            kind,
            Severity::Warning,
            format!("the declaration says that {what}: {}{more}", first.message),
        ));
    };
    tell(
        FindingKind::MutationOverstated,
        is_overstated,
        "more stayed than the contexts show",
    );
    tell(
        FindingKind::MutationUnderstated,
        is_understated,
        "more left than the contexts show",
    );
}

fn size(at: MutationIndex, mutation: &Mutation, findings: &mut Vec<Finding>) {
    if let Some(floor) = mutation.budget.floor.filter(|floor| !floor.holds) {
        findings.push(about(
            at,
            mutation,
            FindingKind::MutationFloorUnmet,
            Severity::Notice,
            format!(
                "the trigger of {} tokens is below {}, the fixed overhead plus twice what remains compressible: the next \
                 compaction is near",
                floor.trigger, floor.required
            ),
        ));
    }
    if let Some(growth) = mutation.aftermath.growth {
        let basis = match growth.source {
            TokenSource::Measured => {
                "was measured larger than the one before, appended parts included"
            }
            TokenSource::Counted => "was counted larger with the change than without",
            TokenSource::Estimated => "is estimated larger with the change than without",
        };
        findings.push(about(
            at,
            mutation,
            FindingKind::MutationRequestGrew,
            Severity::Notice,
            format!(
                "the {} did not shrink the request: it {basis} ({} tokens against {})",
                mutation.kind.as_str(),
                growth.after,
                growth.before
            ),
        ));
    }
}

/// Limits that were present at the last known turn before a mutation and are not at the first one after it. A context that
/// cannot be read says nothing either way.
fn limits_that_left(
    evidence: &Evidence<'_>,
    at: MutationIndex,
    mutation: &Mutation,
    findings: &mut Vec<Finding>,
) {
    let Some(previous) = mutation.previous_turn else {
        return;
    };
    for (position, declared) in evidence.constraints.iter().enumerate() {
        let state = |turn| {
            evidence
                .presence_at(turn, position)
                .and_then(|presence| presence.state)
        };
        let (Some(before), Some(after)) = (state(previous), state(mutation.turn)) else {
            continue;
        };
        let is_open = matches!(after, PresenceState::Opaque | PresenceState::Unknown);
        if !constraint::is_limit(declared) || !before.is_present() || after.is_present() || is_open
        {
            continue;
        }
        let id = declared.declared.id.as_str();
        let left = match after {
            PresenceState::NoTrace => "has no textual trace".to_owned(),
            other => format!("is not there in its words ({})", other.as_str()),
        };
        findings.push(Finding {
            constraint: Some(id.to_owned()),
            ..about(
                at,
                mutation,
                FindingKind::ConstraintLeft,
                Severity::Warning,
                format!(
                    "the limit {id} was in the context of turn {previous} and {left} in that of turn {}, the first after \
                     the {}",
                    mutation.turn,
                    mutation.kind.as_str()
                ),
            )
        });
    }
}
