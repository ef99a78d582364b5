//! Calls that were sent again after the result of the earlier one had left the context.

use std::collections::{BTreeMap, HashMap, HashSet};

use remembrancer_schema::payload::{Fate, PartKind};
use serde_json::Value;

use super::{Known, NAMED_MAX, Stubs, known_turn};
use crate::analysis::{Action, Mutation, RepeatedCall};

/// A repeated call: positions of the two actions.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    again: usize,
    earlier: usize,
}

/// A mutation that took a call's result.
#[derive(Debug, Clone, Copy)]
struct Loss {
    turn: u32,
    mutation: usize,
    fate: Fate,
}

/// Tells each mutation which calls were repeated after it had taken their results.
pub(super) fn tell(mutations: &mut [Mutation], known: Known<'_>) {
    let keys = keys(known.actions);
    let candidates = candidates(known.actions, &keys);
    if candidates.is_empty() || mutations.is_empty() {
        return;
    }
    let lost = without_result(&candidates, &keys, mutations, known);
    let losses = losses(&lost, mutations, known);
    for candidate in lost {
        let earlier = &known.actions[candidate.earlier];
        let again = &known.actions[candidate.again];
        let loss = losses
            .get(earlier.call_id.as_str())
            .and_then(|list| list.iter().rev().find(|loss| loss.turn <= again.turn))
            .copied()
            .or_else(|| unsent(earlier, again, mutations, known));
        let Some(loss) = loss else { continue };
        let aftermath = &mut mutations[loss.mutation].aftermath;
        aftermath.repeated_call_count += 1;
        if aftermath.repeated_calls.len() < NAMED_MAX {
            aftermath.repeated_calls.push(RepeatedCall {
                turn: again.turn,
                call_id: again.call_id.clone(),
                tool: again.tool.clone(),
                entry: again.entry,
                earlier_call_id: earlier.call_id.clone(),
                earlier_turn: earlier.turn,
                fate: loss.fate,
            });
        }
    }
}

/// For each action a number that it shares with every call of the same tool with the same arguments. Objects are compared
/// with their members in order; what is not JSON as it is written.
fn keys(actions: &[Action]) -> Vec<usize> {
    let mut known: HashMap<(&str, String), usize> = HashMap::new();
    actions
        .iter()
        .map(|action| {
            let raw = action.arguments.as_deref().unwrap_or("{}");
            let arguments = serde_json::from_str::<Value>(raw)
                .map_or_else(|_| raw.to_owned(), |value| in_order(value).to_string());
            let next = known.len();
            *known
                .entry((action.tool.as_str(), arguments))
                .or_insert(next)
        })
        .collect()
}

/// A JSON value with the members of its objects in order. `serde_json` refuses nesting deep enough to endanger the stack.
fn in_order(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> = members
                .into_iter()
                .map(|(name, member)| (name, in_order(member)))
                .collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(in_order).collect()),
        plain => plain,
    }
}

/// Each call with the last one like it of an earlier turn. Two in one response are no repetition.
fn candidates(actions: &[Action], keys: &[usize]) -> Vec<Candidate> {
    let mut last: HashMap<usize, (usize, Option<usize>)> = HashMap::new();
    let mut candidates = Vec::new();
    for (again, &key) in keys.iter().enumerate() {
        let turn = actions[again].turn;
        let earlier = match last.get_mut(&key) {
            None => {
                last.insert(key, (again, None));
                None
            }
            Some((newest, before)) => {
                if actions[*newest].turn < turn {
                    *before = Some(*newest);
                    *newest = again;
                }
                before.filter(|&before| actions[before].turn < turn)
            }
        };
        candidates.extend(earlier.map(|earlier| Candidate { again, earlier }));
    }
    candidates
}

/// The candidates at whose turn no result of any call like them stands in full. Nothing can be said where the context is not
/// known.
fn without_result(
    candidates: &[Candidate],
    keys: &[usize],
    mutations: &[Mutation],
    known: Known<'_>,
) -> Vec<Candidate> {
    let mut key_of_call: HashMap<&str, usize> = HashMap::new();
    for (action, &key) in known.actions.iter().zip(keys) {
        key_of_call.entry(action.call_id.as_str()).or_insert(key);
    }
    let mut by_turn: BTreeMap<u32, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        let turn = known.actions[candidate.again].turn;
        by_turn.entry(turn).or_default().push(*candidate);
    }
    let mut stubs = Stubs::default();
    let mut told = mutations.iter().peekable();
    let mut lost = Vec::new();
    for (number, of_turn) in by_turn {
        while let Some(mutation) = told.next_if(|mutation| mutation.turn <= number) {
            stubs.learn(known.timeline, mutation);
        }
        let Some(turn) = known_turn(known.timeline, number) else {
            continue;
        };
        let standing: HashSet<usize> = turn
            .parts
            .iter()
            .filter(|&&index| {
                known.timeline.part(index).kind == PartKind::ToolResult
                    && !stubs.contains(known.timeline, index)
            })
            .filter_map(|&index| {
                let call = known.timeline.part(index).call_id.as_deref()?;
                key_of_call.get(call).copied()
            })
            .collect();
        lost.extend(
            of_turn
                .into_iter()
                .filter(|candidate| !standing.contains(&keys[candidate.again])),
        );
    }
    lost.sort_by_key(|candidate| candidate.again);
    lost
}

/// The mutations that took the results of the earlier calls, by call, in order.
fn losses<'a>(
    lost: &[Candidate],
    mutations: &[Mutation],
    known: Known<'a>,
) -> HashMap<&'a str, Vec<Loss>> {
    let mut losses: HashMap<&str, Vec<Loss>> = lost
        .iter()
        .map(|candidate| {
            let call = known.actions[candidate.earlier].call_id.as_str();
            (call, Vec::new())
        })
        .collect();
    let mut told_turn = None;
    for (at, mutation) in mutations.iter().enumerate() {
        if told_turn == Some(mutation.turn) {
            continue;
        }
        told_turn = Some(mutation.turn);
        for fate in &mutation.fates {
            let part = known.timeline.part(fate.part);
            if part.kind != PartKind::ToolResult || matches!(fate.fate, Fate::Kept | Fate::Injected)
            {
                continue;
            }
            let list = part
                .call_id
                .as_deref()
                .and_then(|call| losses.get_mut(call));
            if let Some(list) = list {
                list.push(Loss {
                    turn: mutation.turn,
                    mutation: at,
                    fate: fate.fate,
                });
            }
        }
    }
    losses
}

/// The first mutation after a call whose result was in no context: an application compacts the request that it is about to
/// send, so the result may have gone into a summary unsent.
fn unsent(
    earlier: &Action,
    again: &Action,
    mutations: &[Mutation],
    known: Known<'_>,
) -> Option<Loss> {
    let at = mutations.partition_point(|mutation| mutation.turn <= earlier.turn);
    let mutation = mutations.get(at)?;
    let turn = known_turn(known.timeline, mutation.turn)?;
    let returned = earlier.returned.as_ref()?.entry;
    let holds_results = mutation.fates.iter().any(|fate| {
        let part = known.timeline.part(fate.part);
        part.kind == PartKind::ToolResult && part.call_id.is_some()
    });
    let was_taken = mutation.turn <= again.turn
        && turn.entry.is_some_and(|captured| returned < captured)
        && holds_results;
    was_taken.then(|| Loss {
        turn: mutation.turn,
        mutation: at,
        fate: match mutation.aftermath.generation {
            Some(_) => Fate::Summarised,
            None => Fate::Dropped,
        },
    })
}
