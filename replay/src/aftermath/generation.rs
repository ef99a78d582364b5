//! How deep summaries are: a summary of a summary has depth 2.

use std::collections::HashMap;

use remembrancer_schema::payload::PartKind;

use crate::analysis::{Mutation, PartIndex, SummaryPart, Turn};
use crate::context::ContextTimeline;

/// The depth of every summary that a mutation brought, by its content: one that is taken up again, as by a rewind, is as deep
/// as it was.
#[derive(Debug, Default)]
pub(super) struct Depths {
    by_content: HashMap<usize, u32>,
}

impl Depths {
    /// What mutations that are told already say of their summaries.
    pub(super) fn of(timeline: &ContextTimeline, told: &[Mutation]) -> Self {
        let mut depths = Self::default();
        let brought = told
            .iter()
            .flat_map(|mutation| &mutation.aftermath.summaries)
            .filter(|summary| summary.new);
        for summary in brought {
            let content = timeline.part(summary.part).content;
            depths
                .by_content
                .entry(content)
                .or_insert(summary.generation);
        }
        depths
    }

    /// The summaries of the context after a mutation, and the depth of the one that it brought.
    pub(super) fn after(
        &mut self,
        timeline: &ContextTimeline,
        mutation: &Mutation,
        turn: &Turn,
    ) -> (Vec<SummaryPart>, Option<u32>) {
        let is_summary = |part: PartIndex| timeline.part(part).kind == PartKind::Summary;
        let brought: Vec<(u32, usize)> = mutation
            .fates
            .iter()
            .filter(|fate| fate.before.is_none() && is_summary(fate.part))
            .filter_map(|fate| Some((fate.after?, timeline.part(fate.part).content)))
            .collect();
        if !brought.is_empty() {
            // Summaries that come together speak together for what left.
            let deepest = mutation
                .fates
                .iter()
                .filter(|fate| is_summary(fate.part) && fate.replaced_by.is_some_and(is_summary))
                .map(|fate| self.depth(timeline, fate.part))
                .max()
                .unwrap_or(0);
            for &(_, content) in &brought {
                self.by_content
                    .entry(content)
                    .or_insert(deepest.saturating_add(1));
            }
        }
        let summaries = turn
            .parts
            .iter()
            .zip(0u32..)
            .filter(|&(part, _)| is_summary(part))
            .map(|(part, position)| SummaryPart {
                part,
                position,
                generation: self.depth(timeline, part),
                new: brought
                    .binary_search_by_key(&position, |&(at, _)| at)
                    .is_ok(),
            })
            .collect::<Vec<_>>();
        let generation = summaries
            .iter()
            .filter(|summary| summary.new)
            .map(|summary| summary.generation)
            .max();
        (summaries, generation)
    }

    fn depth(&self, timeline: &ContextTimeline, part: PartIndex) -> u32 {
        let content = timeline.part(part).content;
        self.by_content.get(&content).copied().unwrap_or(1)
    }
}
