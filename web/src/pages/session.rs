//! `/sessions/{number}`: what happened here, and did each limit stand in the context when each action was sent?

pub(crate) mod controls;

use askama::Template;
use remembrancer_recorder::SessionSummary;
use remembrancer_replay::Analysis;
use remembrancer_schema::payload::Witness;
use serde::Deserialize;

use crate::error::{Ids, PageError, Params};
use crate::links::Links;
use crate::mark::{Mark, legend};
use crate::markup::Markup;
use crate::matrix::{Matrix, matrix};
use crate::page::{Frame, Page, Shell, count, counted, time, witnesses};
use crate::pages::findings::{self, FindingView};
use crate::state::{Session, View};
use crate::text::line;
use crate::timeline::{self, Folded, timeline};
use crate::verdict::{CAVEAT, first_breach, verdict};
use controls::{ControlsView, controls};

/// Findings on the replay page; the others stand on their own page.
const FINDINGS_MAX: usize = 8;
/// Mutations on the replay page.
const MUTATIONS_MAX: usize = 50;

#[derive(Deserialize)]
pub(crate) struct Shown {
    /// Which stretch of turns to draw, from 1.
    stretch: Option<usize>,
}

#[derive(Template)]
#[template(path = "session.html")]
pub(crate) struct SessionView {
    shell: Shell,
    frame: Frame,
    tone: &'static str,
    sentence: String,
    /// The prohibited action to read first.
    breach: Option<Markup>,
    caveat: &'static str,
    numbers: Vec<(String, &'static str)>,
    facts: Vec<(&'static str, Markup)>,
    labels: Option<Markup>,
    svg: Markup,
    folded: Option<Folded>,
    rows_left_out: usize,
    stretches: Vec<Stretch>,
    matrix: Matrix,
    sizes: Vec<Size>,
    legend: Vec<Mark>,
    findings: Vec<FindingView>,
    findings_more: usize,
    mutations: Vec<MutationRow>,
    mutations_more: usize,
    controls: ControlsView,
    intents: Vec<(Markup, Option<Markup>)>,
    scores: Vec<(Markup, String, Option<Markup>)>,
    parent: Option<Relative>,
    children: Vec<Relative>,
}

/// A stretch of turns that is drawn at a time.
struct Stretch {
    number: usize,
    label: String,
    current: bool,
}

/// One request's size, as a table row.
struct Size {
    turn: u32,
    tokens: String,
    source: &'static str,
    witness: &'static str,
    actions: usize,
}

/// One mutation, as a table row.
pub(crate) struct MutationRow {
    pub(crate) number: usize,
    pub(crate) link: String,
    pub(crate) turn: u32,
    pub(crate) kind: &'static str,
    /// How the contexts on both sides became known, the weaker of both.
    pub(crate) witness: &'static str,
    /// How the declaration became known, where there is one.
    pub(crate) declared: Option<&'static str>,
    pub(crate) size: String,
    pub(crate) disagreements: usize,
    pub(crate) floor: Option<bool>,
}

/// The parent of a session, or one of its sub-agents.
struct Relative {
    number: i64,
    name: Markup,
    actions: String,
}

pub(crate) async fn replay(
    view: View,
    Ids(number): Ids<i64>,
    Params(shown): Params<Shown>,
) -> Result<Page<SessionView>, PageError> {
    let session = view.session(number).await?;
    let analysis = &session.analysis;
    let links = Links::Viewer { session: number };
    let windows = timeline::windows(analysis);
    let stretch = shown.stretch.unwrap_or(1);
    let window = windows
        .get(stretch.wrapping_sub(1))
        .cloned()
        .ok_or(PageError::NotFound("stretch of turns"))?;
    let columns = timeline::columns(analysis, &window);
    let drawing = timeline(analysis, window.clone(), links);
    let verdict = verdict(analysis);
    let (parent, children) = relatives(&view, &session).await?;
    let page = SessionView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "replay"),
        tone: verdict.tone.class(),
        sentence: verdict.sentence,
        breach: first_breach(analysis, links),
        caveat: CAVEAT,
        numbers: numbers(analysis),
        facts: facts(&session),
        labels: labels(analysis),
        svg: drawing.svg,
        folded: drawing.folded,
        rows_left_out: drawing.rows_left_out,
        stretches: if windows.len() > 1 {
            stretches(analysis, &windows, stretch)
        } else {
            Vec::new()
        },
        matrix: matrix(analysis, columns, links),
        sizes: sizes(analysis, window),
        legend: legend(),
        findings: findings::views(analysis, links, FINDINGS_MAX),
        findings_more: analysis.findings.len().saturating_sub(FINDINGS_MAX),
        mutations: mutation_rows(analysis, links).take(MUTATIONS_MAX).collect(),
        mutations_more: analysis.mutations.len().saturating_sub(MUTATIONS_MAX),
        controls: controls(analysis, links),
        intents: intents(analysis),
        scores: scores(analysis),
        parent,
        children,
    };
    Ok(Page(page))
}

/// The three numbers that people ask for.
pub(crate) fn numbers(analysis: &Analysis) -> Vec<(String, &'static str)> {
    let summary = analysis.summary;
    vec![
        (
            format!(
                "{} of {}",
                count(summary.actions_without_trace),
                count(analysis.actions.len() as u64)
            ),
            "actions sent while at least one limit had no textual trace",
        ),
        (
            count(summary.prohibited_without_trace),
            "prohibited actions sent while their own limit had no textual trace",
        ),
        (
            counted(summary.longest_gap_turns, "turn", "turns"),
            "longest stretch during which one limit had no textual trace",
        ),
    ]
}

