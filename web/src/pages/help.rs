//! `/help`: how do I read this?

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;

use crate::mark::{Mark, legend};
use crate::page::{Page, Shell};
use crate::state::ViewerState;

#[derive(Template)]
#[template(path = "help.html")]
pub(crate) struct HelpView {
    shell: Shell,
    legend: Vec<Mark>,
}

pub(crate) async fn states(State(state): State<ViewerState>, headers: HeaderMap) -> Page<HelpView> {
    // Help is there also when a ledger is not.
    let view = state.view(&headers).await.ok().flatten();
    let shell = view.as_ref().map_or_else(Shell::bare, Shell::of);
    Page(HelpView {
        shell,
        legend: legend(),
    })
}
