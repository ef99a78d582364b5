//! One file of a session while it is read: which conversation each record belongs to, and what it continues from.

mod beginning;
mod preserved;
mod starting;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::super::{ImportError, Line, Lines, Output};
use super::chain::{NodeIndex, Parent};
use super::conversation::Conversation;
use super::record::{Message, Record};
use super::{CONVERSATIONS_MAX, SILENT, UNLINKED_MAX};

/// Why a context is in doubt after a line that could not be read.
const UNREAD: &str = "a line of the transcript before it could not be read";

pub(super) use starting::StartingCalls;

/// Reads one file: the session's own, or a sub-agent's.
pub(super) fn read_file(
    path: &Path,
    is_subagent: bool,
    starting: &mut StartingCalls,
    output: &mut Output<'_>,
) -> Result<(), ImportError> {
    let mut lines = Lines::open(path)?;
    let mut session = Session {
        path,
        is_subagent,
        starting,
        conversations: Vec::new(),
        by_key: HashMap::new(),
        keys: Vec::new(),
        by_uuid: HashMap::new(),
        anchors: HashMap::new(),
        unknown: BTreeSet::new(),
        unlinked: Vec::new(),
    };
    while let Some(line) = lines.next_line()? {
        output.progress(lines.bytes_read());
        output.report.records += 1;
        match Record::parse(&line) {
            Ok(record) => session.take(record, &line, output)?,
            // The last line of a file that is still being written.
            Err(_) if !line.is_ended && !line.is_too_long => {}
            Err(reason) => session.malformed(line, &reason, output)?,
        }
    }
    session.finish(output)
}

/// A file while it is read.
struct Session<'a> {
    path: &'a Path,
    is_subagent: bool,
    starting: &'a mut StartingCalls,
    conversations: Vec<Conversation>,
    /// Conversations by the agent's id, or the id of their first record; the main one by an empty key.
    by_key: HashMap<String, usize>,
    /// The key of each conversation.
    keys: Vec<String>,
    /// Each record's conversation and place in it.
    by_uuid: HashMap<String, (usize, NodeIndex)>,
    /// The record of each conversation under which its last compaction keeps others.
    anchors: HashMap<usize, Option<String>>,
    unknown: BTreeSet<String>,
    /// Lines that could not be read before a conversation began.
    unlinked: Vec<(Line, String)>,
}

