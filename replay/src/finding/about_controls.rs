//! Findings about the presence checks themselves.

use super::{Evidence, finding, quoted};
use crate::analysis::{Finding, FindingKind, Severity};

/// A statement that nobody made and that was found: the words of an analysis were copied into its session, or the checks
/// find what is not there.
pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    for control in &evidence.controls.never_stated {
        let Some(found) = control.found else { continue };
        let entry = found
            .part
            .and_then(|part| evidence.timeline.parts.get(part as usize))
            .map(|part| part.entry);
        findings.push(Finding {
            turn: Some(found.turn),
            entry,
            ..finding(
                FindingKind::ControlFailed,
                Severity::Alarm,
                format!(
                    "the negative control failed: {}, which nobody stated, came out as {}. Unless the words of this control were \
                     copied into the session, no presence of this session can be relied on",
                    quoted(&control.text),
                    found.state.as_str()
                ),
            )
        });
    }
}
