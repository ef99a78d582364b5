//! Calls and their results belong together: which halves a mutation tore apart.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::payload::PartKind;

use crate::analysis::{Action, Orphan, OrphanKind, PartList, Turn};
use crate::context::ContextTimeline;

/// When calls were sent and answered, by id: ledger entries. Of two calls with one id the first counts.
#[derive(Debug, Default)]
pub(super) struct Calls<'a> {
    by_id: HashMap<&'a str, (u64, Option<u64>)>,
}

/// The call ids of one context.
#[derive(Debug, Default)]
struct Halves<'a> {
    calls: HashSet<&'a str>,
    results: HashSet<&'a str>,
}

impl<'a> Halves<'a> {
    fn of(timeline: &'a ContextTimeline, parts: &PartList) -> Self {
        let mut halves = Self::default();
        for index in parts {
            let part = timeline.part(index);
            if let Some(call) = part.call_id.as_deref() {
                match part.kind {
                    PartKind::ToolCall => halves.calls.insert(call),
                    PartKind::ToolResult => halves.results.insert(call),
                    _ => false,
                };
            }
        }
        halves
    }
}

impl<'a> Calls<'a> {
    pub(super) fn of(actions: &'a [Action]) -> Self {
        let mut by_id = HashMap::new();
        for action in actions {
            by_id.entry(action.call_id.as_str()).or_insert((
                action.entry,
                action.returned.as_ref().map(|returned| returned.entry),
            ));
        }
        Self { by_id }
    }

    /// The halves that stand alone in the context after and did not before. A half counts as gone if the context before held
    /// it, or if the record shows that it existed when the request was captured and contexts of this session hold such
    /// parts: an application compacts the request that it is about to send. A stub is still a result.
    pub(super) fn orphans(
        &self,
        timeline: &ContextTimeline,
        before: &Turn,
        turn: &Turn,
    ) -> Vec<Orphan> {
        let (old, new) = (
            Halves::of(timeline, &before.parts),
            Halves::of(timeline, &turn.parts),
        );
        let holds_calls = !old.calls.is_empty() || !new.calls.is_empty();
        let holds_results = !old.results.is_empty() || !new.results.is_empty();
        let existed = |entry: Option<u64>| entry.zip(turn.entry).is_some_and(|(at, now)| at < now);
        let call_left = |call: &str| {
            old.calls.contains(call)
                || !old.results.contains(call)
                    && holds_calls
                    && existed(self.by_id.get(call).map(|&(sent, _)| sent))
        };
        let result_left = |call: &str| {
            old.results.contains(call)
                || !old.calls.contains(call)
                    && holds_results
                    && existed(self.by_id.get(call).and_then(|&(_, returned)| returned))
        };
        let mut orphans = Vec::new();
        for (index, position) in turn.parts.iter().zip(0u32..) {
            let part = timeline.part(index);
            let Some(call) = part.call_id.as_deref() else {
                continue;
            };
            let kind = match part.kind {
                PartKind::ToolResult if !new.calls.contains(call) && call_left(call) => {
                    OrphanKind::Result
                }
                PartKind::ToolCall if !new.results.contains(call) && result_left(call) => {
                    OrphanKind::Call
                }
                _ => continue,
            };
            orphans.push(Orphan {
                kind,
                part: index,
                position,
                call_id: call.to_owned(),
                tool: part.tool.clone(),
            });
        }
        orphans
    }
}
