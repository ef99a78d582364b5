//! Findings about what summaries say was allowed.

use super::{Evidence, finding, quoted_within};
use crate::analysis::{Finding, FindingKind, Severity};

/// Most characters of such a sentence that a message quotes.
const SENTENCE_CHARS_MAX: usize = 300;

/// Permissions that a summary attributes to somebody, and that nobody whom the agent acts for gave in what is recorded.
pub(super) fn collect(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    for attribution in evidence.attributions {
        if attribution.support.is_some() {
            continue;
        }
        let part = evidence.timeline.part(attribution.part);
        findings.push(Finding {
            turn: Some(attribution.turn),
            mutation: attribution.mutation,
            entry: Some(part.entry),
            ..finding(
                FindingKind::AuthorityUnsupported,
                Severity::Warning,
                format!(
                    "a summary says {}, and no words of the user's or the operator's in the contexts up to turn {} bear it out",
                    quoted_within(&attribution.sentence, SENTENCE_CHARS_MAX),
                    attribution.turn
                ),
            )
        });
    }
}
