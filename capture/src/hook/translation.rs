//! One payload on its way into events: which event it is, and what all events have in common.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{
    ContextMutated, EventType, IntentDeclared, ModelResponded, MutationKind, Part, PartKind,
    PartOrigin, SessionEnded, SessionStarted, StatedBy, Witness,
};
use remembrancer_schema::{AgentName, ContentHash};
use serde::Serialize;
use serde_json::json;

use super::standing::{SessionStanding, Thread};
use super::subagent::{self, Beginning};
use super::{Arrival, HookPayload, custom, fitting, safe, session_id};
use crate::{SessionWriter, WriteError, Written};

/// A waiting text that is longer goes into a blob at once, so that what is known of a session stays small.
const WAITING_TEXT_BYTES_MAX: usize = 16 * 1024;
/// Once texts of so many bytes wait, every further one goes into a blob.
const WAITING_BYTES_MAX: usize = 64 * 1024;
/// Longest label, in bytes.
const LABEL_BYTES_MAX: usize = 1024;

pub(super) struct Translation<'a> {
    pub(super) arrival: &'a Arrival<'a>,
    pub(super) thread: Thread,
    pub(super) writer: SessionWriter,
    beginning: Option<Beginning>,
    texts: u32,
}

impl<'a> Translation<'a> {
    /// Takes the thread that the payload belongs to out of what is known.
    pub(super) fn begin(
        standing: &mut SessionStanding,
        arrival: &'a Arrival<'a>,
    ) -> Result<Self, WriteError> {
        let agent_id = subagent::of(standing, arrival);
        let begins = standing.thread(agent_id.as_deref()).begins();
        let beginning = match agent_id {
            Some(_) if begins => Some(subagent::beginning(standing, arrival)?),
            _ => None,
        };
        let mut thread = std::mem::take(standing.thread(agent_id.as_deref()));
        if begins {
            thread.run += 1;
        }
        let session = &arrival.payload.session_id;
        let id = session_id(arrival.program, session, agent_id.as_deref(), thread.run)?;
        let mut agent = arrival.program.name().to_owned();
        if agent_id.is_some() {
            let kind = arrival.payload.name("agent_type");
            agent = format!("{agent}/{}", kind.as_deref().unwrap_or("sub-agent"));
            agent.truncate(agent.floor_char_boundary(128));
        }
        let mut translation = Self {
            arrival,
            thread,
            writer: SessionWriter::new(id, agent.parse::<AgentName>().ok(), Witness::Hook),
            beginning,
            texts: 0,
        };
        if begins {
            translation.start()?;
        }
        Ok(translation)
    }

    /// What is known now, and the events.
    pub(super) fn finish(mut self) -> (Thread, Written) {
        (self.thread, self.writer.take())
    }

    pub(super) fn payload(&self) -> &'a HookPayload<'a> {
        &self.arrival.payload
    }

    /// An id of which there is one for each arrival.
    pub(super) fn id(&self, what: &str) -> String {
        format!("{}.{what}", self.arrival.name)
    }

    pub(super) fn push<T: Serialize>(
        &mut self,
        id: &str,
        kind: EventType,
        data: &T,
        blobs: &[ContentHash],
    ) -> Result<(), WriteError> {
        let time = Some(self.arrival.time);
        self.writer.push_with_blobs(id, &kind, time, data, blobs)
    }

    /// An event that is kept and shown, but not analysed.
    pub(super) fn custom(
        &mut self,
        name: &str,
        what: &str,
        data: &impl Serialize,
    ) -> Result<(), WriteError> {
        self.push(&self.id(what), custom(name), data, &[])
    }

    /// The text, cut where an event cannot hold it; then the whole is kept as a blob.
    pub(super) fn fitted(&mut self, text: String, blobs: &mut Vec<ContentHash>) -> String {
        let (text, cut) = fitting::text(text);
        if let Some(whole) = cut {
            self.writer.blob(whole, blobs);
        }
        text
    }

