//! What became of each part between two contexts, derived from the contexts alone.
//!
//! Every position of the context after is accounted for once: by a part that was kept, by the replacement of a part, or by a
//! part that is new. So the fates rebuild the context after from the one before.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::payload::{Fate, MutationKind, PartKind};

use crate::alignment;
use crate::analysis::{Absence, ContextPart, PartFate, PartIndex, PartList};
use crate::context::{ContextTimeline, PartKey};
use crate::repetition::is_repeated;

/// A shorter text says too little to be recognised as one that moved to the end of the context.
const MOVED_BYTES_MIN: u64 = 32;

/// A change that is more than appending.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DerivedChange {
    pub(crate) kind: MutationKind,
    pub(crate) fates: Vec<PartFate>,
}

/// Compares two consecutive contexts; `None` if the one after is the one before with parts appended.
pub(crate) fn derive(
    timeline: &ContextTimeline,
    before: &PartList,
    after: &PartList,
) -> Option<DerivedChange> {
    if after.starts_with(before) {
        return None;
    }
    let (before, after) = (&before.to_vec()[..], &after.to_vec()[..]);
    let comparison = Comparison::new(timeline, before, after);
    let is_growth = comparison.aligned.len() == before.len()
        && comparison.aligned.iter().all(|(old, new)| old == new);
    if is_growth {
        return None;
    }
    let fates = comparison.fates();
    let kind = comparison.kind(&fates);
    Some(DerivedChange { kind, fates })
}

struct Comparison<'a> {
    timeline: &'a ContextTimeline,
    before: &'a [PartIndex],
    after: &'a [PartIndex],
    /// Positions that were kept in order.
    aligned: Vec<(usize, usize)>,
    /// Positions that were kept out of order.
    moved: Vec<(usize, usize)>,
    /// From this position on everything in the context after is new.
    tail: usize,
    /// From this position on new parts are what the turn appended: behind the tail's last summary, which speaks for what
    /// was there before.
    appended_from: usize,
}

