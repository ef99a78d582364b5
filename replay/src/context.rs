//! Contexts, rebuilt from what was captured.
//!
//! A part that stands at the same place of consecutive contexts is held once: a capture that builds on an earlier turn takes
//! over its indices, and a capture of the whole list is aligned with the context before it.

mod told;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::limits::CONTEXT_PARTS_MAX;
use remembrancer_schema::payload::{
    ConstraintDeclared, ContextCaptured, ModelResponded, Part, PartKind, Payload, TokenCount,
    TokenSource, Witness,
};

use crate::alignment;
use crate::analysis::{Absence, Content, ContextPart, PartIndex, Response, Turn};
use crate::reading::{LeftOut, ReadEvent, Reading};
use crate::record::SessionRecord;
use told::{Told, TurnSources};

/// Every context of a session, with parts and contents held once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextTimeline {
    /// The distinct contents, in order of first appearance.
    pub contents: Vec<Content>,
    /// The parts, in order of first appearance.
    pub parts: Vec<ContextPart>,
    /// The model requests, by number.
    pub turns: Vec<Turn>,
}

/// Most parts that are held, summed over all contexts.
const POSITIONS_MAX: usize = 20_000_000;

/// A constraint as declared, with its place in the session.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredConstraint {
    /// The declaration.
    pub declared: ConstraintDeclared,
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The first turn that was recorded after the declaration. Earlier turns are still looked at, but not counted.
    pub from_turn: u32,
}

/// What makes two parts of different contexts the same.
pub(crate) type PartKey<'a> = (usize, PartKind, Option<&'a str>);

impl ContextTimeline {
    /// Rebuilds every context of a record.
    pub fn rebuild(record: &SessionRecord) -> Self {
        rebuild(&Reading::of(record), record).0
    }

    /// The part at an index.
    ///
    /// # Panics
    /// If the index is not one of this timeline's.
    pub fn part(&self, index: PartIndex) -> &ContextPart {
        &self.parts[index as usize]
    }

    /// The text of a part, where it can be read.
    pub fn text(&self, index: PartIndex) -> Option<&str> {
        self.contents[self.part(index).content].text.as_deref()
    }

    /// Position of a turn by its number.
    pub fn turn_position(&self, number: u32) -> Option<usize> {
        self.turns
            .binary_search_by_key(&number, |turn| turn.number)
            .ok()
    }

    pub(crate) fn key(&self, index: PartIndex) -> PartKey<'_> {
        let part = self.part(index);
        (part.content, part.kind, part.call_id.as_deref())
    }
}

/// Rebuilds the contexts, and names the entries that do not count because their turn was told before.
pub(crate) fn rebuild(
    reading: &Reading<'_>,
    record: &SessionRecord,
) -> (ContextTimeline, Vec<LeftOut>) {
    rebuild_within(reading, record, POSITIONS_MAX)
}

/// Contexts that no longer fit into `room` parts in all are not known.
fn rebuild_within(
    reading: &Reading<'_>,
    record: &SessionRecord,
    room: usize,
) -> (ContextTimeline, Vec<LeftOut>) {
    let told = Told::of(reading);
    let mut builder = Builder {
        texts: inline_texts(reading),
        record,
        timeline: ContextTimeline::default(),
        content_by_hash: HashMap::new(),
        room,
    };
    let mut turns: BTreeMap<u32, Turn> = BTreeMap::new();
    for (&number, sources) in &told.turns {
        let turn = builder.turn(number, sources, &turns, told.witness);
        builder.room = builder.room.saturating_sub(turn.parts.len());
        turns.insert(number, turn);
    }
    builder.timeline.turns = turns.into_values().collect();
    (builder.timeline, told.left_out)
}

