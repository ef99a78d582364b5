//! One session that is being written from a transcript.

mod exchange;
mod rules;

use std::collections::{BTreeSet, HashMap};

use remembrancer_schema::payload::{
    ConstraintDeclared, ContextCaptured, EventType, ModelResponded, Part, SessionStarted,
    ToolCalled, ToolReturned, Witness,
};
use remembrancer_schema::{AgentName, ContentHash, SessionId};
use serde::Serialize;

pub use exchange::{Answer, Call, Returned};

use super::declared::ImportOptions;
use super::fitting::fitting;
use super::lines::Line;
use super::proposed_rule::RuleReader;
use crate::cut::prefix;
use crate::{SessionWriter, WriteError, Written};

/// Longest text of a response that stands in its event, all its parts together, in bytes. The next context has the whole.
const RESPONSE_BYTES_MAX: usize = 32 * 1024;
/// Longest record that is kept as it is in an event, in bytes; of a longer one, the beginning and the hash are.
const RAW_BYTES_MAX: usize = 32 * 1024;
/// Longest text in which rules are looked for, in bytes.
const RULES_TEXT_BYTES_MAX: usize = 256 * 1024;
/// Most rules that are read from one session.
const RULES_MAX: usize = 500;

/// Writes the events of one session.
///
/// An event that the recorder would refuse, because the transcript holds what no event can, is left out and told: one bad record
/// does not keep the others out.
#[derive(Debug)]
pub struct Recording {
    writer: SessionWriter,
    turn: u32,
    held: Vec<(ConstraintDeclared, String)>,
    rules: Option<RuleReader>,
    extracts: bool,
    has_scope: bool,
    declared: BTreeSet<String>,
    notices: Vec<String>,
    /// The line that is being read.
    line: Option<u64>,
    /// The lines at which the user's texts stand, where rules are looked for in them.
    heard: HashMap<ContentHash, u64>,
}

/// A record that is kept as it is.
#[derive(Serialize)]
struct RawRecord {
    line: u64,
    record: Box<serde_json::value::RawValue>,
}

impl Recording {
    pub(super) fn new(
        session: SessionId,
        agent: Option<AgentName>,
        witness: Witness,
        options: &ImportOptions,
    ) -> Self {
        Self {
            writer: SessionWriter::new(session, agent, witness),
            turn: 0,
            held: Vec::new(),
            rules: options.rules,
            extracts: options.extract_rules,
            has_scope: options.declared.scope.is_some(),
            declared: BTreeSet::new(),
            notices: Vec::new(),
            line: None,
            heard: HashMap::new(),
        }
    }

    /// Says which line of the file is being read: a rule that is found in what the user says there names it.
    pub fn at_line(&mut self, line: u64) {
        self.line = Some(line);
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        self.writer.session()
    }

    /// Whether a scope was declared from outside, which a transcript's own does not replace.
    pub fn has_scope(&self) -> bool {
        self.has_scope
    }

    /// The number of the next request.
    pub fn next_turn(&mut self) -> u32 {
        self.turn += 1;
        self.turn
    }

