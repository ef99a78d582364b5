//! `/sessions/{number}/integrity`: can I trust this record?

use askama::Template;

use crate::error::{Ids, PageError};
use crate::integrity::{self, Report};
use crate::page::{Frame, Page, Shell};
use crate::source::SourceError;
use crate::state::View;

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
    view: View,
    Ids(number): Ids<i64>,
) -> Result<Page<IntegrityView>, PageError> {
    let summary = view.summary(number).await?;
    // The panel is what remains when a record is too damaged for an analysis.
    let analysis = view.analysis(&summary).await.ok();
    let turn = view
        .analyses
        .turn(&summary.id)
        .await
        .map_err(SourceError::from)?;
    let report = integrity::check(&view.source, &summary).await?;
    drop(turn);
    Ok(Page(IntegrityView {
        shell: Shell::of(&view),
        frame: Frame::around(&summary, analysis.as_deref(), "integrity"),
        report,
        checked_at: jiff::Timestamp::now()
            .strftime("%Y-%m-%d %H:%M:%S UTC")
            .to_string(),
        fingerprint: view.source.public_key().fingerprint(),
    }))
}
