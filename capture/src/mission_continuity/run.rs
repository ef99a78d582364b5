//! A recorded run, read from its files.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use super::ImportError;
use super::manifest::CheckedFiles;
use super::rows::{
    Compaction, ContextRow, Intervention, MemoryRow, Message, Report, RequestRow, ResponseRow,
    Settings, ToolRow, TraceEvent,
};

/// Everything that a bundle's files say, row by row.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) settings: Settings,
    pub(super) requests: BTreeMap<u32, RequestRow>,
    pub(super) responses: BTreeMap<u32, ResponseRow>,
    /// In order of completion.
    pub(super) tools: Vec<ToolRow>,
    pub(super) compactions: Vec<Compaction>,
    pub(super) memory: Vec<MemoryRow>,
    pub(super) effects: u64,
    pub(super) guard_denials: u64,
    pub(super) report: Option<Report>,
    pub(super) report_text: Option<String>,
    pub(super) results: Option<serde_json::Value>,
    /// The message lists before each compaction, by compaction id.
    pub(super) archives: BTreeMap<String, Vec<Message>>,
    /// The governor's events by its session id, in file order.
    pub(super) traces: BTreeMap<String, Vec<TraceEvent>>,
    /// Position of each call's first row in `tools`.
    rows_by_call: BTreeMap<String, usize>,
    /// Position of each call's first scope assertion in the agent's own trace.
    scopes_by_call: BTreeMap<String, usize>,
    /// Positions of what the governor flagged about each call in the agent's own trace.
    flags_by_call: BTreeMap<String, Vec<usize>>,
    /// Position of each response's token snapshot in the agent's own trace.
    snapshots_by_response: BTreeMap<String, usize>,
}

/// Most requests that a run may have.
pub const REQUESTS_MAX: usize = 10_000;

impl Run {
    pub(super) fn read(files: &CheckedFiles) -> Result<Self, ImportError> {
        let mut requests = BTreeMap::new();
        let mut responses = BTreeMap::new();
        for row in rows(files, "run/requests.jsonl")? {
            let (step, is_new) = match row {
                ContextRow::Request(row) => (row.run_step, requests.insert(row.run_step, row)),
                ContextRow::Response(row) => {
                    let step = row.run_step;
                    if responses.insert(step, row).is_some() {
                        return Err(twice("run/requests.jsonl", step));
                    }
                    (step, None)
                }
            };
            if step == 0 || is_new.is_some() {
                return Err(twice("run/requests.jsonl", step));
            }
        }
        if requests.len().max(responses.len()) > REQUESTS_MAX {
            return Err(ImportError::TooManyRequests);
        }
        let mut compactions: Vec<Compaction> = rows(files, "run/compactions.jsonl")?;
        compactions.sort_by_key(|compaction| compaction.run_step);
        let mut archives = BTreeMap::new();
        for compaction in &compactions {
            let path = format!("run/{}", compaction.archive_ref);
            let messages = whole(files, &path)?;
            archives.insert(compaction.compaction_id.clone(), messages);
        }
        let mut traces = BTreeMap::new();
        for (path, _) in files.below("traces/") {
            let name = path.trim_start_matches("traces/");
            let session = name.strip_suffix(".jsonl").unwrap_or(name).to_owned();
            traces.insert(session, rows(files, path)?);
        }
        let interventions: Vec<Intervention> = rows(files, "run/interventions.jsonl")?;
        let denials = interventions
            .iter()
            .filter(|row| row.kind == "guard_denial");
        let mut run = Self {
            settings: whole(files, "run/run.json")?,
            requests,
            responses,
            tools: rows(files, "run/tools.jsonl")?,
            compactions,
            memory: memory(files)?,
            effects: rows::<IgnoredAny>(files, "run/effects.jsonl")?.len() as u64,
            guard_denials: denials.count() as u64,
            report: optional(files, "run/report.json")?,
            report_text: optional::<Box<RawValue>>(files, "run/report.json")?
                .map(|raw| raw.get().to_owned()),
            results: optional(files, "run/results.json")?,
            archives,
            traces,
            rows_by_call: BTreeMap::new(),
            scopes_by_call: BTreeMap::new(),
            flags_by_call: BTreeMap::new(),
            snapshots_by_response: BTreeMap::new(),
        };
        run.index();
        Ok(run)
    }

