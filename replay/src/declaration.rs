//! The comparison of what an application says of a mutation with what the contexts show.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{DeclaredFate, Fate, PartKind};

use crate::analysis::{Disagreement, PartFate, PartIndex};
use crate::context::ContextTimeline;

/// Compares a declaration's account, part by part. `fates` are those of the parts before and of the new parts.
pub(crate) fn compare(
    timeline: &ContextTimeline,
    declared: &[DeclaredFate],
    fates: &[PartFate],
    after: &[PartIndex],
) -> Vec<Disagreement> {
    let context = Contexts {
        timeline,
        fates,
        after,
    };
    // Several declarations may name one part: it is enough if one of them is right.
    let mut said: BTreeMap<usize, Vec<&DeclaredFate>> = BTreeMap::new();
    let mut disagreements = Vec::new();
    for declaration in declared {
        let places = context.named(declaration);
        if places.is_empty() {
            disagreements.extend(context.judge_unsent(declaration));
        }
        for place in places {
            said.entry(place).or_default().push(declaration);
        }
    }
    for (place, declarations) in &said {
        let derived = &fates[*place];
        if !declarations
            .iter()
            .any(|said| agrees(said.fate, derived.fate))
        {
            disagreements.push(Disagreement {
                part: Some(derived.part),
                declared: Some(declarations[0].fate),
                derived: Some(derived.fate),
                message: format!(
                    "declared {}, but it is {} in the context after",
                    declarations[0].fate.as_str(),
                    shown(derived.fate)
                ),
            });
        }
    }
    if !declared.is_empty() {
        disagreements.extend(context.unmentioned(&said));
    }
    disagreements
}

/// Whether a disagreement means that more stayed than was said; the other way round less stayed.
pub(crate) fn is_understated(disagreement: &Disagreement) -> bool {
    matches!(
        (disagreement.declared, disagreement.derived),
        (
            Some(Fate::Dropped | Fate::Summarised | Fate::Stubbed | Fate::Withheld),
            Some(Fate::Kept | Fate::Pinned)
        )
    )
}

/// Whether a disagreement means that less stayed than was said.
pub(crate) fn is_overstated(disagreement: &Disagreement) -> bool {
    let claims = |fate| !matches!(fate, Fate::Dropped | Fate::Withheld);
    disagreement.declared.is_some_and(claims)
        && !matches!(
            disagreement.derived,
            Some(Fate::Kept | Fate::Pinned | Fate::Injected)
        )
}

/// Whether a declared fate is true of what happened. Words that stand on in pinned material are as good as kept; a part that
/// is gone may be called summarised or withheld only where something stands in for it.
fn agrees(declared: Fate, derived: Fate) -> bool {
    match declared {
        Fate::Kept | Fate::Pinned => matches!(derived, Fate::Kept | Fate::Pinned),
        Fate::Dropped => !matches!(derived, Fate::Kept | Fate::Pinned),
        Fate::Withheld => !matches!(derived, Fate::Kept | Fate::Pinned),
        Fate::Summarised => matches!(derived, Fate::Summarised | Fate::Pinned),
        Fate::Stubbed => derived == Fate::Stubbed,
        Fate::Injected => matches!(derived, Fate::Injected | Fate::Stubbed),
    }
}

fn shown(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "still there word for word",
        Fate::Dropped => "gone",
        Fate::Summarised => "gone, with a summary in its place",
        Fate::Stubbed => "replaced by a stub",
        Fate::Pinned => "repeated in re-supplied material",
        Fate::Injected => "new",
        Fate::Withheld => "withheld",
    }
}

struct Contexts<'a> {
    timeline: &'a ContextTimeline,
    fates: &'a [PartFate],
    after: &'a [PartIndex],
}

