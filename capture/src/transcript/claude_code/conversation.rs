//! One conversation of a Claude Code session: the main one, or a sub-agent's.

mod answers;
mod requests;
mod told;

use std::collections::{HashMap, HashSet};

use remembrancer_schema::payload::{ContextMutated, MutationKind, Part, PartKind, ReturnStatus};

use super::super::assembly::{Assembly, Piece};
use super::super::{Answer, Recording, Returned};
use super::chain::{Chain, MessageIndex, Node, NodeIndex, Parent};
use super::parts;
use super::record::{CompactMetadata, Record};
use super::size::Sizes;
use crate::cut::prefix;

/// Longest summary that stands in a mutation's event, in bytes. The next context has the whole.
const SUMMARY_BYTES_MAX: usize = 32 * 1024;
/// How older versions begin the result of a call that the user refused.
const REFUSALS: [&str; 2] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
];

/// A message of the model whose lines may not all have been read.
#[derive(Debug)]
struct OpenMessage {
    index: MessageIndex,
    answer: Answer,
    /// Something followed that is neither one of its lines nor a result of its calls.
    is_followed: bool,
}

/// A compaction that no request has followed yet.
#[derive(Debug)]
struct Compaction {
    metadata: CompactMetadata,
    summary: Option<String>,
}

/// A conversation while it is read.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) recording: Recording,
    assembly: Assembly,
    pub(super) chain: Chain,
    sizes: Sizes,
    open: Option<OpenMessage>,
    /// The message and the tool of each call.
    calls: HashMap<String, (MessageIndex, String)>,
    /// The piece of each call's result.
    results: HashMap<String, Piece>,
    compactions: HashMap<NodeIndex, Compaction>,
    /// Mutations that the next request is the first to be sent with.
    pending: Vec<ContextMutated>,
    last_walk: Option<LastWalk>,
    /// Bytes of the texts of the last context.
    sent_bytes: u64,
    /// Why parts may be missing, until the next compaction.
    incomplete: Option<String>,
    /// The same, for what is known when the file is read and not when a request is compared with the last one.
    lost: Option<String>,
    /// The turn of each message.
    turns: HashMap<MessageIndex, u32>,
    kept: Option<Kept>,
    permission_mode: Option<String>,
    /// Whether a scope that a permission mode declared is in force.
    is_scope_in_force: bool,
    /// Measured growth between requests without a mutation, and what the texts account for.
    growth: (u64, u64),
}

/// What the last compaction kept as it was.
#[derive(Debug)]
struct Kept {
    boundary: NodeIndex,
    nodes: HashSet<NodeIndex>,
}

/// The context of the last request.
#[derive(Debug, Clone, Copy)]
struct LastWalk {
    leaf: Option<NodeIndex>,
    boundary: Option<NodeIndex>,
    estimated: u64,
}

impl Conversation {
    pub(super) fn new(recording: Recording) -> Self {
        Self {
            recording,
            assembly: Assembly::default(),
            chain: Chain::default(),
            sizes: Sizes::default(),
            open: None,
            calls: HashMap::new(),
            results: HashMap::new(),
            compactions: HashMap::new(),
            pending: Vec::new(),
            last_walk: None,
            sent_bytes: 0,
            incomplete: None,
            lost: None,
            turns: HashMap::new(),
            kept: None,
            permission_mode: None,
            is_scope_in_force: false,
            growth: (0, 0),
        }
    }

    /// The measured growth of requests between mutations, in tokens, and how much of it the texts account for.
    pub(super) fn growth(&self) -> (u64, u64) {
        self.growth
    }

    fn add(&mut self, parts: Vec<Part>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in parts {
            pieces.push(self.assembly.add(vec![part], &mut self.recording));
        }
        pieces
    }

    /// A record that adds nothing to a context; it may link others.
    pub(super) fn link(&mut self, parent: Parent) -> NodeIndex {
        self.plain(parent, Vec::new())
    }

    fn plain(&mut self, parent: Parent, parts: Vec<Part>) -> NodeIndex {
        if !parts.is_empty()
            && let Some(open) = &mut self.open
        {
            open.is_followed = true;
        }
        let pieces = self.add(parts);
        self.chain.push(Node {
            parent,
            pieces,
            message: None,
            results_of: None,
            boundary: None,
        })
    }

    /// A message of the user, or results of calls.
    pub(super) fn user(&mut self, record: &Record, parent: Parent) -> NodeIndex {
        let Some(message) = &record.message else {
            return self.link(parent);
        };
        let is_summary = record.is_compact_summary == Some(true);
        if record.is_visible_in_transcript_only == Some(true) && !is_summary {
            return self.link(parent);
        }
        let parts = parts::of_user(record, message);
        if is_summary {
            self.summary(parent, &parts);
        }
        let results_of = parts
            .iter()
            .filter(|part| part.kind == PartKind::ToolResult)
            .filter_map(|part| self.calls.get(part.call_id.as_ref()?))
            .map(|(message, _)| *message)
            .next();
        if results_of.is_none() {
            return self.plain(parent, parts);
        }
        self.returned(record, message.blocks(), &parts);
        let ids: Vec<Option<String>> = parts.iter().map(|part| part.call_id.clone()).collect();
        let pieces = self.add(parts);
        for (id, &piece) in ids.into_iter().zip(&pieces) {
            if let Some(id) = id {
                self.results.insert(id, piece);
            }
        }
        self.chain.push(Node {
            parent,
            pieces,
            message: None,
            results_of,
            boundary: None,
        })
    }