/// A session's mutations as rows.
pub(crate) fn mutation_rows(
    analysis: &Analysis,
    links: Links,
) -> impl Iterator<Item = MutationRow> {
    analysis
        .mutations
        .iter()
        .enumerate()
        .map(move |(index, mutation)| {
            let budget = &mutation.budget;
            let size = match (budget.counted, budget.tokens_before, budget.tokens_after) {
                (Some(same), _, _) => format!(
                    "{} → {} (same request, {})",
                    count(same.uncompacted),
                    count(same.compacted),
                    same.source.as_str()
                ),
                (None, Some(before), Some(after)) => {
                    format!(
                        "{} → {} (request before → after)",
                        count(before.count),
                        count(after.count)
                    )
                }
                _ => "not known".to_owned(),
            };
            MutationRow {
                number: index + 1,
                link: links.mutation(index),
                turn: mutation.turn,
                kind: mutation.kind.as_str(),
                witness: analysis
                    .witness_across(mutation)
                    .map_or("unknown", Witness::as_str),
                declared: mutation
                    .declared
                    .as_ref()
                    .map(|declared| declared.witness.as_str()),
                size,
                disagreements: mutation.disagreements.len(),
                floor: budget.floor.map(|floor| floor.holds),
            }
        })
}

fn stretches(
    analysis: &Analysis,
    windows: &[std::ops::Range<usize>],
    current: usize,
) -> Vec<Stretch> {
    windows
        .iter()
        .enumerate()
        .map(|(at, window)| {
            let first = analysis
                .turns
                .get(window.start)
                .map_or(0, |turn| turn.number);
            let last = analysis
                .turns
                .get(window.end.saturating_sub(1))
                .map_or(first, |turn| turn.number);
            Stretch {
                number: at + 1,
                label: format!("{first}–{last}"),
                current: at + 1 == current,
            }
        })
        .collect()
}

fn sizes(analysis: &Analysis, window: std::ops::Range<usize>) -> Vec<Size> {
    analysis.turns[window]
        .iter()
        .map(|turn| Size {
            turn: turn.number,
            tokens: turn
                .tokens
                .map_or_else(|| "not known".to_owned(), |tokens| count(tokens.count)),
            source: turn.tokens.map_or("–", |tokens| tokens.source.as_str()),
            witness: turn.witness.as_str(),
            actions: timeline::actions_of(analysis, turn.number).len(),
        })
        .collect()
}

fn facts(session: &Session) -> Vec<(&'static str, Markup)> {
    let overview = &session.analysis.overview;
    let mut facts = Vec::new();
    let mut add = |name, text: Option<&str>| {
        if let Some(text) = text {
            facts.push((name, line(text, 120)));
        }
    };
    add("Agent", overview.agent.as_deref());
    add("Model", overview.model.as_deref());
    add("Outcome as stated", overview.outcome.as_deref());
    add("Taken from", overview.source.as_deref());
    add("Id", Some(session.summary.id.as_str()));
    facts.push((
        "Started",
        time(
            overview
                .started
                .as_deref()
                .unwrap_or(&session.summary.started),
        ),
    ));
    facts.push((
        "Last event",
        time(
            overview
                .last_event
                .as_deref()
                .unwrap_or(&session.summary.last_received),
        ),
    ));
    facts.push(("Witness", line(&witnesses(&session.analysis), 120)));
    facts
}

/// Names and values that sessions are grouped by, in one line: values such as digests are too long for a column.
fn labels(analysis: &Analysis) -> Option<Markup> {
    let labels = &analysis.overview.labels;
    let mut shown = Markup::new();
    for (position, (name, value)) in labels.iter().take(32).enumerate() {
        if position > 0 {
            shown.text(" · ");
        }
        shown
            .push(&line(name, 40))
            .text(" = ")
            .push(&line(value, 80));
    }
    (!labels.is_empty()).then_some(shown)
}

fn intents(analysis: &Analysis) -> Vec<(Markup, Option<Markup>)> {
    analysis
        .overview
        .intents
        .iter()
        .take(20)
        .map(|intent| {
            let by = intent.stated_by.as_ref().map(|by| line(&by.role, 40));
            (line(&intent.objective, 600), by)
        })
        .collect()
}

fn scores(analysis: &Analysis) -> Vec<(Markup, String, Option<Markup>)> {
    analysis
        .overview
        .scores
        .iter()
        .take(50)
        .map(|score| {
            let value = match score.out_of {
                Some(out_of) => format!("{} of {}", score.value, out_of),
                None => score.value.to_string(),
            };
            (
                line(&score.criterion, 120),
                value,
                score.assigned_by.as_deref().map(|by| line(by, 160)),
            )
        })
        .collect()
}

async fn relatives(
    view: &View,
    session: &Session,
) -> Result<(Option<Relative>, Vec<Relative>), PageError> {
    let relative = |summary: SessionSummary| Relative {
        number: summary.number,
        name: line(summary.label.as_deref().unwrap_or(summary.id.as_str()), 80),
        actions: counted(summary.actions, "action", "actions"),
    };
    let parent = match &session.summary.parent {
        Some(parent) => view.source.session_named(parent).await?.map(relative),
        None => None,
    };
    let children = view.source.children(&session.summary.id).await?;
    Ok((
        parent,
        children.into_iter().take(100).map(relative).collect(),
    ))
}
