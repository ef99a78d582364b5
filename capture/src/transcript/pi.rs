//! Sessions of [pi](https://github.com/badlogic/pi-mono): `~/.pi/agent/sessions/--<path>--/<time>_<uuid>.jsonl`.
//!
//! The first line is the session, every other one an entry. Entries of version 2 and later have ids and form a tree; those of
//! version 1 follow one another. A compaction names the first entry that it keeps, by its id or, in version 1, by its place in
//! the file.

mod entry;

use std::collections::HashMap;
use std::path::Path;

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, MutationKind, Part, PartKind, PartOrigin,
    RequestedCall, ReturnStatus, SessionStarted, SummaryRecord, TokenCount, TokenSource, Trigger,
};

use super::assembly::{Assembly, Piece};
use super::{
    Answer, Call, Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording,
    Returned, beginning,
};
use entry::{Entry, Message};

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
        while let Some(line) = lines.next_line()? {
            output.progress(lines.bytes_read());
            output.report.records += 1;
            match Entry::parse(&line) {
                Ok(entry) => {
                    let reading = match &mut reading {
                        Some(reading) => reading,
                        none => none.insert(Reading::start(path, &entry, output)?),
                    };
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
}

/// A session while it is read.
struct Reading {
    recording: Recording,
    assembly: Assembly,
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    /// In version 1: the node of each line.
    by_line: Vec<usize>,
    is_tree: bool,
    /// The leaf of the last request's context.
    last_leaf: Option<usize>,
    /// The compaction that the last context began with.
    last_compaction: Option<usize>,
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
            last_leaf: None,
            last_compaction: None,
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
        };
        match entry.kind.as_str() {
            "message" => match &entry.message {
                Some(message) if message.role == "assistant" => {
                    self.request(message, &entry, line, parent);
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
        self.by_line.push(at);
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

    fn first_kept(&self, entry: &Entry, line: &Line, output: &mut Output<'_>) -> Option<usize> {
        let kept = match (&entry.first_kept_entry_id, entry.first_kept_entry_index) {
            (Some(id), _) => self.by_id.get(id).copied(),
            (None, Some(index)) => usize::try_from(index)
                .ok()
                .and_then(|index| self.by_line.get(index).copied()),
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
        let summary = beginning(part.text.as_deref().unwrap_or(""), SUMMARY_BYTES_MAX).to_owned();
        let cause = entry.from_hook.unwrap_or(false).then(|| "hook".to_owned());
        self.compactions.insert(
            at,
            ContextMutated {
                turn: 0,
                kind: MutationKind::Compaction,
                name: None,
                trigger: Some(Trigger {
                    cause,
                    threshold_tokens: None,
                    observed_tokens: entry.tokens_before,
                }),
                parts: Vec::new(),
                summary: Some(SummaryRecord {
                    text: summary,
                    ..SummaryRecord::default()
                }),
                counted: None,
                withheld: Vec::new(),
                injected_fault: None,
                witness: None,
            },
        );
        self.piece(vec![part])
    }

    /// The nodes from the root to a leaf, and the place of the last compaction among them.
    fn path(&self, leaf: Option<usize>) -> (Vec<usize>, Option<usize>) {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(node) = at {
            path.push(node);
            // Parents stand before their children, so this ends.
            at = self.nodes[node].parent.filter(|&parent| parent < node);
        }
        path.reverse();
        let compaction = path
            .iter()
            .rposition(|&node| self.nodes[node].first_kept.is_some());
        (path, compaction)
    }

    /// The summary, what the compaction kept, and what followed.
    fn context_of(&self, path: &[usize], compaction: Option<usize>) -> Vec<Piece> {
        let Some(place) = compaction else {
            return self.pieces(path).collect();
        };
        let node = &self.nodes[path[place]];
        let kept = node.first_kept.flatten();
        let from = kept
            .and_then(|kept| path[..place].iter().position(|&node| node == kept))
            .unwrap_or(place);
        node.piece
            .into_iter()
            .chain(self.pieces(&path[from..place]).filter({
                // An earlier summary is covered by the newer one.
                let summaries: Vec<Piece> = path[from..place]
                    .iter()
                    .filter(|&&node| self.nodes[node].first_kept.is_some())
                    .filter_map(|&node| self.nodes[node].piece)
                    .collect();
                move |piece| !summaries.contains(piece)
            }))
            .chain(self.pieces(&path[place + 1..]))
            .collect()
    }

    fn pieces<'a>(&'a self, path: &'a [usize]) -> impl Iterator<Item = Piece> + 'a {
        path.iter().filter_map(|&node| self.nodes[node].piece)
    }

    /// The request whose answer an assistant's message is.
    fn request(&mut self, message: &Message, entry: &Entry, line: &Line, leaf: Option<usize>) {
        let turn = self.recording.next_turn();
        let name = entry.name(line.number);
        let time = entry.timestamp.as_deref();
        let (path, compaction) = self.path(leaf);
        self.mutations(turn, &path, compaction, &name, time);
        let pieces = self.context_of(&path, compaction);
        let captured = ContextCaptured {
            turn,
            tokens: message.input_tokens().map(|count| TokenCount {
                count,
                source: TokenSource::Measured,
            }),
            ..ContextCaptured::default()
        };
        self.assembly.capture(
            &mut self.recording,
            &format!("context.{name}"),
            time,
            captured,
            pieces,
        );
        self.last_leaf = Some(self.nodes.len());
        self.last_compaction = compaction.map(|place| path[place]);
    }

    /// What changed since the last request other than by growing.
    fn mutations(
        &mut self,
        turn: u32,
        path: &[usize],
        compaction: Option<usize>,
        name: &str,
        time: Option<&str>,
    ) {
        let compaction = compaction.map(|place| path[place]);
        let mutated = match compaction {
            Some(node) if Some(node) != self.last_compaction => self.compactions.remove(&node),
            _ => None,
        };
        if let Some(mutated) = mutated {
            let mutated = ContextMutated { turn, ..mutated };
            let id = format!("mutation.{name}");
            self.recording
                .event(&id, &EventType::ContextMutated, time, &mutated);
        } else if self.last_leaf.is_some_and(|leaf| !path.contains(&leaf)) {
            let mutated = plain_mutation(turn, MutationKind::Rewind, "branch");
            let id = format!("mutation.{name}");
            self.recording
                .event(&id, &EventType::ContextMutated, time, &mutated);
        }
    }

    /// The answer and its calls.
    fn answered(&mut self, message: &Message, entry: &Entry, line: &Line) {
        let turn = self.recording.turn();
        let name = entry.name(line.number);
        let calls = message.calls();
        self.recording.answer(
            &format!("answer.{name}"),
            Answer {
                turn,
                response_id: None,
                text: message.texts(),
                calls: calls
                    .iter()
                    .map(|call| RequestedCall {
                        call_id: call.id.clone(),
                        tool: call.name.clone(),
                    })
                    .collect(),
                usage: message.usage(),
                model: message.model.clone(),
                stop_reason: message.stop_reason.clone(),
                time: entry.timestamp.clone(),
            },
        );
        for call in calls {
            self.recording.call(Call {
                turn,
                id: call.id,
                tool: call.name,
                arguments: Some(call.arguments),
                time: entry.timestamp.clone(),
            });
        }
    }

    fn result(&mut self, message: &Message, entry: &Entry) {
        let Some(call_id) = message
            .tool_call_id
            .clone()
            .filter(|_| message.role == "toolResult")
        else {
            return;
        };
        self.recording.returned(Returned {
            call_id,
            tool: message.tool_name.clone(),
            status: if message.is_error.unwrap_or(false) {
                ReturnStatus::Error
            } else {
                ReturnStatus::Ok
            },
            result: Some(serde_json::Value::from(message.text()).to_string()),
            time: entry.timestamp.clone(),
        });
    }
}

fn summary_part(entry: &Entry) -> Part {
    Part::inline(PartKind::Summary, entry.summary.clone().unwrap_or_default())
}

fn plain_mutation(turn: u32, kind: MutationKind, name: &str) -> ContextMutated {
    ContextMutated {
        turn,
        kind,
        name: Some(name.to_owned()),
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
