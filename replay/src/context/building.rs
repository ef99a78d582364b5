//! Contexts of a session that grows: built turn by turn, and built anew from the first turn that an event tells more of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::limits::CONTEXT_PARTS_MAX;
use remembrancer_schema::payload::{
    ContextCaptured, ModelResponded, Part, Payload, TokenCount, TokenSource, Witness,
};

use super::texts::Texts;
use super::told::{Told, TurnSources};
use super::{ContextTimeline, PartKey, estimated_tokens};
use crate::alignment;
use crate::analysis::{ContextPart, PartIndex, PartList, Response, Turn};
use crate::reading::{LeftOut, ReadEvent};

/// Most parts of all contexts together: what walks through every one of them must come to an end.
const POSITIONS_MAX: usize = 1_000_000_000;
/// Most runs of parts that are held for all contexts together. One run is eight bytes.
const RUNS_MAX: usize = 10_000_000;

/// What contexts may still take in all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) parts: usize,
    pub(super) runs: usize,
}

impl Room {
    pub(super) const WHOLE: Self = Self {
        parts: POSITIONS_MAX,
        runs: RUNS_MAX,
    };

    fn without(self, parts: &PartList) -> Self {
        Self {
            parts: self.parts.saturating_sub(parts.len()),
            runs: self.runs.saturating_sub(parts.run_count()),
        }
    }

    /// Why a context is left out that has at most so many parts and runs, if it is.
    fn refuses(self, parts: usize, runs: usize) -> Option<String> {
        let what = if parts > self.parts {
            format!("{POSITIONS_MAX} parts")
        } else if runs > self.runs {
            format!("{RUNS_MAX} runs of parts")
        } else {
            return None;
        };
        Some(format!(
            "left out: with it, the contexts of the session have more than {what} in all"
        ))
    }
}

/// What the events tell of contexts, and how far the timeline was built from it.
#[derive(Debug)]
pub(crate) struct Contexts {
    told: Told,
    texts: Texts,
    content_by_hash: HashMap<ContentHash, usize>,
    /// The first turn of each content that could not be read.
    unread: HashMap<ContentHash, u32>,
    /// For each turn of the timeline: what there was before it.
    marks: Vec<Mark>,
    /// What all contexts may take.
    room: Room,
}

/// How far a timeline had grown before a turn.
#[derive(Debug, Clone, Copy)]
struct Mark {
    contents: usize,
    parts: usize,
    /// What the contexts from here on may take in all.
    room: Room,
}

impl Default for Contexts {
    fn default() -> Self {
        Self::with_room(Room::WHOLE)
    }
}

impl Contexts {
    pub(super) fn with_room(room: Room) -> Self {
        Self {
            told: Told::default(),
            texts: Texts::default(),
            content_by_hash: HashMap::new(),
            unread: HashMap::new(),
            marks: Vec::new(),
            room,
        }
    }

    /// Keeps the texts of an event, moving those of a capture here. Returns the first turn that could not read one of them.
    pub(crate) fn keep_texts(&mut self, payload: &mut Payload) -> Option<u32> {
        let new = self.texts.keep(payload);
        let turns = new.iter().filter_map(|hash| self.unread.get(hash));
        turns.min().copied()
    }

    /// Keeps a blob. Returns the first turn that could not read it.
    pub(crate) fn keep_blob(&mut self, hash: ContentHash, bytes: &Arc<[u8]>) -> Option<u32> {
        let is_new = self.texts.keep_blob(hash, bytes);
        self.unread.get(&hash).filter(|_| is_new).copied()
    }

    /// Takes the event at a position; the first turn that it tells something new of.
    pub(crate) fn note(&mut self, events: &[ReadEvent], at: usize) -> Option<u32> {
        self.told.note(events, at)
    }