    /// A part for a context to come.
    pub(super) fn part(&mut self, kind: PartKind, text: String) -> Result<Part, WriteError> {
        let waiting = self.thread.waiting_bytes() + text.len();
        if text.len() <= WAITING_TEXT_BYTES_MAX && waiting <= WAITING_BYTES_MAX {
            return Ok(Part::inline(kind, text));
        }
        let mut blobs = Vec::new();
        let hash = self.writer.blob(text.into_bytes(), &mut blobs);
        self.texts += 1;
        let id = self.id(&format!("text-{}", self.texts));
        let count = json!({ "count": blobs.len() });
        self.push(&id, custom("blobs_introduced"), &count, &blobs)?;
        Ok(Part::by_hash(kind, hash))
    }

    fn start(&mut self) -> Result<(), WriteError> {
        let payload = self.payload();
        let (program, session) = (self.arrival.program.name(), &payload.session_id);
        let mut labels = BTreeMap::from([
            ("program".to_owned(), program.to_owned()),
            ("program_session".to_owned(), session.clone()),
        ]);
        for field in ["cwd", "agent_id", "agent_type"] {
            labels.extend(payload.name(field).map(|value| (field.to_owned(), value)));
        }
        if self.thread.run > 1 {
            labels.insert("run".to_owned(), self.thread.run.to_string());
        }
        for label in labels.values_mut() {
            label.truncate(label.floor_char_boundary(LABEL_BYTES_MAX));
        }
        let beginning = self.beginning.take();
        let prompt = beginning.as_ref().and_then(|known| known.prompt.clone());
        let started = SessionStarted {
            label: Some(format!("{program} {}", safe(session))),
            labels,
            model: payload.name("model"),
            parent: beginning.map(|known| known.parent),
            witness: Some(Witness::Hook),
            source: Some(format!("{program} hooks")),
            ..SessionStarted::default()
        };
        self.push("started", EventType::SessionStarted, &started, &[])?;
        if let Some(prompt) = prompt {
            self.take_prompt(prompt, PartOrigin::Model)?;
        }
        Ok(())
    }

    /// Turns the payload into events.
    pub(super) fn run(&mut self) -> Result<(), WriteError> {
        self.note_permission_mode()?;
        match self.payload().event.as_str() {
            "SessionStart" => self.session_start(),
            "UserPromptSubmit" | "BeforeAgent" => self.prompt(),
            "PreToolUse" | "BeforeTool" => self.tool_called(),
            "PostToolUse" | "AfterTool" => self.tool_returned(),
            "PostToolUseFailure" => self.tool_failed(),
            "PostToolBatch" => self.batch(),
            "BeforeModel" => self.told_request(),
            "PermissionRequest" => self.permission_requested(),
            "PermissionDenied" => self.permission_denied(),
            "PreCompact" | "PreCompress" => self.compaction_begun(),
            "PostCompact" => self.compaction_done(),
            "InstructionsLoaded" => self.instructions_loaded(),
            "Stop" | "AfterAgent" => self.answered(),
            "StopFailure" => self.failed(),
            "SubagentStop" if self.payload().agent_id().is_some() => {
                self.answered()?;
                self.ended("completed")
            }
            // The session that it begins is there by now.
            "SubagentStart" if self.payload().agent_id().is_some() => Ok(()),
            "SessionEnd" => {
                let reason = self.payload().name("reason");
                self.ended(reason.as_deref().unwrap_or("other"))
            }
            _ => self.unknown(),
        }
    }

    /// An event that this version does not know, kept as it came.
    fn unknown(&mut self) -> Result<(), WriteError> {
        let raw = serde_json::from_str::<&serde_json::value::RawValue>(self.payload().whole());
        let fitted = raw.ok().map(fitting::value);
        let mut blobs = Vec::new();
        let (value, cut) = fitted.map_or((None, None), |it| (Some(it.value), it.cut));
        if let Some(whole) = cut {
            self.writer.blob(whole, &mut blobs);
        }
        let data = json!({ "event": self.payload().event, "payload": value });
        self.push(&self.id("hook"), custom("hook_event"), &data, &blobs)
    }

    fn note_permission_mode(&mut self) -> Result<(), WriteError> {
        let Some(mode) = self.payload().name("permission_mode") else {
            return Ok(());
        };
        if self.thread.permission_mode.as_ref() == Some(&mode) {
            return Ok(());
        }
        self.custom("permission_mode", "mode", &json!({ "mode": mode }))?;
        self.thread.permission_mode = Some(mode);
        Ok(())
    }

