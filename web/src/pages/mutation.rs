//! `/sessions/{number}/mutations/{mutation}`: what did it take away?

mod aftermath;
mod budget;
mod fates;

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::Mutation;
use remembrancer_schema::payload::{Fate, Witness};

use crate::error::{Ids, PageError};
use crate::links::Links;
use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::page::{Frame, Page, Shell, count};
use crate::part::TextBudget;
use crate::state::View;
use crate::text::{self, Block, line};
use crate::verdict::{rows, state_at};

use aftermath::{AftermathView, AttributionView, ControlView, aftermath, attributions, control};
use budget::{BudgetRow, budget_rows};
use fates::{Group, cleared, groups};

#[derive(Template)]
#[template(path = "mutation.html")]
pub(crate) struct MutationView {
    shell: Shell,
    frame: Frame,
    number: usize,
    of: usize,
    turn: u32,
    turn_link: Option<String>,
    before: Option<(u32, Option<String>)>,
    kind: &'static str,
    witness_before: &'static str,
    witness_after: &'static str,
    previous: Option<String>,
    next: Option<String>,
    declared: Option<DeclaredView>,
    derived: bool,
    /// What the provider cleared from the request, and how many parts stayed.
    cleared: Option<(Vec<Group>, String)>,
    left: Vec<Group>,
    right: Vec<Group>,
    disagreements: Vec<DisagreementView>,
    budget: Vec<BudgetRow>,
    floor: Option<FloorView>,
    changes: Vec<Change>,
    aftermath: AftermathView,
    control: Option<ControlView>,
    attributions: Vec<AttributionView>,
}

struct DeclaredView {
    facts: Vec<(&'static str, Markup)>,
    summary: Option<Block>,
    fault: Option<Markup>,
}

struct DisagreementView {
    part: Option<Markup>,
    declared: &'static str,
    derived: &'static str,
    message: Markup,
}

struct FloorView {
    holds: bool,
    trigger: String,
    required: String,
}

/// A constraint whose state changed.
struct Change {
    name: Markup,
    link: String,
    kind: &'static str,
    before: Mark,
    after: Mark,
}

pub(crate) async fn change(
    view: View,
    Ids((number, mutation)): Ids<(i64, usize)>,
) -> Result<Page<MutationView>, PageError> {
    let session = view.session(number).await?;
    let analysis = &session.analysis;
    let links = Links::Viewer { session: number };
    let missing = || PageError::NotFound("mutation");
    let index = mutation.checked_sub(1).ok_or_else(missing)?;
    let mutation = analysis.mutations.get(index).ok_or_else(missing)?;
    let witness = |turn: Option<u32>| {
        let witness = turn.and_then(|turn| analysis.witness_of(turn));
        witness.map_or("unknown", Witness::as_str)
    };
    let mut budget = TextBudget::page();
    let cleared = cleared(analysis, mutation, &mut budget);
    let (left, right) = groups(analysis, mutation, &mut budget);
    Ok(Page(MutationView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "replay"),
        number: index + 1,
        of: analysis.mutations.len(),
        turn: mutation.turn,
        turn_link: analysis
            .turn_position(mutation.turn)
            .and_then(|_| links.turn(mutation.turn)),
        before: mutation.previous_turn.map(|turn| (turn, links.turn(turn))),
        kind: mutation.kind.as_str(),
        witness_before: witness(mutation.previous_turn),
        witness_after: witness(Some(mutation.turn)),
        previous: index.checked_sub(1).map(|index| links.mutation(index)),
        next: (index + 1 < analysis.mutations.len()).then(|| links.mutation(index + 1)),
        declared: declared(mutation),
        derived: !mutation.fates.is_empty(),
        cleared,
        left,
        right,
        disagreements: disagreements(analysis, mutation),
        budget: budget_rows(&mutation.budget, mutation),
        floor: mutation.budget.floor.map(|floor| FloorView {
            holds: floor.holds,
            trigger: count(floor.trigger),
            required: count(floor.required),
        }),
        changes: changes(analysis, mutation, links),
        aftermath: aftermath(&mutation.aftermath, links),
        control: control(analysis, index, links),
        attributions: attributions(analysis, index),
    }))
}

fn declared(mutation: &Mutation) -> Option<DeclaredView> {
    let declared = mutation.declared.as_ref()?;
    let mut facts = Vec::new();
    let mut add = |name, value: &str| facts.push((name, line(value, 200)));
    if let Some(name) = &declared.name {
        add("Called", name);
    }
    add("Kind as stated", declared.kind.as_str());
    add("Witness", declared.witness.as_str());
    if let Some(trigger) = &declared.trigger {
        if let Some(cause) = &trigger.cause {
            add("Cause", cause);
        }
        if let Some(tokens) = trigger.threshold_tokens {
            add("Threshold", &format!("{} tokens", count(tokens)));
        }
        if let Some(tokens) = trigger.observed_tokens {
            add("Observed", &format!("{} tokens", count(tokens)));
        }
    }
    if let Some(summary) = &declared.summary {
        if let Some(model) = &summary.model {
            add("Summarizer", model);
        }
        if let (Some(read), Some(written)) = (summary.input_tokens, summary.output_tokens) {
            add(
                "Summarizer's tokens",
                &format!("{} read, {} written", count(read), count(written)),
            );
        }
    }
    if !declared.withheld.is_empty() {
        let names: Vec<&str> = declared
            .withheld
            .iter()
            .take(20)
            .map(String::as_str)
            .collect();
        add("Values withheld", &names.join(", "));
    }
    add("Ledger entry", &count(declared.entry));
    Some(DeclaredView {
        facts,
        summary: declared
            .summary
            .as_ref()
            .map(|summary| text::block(&summary.text, &[], text::PART_BYTES_FIRST)),
        fault: declared
            .injected_fault
            .as_deref()
            .map(|fault| line(fault, 400)),
    })
}

fn disagreements(analysis: &Analysis, mutation: &Mutation) -> Vec<DisagreementView> {
    let fate = |fate: Option<Fate>| fate.map_or("not said", Fate::as_str);
    mutation
        .disagreements
        .iter()
        .take(100)
        .map(|disagreement| DisagreementView {
            part: disagreement
                .part
                .and_then(|part| analysis.content_of(part)?.text.as_deref())
                .map(|words| line(words, 80)),
            declared: fate(disagreement.declared),
            derived: fate(disagreement.derived),
            message: line(&disagreement.message, 400),
        })
        .collect()
}

/// The constraints that stood otherwise after a mutation than before it.
fn changes(analysis: &Analysis, mutation: &Mutation, links: Links) -> Vec<Change> {
    let Some(before) = mutation.previous_turn else {
        return Vec::new();
    };
    rows(analysis)
        .into_iter()
        .filter_map(|constraint| {
            // A declaration in between is not the mutation's doing.
            let was = state_at(analysis, before, constraint)?;
            let is = state_at(analysis, mutation.turn, constraint)?;
            (was != is).then(|| Change {
                name: line(&analysis.constraints[constraint].id, 80),
                link: links.constraint(constraint),
                kind: analysis.constraints[constraint].kind.as_str(),
                before: mark(was),
                after: mark(is),
            })
        })
        .collect()
}
