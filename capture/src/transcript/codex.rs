//! Rollouts of the Codex CLI: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
//!
//! Read in order, the response items are what the model sees; a compaction replaces all of them by the list that it names.
//! The items that the model wrote in a row, up to the next input, are the answer to one request.

mod content;
mod history;
mod item;
mod scope;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use remembrancer_schema::payload::{ContextMutated, ParentSession, Part, PartKind, SessionStarted};

use super::assembly::{Assembly, Piece};
use super::{Answer, Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording};
use item::{Item, Message, Meta, RolloutLine, read};

/// Longest summary that stands in a mutation's event, in bytes. The next context has the whole.
const SUMMARY_BYTES_MAX: usize = 32 * 1024;
/// What a session's id begins with.
const PREFIX: &str = "codex";
/// How the output of a call begins that the user refused.
const REFUSAL: &str = "exec command rejected by user";
/// Messages that tell what response items tell too, or what nobody needs to audit.
const SILENT_MESSAGES: [&str; 22] = [
    "user_message",
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "context_compacted",
    "turn_aborted",
    "task_started",
    "task_complete",
    "turn_started",
    "turn_complete",
    "exec_command_begin",
    "exec_command_end",
    "exec_command_output_delta",
    "patch_apply_begin",
    "patch_apply_end",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "web_search_begin",
    "web_search_end",
    "item_completed",
    "thread_name_updated",
];

/// The format.
pub(super) struct Codex;

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        let is_meta = |record: &serde_json::Value| {
            record["type"] == "session_meta" && record["payload"]["id"].is_string()
        };
        opening.any_record(is_meta)
            || (opening.name.starts_with("rollout-")
                && opening.any_record(|record| {
                    record["type"] == "response_item" || record["record_type"] == "state"
                }))
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut lines = Lines::open(path)?;
        let mut rollout = None;
        let mut is_beginning_lost = false;
        while let Some(line) = lines.next_line()? {
            output.progress(lines.bytes_read());
            output.report.records += 1;
            match RolloutLine::parse(&line) {
                Ok((parsed, text)) => {
                    let rollout = match &mut rollout {
                        Some(rollout) => rollout,
                        none => {
                            let rollout = none.insert(Rollout::start(path, &parsed, output)?);
                            if is_beginning_lost {
                                rollout.lost(line.number - 1);
                            }
                            rollout
                        }
                    };
                    rollout.recording.at_line(line.number);
                    rollout.take(&parsed, &text, &line, output);
                    output.drain(&mut rollout.recording)?;
                }
                // The last line of a file that is still being written.
                Err(_) if !line.is_ended && !line.is_too_long => {}
                Err(reason) => {
                    output.report.malformed += 1;
                    output.notice(Some(line.number), format!("not read: {reason}"));
                    if let Some(rollout) = &mut rollout {
                        rollout.recording.malformed(&line, &reason);
                        rollout.lost(line.number);
                    } else {
                        is_beginning_lost = true;
                    }
                }
            }
        }
        let Some(mut rollout) = rollout else {
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                reason: "it holds no line of a Codex rollout".to_owned(),
            });
        };
        rollout.close_at_end();
        output.finish(rollout.recording)
    }
}

/// A rollout while it is read.
struct Rollout {
    recording: Recording,
    assembly: Assembly,
    /// What the model sees, and whether the user began a turn with it.
    history: Vec<(Piece, bool)>,
    /// How much of that the last request was sent with; none once something of it left.
    sent: Option<usize>,
    head: Vec<Piece>,
    /// The answer to the last request, and whether it may go on.
    open: Option<(Answer, bool)>,
    /// Tools of the calls.
    tools: HashMap<String, String>,
    pending: Vec<ContextMutated>,
    incomplete: Option<String>,
    scope: Option<String>,
    /// Whether a scope that the rollout declared is in force.
    is_scope_in_force: bool,
    rules: Vec<String>,
    model: Option<String>,
    unknown: Vec<String>,
}

