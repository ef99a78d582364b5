//! The controls of the presence checks, in short.

use remembrancer_replay::Analysis;

use crate::links::Links;
use crate::markup::Markup;
use crate::text::line;

/// Most summaries, and most constraints, that are listed.
const LISTED_MAX: usize = 20;

/// What the checks say where they cannot say anything.
pub(crate) struct ControlsView {
    pub(crate) emptied: Vec<(String, String)>,
    pub(crate) emptied_more: usize,
    pub(crate) cannot_fail: Vec<Markup>,
    pub(crate) cannot_fail_more: usize,
    pub(crate) never_stated: Vec<(Markup, Option<String>)>,
}

pub(crate) fn controls(analysis: &Analysis, links: Links) -> ControlsView {
    let controls = &analysis.controls;
    ControlsView {
        emptied: controls
            .emptied
            .iter()
            .take(LISTED_MAX)
            .map(|control| (links.mutation(control.mutation), control.in_words()))
            .collect(),
        emptied_more: controls.emptied.len().saturating_sub(LISTED_MAX),
        cannot_fail: controls
            .cannot_fail
            .iter()
            .take(LISTED_MAX)
            .filter_map(|&constraint| analysis.constraints.get(constraint))
            .map(|constraint| line(&constraint.id, 80))
            .collect(),
        cannot_fail_more: controls.cannot_fail.len().saturating_sub(LISTED_MAX),
        never_stated: controls
            .never_stated
            .iter()
            .map(|control| {
                let found = control.found.map(|found| {
                    format!("found at turn {} as {}", found.turn, found.state.as_str())
                });
                (line(&control.text, 120), found)
            })
            .collect(),
    }
}
