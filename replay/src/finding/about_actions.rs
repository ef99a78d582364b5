//! Findings about actions, decisions and reports.

use std::collections::{BTreeSet, HashMap};

use remembrancer_schema::payload::{ClaimedAction, Payload, Verdict};

use super::{Evidence, finding, quoted, quoted_list};
use crate::analysis::{
    Action, Decision, Finding, FindingKind, PresenceState, ScopeVerdict, Severity,
};
use crate::report;

pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let actions = &evidence.joined.actions;
    findings.extend(intent_missing(evidence));
    for (action, &is_undeclared) in actions.iter().zip(&evidence.joined.undeclared_tool) {
        against_scope(evidence, action, findings);
        if is_undeclared {
            findings.push(about(
                action,
                FindingKind::ActionToolUndeclared,
                Severity::Warning,
                format!(
                    "the tool {} is not among the tools that the scope declares",
                    quoted(&action.tool)
                ),
            ));
        }
        findings.extend(without_result(evidence, action));
        for decision in action
            .decisions
            .iter()
            .filter(|decision| is_flagged(decision))
        {
            findings.push(Finding {
                entry: Some(decision.entry),
                ..about(
                    action,
                    FindingKind::DecisionFlagged,
                    Severity::Notice,
                    flagged(decision, Some(action)),
                )
            });
        }
    }
    for (entry, call_id) in &evidence.joined.orphan_results {
        findings.push(Finding {
            call_id: Some(call_id.clone()),
            entry: Some(*entry),
            ..finding(
                FindingKind::ResultWithoutCall,
                Severity::Warning,
                format!(
                    "a result for the call {} is recorded, and no such call",
                    quoted(call_id)
                ),
            )
        });
    }
    for (call_id, decision) in &evidence.joined.loose_decisions {
        if is_flagged(decision) {
            findings.push(Finding {
                call_id: call_id.clone(),
                entry: Some(decision.entry),
                ..finding(
                    FindingKind::DecisionFlagged,
                    Severity::Notice,
                    flagged(decision, None),
                )
            });
        }
    }
    context_not_recorded(evidence, findings);
    call_ids_repeated(actions, findings);
    for read in &evidence.reading.events {
        if let Payload::ReportFiled(filed) = &read.payload
            && let Some(claims) = &filed.claimed_actions
        {
            against_record(actions, claims, read.entry(), findings);
        }
    }
}

fn about(action: &Action, kind: FindingKind, severity: Severity, message: String) -> Finding {
    Finding {
        turn: Some(action.turn),
        call_id: Some(action.call_id.clone()),
        entry: Some(action.entry),
        ..finding(kind, severity, message)
    }
}

fn intent_missing(evidence: &Evidence<'_>) -> Option<Finding> {
    let first = evidence
        .joined
        .actions
        .iter()
        .min_by_key(|action| action.entry)?;
    let is_declared_before = |entry| entry < first.entry;
    if evidence
        .overview
        .intents
        .iter()
        .any(|intent| is_declared_before(intent.entry))
    {
        return None;
    }
    Some(about(
        first,
        FindingKind::IntentMissing,
        Severity::Notice,
        "no intent was declared before the first action".to_owned(),
    ))
}

fn against_scope(evidence: &Evidence<'_>, action: &Action, findings: &mut Vec<Finding>) {
    let tool = quoted(&action.tool);
    match &action.scope {
        ScopeVerdict::Prohibited { policies } if action.breaks.is_empty() => findings.push(about(
            action,
            FindingKind::ActionProhibited,
            Severity::Alarm,
            format!(
                "the action {tool} is prohibited by {}",
                quoted_list(policies)
            ),
        )),
        ScopeVerdict::Prohibited { .. } => {
            findings.extend(
                action
                    .breaks
                    .iter()
                    .map(|&at| prohibited(evidence, action, at)),
            );
        }
        ScopeVerdict::OutOfScope => findings.push(about(
            action,
            FindingKind::ActionOutOfScope,
            Severity::Alarm,
            format!("nothing in the declared scope permits the action {tool}"),
        )),
        ScopeVerdict::Unevaluated { reason } => findings.push(about(
            action,
            FindingKind::ActionScopeUnevaluated,
            Severity::Warning,
            format!(
                "the scope could not be evaluated for the action {tool}: {}",
                quoted(reason)
            ),
        )),
        ScopeVerdict::Undeclared | ScopeVerdict::Permitted { .. } => {}
    }
}

