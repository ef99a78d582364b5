//! Calls that were sent again after the result of the earlier one had left the context.

use std::collections::{BTreeMap, HashMap, HashSet};

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Fate, PartKind};
use serde_json::Value;

use super::{Known, NAMED_MAX, Stubs, known_turn};
use crate::analysis::{Action, Mutation, RepeatedCall, Turn};

/// A repeated call: positions of the two actions, and the turn of the later one.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    again: usize,
    earlier: usize,
    turn: u32,
}

/// A mutation that took a call's result.
#[derive(Debug, Clone, Copy)]
struct Loss {
    turn: u32,
    mutation: usize,
    fate: Fate,
}

/// The calls that were sent again, found as actions come: each is looked at once, and so is the context that it was sent with.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// For each action a number that it shares with every call of the same tool with the same arguments.
    keys: Vec<usize>,
    known: HashMap<ContentHash, usize>,
    /// Of two calls with one id the first counts.
    key_of_call: HashMap<String, usize>,
    /// By key: its newest action, and the newest one of an earlier turn.
    last: HashMap<usize, (usize, Option<usize>)>,
    candidates: Vec<Candidate>,
    /// How many of them were looked at.
    checked: usize,
    /// Positions of those whose result had left.
    lost: Vec<usize>,
}

impl Repeats {
    /// Forgets what was seen in the contexts of turns from a number on.
    pub(crate) fn rewind(&mut self, from: u32) {
        let first = self
            .candidates
            .iter()
            .position(|candidate| candidate.turn >= from);
        self.checked = self.checked.min(first.unwrap_or(self.candidates.len()));
        self.lost.retain(|&at| at < self.checked);
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let calls: usize = self.key_of_call.keys().map(String::len).sum();
        size_of_val(self.keys.as_slice())
            + size_of_val(self.candidates.as_slice())
            + self.known.len() * size_of::<(ContentHash, usize)>()
            + self.key_of_call.len() * size_of::<(String, usize)>()
            + calls
    }

    /// Tells each mutation which calls were repeated after it had taken their results.
    pub(super) fn tell(&mut self, mutations: &mut [Mutation], known: Known<'_>) {
        for action in self.keys.len()..known.actions.len() {
            self.note(known.actions, action);
        }
        self.check(mutations, known);
        for mutation in mutations.iter_mut() {
            mutation.aftermath.repeated_calls.clear();
            mutation.aftermath.repeated_call_count = 0;
        }
        let losses = self.losses(mutations, known);
        for &at in &self.lost {
            let candidate = self.candidates[at];
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

    /// Notes an action, and whether it repeats one of an earlier turn. Two in one response are no repetition.
    fn note(&mut self, actions: &[Action], again: usize) {
        let action = &actions[again];
        let turn = action.turn;
        let next = self.known.len();
        let key = *self.known.entry(asked(action)).or_insert(next);
        self.keys.push(key);
        self.key_of_call
            .entry(action.call_id.clone())
            .or_insert(key);
        let earlier = match self.last.get_mut(&key) {
            None => {
                self.last.insert(key, (again, None));
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
        self.candidates.extend(earlier.map(|earlier| Candidate {
            again,
            earlier,
            turn,
        }));
    }

    /// Looks which candidates were sent while no result of any call like them stood in the context in full. Nothing can be
    /// said where the context is not known.
    fn check(&mut self, mutations: &[Mutation], known: Known<'_>) {
        let mut by_turn: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for at in self.checked..self.candidates.len() {
            by_turn
                .entry(self.candidates[at].turn)
                .or_default()
                .push(at);
        }
        self.checked = self.candidates.len();
        if by_turn.is_empty() {
            return;
        }
        let mut stubs = Stubs::default();
        let mut told = mutations.iter().peekable();
        for (number, of_turn) in by_turn {
            while let Some(mutation) = told.next_if(|mutation| mutation.turn <= number) {
                stubs.learn(known.timeline, mutation);
            }
            let Some(turn) = known_turn(known.timeline, number) else {
                continue;
            };
            let standing = self.standing(turn, &stubs, known);
            let is_lost = |at: &usize| {
                let key = self.keys[self.candidates[*at].again];
                !standing.contains(&key)
            };
            let lost: Vec<usize> = of_turn.into_iter().filter(is_lost).collect();
            self.lost.extend(lost);
        }
        self.lost.sort_unstable();
    }

    /// The keys of the calls whose results stand in a context in full.
    fn standing(&self, turn: &Turn, stubs: &Stubs, known: Known<'_>) -> HashSet<usize> {
        let results = turn.parts.iter().filter(|&&index| {
            known.timeline.part(index).kind == PartKind::ToolResult
                && !stubs.contains(known.timeline, index)
        });
        results
            .filter_map(|&index| {
                let call = known.timeline.part(index).call_id.as_deref()?;
                self.key_of_call.get(call).copied()
            })
            .collect()
    }

    /// The mutations that took the results of the earlier calls, by call, in order.
    fn losses<'a>(&self, mutations: &[Mutation], known: Known<'a>) -> HashMap<&'a str, Vec<Loss>> {
        let earlier = self.lost.iter().map(|&at| self.candidates[at].earlier);
        let mut losses: HashMap<&str, Vec<Loss>> = earlier
            .map(|earlier| (known.actions[earlier].call_id.as_str(), Vec::new()))
            .collect();
        if losses.is_empty() {
            return losses;
        }
        let mut told_turn = None;
        for (at, mutation) in mutations.iter().enumerate() {
            if told_turn == Some(mutation.turn) {
                continue;
            }
            told_turn = Some(mutation.turn);
            for fate in &mutation.fates {
                let part = known.timeline.part(fate.part);
                let is_loss = part.kind == PartKind::ToolResult
                    && !matches!(fate.fate, Fate::Kept | Fate::Injected);
                let list = part
                    .call_id
                    .as_deref()
                    .filter(|_| is_loss)
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
}

/// What a call asks: its tool and its arguments, as a hash. Members of objects count in any order; what is not JSON counts as
/// it is written.
fn asked(action: &Action) -> ContentHash {
    let raw = action.arguments.as_deref().unwrap_or("{}");
    let arguments = serde_json::from_str::<Value>(raw)
        .map_or_else(|_| raw.to_owned(), |value| in_order(value).to_string());
    ContentHash::of(format!("{:?} {arguments}", action.tool).as_bytes())
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
    was_taken.then_some(Loss {
        turn: mutation.turn,
        mutation: at,
        fate: match mutation.aftermath.generation {
            Some(_) => Fate::Summarised,
            None => Fate::Dropped,
        },
    })
}
