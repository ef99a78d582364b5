//! Rollouts of the Codex CLI: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
//!
//! Read in order, the response items are what the model sees; a compaction replaces all of them by the list that it names.
//! The items that the model wrote in a row, up to the next input, are the answer to one request.

mod item;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use remembrancer_schema::payload::{
    ActionPattern, ContextCaptured, ContextMutated, EventType, MutationKind, ParentSession, Part,
    PartKind, RequestedCall, ReturnStatus, ScopeDeclared, SessionStarted, StatedBy, SummaryRecord,
    Trigger, Usage,
};

use super::assembly::{Assembly, Piece};
use super::{
    Answer, Call, Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording,
    Returned, beginning,
};
use item::{Compacted, Item, Message, Meta, RolloutLine, TurnContext, read};

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
        while let Some(line) = lines.next_line()? {
            output.progress(lines.bytes_read());
            output.report.records += 1;
            match RolloutLine::parse(&line) {
                Ok((parsed, text)) => {
                    let rollout = match &mut rollout {
                        Some(rollout) => rollout,
                        none => none.insert(Rollout::start(path, &parsed, output)?),
                    };
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
    head: Vec<Piece>,
    /// The answer to the last request, and whether it may go on.
    open: Option<(Answer, bool)>,
    /// Tools of the calls.
    tools: HashMap<String, String>,
    pending: Vec<ContextMutated>,
    incomplete: Option<String>,
    scope: Option<String>,
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
            head: Vec::new(),
            open: None,
            tools: HashMap::new(),
            pending: Vec::new(),
            incomplete: None,
            scope: None,
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
            Some("response_item") => read(payload).map(|item| self.item(&item, time, line)),
            Some("turn_context") => {
                read(payload).map(|context| self.turn_context(context, time, line))
            }
            Some("compacted") => {
                read(payload).map(|compacted| self.compacted(compacted, line, output))
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
            ) if parsed.payload.is_none() => read(payload).map(|item| self.item(&item, time, line)),
            Some(other) => {
                self.keep(other, payload, time, line, output);
                Ok(())
            }
        };
        if let Err(reason) = outcome {
            output.report.malformed += 1;
            output.notice(Some(line.number), format!("not read: {reason}"));
            self.recording.malformed(line, &reason);
        }
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

    /// A part of what the model sees.
    fn item(&mut self, item: &Item, time: Option<&str>, line: &Line) {
        if item.is_models() {
            self.models(item, time, line);
        } else {
            self.input();
            self.returned(item, time);
        }
        let parts = item.parts();
        if !parts.is_empty() {
            let piece = self.assembly.add(parts, &mut self.recording);
            self.history.push((piece, item.is_users_turn()));
        }
    }

    /// Something that is sent with the next request: the answer to the last one is whole.
    fn input(&mut self) {
        if let Some((_, may_go_on)) = &mut self.open {
            *may_go_on = false;
        }
    }

    /// Something that the model wrote. The first one after an input tells of a request.
    fn models(&mut self, item: &Item, time: Option<&str>, line: &Line) {
        if !matches!(self.open, Some((_, true))) {
            self.close();
            self.request(time, line);
        }
        let Some((answer, _)) = &mut self.open else {
            return;
        };
        answer.time = time.map(str::to_owned);
        if item.kind == "message" {
            answer.text.extend(item.texts());
        }
        let turn = answer.turn;
        if !item.is_call() {
            return;
        }
        let Some(id) = item.call_name() else { return };
        answer.calls.push(RequestedCall {
            call_id: id.clone(),
            tool: item.tool(),
        });
        self.tools.insert(id.clone(), item.tool());
        self.recording.call(Call {
            turn,
            id,
            tool: item.tool(),
            arguments: item.call_arguments(),
            time: time.map(str::to_owned),
        });
    }

    fn request(&mut self, time: Option<&str>, line: &Line) {
        let turn = self.recording.next_turn();
        let name = format!("line.{}", line.number);
        for (number, mutated) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            self.recording.event(
                &format!("mutation.{name}.{number}"),
                &EventType::ContextMutated,
                time,
                &ContextMutated { turn, ..mutated },
            );
        }
        let history = self.history.iter().map(|&(piece, _)| piece);
        let pieces = self.head.iter().copied().chain(history).collect();
        let captured = ContextCaptured {
            turn,
            incomplete: self.incomplete.clone(),
            ..ContextCaptured::default()
        };
        self.assembly.capture(
            &mut self.recording,
            &format!("context.{name}"),
            time,
            captured,
            pieces,
        );
        let answer = Answer {
            turn,
            model: self.model.clone(),
            ..Answer::default()
        };
        self.open = Some((answer, true));
    }

    fn returned(&mut self, item: &Item, time: Option<&str>) {
        let (Some(output), Some(call_id)) = (item.tool_output(), item.call_id.clone()) else {
            return;
        };
        let status = if output.text.starts_with(REFUSAL) {
            ReturnStatus::Denied
        } else if output.is_error {
            ReturnStatus::Error
        } else {
            ReturnStatus::Ok
        };
        self.recording.returned(Returned {
            tool: self.tools.get(&call_id).cloned(),
            call_id,
            status,
            result: Some(serde_json::Value::from(output.text).to_string()),
            time: time.map(str::to_owned),
        });
    }

    fn close(&mut self) {
        if let Some((answer, _)) = self.open.take() {
            self.recording
                .answer(&format!("answer.{}", answer.turn), answer);
        }
    }

    /// Writes the last answer at the end of the file. Where it may go on when the file does, it is written under another name,
    /// so that the whole answer can follow.
    fn close_at_end(&mut self) {
        if let Some((answer, may_go_on)) = self.open.take() {
            let mut id = format!("answer.{}", answer.turn);
            if may_go_on {
                let parts = answer.text.len() + answer.calls.len();
                id.push_str(&format!(".first-{parts}"));
            }
            self.recording.answer(&id, answer);
        }
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

    /// What the last request cost. Nothing of its answer follows.
    fn measured(&mut self, usage: Usage) {
        if let Some((answer, may_go_on)) = &mut self.open
            && usage.input_tokens > 0
        {
            answer.usage.get_or_insert(usage);
            *may_go_on = false;
        }
    }

    /// The last turns of the user were taken back, with all that followed.
    fn rolled_back(&mut self, turns: u64) {
        self.input();
        for _ in 0..turns {
            let Some(last) = self.history.iter().rposition(|&(_, begins)| begins) else {
                break;
            };
            self.history.truncate(last);
        }
        self.pending.push(mutation(MutationKind::Rewind));
    }

    /// What the model sees from now on, in place of all before.
    fn compacted(&mut self, compacted: Compacted, line: &Line, output: &mut Output<'_>) {
        self.input();
        let summary = compacted.message.filter(|text| !text.is_empty());
        self.history.clear();
        match compacted.replacement_history {
            Some(list) => {
                self.incomplete = None;
                for raw in &list {
                    let Ok(item) = read::<Item>(raw.get()) else {
                        output.notice(
                            Some(line.number),
                            "an item of the new history is not understood",
                        );
                        self.incomplete =
                            Some("an item of the compacted history is not understood".to_owned());
                        continue;
                    };
                    self.replacement(&item, summary.as_deref());
                }
            }
            None => {
                self.incomplete = Some(
                    "the compaction does not list what it kept; only its summary is known"
                        .to_owned(),
                );
                if let Some(text) = &summary {
                    let part = Part::inline(PartKind::Summary, text);
                    let piece = self.assembly.add(vec![part], &mut self.recording);
                    self.history.push((piece, false));
                }
            }
        }
        let mut mutated = mutation(MutationKind::Compaction);
        mutated.trigger = Some(Trigger::default());
        mutated.summary = summary.map(|text| SummaryRecord {
            text: beginning(&text, SUMMARY_BYTES_MAX).to_owned(),
            ..SummaryRecord::default()
        });
        self.pending.push(mutated);
    }

    /// An item of a new history. The summary stands in it as a message of the user.
    fn replacement(&mut self, item: &Item, summary: Option<&str>) {
        let mut parts = item.parts();
        for part in &mut parts {
            let is_summary = summary.is_some_and(|summary| {
                part.text
                    .as_deref()
                    .is_some_and(|text| text.contains(summary))
            });
            if is_summary && part.kind == PartKind::User {
                part.kind = PartKind::Summary;
            }
        }
        let is_summary = parts.iter().any(|part| part.kind == PartKind::Summary);
        if !parts.is_empty() {
            let piece = self.assembly.add(parts, &mut self.recording);
            self.history
                .push((piece, !is_summary && item.is_users_turn()));
        }
    }

    /// What is declared for the turn: the scope, and the rules files.
    fn turn_context(&mut self, context: TurnContext, time: Option<&str>, line: &Line) {
        self.input();
        self.model = context.model.clone().or(self.model.take());
        for (name, text) in [
            ("AGENTS.md", &context.user_instructions),
            ("developer instructions", &context.developer_instructions),
        ] {
            if let Some(text) = text
                && !self.rules.contains(text)
            {
                self.recording.rules_file(name, text, time);
                self.rules.push(text.clone());
            }
        }
        self.scope(&context, time, line);
    }

    fn scope(&mut self, context: &TurnContext, time: Option<&str>, line: &Line) {
        let word = |value: &Option<serde_json::Value>| match value {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::String(word)) => Some(word.clone()),
            Some(other) => other["mode"]
                .as_str()
                .or_else(|| other["type"].as_str())
                .map_or_else(|| Some(other.to_string()), |mode| Some(mode.to_owned())),
        };
        let sandbox = word(&context.sandbox_policy).or_else(|| word(&context.permission_profile));
        let said: Vec<String> = [
            ("approval policy", word(&context.approval_policy)),
            ("sandbox", sandbox.clone()),
            ("folder", context.cwd.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
        .collect();
        let said = said.join(", ");
        if said.is_empty() || self.scope.as_ref() == Some(&said) {
            return;
        }
        let name = format!("turn-context.line.{}", line.number);
        if self.recording.has_scope() {
            let kind = EventType::Custom("custom.codex.turn_context".to_owned());
            let data = serde_json::json!({ "declares": said });
            self.recording.event(&name, &kind, time, &data);
        } else {
            let is_read_only = sandbox.as_deref() == Some("read-only");
            let scope = ScopeDeclared {
                prohibited: if is_read_only { writing() } else { Vec::new() },
                stated_by: Some(StatedBy {
                    role: "operator".to_owned(),
                    name: Some("codex".to_owned()),
                    source: Some(format!("turn_context: {said}")),
                }),
                ..ScopeDeclared::default()
            };
            self.recording
                .event(&name, &EventType::ScopeDeclared, time, &scope);
        }
        self.scope = Some(said);
    }
}

/// The actions that a read-only sandbox forbids.
fn writing() -> Vec<ActionPattern> {
    ["WRITE", "DELETE"]
        .map(|operation| ActionPattern {
            operation: Some(operation.to_owned()),
            ..ActionPattern::default()
        })
        .to_vec()
}

fn mutation(kind: MutationKind) -> ContextMutated {
    ContextMutated {
        turn: 0,
        kind,
        name: None,
        trigger: None,
        parts: Vec::new(),
        summary: None,
        counted: None,
        withheld: Vec::new(),
        injected_fault: None,
        witness: None,
    }
}

#[cfg(test)]
mod tests;
