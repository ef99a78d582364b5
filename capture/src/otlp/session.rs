//! A session that is told of in spans: what has to be known of it between two requests, and how spans become its events.
//!
//! Each span has an id of its own, so that one that is sent again is told by it. A span is a late witness: a child comes before
//! its parent, and a long call after a short one that began later. Requests to the model are numbered as they arrive, those of
//! one batch by their start.

mod actions;
mod branches;
mod declarations;
mod routing;
mod turns;

use std::collections::HashMap;

use remembrancer_replay::SessionRecord;
use remembrancer_schema::payload::{
    ConstraintDeclared, EventType, ParentSession, Payload, SessionStarted, Witness,
};
use remembrancer_schema::{AgentName, ContentHash, SessionId};
use serde_json::json;

use super::agents;
use super::export::{Conversation, Rejected, SourcedSpan};
use super::source::Source;
use super::span::{AgentRun, AgentSpan, Told};
use crate::{SessionWriter, WriteError, Written};
use branches::{Branches, Flights};

pub(super) use branches::Note;

/// Every event that is made of a span, or for one, has an id that begins like this.
const PREFIX: &str = "otlp.";
/// In the ids of results that are known from a later context alone.
const SEEN: &str = ".seen.";
/// How the ids of calls end that no answer told of.
const UNTOLD: &str = ".call";
/// Bytes that a call takes in memory, about.
const CALL_BYTES_HELD: usize = 200;
/// Most constraints that others declared and that a session's branches are told of.
const CARRIED_MAX: usize = 256;

/// A session that is told of in spans.
#[derive(Debug)]
pub struct Session {
    writer: SessionWriter,
    is_started: bool,
    /// The agent of its first span.
    agent: Option<String>,
    /// The latest start of a request to the model, in nanoseconds since 1970.
    last_start: u64,
    /// Whether the answer of the last turn was told, so that calls that it lacks are not its.
    is_answer_known: bool,
    calls: HashMap<String, Call>,
    /// A compaction that an answer told of, for the turn after it: its summary, unless the provider keeps it encrypted.
    compaction: Option<Option<String>>,
    /// When its last requests were in flight.
    flights: Flights,
    /// The run of a tool that its last request stands under, as far as a batch showed that.
    under: Option<String>,
    branches: Branches,
    /// What others declared for it.
    constraints: Vec<ConstraintDeclared>,
}

/// A tool call of the session.
#[derive(Debug)]
struct Call {
    tool: String,
    arguments: Option<ContentHash>,
    returned: Returned,
}

/// How it is known that a call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Returned {
    No,
    /// By the run of its tool, or by others.
    Told,
    /// By its result in a later context alone.
    Seen,
}

impl Session {
    /// Of a session without entries.
    pub fn new(session: SessionId) -> Self {
        Self {
            writer: SessionWriter::new(session, None, Witness::Telemetry),
            is_started: false,
            agent: None,
            last_start: 0,
            is_answer_known: false,
            calls: HashMap::new(),
            compaction: None,
            flights: Flights::default(),
            under: None,
            branches: Branches::default(),
            constraints: Vec::new(),
        }
    }

    /// Its own name.
    fn name(&self) -> &str {
        self.writer.session().as_str()
    }

