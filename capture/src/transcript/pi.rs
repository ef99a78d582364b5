//! Sessions of [pi](https://github.com/badlogic/pi-mono): `~/.pi/agent/sessions/--<path>--/<time>_<uuid>.jsonl`.
//!
//! The first line is the session, every other one an entry. Entries of version 2 and later have ids and form a tree; those of
//! version 1 follow one another. A compaction names the first entry that it keeps, by its id or, in version 1, by its place in
//! the file.

mod entry;
mod requests;

use std::collections::HashMap;
use std::path::Path;

use remembrancer_schema::payload::{
    ContextMutated, MutationKind, Part, PartKind, PartOrigin, SessionStarted, SummaryRecord,
    Trigger,
};

use super::assembly::{Assembly, Piece};
use super::{Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording};
use crate::cut::prefix;
use entry::Entry;

/// Longest summary that stands in a mutation's event, in bytes. The next context has the whole.
const SUMMARY_BYTES_MAX: usize = 32 * 1024;

/// The format.
pub(super) struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        opening.records.first().is_some_and(|first| {
            first["type"] == "session" && first["id"].is_string() && first["cwd"].is_string()
        })
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut lines = Lines::open(path)?;
        let mut reading = None;
        let mut is_beginning_lost = false;
        while let Some(line) = lines.next_line()? {
            output.progress(lines.bytes_read());
            output.report.records += 1;
            match Entry::parse(&line) {
                Ok(entry) => {
                    let reading = match &mut reading {
                        Some(reading) => reading,
                        none => {
                            let reading = none.insert(Reading::start(path, &entry, output)?);
                            reading.is_line_lost = is_beginning_lost;
                            reading
                        }
                    };
                    reading.recording.at_line(line.number);
                    reading.take(entry, &line, output);
                    output.drain(&mut reading.recording)?;
                }
                // The last line of a file that is still being written.
                Err(_) if !line.is_ended && !line.is_too_long => {}
                Err(reason) => {
                    output.report.malformed += 1;
                    output.notice(Some(line.number), format!("not read: {reason}"));
                    if let Some(reading) = &mut reading {
                        reading.recording.malformed(&line, &reason);
                        reading.is_line_lost = true;
                        reading.by_line.push(None);
                    } else {
                        is_beginning_lost = true;
                    }
                }
            }
        }
        let Some(reading) = reading else {
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                reason: "it holds no entry of a pi session".to_owned(),
            });
        };
        output.finish(reading.recording)
    }
}

/// An entry's place in the tree, and what it adds to a context.
struct Node {
    parent: Option<usize>,
    piece: Option<Piece>,
    /// On a compaction: the first entry that it keeps.
    first_kept: Option<Option<usize>>,
    /// Why what stands before it may not be all that was sent.
    doubt: Option<&'static str>,
}

/// A session while it is read.
struct Reading {
    recording: Recording,
    assembly: Assembly,
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    /// In version 1: the node of each line; none for one that could not be read.
    by_line: Vec<Option<usize>>,
    is_tree: bool,
    /// Whether a line right before could not be read, so that the next one follows on what is not known.
    is_line_lost: bool,
    /// The answer to the last request.
    last_leaf: Option<usize>,
    /// The compaction that the last context began with.
    last_compaction: Option<usize>,
    /// The leaf of the last request's context, where it had one.
    sent: Option<usize>,
    /// Why parts of the last context may be missing.
    last_doubt: Option<&'static str>,
    /// Compactions that no request has followed yet.
    compactions: HashMap<usize, ContextMutated>,
}

impl Reading {
    fn start(path: &Path, first: &Entry, output: &mut Output<'_>) -> Result<Self, ImportError> {
        let name = path.file_stem().map_or_else(
            || "session".to_owned(),
            |stem| stem.to_string_lossy().into_owned(),
        );
        let is_header = first.kind == "session";
        let native_id = first.id.clone().filter(|_| is_header).unwrap_or(name);
        let mut labels = std::collections::BTreeMap::new();
        if let Some(folder) = &first.cwd {
            labels.insert("folder".to_owned(), folder.clone());
        }
        let recording = output.start(NewSession {
            prefix: "pi",
            native_id,
            agent: Some("pi".to_owned()),
            time: first.timestamp.clone(),
            started: SessionStarted {
                labels,
                model: first.model_id.clone(),
                source: Some("pi transcript".to_owned()),
                ..SessionStarted::default()
            },
        })?;
        Ok(Self {
            recording,
            assembly: Assembly::default(),
            nodes: Vec::new(),
            by_id: HashMap::new(),
            by_line: Vec::new(),
            is_tree: is_header && first.version.unwrap_or(1) >= 2,
            is_line_lost: false,
            last_leaf: None,
            last_compaction: None,
            sent: None,
            last_doubt: None,
            compactions: HashMap::new(),
        })
    }

