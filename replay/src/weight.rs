//! How much memory an analysis takes, roughly: what a bounded cache has to know.

use std::collections::HashSet;
use std::mem::size_of;
use std::sync::Arc;

use crate::Analysis;
use crate::analysis::{
    Action, Alteration, Constraint, ConstraintIndex, Content, ContextPart, Decision,
    EmptiedSummary, Evidence, Finding, Mutation, PartFate, Presence, Reason, Response, Returned,
    Turn,
};

/// Bytes that an analysis holds: its texts and the elements of its lists. Short names are not counted one by one. An alteration
/// that the evidence of many turns shares is counted once.
pub fn bytes_held(analysis: &Analysis) -> usize {
    size_of::<Analysis>()
        + sum(&analysis.contents, |content: &Content| {
            content.text.as_ref().map_or(0, |text| text.len())
        })
        + sum(&analysis.constraints, |constraint: &Constraint| {
            constraint.text.len() + constraint.matcher.len()
        })
        + sum(&analysis.parts, |part: &ContextPart| {
            text(part.name.as_ref()) + text(part.call_id.as_ref()) + text(part.tool.as_ref())
        })
        + sum(&analysis.turns, of_turn)
        + sum(&analysis.mutations, of_mutation)
        + sum(&analysis.controls.emptied, of_control)
        + sum(&analysis.attributions, |attribution| {
            attribution.sentence.len()
        })
        + sum(&analysis.actions, of_action)
        + of_rows(&analysis.presence)
        + sum(&analysis.findings, |finding: &Finding| {
            finding.message.len()
        })
}

fn of_turn(turn: &Turn) -> usize {
    let of_response = |response: &Response| {
        sum(&response.text, |text: &String| text.len())
            + sum(&response.calls, |call| call.call_id.len() + call.tool.len())
    };
    turn.parts.bytes()
        + text(turn.unknown.as_ref())
        + text(turn.incomplete.as_ref())
        + turn.response.as_ref().map_or(0, of_response)
}

fn of_mutation(mutation: &Mutation) -> usize {
    let summary = mutation
        .declared
        .as_ref()
        .and_then(|declared| declared.summary.as_ref());
    mutation.fates.len() * size_of::<PartFate>()
        + sum(&mutation.disagreements, |disagreement| {
            disagreement.message.len()
        })
        + mutation.clearing.as_ref().map_or(0, |clearing| {
            size_of_val(clearing.cleared.as_slice()) + size_of_val(clearing.possible.as_slice())
        })
        + sum(&mutation.aftermath.summaries, |_| 0)
        + sum(&mutation.aftermath.orphans, |orphan| orphan.call_id.len())
        + sum(&mutation.aftermath.repeated_calls, |call| {
            call.call_id.len() + call.earlier_call_id.len() + call.tool.len()
        })
        + summary.map_or(0, |summary| summary.text.len())
}

fn of_control(control: &EmptiedSummary) -> usize {
    let listed = control.supplied.len() + control.elsewhere.len() + control.absent.len();
    size_of_val(control.changed.as_slice()) + listed * size_of::<ConstraintIndex>()
}

fn of_action(action: &Action) -> usize {
    let returned = action.returned.as_ref();
    action.call_id.len()
        + action.tool.len()
        + text(action.target.as_ref())
        + text(action.arguments.as_ref())
        + action.effects.bytes()
        + returned.map_or(0, beyond_returned)
        + sum(&action.decisions, beyond_decision)
}

/// A result that is held by itself.
pub(crate) fn of_returned(returned: &Returned) -> usize {
    size_of::<Returned>() + beyond_returned(returned)
}

fn beyond_returned(returned: &Returned) -> usize {
    text(returned.result.as_ref()) + text(returned.effect.as_ref())
}

/// A decision that is held by itself.
pub(crate) fn of_decision(decision: &Decision) -> usize {
    size_of::<Decision>() + beyond_decision(decision)
}

fn beyond_decision(decision: &Decision) -> usize {
    let named = |list: &[String]| sum(list, String::len);
    decision.decider.len()
        + named(&decision.flags)
        + named(&decision.violations)
        + text(decision.reason.as_ref())
}

/// The rows of a matrix of presence. What cells share is counted once.
pub(crate) fn of_rows(rows: &[Vec<Presence>]) -> usize {
    let mut shared = Shared::default();
    sum(rows, |cells: &Vec<Presence>| {
        sum(cells, |cell| shared.of_cell(cell))
    })
}