impl<'a> Comparison<'a> {
    fn new(timeline: &'a ContextTimeline, before: &'a [PartIndex], after: &'a [PartIndex]) -> Self {
        let keys = |list: &[PartIndex]| -> Vec<PartKey<'a>> {
            list.iter().map(|&index| timeline.key(index)).collect()
        };
        let (old_keys, new_keys) = (keys(before), keys(after));
        let aligned = alignment::align(&old_keys, &new_keys);
        let tail = aligned.last().map_or(0, |&(_, new)| new + 1);
        let mut moved = alignment::moved(&old_keys, &new_keys, &aligned);
        // "continue" said again is not the "continue" of before.
        moved.retain(|&(_, new)| {
            let part = timeline.part(after[new]);
            let bytes = timeline.contents[part.content].bytes.unwrap_or(u64::MAX);
            new < tail || part.call_id.is_some() || bytes >= MOVED_BYTES_MIN
        });
        let tail = moved.iter().map(|&(_, new)| new + 1).fold(tail, usize::max);
        let appended_from = (tail..after.len())
            .rev()
            .find(|&at| timeline.part(after[at]).kind == PartKind::Summary)
            .map_or(tail, |summary| summary + 1);
        Self {
            timeline,
            before,
            after,
            aligned,
            moved,
            tail,
            appended_from,
        }
    }

    fn fates(&self) -> Vec<PartFate> {
        let mut kept_at: Vec<Option<usize>> = vec![None; self.before.len()];
        let mut is_covered = vec![false; self.after.len()];
        for &(old, new) in self.aligned.iter().chain(&self.moved) {
            kept_at[old] = Some(new);
            is_covered[new] = true;
        }
        let stand_ins = self.stand_ins(&kept_at, &is_covered);
        for &(_, new, _) in stand_ins.values() {
            is_covered[new] = true;
        }
        let gone = self.gone_parts(&is_covered);
        let mut fates: Vec<PartFate> = (0..self.before.len())
            .map(|old| match (kept_at[old], stand_ins.get(&old)) {
                (Some(new), _) => self.fate(old, Some(new), Fate::Kept, false),
                (None, Some(&(_, new, fate))) => self.fate(old, Some(new), fate, true),
                (None, None) => {
                    let (fate, stand_in) = gone.fate_of(self, old);
                    self.fate(old, stand_in, fate, stand_in.is_some())
                }
            })
            .collect();
        fates.extend(
            (0..self.after.len())
                .filter(|&new| !is_covered[new])
                .map(|new| self.new_part(new)),
        );
        fates
    }

    fn fate(&self, old: usize, new: Option<usize>, fate: Fate, is_replaced: bool) -> PartFate {
        PartFate {
            part: self.before[old],
            before: Some(position(old)),
            after: new.map(position),
            fate,
            replaced_by: new.filter(|_| is_replaced).map(|new| self.after[new]),
            appended: false,
        }
    }

    /// A part that the context before does not hold. A stub that arrives for a result which was never sent in full is
    /// `stubbed`: its full text was replaced before the model saw it.
    fn new_part(&self, new: usize) -> PartFate {
        let part = self.part_after(new);
        let is_stub = part.stub && part.kind == PartKind::ToolResult;
        PartFate {
            part: self.after[new],
            before: None,
            after: Some(position(new)),
            fate: if is_stub {
                Fate::Stubbed
            } else {
                Fate::Injected
            },
            replaced_by: None,
            appended: new >= self.appended_from && part.kind != PartKind::Memory,
        }
    }

    fn part_before(&self, old: usize) -> &'a ContextPart {
        self.timeline.part(self.before[old])
    }

    fn part_after(&self, new: usize) -> &'a ContextPart {
        self.timeline.part(self.after[new])
    }

    /// Parts whose place another part took: stubs of tool results, and parts whose text is withheld now.
    fn stand_ins(
        &self,
        kept_at: &[Option<usize>],
        is_covered: &[bool],
    ) -> HashMap<usize, (usize, usize, Fate)> {
        let mut free: HashMap<(PartKind, Option<&str>), Vec<usize>> = HashMap::new();
        for new in (0..self.after.len()).rev().filter(|&new| !is_covered[new]) {
            let part = self.part_after(new);
            if part.call_id.is_some() || (new < self.tail && self.is_withheld(part)) {
                free.entry((part.kind, part.call_id.as_deref()))
                    .or_default()
                    .push(new);
            }
        }
        let mut found = HashMap::new();
        for old in (0..self.before.len()).filter(|&old| kept_at[old].is_none()) {
            let part = self.part_before(old);
            let key = (part.kind, part.call_id.as_deref());
            let Some(places) = free.get_mut(&key) else {
                continue;
            };
            let Some(&new) = places.last() else { continue };
            let replacement = self.part_after(new);
            let fate = if self.is_withheld(replacement) && !self.is_withheld(part) {
                Fate::Withheld
            } else if part.kind == PartKind::ToolResult && self.is_stub_of(replacement, part) {
                Fate::Stubbed
            } else {
                continue;
            };
            places.pop();
            found.insert(old, (old, new, fate));
        }
        found
    }

    fn is_withheld(&self, part: &ContextPart) -> bool {
        matches!(
            self.timeline.contents[part.content].absence,
            Some(Absence::Withheld(_))
        )
    }

    /// Marked as a stub, or no more than half as long.
    fn is_stub_of(&self, new: &ContextPart, old: &ContextPart) -> bool {
        let bytes = |part: &ContextPart| self.timeline.contents[part.content].bytes;
        new.stub
            || matches!((bytes(new), bytes(old)), (Some(new), Some(old)) if new.saturating_mul(2) <= old)
    }

    fn gone_parts(&self, is_covered: &[bool]) -> Gone {
        let of_kind = |kind: PartKind| {
            (0..self.after.len()).filter(move |&at| self.part_after(at).kind == kind)
        };
        Gone {
            summary: of_kind(PartKind::Summary).find(|&at| !is_covered[at]),
            // Kept memory counts too: what it repeats has not left with the part that said it first.
            memories: of_kind(PartKind::Memory)
                .map(|at| Memory {
                    at,
                    sources: self.part_after(at).sources.iter().cloned().collect(),
                })
                .collect(),
        }
    }

    fn kind(&self, fates: &[PartFate]) -> MutationKind {
        let is_gone = |fate: &&PartFate| {
            fate.before.is_some()
                && matches!(fate.fate, Fate::Dropped | Fate::Summarised | Fate::Pinned)
        };
        let gone: Vec<&PartFate> = fates.iter().filter(is_gone).collect();
        let has_stubs = fates.iter().any(|fate| fate.fate == Fate::Stubbed);
        let is_withheld = fates.iter().any(|fate| fate.fate == Fate::Withheld);
        let has_new_summary = fates.iter().any(|fate| {
            fate.fate == Fate::Injected && self.timeline.part(fate.part).kind == PartKind::Summary
        });
        let left_something = !gone.is_empty() || has_stubs || is_withheld;
        if has_new_summary && left_something {
            MutationKind::Compaction
        } else if gone.is_empty() && has_stubs && !is_withheld {
            MutationKind::Microcompaction
        } else if gone.is_empty() && self.moved.is_empty() && !is_withheld {
            MutationKind::Injection
        } else if gone.is_empty() || self.is_changed_in_place(fates) {
            MutationKind::Rewrite
        } else if self.is_cleared(fates) {
            MutationKind::Clear
        } else {
            MutationKind::Truncation
        }
    }

    /// Every part that left has one of its kind in its stead.
    fn is_changed_in_place(&self, fates: &[PartFate]) -> bool {
        // Bounds: position in the context after of the last kept part before each place.
        let mut aligned = self.aligned.iter().peekable();
        let mut gap = 0;
        let mut left: HashMap<(usize, PartKind), usize> = HashMap::new();
        for (old, fate) in fates.iter().take(self.before.len()).enumerate() {
            while let Some(&(_, new)) = aligned.next_if(|&&(kept, _)| kept <= old) {
                gap = new + 1;
            }
            if matches!(fate.fate, Fate::Dropped | Fate::Summarised | Fate::Pinned) {
                *left.entry((gap, self.part_before(old).kind)).or_default() += 1;
            }
        }
        let mut aligned = self.aligned.iter().peekable();
        let mut gap = 0;
        for fate in &fates[self.before.len()..] {
            let new = fate.after.unwrap_or(0) as usize;
            while let Some(&(_, kept)) = aligned.next_if(|&&(_, kept)| kept <= new) {
                gap = kept + 1;
            }
            if let Some(count) = left.get_mut(&(gap, self.timeline.part(fate.part).kind)) {
                *count = count.saturating_sub(1);
            }
        }
        left.values().all(|&count| count == 0)
    }

    /// Nothing of the conversation stayed.
    fn is_cleared(&self, fates: &[PartFate]) -> bool {
        let is_conversation = |fate: &&PartFate| {
            let kind = self.timeline.part(fate.part).kind;
            !matches!(kind, PartKind::System | PartKind::ToolSchema)
        };
        fates
            .iter()
            .take(self.before.len())
            .filter(is_conversation)
            .all(|fate| fate.fate == Fate::Dropped)
    }
}

