//! Model requests. No hook but Gemini CLI's sees one: others tell what the next request carries beyond the last, and that a
//! request was answered.

use std::collections::BTreeSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{ContextCaptured, EventType, Part, PartKind, Witness};
use serde_json::json;

use super::Program;
use super::payload::{ModelMessage, said};
use super::standing::{Batches, Listed};
use super::translation::Translation;
use crate::WriteError;

/// Why no context that is known from hooks is whole.
const INCOMPLETE: &str = "known from hooks, which are told neither the request nor what the program adds to it: system prompt, \
                          tool schemas, reminders, reasoning, and what a compaction kept may be missing";
/// The same for a program that tells the texts of its requests.
const TEXTS_ALONE: &str = "known from a hook that is told the texts of the messages alone: system prompt, tool schemas, calls \
                           and results may be missing";
/// Most messages of a request that are compared with those of the next.
const LISTED_MAX: usize = 4_000;

impl Translation<'_> {
    /// Whether the program tells its requests.
    pub(super) fn tells_requests(&self) -> bool {
        self.arrival.program == Program::Gemini
    }

    /// Something happened that only an answered request brings about: its context is recorded, unless it was.
    pub(super) fn request_seen(&mut self) -> Result<(), WriteError> {
        let is_new = self.thread.request_due || self.thread.turn == 0;
        if !is_new {
            return Ok(());
        }
        self.settle_compaction()?;
        let parts = std::mem::take(&mut self.thread.waiting);
        let base = self.thread.grows.then_some(self.thread.turn);
        self.capture(base, parts, INCOMPLETE)
    }

    /// A call was made: one after the last answer to a prompt belongs to a further request.
    pub(super) fn request_with_call_seen(&mut self) -> Result<(), WriteError> {
        let is_further = self.thread.batches == Batches::Untold
            && !self.thread.returned.is_empty()
            && self.thread.open.is_empty();
        if is_further {
            self.carry_returned()?;
        }
        self.thread.request_due |= self.thread.answered || is_further;
        self.request_seen()
    }

    fn capture(
        &mut self,
        base: Option<u32>,
        parts: Vec<Part>,
        incomplete: &str,
    ) -> Result<(), WriteError> {
        self.thread.turn += 1;
        self.thread.request_due = false;
        self.thread.answered = false;
        self.thread.grows = true;
        let (mut inline, mut blobs) = (0, Vec::new());
        let parts = parts
            .into_iter()
            .map(|part| self.writer.part(part, &mut inline, &mut blobs))
            .collect();
        let captured = ContextCaptured {
            turn: self.thread.turn,
            base,
            parts,
            incomplete: Some(incomplete.to_owned()),
            witness: Some(Witness::Hook),
            ..ContextCaptured::default()
        };
        let id = format!("context-{}", self.thread.turn);
        self.push(&id, EventType::ContextCaptured, &captured, &blobs)
    }

    /// Lets the next request carry the calls that returned and that no batch named, where requests are not told.
    pub(super) fn carry_returned(&mut self) -> Result<(), WriteError> {
        let returned = std::mem::take(&mut self.thread.returned);
        if returned.is_empty() || self.tells_requests() {
            return Ok(());
        }
        if self.thread.batches == Batches::Unknown {
            self.thread.batches = Batches::Untold;
        }
        for call in returned {
            let (id, tool) = (Some(call.call_id), Some(call.tool));
            self.thread.wait(Part {
                call_id: id.clone(),
                tool: tool.clone(),
                ..Part::by_hash(PartKind::ToolCall, call.arguments)
            });
            if let Some(result) = call.result {
                self.thread.wait(Part {
                    call_id: id,
                    tool,
                    ..Part::by_hash(PartKind::ToolResult, result)
                });
            }
        }
        self.thread.request_due = true;
        Ok(())
    }

    /// A request that the program tells, before it is sent.
    pub(super) fn told_request(&mut self) -> Result<(), WriteError> {
        let Some(request) = self.payload().request() else {
            return self.custom(
                "hook_unreadable",
                "unreadable",
                &json!({ "event": self.payload().event, "field": "llm_request" }),
            );
        };
        self.thread.returned.clear();
        let parts: Vec<Part> = request.messages.iter().map(message).collect();
        let listed: Vec<Listed> = parts
            .iter()
            .take(LISTED_MAX)
            .map(|part| Listed {
                kind: part.kind,
                hash: ContentHash::of(part.text.as_deref().unwrap_or_default().as_bytes()),
            })
            .collect();
        let before = std::mem::take(&mut self.thread.listed);
        let goes_on = self.thread.turn > 0
            && self.thread.grows
            && before.len() < LISTED_MAX
            && listed.starts_with(&before);
        self.settle_told_compaction(goes_on)?;
        let known: BTreeSet<ContentHash> = before.iter().map(|one| one.hash).collect();
        let skipped = if goes_on { before.len() } else { 0 };
        let parts = parts
            .into_iter()
            .zip(
                listed
                    .iter()
                    .map(|one| Some(one.hash))
                    .chain(std::iter::repeat(None)),
            )
            .skip(skipped)
            .map(
                |(part, hash)| match hash.filter(|hash| known.contains(hash)) {
                    Some(hash) => Part {
                        message: part.message,
                        ..Part::by_hash(part.kind, hash)
                    },
                    None => part,
                },
            )
            .collect();
        self.thread.listed = listed;
        let base = goes_on.then_some(self.thread.turn);
        self.capture(base, parts, TEXTS_ALONE)?;
        if let Some(model) = request.model {
            let data = json!({ "turn": self.thread.turn, "model": model });
            self.custom("model_requested", "requested", &data)?;
        }
        Ok(())
    }
}

fn message(message: &ModelMessage) -> Part {
    let kind = match message.role.as_str() {
        "system" => PartKind::System,
        "model" => PartKind::Assistant,
        _ => PartKind::User,
    };
    Part::inline(kind, said(&message.content))
}
