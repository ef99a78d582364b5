//! Tool calls, joined with their results, with what guards said of them, and with the declared scope.

use std::collections::{BTreeMap, HashMap, VecDeque};

use remembrancer_schema::payload::{DecisionRecorded, Payload, ToolCalled, ToolReturned, Witness};

use crate::analysis::{Action, Constraint, Decision, Returned};
use crate::reading::ReadEvent;
#[cfg(test)]
use crate::reading::Reading;
use crate::scope::{Mandate, ProposedAction};
use crate::weight;

/// The actions of a session, and what did not join.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    pub(crate) actions: Vec<Action>,
    /// For each action, whether its tool was missing from a declared list of tools.
    pub(crate) undeclared_tool: Vec<bool>,
    /// Results that no call explains: entry, call id.
    pub(crate) orphan_results: Vec<(u64, String)>,
    /// Decisions about no recorded call.
    pub(crate) loose_decisions: Vec<(Option<String>, Decision)>,
}

/// Joins calls and results by call id, in order: where an id was used twice, its first result belongs to its first call.
/// `constraints` are those of the analysis, in order of declaration.
#[cfg(test)]
pub(crate) fn actions(reading: &Reading, constraints: &[Constraint]) -> Actions {
    let mut joining = Joining::default();
    let mut actions = Vec::new();
    for read in &reading.events {
        joining.note(read, &mut actions);
    }
    joining.place(&mut actions, constraints);
    Actions {
        actions,
        ..joining.joined()
    }
}

/// The joins of a session that grows. The actions themselves are kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    mandate: Mandate,
    /// How the session's events became known unless they say otherwise.
    witness: Option<Witness>,
    undeclared_tool: Vec<bool>,
    calls: HashMap<String, OfCall>,
    /// For each action that breaks declared prohibitions: their ids.
    broken: BTreeMap<usize, Vec<String>>,
    /// How many decisions there were.
    decided: usize,
    /// Those that no call has joined, by their number.
    loose: BTreeMap<usize, (Option<String>, Decision)>,
}

/// What was recorded with one call id.
#[derive(Debug, Default)]
struct OfCall {
    /// Positions of its calls.
    calls: Vec<usize>,
    /// How many of them have their result.
    returned: usize,
    /// Results that wait for a call.
    results: VecDeque<Returned>,
    /// Numbers of decisions that wait for a call.
    decisions: Vec<usize>,
}

impl Joining {
    /// Takes the next event. Results and decisions join the actions that they belong to. For a call whose result waited for
    /// it: the entry of that result.
    pub(crate) fn note(&mut self, read: &ReadEvent, actions: &mut Vec<Action>) -> Option<u64> {
        match &read.payload {
            Payload::SessionStarted(started) => self.witness = self.witness.or(started.witness),
            Payload::ScopeDeclared(scope) => self.mandate.declare_scope(scope),
            Payload::ConstraintDeclared(constraint) => self.mandate.declare_constraint(constraint),
            Payload::ToolCalled(called) => return self.call(read, called, actions),
            Payload::ToolReturned(returned) => {
                let of_call = self.calls.entry(returned.call_id.clone()).or_default();
                let result = result(read.entry(), returned, self.witness);
                match of_call.calls.get(of_call.returned) {
                    Some(&at) => {
                        actions[at].returned = Some(result);
                        of_call.returned += 1;
                    }
                    None => of_call.results.push_back(result),
                }
            }
            Payload::DecisionRecorded(decided) => self.decision(read, decided, actions),
            _ => {}
        }
        None
    }

    /// Bytes that it holds beside the actions, roughly: what waits for a call may be large. What was declared is not counted:
    /// the events hold it too.
    pub(crate) fn bytes(&self) -> usize {
        let of_call = |(id, of_call): (&String, &OfCall)| {
            size_of::<(String, OfCall)>()
                + id.len()
                + size_of_val(of_call.calls.as_slice())
                + size_of_val(of_call.decisions.as_slice())
                + of_call
                    .results
                    .iter()
                    .map(weight::of_returned)
                    .sum::<usize>()
        };
        let loose = |(id, decision): &(Option<String>, Decision)| {
            size_of::<(usize, Option<String>)>()
                + id.as_ref().map_or(0, String::len)
                + weight::of_decision(decision)
        };
        let broken = self.broken.values().flatten();
        self.undeclared_tool.len()
            + self.mandate.bytes()
            + broken
                .map(|id| size_of::<String>() + id.len())
                .sum::<usize>()
            + self.calls.iter().map(of_call).sum::<usize>()
            + self.loose.values().map(loose).sum::<usize>()
    }

