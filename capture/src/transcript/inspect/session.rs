//! What one agent was sent, said and called, and which model calls were not its own.

use std::collections::HashSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, CountedTokens, EventType, MutationKind, Part, PartKind,
    RequestedCall, SummaryRecord, TokenCount, TokenSource, Trigger, Usage, Witness,
};

use super::event::{Compaction, Said};
use crate::transcript::{Answer, Call, Recording};

/// Why a context may lack parts.
const NOT_WHOLE: &str = "a message or an attachment that the log refers to is not in it";

/// A model call, read.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) id: String,
    pub(super) time: Option<String>,
    pub(super) completed: Option<String>,
    pub(super) model: Option<String>,
    pub(super) error: Option<String>,
    pub(super) schemas: Vec<String>,
    pub(super) input: Vec<Said>,
    pub(super) answer: Said,
    pub(super) usage: Option<Usage>,
    pub(super) context_tokens: Option<u64>,
    pub(super) stop_reason: Option<String>,
    /// Something that it refers to is not there.
    pub(super) lacks_parts: bool,
}

impl Request {
    /// The texts that were answered.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let said = self.answer.parts.iter();
        said.filter(|part| part.kind == PartKind::Assistant)
            .filter_map(|part| part.text.as_deref())
    }

    /// The summary in its input, where there is one.
    fn summary(&self) -> Option<&str> {
        let parts = self
            .input
            .iter()
            .filter(|said| said.is_summary)
            .flat_map(|said| &said.parts);
        parts.rev().find_map(|part| part.text.as_deref())
    }

    /// Whether it asked for the summary that a later input holds.
    fn wrote(&self, summary: Option<&str>) -> bool {
        let mut texts = self.texts().filter(|text| !text.trim().is_empty());
        let holds = |text: &str| summary.is_some_and(|summary| summary.contains(text));
        self.answer.calls.is_empty() && texts.next().is_some_and(holds)
    }
}

/// One agent's session.
pub(super) struct Agent {
    pub(super) recording: Recording,
    /// The last model call, until it is clear whose it was.
    waiting: Option<Request>,
    /// A model call right before a compaction: likely the one that wrote the summary.
    before_compaction: Option<Request>,
    compactions: Vec<(String, ContextMutated)>,
    /// Texts that were written with a context.
    sent: HashSet<ContentHash>,
}

impl Agent {
    pub(super) fn new(recording: Recording) -> Self {
        Self {
            recording,
            waiting: None,
            before_compaction: None,
            compactions: Vec::new(),
            sent: HashSet::new(),
        }
    }

    /// A part whose text was sent before, by its hash.
    fn once(&mut self, part: Part) -> Part {
        let hash = part
            .text
            .as_deref()
            .map(|text| ContentHash::of(text.as_bytes()));
        match hash {
            Some(hash) if !self.sent.insert(hash) => Part {
                text: None,
                hash: Some(hash),
                ..part
            },
            _ => part,
        }
    }

    /// A model call came.
    pub(super) fn requested(&mut self, request: Request) {
        self.settle();
        if !self.compactions.is_empty() {
            self.apply_compactions(&request);
        }
        self.waiting = Some(request);
    }

    /// A compaction came.
    pub(super) fn compacted(&mut self, id: String, compaction: &Compaction) {
        let kind = match compaction.kind.as_deref() {
            Some("summary") => MutationKind::Compaction,
            Some("edit") => MutationKind::Microcompaction,
            Some("trim") => MutationKind::Truncation,
            _ => MutationKind::Rewrite,
        };
        if kind == MutationKind::Compaction {
            self.before_compaction = self.waiting.take();
        } else {
            self.settle();
        }
        let metadata = compaction.metadata.as_ref();
        let counted = compaction.tokens_before.zip(compaction.tokens_after);
        let strategy = metadata.and_then(|metadata| metadata.strategy.clone());
        let mutation = ContextMutated {
            name: strategy.or_else(|| compaction.source.clone()),
            trigger: Some(Trigger {
                cause: metadata.and_then(|metadata| metadata.trigger.clone()),
                threshold_tokens: None,
                observed_tokens: compaction.tokens_before,
            }),
            counted: counted.map(|(uncompacted, compacted)| CountedTokens {
                uncompacted,
                compacted,
                fixed_overhead: None,
                // The log does not say how they were counted.
                source: TokenSource::Estimated,
            }),
            witness: Some(Witness::Exact),
            ..ContextMutated::new(0, kind)
        };
        self.compactions.push((id, mutation));
    }

