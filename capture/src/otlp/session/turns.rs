//! Requests to the model: what was sent, what came back.

use std::collections::HashMap;

use remembrancer_replay::RecordedEvent;
use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, ModelResponded, MutationKind, Part, PartKind,
    RequestedCall, SummaryRecord, Witness,
};
use serde_json::{Value as Json, json};

use super::super::messages::{Answer, Parts};
use super::super::span::{AgentSpan, ModelCall};
use super::{Session, actions, custom, moment, time};
use crate::WriteError;
use crate::cut::cut_text;

/// Longest reason for which a context may be incomplete, in characters.
const REASON_CHARS_MAX: usize = 500;
/// An answer's text beyond this, in bytes, is cut: the next request holds it whole.
const ANSWER_BYTES_MAX: usize = 96 * 1024;

impl Session {
    /// Writes a request and its answer, as the turn after the last one.
    pub(super) fn turn(
        &mut self,
        id: &str,
        span: &AgentSpan,
        call: &ModelCall,
    ) -> Result<(), WriteError> {
        let turn = self.writer.last_turn() + 1;
        if let Some(sent) = &call.sent {
            let is_late = span.start < self.last_start;
            self.last_start = self.last_start.max(span.start);
            let grows = self.grows(&sent.parts);
            self.seen(id, sent, time(span.start).as_deref())?;
            if is_late && !grows {
                self.late(id, turn, span, sent)?;
            } else {
                self.mutation(id, turn, span, call, grows)?;
                let incomplete: String = call.incomplete.join("; ");
                let captured = ContextCaptured {
                    turn,
                    parts: sent.parts.clone(),
                    incomplete: (!incomplete.is_empty())
                        .then(|| incomplete.chars().take(REASON_CHARS_MAX).collect()),
                    witness: Some(Witness::Telemetry),
                    ..ContextCaptured::default()
                };
                let time = time(span.start);
                self.writer
                    .context(&format!("{id}.context"), time.as_deref(), captured)?;
            }
        }
        self.answer(id, turn, span, call)
    }

    /// Whether a context is the last one with parts added behind it.
    fn grows(&self, parts: &[Part]) -> bool {
        let hashes = |parts: &[Part]| parts.iter().map(hash_of).collect::<Vec<_>>();
        let before = self.writer.last_context().map(hashes).unwrap_or_default();
        let now = hashes(parts);
        now.starts_with(&before)
    }

    /// The context of a request that began before one that was recorded already, and does not build on it. As a turn's context
    /// it would look like a change that never was: the turn's context is unknown, and this is kept beside it.
    fn late(
        &mut self,
        id: &str,
        turn: u32,
        span: &AgentSpan,
        sent: &Parts,
    ) -> Result<(), WriteError> {
        let mut blobs = Vec::new();
        let parts = self.by_hash(&sent.parts, &mut blobs);
        let told = json!({
            "turn": turn,
            "reason": "the request began before one that was recorded already",
            "parts": self.listed(parts, &mut blobs),
        });
        let (id, time) = (format!("{id}.late"), time(span.start));
        let kind = custom("late_context");
        self.writer
            .push_with_blobs(&id, &kind, time.as_deref(), &told, &blobs)
    }

    /// What the spans claim of a change of the context. What really changed is found by comparing contexts.
    fn mutation(
        &mut self,
        id: &str,
        turn: u32,
        span: &AgentSpan,
        call: &ModelCall,
        grows: bool,
    ) -> Result<(), WriteError> {
        let told_before = self.compaction.take();
        // The flag stays on every later span of the conversation; what only grew was not compacted just now.
        let is_new_flag = call.is_compacted && !(grows && self.writer.last_context().is_some());
        let in_parts = call.sent.as_ref().and_then(|sent| {
            let summary = sent
                .parts
                .iter()
                .rev()
                .find(|part| part.kind == PartKind::Summary)?;
            let known = self.writer.last_context().unwrap_or_default();
            let hash = hash_of(summary);
            let is_new = known.iter().all(|part| hash_of(part) != hash);
            is_new.then(|| sent.compaction.clone()).flatten()
        });
        let Some((name, summary)) = told_before
            .map(|summary| ("compaction part of an answer", summary))
            .or_else(|| in_parts.map(|summary| ("compaction part", summary)))
            .or_else(|| is_new_flag.then_some(("gen_ai.conversation.compacted", None)))
        else {
            return Ok(());
        };
        let summary = summary.map(|text| SummaryRecord {
            text: cut(&text, ANSWER_BYTES_MAX),
            ..SummaryRecord::default()
        });
        let mutated = ContextMutated {
            name: Some(name.to_owned()),
            summary,
            witness: Some(Witness::Telemetry),
            ..ContextMutated::new(turn, MutationKind::Compaction)
        };
        let (id, time) = (format!("{id}.mutation"), time(span.start));
        self.writer
            .push(&id, &EventType::ContextMutated, time.as_deref(), &mutated)
    }