    /// Takes note of entries of the session: all of them, or those behind the ones that it knows.
    pub fn learn(&mut self, record: &SessionRecord) {
        self.writer.learn(record);
        let mut begun = HashMap::new();
        for event in &record.events {
            let is_ours = event.entry.event.as_str().starts_with(PREFIX);
            if is_ours && self.agent.is_none() {
                self.agent = event
                    .entry
                    .agent
                    .as_ref()
                    .map(|name| name.as_str().to_owned());
            }
            match event.read() {
                Some(Payload::SessionStarted(_)) => self.is_started = true,
                Some(Payload::ContextCaptured(captured)) if is_ours => {
                    self.compaction = None;
                    let start = moment(event.entry.time.as_deref());
                    self.last_start = self.last_start.max(start);
                    begun.insert(captured.turn, start);
                }
                Some(Payload::ModelResponded(responded)) => {
                    self.is_answer_known =
                        !responded.text.is_empty() || !responded.calls.is_empty();
                    if let Some(start) = begun.remove(&responded.turn) {
                        let end = moment(event.entry.time.as_deref());
                        self.flights.add(start, end);
                    }
                }
                Some(Payload::ConstraintDeclared(declared))
                    if !is_ours && self.constraints.len() < CARRIED_MAX =>
                {
                    self.constraints.push(declared);
                }
                Some(Payload::ToolCalled(called)) => {
                    if is_ours && event.entry.event.as_str().ends_with(UNTOLD) {
                        self.is_answer_known = false;
                    }
                    let arguments = called.arguments.as_deref();
                    self.calls.entry(called.call_id).or_insert(Call {
                        tool: called.tool,
                        arguments: arguments.map(|raw| ContentHash::of(raw.get().as_bytes())),
                        returned: Returned::No,
                    });
                }
                Some(Payload::ToolReturned(returned)) => {
                    if let Some(call) = self.calls.get_mut(&returned.call_id) {
                        let is_seen = is_ours && event.entry.event.as_str().contains(SEEN);
                        call.returned = if is_seen {
                            Returned::Seen
                        } else {
                            Returned::Told
                        };
                    }
                }
                Some(Payload::Custom) => self.learn_custom(event, &mut begun),
                _ => {}
            }
        }
    }

    /// The agent of its first span.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The call that has not returned, where there is exactly one: who starts a session of its own now, does it for that call.
    pub fn open_call(&self) -> Option<&str> {
        let mut open = self
            .calls
            .iter()
            .filter(|(_, call)| call.returned == Returned::No);
        match (open.next(), open.next()) {
            (Some((id, _)), None) => Some(id),
            _ => None,
        }
    }

    /// Number of its events.
    pub fn events(&self) -> usize {
        self.writer.events()
    }

    /// What was written since this was called last.
    pub fn take(&mut self) -> Written {
        self.writer.take()
    }

    /// Bytes of memory that it holds, roughly.
    pub fn bytes(&self) -> usize {
        self.writer.bytes() + self.calls.len() * CALL_BYTES_HELD + self.branches.bytes()
    }

    /// Writes what the spans of a conversation tell. Returns those that cannot be recorded.
    pub fn write(
        &mut self,
        conversation: &Conversation,
        parent: Option<ParentSession>,
    ) -> Vec<Rejected> {
        let mut rejected = Vec::new();
        if let Some(first) = conversation.spans.first() {
            let agent = agents::main_of(conversation).or(first.span.agent.as_deref());
            self.agent = self.agent.take().or(agent.map(str::to_owned));
            if let Err(error) = self.start(conversation, first, parent) {
                let all = conversation.spans.iter();
                let reason = format!("its session cannot begin: {error}");
                return all.map(|span| span.rejected(reason.clone())).collect();
            }
        }
        rejected.extend(self.carry(conversation));
        let mut declared: Option<&Source> = None;
        for sourced in &conversation.spans {
            self.speak_for(sourced.span.agent.as_deref());
            if declared.is_none_or(|known| !std::ptr::eq(known, &*sourced.source)) {
                declared = Some(&sourced.source);
                let wrong = self.declare(&sourced.source);
                rejected.extend(wrong.into_iter().map(|reason| sourced.rejected(reason)));
            }
            if let Err(error) = self.span(&sourced.span) {
                rejected.push(sourced.rejected(error.to_string()));
            }
        }
        if let Err(error) = self.note_branched(&conversation.branched) {
            tracing::error!(%error, "the note of a request that was handed over cannot be written");
        }
        rejected
    }