/// Every text of the session by its hash: contexts may name it by hash from then on.
fn inline_texts(reading: &Reading<'_>) -> HashMap<ContentHash, Arc<str>> {
    let mut texts: HashMap<ContentHash, Arc<str>> = HashMap::new();
    let mut keep = |text: &str| {
        texts
            .entry(ContentHash::of(text.as_bytes()))
            .or_insert_with(|| Arc::from(text));
    };
    for read in &reading.events {
        match &read.payload {
            Payload::ContextCaptured(captured) => {
                captured
                    .parts
                    .iter()
                    .filter_map(|part| part.text.as_deref())
                    .for_each(&mut keep);
            }
            Payload::ModelResponded(responded) => responded.text.iter().for_each(|text| keep(text)),
            Payload::ContextMutated(mutated) => {
                mutated
                    .summary
                    .iter()
                    .for_each(|summary| keep(&summary.text));
            }
            Payload::ArtifactChanged(changed) => changed.text.iter().for_each(|text| keep(text)),
            _ => {}
        }
    }
    texts
}

struct Builder<'a> {
    texts: HashMap<ContentHash, Arc<str>>,
    record: &'a SessionRecord,
    timeline: ContextTimeline,
    content_by_hash: HashMap<ContentHash, usize>,
    /// How many parts the contexts to come may have in all.
    room: usize,
}