    /// Keeps the summary for the account of the compaction that it belongs to.
    fn summary(&mut self, parent: Parent, parts: &[Part]) {
        let Parent::Node(boundary) = parent else {
            return;
        };
        if let Some(compaction) = self.compactions.get_mut(&boundary) {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .collect();
            let text = texts.join("\n");
            compaction.summary = Some(prefix(&text, SUMMARY_BYTES_MAX).to_owned());
        }
    }

    fn returned(&mut self, record: &Record, blocks: Vec<super::record::Block>, parts: &[Part]) {
        for block in blocks {
            let Some(call_id) = block.tool_use_id else {
                continue;
            };
            let text = parts
                .iter()
                .find(|part| part.call_id.as_ref() == Some(&call_id))
                .and_then(|part| part.text.as_deref())
                .unwrap_or("");
            let is_error = block.is_error == Some(true);
            let is_refused = is_error
                && (record.tool_denial_kind.is_some()
                    || REFUSALS.iter().any(|refusal| text.starts_with(refusal)));
            let status = match (is_refused, is_error) {
                (true, _) => ReturnStatus::Denied,
                (false, true) => ReturnStatus::Error,
                (false, false) => ReturnStatus::Ok,
            };
            let tool = self.calls.get(&call_id).map(|(_, tool)| tool.clone());
            let time = record.timestamp.clone();
            if is_refused {
                self.refused(record, &call_id, text);
            }
            self.recording.returned(Returned {
                call_id,
                tool,
                status,
                result: Some(serde_json::Value::from(text).to_string()),
                time,
            });
        }
    }

    /// A line of a message of the model. The first one of a message tells of a request.
    pub(super) fn assistant(&mut self, record: &Record, parent: Parent) -> NodeIndex {
        let Some(message) = &record.message else {
            return self.link(parent);
        };
        if record.is_synthetic() {
            let is_error = record.is_api_error_message == Some(true);
            let parts = if is_error {
                Vec::new()
            } else {
                parts::of_assistant(message)
            };
            return self.plain(parent, parts);
        }
        let id = message
            .id
            .clone()
            .or_else(|| record.uuid.clone())
            .unwrap_or_else(|| format!("message-{}", self.chain.messages.len()));
        let (index, is_new) = self.chain.message(&id);
        if is_new {
            self.close();
            self.request(record, &id, parent);
            self.turns.insert(index, self.recording.turn());
            self.open = Some(OpenMessage {
                index,
                answer: Answer {
                    turn: self.recording.turn(),
                    response_id: message.id.clone(),
                    ..Answer::default()
                },
                is_followed: false,
            });
        }
        self.line(record, index);
        let pieces = self.add(parts::of_assistant(message));
        self.chain.push(Node {
            parent,
            pieces,
            message: Some(index),
            results_of: None,
            boundary: None,
        })
    }

    /// A compaction: the context begins anew with the summary that follows.
    pub(super) fn boundary(&mut self, record: &mut Record, preserved: Vec<NodeIndex>) -> NodeIndex {
        self.lost = None;
        self.kept = Some(Kept {
            boundary: self.chain.nodes.len(),
            nodes: preserved.iter().copied().collect(),
        });
        if let Some(open) = &mut self.open {
            open.is_followed = true;
        }
        let walk = self.chain.walk(self.chain.nodes.len().checked_sub(1));
        for piece in self.chain.pieces(&walk) {
            let said = self.assembly.parts(piece);
            self.recording.said(said, record.timestamp.as_deref());
        }
        let at = self.chain.push(Node {
            parent: Parent::Root,
            pieces: Vec::new(),
            message: None,
            results_of: None,
            boundary: Some(preserved),
        });
        let metadata = record.compact_metadata.take().unwrap_or_default();
        self.compactions.insert(
            at,
            Compaction {
                metadata,
                summary: None,
            },
        );
        at
    }

    /// Something of what is sent from now on until the next compaction is not known.
    pub(super) fn lost(&mut self, why: &str) {
        self.lost.get_or_insert_with(|| why.to_owned());
    }

    /// Where a record stands that continues from another one. What a compaction keeps as it is may stay where it was, before the
    /// boundary: what continues from that stands behind the summary (`anchor`), under which it is kept.
    pub(super) fn behind(&self, node: NodeIndex, anchor: Option<NodeIndex>) -> NodeIndex {
        let kept = self.kept.as_ref();
        let Some(kept) = kept.filter(|kept| kept.nodes.contains(&node)) else {
            return node;
        };
        let first_behind = (kept.boundary + 1).min(self.chain.nodes.len() - 1);
        anchor
            .filter(|&anchor| anchor > kept.boundary)
            .unwrap_or(first_behind)
    }

    /// The program went on with a stored session.
    pub(super) fn resumed(&mut self) {
        let is_told = |mutated: &ContextMutated| mutated.kind == MutationKind::Resume;
        if self.last_walk.is_some() && !self.pending.iter().any(is_told) {
            self.pending.push(mutation(0, MutationKind::Resume, None));
        }
    }
}

fn mutation(turn: u32, kind: MutationKind, name: Option<&str>) -> ContextMutated {
    ContextMutated {
        name: name.map(str::to_owned),
        ..ContextMutated::new(turn, kind)
    }
}
