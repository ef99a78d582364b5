//! The page of a bundle: one file that shows the replay of a session without a server, a network or a script.
//!
//! It holds no time of its making, so that the same record gives the same bytes.

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::bundle::ReportFacts;

use crate::assets::STYLESHEET;
use crate::links::Links;
use crate::mark::{Mark, legend, mark};
use crate::markup::Markup;
use crate::matrix::{Flag, Matrix, flag, matrix};
use crate::page::{count, time, witnesses};
use crate::pages::evidence::{self, Card};
use crate::pages::findings::{self, FindingView};
use crate::pages::session::controls::{ControlsView, controls};
use crate::pages::session::{MutationRow, mutation_rows, numbers};
use crate::text::{self, Block, LINE_CHARS_MAX, line, plain};
use crate::timeline::{self, Folded, timeline};
use crate::verdict::{CAVEAT, first_breach, rows, state_at, verdict};

/// Most evidence cards in a report.
const CARDS_MAX: usize = 500;
/// Most findings and mutations in a report, each.
const LISTED_MAX: usize = 500;
/// Most actions in a report's list.
const ACTIONS_MAX: usize = 2_000;
/// Most stretches of turns in a report, each with its drawing and its table.
const STRETCHES_MAX: usize = 40;

/// Stylesheet of the file, as it stands between `<style>` and `</style>`.
struct Style(&'static str);

impl std::fmt::Display for Style {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// It is a constant of this crate; a test holds that nothing in it ends the element.
impl askama::filters::HtmlSafe for Style {}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportView<'a> {
    style: Style,
    name: Markup,
    name_plain: String,
    session: String,
    tone: &'static str,
    sentence: String,
    breach: Option<Markup>,
    caveat: &'static str,
    numbers: Vec<(String, &'static str)>,
    facts: Vec<(&'static str, Markup)>,
    stretches: Vec<Stretch>,
    stretches_left_out: usize,
    legend: Vec<Mark>,
    findings: Vec<FindingView>,
    findings_left_out: usize,
    mutations: Vec<MutationView>,
    controls: ControlsView,
    constraints: Vec<ConstraintView>,
    actions: Vec<ActionView>,
    actions_left_out: usize,
    cards: Vec<Card>,
    cards_left_out: usize,
    input: ReportFacts<'a>,
    entries: String,
    sealed: bool,
    version: &'static str,
}

/// Some turns: the drawing and the table.
struct Stretch {
    label: String,
    svg: Markup,
    folded: Option<Folded>,
    matrix: Matrix,
}

struct MutationView {
    row: MutationRow,
    changes: Vec<(Markup, Mark, Mark)>,
    summary: Option<Block>,
}

struct ConstraintView {
    number: usize,
    name: Markup,
    kind: &'static str,
    statement: Block,
}

struct ActionView {
    number: usize,
    turn: u32,
    tool: Markup,
    flag: Option<Flag>,
}

/// Renders a session's report. The same analysis and input give the same bytes.
pub fn render_report(
    analysis: &Analysis,
    input: &ReportFacts<'_>,
) -> Result<String, askama::Error> {
    let links = Links::Report;
    let overview = &analysis.overview;
    let label = overview.label.as_deref().unwrap_or(&overview.session);
    let verdict = verdict(analysis);
    let windows = timeline::windows(analysis);
    let (cards, cards_left_out) = cards(analysis, links);
    let view = ReportView {
        style: Style(STYLESHEET),
        name: line(label, LINE_CHARS_MAX),
        name_plain: plain(label, 80),
        session: plain(&overview.session, LINE_CHARS_MAX),
        tone: verdict.tone.class(),
        sentence: verdict.sentence,
        breach: first_breach(analysis, links),
        caveat: CAVEAT,
        numbers: numbers(analysis),
        facts: facts(analysis),
        stretches_left_out: windows.len().saturating_sub(STRETCHES_MAX),
        stretches: windows
            .into_iter()
            .take(STRETCHES_MAX)
            .map(|window| stretch(analysis, window, links))
            .collect(),
        legend: legend(),
        findings: findings::views(analysis, links, LISTED_MAX),
        findings_left_out: analysis.findings.len().saturating_sub(LISTED_MAX),
        mutations: mutations(analysis, links),
        controls: controls(analysis, links),
        constraints: constraints(analysis),
        actions: actions(analysis),
        actions_left_out: analysis.actions.len().saturating_sub(ACTIONS_MAX),
        cards,
        cards_left_out,
        input: *input,
        entries: count(overview.entries),
        sealed: overview.sealed,
        version: env!("CARGO_PKG_VERSION"),
    };
    view.render()
}

fn stretch(analysis: &Analysis, window: std::ops::Range<usize>, links: Links) -> Stretch {
    let first = analysis
        .turns
        .get(window.start)
        .map_or(0, |turn| turn.number);
    let last = analysis
        .turns
        .get(window.end.saturating_sub(1))
        .map_or(first, |turn| turn.number);
    let columns = timeline::columns(analysis, &window);
    let drawing = timeline(analysis, window, links);
    Stretch {
        label: format!("Turns {first} to {last}"),
        svg: drawing.svg,
        folded: drawing.folded,
        matrix: matrix(analysis, columns, links),
    }
}

/// The evidence of the cells in which a constraint is not present; of the rest, the table says enough.
fn cards(analysis: &Analysis, links: Links) -> (Vec<Card>, usize) {
    let mut cells = timeline::reported_cells(analysis);
    let total = cells.len();
    cells.truncate(CARDS_MAX);
    let cards = cells
        .into_iter()
        .filter_map(|(action, constraint)| evidence::of_cell(analysis, action, constraint, links))
        .collect();
    (cards, total.saturating_sub(CARDS_MAX))
}

fn facts(analysis: &Analysis) -> Vec<(&'static str, Markup)> {
    let overview = &analysis.overview;
    let mut facts = Vec::new();
    for (name, value) in [
        ("Agent", &overview.agent),
        ("Model", &overview.model),
        ("Outcome as stated", &overview.outcome),
        ("Taken from", &overview.source),
    ] {
        if let Some(value) = value {
            facts.push((name, line(value, 120)));
        }
    }
    for (name, value) in [
        ("Started", &overview.started),
        ("Last event", &overview.last_event),
    ] {
        if let Some(value) = value {
            facts.push((name, time(value)));
        }
    }
    facts.push(("Witness", line(&witnesses(analysis), 120)));
    facts
}

fn mutations(analysis: &Analysis, links: Links) -> Vec<MutationView> {
    mutation_rows(analysis, links)
        .zip(&analysis.mutations)
        .take(LISTED_MAX)
        .map(|(row, mutation)| MutationView {
            row,
            changes: rows(analysis)
                .into_iter()
                .filter_map(|constraint| {
                    // A declaration in between is not the mutation's doing.
                    let was = state_at(analysis, mutation.previous_turn?, constraint)?;
                    let is = state_at(analysis, mutation.turn, constraint)?;
                    let name = line(&analysis.constraints[constraint].id, 80);
                    (was != is).then(|| (name, mark(was), mark(is)))
                })
                .collect(),
            summary: mutation
                .declared
                .as_ref()
                .and_then(|declared| declared.summary.as_ref())
                .map(|summary| text::block(&summary.text, &[], 8 * 1024)),
        })
        .collect()
}

fn constraints(analysis: &Analysis) -> Vec<ConstraintView> {
    analysis
        .constraints
        .iter()
        .enumerate()
        .take(LISTED_MAX)
        .map(|(index, constraint)| ConstraintView {
            number: index + 1,
            name: line(&constraint.id, 128),
            kind: constraint.kind.as_str(),
            statement: text::block(&constraint.text, &[], 4 * 1024),
        })
        .collect()
}

fn actions(analysis: &Analysis) -> Vec<ActionView> {
    analysis
        .actions
        .iter()
        .enumerate()
        .take(ACTIONS_MAX)
        .map(|(index, action)| ActionView {
            number: index + 1,
            turn: action.turn,
            tool: line(&action.tool, 80),
            flag: flag(analysis, index),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use scraper::{Html, Selector};

    use super::*;
    use crate::fixture::Fixture;

    const INPUT: ReportFacts<'static> = ReportFacts {
        origin: "ledger.example/fixture",
        fingerprint: "00ff",
        checkpoint: "ledger.example/fixture\n60\nAAAA\n",
        head: "abcdef",
    };

    #[test]
    fn a_report_is_whole_and_the_same_each_time() {
        let report = || {
            let fixture = Fixture::new(str::to_owned);
            render_report(fixture.first(), &INPUT).expect("renders")
        };
        let html = report();
        assert_eq!(html, report());
        let dom = Html::parse_document(&html);
        let all = |selector: &str| {
            let selector = Selector::parse(selector).expect("a selector");
            dom.select(&selector)
                .map(|element| element.value().clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (
                all("h1").len(),
                all("svg.timeline").len(),
                all("script, link, img").len()
            ),
            (1, 1, 0)
        );
        assert!(
            all("meta[http-equiv]")[0]
                .attr("content")
                .is_some_and(|policy| policy.starts_with("default-src 'none'"))
        );
        assert_eq!(all(".controls li").len(), 4);
        assert!(html.contains("openssl pkeyutl -verify") && html.contains("AAAA"));
        let fixture = Fixture::new(str::to_owned);
        assert_eq!(
            all(".evidence").len(),
            timeline::reported_cells(fixture.first()).len()
        );
        let ids: std::collections::BTreeSet<String> = all("[id]")
            .iter()
            .filter_map(|element| element.attr("id").map(str::to_owned))
            .collect();
        assert_eq!(ids.len(), all("[id]").len(), "each id once");
        for link in all("a[href]") {
            let target = link.attr("href").unwrap_or_default();
            assert!(
                target.strip_prefix('#').is_some_and(|id| ids.contains(id)),
                "{target}"
            );
        }
    }

    #[test]
    fn hostile_text_stays_text_in_a_report() {
        let fixture =
            Fixture::new(|text| format!("{text}</style><script>alert(1)</script>\u{202e}\""));
        let html = render_report(fixture.first(), &INPUT).expect("renders");
        assert!(!html.contains("<script") && !html.contains('\u{202e}'));
        assert_eq!(html.matches("</style>").count(), 1);
        assert!(
            !STYLESHEET.contains('<')
                && !STYLESHEET.contains("@import")
                && !STYLESHEET.contains("url(")
        );
    }
}
