//! Sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, with sub-agents in `<session>/subagents/`.
//!
//! The file is a log of records linked by their parents; older records stay in it when they are no longer sent. For each
//! request, the chain of records above it is followed up to the last compaction, the lines of each message are gathered, and
//! the result is compared in size with what the provider counted.

mod chain;
mod conversation;
mod parts;
mod record;
mod session;
mod size;
mod tool_use_result;

use std::path::{Path, PathBuf};

use super::{Format, ImportError, Opening, Output};
use session::{StartingCalls, read_file};

/// Types of records that mean nothing to the context.
const SILENT: [&str; 24] = [
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "permission-mode",
    "summary",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "agent-color",
    "agent-setting",
    "tag",
    "mode",
    "pr-link",
    "speculation-accept",
    "worktree-state",
    "content-replacement",
    "file-history-delta",
    "atis-latch",
    "bridge-session",
    "cost-state",
    "frame-link",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
];
/// Most lines that could not be read and are kept until a conversation begins.
const UNLINKED_MAX: usize = 16;
/// Most sub-agents of a file.
const CONVERSATIONS_MAX: usize = 10_000;

/// The format.
pub(super) struct ClaudeCode;

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        let is_linked = opening.any_record(|record| {
            record["sessionId"].is_string()
                && record["uuid"].is_string()
                && record.get("parentUuid").is_some()
        });
        let begins = |record: &serde_json::Value| {
            record["sessionId"].is_string()
                && record["type"]
                    .as_str()
                    .is_some_and(|kind| SILENT.contains(&kind))
        };
        is_linked || opening.records.first().is_some_and(begins)
    }

    fn belongs_to_another(&self, file: &Path) -> bool {
        main_file(file).is_some_and(|main| main.is_file())
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut calls = StartingCalls::default();
        let is_subagent = main_file(path).is_some();
        read_file(path, is_subagent, &mut calls, output)?;
        for file in subagent_files(path)? {
            read_file(&file, true, &mut calls, output)?;
        }
        Ok(())
    }
}

/// The session's file that a sub-agent's file belongs to.
fn main_file(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    if folder.file_name()? != "subagents" {
        return None;
    }
    let session = folder.parent()?;
    let mut name = session.file_name()?.to_owned();
    name.push(".jsonl");
    Some(session.with_file_name(name))
}

/// The files of a session's sub-agents, in order of their names.
fn subagent_files(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let folder = path.with_extension("").join("subagents");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ImportError::read(&folder, error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| ImportError::read(&folder, error))?
            .path();
        let is_transcript = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if is_transcript && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What a session's id begins with.
const PREFIX: &str = "cc";

#[cfg(test)]
mod tests;
