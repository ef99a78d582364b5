//! One conversation of a Claude Code session: the main one, or a sub-agent's.

mod requests;
mod told;

use std::collections::HashMap;

use remembrancer_schema::payload::{
    ContextMutated, MutationKind, Part, PartKind, RequestedCall, ReturnStatus, Usage,
};

use super::super::assembly::{Assembly, Piece};
use super::super::{Answer, Call, Recording, Returned, beginning};
use super::chain::{Chain, MessageIndex, Node, NodeIndex, Parent};
use super::parts;
use super::record::{CompactMetadata, Record};
use super::size::Sizes;

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
    /// Why parts may be missing, until the next compaction.
    incomplete: Option<String>,
    permission_mode: Option<String>,
    /// Measured growth between requests without a mutation, and what the texts account for.
    growth: (u64, u64),
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
            incomplete: None,
            permission_mode: None,
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
            compaction.summary = Some(beginning(&text, SUMMARY_BYTES_MAX).to_owned());
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

    /// What a line adds to its message's answer.
    fn line(&mut self, record: &Record, index: MessageIndex) {
        let Some(message) = &record.message else {
            return;
        };
        let open = self.open.as_mut().filter(|open| open.index == index);
        let Some(open) = open else {
            // A copy of an earlier line, or a line that came after the next request: its calls were not made again.
            return;
        };
        let answer = &mut open.answer;
        answer.time.clone_from(&record.timestamp);
        answer.model = message.model.clone().or(answer.model.take());
        answer.stop_reason = message.stop_reason.clone().or(answer.stop_reason.take());
        answer.usage = later_usage(answer.usage, message.usage());
        let turn = answer.turn;
        for block in message.blocks() {
            match block.kind.as_str() {
                "text" => answer
                    .text
                    .extend(block.text.filter(|text| !text.is_empty())),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    let (Some(id), Some(tool)) = (block.id, block.name) else {
                        continue;
                    };
                    answer.calls.push(RequestedCall {
                        call_id: id.clone(),
                        tool: tool.clone(),
                    });
                    self.calls.insert(id.clone(), (index, tool.clone()));
                    self.recording.call(Call {
                        turn,
                        id,
                        tool,
                        arguments: block.input.map(|raw| raw.get().to_owned()),
                        time: record.timestamp.clone(),
                    });
                }
                _ => {}
            }
        }
    }

    /// Writes the answer of the last message, whose lines have all been read.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let id = answer_id(&open.answer);
            self.recording.answer(&id, open.answer);
        }
    }

    /// Writes the answer of the last message at the end of the file. Where the file may go on with further lines of it, it is
    /// written under another name, so that the whole answer can follow.
    pub(super) fn close_at_end(&mut self) {
        if let Some(open) = self.open.take() {
            let is_whole = open.is_followed || open.answer.stop_reason.is_some();
            let mut id = answer_id(&open.answer);
            if !is_whole {
                let parts = open.answer.text.len() + open.answer.calls.len();
                id.push_str(&format!(".first-{parts}"));
            }
            self.recording.answer(&id, open.answer);
        }
    }

    /// A compaction: the context begins anew with the summary that follows.
    pub(super) fn boundary(&mut self, record: &mut Record, preserved: Vec<NodeIndex>) -> NodeIndex {
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

    /// The program went on with a stored session.
    pub(super) fn resumed(&mut self) {
        let is_told = |mutated: &ContextMutated| mutated.kind == MutationKind::Resume;
        if self.last_walk.is_some() && !self.pending.iter().any(is_told) {
            self.pending.push(mutation(0, MutationKind::Resume, None));
        }
    }
}

fn answer_id(answer: &Answer) -> String {
    let id = answer.response_id.as_deref().unwrap_or("");
    format!("answer.{}.{id}", answer.turn)
}

/// Lines of one message repeat its usage; the last one that says more counts.
fn later_usage(earlier: Option<Usage>, later: Option<Usage>) -> Option<Usage> {
    match (earlier, later) {
        (Some(earlier), Some(later)) if later.input_tokens < earlier.input_tokens => Some(earlier),
        (earlier, later) => later.or(earlier),
    }
}

fn mutation(turn: u32, kind: MutationKind, name: Option<&str>) -> ContextMutated {
    ContextMutated {
        turn,
        kind,
        name: name.map(str::to_owned),
        trigger: None,
        parts: Vec::new(),
        summary: None,
        counted: None,
        withheld: Vec::new(),
        injected_fault: None,
        witness: None,
    }
}
