//! Where conversations begin: which one a record belongs to, and what is known of it at its start.

use std::collections::BTreeMap;
use std::io::Read as _;

use remembrancer_schema::SessionId;
use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{EventType, ParentSession, SessionStarted};

use super::super::super::{ImportError, NewSession, Output, Recording};
use super::super::PREFIX;
use super::super::record::{self, Record};
use super::Session;

/// Largest file that says what kind a sub-agent is of, in bytes.
const META_BYTES_MAX: u64 = 64 * 1024;

impl Session<'_> {
    pub(super) fn key(&self, record: &Record) -> String {
        let is_aside = record.is_sidechain && !self.is_subagent;
        if !is_aside {
            return String::new();
        }
        if let Some(agent) = &record.agent_id {
            return agent.clone();
        }
        let of_parent = record
            .parent_uuid
            .as_ref()
            .and_then(|uuid| self.by_uuid.get(uuid));
        match of_parent.and_then(|&(at, _)| self.keys.get(at)) {
            Some(key) if !key.is_empty() => key.clone(),
            _ => record.uuid.clone().unwrap_or_default(),
        }
    }

    pub(super) fn new_session(
        &mut self,
        record: &Record,
        key: &str,
        output: &Output<'_>,
    ) -> Result<NewSession, ImportError> {
        let stem = self.path.file_stem().map(|stem| stem.to_string_lossy());
        let stem = stem.unwrap_or_default();
        let of_record = record.session_id.clone();
        let session = if !self.is_subagent && stem.parse::<Uuid>().is_ok() {
            stem.into_owned()
        } else {
            of_record.unwrap_or_else(|| stem.into_owned())
        };
        let agent_id = record.agent_id.clone().filter(|_| self.is_subagent);
        let agent_id = agent_id.or_else(|| (!key.is_empty()).then(|| key.to_owned()));
        let is_child = self.is_subagent || !key.is_empty();
        let mut labels = BTreeMap::new();
        let mut label = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                labels.insert(name.to_owned(), value.clone());
            }
        };
        label("folder", &record.cwd);
        label("branch", &record.git_branch);
        label("agent_id", &agent_id);
        let forked = record.forked_from.as_ref();
        label(
            "forked_from",
            &forked.and_then(|from| from.session_id.clone()),
        );
        let native_id = match &agent_id {
            Some(agent) if is_child => format!("{session}-agent-{agent}"),
            _ => session.clone(),
        };
        let parent = match is_child {
            true => Some(self.parent_session(record, output.session_id(PREFIX, &session)?)),
            false => None,
        };
        Ok(NewSession {
            prefix: PREFIX,
            native_id,
            agent: Some(
                if is_child {
                    "claude-code sub-agent"
                } else {
                    "claude-code"
                }
                .to_owned(),
            ),
            time: record.timestamp.clone(),
            started: SessionStarted {
                labels,
                agent_version: record.version.clone(),
                parent,
                source: Some("Claude Code transcript".to_owned()),
                ..SessionStarted::default()
            },
        })
    }

    /// What the small file beside a sub-agent's says of it.
    fn meta(&self) -> Meta {
        let read = || {
            let file = std::fs::File::open(self.path.with_extension("meta.json")).ok()?;
            serde_json::from_reader(file.take(META_BYTES_MAX)).ok()
        };
        read().unwrap_or_default()
    }

    pub(super) fn parent_session(&mut self, record: &Record, session: SessionId) -> ParentSession {
        // Beside its parent's file a sub-agent's may be read before the call is there: see `note_late_facts`.
        let call_id = match self.is_subagent {
            true => None,
            false => self.starting_call(record),
        };
        ParentSession { session, call_id }
    }

    /// The call that started the sub-agent whose first record this is.
    fn starting_call(&mut self, record: &Record) -> Option<String> {
        let message = record.message.as_ref()?;
        let texts = record::texts(message.content.as_deref());
        let prompt = sha256(texts.join("\n").as_bytes());
        self.starting.take(record.agent_id.as_deref(), &prompt)
    }

    /// Notes of a sub-agent with a file of its own what other files say, which may be written later than its first record: its
    /// kind, and the call that started it. They are events of their own, because the start of a session says the same at every
    /// import.
    pub(super) fn note_late_facts(&mut self, record: &Record, recording: &mut Recording) {
        if !self.is_subagent {
            return;
        }
        let kind = EventType::Custom("custom.claude_code.sub_agent".to_owned());
        let meta = self.meta();
        if let (Some(call), Some(agent)) = (&meta.tool_use_id, &record.agent_id) {
            self.starting.note_result(agent, call);
        }
        let call_id = meta.tool_use_id.or_else(|| self.starting_call(record));
        let facts = [("agent_type", meta.agent_type), ("call_id", call_id)];
        for (name, value) in facts {
            if let Some(value) = value {
                let data = serde_json::json!({ name: value });
                recording.event(&format!("sub-agent.{name}"), &kind, None, &data);
            }
        }
    }

    /// Remembers calls that start sub-agents by their prompts.
    pub(super) fn note_starting(&mut self, record: &Record) {
        #[derive(serde::Deserialize)]
        struct Input {
            prompt: String,
        }
        let blocks = record.message.as_ref().map(|message| message.blocks());
        for block in blocks.into_iter().flatten() {
            let (Some(id), Some(input)) = (block.id, block.input) else {
                continue;
            };
            if let Ok(input) = serde_json::from_str::<Input>(input.get()) {
                let prompt = sha256(input.prompt.as_bytes());
                self.starting.note_call(prompt, id);
            }
        }
    }
}

/// The small file beside a sub-agent's: its kind, and in newer versions the call that started it.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    agent_type: Option<String>,
    tool_use_id: Option<String>,
}

/// A UUID as Claude Code names its files.
struct Uuid;

impl std::str::FromStr for Uuid {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |(at, byte): (usize, u8)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        };
        let is_uuid = text.len() == 36 && text.bytes().enumerate().all(is_digit);
        is_uuid.then_some(Self).ok_or(())
    }
}