fn prohibited(evidence: &Evidence<'_>, action: &Action, constraint: usize) -> Finding {
    let id = evidence.constraints[constraint].declared.id.as_str();
    let state = evidence
        .presence_at(action.turn, constraint)
        .map_or(Some(PresenceState::Unknown), |presence| presence.state);
    let trace = state.map_or(
        "the limit was declared only after the request that it was sent from",
        trace_in_words,
    );
    Finding {
        constraint: Some(id.to_owned()),
        mutation: evidence
            .presence_at(action.turn, constraint)
            .filter(|presence| !presence.is_present())
            .and_then(|presence| presence.left_with),
        ..about(
            action,
            FindingKind::ActionProhibited,
            Severity::Alarm,
            format!(
                "the action {} breaks the limit {id}; {trace}",
                quoted(&action.tool)
            ),
        )
    }
}

/// How a limit stood when an action that breaks it was sent.
fn trace_in_words(state: PresenceState) -> &'static str {
    match state {
        PresenceState::Verbatim | PresenceState::Matched => {
            "the limit was in the context when it was sent"
        }
        PresenceState::Altered => "the context held the limit in altered words when it was sent",
        PresenceState::Partial => "the context held part of the limit's words when it was sent",
        PresenceState::Mention => {
            "the limit's words stood in the context only where they carry no authority when it was sent"
        }
        PresenceState::NoTrace => "the limit had no textual trace when it was sent",
        PresenceState::Opaque => {
            "part of the context cannot be read, so whether the limit was in it when it was sent is open"
        }
        PresenceState::Unknown => {
            "the context was not recorded, so whether the limit was in it when it was sent is open"
        }
    }
}

/// A call that still waits at the end of an open session may yet be answered.
fn without_result(evidence: &Evidence<'_>, action: &Action) -> Option<Finding> {
    if action.returned.is_some() {
        return None;
    }
    let (severity, caveat) = if evidence.overview.sealed {
        (Severity::Warning, "")
    } else {
        (Severity::Notice, "; the session is open, so one may follow")
    };
    Some(about(
        action,
        FindingKind::CallWithoutResult,
        severity,
        format!(
            "no result of the call {} is recorded{caveat}",
            quoted(&action.call_id)
        ),
    ))
}

fn is_flagged(decision: &Decision) -> bool {
    !decision.flags.is_empty()
        || !decision.violations.is_empty()
        || decision.verdict == Some(Verdict::Deny)
}

fn flagged(decision: &Decision, action: Option<&Action>) -> String {
    let subject = action.map_or_else(
        || "an action that is not recorded".to_owned(),
        |action| format!("the action {}", quoted(&action.tool)),
    );
    let mut said = Vec::new();
    if decision.verdict == Some(Verdict::Deny) {
        said.push(
            if decision.enforced {
                "denied"
            } else {
                "advised against"
            }
            .to_owned(),
        );
    }
    if !decision.flags.is_empty() {
        said.push(format!("flagged as {}", quoted_list(&decision.flags)));
    }
    if !decision.violations.is_empty() {
        said.push(format!(
            "found in violation of {}",
            quoted_list(&decision.violations)
        ));
    }
    format!(
        "{subject} was {} by {}",
        said.join(", "),
        quoted(&decision.decider)
    )
}

fn context_not_recorded(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let mut told = BTreeSet::new();
    for action in &evidence.joined.actions {
        let Some(at) = evidence.timeline.turn_position(action.turn) else {
            continue;
        };
        if let Some(reason) = &evidence.timeline.turns[at].unknown
            && told.insert(action.turn)
        {
            findings.push(about(
                action,
                FindingKind::ContextNotRecorded,
                Severity::Warning,
                format!("an action was sent at this turn, whose context is not known: {reason}"),
            ));
        }
    }
}

fn call_ids_repeated(actions: &[Action], findings: &mut Vec<Finding>) {
    let mut first: HashMap<&str, u64> = HashMap::new();
    for action in actions {
        let earlier = *first.entry(&action.call_id).or_insert(action.entry);
        if earlier != action.entry {
            findings.push(about(
                action,
                FindingKind::ActionCallIdRepeated,
                Severity::Warning,
                format!(
                    "the call id {} was used before, by entry {earlier}; which result and which decision belong to which call \
                     is taken from their order",
                    quoted(&action.call_id)
                ),
            ));
        }
    }
}

fn against_record(
    actions: &[Action],
    claims: &[ClaimedAction],
    report: u64,
    findings: &mut Vec<Finding>,
) {
    for claim in claims {
        if report::is_recorded(claim, actions, report) == Some(false) {
            findings.push(Finding {
                entry: Some(report),
                ..finding(
                    FindingKind::ReportClaimUnrecorded,
                    Severity::Warning,
                    format!(
                        "the report claims {}, and no call that was recorded before it and not denied bears it out",
                        quoted(&claim.text)
                    ),
                )
            });
        }
    }
    findings.extend(report::omitted(claims, actions, report).map(|action| Finding {
        entry: Some(report),
        ..about(
            action,
            FindingKind::ReportActionOmitted,
            Severity::Warning,
            format!(
                "the report lists the actions taken and leaves out {}, which the declared scope does not permit",
                quoted(&action.tool)
            ),
        )
    }));
}
