//! Contexts, put together from the records of a transcript.
//!
//! A record's parts are held with their texts only until a context was written that has them; from then on by their hashes.

use std::collections::BTreeSet;

use remembrancer_schema::payload::{ContextCaptured, Part};

use super::recording::Recording;

/// Bytes of texts that no context has had yet, before they are handed over without one.
const PENDING_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What one record adds to a context, by its number in the assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Piece(usize);

/// The parts of the records, and the context that was written last.
#[derive(Debug, Default)]
pub struct Assembly {
    pieces: Vec<Vec<Part>>,
    sizes: Vec<u32>,
    /// Pieces whose parts have their texts.
    pending: BTreeSet<Piece>,
    pending_bytes: usize,
    last: Vec<Piece>,
    /// The last context could not be written, so that none can be told as its growth.
    is_last_unwritten: bool,
}

impl Assembly {
    /// Adds what a record holds.
    pub fn add(&mut self, parts: Vec<Part>, recording: &mut Recording) -> Piece {
        recording.hear(&parts);
        let bytes: usize = parts.iter().map(text_bytes).sum();
        let piece = Piece(self.pieces.len());
        self.pieces.push(parts);
        self.sizes.push(u32::try_from(bytes).unwrap_or(u32::MAX));
        if bytes > 0 {
            self.pending.insert(piece);
            self.pending_bytes += bytes;
        }
        if self.pending_bytes > PENDING_BYTES_MAX {
            for piece in std::mem::take(&mut self.pending) {
                for part in &mut self.pieces[piece.0] {
                    *part = recording.hand_over(part.clone());
                }
            }
            self.pending_bytes = 0;
        }
        piece
    }

    /// The parts of a record; those that a context has had come by their hashes.
    pub fn parts(&self, piece: Piece) -> &[Part] {
        &self.pieces[piece.0]
    }

    /// Bytes of the texts of a record's parts.
    pub fn bytes(&self, piece: Piece) -> u64 {
        u64::from(self.sizes[piece.0])
    }

    /// The pieces of the context that was written last.
    pub fn last(&self) -> &[Piece] {
        &self.last
    }

    /// Writes the context that consists of some pieces in their order. `captured` has everything but the parts. What it costs
    /// grows with the whole context: [`Self::grow`] is for one that is known to begin with the last.
    pub fn capture(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
        pieces: Vec<Piece>,
    ) {
        #[cfg(test)]
        super::work::looked_at(pieces.len());
        if !self.last.is_empty() && pieces.starts_with(&self.last) {
            let added = &pieces[self.last.len()..];
            return self.grow(recording, id, time, captured, added);
        }
        self.last = pieces;
        self.write_whole(recording, id, time, captured);
    }

    /// Writes the context that consists of the last one and some pieces behind it. What it costs grows with these alone.
    pub fn grow(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
        added: &[Piece],
    ) {
        let is_first = self.last.is_empty();
        self.last.extend(added);
        if is_first || self.is_last_unwritten {
            return self.write_whole(recording, id, time, captured);
        }
        let parts = self.taken(added);
        let captured = ContextCaptured { parts, ..captured };
        self.is_last_unwritten = !recording.grown_context(id, time, captured);
    }

    fn write_whole(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
    ) {
        let last = std::mem::take(&mut self.last);
        let parts = self.taken(&last);
        self.last = last;
        let captured = ContextCaptured { parts, ..captured };
        self.is_last_unwritten = !recording.context(id, time, captured);
    }

    /// The parts of some pieces with their texts, which are held by their hashes from now on.
    fn taken(&mut self, pieces: &[Piece]) -> Vec<Part> {
        #[cfg(test)]
        super::work::looked_at(pieces.len());
        let mut taken = Vec::new();
        for piece in pieces {
            let held = &mut self.pieces[piece.0];
            taken.extend_from_slice(held);
            for part in held.iter_mut().filter(|part| part.text.is_some()) {
                *part = crate::session_writer::by_hash(part);
            }
            if self.pending.remove(piece) {
                self.pending_bytes -= self.sizes[piece.0] as usize;
            }
        }
        taken
    }
}

fn text_bytes(part: &Part) -> usize {
    part.text.as_ref().map_or(0, String::len)
}