    fn take(&mut self, entry: Entry, line: &Line, output: &mut Output<'_>) {
        let parent = self.parent_of(&entry, line, output);
        let at = self.nodes.len();
        let mut node = Node {
            parent,
            piece: None,
            first_kept: None,
            doubt: self.doubt_before(&entry, parent),
        };
        match entry.kind.as_str() {
            "message" => match &entry.message {
                Some(message) if message.role == "assistant" => {
                    self.request(message, &entry, line, parent, node.doubt);
                    node.piece = self.piece(message.parts());
                    self.answered(message, &entry, line);
                }
                Some(message) => {
                    node.piece = self.piece(message.parts());
                    self.result(message, &entry);
                }
                None => self.raw(line, &entry),
            },
            "compaction" => {
                node.first_kept = Some(self.first_kept(&entry, line, output));
                node.piece = self.compaction(at, &entry);
            }
            "branch_summary" => node.piece = self.piece(vec![summary_part(&entry)]),
            "custom_message" => {
                let text = entry.content_text();
                let part = Part {
                    origin: Some(PartOrigin::Application),
                    ..Part::inline(PartKind::Memory, text)
                };
                node.piece = self.piece(vec![part]);
            }
            "session" | "label" | "session_info" => {}
            _ => self.raw(line, &entry),
        }
        self.nodes.push(node);
        if let Some(id) = entry.id {
            self.by_id.insert(id, at);
        }
        self.by_line.push(Some(at));
    }

    /// The entry before: by its id, or in version 1 the one on the line before.
    fn parent_of(&self, entry: &Entry, line: &Line, output: &mut Output<'_>) -> Option<usize> {
        if !self.is_tree {
            return self.nodes.len().checked_sub(1);
        }
        let id = entry.parent_id.as_ref()?;
        let parent = self.by_id.get(id).copied();
        if parent.is_none() {
            output.notice(
                Some(line.number),
                format!("the entry continues from {id:?}, which is not in the file"),
            );
        }
        parent
    }

    /// Why it is not known what an entry follows on. In a tree its parent tells; without one, a line that could not be read may
    /// have stood between.
    fn doubt_before(&mut self, entry: &Entry, parent: Option<usize>) -> Option<&'static str> {
        let is_line_lost = std::mem::take(&mut self.is_line_lost);
        if self.is_tree && parent.is_none() && entry.parent_id.is_some() {
            return Some("it continues from an entry that is not in the transcript");
        }
        (!self.is_tree && is_line_lost)
            .then_some("a line of the transcript before it could not be read")
    }

    fn first_kept(&self, entry: &Entry, line: &Line, output: &mut Output<'_>) -> Option<usize> {
        let kept = match (&entry.first_kept_entry_id, entry.first_kept_entry_index) {
            (Some(id), _) => self.by_id.get(id).copied(),
            (None, Some(index)) => usize::try_from(index)
                .ok()
                .and_then(|index| self.by_line.get(index).copied().flatten()),
            (None, None) => None,
        };
        if kept.is_none() {
            output.notice(
                Some(line.number),
                "the compaction names no kept entry that is in the file; nothing before it is taken as kept",
            );
        }
        kept
    }

    fn piece(&mut self, parts: Vec<Part>) -> Option<Piece> {
        (!parts.is_empty()).then(|| self.assembly.add(parts, &mut self.recording))
    }

    fn raw(&mut self, line: &Line, entry: &Entry) {
        let text = String::from_utf8_lossy(&line.bytes);
        self.recording.raw(
            "custom.pi.entry",
            line.number,
            entry.timestamp.as_deref(),
            &text,
        );
    }

    fn compaction(&mut self, at: usize, entry: &Entry) -> Option<Piece> {
        let part = summary_part(entry);
        let summary = prefix(part.text.as_deref().unwrap_or(""), SUMMARY_BYTES_MAX).to_owned();
        let cause = entry.from_hook.unwrap_or(false).then(|| "hook".to_owned());
        self.compactions.insert(
            at,
            ContextMutated {
                trigger: Some(Trigger {
                    cause,
                    threshold_tokens: None,
                    observed_tokens: entry.tokens_before,
                }),
                summary: Some(SummaryRecord {
                    text: summary,
                    ..SummaryRecord::default()
                }),
                ..ContextMutated::new(0, MutationKind::Compaction)
            },
        );
        self.piece(vec![part])
    }
}

fn summary_part(entry: &Entry) -> Part {
    Part::inline(PartKind::Summary, entry.summary.clone().unwrap_or_default())
}

fn plain_mutation(turn: u32, kind: MutationKind, name: &str) -> ContextMutated {
    ContextMutated {
        name: Some(name.to_owned()),
        ..ContextMutated::new(turn, kind)
    }
}

#[cfg(test)]
mod tests;
