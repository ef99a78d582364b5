//! Records that change the list of messages: `$rewindTo` and `$set.messages`.

use std::collections::HashSet;

use remembrancer_schema::payload::{
    ContextMutated, Fate, MutationKind, PartKind, PartOrigin, SummaryRecord,
};
use serde_json::value::RawValue;

use super::Reader;
use super::change::Change;
use super::message::Message;
use crate::transcript::history::Entry;
use crate::transcript::{Output, Recording};

impl Reader {
    /// Takes a message and everything after it back; a message that is not there takes back everything.
    pub(super) fn rewind(&mut self, number: u64, target: &str) {
        let at = self.history.position(target).unwrap_or(0);
        let removed = self.history.cut(at);
        self.mutated(number, MutationKind::Rewind, "$rewindTo", &removed, None);
    }

    /// Another list stands in the place of the messages.
    pub(super) fn replaced(&mut self, number: u64, raws: &[&RawValue], output: &mut Output<'_>) {
        let mut messages = Vec::new();
        for raw in raws {
            match Message::parse(raw.get()) {
                Ok(message) if message.is_spoken() => messages.push(message),
                Ok(_) => {}
                Err(error) => {
                    self.lost = Some(format!("a message of line {number} could not be read"));
                    output.notice(
                        Some(number),
                        format!("a message in $set.messages cannot be read: {error}"),
                    );
                }
            }
        }
        let turn = self.recording.as_ref().map_or(0, Recording::turn);
        for message in &messages {
            self.acted(message, turn.max(1));
        }
        let change = Change::of(self.history.entries(), &messages);
        let Some(recording) = &mut self.recording else {
            return;
        };
        let mut entries = Vec::with_capacity(messages.len());
        let mut summary = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let mut parts = message.parts();
            if change.summary.contains(&at) {
                for part in parts.iter_mut().filter(|part| part.kind == PartKind::User) {
                    part.kind = PartKind::Summary;
                    part.origin = Some(PartOrigin::Model);
                    summary.extend(part.text.clone());
                }
            }
            entries.push(self.history.entry(recording, &message.id, parts));
        }
        let before = self.history.set(entries);
        if let Some(kind) = change.kind {
            let kept: HashSet<&str> = self
                .history
                .entries()
                .iter()
                .map(|entry| entry.id.as_str())
                .collect();
            let removed: Vec<Entry> = before
                .into_iter()
                .filter(|entry| !kept.contains(entry.id.as_str()))
                .collect();
            let record = (kind == MutationKind::Compaction).then(|| SummaryRecord {
                text: summary.join("\n\n"),
                ..SummaryRecord::default()
            });
            self.mutated(number, kind, "$set.messages", &removed, record);
        }
    }

    fn mutated(
        &mut self,
        number: u64,
        kind: MutationKind,
        name: &str,
        removed: &[Entry],
        summary: Option<SummaryRecord>,
    ) {
        let fate = if summary.is_some() {
            Fate::Summarised
        } else {
            Fate::Dropped
        };
        let mutation = ContextMutated {
            name: Some(name.to_owned()),
            parts: self.history.fates(removed, fate),
            summary,
            ..ContextMutated::new(0, kind)
        };
        self.mutations
            .push((format!("mutation.{number}"), mutation));
    }
}
