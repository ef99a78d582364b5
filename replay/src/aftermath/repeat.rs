//! Calls that were sent again after the result of the earlier one had left the context.

use std::collections::{BTreeMap, HashMap, HashSet};

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Fate, PartKind};
use serde_json::Value;

use super::{Known, NAMED_MAX, Stubs, known_turn};
use crate::analysis::{Action, Mutation, RepeatedCall, Turn};
use crate::effort;

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
/// An action repeats at most one other, so there are no more candidates than actions, and telling one costs a look-up.
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
    /// Ids of the results in contexts whose call was not recorded at the time, with the first turn of such a context.
    unexplained: HashMap<String, u32>,
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
        self.unexplained.retain(|_, turn| *turn < from);
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let calls = self.key_of_call.keys().chain(self.unexplained.keys());
        size_of_val(self.keys.as_slice())
            + size_of_val(self.candidates.as_slice())
            + size_of_val(self.lost.as_slice())
            + self.known.len() * size_of::<(ContentHash, usize)>()
            + self.last.len() * size_of::<(usize, (usize, Option<usize>))>()
            + calls
                .map(|call| call.len() + size_of::<(String, usize)>())
                .sum::<usize>()
    }

    /// Tells each mutation which calls were repeated after it had taken their results.
    pub(super) fn tell(&mut self, mutations: &mut [Mutation], known: Known<'_>) {
        let mut stale: Option<u32> = None;
        for action in self.keys.len()..known.actions.len() {
            let explained = self.note(known.actions, action);
            stale = stale.into_iter().chain(explained).min();
        }
        if let Some(from) = stale {
            self.rewind(from);
        }
        self.check(mutations, known);
        for mutation in mutations.iter_mut() {
            mutation.aftermath.repeated_calls.clear();
            mutation.aftermath.repeated_call_count = 0;
        }
        let losses = self.losses(mutations, known);
        let mut holding = HashMap::new();
        for &at in &self.lost {
            let candidate = self.candidates[at];
            let earlier = &known.actions[candidate.earlier];
            let again = &known.actions[candidate.again];
            let loss = losses
                .get(earlier.call_id.as_str())
                .and_then(|list| last_until(list, again.turn))
                .or_else(|| unsent(earlier, again, mutations, known, &mut holding));
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

    /// Notes an action, and whether it repeats one of an earlier turn. Two in one response are no repetition. The first turn
    /// whose context held its result before the call itself was recorded, if one did.
    fn note(&mut self, actions: &[Action], again: usize) -> Option<u32> {
        let action = &actions[again];
        let turn = action.turn;
        let next = self.known.len();
        let key = *self.known.entry(asked(action)).or_insert(next);
        self.keys.push(key);
        let mut explained = None;
        if !self.key_of_call.contains_key(&action.call_id) {
            self.key_of_call.insert(action.call_id.clone(), key);
            explained = self.unexplained.remove(&action.call_id);
        }
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
        explained
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
    fn standing(&mut self, turn: &Turn, stubs: &Stubs, known: Known<'_>) -> HashSet<usize> {
        effort::spend(turn.parts.len());
        let results = turn.parts.iter().filter(|&index| {
            known.timeline.part(index).kind == PartKind::ToolResult
                && !stubs.contains(known.timeline, index)
        });
        let mut standing = HashSet::new();
        for index in results {
            let Some(call) = known.timeline.part(index).call_id.as_deref() else {
                continue;
            };
            if let Some(&key) = self.key_of_call.get(call) {
                standing.insert(key);
            } else if let Some(first) = self.unexplained.get_mut(call) {
                *first = turn.number.min(*first);
            } else {
                self.unexplained.insert(call.to_owned(), turn.number);
            }
        }
        standing
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
            effort::spend(mutation.fates.len());
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

/// The last of some losses, which come in order of turns, up to a turn.
fn last_until(losses: &[Loss], turn: u32) -> Option<Loss> {
    let behind = losses.partition_point(|loss| loss.turn <= turn);
    losses[..behind].last().copied()
}

/// The first mutation after a call whose result was in no context: an application compacts the request that it is about to
/// send, so the result may have gone into a summary unsent. `holding` keeps for each mutation whether its fates name results.
fn unsent(
    earlier: &Action,
    again: &Action,
    mutations: &[Mutation],
    known: Known<'_>,
    holding: &mut HashMap<usize, bool>,
) -> Option<Loss> {
    let returned = earlier.returned.as_ref()?.entry;
    let at = mutations.partition_point(|mutation| mutation.turn <= earlier.turn);
    let mutation = mutations
        .get(at)
        .filter(|mutation| mutation.turn <= again.turn)?;
    let captured = known_turn(known.timeline, mutation.turn)?.entry?;
    let was_taken = returned < captured
        && *holding
            .entry(at)
            .or_insert_with(|| holds_results(mutation, known));
    was_taken.then_some(Loss {
        turn: mutation.turn,
        mutation: at,
        fate: match mutation.aftermath.generation {
            Some(_) => Fate::Summarised,
            None => Fate::Dropped,
        },
    })
}

/// Whether a mutation tells what became of a call's result.
fn holds_results(mutation: &Mutation, known: Known<'_>) -> bool {
    effort::spend(mutation.fates.len());
    mutation.fates.iter().any(|fate| {
        let part = known.timeline.part(fate.part);
        part.kind == PartKind::ToolResult && part.call_id.is_some()
    })
}