    /// The entries that do not count because their turn was told before.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.told.left_out
    }

    /// Bytes of the texts that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.texts.bytes()
    }

    /// Builds the turns from a number on anew, and those that are not built yet.
    pub(crate) fn build(
        &mut self,
        events: &[ReadEvent],
        timeline: &mut ContextTimeline,
        from: u32,
    ) {
        self.rewind(timeline, from);
        let Self {
            told,
            texts,
            content_by_hash,
            unread,
            marks,
            room,
        } = self;
        let mut builder = Builder {
            events,
            texts,
            content_by_hash,
            unread,
            room: marks.last().map_or(*room, |mark| mark.room),
            timeline,
        };
        if let Some(last) = builder.timeline.turns.last() {
            builder.room = builder.room.without(&last.parts);
        }
        for (&number, sources) in told.turns.range(from..) {
            marks.push(Mark {
                contents: builder.timeline.contents.len(),
                parts: builder.timeline.parts.len(),
                room: builder.room,
            });
            let mut turn = builder.turn(number, sources, told.witness);
            turn.parts.shrink();
            builder.room = builder.room.without(&turn.parts);
            builder.timeline.turns.push(turn);
        }
    }

    /// Takes back the turns from a number on.
    fn rewind(&mut self, timeline: &mut ContextTimeline, from: u32) {
        let keep = timeline.turns.partition_point(|turn| turn.number < from);
        let Some(&mark) = self.marks.get(keep) else {
            return;
        };
        for content in timeline.contents.drain(mark.contents..) {
            self.content_by_hash.remove(&content.hash);
            self.unread.remove(&content.hash);
        }
        timeline.parts.truncate(mark.parts);
        timeline.turns.truncate(keep);
        self.marks.truncate(keep);
    }
}

struct Builder<'a> {
    events: &'a [ReadEvent],
    texts: &'a mut Texts,
    content_by_hash: &'a mut HashMap<ContentHash, usize>,
    unread: &'a mut HashMap<ContentHash, u32>,
    timeline: &'a mut ContextTimeline,
    /// What the contexts to come may take in all.
    room: Room,
}

