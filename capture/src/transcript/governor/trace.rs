//! One session of a trace, written event by event.

use std::collections::HashMap;

use remembrancer_schema::payload::{
    DecisionRecorded, EventType, IntentDeclared, RequestedCall, StatedBy, ToolCalled, Usage,
};

use super::event::{TraceEvent, Turns};
use crate::transcript::{Answer, Recording};

/// A session of the file.
pub(super) struct Trace {
    pub(super) recording: Recording,
    last_event: Option<String>,
    last_number: u64,
    /// The tool of each call, for the response that names it.
    tools: HashMap<String, String>,
    /// Calls that no model call names: each gets the turn after the last one that is known.
    unnamed: u32,
}

impl Trace {
    /// A session that was started, and how many model calls it is known to have.
    pub(super) fn new(recording: Recording, model_calls: u32) -> Self {
        Self {
            recording,
            last_event: None,
            last_number: 0,
            tools: HashMap::new(),
            unnamed: model_calls,
        }
    }

    /// Where an event does not follow the one before it.
    pub(super) fn faults(&self, event: &TraceEvent) -> Vec<String> {
        let mut faults = Vec::new();
        if event.previous_event_id != self.last_event {
            faults.push(format!(
                "the event names {:?} as the one before it, and that is {:?}: events are missing or were moved",
                event.previous_event_id.as_deref().unwrap_or("none"),
                self.last_event.as_deref().unwrap_or("none")
            ));
        }
        if event.event_sequence_number != self.last_number + 1 {
            faults.push(format!(
                "the event has the number {} after {}",
                event.event_sequence_number, self.last_number
            ));
        }
        faults
    }

    /// Writes an event.
    pub(super) fn write(&mut self, line: u64, event: &TraceEvent, text: &str, turns: &Turns) {
        self.last_event = Some(event.event_id.clone());
        self.last_number = event.event_sequence_number;
        let time = event.timestamp_utc.as_deref();
        let payload = &event.payload;
        match event.event_type.as_str() {
            "INTENT_DECLARED" if payload.stated_objective.is_some() => self.intent(event),
            "SCOPE_ASSERTED" if payload.tool_id.is_some() => self.called(event, turns),
            _ if event.is_model_call() => {
                self.answered(event, turns);
                let kind = "custom.governor.context_snapshot";
                self.recording.raw(kind, line, time, text);
            }
            kind => {
                let kind = format!("custom.governor.{}", kind.to_ascii_lowercase());
                self.recording.raw(&kind, line, time, text);
            }
        }
        if !event.advisory_flags.is_empty() || !event.policy_violations.is_empty() {
            self.flagged(event);
        }
    }

    fn intent(&mut self, event: &TraceEvent) {
        let payload = &event.payload;
        let source = payload.intent_source.as_deref().unwrap_or("unknown");
        let confidence = payload.intent_confidence.as_deref().unwrap_or("unknown");
        let intent = IntentDeclared {
            objective: payload.stated_objective.clone().unwrap_or_default(),
            targets: payload.session_scope_hint.clone(),
            stated_by: Some(StatedBy {
                role: "governor".to_owned(),
                name: event.agent_id.clone(),
                source: Some(format!(
                    "event {}, intent source {source}, confidence {confidence}",
                    event.event_id
                )),
            }),
            witness: None,
        };
        let id = format!("intent.{}", event.event_id);
        let time = event.timestamp_utc.as_deref();
        self.recording
            .event(&id, &EventType::IntentDeclared, time, &intent);
    }

    fn called(&mut self, event: &TraceEvent, turns: &Turns) {
        let call_id = event.call_id().to_owned();
        let tool = event.payload.tool_id.clone().unwrap_or_default();
        let turn = match turns.of_call(event) {
            Some(turn) => turn,
            None => {
                self.unnamed += 1;
                self.unnamed
            }
        };
        self.tools.insert(call_id.clone(), tool.clone());
        let called = ToolCalled {
            turn,
            call_id: call_id.clone(),
            tool,
            arguments: None,
            target: event.payload.target_system.clone(),
            operation: event.payload.operation_type.clone(),
            witness: None,
        };
        let id = format!("call.{call_id}");
        let time = event.timestamp_utc.as_deref();
        self.recording
            .event(&id, &EventType::ToolCalled, time, &called);
    }

    /// A model call: its size, and which calls it sent.
    fn answered(&mut self, event: &TraceEvent, turns: &Turns) {
        let payload = &event.payload;
        let Some(model_call) = payload.llm_turn_id.clone() else {
            return;
        };
        let Some(turn) = turns.of_model_call(event) else {
            return;
        };
        let read = payload.llm_cached_read_tokens;
        let written = payload.llm_cached_write_tokens;
        let usage = payload.llm_prompt_tokens.map(|prompt| Usage {
            // The governor counts cached input apart.
            input_tokens: prompt + read.unwrap_or(0) + written.unwrap_or(0),
            output_tokens: payload.llm_completion_tokens.unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: written,
        });
        let calls = payload.tool_use_ids.iter().map(|call| RequestedCall {
            call_id: call.clone(),
            tool: self.tools.get(call).cloned().unwrap_or_default(),
        });
        let answer = Answer {
            turn,
            response_id: Some(model_call),
            calls: calls.collect(),
            usage,
            model: payload.model_identifier.clone(),
            time: event.timestamp_utc.clone(),
            ..Answer::default()
        };
        self.recording
            .answer(&format!("response.{}", event.event_id), answer);
    }

    fn flagged(&mut self, event: &TraceEvent) {
        let decision = DecisionRecorded {
            decider: "Sentience Governor".to_owned(),
            call_id: match event.event_type.as_str() {
                "SCOPE_ASSERTED" => Some(event.call_id().to_owned()),
                _ => event.payload.tool_use_id.clone(),
            },
            verdict: None,
            enforced: !event.pass_through,
            flags: event.advisory_flags.clone(),
            violations: event.policy_violations.clone(),
            reason: event.simulated_consequence.clone(),
            reference: Some(event.event_id.clone()),
            witness: None,
        };
        let id = format!("decision.{}", event.event_id);
        let time = event.timestamp_utc.as_deref();
        self.recording
            .event(&id, &EventType::DecisionRecorded, time, &decision);
    }
}
