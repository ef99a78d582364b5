//! The parts of both contexts, grouped by what became of them.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Mutation, PartFate};
use remembrancer_schema::payload::Fate;

use crate::page::{count, counted};
use crate::part::{self, PartView, TextBudget};

/// Parts shown of each group.
const GROUP_PARTS_MAX: usize = 60;
/// Bytes of a part's text shown here; the turn's page has more.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// Parts that share a fate.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) gloss: &'static str,
    pub(crate) class: &'static str,
    pub(crate) gutter: &'static str,
    pub(crate) tokens: String,
    pub(crate) count: usize,
    /// Position of what stands in the place of all of them, in the context after.
    pub(crate) replaced: Option<u32>,
    pub(crate) parts: Vec<FatePart>,
    pub(crate) left_out: usize,
}

/// One part within a group.
pub(crate) struct FatePart {
    pub(crate) part: PartView,
    /// Position of what stands in its place, where the group's parts do not share one.
    pub(crate) replaced: Option<u32>,
}

/// The parts of the context before, and those of the context after, by what became of them.
pub(super) fn groups(
    analysis: &Analysis,
    mutation: &Mutation,
    budget: &mut TextBudget,
) -> (Vec<Group>, Vec<Group>) {
    let before = [
        (
            Fate::Dropped,
            "Dropped",
            "gone, with nothing in their place",
            "dropped",
            "-",
        ),
        (
            Fate::Summarised,
            "Summarised",
            "gone, with a summary in their place",
            "summarised",
            "S",
        ),
        (
            Fate::Stubbed,
            "Stubbed",
            "replaced by a short pointer",
            "stubbed",
            "~",
        ),
        (
            Fate::Pinned,
            "Pinned",
            "repeated word for word as re-supplied material",
            "pinned",
            "P",
        ),
        (
            Fate::Withheld,
            "Withheld",
            "removed because they may not be kept",
            "withheld",
            "W",
        ),
        (
            Fate::Kept,
            "Kept",
            "still there, word for word",
            "kept",
            "=",
        ),
    ];
    let left = before
        .into_iter()
        .filter_map(|(fate, title, gloss, class, gutter)| {
            let fates: Vec<&PartFate> = mutation
                .fates
                .iter()
                .filter(|part| part.fate == fate)
                .collect();
            group(
                analysis,
                &fates,
                (title, gloss, class, gutter),
                budget,
                |fate| fate.before,
            )
        })
        .collect();
    let replacements = replacements(mutation);
    // What stands in place of others is listed as that, and not a second time as new.
    let stands_in = |part: &PartFate| {
        let same = |other: &PartFate| (other.part, other.after) == (part.part, part.after);
        replacements.iter().any(same)
    };
    let injected = |appended: bool| -> Vec<&PartFate> {
        mutation
            .fates
            .iter()
            .filter(|part| part.fate == Fate::Injected && part.appended == appended)
            .filter(|part| !stands_in(part))
            .collect()
    };
    let replaced: Vec<&PartFate> = replacements.iter().collect();
    let after = [
        (
            replaced,
            (
                "In place of others",
                "summaries, stubs and pinned parts",
                "summarised",
                "S",
            ),
        ),
        (
            injected(false),
            ("Injected", "new, and not at the end", "injected", "+"),
        ),
        (
            injected(true),
            (
                "Appended",
                "new at the end, as in any turn",
                "appended",
                "+",
            ),
        ),
    ];
    let right = after
        .into_iter()
        .filter_map(|(fates, words)| group(analysis, &fates, words, budget, |fate| fate.after))
        .collect();
    (left, right)
}