    fn session_start(&mut self) -> Result<(), WriteError> {
        let source = self.payload().name("source").unwrap_or_default();
        let kind = match source.as_str() {
            "resume" => MutationKind::Resume,
            "clear" => MutationKind::Clear,
            "fork" => MutationKind::Fork,
            "compact" => {
                let compaction = self.thread.compaction.get_or_insert_default();
                compaction.done = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        // A session that begins with a clear has nothing that could have been cleared.
        if kind == MutationKind::Clear && self.thread.turn == 0 {
            return Ok(());
        }
        if kind == MutationKind::Clear {
            self.thread.grows = false;
            self.thread.waiting.clear();
            self.thread.returned.clear();
        }
        let mutated = ContextMutated {
            name: Some(format!("SessionStart {source}")),
            witness: Some(Witness::Hook),
            ..ContextMutated::new(self.thread.turn + 1, kind)
        };
        self.push(
            &self.id("mutated"),
            EventType::ContextMutated,
            &mutated,
            &[],
        )
    }

    fn prompt(&mut self) -> Result<(), WriteError> {
        let prompt = self.payload().text("prompt").unwrap_or_default();
        self.take_prompt(prompt, PartOrigin::User)
    }

    /// What the agent is asked to do, by the user or by the agent that started it.
    fn take_prompt(&mut self, prompt: String, origin: PartOrigin) -> Result<(), WriteError> {
        self.carry_returned()?;
        let mut blobs = Vec::new();
        let intent = IntentDeclared {
            objective: self.fitted(prompt.clone(), &mut blobs),
            stated_by: Some(StatedBy {
                role: match origin {
                    PartOrigin::User => "user".to_owned(),
                    _ => "agent".to_owned(),
                },
                ..StatedBy::default()
            }),
            ..IntentDeclared::default()
        };
        let prompt_id = self.payload().name("prompt_id");
        let id = prompt_id.map_or_else(|| self.id("intent"), |id| format!("intent.{}", safe(&id)));
        self.push(&id, EventType::IntentDeclared, &intent, &blobs)?;
        if !self.tells_requests() {
            let part = Part {
                origin: (origin != PartOrigin::User).then_some(origin),
                ..self.part(PartKind::User, prompt)?
            };
            self.thread.wait(part);
        }
        self.thread.request_due = true;
        Ok(())
    }

    /// The model's last answer to a prompt.
    fn answered(&mut self) -> Result<(), WriteError> {
        self.carry_returned()?;
        self.request_seen()?;
        self.thread.answered = true;
        let payload = self.payload();
        let message = payload
            .text("last_assistant_message")
            .or_else(|| payload.text("prompt_response"));
        let Some(message) = message else {
            return Ok(());
        };
        let mut blobs = Vec::new();
        let text = self.fitted(message, &mut blobs);
        let hash = ContentHash::of(text.as_bytes());
        let responded = ModelResponded {
            turn: self.thread.turn,
            text: vec![text],
            model: payload.name("model"),
            witness: Some(Witness::Hook),
            ..ModelResponded::default()
        };
        let id = self.id("responded");
        self.push(&id, EventType::ModelResponded, &responded, &blobs)?;
        if !self.tells_requests() {
            self.thread.wait(Part::by_hash(PartKind::Assistant, hash));
        }
        Ok(())
    }

    fn failed(&mut self) -> Result<(), WriteError> {
        self.request_seen()?;
        self.thread.answered = true;
        let text = |field| self.payload().text(field).map(|text| fitting::text(text).0);
        let data = json!({ "error": text("error"), "details": text("error_details") });
        self.custom("turn_failed", "failed", &data)
    }

    fn ended(&mut self, outcome: &str) -> Result<(), WriteError> {
        self.carry_returned()?;
        if self.thread.request_due {
            self.request_seen()?;
        }
        let ended = SessionEnded {
            outcome: Some(outcome.to_owned()),
            reason: None,
            witness: None,
        };
        self.push("ended", EventType::SessionEnded, &ended, &[])?;
        self.thread.end();
        Ok(())
    }
}
