//! Contexts, put together from the records of a transcript.
//!
//! A record's parts are held with their texts only until a context was written that has them; from then on by their hashes.

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
    pending: Vec<Piece>,
    pending_bytes: usize,
    last: Vec<Piece>,
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
            self.pending.push(piece);
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

    /// Writes the context that consists of some pieces in their order. `captured` has everything but the parts.
    pub fn capture(
        &mut self,
        recording: &mut Recording,
        id: &str,
        time: Option<&str>,
        captured: ContextCaptured,
        pieces: Vec<Piece>,
    ) {
        let is_growth = !self.last.is_empty() && pieces.starts_with(&self.last);
        let first = if is_growth { self.last.len() } else { 0 };
        let mut parts = Vec::new();
        for &piece in &pieces[first..] {
            parts.extend(self.taken(piece));
        }
        let captured = ContextCaptured { parts, ..captured };
        if is_growth {
            recording.grown_context(id, time, captured);
        } else {
            recording.context(id, time, captured);
        }
        let pieces_of = &self.pieces;
        self.pending
            .retain(|piece| pieces_of[piece.0].iter().any(|part| part.text.is_some()));
        self.pending_bytes = self
            .pending
            .iter()
            .map(|piece| self.sizes[piece.0] as usize)
            .sum();
        self.last = pieces;
    }

    /// A piece's parts with their texts, which are held by their hashes from now on.
    fn taken(&mut self, piece: Piece) -> Vec<Part> {
        let held = &mut self.pieces[piece.0];
        let taken = held.clone();
        for part in held.iter_mut() {
            *part = crate::session_writer::by_hash(part);
        }
        taken
    }
}

fn text_bytes(part: &Part) -> usize {
    part.text.as_ref().map_or(0, String::len)
}