/// What was counted already, by its address.
#[derive(Default)]
struct Shared {
    counted: HashSet<*const ()>,
}

impl Shared {
    fn is_new<T: ?Sized>(&mut self, held: &Arc<T>) -> bool {
        self.counted.insert(Arc::as_ptr(held).cast())
    }

    fn of_cell(&mut self, cell: &Presence) -> usize {
        let reason = match &cell.reason {
            Some(Reason::Words(words)) if self.is_new(words) => words.len(),
            _ => 0,
        };
        let places = cell.evidence.shared();
        if places.is_empty() || !self.is_new(places) {
            return reason;
        }
        let mut bytes = reason + size_of_val::<[_]>(places);
        for place in places.iter() {
            if self.is_new(place) {
                bytes += size_of::<Evidence>() + text(place.note.as_ref());
                bytes += match &place.alteration {
                    Some(alteration) if self.is_new(alteration) => of_alteration(alteration),
                    _ => 0,
                };
            }
        }
        bytes
    }
}

/// An alteration with its texts.
pub(crate) fn of_alteration(alteration: &Alteration) -> usize {
    size_of::<Alteration>()
        + alteration.declared.len()
        + alteration.said.len()
        + alteration.difference.len()
}

/// The elements of a list themselves, and what each of them points to.
fn sum<T>(list: &[T], beyond: impl FnMut(&T) -> usize) -> usize {
    size_of_val(list) + list.iter().map(beyond).sum::<usize>()
}

fn text(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::payload::ReturnStatus;

    use super::*;
    use crate::analysis::{AlterationKind, FoundPlaces, PartIndex, PresenceState};

    #[test]
    fn texts_parts_and_cells_weigh() {
        let analysis = crate::view::tests::analysis();
        let before = bytes_held(&analysis);
        let grown = |change: fn(&mut Analysis)| {
            let mut analysis = analysis.clone();
            change(&mut analysis);
            bytes_held(&analysis) - before
        };
        let text = grown(|analysis| analysis.contents[0].text = Some("x".repeat(1 << 20).into()));
        assert!(text > 1_000_000, "{text}");
        let parts = grown(|analysis| {
            let part = analysis.parts[0].clone();
            analysis.parts.extend(vec![part; 1_000]);
        });
        assert!(parts >= 1_000 * size_of::<ContextPart>());
        let contexts = grown(|analysis| analysis.turns[0].parts.extend(vec![0; 1_000]));
        assert!(contexts >= 1_000 * size_of::<PartIndex>(), "{contexts}");
        let longer = grown(|analysis| analysis.turns[0].parts.extend(1..1_000));
        assert_eq!(
            longer, 0,
            "what goes on where a context ends is held as its end"
        );
        let cells = grown(|analysis| {
            let mut cells = analysis.presence[0].clone();
            cells[0].evidence = FoundPlaces::default();
            cells[0].reason = None;
            let cell = cells[0].clone();
            analysis.presence.push(vec![cell; 1_000]);
        });
        assert!(cells >= 1_000 * size_of::<Presence>());
        let results = grown(|analysis| {
            analysis.actions[0].returned = Some(Returned {
                entry: 9,
                status: ReturnStatus::Ok,
                effect: None,
                result: Some("x".repeat(1 << 20)),
                witness: remembrancer_schema::payload::Witness::Exact,
            });
        });
        assert!(results > 1_000_000, "{results}");
        let altered = grown(|analysis| {
            let alteration = Arc::new(Alteration {
                kind: AlterationKind::Weakened,
                declared: "x".repeat(1 << 20),
                said: String::new(),
                difference: String::new(),
            });
            let cell = analysis.presence[0][0].clone();
            let evidence = Evidence {
                state: PresenceState::Altered,
                position: 0,
                part: 0,
                range: None,
                tokens_to_part_end: 0,
                tokens_behind: 0,
                note: None,
                alteration: Some(alteration),
            };
            let cell = Presence {
                evidence: FoundPlaces::new(0, [evidence]),
                ..cell
            };
            analysis.presence.push(vec![cell.clone(), cell]);
        });
        assert!((1 << 20..2 << 20).contains(&altered), "once: {altered}");
    }
}
