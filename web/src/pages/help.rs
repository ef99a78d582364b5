//! `/help`: how do I read this?

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use remembrancer_replay::analysis::PresenceState;

use crate::guard::cookie;
use crate::mark::{Mark, mark};
use crate::page::{Page, Shell};
use crate::state::ViewerState;

#[derive(Template)]
#[template(path = "help.html")]
pub(crate) struct HelpView {
    shell: Shell,
    legend: Vec<Mark>,
}

pub(crate) async fn states(State(state): State<ViewerState>, headers: HeaderMap) -> Page<HelpView> {
    let signed_in = cookie(&headers).is_some_and(|secret| state.logins().is_signed_in(secret));
    let shell = if signed_in {
        Shell::of(&state)
    } else {
        Shell::bare()
    };
    Page(HelpView {
        shell,
        legend: PresenceState::ALL.into_iter().map(mark).collect(),
    })
}
