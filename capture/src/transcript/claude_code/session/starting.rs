//! Which call started which sub-agent.

use std::collections::{HashMap, HashSet};

/// The calls of a session that start sub-agents, as far as its records and those of its sub-agents were read.
#[derive(Default)]
pub(in super::super) struct StartingCalls {
    /// The calls by the hash of the prompt that the sub-agent gets. Several calls may give the same one.
    by_prompt: HashMap<[u8; 32], Vec<String>>,
    /// The call of each sub-agent that a result names.
    by_agent: HashMap<String, String>,
    /// The calls of sub-agents that are known.
    taken: HashSet<String>,
}

impl StartingCalls {
    /// Takes note of a call with a prompt.
    pub(super) fn note_call(&mut self, prompt: [u8; 32], call: String) {
        let calls = self.by_prompt.entry(prompt).or_default();
        if !calls.contains(&call) {
            calls.push(call);
        }
    }

    /// Takes note of a call's result that names the sub-agent. The first result counts.
    pub(super) fn note_result(&mut self, agent: &str, call: &str) {
        self.by_agent
            .entry(agent.to_owned())
            .or_insert_with(|| call.to_owned());
        self.taken.insert(call.to_owned());
    }

    /// The call that started a sub-agent: the one whose result names it, else the only one left that gave it its prompt. None
    /// where several did, because which of them it was cannot be told from the prompt.
    pub(super) fn take(&mut self, agent: Option<&str>, prompt: &[u8; 32]) -> Option<String> {
        if let Some(call) = agent.and_then(|agent| self.by_agent.get(agent)) {
            return Some(call.clone());
        }
        let calls = self.by_prompt.get(prompt)?;
        let mut left = calls.iter().filter(|call| !self.taken.contains(*call));
        let (call, None) = (left.next()?.clone(), left.next()) else {
            return None;
        };
        self.taken.insert(call.clone());
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: [u8; 32] = [7; 32];

    fn with_calls(calls: &[&str]) -> StartingCalls {
        let mut starting = StartingCalls::default();
        for call in calls {
            starting.note_call(PROMPT, (*call).to_owned());
        }
        starting
    }

    #[test]
    fn a_prompt_that_one_call_gave_names_it_once() {
        let mut starting = with_calls(&["a", "a"]);
        assert_eq!(starting.take(Some("x"), &[8; 32]), None);
        assert_eq!(starting.take(Some("x"), &PROMPT).as_deref(), Some("a"));
        assert_eq!(starting.take(Some("y"), &PROMPT), None);
    }

    #[test]
    fn of_calls_with_one_prompt_none_is_guessed() {
        let mut starting = with_calls(&["a", "b"]);
        assert_eq!(starting.take(Some("x"), &PROMPT), None);
        assert_eq!(starting.take(None, &PROMPT), None);
    }

    #[test]
    fn a_result_that_names_its_sub_agent_decides_and_leaves_the_others() {
        let mut starting = with_calls(&["a", "b"]);
        starting.note_result("x", "b");
        starting.note_result("x", "a-later-word");
        assert_eq!(starting.take(Some("y"), &PROMPT).as_deref(), Some("a"));
        assert_eq!(starting.take(Some("x"), &PROMPT).as_deref(), Some("b"));
        assert_eq!(starting.take(Some("z"), &PROMPT), None);
    }
}
