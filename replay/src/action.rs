//! Tool calls, joined with their results, with what guards said of them, and with the declared scope.

use std::collections::HashMap;

use remembrancer_schema::payload::{DecisionRecorded, Payload, ToolReturned};

use crate::analysis::{Action, Constraint, Decision, Returned};
use crate::reading::{ReadEvent, Reading};
use crate::scope::{Mandate, ProposedAction};

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
pub(crate) fn actions(reading: &Reading<'_>, constraints: &[Constraint]) -> Actions {
    let mut joined = Actions::default();
    let mut mandate = Mandate::default();
    let place_by_id: HashMap<&str, usize> = constraints
        .iter()
        .enumerate()
        .map(|(at, constraint)| (constraint.id.as_str(), at))
        .collect();
    let mut results: HashMap<&str, Vec<Returned>> = HashMap::new();
    let mut decisions: Vec<(u64, &DecisionRecorded)> = Vec::new();
    for read in &reading.events {
        match &read.payload {
            Payload::ScopeDeclared(scope) => mandate.declare_scope(scope),
            Payload::ConstraintDeclared(constraint) => mandate.declare_constraint(constraint),
            Payload::ToolCalled(_) => joined.call(read, &mandate, &place_by_id),
            Payload::ToolReturned(returned) => {
                let list = results.entry(&returned.call_id).or_default();
                list.push(result(read.entry(), returned));
            }
            Payload::DecisionRecorded(decision) => decisions.push((read.entry(), decision)),
            _ => {}
        }
    }
    joined.join_results(results);
    joined.join_decisions(&decisions);
    joined
}

impl Actions {
    fn call(
        &mut self,
        read: &ReadEvent<'_>,
        mandate: &Mandate,
        place_by_id: &HashMap<&str, usize>,
    ) {
        let Payload::ToolCalled(called) = &read.payload else {
            return;
        };
        let arguments = called.arguments.as_ref().map(|raw| raw.get());
        let judgement = mandate.judge(&ProposedAction {
            agent: read.event.entry.agent.as_ref().map(|agent| agent.as_str()),
            tool: &called.tool,
            target: called.target.as_deref(),
            operation: called.operation.as_deref(),
            arguments,
        });
        let mut breaks: Vec<usize> = judgement
            .breaks
            .iter()
            .filter_map(|id| place_by_id.get(id.as_str()).copied())
            .collect();
        breaks.sort_unstable();
        self.undeclared_tool
            .push(mandate.is_undeclared_tool(&called.tool));
        self.actions.push(Action {
            turn: called.turn,
            call_id: called.call_id.clone(),
            tool: called.tool.clone(),
            target: judgement.target,
            operation: judgement.operation,
            arguments: arguments.map(str::to_owned),
            entry: read.entry(),
            time: Some(read.time().to_owned()),
            returned: None,
            decisions: Vec::new(),
            scope: judgement.verdict,
            breaks,
        });
    }

    fn join_results(&mut self, results: HashMap<&str, Vec<Returned>>) {
        let mut waiting: HashMap<&str, std::vec::IntoIter<Returned>> = results
            .into_iter()
            .map(|(call, list)| (call, list.into_iter()))
            .collect();
        for action in &mut self.actions {
            action.returned = waiting
                .get_mut(action.call_id.as_str())
                .and_then(Iterator::next);
        }
        self.orphan_results = waiting
            .into_iter()
            .flat_map(|(call, list)| list.map(|result| (result.entry, call.to_owned())))
            .collect();
        self.orphan_results.sort_unstable();
    }

    /// A decision joins the last call with its id that was recorded before it, or else the first one after it: guards decide
    /// before a call runs.
    fn join_decisions(&mut self, decisions: &[(u64, &DecisionRecorded)]) {
        let mut by_call: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, action) in self.actions.iter().enumerate() {
            by_call.entry(action.call_id.clone()).or_default().push(at);
        }
        for &(entry, recorded) in decisions {
            let decision = decision(entry, recorded);
            let call = recorded
                .call_id
                .as_ref()
                .and_then(|call| by_call.get(call))
                .and_then(|list| {
                    let later = list.partition_point(|&at| self.actions[at].entry < entry);
                    list.get(later.saturating_sub(1))
                });
            match call {
                Some(&at) => self.actions[at].decisions.push(decision),
                None => self
                    .loose_decisions
                    .push((recorded.call_id.clone(), decision)),
            }
        }
    }
}

fn result(entry: u64, returned: &ToolReturned) -> Returned {
    Returned {
        entry,
        status: returned.status,
        effect: returned.effect.clone(),
        result: returned.result.as_ref().map(|raw| raw.get().to_owned()),
    }
}

fn decision(entry: u64, recorded: &DecisionRecorded) -> Decision {
    Decision {
        entry,
        decider: recorded.decider.clone(),
        verdict: recorded.verdict,
        enforced: recorded.enforced,
        flags: recorded.flags.clone(),
        violations: recorded.violations.clone(),
        reason: recorded.reason.clone(),
    }
}

#[cfg(test)]
mod tests;