impl Session<'_> {
    fn take(
        &mut self,
        mut record: Record,
        line: &Line,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        let is_known = matches!(
            record.kind.as_str(),
            "user" | "assistant" | "system" | "attachment"
        ) || SILENT.contains(&record.kind.as_str());
        if !is_known {
            self.tell_unknown(&record, line, output);
        }
        if record.uuid.is_none() && record.permission_mode.is_none() && is_known {
            return Ok(());
        }
        let at = self.conversation(&record, output)?;
        let conversation = &mut self.conversations[at];
        conversation.recording.at_line(line.number);
        if let Some(mode) = record.permission_mode.take() {
            let (folder, time) = (record.cwd.as_deref(), record.timestamp.as_deref());
            conversation.permission_mode(&mode, folder, line, time);
        }
        if !is_known {
            let text = String::from_utf8_lossy(&line.bytes);
            conversation.recording.raw(
                "custom.claude_code.record",
                line.number,
                record.timestamp.as_deref(),
                &text,
            );
        }
        if let Some(uuid) = record.uuid.clone() {
            let node = match self.by_uuid.get(&uuid) {
                Some(&(of, earlier)) if of == at => self.again(at, earlier, &record, line, output),
                _ => Some(self.node(at, &mut record, line, output)),
            };
            if let Some(node) = node {
                self.by_uuid.insert(uuid, (at, node));
            }
        }
        output.drain(&mut self.conversations[at].recording)
    }

    /// A record that stands in the file once more. Behind a compaction, what it preserves is written anew with another parent;
    /// otherwise it counts once.
    fn again(
        &mut self,
        at: usize,
        earlier: NodeIndex,
        record: &Record,
        line: &Line,
        output: &mut Output<'_>,
    ) -> Option<NodeIndex> {
        let parent = self.parent(at, record, line, output);
        let chain = &mut self.conversations[at].chain;
        let is_moved = matches!(parent, Parent::Node(node) if node > earlier);
        is_moved.then(|| chain.copy(earlier, parent))
    }

    fn node(
        &mut self,
        at: usize,
        record: &mut Record,
        line: &Line,
        output: &mut Output<'_>,
    ) -> NodeIndex {
        let parent = self.parent(at, record, line, output);
        if record.kind == "system" {
            return self.system(at, record, parent);
        }
        let conversation = &mut self.conversations[at];
        match record.kind.as_str() {
            "user" => {
                if let Some(agent) = record.tool_use_result.agent_id.take() {
                    let calls = record.message.iter().flat_map(Message::blocks);
                    if let Some(call) = calls.filter_map(|block| block.tool_use_id).next() {
                        self.starting.note_result(&agent, &call);
                    }
                }
                self.conversations[at].user(record, parent)
            }
            "assistant" => {
                if record.is_synthetic() && record.is_api_error_message != Some(true) {
                    conversation.resumed();
                }
                let node = conversation.assistant(record, parent);
                self.note_starting(record);
                node
            }
            "attachment" => conversation.attachment(record, parent),
            _ => conversation.link(parent),
        }
    }

    fn system(&mut self, at: usize, record: &mut Record, parent: Parent) -> NodeIndex {
        match record.subtype.as_deref() {
            Some("compact_boundary") => {
                let preserved = self.preserved(at, record);
                self.anchors.insert(at, preserved.anchor);
                let conversation = &mut self.conversations[at];
                let node = conversation.boundary(record, preserved.nodes);
                if !preserved.is_whole {
                    conversation.lost("the compaction kept records that are not in the transcript");
                }
                node
            }
            Some("microcompact_boundary") => {
                let metadata = record.microcompact_metadata.take().unwrap_or_default();
                self.conversations[at].microcompacted(metadata, parent)
            }
            _ => self.conversations[at].link(parent),
        }
    }

    fn parent(&self, at: usize, record: &Record, line: &Line, output: &mut Output<'_>) -> Parent {
        let Some(uuid) = &record.parent_uuid else {
            return Parent::Root;
        };
        match self.by_uuid.get(uuid) {
            Some(&(of, node)) if of == at => {
                let anchor = self.anchors.get(&at).and_then(Option::as_ref);
                let anchor = anchor.and_then(|uuid| self.by_uuid.get(uuid));
                let anchor = anchor.filter(|(of, _)| *of == at).map(|&(_, node)| node);
                Parent::Node(self.conversations[at].behind(node, anchor))
            }
            // A sub-agent that continues from a record of its parent begins a conversation of its own.
            Some(_) => Parent::Root,
            None => {
                output.notice(
                    Some(line.number),
                    format!("the record continues from {uuid}, which does not stand before it in the file"),
                );
                Parent::Missing
            }
        }
    }

    /// The conversation that a record belongs to; a new one where it begins one.
    fn conversation(
        &mut self,
        record: &Record,
        output: &mut Output<'_>,
    ) -> Result<usize, ImportError> {
        let key = self.key(record);
        if let Some(&known) = self.by_key.get(&key) {
            return Ok(known);
        }
        if self.conversations.len() >= CONVERSATIONS_MAX {
            return Err(ImportError::Malformed {
                path: self.path.to_owned(),
                reason: format!("it holds more than {CONVERSATIONS_MAX} conversations"),
            });
        }
        let new = self.new_session(record, &key, output)?;
        let mut recording = output.start(new)?;
        self.note_late_facts(record, &mut recording);
        let at = self.conversations.len();
        self.conversations.push(Conversation::new(recording));
        self.keys.push(key.clone());
        self.by_key.insert(key, at);
        for (line, reason) in std::mem::take(&mut self.unlinked) {
            self.conversations[at].recording.malformed(&line, &reason);
            self.conversations[at].lost(UNREAD);
        }
        Ok(at)
    }

    fn tell_unknown(&mut self, record: &Record, line: &Line, output: &mut Output<'_>) {
        if self.unknown.insert(record.kind.clone()) {
            output.notice(
                Some(line.number),
                format!(
                    "records of type {:?} are not understood; they are kept as they are",
                    record.kind
                ),
            );
        }
    }

    fn malformed(
        &mut self,
        line: Line,
        reason: &str,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        output.report.malformed += 1;
        output.notice(Some(line.number), format!("not read: {reason}"));
        // Whose line it was is not known.
        for conversation in &mut self.conversations {
            conversation.lost(UNREAD);
        }
        match self.conversations.first_mut() {
            Some(first) => {
                first.recording.malformed(&line, reason);
                output.drain(&mut first.recording)
            }
            None => {
                if self.unlinked.len() < UNLINKED_MAX {
                    self.unlinked.push((line, reason.to_owned()));
                }
                Ok(())
            }
        }
    }

    fn finish(self, output: &mut Output<'_>) -> Result<(), ImportError> {
        if self.conversations.is_empty() {
            return Err(ImportError::Malformed {
                path: self.path.to_owned(),
                reason: "it holds no record of a Claude Code conversation".to_owned(),
            });
        }
        for mut conversation in self.conversations {
            conversation.close_at_end();
            let (measured, estimated) = conversation.growth();
            if estimated.saturating_mul(2) < measured {
                output.notice(
                    None,
                    format!(
                        "{}: between mutations its requests grew by {measured} tokens, of which the texts in the file account for \
                         about {estimated}: texts of tools were cut or are not in it",
                        conversation.recording.session()
                    ),
                );
            }
            output.finish(conversation.recording)?;
        }
        Ok(())
    }
}