impl Rollout {
    fn start(
        path: &Path,
        first: &RolloutLine,
        output: &mut Output<'_>,
    ) -> Result<Self, ImportError> {
        let payload = first.payload.as_ref().map(|payload| payload.get());
        let is_meta = first.kind.as_deref() == Some("session_meta");
        let meta: Meta = payload
            .filter(|_| is_meta)
            .and_then(|payload| read(payload).ok())
            .unwrap_or_default();
        let name = path.file_stem().map_or_else(
            || "rollout".to_owned(),
            |stem| stem.to_string_lossy().into_owned(),
        );
        let mut labels = BTreeMap::new();
        for (label, value) in [("folder", &meta.cwd), ("forked_from", &meta.forked_from_id)] {
            if let Some(value) = value {
                labels.insert(label.to_owned(), value.clone());
            }
        }
        let parent = match meta.parent() {
            Some(parent) => Some(ParentSession {
                session: output.session_id(PREFIX, parent)?,
                call_id: None,
            }),
            None => None,
        };
        let recording = output.start(NewSession {
            prefix: PREFIX,
            native_id: meta.id.clone().unwrap_or(name),
            agent: Some("codex".to_owned()),
            time: meta.timestamp.clone().or_else(|| first.timestamp.clone()),
            started: SessionStarted {
                labels,
                agent_version: meta.cli_version.clone(),
                parent,
                source: Some("Codex rollout".to_owned()),
                ..SessionStarted::default()
            },
        })?;
        let mut rollout = Self {
            recording,
            assembly: Assembly::default(),
            history: Vec::new(),
            sent: None,
            head: Vec::new(),
            open: None,
            tools: HashMap::new(),
            pending: Vec::new(),
            incomplete: None,
            scope: None,
            is_scope_in_force: false,
            rules: Vec::new(),
            model: None,
            unknown: Vec::new(),
        };
        let instructions = meta
            .base_instructions
            .and_then(|instructions| instructions.text)
            .or(meta.instructions);
        if let Some(text) = instructions.filter(|text| !text.is_empty()) {
            let part = Part::inline(PartKind::System, text);
            let piece = rollout.assembly.add(vec![part], &mut rollout.recording);
            rollout.head.push(piece);
        }
        Ok(rollout)
    }

    fn take(&mut self, parsed: &RolloutLine, text: &str, line: &Line, output: &mut Output<'_>) {
        let time = parsed.timestamp.as_deref();
        let payload = parsed
            .payload
            .as_ref()
            .map_or(text, |payload| payload.get());
        let outcome = match parsed.kind.as_deref() {
            Some("session_meta") | None => Ok(()),
            Some("response_item") => Item::parse(payload).map(|item| {
                if item.is_known() {
                    self.item(&item, time, line);
                } else {
                    self.keep(&item.kind, payload, time, line, output);
                    self.lost(line.number);
                }
            }),
            Some("turn_context") => {
                read(payload).map(|context| self.turn_context(context, time, line))
            }
            Some("compacted") => {
                read(payload).map(|compacted| self.compacted(compacted, time, line, output))
            }
            Some("event_msg") => {
                read(payload).map(|message| self.message(&message, payload, time, line, output))
            }
            // Rollouts of the first versions have the items without an envelope.
            Some(
                "message"
                | "reasoning"
                | "function_call"
                | "function_call_output"
                | "local_shell_call",
            ) if parsed.payload.is_none() => {
                Item::parse(payload).map(|item| self.item(&item, time, line))
            }
            Some(other) => {
                self.keep(other, payload, time, line, output);
                Ok(())
            }
        };
        if let Err(reason) = outcome {
            output.report.malformed += 1;
            output.notice(Some(line.number), format!("not read: {reason}"));
            self.recording.malformed(line, &reason);
            if parsed.kind.as_deref() != Some("turn_context") {
                self.lost(line.number);
            }
        }
    }

    /// A line was not read, or not understood, that may have added to what the model sees or changed it.
    fn lost(&mut self, line: u64) {
        self.incomplete.get_or_insert_with(|| {
            format!("line {line} is not understood: what it added to the context or changed in it is not known")
        });
    }

    fn keep(
        &mut self,
        kind: &str,
        payload: &str,
        time: Option<&str>,
        line: &Line,
        output: &mut Output<'_>,
    ) {
        if !self.unknown.iter().any(|known| known == kind) && self.unknown.len() < 100 {
            self.unknown.push(kind.to_owned());
            output.notice(
                Some(line.number),
                format!("records of type {kind:?} are not understood; they are kept as they are"),
            );
        }
        self.recording
            .raw("custom.codex.record", line.number, time, payload);
    }

    fn message(
        &mut self,
        message: &Message,
        payload: &str,
        time: Option<&str>,
        line: &Line,
        output: &mut Output<'_>,
    ) {
        match message.kind.as_str() {
            "token_count" => {
                let usage = message.info.as_ref().and_then(|info| info.last_token_usage);
                if let Some(usage) = usage {
                    self.measured(usage.usage());
                }
            }
            "thread_rolled_back" => self.rolled_back(message.num_turns.unwrap_or(1)),
            kind if SILENT_MESSAGES.contains(&kind) => {}
            kind => self.keep(kind, payload, time, line, output),
        }
    }
}

#[cfg(test)]
mod tests;
