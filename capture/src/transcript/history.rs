//! The messages that a model is sent, as they grow and change from request to request, each known by its record's id.

use std::collections::HashSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{ContextCaptured, DeclaredFate, Fate, Part};

use super::Recording;
use super::assembly::{Assembly, Piece};

/// Most parts whose fate is told in one event. A longer list would not fit; the contexts themselves show the rest.
const FATES_MAX: usize = 1_500;

/// What one record of the transcript brought into the context.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The record's id.
    pub(super) id: String,
    piece: Piece,
}

/// The list of messages.
#[derive(Debug, Default)]
pub(super) struct History {
    assembly: Assembly,
    entries: Vec<Entry>,
}

impl History {
    /// The entries, in order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// An entry's parts; those that a context has had come by their hashes.
    pub(super) fn parts(&self, entry: &Entry) -> &[Part] {
        self.assembly.parts(entry.piece)
    }

    /// An entry that stands nowhere yet.
    pub(super) fn entry(
        &mut self,
        recording: &mut Recording,
        id: impl Into<String>,
        parts: Vec<Part>,
    ) -> Entry {
        Entry {
            id: id.into(),
            piece: self.assembly.add(parts, recording),
        }
    }

    /// Adds an entry at the end.
    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Puts an entry at a position; beyond the end, at the end.
    pub(super) fn insert(&mut self, at: usize, entry: Entry) {
        self.entries.insert(at.min(self.entries.len()), entry);
    }

    /// Puts an entry in the place of the one with its id.
    pub(super) fn replace(&mut self, entry: Entry) {
        if let Some(at) = self.position(&entry.id) {
            self.entries[at] = entry;
        }
    }

    /// Where the entry with an id stands.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.id == id)
    }

    /// Cuts off everything from a position on; returns what left.
    pub(super) fn cut(&mut self, at: usize) -> Vec<Entry> {
        self.entries.split_off(at.min(self.entries.len()))
    }

    /// Takes out the entries with these ids; returns them.
    pub(super) fn remove(&mut self, ids: &HashSet<String>) -> Vec<Entry> {
        let before = std::mem::take(&mut self.entries);
        let (removed, kept) = before
            .into_iter()
            .partition(|entry| ids.contains(&entry.id));
        self.entries = kept;
        removed
    }

    /// Puts another list in the place of the whole one; returns the list before.
    pub(super) fn set(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        std::mem::replace(&mut self.entries, entries)
    }

    /// Writes the context of a request: every entry but those with the ids of `unsent`. `captured` has everything but the parts.
    pub(super) fn request(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
        unsent: &HashSet<String>,
    ) {
        let sent = self
            .entries
            .iter()
            .filter(|entry| !unsent.contains(&entry.id));
        let pieces = sent.map(|entry| entry.piece).collect();
        self.assembly.capture(recording, id, time, captured, pieces);
    }

    /// What the transcript says became of the parts of some entries.
    pub(super) fn fates(&self, entries: &[Entry], fate: Fate) -> Vec<DeclaredFate> {
        let parts = entries.iter().flat_map(|entry| self.parts(entry));
        let hash = |part: &Part| {
            let of_text = |text: &String| ContentHash::of(text.as_bytes());
            part.hash.or_else(|| part.text.as_ref().map(of_text))
        };
        let told = parts.take(FATES_MAX).map(|part| DeclaredFate {
            fate,
            hash: hash(part),
            call_id: None,
            part_kind: None,
            position: None,
        });
        told.collect()
    }
}