impl Contexts<'_> {
    /// Positions in `fates` of the parts that a declaration names: of the context before, for `injected` of the new parts,
    /// and for `stubbed` of both, because a result may be stubbed before it was ever sent in full.
    fn named(&self, declaration: &DeclaredFate) -> Vec<usize> {
        let fits = |fate: &PartFate| match declaration.fate {
            Fate::Injected => fate.before.is_none(),
            Fate::Stubbed => fate.before.is_some() || fate.fate == Fate::Stubbed,
            _ => fate.before.is_some(),
        };
        let place = |fate: &PartFate| match declaration.fate {
            Fate::Injected => fate.after,
            _ => fate.before,
        };
        self.fates
            .iter()
            .enumerate()
            .filter(|(_, fate)| fits(fate) && self.is_meant(declaration, fate.part, place(fate)))
            .map(|(at, _)| at)
            .collect()
    }

    /// Whether a declaration names a part: every way of naming that it uses must fit, and it must use one.
    fn is_meant(
        &self,
        declaration: &DeclaredFate,
        index: PartIndex,
        position: Option<u32>,
    ) -> bool {
        let part = self.timeline.part(index);
        let by_hash = declaration
            .hash
            .map(|hash| self.timeline.contents[part.content].hash == hash);
        let by_call = declaration.call_id.as_ref().map(|call| {
            part.call_id.as_ref() == Some(call)
                && declaration.part_kind.map_or(
                    matches!(part.kind, PartKind::ToolCall | PartKind::ToolResult),
                    |kind| part.kind == kind,
                )
        });
        let by_position = declaration.position.map(|at| position == Some(at));
        let named: Vec<bool> = [by_hash, by_call, by_position]
            .into_iter()
            .flatten()
            .collect();
        !named.is_empty() && named.into_iter().all(|holds| holds)
    }

    /// Judges a declaration about a part that no earlier request held. An application compacts the request that it is about
    /// to send, so such parts exist; only the context after can speak for or against what is said of them.
    fn judge_unsent(&self, declaration: &DeclaredFate) -> Option<Disagreement> {
        let found = self
            .after
            .iter()
            .zip(0u32..)
            .find(|&(&index, position)| {
                let position = (declaration.fate == Fate::Injected).then_some(position);
                self.is_meant(declaration, index, position)
            })
            .map(|(&index, _)| index);
        let is_claimed_present =
            matches!(declaration.fate, Fate::Kept | Fate::Pinned | Fate::Injected);
        let (part, derived, message) = match found {
            None if declaration.position.is_some() && declaration.fate != Fate::Injected => (
                None,
                None,
                "the declaration names a position that the context before does not have".to_owned(),
            ),
            None if is_claimed_present || declaration.fate == Fate::Stubbed => (
                None,
                Some(Fate::Dropped),
                format!(
                    "declared {}, but it is in neither context",
                    declaration.fate.as_str()
                ),
            ),
            Some(part) if declaration.fate == Fate::Injected => (
                Some(part),
                Some(Fate::Kept),
                "declared injected, but the context before holds it already".to_owned(),
            ),
            Some(part) if !is_claimed_present => (
                Some(part),
                Some(Fate::Kept),
                format!(
                    "declared {}, but the context after holds it",
                    declaration.fate.as_str()
                ),
            ),
            _ => return None,
        };
        Some(Disagreement {
            part,
            declared: Some(declaration.fate),
            derived,
            message,
        })
    }

    /// Parts that left without a word in a declaration that names parts.
    fn unmentioned(&self, said: &BTreeMap<usize, Vec<&DeclaredFate>>) -> Vec<Disagreement> {
        self.fates
            .iter()
            .enumerate()
            .filter(|(at, fate)| {
                fate.before.is_some() && fate.fate != Fate::Kept && !said.contains_key(at)
            })
            .map(|(_, fate)| Disagreement {
                part: Some(fate.part),
                declared: None,
                derived: Some(fate.fate),
                message: format!(
                    "the declaration does not mention that it is {}",
                    shown(fate.fate)
                ),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