    fn start(
        &mut self,
        conversation: &Conversation,
        first: &SourcedSpan,
        parent: Option<ParentSession>,
    ) -> Result<(), WriteError> {
        if self.is_started {
            return Ok(());
        }
        let source = &first.source;
        let mut started = SessionStarted {
            label: Some(conversation.name.chars().take(256).collect()),
            parent,
            witness: Some(Witness::Telemetry),
            source: Some(match &source.instrumentation {
                Some(instrumentation) => format!("OpenTelemetry, {instrumentation}"),
                None => "OpenTelemetry".to_owned(),
            }),
            ..SessionStarted::default()
        };
        let labels = [
            ("service", &source.service),
            ("instance", &source.instance),
            ("environment", &source.environment),
        ];
        for (name, value) in labels {
            let label = value.as_ref().map(|value| (name.to_owned(), value.clone()));
            started.labels.extend(label);
        }
        if conversation.is_derived {
            let derived = "derived from the trace id: the spans name no conversation";
            started
                .labels
                .insert("session_id".to_owned(), derived.to_owned());
        }
        for SourcedSpan { span, .. } in &conversation.spans {
            match &span.told {
                Told::Model(call) if started.model.is_none() => {
                    started.model.clone_from(&call.model)
                }
                Told::Agent(run) if started.agent_version.is_none() => {
                    started.agent_version.clone_from(&run.version);
                }
                _ => {}
            }
        }
        let agent = self.agent.clone();
        self.speak_for(agent.as_deref());
        let time = time(first.span.start);
        let kind = EventType::SessionStarted;
        self.writer
            .push("otlp.start", &kind, time.as_deref(), &started)?;
        self.is_started = true;
        Ok(())
    }

    /// Writes what a span tells, unless it was told before.
    fn span(&mut self, span: &AgentSpan) -> Result<(), WriteError> {
        let known = format!("{PREFIX}{}.{}.", span.trace, span.span);
        let id = format!("{known}{}", span.content);
        if self.writer.has_any(&id) {
            return Ok(());
        }
        if self.writer.has_any(&known) {
            // The first one counts: what is recorded is not replaced.
            let kind = custom("span_changed");
            let told = json!({ "trace": span.trace, "span": span.span, "name": span.name });
            return self.writer.push(
                &format!("{id}.changed"),
                &kind,
                time(span.end).as_deref(),
                &told,
            );
        }
        match &span.told {
            Told::Model(call) => self.turn(&id, span, call),
            Told::Tool(run) => self.tool(&id, span, run),
            Told::Agent(run) => self.agent_run(&id, span, run),
            Told::Other(operation) => self.operation(&id, span, operation),
        }
    }

    /// Notes an operation that becomes no event of another type.
    fn operation(&mut self, id: &str, span: &AgentSpan, operation: &str) -> Result<(), WriteError> {
        let told = json!({ "operation": operation, "name": span.name, "error": span.error });
        let (id, time) = (format!("{id}.operation"), time(span.end));
        self.writer
            .push(&id, &custom("operation"), time.as_deref(), &told)
    }

    /// What an agent tells of its run when it is over. Its history is a claim: where it was rewritten, it is the rewritten one.
    fn agent_run(&mut self, id: &str, span: &AgentSpan, run: &AgentRun) -> Result<(), WriteError> {
        let mut blobs = Vec::new();
        let history = run.history.as_ref();
        let history = history.map(|history| self.claimed(history, &mut blobs));
        let told = json!({
            "name": span.name,
            "run": run.run_id,
            "description": run.description,
            "error": span.error,
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "result": run.result.clone().map(actions::bounded),
            "claimed_history": history,
        });
        let (id, time) = (format!("{id}.run"), time(span.end));
        let kind = custom("agent_run");
        self.writer
            .push_with_blobs(&id, &kind, time.as_deref(), &told, &blobs)
    }

    fn speak_for(&mut self, agent: Option<&str>) {
        let name = agent.and_then(|name| name.parse::<AgentName>().ok());
        self.writer.speak_for(name);
    }
}

/// Nanoseconds since 1970 of a moment; 0 where none is said.
fn moment(time: Option<&str>) -> u64 {
    time.and_then(nanoseconds).unwrap_or(0)
}

fn nanoseconds(time: &str) -> Option<u64> {
    let time = time.parse::<jiff::Timestamp>().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

/// A moment as RFC 3339; `None` for a sender that says none.
fn time(nanoseconds: u64) -> Option<String> {
    if nanoseconds == 0 {
        return None;
    }
    let time = jiff::Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()?;
    Some(time.to_string())
}

fn custom(name: &str) -> EventType {
    EventType::Custom(format!("custom.otlp.{name}"))
}