    /// The number of the last request, 0 before the first.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    pub(super) fn begin(
        &mut self,
        time: Option<&str>,
        started: &SessionStarted,
    ) -> Result<(), WriteError> {
        let time = sound_time(time);
        self.writer
            .push("session", &EventType::SessionStarted, time, started)
    }

    /// Adds an event. `id` is a name that is the same at every import.
    pub fn event<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        time: Option<&str>,
        data: &T,
    ) {
        let outcome = self.writer.push(id, kind, sound_time(time), data);
        self.tell(outcome);
    }

    /// Whether something was written; else it is told.
    fn tell(&mut self, outcome: Result<(), WriteError>) -> bool {
        if let Err(error) = &outcome {
            self.notices.push(format!("left out: {error}"));
        }
        outcome.is_ok()
    }

    /// Adds the context of a request, as the whole list of its parts. Parts whose texts were given before may come by their
    /// hash. Returns whether it was written.
    pub fn context(&mut self, id: &str, time: Option<&str>, captured: ContextCaptured) -> bool {
        self.read_rules(id, &captured.parts, time);
        let outcome = self.writer.context(id, sound_time(time), captured);
        self.tell(outcome)
    }

    /// The same, where the context before only grew: `captured` has the parts that were added at its end.
    pub fn grown_context(
        &mut self,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
    ) -> bool {
        self.read_rules(id, &captured.parts, time);
        let outcome = self.writer.grown_context(id, sound_time(time), captured);
        self.tell(outcome)
    }

    /// Adds the answer to a request.
    pub fn answer(&mut self, id: &str, answer: Answer) {
        let mut room = RESPONSE_BYTES_MAX;
        let text = answer.text.iter().map(|text| {
            let kept = prefix(text, room);
            room -= kept.len();
            kept.to_owned()
        });
        let data = ModelResponded {
            turn: answer.turn,
            response_id: answer.response_id,
            text: text.filter(|text| !text.is_empty()).collect(),
            calls: answer.calls,
            usage: answer.usage,
            model: answer.model,
            stop_reason: answer.stop_reason,
            witness: None,
        };
        self.event(
            id,
            &EventType::ModelResponded,
            answer.time.as_deref(),
            &data,
        );
    }

    /// Adds a call.
    pub fn call(&mut self, call: Call) {
        let data = ToolCalled {
            turn: call.turn,
            call_id: call.id.clone(),
            tool: call.tool,
            arguments: call.arguments.as_deref().map(json_or_text),
            target: None,
            operation: None,
            witness: None,
        };
        let id = format!("call.{}", call.id);
        self.event(&id, &EventType::ToolCalled, call.time.as_deref(), &data);
    }

    /// Adds what a call gave back.
    pub fn returned(&mut self, returned: Returned) {
        let data = ToolReturned {
            call_id: returned.call_id.clone(),
            tool: returned.tool,
            status: returned.status,
            result: returned.result.as_deref().map(json_or_text),
            effect: None,
            witness: None,
        };
        let id = format!("return.{}", returned.call_id);
        self.event(
            &id,
            &EventType::ToolReturned,
            returned.time.as_deref(),
            &data,
        );
    }

    /// Keeps a record that means nothing to the analysis as it is, as an event of a `custom.*` type.
    pub fn raw(&mut self, kind: &str, line: u64, time: Option<&str>, record: &str) {
        let record = if record.len() <= RAW_BYTES_MAX {
            json_or_text(record)
        } else {
            fitting(&serde_json::Value::from(record).to_string())
        };
        let data = RawRecord { line, record };
        let kind = EventType::Custom(kind.to_owned());
        self.event(&format!("line.{line}"), &kind, time, &data);
    }

    /// Keeps a line that could not be read.
    pub fn malformed(&mut self, line: &Line, reason: &str) {
        let text = String::from_utf8_lossy(&line.bytes);
        let data = serde_json::json!({
            "line": line.number,
            "reason": reason,
            "bytes": line.bytes.len(),
            "blake3": ContentHash::of(&line.bytes).to_string(),
            "text": prefix(&text, RAW_BYTES_MAX),
        });
        let kind = EventType::Custom("custom.transcript.malformed".to_owned());
        self.event(&format!("line.{}", line.number), &kind, None, &data);
    }

    /// Hands a text over before a context needs it, so that it need not be held; the part without it.
    pub fn hand_over(&mut self, part: Part) -> Part {
        let mut blobs = Vec::new();
        let mut inline = usize::MAX;
        let kept = self.writer.part(part, &mut inline, &mut blobs);
        if !blobs.is_empty() {
            let outcome = self.writer.introduce(&blobs);
            self.tell(outcome);
        }
        kept
    }

    /// Events that wait to be handed on; a large text counts as several.
    pub(super) fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    pub(super) fn take(&mut self) -> Written {
        self.writer.take()
    }

    pub(super) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}

/// JSON that fits into an event; what is none becomes a JSON text first.
fn json_or_text(text: &str) -> Box<serde_json::value::RawValue> {
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok() {
        fitting(text)
    } else {
        super::fitting::fitting_text(text)
    }
}

/// A time as an event can hold it.
fn sound_time(time: Option<&str>) -> Option<&str> {
    time.filter(|time| time.parse::<jiff::Timestamp>().is_ok())
}

#[cfg(test)]
mod tests;
