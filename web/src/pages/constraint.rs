//! `/sessions/{number}/constraints/{constraint}`: when did this rule live, and when did it leave?

use std::collections::BTreeSet;

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::PresenceState;
use remembrancer_schema::payload::Witness;
use serde::Deserialize;

use crate::error::{Ids, PageError, Params};
use crate::links::Links;
use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::page::{Frame, Page, Shell, count, counted, witness_names};
use crate::pages::evidence::declaration;
use crate::state::View;
use crate::text::{self, Block, line};
use crate::timeline::actions_of;
use crate::verdict::state_at;

/// Turns on one page.
const TURNS_MAX: usize = 300;

#[derive(Deserialize)]
pub(crate) struct Shown {
    /// The first turn of the page, counted from 1.
    from: Option<usize>,
}

#[derive(Template)]
#[template(path = "constraint.html")]
pub(crate) struct ConstraintView {
    shell: Shell,
    frame: Frame,
    name: Markup,
    name_plain: String,
    kind: &'static str,
    limit: bool,
    statement: Block,
    stated_by: Option<Markup>,
    matcher: Markup,
    entry: String,
    /// How its declaration became known.
    witness: &'static str,
    sentence: String,
    previous: Option<String>,
    next: Option<String>,
    turns: Vec<Moment>,
    earlier: Option<usize>,
    later: Option<usize>,
    stretches: Vec<Stretch>,
}

/// One turn of its life.
struct Moment {
    turn: u32,
    link: Option<String>,
    mark: Mark,
    mutation: Option<(usize, String)>,
    actions: Vec<(usize, String, bool)>,
    actions_left_out: usize,
}

/// Consecutive turns in the same state.
struct Stretch {
    mark: Mark,
    first: u32,
    last: u32,
    turns: usize,
    /// How the contexts of these turns became known.
    witnesses: BTreeSet<Witness>,
}

impl Stretch {
    fn witnesses(&self) -> String {
        witness_names(self.witnesses.iter().copied())
    }
}

pub(crate) async fn lifeline(
    view: View,
    Ids((number, constraint)): Ids<(i64, usize)>,
    Params(shown): Params<Shown>,
) -> Result<Page<ConstraintView>, PageError> {
    let session = view.session(number).await?;
    let analysis = &session.analysis;
    let links = Links::Viewer { session: number };
    let missing = || PageError::NotFound("constraint");
    let index = constraint.checked_sub(1).ok_or_else(missing)?;
    let declared = analysis.constraints.get(index).ok_or_else(missing)?;
    let first = (shown.from.unwrap_or(1).max(1) - 1) / TURNS_MAX * TURNS_MAX;
    if first > 0 && first >= analysis.turns.len() {
        return Err(PageError::NotFound("turn"));
    }
    let turns = moments(analysis, index, first, links);
    let last = first + turns.len();
    Ok(Page(ConstraintView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "replay"),
        name: line(&declared.id, 128),
        name_plain: text::plain(&declared.id, 80),
        kind: declared.kind.as_str(),
        limit: declared.is_limit(),
        statement: text::block(&declared.text, &[], text::PART_BYTES_FIRST),
        stated_by: declaration(declared),
        matcher: line(&declared.matcher, 600),
        entry: count(declared.entry),
        witness: declared.witness.as_str(),
        sentence: sentence(analysis, index),
        previous: index.checked_sub(1).map(|index| links.constraint(index)),
        next: (index + 1 < analysis.constraints.len()).then(|| links.constraint(index + 1)),
        turns,
        earlier: (first > 0).then(|| first + 1 - TURNS_MAX),
        later: (last < analysis.turns.len()).then_some(last + 1),
        stretches: stretches(analysis, index)
            .into_iter()
            .take(TURNS_MAX)
            .collect(),
    }))
}

fn sentence(analysis: &Analysis, constraint: usize) -> String {
    let sent = analysis.actions.len() as u64;
    let states: Vec<PresenceState> = analysis
        .actions
        .iter()
        .filter_map(|action| state_at(analysis, action.turn, constraint))
        .collect();
    let total = states.len() as u64;
    let present = states.iter().filter(|state| state.is_present()).count() as u64;
    let before = match sent - total {
        0 => String::new(),
        1 => " 1 action was sent before it was declared and is not counted.".to_owned(),
        before => format!(
            " {} actions were sent before it was declared and are not counted.",
            count(before)
        ),
    };
    match (sent, total) {
        (0, _) => "No action was recorded, so there is nothing that it could bear on.".to_owned(),
        (_, 0) => format!("No action was sent after it was declared.{before}"),
        _ => format!(
            "It stood in the context, verbatim or matched, when {} of {} {} sent.{before}",
            count(present),
            counted(total, "action", "actions"),
            if total == 1 { "was" } else { "were" }
        ),
    }
}

fn moments(analysis: &Analysis, constraint: usize, first: usize, links: Links) -> Vec<Moment> {
    analysis
        .turns
        .iter()
        .skip(first)
        .take(TURNS_MAX)
        .map(|turn| {
            let actions = actions_of(analysis, turn.number);
            Moment {
                turn: turn.number,
                link: links.turn(turn.number),
                mark: mark(state_at(analysis, turn.number, constraint)),
                mutation: turn
                    .mutation
                    .map(|index| (index + 1, links.mutation(index))),
                actions_left_out: actions.len().saturating_sub(12),
                actions: actions
                    .take(12)
                    .map(|at| {
                        let broken = analysis.actions[at].breaks.contains(&constraint);
                        (at + 1, links.evidence(at, constraint, false), broken)
                    })
                    .collect(),
            }
        })
        .collect()
}

fn stretches(analysis: &Analysis, constraint: usize) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for turn in &analysis.turns {
        let mark = mark(state_at(analysis, turn.number, constraint));
        match stretches.last_mut() {
            Some(stretch) if stretch.mark == mark => {
                stretch.last = turn.number;
                stretch.turns += 1;
                stretch.witnesses.insert(turn.witness);
            }
            _ => stretches.push(Stretch {
                mark,
                first: turn.number,
                last: turn.number,
                turns: 1,
                witnesses: BTreeSet::from([turn.witness]),
            }),
        }
    }
    stretches
}
