//! What answers rest on: how the contexts and actions became known that a session's answers and findings are about.

use std::collections::{BTreeSet, HashMap};

use remembrancer_schema::payload::Witness;

use crate::analysis::{Analysis, Finding};

impl Analysis {
    /// How its contexts and actions became known: each class that occurs, from the strongest to the weakest.
    pub fn witnesses(&self) -> Vec<Witness> {
        let contexts = self.turns.iter().map(|turn| turn.witness);
        let actions = self.actions.iter().map(|action| action.witness);
        let classes: BTreeSet<Witness> = contexts.chain(actions).collect();
        classes.into_iter().collect()
    }
}

/// Finds what findings are about: the action, and how it and the context became known.
pub struct FindingPlaces<'a> {
    analysis: &'a Analysis,
    by_entry: HashMap<u64, usize>,
    by_call: HashMap<&'a str, usize>,
}

impl<'a> FindingPlaces<'a> {
    /// For the findings of a session.
    pub fn of(analysis: &'a Analysis) -> Self {
        let mut places = Self {
            analysis,
            by_entry: HashMap::new(),
            by_call: HashMap::new(),
        };
        for (at, action) in analysis.actions.iter().enumerate() {
            places.by_entry.entry(action.entry).or_insert(at);
            let call = action.call_id.as_str();
            places.by_call.entry(call).or_insert(at);
        }
        places
    }

    /// Position of the action that a finding is about. The entry decides: agents may use the id of a call again.
    pub fn action(&self, finding: &Finding) -> Option<usize> {
        let entry = finding.entry.and_then(|entry| self.by_entry.get(&entry));
        let call = || self.by_call.get(finding.call_id.as_deref()?);
        entry.or_else(call).copied()
    }

    /// How that action became known.
    pub fn action_witness(&self, finding: &Finding) -> Option<Witness> {
        let action = self.analysis.actions.get(self.action(finding)?);
        action.map(|action| action.witness)
    }

    /// How the context became known that a finding is about: of a mutation, the weaker of those before and after; otherwise
    /// that of its turn. `None` where it is about none, or one that is not recorded.
    pub fn context_witness(&self, finding: &Finding) -> Option<Witness> {
        let mutation = finding
            .mutation
            .and_then(|at| self.analysis.mutations.get(at));
        let across = mutation.and_then(|mutation| self.analysis.witness_across(mutation));
        across.or_else(|| self.analysis.witness_of(finding.turn?))
    }
}

#[cfg(test)]
mod tests;
