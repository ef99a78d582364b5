//! What a mutation left behind, and what the presence checks say of its summary.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{
    Aftermath, Anatomy, Attribution, EmptiedSummary, Orphan, OrphanKind, RepeatedCall,
};

use super::Change;
use crate::links::Links;
use crate::mark::mark;
use crate::markup::Markup;
use crate::page::count;
use crate::text::line;

/// Most entries of each list.
const LISTED_MAX: usize = 50;

/// What a mutation left behind.
pub(super) struct AftermathView {
    pub(super) facts: Vec<String>,
    pub(super) anatomy: Vec<(&'static str, String)>,
    pub(super) told: Option<String>,
    pub(super) orphans: Vec<Markup>,
    pub(super) orphans_more: u64,
    pub(super) repeated: Vec<Repeated>,
    pub(super) repeated_more: u64,
}

/// A call that was sent again.
pub(super) struct Repeated {
    pub(super) turn: u32,
    pub(super) link: Option<String>,
    pub(super) tool: Markup,
    pub(super) earlier_turn: u32,
    pub(super) earlier_link: Option<String>,
    pub(super) fate: &'static str,
}

/// What the checks say once the summary is emptied.
pub(super) struct ControlView {
    pub(super) says_nothing: bool,
    pub(super) sentence: String,
    pub(super) changed: Vec<Change>,
    pub(super) cannot_fail: Vec<Markup>,
}

/// A sentence of the summary that says somebody allowed something.
pub(super) struct AttributionView {
    pub(super) sentence: Markup,
    pub(super) is_borne_out: bool,
    pub(super) words: Option<Markup>,
}

pub(super) fn aftermath(aftermath: &Aftermath, links: Links) -> AftermathView {
    let mut facts = Vec::new();
    if let Some(generation) = aftermath.generation {
        facts.push(match generation {
            1 => "Its summary is of recorded parts: generation 1.".to_owned(),
            deeper => format!(
                "Its summary stands in for parts among which a summary was: generation {deeper}."
            ),
        });
    }
    if let Some(growth) = aftermath.growth {
        facts.push(format!(
            "The request did not shrink: {} tokens became {} ({}).",
            count(growth.before),
            count(growth.after),
            growth.source.as_str()
        ));
    }
    if aftermath.compacted_again {
        facts.push("The very next request was compacted again.".to_owned());
    }
    let orphans = aftermath.orphans.len().min(LISTED_MAX);
    let repeated = aftermath.repeated_calls.len().min(LISTED_MAX);
    AftermathView {
        facts,
        anatomy: aftermath.anatomy.as_ref().map(anatomy).unwrap_or_default(),
        told: aftermath
            .anatomy
            .and_then(|anatomy| anatomy.told)
            .map(|told| format!("{} tokens, {}", count(told.count), told.source.as_str())),
        orphans: aftermath.orphans[..orphans].iter().map(orphan).collect(),
        orphans_more: aftermath.orphan_count.saturating_sub(orphans as u64),
        repeated: aftermath.repeated_calls[..repeated]
            .iter()
            .map(|call| repetition(call, links))
            .collect(),
        repeated_more: aftermath
            .repeated_call_count
            .saturating_sub(repeated as u64),
    }
}

fn anatomy(anatomy: &Anatomy) -> Vec<(&'static str, String)> {
    [
        ("Fixed overhead", anatomy.fixed_overhead),
        ("Kernel: the task and its limits", anatomy.kernel),
        ("Pinned", anatomy.pinned),
        ("Summary", anatomy.summary),
        ("Recent", anatomy.recent),
        ("Stubs", anatomy.stubs),
        ("All parts", anatomy.total),
    ]
    .map(|(name, tokens)| (name, count(tokens)))
    .to_vec()
}

fn orphan(orphan: &Orphan) -> Markup {
    let mut shown = Markup::new();
    shown
        .text(match orphan.kind {
            OrphanKind::Result => "Result without its call: ",
            OrphanKind::Call => "Call without its result: ",
        })
        .push(&line(orphan.tool.as_deref().unwrap_or(""), 60))
        .text(" ")
        .push(&line(&orphan.call_id, 80))
        .text(format!(", position {}", orphan.position + 1));
    shown
}

fn repetition(call: &RepeatedCall, links: Links) -> Repeated {
    Repeated {
        turn: call.turn,
        link: links.turn(call.turn),
        tool: line(&call.tool, 60),
        earlier_turn: call.earlier_turn,
        earlier_link: links.turn(call.earlier_turn),
        fate: call.fate.as_str(),
    }
}

pub(super) fn control(analysis: &Analysis, mutation: usize, links: Links) -> Option<ControlView> {
    let is_its = |control: &&EmptiedSummary| control.mutation == mutation;
    let control = analysis.controls.emptied.iter().find(is_its)?;
    let name = |constraint: usize| {
        analysis
            .constraints
            .get(constraint)
            .map(|constraint| line(&constraint.id, 80))
    };
    Some(ControlView {
        says_nothing: control.says_nothing,
        sentence: control.in_words(),
        changed: control
            .changed
            .iter()
            .take(LISTED_MAX)
            .filter_map(|changed| {
                Some(Change {
                    name: name(changed.constraint)?,
                    link: links.constraint(changed.constraint),
                    kind: analysis.constraints.get(changed.constraint)?.kind.as_str(),
                    before: mark(changed.with),
                    after: mark(changed.without),
                })
            })
            .collect(),
        cannot_fail: control
            .supplied
            .iter()
            .take(LISTED_MAX)
            .filter_map(|&constraint| name(constraint))
            .collect(),
    })
}

pub(super) fn attributions(analysis: &Analysis, mutation: usize) -> Vec<AttributionView> {
    analysis
        .attributions
        .iter()
        .filter(|attribution| attribution.mutation == Some(mutation))
        .take(LISTED_MAX)
        .map(|attribution| AttributionView {
            sentence: line(&attribution.sentence, 400),
            is_borne_out: attribution.support.is_some(),
            words: words(analysis, attribution),
        })
        .collect()
}

/// The words that bear a sentence out.
fn words(analysis: &Analysis, attribution: &Attribution) -> Option<Markup> {
    let support = attribution.support?;
    let text = analysis.content_of(support.part)?.text.as_deref()?;
    let (start, end) = support.range;
    text.get(start..end).map(|words| line(words, 200))
}
