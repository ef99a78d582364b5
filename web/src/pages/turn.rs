//! `/sessions/{number}/turns/{turn}`: what exactly was in the window?

use std::collections::HashSet;

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{PartIndex, Turn};
use remembrancer_schema::payload::{Fate, ProofOutcome};
use serde::Deserialize;

use crate::error::{Ids, PageError, Params};
use crate::links::Links;
use crate::markup::Markup;
use crate::matrix::{Flag, flag};
use crate::page::{Frame, Page, Shell, count, time};
use crate::part::{self, PartView, TextBudget};
use crate::standing::{Standing, standing};
use crate::state::View;
use crate::text::{self, Block, PART_BYTES_FIRST, PART_BYTES_MAX, line};
use crate::timeline::actions_of;

/// Parts on one page.
const PARTS_MAX: usize = 150;

#[derive(Deserialize)]
pub(crate) struct Shown {
    /// The part to show in full, from 1.
    part: Option<usize>,
    /// The first part of the page, from 1.
    from: Option<usize>,
}

#[derive(Template)]
#[template(path = "turn.html")]
pub(crate) struct TurnView {
    shell: Shell,
    frame: Frame,
    turn: u32,
    previous: Option<(u32, String)>,
    next: Option<(u32, String)>,
    facts: Vec<(&'static str, Markup)>,
    unknown: Option<Markup>,
    mutation: Option<(usize, &'static str, String)>,
    rows: Vec<PartRow>,
    part_count: usize,
    first: usize,
    last: usize,
    earlier: Option<usize>,
    later: Option<usize>,
    gone: Vec<PartRow>,
    actions: Vec<ActionRow>,
    standing: Standing,
    response: Option<ResponseView>,
}

/// A part and how it stands to the turn before.
struct PartRow {
    gutter: &'static str,
    change: &'static str,
    change_label: &'static str,
    open: bool,
    part: PartView,
}

struct ActionRow {
    number: usize,
    link: String,
    tool: Markup,
    flag: Option<Flag>,
}

struct ResponseView {
    texts: Vec<Block>,
    texts_left_out: usize,
    facts: Vec<(&'static str, Markup)>,
}

pub(crate) async fn context(
    view: View,
    Ids((number, turn)): Ids<(i64, u32)>,
    Params(shown): Params<Shown>,
) -> Result<Page<TurnView>, PageError> {
    let session = view.session(number).await?;
    let analysis = &session.analysis;
    let links = Links::Viewer { session: number };
    let at = analysis
        .turn_position(turn)
        .ok_or(PageError::NotFound("turn"))?;
    let this = &analysis.turns[at];
    let neighbour = |at: Option<usize>| {
        let turn = analysis.turns.get(at?)?;
        Some((turn.number, links.turn(turn.number)?))
    };
    if shown
        .part
        .is_some_and(|part| part == 0 || part > this.parts.len())
    {
        return Err(PageError::NotFound("part"));
    }
    let wanted = shown.part.or(shown.from).unwrap_or(1).max(1);
    let first = (wanted - 1) / PARTS_MAX * PARTS_MAX;
    if first > 0 && first >= this.parts.len() {
        return Err(PageError::NotFound("part"));
    }
    let mut budget = TextBudget::page();
    let rows = part_rows(analysis, at, first, shown.part, &mut budget);
    let last = first + rows.len();
    let page = TurnView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "turns"),
        turn,
        previous: neighbour(at.checked_sub(1)),
        next: neighbour(Some(at + 1)),
        facts: facts(this),
        unknown: this.unknown.as_deref().map(|why| line(why, 400)),
        mutation: this.mutation.and_then(|index| {
            let mutation = analysis.mutations.get(index)?;
            Some((index + 1, mutation.kind.as_str(), links.mutation(index)))
        }),
        rows,
        part_count: this.parts.len(),
        first: if this.parts.is_empty() { 0 } else { first + 1 },
        last,
        earlier: (first > 0).then(|| first + 1 - PARTS_MAX),
        later: (last < this.parts.len()).then_some(last + 1),
        gone: gone_rows(analysis, at, &mut budget),
        actions: actions_of(analysis, turn)
            .take(300)
            .map(|at| ActionRow {
                number: at + 1,
                link: links.action(at),
                tool: line(&analysis.actions[at].tool, 80),
                flag: flag(analysis, at),
            })
            .collect(),
        standing: standing(analysis, turn, &[], |constraint| {
            links.constraint(constraint)
        }),
        response: response(this),
    };
    Ok(Page(page))
}

fn part_rows(
    analysis: &Analysis,
    at: usize,
    first: usize,
    whole: Option<usize>,
    budget: &mut TextBudget,
) -> Vec<PartRow> {
    let turn = &analysis.turns[at];
    let before = previous(analysis, at);
    let held: HashSet<PartIndex> = before
        .map(|turn| turn.parts.iter().collect())
        .unwrap_or_default();
    let stands_in: HashSet<PartIndex> = turn
        .mutation
        .and_then(|index| analysis.mutations.get(index))
        .map(|mutation| {
            mutation
                .fates
                .iter()
                .filter(|fate| matches!(fate.fate, Fate::Summarised | Fate::Stubbed))
                .filter_map(|fate| fate.replaced_by)
                .collect()
        })
        .unwrap_or_default();
    turn.parts
        .iter()
        .enumerate()
        .skip(first)
        .take(PARTS_MAX)
        .map(|(position, index)| {
            let alone = whole == Some(position + 1);
            let bytes_max = if alone {
                PART_BYTES_MAX
            } else {
                PART_BYTES_FIRST
            };
            let part = if alone {
                part::view(
                    analysis,
                    index,
                    position + 1,
                    bytes_max,
                    &mut TextBudget::whole(),
                )
            } else {
                part::view(analysis, index, position + 1, bytes_max, budget)
            };
            let is_stub = analysis
                .parts
                .get(index as usize)
                .is_some_and(|part| part.stub);
            let (gutter, change, change_label) = if before.is_none() {
                ("+", "new", "first known context")
            } else if held.contains(&index) {
                ("=", "kept", "kept from the turn before")
            } else if is_stub {
                ("~", "stub", "a stub in place of a larger text")
            } else if part.kind == "summary"
                || (stands_in.contains(&index) && part.kind != "memory")
            {
                ("S", "summary", "a summary in place of earlier parts")
            } else {
                ("+", "new", "new at this turn")
            };
            row(
                part,
                gutter,
                change,
                change_label,
                alone || change != "kept",
            )
        })
        .collect()
}

/// The parts of the turn before that are gone.
fn gone_rows(analysis: &Analysis, at: usize, budget: &mut TextBudget) -> Vec<PartRow> {
    let turn = &analysis.turns[at];
    if turn.unknown.is_some() {
        return Vec::new();
    }
    let Some(before) = previous(analysis, at) else {
        return Vec::new();
    };
    let held: HashSet<PartIndex> = turn.parts.iter().collect();
    before
        .parts
        .iter()
        .enumerate()
        .filter(|(_, index)| !held.contains(index))
        .take(PARTS_MAX)
        .map(|(position, index)| {
            let part = part::view(analysis, index, position + 1, PART_BYTES_FIRST / 4, budget);
            row(part, "-", "gone", "gone since the turn before", false)
        })
        .collect()
}

fn row(
    part: PartView,
    gutter: &'static str,
    change: &'static str,
    change_label: &'static str,
    open: bool,
) -> PartRow {
    let whole = part
        .text
        .as_ref()
        .is_some_and(Block::is_cut)
        .then(|| format!("?part={0}#part-{0}", part.position));
    let whole = whole.filter(|_| change != "gone");
    PartRow {
        gutter,
        change,
        change_label,
        open,
        part: PartView { whole, ..part },
    }
}

/// The last turn before whose context is known.
fn previous(analysis: &Analysis, at: usize) -> Option<&Turn> {
    analysis.turns[..at]
        .iter()
        .rev()
        .find(|turn| turn.unknown.is_none())
}

fn facts(turn: &Turn) -> Vec<(&'static str, Markup)> {
    let text = |words: &str| {
        let mut markup = Markup::new();
        markup.text(words);
        markup
    };
    let mut facts = Vec::new();
    if let Some(recorded) = &turn.time {
        facts.push(("Sent", time(recorded)));
    }
    if let Some(tokens) = turn.tokens {
        facts.push((
            "Size",
            text(&format!(
                "{} tokens, {}",
                count(tokens.count),
                tokens.source.as_str()
            )),
        ));
    }
    facts.push(("Witness", text(turn.witness.as_str())));
    if let Some(why) = &turn.incomplete {
        facts.push(("Parts may be missing", line(why, 400)));
    }
    if let Some(proof) = &turn.proof {
        let outcome = match proof.outcome {
            ProofOutcome::Verified => "the rebuilt context has the recorded hash",
            ProofOutcome::VerifiedAfterRestoring => {
                "the rebuilt context has the recorded hash after withheld values were put back"
            }
            ProofOutcome::UnverifiableWithheld => "cannot be checked: the record withholds values",
            ProofOutcome::Mismatch => "the rebuilt context does not have the recorded hash",
        };
        facts.push(("Rebuilt", text(outcome)));
    }
    if let Some(entry) = turn.entry {
        facts.push(("Ledger entry", text(&count(entry))));
    }
    facts
}

fn response(turn: &Turn) -> Option<ResponseView> {
    let response = turn.response.as_ref()?;
    let mut facts = Vec::new();
    let mut add = |name, value: Option<&str>| {
        if let Some(value) = value {
            facts.push((name, line(value, 120)));
        }
    };
    add("Model", response.model.as_deref());
    add("Stopped because", response.stop_reason.as_deref());
    add("Response id", response.response_id.as_deref());
    add("Response witness", Some(response.witness.as_str()));
    let usage = response.usage.as_ref().map(|usage| {
        format!(
            "{} in, {} out",
            count(usage.input_tokens),
            count(usage.output_tokens)
        )
    });
    add("Tokens", usage.as_deref());
    add("Calls", Some(&count(response.calls.len() as u64)));
    Some(ResponseView {
        texts: response
            .text
            .iter()
            .take(20)
            .map(|words| text::block(words, &[], PART_BYTES_FIRST))
            .collect(),
        texts_left_out: response.text.len().saturating_sub(20),
        facts,
    })
}
