//! `/sessions/{number}/integrity`: can I trust this record?

use askama::Template;
use axum::extract::State;

use crate::error::{Ids, PageError};
use crate::integrity::{self, Report};
use crate::page::{Frame, Page, Shell};
use crate::state::ViewerState;

#[derive(Template)]
#[template(path = "integrity.html")]
pub(crate) struct IntegrityView {
    shell: Shell,
    frame: Frame,
    report: Report,
    checked_at: String,
    fingerprint: String,
}

pub(crate) async fn panel(
    State(state): State<ViewerState>,
    Ids(number): Ids<i64>,
) -> Result<Page<IntegrityView>, PageError> {
    let summary = state.summary(number).await?;
    // The panel is what remains when a record is too damaged for an analysis.
    let analysis = state.analyses.get(&state.source, &summary).await.ok();
    let turn = state.analyses.turn(&summary.id).await?;
    let report = integrity::check(&state.source, &summary).await?;
    drop(turn);
    Ok(Page(IntegrityView {
        shell: Shell::of(&state),
        frame: Frame::around(&summary, analysis.as_deref(), "integrity"),
        report,
        checked_at: jiff::Timestamp::now()
            .strftime("%Y-%m-%d %H:%M:%S UTC")
            .to_string(),
        fingerprint: state.source.public_key().fingerprint(),
    }))
}
