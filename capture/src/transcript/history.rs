//! The messages that a model is sent, as they grow and change from request to request, each known by its record's id.

use std::collections::{HashMap, HashSet};

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
    /// Where the last entry of each id stands.
    positions: HashMap<String, usize>,
    /// How many entries the last request was made of; none once one of them left or moved.
    reviewed: Option<usize>,
    /// Those among them that it was not sent with.
    left_out: HashSet<String>,
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
        let at = self.entries.len();
        if self.positions.insert(entry.id.clone(), at).is_some() {
            // Which of the two an id means is not told apart below.
            self.reviewed = None;
        }
        self.entries.push(entry);
    }

    /// Puts an entry at a position; beyond the end, at the end.
    pub(super) fn insert(&mut self, at: usize, entry: Entry) {
        self.entries.insert(at.min(self.entries.len()), entry);
        self.moved();
    }

    /// Puts an entry in the place of the one with its id.
    pub(super) fn replace(&mut self, entry: Entry) {
        if let Some(at) = self.position(&entry.id) {
            self.entries[at] = entry;
            self.reviewed = self.reviewed.filter(|&reviewed| reviewed <= at);
        }
    }

    /// Where the entry with an id stands; of several, the last.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// Cuts off everything from a position on; returns what left.
    pub(super) fn cut(&mut self, at: usize) -> Vec<Entry> {
        let cut = self.entries.split_off(at.min(self.entries.len()));
        self.moved();
        cut
    }

    /// Takes out the entries with these ids; returns them.
    pub(super) fn remove(&mut self, ids: &HashSet<String>) -> Vec<Entry> {
        let before = std::mem::take(&mut self.entries);
        let (removed, kept) = before
            .into_iter()
            .partition(|entry| ids.contains(&entry.id));
        self.entries = kept;
        self.moved();
        removed
    }

    /// Puts another list in the place of the whole one; returns the list before.
    pub(super) fn set(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let before = std::mem::replace(&mut self.entries, entries);
        self.moved();
        before
    }

    /// Entries left or stand elsewhere than before.
    fn moved(&mut self) {
        let ids = self.entries.iter().map(|entry| entry.id.clone());
        self.positions = ids.zip(0..).collect();
        self.reviewed = None;
    }

    /// Writes the context of a request: every entry but those with the ids of `unsent`. `captured` has everything but the parts.
    /// Where the entries of the last request are what they were, only those behind them are looked at.
    pub(super) fn request(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
        unsent: &HashSet<String>,
    ) {
        let known = self.reviewed.filter(|&reviewed| {
            let is_known = |id: &&String| self.position(id).is_some_and(|at| at < reviewed);
            let still = unsent.iter().filter(is_known);
            still.clone().count() == self.left_out.len()
                && still.into_iter().all(|id| self.left_out.contains(id))
        });
        #[cfg(test)]
        let known = super::work::known(known);
        let new = self.entries[known.unwrap_or(0)..].iter();
        let sent = new.filter(|entry| !unsent.contains(&entry.id));
        let pieces: Vec<Piece> = sent.map(|entry| entry.piece).collect();
        if known.is_some() {
            self.assembly.grow(recording, id, time, captured, &pieces);
        } else {
            self.assembly.capture(recording, id, time, captured, pieces);
        }
        self.reviewed = Some(self.entries.len());
        if known.is_none() || !unsent.is_empty() {
            self.left_out.clone_from(unsent);
        }
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
