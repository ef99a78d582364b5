//! Where the events of a transcript go.

use std::collections::BTreeSet;
use std::path::Path;

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{EventType, SessionStarted, Witness};
use remembrancer_schema::{AgentName, SessionId};
use serde::Serialize;

use super::declared::{DeclaredFrom, ImportOptions};
use super::recording::Recording;
use super::{ImportError, Written};

/// Most notices that are kept of one file; further ones are counted.
pub const NOTICES_MAX: usize = 200;
/// Most events and most bytes of texts that wait in a recording before they are handed on.
const WAITING_EVENTS_MAX: usize = 64;
/// Longest native id that stands in a session's id as it is.
const NATIVE_ID_MAX: usize = 90;

/// Takes the events of sessions as they are read.
pub trait Sink {
    /// Takes events and the blobs that they introduce, which are to be stored before them. Returns false if no more are wanted.
    fn take(&mut self, session: &SessionId, written: Written) -> bool;

    /// Bytes of the file that were read, in all.
    fn progress(&mut self, bytes: u64);
}

/// Something that an auditor should know about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The line, from 1, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What it is.
    pub text: String,
}

/// What was read from one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// The sessions, in order of their start; the first is the file's own, others are of sub-agents.
    pub sessions: Vec<SessionId>,
    /// Lines or records that were read.
    pub records: u64,
    /// Lines that could not be read. They are kept as they are.
    pub malformed: u64,
    /// What an auditor should know.
    pub notices: Vec<Notice>,
    /// Notices that are not listed because there are more than [`NOTICES_MAX`].
    pub more_notices: u64,
}

/// What a format hands its events to.
pub struct Output<'a> {
    sink: &'a mut dyn Sink,
    options: &'a ImportOptions,
    source: String,
    known: BTreeSet<SessionId>,
    /// What was read.
    pub report: FileReport,
}

/// A session that begins.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// A short name of the format, which begins the session's id: `cc`, `codex` …
    pub prefix: &'static str,
    /// The session's id in its own program.
    pub native_id: String,
    /// Who acts in it, where the transcript says so.
    pub agent: Option<String>,
    /// When it began, as RFC 3339.
    pub time: Option<String>,
    /// Its label, model, version and parent. Witness and source are filled in.
    pub started: SessionStarted,
}

impl<'a> Output<'a> {
    pub(super) fn new(file: &Path, options: &'a ImportOptions, sink: &'a mut dyn Sink) -> Self {
        let name = file.file_name().map_or_else(
            || file.to_string_lossy().into_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            sink,
            options,
            source: name,
            known: BTreeSet::new(),
            report: FileReport::default(),
        }
    }

    /// How transcripts are read.
    pub fn options(&self) -> &'a ImportOptions {
        self.options
    }

    /// The id that a session gets here, the same at every import with the same options.
    pub fn session_id(&self, prefix: &str, native: &str) -> Result<SessionId, ImportError> {
        let is_allowed = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
        };
        let suffix = self.options.suffix();
        let is_plain =
            !native.is_empty() && native.len() <= NATIVE_ID_MAX && native.chars().all(is_allowed);
        let id = if is_plain {
            format!("{prefix}-{native}{suffix}")
        } else {
            let hash = hex::encode(sha256(native.as_bytes()));
            format!("{prefix}-{}{suffix}", &hash[..32])
        };
        Ok(id.parse()?)
    }

    /// Begins a session: its start and what is declared about it.
    pub fn start(&mut self, session: NewSession) -> Result<Recording, ImportError> {
        let mut id = self.session_id(session.prefix, &session.native_id)?;
        let mut number = 2;
        while !self.known.insert(id.clone()) {
            let native = format!("{}.{number}", session.native_id);
            id = self.session_id(session.prefix, &native)?;
            number += 1;
        }
        let agent: Option<AgentName> = session.agent.as_deref().and_then(|name| name.parse().ok());
        let witness = session.started.witness.unwrap_or(Witness::Transcript);
        let mut recording = Recording::new(id.clone(), agent, witness, self.options);
        let started = SessionStarted {
            witness: Some(witness),
            source: Some(
                session
                    .started
                    .source
                    .clone()
                    .unwrap_or_else(|| self.source.clone()),
            ),
            ..session.started
        };
        let time = session.time.as_deref();
        recording.begin(time, &started)?;
        self.declare(&mut recording, time);
        self.report.sessions.push(id);
        Ok(recording)
    }

    fn declare(&self, recording: &mut Recording, time: Option<&str>) {
        let declared = &self.options.declared;
        if let Some(intent) = &declared.intent {
            recording.event("mission.intent", &EventType::IntentDeclared, time, intent);
        }
        if let Some(scope) = &declared.scope {
            recording.event("mission.scope", &EventType::ScopeDeclared, time, scope);
        }
        for rule in &declared.rules {
            match rule.from {
                DeclaredFrom::Start => recording.declare(&rule.constraint, time),
                DeclaredFrom::FirstStated => recording.hold(rule.constraint.clone()),
            }
        }
    }

    /// Hands on what a recording holds, if that is enough to be worth it. To be called after every record.
    pub fn drain(&mut self, recording: &mut Recording) -> Result<(), ImportError> {
        if recording.waiting() >= WAITING_EVENTS_MAX {
            return self.hand_on(recording);
        }
        Ok(())
    }

    /// Ends a recording: hands on the rest of what it holds. The session itself stays open, since its file may grow.
    pub fn finish(&mut self, mut recording: Recording) -> Result<(), ImportError> {
        self.hand_on(&mut recording)?;
        for text in recording.take_notices() {
            self.notice(None, text);
        }
        for rule in recording.never_stated() {
            self.notice(
                None,
                format!(
                    "{}: nobody states the rule {rule:?} here, so it is not watched",
                    recording.session()
                ),
            );
        }
        Ok(())
    }

    fn hand_on(&mut self, recording: &mut Recording) -> Result<(), ImportError> {
        let written = recording.take();
        if !written.events.is_empty() && !self.sink.take(recording.session(), written) {
            return Err(ImportError::NotWanted);
        }
        Ok(())
    }

    /// Says something that an auditor should know, once.
    pub fn notice(&mut self, line: Option<u64>, text: impl Into<String>) {
        let notice = Notice {
            line,
            text: text.into(),
        };
        if self.report.notices.len() >= NOTICES_MAX {
            self.report.more_notices += 1;
        } else if !self.report.notices.contains(&notice) {
            self.report.notices.push(notice);
        }
    }

    /// Bytes of the file that were read, in all.
    pub fn progress(&mut self, bytes: u64) {
        self.sink.progress(bytes);
    }
}