/// The parts that may stand for what is gone: a new summary, and re-supplied material.
struct Gone {
    summary: Option<usize>,
    memories: Vec<Memory>,
}

struct Memory {
    at: usize,
    sources: HashSet<String>,
}

impl Gone {
    fn fate_of(&self, comparison: &Comparison<'_>, old: usize) -> (Fate, Option<usize>) {
        let part = comparison.part_before(old);
        if let Some(text) = comparison.timeline.text(comparison.before[old]) {
            let pinned = self.memories.iter().find(|memory| {
                let is_named = part.kind == PartKind::ToolResult
                    && part
                        .call_id
                        .as_ref()
                        .is_some_and(|call| memory.sources.contains(call));
                // A stub holds nothing of its own: what is pinned is the result that it stands for.
                (part.stub && is_named)
                    || comparison
                        .timeline
                        .text(comparison.after[memory.at])
                        .is_some_and(|memory| is_repeated(text, memory, is_named))
            });
            if let Some(memory) = pinned {
                return (Fate::Pinned, Some(memory.at));
            }
        }
        match self.summary {
            // A summary speaks for the conversation, not for instructions and schemas.
            Some(summary) if !matches!(part.kind, PartKind::System | PartKind::ToolSchema) => {
                (Fate::Summarised, Some(summary))
            }
            _ => (Fate::Dropped, None),
        }
    }
}

fn position(at: usize) -> u32 {
    u32::try_from(at).expect("a context has at most 100,000 parts")
}

#[cfg(test)]
mod tests;