    fn index(&mut self) {
        let mut rows = BTreeMap::new();
        for (index, row) in self.tools.iter().enumerate() {
            rows.entry(row.tool_call_id.clone()).or_insert(index);
        }
        let mut scopes = BTreeMap::new();
        let mut flags: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut snapshots = BTreeMap::new();
        for (index, event) in self.main_trace().iter().enumerate() {
            if let Some(call) = &event.payload.tool_use_id {
                if event.is_scope() {
                    scopes.entry(call.clone()).or_insert(index);
                }
                if event.is_flagged() {
                    flags.entry(call.clone()).or_default().push(index);
                }
            }
            if let Some(response) = &event.payload.llm_turn_id {
                snapshots.entry(response.clone()).or_insert(index);
            }
        }
        self.rows_by_call = rows;
        self.scopes_by_call = scopes;
        self.flags_by_call = flags;
        self.snapshots_by_response = snapshots;
    }

    /// The trace of the agent itself: the first governor session that a request names.
    pub(super) fn main_session(&self) -> Option<&str> {
        self.requests
            .values()
            .find_map(|request| request.governor_session_id.as_deref())
    }

    /// The agent's own trace.
    pub(super) fn main_trace(&self) -> &[TraceEvent] {
        self.main_session()
            .and_then(|session| self.traces.get(session))
            .map_or(&[], Vec::as_slice)
    }

    /// The governor's assertion about a call, from the agent's own trace.
    pub(super) fn scope_of(&self, call_id: &str) -> Option<&TraceEvent> {
        self.main_trace().get(*self.scopes_by_call.get(call_id)?)
    }

    /// What the governor flagged about a call, in the order of its trace.
    pub(super) fn flags_of(&self, call_id: &str) -> impl Iterator<Item = &TraceEvent> {
        let positions = self.flags_by_call.get(call_id).into_iter().flatten();
        positions.filter_map(|&index| self.main_trace().get(index))
    }

    /// The governor's token snapshot of a response, from the agent's own trace.
    pub(super) fn snapshot_of(&self, response_id: &str) -> Option<&TraceEvent> {
        self.main_trace()
            .get(*self.snapshots_by_response.get(response_id)?)
    }

    pub(super) fn tool(&self, call_id: &str) -> Option<&ToolRow> {
        self.tools.get(*self.rows_by_call.get(call_id)?)
    }

    pub(super) fn compaction_at(&self, step: u32) -> Option<&Compaction> {
        self.compactions.iter().find(|row| row.run_step == step)
    }

    /// The memory rows of a compaction, in file order.
    pub(super) fn memory_of<'a>(
        &'a self,
        compaction: &'a str,
    ) -> impl Iterator<Item = &'a MemoryRow> + 'a {
        self.memory
            .iter()
            .filter(move |row| row.compaction_id == compaction)
    }
}

fn twice(file: &str, step: u32) -> ImportError {
    ImportError::Malformed {
        file: file.to_owned(),
        line: 0,
        reason: format!("request {step} appears twice, or is numbered 0"),
    }
}

fn memory(files: &CheckedFiles) -> Result<Vec<MemoryRow>, ImportError> {
    let mut parsed: Vec<MemoryRow> = rows(files, "run/memory.jsonl")?;
    let text = files
        .get("run/memory.jsonl")
        .map_or_else(Default::default, String::from_utf8_lossy);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for (row, line) in parsed.iter_mut().zip(lines) {
        line.clone_into(&mut row.line);
    }
    Ok(parsed)
}

fn parse<T: DeserializeOwned>(bytes: &[u8], file: &str, line: usize) -> Result<T, ImportError> {
    serde_json::from_slice(bytes).map_err(|error| ImportError::Malformed {
        file: file.to_owned(),
        line: line + error.line(),
        reason: error.to_string(),
    })
}

fn whole<T: DeserializeOwned>(files: &CheckedFiles, path: &str) -> Result<T, ImportError> {
    parse(files.require(path)?, path, 0)
}

fn optional<T: DeserializeOwned>(
    files: &CheckedFiles,
    path: &str,
) -> Result<Option<T>, ImportError> {
    files
        .get(path)
        .map(|bytes| parse(bytes, path, 0))
        .transpose()
}

/// The rows of a JSON Lines file. A file that is not there has none.
fn rows<T: DeserializeOwned>(files: &CheckedFiles, path: &str) -> Result<Vec<T>, ImportError> {
    let bytes = files.get(path).unwrap_or_default();
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(index, line)| parse(line, path, index))
        .collect()
}
