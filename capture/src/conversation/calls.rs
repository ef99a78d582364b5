//! The calls of a conversation, and which of them have no result yet.

use std::collections::{BTreeMap, VecDeque};

use remembrancer_schema::ContentHash;
use serde::{Deserialize, Serialize};

use super::appearance::text_key;
use super::{CALLS_MAX, Conversation, push_bounded};
use crate::cut::prefix;

/// Longest id of a call that is kept as it is, in bytes: a response lists hundreds of them.
const CALL_ID_BYTES_MAX: usize = 128;
/// Longest name of a tool that is kept, in bytes.
const TOOL_BYTES_MAX: usize = 256;
/// Most bytes of arguments that are held of calls whose events could not be kept.
const UNSENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What later requests are compared with to see what is new in them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Unfinished {
    /// Calls whose results did not come back yet, with their tools.
    pending: BTreeMap<String, String>,
    /// The same calls, oldest first.
    #[serde(default)]
    order: VecDeque<String>,
    /// The last compaction item that was seen.
    pub(crate) compaction: Option<ContentHash>,
    /// Calls whose events could not be kept: they go with the session's next request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsent: Vec<UnsentCall>,
}

/// A call whose event could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnsentCall {
    /// The request whose response carried it.
    pub(crate) turn: u32,
    /// The id under which it is recorded.
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// When the response ended: RFC 3339.
    pub(crate) time: String,
}

impl Unfinished {
    /// Adds a call; the oldest gives its place where there are too many.
    fn add(&mut self, id: String, tool: &str) {
        while self.pending.len() >= CALLS_MAX {
            match self.order.pop_front() {
                Some(oldest) => drop(self.pending.remove(&oldest)),
                None => drop(self.pending.pop_first()),
            }
        }
        self.order.push_back(id.clone());
        self.pending
            .insert(id, prefix(tool, TOOL_BYTES_MAX).to_owned());
    }
}

impl Conversation {
    /// What is to come yet, as it is now.
    pub fn unfinished(&self) -> Unfinished {
        self.unfinished.clone()
    }

    /// The same, to be changed.
    pub(crate) fn unfinished_mut(&mut self) -> &mut Unfinished {
        &mut self.unfinished
    }

    /// Goes back to what was to come, because what came could not be kept.
    pub fn set_unfinished(&mut self, before: Unfinished) {
        self.unfinished = before;
    }

    /// Keeps calls whose events could not be kept, as many as there is room for: the loss of the others is counted all the same.
    pub(crate) fn keep_unsent(&mut self, calls: Vec<UnsentCall>) {
        let unsent = &mut self.unfinished.unsent;
        let mut bytes: usize = unsent.iter().map(|call| call.arguments.len()).sum();
        for call in calls {
            bytes = bytes.saturating_add(call.arguments.len());
            if unsent.len() >= CALLS_MAX || bytes > UNSENT_BYTES_MAX {
                return;
            }
            unsent.push(call);
        }
    }

    /// The calls whose events could not be kept, which await their results from here on.
    pub(crate) fn take_unsent(&mut self) -> Vec<UnsentCall> {
        let unsent = std::mem::take(&mut self.unfinished.unsent);
        for call in &unsent {
            self.unfinished.add(call.call_id.clone(), &call.tool);
        }
        unsent
    }

    /// Notes a call, and returns the id under which it is recorded: its own, or one with `suffix` where a server gives none or
    /// one that the session has already.
    pub fn called(&mut self, call_id: &str, tool: &str, suffix: &str) -> String {
        let key = text_key(call_id);
        let is_own =
            !call_id.is_empty() && call_id.len() <= CALL_ID_BYTES_MAX && !self.calls.contains(&key);
        let unique = match is_own {
            true => call_id.to_owned(),
            false => format!("{}@{suffix}", prefix(call_id, CALL_ID_BYTES_MAX)),
        };
        push_bounded(&mut self.calls, key, CALLS_MAX);
        self.unfinished.add(unique.clone(), tool);
        unique
    }

    /// Notes that a call's result came back; returns the id under which the call is recorded, and its tool. None if the session
    /// has no such call, or has its result already.
    pub fn returned(&mut self, call_id: &str) -> Option<(String, String)> {
        let renamed = || format!("{}@", prefix(call_id, CALL_ID_BYTES_MAX));
        let unique = match self.unfinished.pending.contains_key(call_id) {
            true => call_id.to_owned(),
            false => self
                .unfinished
                .pending
                .keys()
                .find(|key| key.starts_with(&renamed()))?
                .clone(),
        };
        let tool = self.unfinished.pending.remove(&unique)?;
        self.unfinished.order.retain(|id| *id != unique);
        Some((unique, tool))
    }
}
