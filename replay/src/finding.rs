//! What the auditor noticed. Findings inform; they never say that one thing caused another.

mod about_actions;
mod about_aftermath;
mod about_authority;
mod about_contexts;
mod about_controls;
mod about_limits;

use crate::action::Actions;
use crate::analysis::{
    Attribution, Controls, Finding, FindingKind, Mutation, Overview, Presence, Severity,
};
use crate::context::{ContextTimeline, DeclaredConstraint};
use crate::presence::Limited;
use crate::reading::{LeftOut, Reading};

/// Most characters of recorded text that a message quotes.
const QUOTED_CHARS_MAX: usize = 80;

/// Everything that findings are made from.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) left_out: &'a [LeftOut],
    pub(crate) overview: &'a Overview,
    pub(crate) timeline: &'a ContextTimeline,
    pub(crate) mutations: &'a [Mutation],
    pub(crate) constraints: &'a [DeclaredConstraint],
    pub(crate) presence: &'a [Vec<Presence>],
    pub(crate) limited: &'a [Limited],
    pub(crate) controls: &'a Controls,
    pub(crate) attributions: &'a [Attribution],
    pub(crate) joined: &'a Actions,
}

/// Every finding, by turn, then by entry, then by kind; those about no turn come first.
pub(crate) fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    about_actions::collect(evidence, &mut findings);
    about_contexts::collect(evidence, &mut findings);
    about_aftermath::collect(evidence, &mut findings);
    about_controls::collect(evidence, &mut findings);
    about_authority::collect(evidence, &mut findings);
    about_limits::collect(evidence, &mut findings);
    let unread = evidence.reading.unreadable.iter().chain(evidence.left_out);
    findings.extend(unread.map(|left_out| Finding {
        turn: left_out.turn,
        entry: Some(left_out.entry),
        ..finding(
            FindingKind::EntryUnreadable,
            Severity::Warning,
            format!(
                "entry {} is left out of the analysis: {}",
                left_out.entry, left_out.reason
            ),
        )
    }));
    // A stable sort: what is equal here stays in the order in which the rules found it.
    findings.sort_by_key(|finding| (finding.turn, finding.entry, finding.kind.as_str()));
    findings
}

impl Evidence<'_> {
    /// How a constraint stood at a turn.
    fn presence_at(&self, turn: u32, constraint: usize) -> Option<&Presence> {
        self.presence
            .get(self.timeline.turn_position(turn)?)?
            .get(constraint)
    }
}

fn finding(kind: FindingKind, severity: Severity, message: String) -> Finding {
    Finding {
        kind,
        severity,
        turn: None,
        call_id: None,
        constraint: None,
        mutation: None,
        entry: None,
        message,
    }
}

/// Recorded text in a message: shortened, with everything that is not printable escaped.
fn quoted(text: &str) -> String {
    quoted_within(text, QUOTED_CHARS_MAX)
}

fn quoted_within(text: &str, most: usize) -> String {
    let mut start: String = text.chars().take(most).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    format!("{start:?}")
}

fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    texts
        .into_iter()
        .map(|text| quoted(text))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests;
