//! `/sessions/{number}/findings`: what the auditor noticed.

use askama::Template;
use remembrancer_replay::analysis::Severity;
use remembrancer_replay::{Analysis, FindingPlaces};
use remembrancer_schema::payload::Witness;

use crate::error::{Ids, PageError};
use crate::links::Links;
use crate::markup::Markup;
use crate::page::{Frame, Page, Shell};
use crate::state::View;
use crate::text::line;
use crate::verdict::{is_amiss, state_at};

/// Most findings on one page.
const FINDINGS_MAX: usize = 300;

#[derive(Template)]
#[template(path = "findings.html")]
pub(crate) struct FindingsView {
    shell: Shell,
    frame: Frame,
    findings: Vec<FindingView>,
    left_out: usize,
}

/// One finding, with what it points to.
pub(crate) struct FindingView {
    pub(crate) severity: &'static str,
    pub(crate) glyph: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) message: Markup,
    /// How the context that it is about became known.
    pub(crate) context_witness: Option<&'static str>,
    /// How the action that it is about became known.
    pub(crate) action_witness: Option<&'static str>,
    pub(crate) links: Vec<(String, String)>,
}

pub(crate) async fn list(
    view: View,
    Ids(number): Ids<i64>,
) -> Result<Page<FindingsView>, PageError> {
    let session = view.session(number).await?;
    let links = Links::Viewer { session: number };
    Ok(Page(FindingsView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "findings"),
        findings: views(&session.analysis, links, FINDINGS_MAX),
        left_out: session.analysis.findings.len().saturating_sub(FINDINGS_MAX),
    }))
}

/// The gravest findings first, otherwise in their order.
pub(crate) fn views(analysis: &Analysis, links: Links, count_max: usize) -> Vec<FindingView> {
    let places = FindingPlaces::of(analysis);
    let mut findings: Vec<_> = analysis.findings.iter().collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
        .into_iter()
        .take(count_max)
        .map(|finding| {
            let action = places.action(finding);
            let constraint = finding.constraint.as_deref().and_then(|id| {
                analysis
                    .constraints
                    .iter()
                    .position(|constraint| constraint.id == id)
            });
            let (severity, glyph) = severity(finding.severity);
            let mut to = Vec::new();
            if let (Some(action), Some(constraint)) = (action, constraint) {
                let turn = analysis.actions[action].turn;
                let is_amiss = is_amiss(state_at(analysis, turn, constraint));
                to.push((
                    "evidence".to_owned(),
                    links.evidence(action, constraint, is_amiss),
                ));
            }
            if let Some(action) = action {
                to.push((format!("action {}", action + 1), links.action(action)));
            }
            let turn = finding
                .turn
                .filter(|&turn| analysis.turn_position(turn).is_some());
            if let Some((turn, link)) = turn.and_then(|turn| Some((turn, links.turn(turn)?))) {
                to.push((format!("turn {turn}"), link));
            }
            if let Some(mutation) = finding.mutation.filter(|&at| at < analysis.mutations.len()) {
                to.push((
                    format!("mutation {}", mutation + 1),
                    links.mutation(mutation),
                ));
            }
            if let Some(constraint) = constraint {
                to.push(("constraint".to_owned(), links.constraint(constraint)));
            }
            FindingView {
                severity,
                glyph,
                kind: finding.kind.as_str(),
                message: line(&finding.message, 600),
                context_witness: places.context_witness(finding).map(Witness::as_str),
                action_witness: places.action_witness(finding).map(Witness::as_str),
                links: to,
            }
        })
        .collect()
}

fn severity(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Alarm => ("alarm", "▲"),
        Severity::Warning => ("warning", "△"),
        Severity::Notice => ("notice", "·"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_finding_leads_to_its_action_even_if_the_call_id_was_used_again() {
        let mut analysis = Fixture::new(str::to_owned).first().clone();
        for at in [3, 7, 9] {
            analysis.actions[at].call_id = "again".to_owned();
        }
        analysis.findings.truncate(1);
        let links = Links::Viewer { session: 1 };
        let leads_to = |entry: Option<u64>, call: Option<&str>| {
            let mut analysis = analysis.clone();
            analysis.findings[0].entry = entry;
            analysis.findings[0].call_id = call.map(str::to_owned);
            let shown = views(&analysis, links, 1).remove(0).links;
            let action = shown
                .into_iter()
                .find(|(name, _)| name.starts_with("action"));
            action.map(|(_, link)| link)
        };
        for at in [3, 7, 9] {
            let entry = Some(analysis.actions[at].entry);
            let link = Some(format!("/sessions/1/actions/{}", at + 1));
            assert_eq!(leads_to(entry, Some("again")), link);
        }
        let first = Some("/sessions/1/actions/4".to_owned());
        assert_eq!(leads_to(None, Some("again")), first);
        assert_eq!(leads_to(Some(1), Some("again")), first);
        assert_eq!(leads_to(Some(1), Some("never sent")), None);
        assert_eq!(leads_to(Some(1), None), None);
    }
}
