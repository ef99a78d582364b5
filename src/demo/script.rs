//! Turns the steps of a run into the events that an agent's SDK would post.

use std::collections::HashSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ClaimedAction, ContextCaptured, ContextMutated, CountedTokens, DeclaredFate, Fate,
    ModelResponded, MutationKind, Part, PartKind, RequestedCall, ReturnStatus, SessionEnded,
    SummaryRecord, TokenCount, TokenSource, ToolCalled, ToolReturned, Trigger, Usage, Witness,
};
use serde::Serialize;
use serde_json::{Value, json, value::to_raw_value};

/// First second of the runs; events follow at fixed distances, so that the sample is the same each time.
const STARTED: &str = "2026-11-02T09:00:00Z";
/// Characters that one token stands for in an estimate.
const CHARACTERS_PER_TOKEN: usize = 4;

/// One tool call and what came back.
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) result: Value,
    pub(super) effect: Option<&'static str>,
}

/// A compaction before a request: everything but the head and the newest messages becomes this summary.
pub(super) struct Compaction {
    pub(super) summary: &'static str,
    /// Messages at the end that stay as they are.
    pub(super) keep_messages: usize,
}

/// Writes one session as events, and keeps the context that the model would see.
pub(super) struct Script {
    session: String,
    agent: &'static str,
    events: Vec<String>,
    seconds: i64,
    turn: u32,
    /// Parts that compaction never touches: instructions and re-supplied material.
    fixed: usize,
    context: Vec<Part>,
    /// Number of leading parts that the last capture held.
    captured: usize,
    calls: u32,
    trigger_tokens: u64,
    /// Contents that the recorder has, from earlier captures.
    sent: HashSet<ContentHash>,
}

impl Script {
    pub(super) fn new(
        session: &str,
        agent: &'static str,
        offset_seconds: i64,
        trigger_tokens: u64,
    ) -> Self {
        Self {
            session: session.to_owned(),
            agent,
            events: Vec::new(),
            seconds: offset_seconds,
            turn: 0,
            fixed: 0,
            context: Vec::new(),
            captured: 0,
            calls: 0,
            trigger_tokens,
            sent: HashSet::new(),
        }
    }

    /// The events so far, in the form in which they are posted.
    pub(super) fn into_events(self) -> Vec<String> {
        self.events
    }

    /// Posts one event.
    pub(super) fn event(&mut self, kind: &str, data: &impl Serialize) {
        self.seconds += 1;
        let started: jiff::Timestamp = STARTED.parse().expect("a constant timestamp");
        let time = started + jiff::SignedDuration::from_secs(self.seconds);
        let event = json!({
            "id": format!("{}-{:04}", self.session, self.events.len()),
            "session": self.session,
            "type": kind,
            "agent": self.agent,
            "time": time.to_string(),
            "data": data,
        });
        self.events.push(event.to_string());
    }

    /// Sets what stands before all messages.
    pub(super) fn fix(&mut self, parts: Vec<Part>) {
        self.fixed = parts.len();
        self.context = parts;
    }

    /// Adds a message of the user.
    pub(super) fn user(&mut self, text: &str) {
        let message = self.next_message();
        self.context.push(Part {
            message: Some(message),
            ..Part::inline(PartKind::User, text)
        });
    }

    /// Replaces older messages by a summary, and declares it.
    pub(super) fn compact(&mut self, compaction: &Compaction) {
        let first_kept = self.first_message_to_keep(compaction.keep_messages);
        let before = estimate(&self.context);
        let removed: Vec<Part> = self.context.drain(self.fixed..first_kept).collect();
        let mut summary = Part::inline(PartKind::Summary, compaction.summary);
        summary.message = Some(0);
        self.context.insert(self.fixed, summary);
        self.captured = 0;
        let declared = ContextMutated {
            turn: self.turn + 1,
            kind: MutationKind::Compaction,
            name: None,
            trigger: Some(Trigger {
                cause: Some("automatic".to_owned()),
                threshold_tokens: Some(self.trigger_tokens),
                observed_tokens: Some(before),
            }),
            parts: removed.iter().map(summarised).collect(),
            summary: Some(SummaryRecord {
                text: compaction.summary.to_owned(),
                ..SummaryRecord::default()
            }),
            counted: Some(CountedTokens {
                uncompacted: before,
                compacted: estimate(&self.context),
                fixed_overhead: Some(estimate(&self.context[..self.fixed])),
                source: TokenSource::Estimated,
            }),
            withheld: Vec::new(),
            injected_fault: None,
            witness: None,
        };
        self.event("context.mutated", &declared);
    }

