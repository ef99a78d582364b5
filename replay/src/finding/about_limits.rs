//! Findings about what was not looked at.

use super::{Evidence, finding, quoted};
use crate::analysis::{Finding, FindingKind, Severity};
use crate::restatement::COMPARED_MAX;

/// Most texts that are told one by one: a session that is made for it has one for each constraint and message.
const TOLD_MAX: usize = 100;

/// Texts that hold the words of a constraint so often that not every place was compared with it.
pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    for limited in evidence.limited.iter().take(TOLD_MAX) {
        let Some(constraint) = evidence.constraints.get(limited.constraint) else {
            continue;
        };
        let part = evidence.timeline.part(limited.part);
        findings.push(Finding {
            turn: Some(limited.turn),
            entry: Some(part.entry),
            constraint: Some(constraint.declared.id.to_string()),
            ..finding(
                FindingKind::AnalysisLimited,
                Severity::Warning,
                format!(
                    "a {} text of {} estimated tokens, first in the context of turn {}, has {} clauses with the words of {} that \
                     were not compared with it: {COMPARED_MAX} were. Where nothing else settles its presence, that is `opaque`",
                    part.kind.as_str(),
                    part.estimated_tokens,
                    limited.turn,
                    limited.left,
                    quoted(&constraint.declared.text),
                ),
            )
        });
    }
    let more = evidence.limited.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        findings.push(finding(
            FindingKind::AnalysisLimited,
            Severity::Warning,
            format!(
                "{more} more pairs of a text and a constraint were not compared as a whole; {TOLD_MAX} are told"
            ),
        ));
    }
}
