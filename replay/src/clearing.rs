//! What a provider cleared from a request before the model read it.
//!
//! The context of such a turn is recorded as the client sent it. An edit that names its parts took those and no others. One that
//! names none may have taken any part of the kind that it clears, so that nothing can be said of what stands there alone.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{ContextMutated, DeclaredFate, Fate, MutationKind, PartKind};

use crate::analysis::{Clearing, ContextPart, Turn};
use crate::context::ContextTimeline;

/// How the edits of the Messages API begin that clear tool results, and reasoning. What follows is the version.
const CLEARS_TOOL_RESULTS: &str = "clear_tool_uses";
const CLEARS_REASONING: &str = "clear_thinking";

/// What an edit cleared from the context of its turn; `None` if it is no edit of that kind, or the context is not known.
pub(crate) fn clearing(
    timeline: &ContextTimeline,
    turn: &Turn,
    mutated: &ContextMutated,
) -> Option<Clearing> {
    if mutated.kind != MutationKind::ServerEdit || turn.unknown.is_some() {
        return None;
    }
    let named = Named::of(&mutated.parts);
    let cleared = positions(timeline, turn, |part| named.holds(timeline, part));
    if !cleared.is_empty() {
        return Some(Clearing {
            cleared,
            possible: Vec::new(),
        });
    }
    let name = mutated.name.as_deref().unwrap_or("");
    let possible = if name.starts_with(CLEARS_TOOL_RESULTS) {
        positions(timeline, turn, |part| part.kind == PartKind::ToolResult)
    } else if name.starts_with(CLEARS_REASONING) {
        older_reasoning(timeline, turn)
    } else {
        return None;
    };
    Some(Clearing { cleared, possible })
}

/// Whether a declared fate takes a part's words away.
pub(crate) fn takes_away(declared: &DeclaredFate) -> bool {
    matches!(
        declared.fate,
        Fate::Stubbed | Fate::Dropped | Fate::Withheld
    )
}

/// The reasoning that may be cleared: an edit keeps that of the newest answer at least.
fn older_reasoning(timeline: &ContextTimeline, turn: &Turn) -> Vec<u32> {
    let is_reasoning = |part: &ContextPart| part.kind == PartKind::Reasoning;
    let newest = turn
        .parts
        .iter()
        .map(|part| timeline.part(part))
        .filter(|part| is_reasoning(part))
        .filter_map(|part| part.message)
        .max();
    positions(timeline, turn, |part| {
        is_reasoning(part) && (part.message.is_none() || part.message != newest)
    })
}

fn positions(
    timeline: &ContextTimeline,
    turn: &Turn,
    is_meant: impl Fn(&ContextPart) -> bool,
) -> Vec<u32> {
    let parts = turn.parts.iter().zip(0u32..);
    parts
        .filter(|(part, _)| is_meant(timeline.part(*part)))
        .map(|(_, position)| position)
        .collect()
}

/// The parts that an edit names as taken away: by their call, or else by their content.
#[derive(Default)]
struct Named<'a> {
    /// By call: whether its result and whether the call itself is meant.
    calls: HashMap<&'a str, (bool, bool)>,
    hashes: HashSet<ContentHash>,
}

impl<'a> Named<'a> {
    fn of(declared: &'a [DeclaredFate]) -> Self {
        let mut named = Self::default();
        for declared in declared.iter().filter(|declared| takes_away(declared)) {
            if let Some(call) = &declared.call_id {
                let kind = declared.part_kind;
                let (result, itself) = named.calls.entry(call).or_default();
                *result |= kind.is_none_or(|kind| kind == PartKind::ToolResult);
                *itself |= kind.is_none_or(|kind| kind == PartKind::ToolCall);
            } else if let Some(hash) = declared.hash {
                named.hashes.insert(hash);
            }
        }
        named
    }

    fn holds(&self, timeline: &ContextTimeline, part: &ContextPart) -> bool {
        let of_call = part
            .call_id
            .as_deref()
            .and_then(|call| self.calls.get(call));
        let by_call = of_call.is_some_and(|&(result, itself)| match part.kind {
            PartKind::ToolResult => result,
            PartKind::ToolCall => itself,
            _ => false,
        });
        by_call || self.hashes.contains(&timeline.contents[part.content].hash)
    }
}

#[cfg(test)]
mod tests;