    /// Sends one request: the context, the answer, its calls and their results.
    pub(super) fn turn(&mut self, text: &str, calls: &[Call]) {
        self.turn += 1;
        self.capture();
        let named: Vec<(String, &Call)> = calls
            .iter()
            .map(|call| {
                self.calls += 1;
                (format!("call-{}-{:02}", self.session, self.calls), call)
            })
            .collect();
        let input_tokens = estimate(&self.context);
        let response = ModelResponded {
            turn: self.turn,
            response_id: Some(format!("resp-{}-{:02}", self.session, self.turn)),
            text: if text.is_empty() {
                Vec::new()
            } else {
                vec![text.to_owned()]
            },
            calls: named
                .iter()
                .map(|(call_id, call)| RequestedCall {
                    call_id: call_id.clone(),
                    tool: call.tool.to_owned(),
                })
                .collect(),
            usage: Some(Usage {
                input_tokens,
                output_tokens: 60 + text.len() as u64 / 4,
                ..Usage::default()
            }),
            model: None,
            stop_reason: Some(
                if calls.is_empty() {
                    "end_turn"
                } else {
                    "tool_use"
                }
                .to_owned(),
            ),
            witness: None,
        };
        self.event("model.responded", &response);
        let message = self.next_message();
        if !text.is_empty() {
            self.context.push(Part {
                message: Some(message),
                ..Part::inline(PartKind::Assistant, text)
            });
        }
        for (call_id, call) in &named {
            let text = format!("{}({})", call.tool, call.arguments);
            let part = Part::inline(PartKind::ToolCall, text);
            self.context
                .push(of_call(part, call_id, call.tool, message));
        }
        for (call_id, call) in &named {
            self.act(call_id, call);
            let part = Part::inline(PartKind::ToolResult, call.result.to_string());
            self.context
                .push(of_call(part, call_id, call.tool, message + 1));
        }
    }

    /// Id of the newest call.
    pub(super) fn last_call(&self) -> String {
        format!("call-{}-{:02}", self.session, self.calls)
    }

    /// Files the report and ends the session.
    pub(super) fn finish(&mut self, claims: &[(&str, &str)], body: &Value) {
        let claimed: Vec<ClaimedAction> = claims
            .iter()
            .map(|(tool, text)| ClaimedAction {
                text: (*text).to_owned(),
                tool: Some((*tool).to_owned()),
                argument: None,
            })
            .collect();
        self.event(
            "report.filed",
            &json!({ "claimed_actions": claimed, "body": body }),
        );
        self.event(
            "session.ended",
            &SessionEnded {
                outcome: Some("completed".to_owned()),
                reason: None,
                witness: None,
            },
        );
    }

    fn act(&mut self, call_id: &str, call: &Call) {
        let called = ToolCalled {
            turn: self.turn,
            call_id: call_id.to_owned(),
            tool: call.tool.to_owned(),
            arguments: to_raw_value(&call.arguments).ok(),
            target: None,
            operation: None,
            witness: None,
        };
        self.event("tool.called", &called);
        let returned = ToolReturned {
            call_id: call_id.to_owned(),
            tool: Some(call.tool.to_owned()),
            status: ReturnStatus::Ok,
            result: to_raw_value(&call.result).ok(),
            effect: call.effect.map(str::to_owned),
            witness: None,
        };
        self.event("tool.returned", &returned);
    }

    /// Posts the context: the whole list at first and after a compaction, else what was appended to the turn before.
    fn capture(&mut self) {
        let base = (self.captured > 0).then(|| self.turn - 1);
        let first = base.map_or(0, |_| self.captured);
        let parts = self.context[first..]
            .iter()
            .map(|part| self.by_hash_if_sent(part))
            .collect();
        self.sent
            .extend(self.context[first..].iter().filter_map(content_hash));
        let captured = ContextCaptured {
            turn: self.turn,
            base,
            parts,
            tokens: Some(TokenCount {
                count: estimate(&self.context),
                source: TokenSource::Estimated,
            }),
            witness: Some(Witness::Exact),
            proof: None,
            incomplete: None,
            parts_blob: None,
        };
        self.event("context.captured", &captured);
        self.captured = self.context.len();
    }

    /// A part that the recorder has already is named by its hash alone.
    fn by_hash_if_sent(&self, part: &Part) -> Part {
        match content_hash(part).filter(|hash| self.sent.contains(hash)) {
            Some(hash) => Part {
                text: None,
                hash: Some(hash),
                ..part.clone()
            },
            None => part.clone(),
        }
    }

    fn next_message(&self) -> u32 {
        self.context
            .iter()
            .filter_map(|part| part.message)
            .max()
            .map_or(0, |message| message + 1)
    }

    fn first_message_to_keep(&self, keep: usize) -> usize {
        let mut messages: Vec<u32> = self.context[self.fixed..]
            .iter()
            .filter_map(|part| part.message)
            .collect();
        messages.dedup();
        let first = messages
            .len()
            .checked_sub(keep)
            .and_then(|at| messages.get(at))
            .copied();
        let at = self
            .context
            .iter()
            .position(|part| part.message.is_some() && part.message == first);
        at.unwrap_or(self.context.len())
    }
}

fn of_call(part: Part, call_id: &str, tool: &str, message: u32) -> Part {
    Part {
        call_id: Some(call_id.to_owned()),
        tool: Some(tool.to_owned()),
        message: Some(message),
        ..part
    }
}

fn content_hash(part: &Part) -> Option<ContentHash> {
    part.text
        .as_ref()
        .map(|text| ContentHash::of(text.as_bytes()))
}

fn summarised(part: &Part) -> DeclaredFate {
    DeclaredFate {
        fate: Fate::Summarised,
        hash: content_hash(part),
        call_id: None,
        part_kind: None,
        position: None,
    }
}

fn estimate(parts: &[Part]) -> u64 {
    let characters: usize = parts
        .iter()
        .filter_map(|part| part.text.as_ref())
        .map(|text| text.chars().count())
        .sum();
    characters.div_ceil(CHARACTERS_PER_TOKEN) as u64
}