impl Builder<'_> {
    fn turn(
        &mut self,
        number: u32,
        sources: &TurnSources<'_>,
        earlier: &BTreeMap<u32, Turn>,
        session_witness: Option<Witness>,
    ) -> Turn {
        let first_told = sources
            .captured
            .map(|(read, _)| read)
            .or(sources.responded.map(|(read, _)| read))
            .or(sources.called);
        let (parts, unknown) = match sources.captured {
            Some((read, captured)) => self.context(read, captured, earlier),
            None => (
                Vec::new(),
                Some("the context of this turn was not captured".to_owned()),
            ),
        };
        let captured = sources.captured.map(|(_, captured)| captured);
        Turn {
            number,
            entry: sources.captured.map(|(read, _)| read.entry()),
            time: first_told.map(|read| read.time().to_owned()),
            parts,
            unknown,
            tokens: captured.and_then(|captured| captured.tokens).or_else(|| {
                let usage = sources.responded?.1.usage?;
                Some(TokenCount {
                    count: usage.input_tokens,
                    source: TokenSource::Measured,
                })
            }),
            witness: captured
                .and_then(|captured| captured.witness)
                .or(session_witness)
                .unwrap_or(Witness::Claimed),
            proof: captured.and_then(|captured| captured.proof.clone()),
            response: sources
                .responded
                .map(|(read, responded)| response(read, responded)),
            mutation: None,
        }
    }

    fn context(
        &mut self,
        read: &ReadEvent<'_>,
        captured: &ContextCaptured,
        earlier: &BTreeMap<u32, Turn>,
    ) -> (Vec<PartIndex>, Option<String>) {
        let known = captured.base.and_then(|base| earlier.get(&base));
        let length = known.map_or(0, |turn| turn.parts.len()) + captured.parts.len();
        if length > self.room {
            let reason = format!(
                "left out: with it, the contexts of the session have more than {POSITIONS_MAX} parts in all"
            );
            return (Vec::new(), Some(reason));
        }
        let Some(base) = captured.base else {
            return (self.whole(read, captured, earlier), None);
        };
        let (mut parts, unknown) = match known {
            Some(turn) if turn.unknown.is_none() => (turn.parts.clone(), None),
            _ => (
                Vec::new(),
                Some(format!(
                    "it builds on turn {base}, whose context is not known"
                )),
            ),
        };
        if parts.len() + captured.parts.len() > CONTEXT_PARTS_MAX {
            let reason =
                format!("with those of turn {base} it has more than {CONTEXT_PARTS_MAX} parts");
            return (Vec::new(), Some(reason));
        }
        for part in &captured.parts {
            parts.push(self.new_part(read, captured.turn, part));
        }
        (parts, unknown)
    }

    /// A whole list of parts: those that the context before holds too keep their indices.
    fn whole(
        &mut self,
        read: &ReadEvent<'_>,
        captured: &ContextCaptured,
        earlier: &BTreeMap<u32, Turn>,
    ) -> Vec<PartIndex> {
        let contents: Vec<usize> = captured
            .parts
            .iter()
            .map(|part| self.content(part))
            .collect();
        let before = earlier
            .values()
            .rev()
            .find(|turn| turn.unknown.is_none())
            .map_or(&[][..], |turn| &turn.parts);
        let mut reused: Vec<Option<PartIndex>> = vec![None; contents.len()];
        {
            let old_keys: Vec<PartKey<'_>> = before
                .iter()
                .map(|&index| self.timeline.key(index))
                .collect();
            let new_keys: Vec<PartKey<'_>> = captured
                .parts
                .iter()
                .zip(&contents)
                .map(|(part, &content)| (content, part.kind, part.call_id.as_deref()))
                .collect();
            for (old, new) in alignment::align(&old_keys, &new_keys) {
                reused[new] = Some(before[old]);
            }
        }
        captured
            .parts
            .iter()
            .zip(contents)
            .zip(reused)
            .map(|((part, content), index)| {
                index.unwrap_or_else(|| self.push_part(read, captured.turn, part, content))
            })
            .collect()
    }

    fn new_part(&mut self, read: &ReadEvent<'_>, turn: u32, part: &Part) -> PartIndex {
        let content = self.content(part);
        self.push_part(read, turn, part, content)
    }

    fn push_part(
        &mut self,
        read: &ReadEvent<'_>,
        turn: u32,
        part: &Part,
        content: usize,
    ) -> PartIndex {
        let index = PartIndex::try_from(self.timeline.parts.len())
            .expect("a session's bytes run out long before 2^32 parts");
        let held = &self.timeline.contents[content];
        let estimated_tokens = match &held.text {
            Some(text) => (text.chars().count() as u64).div_ceil(4),
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
    fn content(&mut self, part: &Part) -> usize {
        let hash = match (&part.hash, &part.text) {
            (Some(hash), _) => *hash,
            (None, text) => ContentHash::of(text.as_deref().unwrap_or_default().as_bytes()),
        };
        if let Some(&known) = self.content_by_hash.get(&hash) {
            return known;
        }
        let content = self.resolve(hash, part);
        self.timeline.contents.push(content);
        let index = self.timeline.contents.len() - 1;
        self.content_by_hash.insert(hash, index);
        index
    }

    fn resolve(&self, hash: ContentHash, part: &Part) -> Content {
        let unread = |bytes, absence| Content {
            hash,
            bytes,
            text: None,
            absence: Some(absence),
        };
        if let Some(text) = self.texts.get(&hash) {
            return Content {
                hash,
                bytes: Some(text.len() as u64),
                text: Some(Arc::clone(text)),
                absence: None,
            };
        }
        let blob = self.record.blobs.get(&hash);
        let bytes = blob.map(|blob| blob.len() as u64);
        if part.encrypted {
            return unread(bytes, Absence::Encrypted);
        }
        match (blob.map(|blob| std::str::from_utf8(blob)), &part.withheld) {
            (Some(Ok(text)), _) => Content {
                hash,
                bytes,
                text: Some(Arc::from(text)),
                absence: None,
            },
            (_, Some(reason)) => unread(bytes, Absence::Withheld(reason.clone())),
            (Some(Err(_)), None) => unread(bytes, Absence::NotText),
            (None, None) => unread(None, Absence::NotRecorded),
        }
    }
}

fn response(read: &ReadEvent<'_>, responded: &ModelResponded) -> Response {
    Response {
        entry: read.entry(),
        response_id: responded.response_id.clone(),
        text: responded.text.clone(),
        calls: responded.calls.clone(),
        usage: responded.usage,
        model: responded.model.clone(),
        stop_reason: responded.stop_reason.clone(),
    }
}

#[cfg(test)]
mod tests;