    fn call(
        &mut self,
        read: &ReadEvent,
        called: &ToolCalled,
        actions: &mut Vec<Action>,
    ) -> Option<u64> {
        let arguments = called.arguments.as_ref().map(|raw| raw.get());
        let judgement = self.mandate.judge(&ProposedAction {
            agent: read.agent(),
            tool: &called.tool,
            target: called.target.as_deref(),
            operation: called.operation.as_deref(),
            arguments,
        });
        let at = actions.len();
        if !judgement.breaks.is_empty() {
            self.broken.insert(at, judgement.breaks);
        }
        self.undeclared_tool
            .push(self.mandate.is_undeclared_tool(&called.tool));
        let of_call = self.calls.entry(called.call_id.clone()).or_default();
        of_call.calls.push(at);
        let returned = of_call.results.pop_front();
        of_call.returned += usize::from(returned.is_some());
        let waited = returned.as_ref().map(|returned| returned.entry);
        let waiting = std::mem::take(&mut of_call.decisions);
        let decisions = waiting
            .iter()
            .filter_map(|number| Some(self.loose.remove(number)?.1))
            .collect();
        actions.push(Action {
            turn: called.turn,
            call_id: called.call_id.clone(),
            tool: called.tool.clone(),
            target: judgement.target,
            operation: judgement.operation,
            arguments: arguments.map(str::to_owned),
            entry: read.entry(),
            witness: witness(called.witness, self.witness),
            time: Some(read.time().to_owned()),
            returned,
            decisions,
            scope: judgement.verdict,
            scope_version: judgement.scope_version,
            breaks: Vec::new(),
            effects: judgement.effects,
        });
        waited
    }

    /// A decision joins the last call with its id that was recorded before it, or else the first one after it: guards decide
    /// before a call runs.
    fn decision(&mut self, read: &ReadEvent, decided: &DecisionRecorded, actions: &mut [Action]) {
        let decision = decision(read, decided);
        self.decided += 1;
        if let Some(call_id) = &decided.call_id {
            let of_call = self.calls.entry(call_id.clone()).or_default();
            if let Some(&at) = of_call.calls.last() {
                actions[at].decisions.push(decision);
                return;
            }
            of_call.decisions.push(self.decided);
        }
        self.loose
            .insert(self.decided, (decided.call_id.clone(), decision));
    }

    /// Names the prohibitions that actions break by their position among the constraints of the analysis.
    pub(crate) fn place(&self, actions: &mut [Action], constraints: &[Constraint]) {
        let place_by_id: HashMap<&str, usize> = constraints
            .iter()
            .enumerate()
            .map(|(at, constraint)| (constraint.id.as_str(), at))
            .collect();
        for (&at, ids) in &self.broken {
            let places = ids.iter().filter_map(|id| place_by_id.get(id.as_str()));
            actions[at].breaks = places.copied().collect();
            actions[at].breaks.sort_unstable();
        }
    }

    /// What did not join, beside an empty list of actions.
    pub(crate) fn joined(&self) -> Actions {
        let orphans = self.calls.iter().flat_map(|(call, of_call)| {
            let results = of_call.results.iter();
            results.map(|result| (result.entry, call.clone()))
        });
        let mut orphan_results: Vec<(u64, String)> = orphans.collect();
        orphan_results.sort_unstable();
        Actions {
            actions: Vec::new(),
            undeclared_tool: self.undeclared_tool.clone(),
            orphan_results,
            loose_decisions: self.loose.values().cloned().collect(),
        }
    }
}

/// How an event became known: as it says, or its session, or else by the application's word.
fn witness(own: Option<Witness>, session: Option<Witness>) -> Witness {
    own.or(session).unwrap_or(Witness::Claimed)
}

fn result(entry: u64, returned: &ToolReturned, session: Option<Witness>) -> Returned {
    Returned {
        entry,
        witness: witness(returned.witness, session),
        status: returned.status,
        effect: returned.effect.clone(),
        result: returned.result.as_ref().map(|raw| raw.get().to_owned()),
    }
}

fn decision(read: &ReadEvent, recorded: &DecisionRecorded) -> Decision {
    Decision {
        entry: read.entry(),
        decider: recorded.decider.clone(),
        verdict: recorded.verdict,
        enforced: recorded.enforced,
        flags: recorded.flags.clone(),
        violations: recorded.violations.clone(),
        reason: recorded.reason.clone(),
        witness: read.witness(),
    }
}

#[cfg(test)]
mod tests;
