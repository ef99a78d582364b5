//! Calls of tools and what they returned.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    EventType, PartKind, ReturnStatus, ToolCalled, ToolReturned, Witness,
};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::super::messages::{self, Parts, object, unpacked};
use super::super::span::{AgentSpan, ToolRun};
use super::{Call, Returned, SEEN, Session, UNTOLD, time};
use crate::WriteError;
use crate::cut::CutValue;

/// Arguments and results beyond this, as JSON in bytes, are replaced by their size, their hash and how they begin.
const VALUE_BYTES_MAX: usize = 96 * 1024;
/// How much of a longer one is kept, in bytes.
const VALUE_BYTES_KEPT: usize = 32 * 1024;

impl Session {
    /// Writes a call that an answer holds, unless its tool's run told of it before.
    pub(super) fn called(
        &mut self,
        id: &str,
        turn: u32,
        call_id: &str,
        call: &messages::Call,
        time: Option<&str>,
    ) -> Result<(), WriteError> {
        if self.calls.contains_key(call_id) {
            return Ok(());
        }
        let arguments = call.arguments.clone().map(bounded);
        let called = ToolCalled {
            turn,
            call_id: call_id.to_owned(),
            tool: call.tool.clone(),
            arguments: arguments.as_ref().map(|value| raw(id, value)).transpose()?,
            target: None,
            operation: None,
            witness: Some(Witness::Telemetry),
        };
        self.writer
            .push(id, &EventType::ToolCalled, time, &called)?;
        let call = Call {
            tool: call.tool.clone(),
            arguments: arguments.as_ref().map(hash_of),
            returned: Returned::No,
        };
        self.calls.insert(call_id.to_owned(), call);
        Ok(())
    }

    /// Writes what a call returned.
    pub(super) fn returned(
        &mut self,
        id: &str,
        call_id: &str,
        tool: Option<&str>,
        result: Option<Json>,
        is_error: bool,
        time: Option<&str>,
    ) -> Result<(), WriteError> {
        let returned = ToolReturned {
            call_id: call_id.to_owned(),
            tool: tool.map(str::to_owned),
            status: if is_error {
                ReturnStatus::Error
            } else {
                ReturnStatus::Ok
            },
            result: result.map(|result| raw(id, &bounded(result))).transpose()?,
            effect: None,
            witness: Some(Witness::Telemetry),
        };
        self.writer
            .push(id, &EventType::ToolReturned, time, &returned)?;
        if let Some(call) = self.calls.get_mut(call_id) {
            call.returned = if id.contains(SEEN) {
                Returned::Seen
            } else {
                Returned::Told
            };
        }
        Ok(())
    }

    /// Writes the results that a request hands to the model and that no run of a tool told of: not every instrumentation has
    /// spans for tools.
    pub(super) fn seen(
        &mut self,
        id: &str,
        sent: &Parts,
        time: Option<&str>,
    ) -> Result<(), WriteError> {
        let results = sent
            .parts
            .iter()
            .filter(|part| part.kind == PartKind::ToolResult);
        for part in results {
            let (Some(call_id), Some(text)) = (&part.call_id, &part.text) else {
                continue;
            };
            let is_open = |call: &Call| call.returned == Returned::No;
            if self.calls.get(call_id).is_none_or(|call| !is_open(call)) {
                continue;
            }
            let result = unpacked(&Json::String(text.clone()));
            // Named by the call: a request may hand over many.
            let name = format!("{id}{SEEN}{}", ContentHash::of(call_id.as_bytes()).short());
            self.returned(
                &name,
                call_id,
                part.tool.as_deref(),
                Some(result),
                false,
                time,
            )?;
        }
        Ok(())
    }

    /// Writes a run of a tool: what it returned, and the call where no answer told of it.
    pub(super) fn tool(
        &mut self,
        id: &str,
        span: &AgentSpan,
        run: &ToolRun,
    ) -> Result<(), WriteError> {
        let arguments = run.arguments.as_ref().map(unpacked);
        let call_id = match &run.call_id {
            Some(call_id) => call_id.chars().take(128).collect(),
            None => self
                .open_call_of(&run.tool, arguments.as_ref())
                .unwrap_or_else(|| format!("span:{}", span.span)),
        };
        if !self.calls.contains_key(&call_id) {
            let call = messages::Call {
                id: Some(call_id.clone()),
                tool: run.tool.clone(),
                arguments,
            };
            let (name, time) = (format!("{id}{UNTOLD}"), time(span.start));
            let turn = self.turn_of_untold_call();
            self.called(&name, turn, &call_id, &call, time.as_deref())?;
            // Further calls of the same kind, until the next request, stand in the same unknown answer.
            self.is_answer_known = false;
        }
        if self
            .calls
            .get(&call_id)
            .is_some_and(|call| call.returned == Returned::Seen)
        {
            // The span comes after a request that held the result: it is recorded.
            return self.operation(id, span, "execute_tool");
        }
        let result = match (&run.result, &span.error) {
            (Some(result), _) => Some(result.clone()),
            (None, Some(error)) => Some(object("error", Json::String(error.clone()))),
            // The instrumentation leaves results out.
            (None, None) => None,
        };
        let (name, time) = (format!("{id}.result"), time(span.end));
        let is_error = span.error.is_some();
        self.returned(
            &name,
            &call_id,
            Some(&run.tool),
            result,
            is_error,
            time.as_deref(),
        )
    }

    /// The turn of a call that no answer told of: the last one where its answer is not known, else one of its own whose context
    /// is unknown. To the last turn's answer it does not belong: that one has its calls named.
    fn turn_of_untold_call(&self) -> u32 {
        let last = self.writer.last_turn();
        if last > 0 && !self.is_answer_known {
            last
        } else {
            last + 1
        }
    }

    /// For a run without a call id: the call of the same tool with the same arguments that has not returned, where there is
    /// exactly one.
    fn open_call_of(&self, tool: &str, arguments: Option<&Json>) -> Option<String> {
        let arguments = arguments.cloned().map(bounded);
        let arguments = arguments.as_ref().map(hash_of);
        let mut fitting = self.calls.iter().filter(|(_, call)| {
            call.returned == Returned::No && call.tool == tool && call.arguments == arguments
        });
        match (fitting.next(), fitting.next()) {
            (Some((id, _)), None) => Some(id.clone()),
            _ => None,
        }
    }
}

/// The id of a call of an answer; one without an id is named by its span and its place there.
pub(super) fn call_id(id: Option<&str>, span: &AgentSpan, at: u32) -> String {
    match id {
        Some(id) => id.chars().take(128).collect(),
        None => format!("span:{}:{at}", span.span),
    }
}

/// A value that fits into an event.
pub(super) fn bounded(value: Json) -> Json {
    let text = value.to_string();
    if text.len() <= VALUE_BYTES_MAX {
        return value;
    }
    let cut = serde_json::to_value(CutValue::too_long(&text, VALUE_BYTES_KEPT));
    cut.expect("an object of texts and a number is JSON")
}

fn hash_of(value: &Json) -> ContentHash {
    ContentHash::of(value.to_string().as_bytes())
}

fn raw(id: &str, value: &Json) -> Result<Box<RawValue>, WriteError> {
    serde_json::value::to_raw_value(value).map_err(|error| WriteError::Json {
        id: id.to_owned(),
        error,
    })
}