    fn answer(
        &mut self,
        id: &str,
        turn: u32,
        span: &AgentSpan,
        call: &ModelCall,
    ) -> Result<(), WriteError> {
        let nothing = Answer::default();
        let answer = call.answer.as_ref().unwrap_or(&nothing);
        let calls: Vec<(String, &super::super::messages::Call)> = (0..)
            .zip(&answer.calls)
            .map(|(at, call): (u32, _)| (actions::call_id(call.id.as_deref(), span, at), call))
            .collect();
        let error = span.error.as_ref().map(|error| format!("error: {error}"));
        let stop_reason = call.stop_reason.clone();
        let stop_reason = stop_reason
            .or_else(|| answer.finish_reason.clone())
            .or(error);
        let responded = ModelResponded {
            turn,
            response_id: call.response_id.clone(),
            text: bounded_texts(&answer.text),
            calls: calls
                .iter()
                .map(|(call_id, call)| RequestedCall {
                    call_id: call_id.clone(),
                    tool: call.tool.clone(),
                })
                .collect(),
            usage: call.usage,
            model: call.model.clone(),
            stop_reason: stop_reason.map(|reason| reason.chars().take(1000).collect()),
            witness: Some(Witness::Telemetry),
        };
        let time = time(span.end);
        let kind = EventType::ModelResponded;
        self.writer.push(
            &format!("{id}.response"),
            &kind,
            time.as_deref(),
            &responded,
        )?;
        if let Some(bytes) = call.unread_answer {
            let told = json!({
                "turn": turn,
                "attribute": "gen_ai.output.messages",
                "bytes": bytes,
                "reason": "it is no JSON: most likely it was cut by a limit of the sender",
            });
            let (id, kind) = (format!("{id}.unread"), custom("answer_unread"));
            self.writer.push(&id, &kind, time.as_deref(), &told)?;
        }
        self.is_answer_known = !responded.text.is_empty() || !responded.calls.is_empty();
        for (at, (call_id, call)) in calls.iter().enumerate() {
            let name = format!("{id}.call.{at}");
            self.called(&name, turn, call_id, call, time.as_deref())?;
        }
        for (at, (call_id, result)) in answer.returned.iter().enumerate() {
            let call_id = actions::call_id(call_id.as_deref(), span, at as u32);
            let name = format!("{id}.result.{at}");
            self.returned(
                &name,
                &call_id,
                None,
                Some(result.clone()),
                false,
                time.as_deref(),
            )?;
        }
        if let Some(summary) = &answer.compaction {
            let told = json!({ "turn": turn, "summary": summary.as_deref().map(|text| cut(text, ANSWER_BYTES_MAX)) });
            let kind = custom("compaction_claimed");
            self.writer
                .push(&format!("{id}.compaction"), &kind, time.as_deref(), &told)?;
            self.compaction = Some(summary.clone());
        }
        Ok(())
    }

    /// Takes note of an event of a type of this module.
    /// `begun` takes when the request of a turn began whose context is kept beside.
    pub(super) fn learn_custom(&mut self, event: &RecordedEvent, begun: &mut HashMap<u32, u64>) {
        let kind = &event.entry.kind;
        if *kind == custom("branched") {
            return self.learn_branched(event);
        }
        let data = event.payload.as_ref().map(|payload| payload.data.as_ref());
        let read = || data.and_then(|data| serde_json::from_str::<Json>(data).ok());
        if *kind == custom("compaction_claimed") {
            self.compaction = read().map(|told| told["summary"].as_str().map(str::to_owned));
        } else if *kind == custom("late_context")
            && let Some(turn) = read().and_then(|told| u32::try_from(told["turn"].as_u64()?).ok())
        {
            begun.insert(turn, moment(event.entry.time.as_deref()));
        }
    }

    /// A history that somebody claims, as parts that stand by their hashes.
    pub(super) fn claimed(&mut self, history: &Json, blobs: &mut Vec<ContentHash>) -> Json {
        let mut parts = Parts::default();
        parts.messages(history);
        let parts = self.by_hash(&parts.parts, blobs);
        self.listed(parts, blobs)
    }

    /// Parts by their hashes; texts that the session does not hold are kept as blobs.
    fn by_hash(&mut self, parts: &[Part], blobs: &mut Vec<ContentHash>) -> Vec<Part> {
        parts
            .iter()
            .map(|part| match &part.text {
                Some(text) => Part {
                    hash: Some(self.writer.blob(text.as_bytes().to_vec(), blobs)),
                    text: None,
                    ..part.clone()
                },
                None => part.clone(),
            })
            .collect()
    }

    /// A list of parts for an event, or the hash of a blob that holds it.
    fn listed(&mut self, parts: Vec<Part>, blobs: &mut Vec<ContentHash>) -> Json {
        let list = json!(parts);
        let text = list.to_string();
        if text.len() <= ANSWER_BYTES_MAX {
            return list;
        }
        json!({ "parts_blob": self.writer.blob(text.into_bytes(), blobs) })
    }
}

pub(super) fn hash_of(part: &Part) -> Option<ContentHash> {
    let text = part.text.as_ref();
    text.map(|text| ContentHash::of(text.as_bytes()))
        .or(part.hash)
}

/// Texts that have no more than may stand in an event, together.
fn bounded_texts(texts: &[String]) -> Vec<String> {
    let mut room = ANSWER_BYTES_MAX;
    let mut bounded = Vec::new();
    for text in texts {
        if room == 0 {
            break;
        }
        let text = cut(text, room);
        room = room.saturating_sub(text.len());
        bounded.push(text);
    }
    bounded
}

/// A text with at most so many bytes, and behind them what is said of one that was longer.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    cut_text(text, bytes_max)
}
