//! Contexts that a provider keeps, as far as they passed here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};

use crate::model_api::{CompactionItem, KeptContext, ModelResponse};
use crate::session_writer::by_hash;

/// Most responses of a session whose contexts are remembered for requests that continue them.
const RESPONSES_MAX: usize = 16;
/// Most requests of a session whose answers are awaited.
const AWAITED_MAX: usize = 64;
/// Most parts of a context that is remembered for requests that continue it.
const PARTS_MAX: usize = 20_000;

/// The messages of a context, each part by its hash.
#[derive(Debug, Clone, Default)]
struct Messages {
    parts: Vec<Part>,
    /// The compaction item in the place of what stood before: which of that the provider still reads is not known.
    compacted: Option<ContentHash>,
}

/// The contexts of one session that later requests may continue.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptContexts {
    /// By the number of the request whose answer is awaited.
    awaited: BTreeMap<u32, Messages>,
    /// By the response that it led to, newest last.
    answered: VecDeque<(String, Messages)>,
}

impl KeptContexts {
    /// Puts what the provider adds into a request's parts, before its messages; says what is not known of it. `compaction` is
    /// the compaction item of the request itself.
    pub(super) fn complete(
        &self,
        kept: Option<&KeptContext>,
        parts: &mut Vec<Part>,
        incomplete: &mut BTreeSet<String>,
        compaction: &mut Option<CompactionItem>,
    ) {
        let messages = first_message(parts);
        let found = match kept {
            None => return,
            Some(KeptContext::Response(id)) => {
                let found = self.answered.iter().find(|(response, _)| response == id);
                if found.is_none() {
                    let why = "it continues a response whose context did not pass here or is no longer remembered";
                    incomplete.insert(why.to_owned());
                }
                found
            }
            Some(KeptContext::Conversation(_)) => {
                // What passed here is known; what others added to the conversation is not.
                incomplete.insert("it continues a conversation that the provider keeps".to_owned());
                self.answered.back()
            }
        };
        let Some((_, found)) = found else { return };
        parts.splice(messages..messages, found.parts.iter().cloned());
        if let Some(hash) = found.compacted {
            let why = "the provider compacted what it keeps, and does not say what of it is left";
            incomplete.insert(why.to_owned());
            compaction.get_or_insert(CompactionItem {
                hash,
                summary: None,
            });
        }
    }

    /// Remembers the parts of a request until its answer comes.
    pub(super) fn asked(&mut self, turn: u32, parts: &[Part], kept: Option<&KeptContext>) {
        let before = match kept {
            Some(KeptContext::Response(id)) => {
                self.answered.iter().find(|(response, _)| response == id)
            }
            Some(KeptContext::Conversation(_)) => self.answered.back(),
            None => None,
        };
        let compacted = before.and_then(|(_, messages)| messages.compacted);
        let parts = parts[first_message(parts)..].iter().map(by_hash).collect();
        if self.awaited.len() >= AWAITED_MAX {
            self.awaited.pop_first();
        }
        self.awaited.insert(turn, Messages { parts, compacted });
    }

    /// Remembers the context that a request continues which names this response.
    pub(super) fn answered(&mut self, turn: u32, response: &ModelResponse) {
        let Some(mut messages) = self.awaited.remove(&turn) else {
            return;
        };
        let Some(id) = &response.id else { return };
        let is_compaction = |part: &Part| part.kind == PartKind::Summary && part.encrypted;
        let said = match response.parts.iter().rposition(is_compaction) {
            None => response.parts.as_slice(),
            Some(at) => {
                messages.parts.clear();
                messages.compacted = response.parts[at].hash;
                &response.parts[at..]
            }
        };
        // An answer is a message of its own: what has no message stands before all of them.
        let last = messages.parts.iter().filter_map(|part| part.message).max();
        let message = Some(last.map_or(0, |last| last.saturating_add(1)));
        messages.parts.extend(said.iter().map(|part| Part {
            message,
            ..by_hash(part)
        }));
        if messages.parts.len() > PARTS_MAX {
            return;
        }
        if self.answered.len() >= RESPONSES_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back((id.clone(), messages));
    }
}

/// Where the messages begin, behind schemas and instructions.
fn first_message(parts: &[Part]) -> usize {
    let first = parts.iter().position(|part| part.message.is_some());
    first.unwrap_or(parts.len())
}
