//! `/`: which session needs me?

use askama::Template;
use remembrancer_recorder::SessionSummary;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::Severity;
use serde::Deserialize;

use crate::error::{PageError, Params};
use crate::guard::percent_encoded;
use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::page::{Page, Shell, count, time, witnesses};
use crate::state::View;
use crate::text::line;
use crate::verdict::{Tone, verdict, worst};

/// Sessions on one page.
const SESSIONS_MAX: u32 = 25;
/// Sessions with more entries are analysed only when they are opened.
const LISTED_ENTRIES_MAX: u64 = 20_000;
/// Most sessions that are analysed for one view of the list; others wait until they are opened.
const ANALYSED_MAX: usize = 10;
/// Longest cursor that is passed on, in bytes.
const CURSOR_BYTES_MAX: usize = 256;

#[derive(Deserialize)]
pub(crate) struct After {
    after: Option<String>,
}

#[derive(Template)]
#[template(path = "sessions.html")]
pub(crate) struct SessionsView {
    shell: Shell,
    rows: Vec<Row>,
    first_page: bool,
    next: Option<String>,
}

struct Row {
    number: i64,
    name: Markup,
    sub_agent: bool,
    agent: Markup,
    started: Markup,
    turns: String,
    actions: String,
    sealed: bool,
    analysed: Option<Analysed>,
    /// The record cannot be read or analysed.
    damaged: bool,
}

/// What only the analysis knows.
struct Analysed {
    mutations: String,
    worst: Option<Mark>,
    tone: &'static str,
    tone_label: &'static str,
    sentence: String,
    witnesses: String,
    alarms: usize,
}

pub(crate) async fn list(
    view: View,
    Params(params): Params<After>,
) -> Result<Page<SessionsView>, PageError> {
    let after = params.after;
    if after
        .as_ref()
        .is_some_and(|after| after.len() > CURSOR_BYTES_MAX)
    {
        return Err(PageError::BadRequest);
    }
    let page = view.source.sessions(after.as_deref(), SESSIONS_MAX).await?;
    let mut rows = Vec::with_capacity(page.items.len());
    let mut may_analyse = ANALYSED_MAX;
    for summary in &page.items {
        rows.push(row(&view, summary, &mut may_analyse).await);
    }
    Ok(Page(SessionsView {
        shell: Shell::of(&view),
        rows,
        first_page: after.is_none(),
        next: page.next.as_deref().map(percent_encoded),
    }))
}

async fn row(view: &View, summary: &SessionSummary, may_analyse: &mut usize) -> Row {
    let mut damaged = false;
    let mut analysed = None;
    if let Some(analysis) = view.kept_analysis(summary) {
        analysed = Some(of_analysis(&analysis));
    } else if summary.entries <= LISTED_ENTRIES_MAX && *may_analyse > 0 {
        *may_analyse -= 1;
        match view.analysis(summary).await {
            Ok(analysis) => analysed = Some(of_analysis(&analysis)),
            // One damaged session must not hide the others.
            Err(error) => {
                tracing::error!(session = %summary.id, %error, "a session could not be read");
                damaged = true;
            }
        }
    }
    Row {
        number: summary.number,
        name: line(summary.label.as_deref().unwrap_or(summary.id.as_str()), 80),
        sub_agent: summary.parent.is_some(),
        agent: summary
            .agent
            .as_deref()
            .map(|agent| line(agent, 40))
            .unwrap_or_default(),
        started: time(&summary.started),
        turns: count(summary.turns),
        actions: count(summary.actions),
        sealed: summary.sealed,
        analysed,
        damaged,
    }
}

fn of_analysis(analysis: &Analysis) -> Analysed {
    let verdict = verdict(analysis);
    Analysed {
        mutations: count(analysis.mutations.len() as u64),
        worst: worst(analysis).map(mark),
        tone: verdict.tone.class(),
        tone_label: match verdict.tone {
            Tone::Alarm => "Alarm",
            Tone::Warning => "Look",
            Tone::Sound => "Sound",
            Tone::Quiet => "Nothing to judge",
        },
        sentence: verdict.sentence,
        witnesses: witnesses(analysis),
        alarms: analysis
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Alarm)
            .count(),
    }
}