/// What the provider cleared from the turn's request, and what it may have; and how many parts stayed, in words.
pub(super) fn cleared(
    analysis: &Analysis,
    mutation: &Mutation,
    budget: &mut TextBudget,
) -> Option<(Vec<Group>, String)> {
    let clearing = mutation.clearing.as_ref()?;
    let turn = &analysis.turns[analysis.turn_position(mutation.turn)?];
    let fates = |positions: &[u32]| -> Vec<PartFate> {
        let parts = positions
            .iter()
            .filter_map(|&position| Some((turn.parts.get(position as usize)?, position)));
        parts
            .map(|(part, position)| PartFate {
                part,
                before: Some(position),
                after: None,
                fate: Fate::Stubbed,
                replaced_by: None,
                appended: false,
            })
            .collect()
    };
    let groups = [
        (
            fates(&clearing.cleared),
            (
                "Cleared",
                "sent, and replaced by a placeholder before the model read them",
                "stubbed",
                "~",
            ),
        ),
        (
            fates(&clearing.possible),
            (
                "May have been cleared",
                "sent; the provider does not tell which of them it cleared",
                "withheld",
                "?",
            ),
        ),
    ];
    let groups = groups.into_iter().filter_map(|(fates, words)| {
        let fates: Vec<&PartFate> = fates.iter().collect();
        group(analysis, &fates, words, budget, |fate| fate.before)
    });
    let gone = clearing.cleared.len() + clearing.possible.len();
    let stayed = turn.parts.len().saturating_sub(gone) as u64;
    Some((
        groups.collect(),
        counted(stayed, "other part", "other parts"),
    ))
}

/// What stands in for parts of the context before, each once, in order.
fn replacements(mutation: &Mutation) -> Vec<PartFate> {
    let mut seen = std::collections::BTreeMap::new();
    for fate in &mutation.fates {
        if let Some(part) = fate.replaced_by {
            seen.entry((fate.after.unwrap_or(u32::MAX), part))
                .or_insert_with(|| PartFate {
                    part,
                    before: None,
                    after: fate.after,
                    fate: fate.fate,
                    replaced_by: None,
                    appended: false,
                });
        }
    }
    seen.into_values().collect()
}

fn group(
    analysis: &Analysis,
    fates: &[&PartFate],
    (title, gloss, class, gutter): (&'static str, &'static str, &'static str, &'static str),
    budget: &mut TextBudget,
    position: fn(&PartFate) -> Option<u32>,
) -> Option<Group> {
    if fates.is_empty() {
        return None;
    }
    let tokens = fates
        .iter()
        .filter_map(|fate| analysis.parts.get(fate.part as usize))
        .fold(0u64, |sum, part| sum.saturating_add(part.estimated_tokens));
    let replacement = |fate: &PartFate| fate.replaced_by.and(fate.after).map(|after| after + 1);
    let shared = match fates {
        [first, rest @ ..] if !rest.is_empty() => {
            let first = replacement(first);
            first.filter(|_| rest.iter().all(|fate| replacement(fate) == first))
        }
        _ => None,
    };
    let parts = fates
        .iter()
        .take(GROUP_PARTS_MAX)
        .map(|fate| FatePart {
            part: part::view(
                analysis,
                fate.part,
                position(fate).map_or(0, |position| position as usize + 1),
                TEXT_BYTES_MAX,
                budget,
            ),
            replaced: replacement(fate).filter(|_| shared.is_none()),
        })
        .collect();
    Some(Group {
        title,
        gloss,
        class,
        gutter,
        tokens: count(tokens),
        count: fates.len(),
        replaced: shared,
        parts,
        left_out: fates.len().saturating_sub(GROUP_PARTS_MAX),
    })
}

#[cfg(test)]
mod tests {
    use remembrancer_replay::analysis::Clearing;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn what_a_provider_cleared_is_listed_with_what_it_may_have_and_what_stayed() {
        let mut analysis = Fixture::new(str::to_owned).first().clone();
        let mut mutation = analysis.mutations[0].clone();
        assert!(cleared(&analysis, &mutation, &mut TextBudget::page()).is_none());
        mutation.clearing = Some(Clearing {
            cleared: vec![1],
            possible: vec![0, 2],
        });
        let turn = analysis.turn_position(mutation.turn).expect("a turn");
        let parts = analysis.turns[turn].parts.len();
        assert!(parts > 3);
        let mut budget = TextBudget::page();
        let (groups, stayed) = cleared(&analysis, &mutation, &mut budget).expect("it is told");
        let listed: Vec<(&str, Vec<usize>)> = groups
            .iter()
            .map(|group| {
                let parts = group.parts.iter().map(|item| item.part.position);
                (group.title, parts.collect())
            })
            .collect();
        let expected = [("Cleared", vec![2]), ("May have been cleared", vec![1, 3])];
        assert_eq!(listed, expected);
        assert_eq!(
            stayed,
            counted(parts as u64 - 3, "other part", "other parts")
        );
        analysis.turns.clear();
        assert!(cleared(&analysis, &mutation, &mut budget).is_none());
    }
}