impl Builder<'_> {
    fn turn(&mut self, number: u32, sources: &TurnSources, session: Option<Witness>) -> Turn {
        let captured = sources.captured(self.events);
        let responded = sources.responded(self.events);
        let (parts, unknown) = match captured {
            Some((read, captured)) => match self.listed(captured) {
                Ok(parts) => self.context(read, captured, &parts),
                Err(reason) => (PartList::default(), Some(reason)),
            },
            None => (
                PartList::default(),
                Some("the context of this turn was not captured".to_owned()),
            ),
        };
        let entry = captured.map(|(read, _)| read.entry());
        let captured = captured.map(|(_, captured)| captured);
        Turn {
            number,
            entry,
            time: sources
                .first(self.events)
                .map(|read| read.time().to_owned()),
            parts,
            unknown,
            incomplete: captured.and_then(|captured| {
                let base = captured
                    .base
                    .and_then(|base| self.timeline.turn_position(base));
                let of_base = || self.timeline.turns[base?].incomplete.clone();
                captured.incomplete.clone().or_else(of_base)
            }),
            tokens: captured.and_then(|captured| captured.tokens).or_else(|| {
                let usage = responded?.1.usage?;
                Some(TokenCount {
                    count: usage.input_tokens,
                    source: TokenSource::Measured,
                })
            }),
            witness: captured
                .and_then(|captured| captured.witness)
                .or(session)
                .unwrap_or(Witness::Claimed),
            proof: captured.and_then(|captured| captured.proof.clone()),
            response: responded.map(|(read, responded)| response(read, responded)),
            mutation: None,
        }
    }

    /// The parts that an event says, or that the blob lists which it names.
    fn listed<'b>(&mut self, captured: &'b ContextCaptured) -> Result<Cow<'b, [Part]>, String> {
        let Some(blob) = captured.parts_blob else {
            return Ok(Cow::Borrowed(&captured.parts));
        };
        let listed = self.texts.listed(blob);
        if listed.is_err() {
            self.unread.insert(blob, captured.turn);
        }
        listed.map(Cow::Owned)
    }

    fn context(
        &mut self,
        read: &ReadEvent,
        captured: &ContextCaptured,
        listed: &[Part],
    ) -> (PartList, Option<String>) {
        let position = captured
            .base
            .and_then(|base| self.timeline.turn_position(base));
        let known = position.map(|at| &self.timeline.turns[at]);
        let of_base = known.map_or((0, 0), |turn| (turn.parts.len(), turn.parts.run_count()));
        // Every part that is listed may be a run of its own.
        let (parts, runs) = (of_base.0 + listed.len(), of_base.1 + listed.len());
        if let Some(reason) = self.room.refuses(parts, runs) {
            return (PartList::default(), Some(reason));
        }
        let Some(base) = captured.base else {
            return (self.whole(read, captured.turn, listed), None);
        };
        let (mut parts, unknown) = match known {
            Some(turn) if turn.unknown.is_none() => (turn.parts.clone(), None),
            _ => (
                PartList::default(),
                Some(format!(
                    "it builds on turn {base}, whose context is not known"
                )),
            ),
        };
        if parts.len() + listed.len() > CONTEXT_PARTS_MAX {
            let reason =
                format!("with those of turn {base} it has more than {CONTEXT_PARTS_MAX} parts");
            return (PartList::default(), Some(reason));
        }
        for part in listed {
            parts.push(self.new_part(read, captured.turn, part));
        }
        (parts, unknown)
    }

    /// A whole list of parts: those that the context before holds too keep their indices.
    fn whole(&mut self, read: &ReadEvent, turn: u32, listed: &[Part]) -> PartList {
        let contents: Vec<usize> = listed.iter().map(|part| self.content(part, turn)).collect();
        let before = self
            .timeline
            .turns
            .iter()
            .rev()
            .find(|turn| turn.unknown.is_none())
            .map_or_else(Vec::new, |turn| turn.parts.to_vec());
        let mut reused: Vec<Option<PartIndex>> = vec![None; contents.len()];
        {
            let old_keys: Vec<PartKey<'_>> = before
                .iter()
                .map(|&index| self.timeline.key(index))
                .collect();
            let new_keys: Vec<PartKey<'_>> = listed
                .iter()
                .zip(&contents)
                .map(|(part, &content)| (content, part.kind, part.call_id.as_deref()))
                .collect();
            for (old, new) in alignment::align(&old_keys, &new_keys) {
                reused[new] = Some(before[old]);
            }
        }
        listed
            .iter()
            .zip(contents)
            .zip(reused)
            .map(|((part, content), index)| {
                index.unwrap_or_else(|| self.push_part(read, turn, part, content))
            })
            .collect()
    }

    fn new_part(&mut self, read: &ReadEvent, turn: u32, part: &Part) -> PartIndex {
        let content = self.content(part, turn);
        self.push_part(read, turn, part, content)
    }

    fn push_part(&mut self, read: &ReadEvent, turn: u32, part: &Part, content: usize) -> PartIndex {
        let index = PartIndex::try_from(self.timeline.parts.len())
            .expect("a session's bytes run out long before 2^32 parts");
        let held = &self.timeline.contents[content];
        let estimated_tokens = match &held.text {
            Some(text) => estimated_tokens(text),
            None => held.bytes.unwrap_or(0).div_ceil(4),
        };
        self.timeline.parts.push(ContextPart {
            content,
            kind: part.kind,
            origin: part.effective_origin(),
            entry: read.entry(),
            first_turn: turn,
            message: part.message,
            name: part.name.clone(),
            call_id: part.call_id.clone(),
            tool: part.tool.clone(),
            stub: part.stub,
            sources: part.sources.clone(),
            estimated_tokens,
        });
        index
    }

    /// The content that a part names, held once for each hash.
    fn content(&mut self, part: &Part, turn: u32) -> usize {
        let hash = match (&part.hash, &part.text) {
            (Some(hash), _) => *hash,
            (None, text) => ContentHash::of(text.as_deref().unwrap_or_default().as_bytes()),
        };
        if let Some(&known) = self.content_by_hash.get(&hash) {
            return known;
        }
        let content = self.texts.content(hash, part);
        if content.text.is_none() {
            self.unread.insert(hash, turn);
        }
        self.timeline.contents.push(content);
        let index = self.timeline.contents.len() - 1;
        self.content_by_hash.insert(hash, index);
        index
    }
}

fn response(read: &ReadEvent, responded: &ModelResponded) -> Response {
    Response {
        entry: read.entry(),
        response_id: responded.response_id.clone(),
        text: responded.text.clone(),
        calls: responded.calls.clone(),
        usage: responded.usage,
        model: responded.model.clone(),
        stop_reason: responded.stop_reason.clone(),
        witness: read.witness(),
    }
}