    /// Writes the compactions before the request that was sent with their outcome.
    fn apply_compactions(&mut self, next: &Request) {
        let summary = next.summary();
        let writer = match self.before_compaction.take() {
            Some(before) if before.wrote(summary) => Some(before),
            Some(before) => {
                self.write(before);
                None
            }
            None => None,
        };
        let turn = self.recording.turn() + 1;
        let count = self.compactions.len();
        for (at, (id, mutation)) in std::mem::take(&mut self.compactions)
            .into_iter()
            .enumerate()
        {
            let is_last = at + 1 == count && mutation.kind == MutationKind::Compaction;
            let record = summary.filter(|_| is_last).map(|text| {
                let usage = writer.as_ref().and_then(|writer| writer.usage);
                SummaryRecord {
                    text: text.to_owned(),
                    model: writer.as_ref().and_then(|writer| writer.model.clone()),
                    input_tokens: usage.map(|usage| usage.input_tokens),
                    output_tokens: usage.map(|usage| usage.output_tokens),
                }
            });
            let mutation = ContextMutated {
                turn,
                summary: record,
                ..mutation
            };
            let id = format!("compaction.{id}");
            self.recording
                .event(&id, &EventType::ContextMutated, None, &mutation);
        }
    }

    /// Something else came: the last model call was the agent's own.
    pub(super) fn settle(&mut self) {
        if let Some(request) = self.waiting.take() {
            self.write(request);
        }
    }

    /// The end: what waits for a request that never came.
    pub(super) fn flush(&mut self) {
        if self.before_compaction.is_some() || !self.compactions.is_empty() {
            self.apply_compactions(&Request::default());
        }
    }

    /// Writes a model call: the context, the answer, its calls.
    fn write(&mut self, request: Request) {
        let turn = self.recording.next_turn();
        let schemas = request.schemas.into_iter();
        let mut parts: Vec<Part> = schemas
            .map(|schema| Part::inline(PartKind::ToolSchema, schema))
            .collect();
        for (said, number) in request.input.into_iter().zip(0u32..) {
            parts.extend(said.parts.into_iter().map(|part| Part {
                message: Some(number),
                ..part
            }));
        }
        let parts = parts.into_iter().map(|part| self.once(part)).collect();
        let captured = ContextCaptured {
            turn,
            parts,
            tokens: request.context_tokens.map(|count| TokenCount {
                count,
                source: TokenSource::Measured,
            }),
            incomplete: request.lacks_parts.then(|| NOT_WHOLE.to_owned()),
            witness: Some(Witness::Exact),
            ..ContextCaptured::default()
        };
        let name = format!("request.{}", request.id);
        self.recording
            .context(&name, request.time.as_deref(), captured);
        let texts = request.answer.parts.iter();
        let texts = texts.filter(|part| part.kind == PartKind::Assistant);
        let answer = Answer {
            turn,
            text: texts.filter_map(|part| part.text.clone()).collect(),
            calls: request
                .answer
                .calls
                .iter()
                .map(|(id, tool, _)| RequestedCall {
                    call_id: id.clone(),
                    tool: tool.clone(),
                })
                .collect(),
            usage: request.usage,
            model: request.model,
            stop_reason: request
                .stop_reason
                .or(request.error.map(|_| "error".to_owned())),
            time: request.completed.clone(),
            ..Answer::default()
        };
        self.recording
            .answer(&format!("response.{}", request.id), answer);
        for (id, tool, arguments) in request.answer.calls {
            self.recording.call(Call {
                turn,
                id,
                tool,
                arguments,
                time: request.completed.clone(),
            });
        }
    }
}
