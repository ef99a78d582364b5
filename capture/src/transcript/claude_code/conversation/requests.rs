//! Requests: the context of each, and what changed in it other than by growing.

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, CountedTokens, EventType, MutationKind, SummaryRecord,
    TokenCount, TokenSource, Trigger,
};

use super::super::super::assembly::Piece;
use super::super::chain::{Above, NodeIndex, Parent, Pieces, Walk};
use super::super::record::Record;
use super::super::size::{Continuity, Sizes, estimated};
use super::{Conversation, LastWalk, mutation};

impl Conversation {
    /// A request: its context, and what changed in it other than by growing.
    pub(super) fn request(&mut self, record: &Record, id: &str, parent: Parent) {
        let turn = self.recording.next_turn();
        let message = record.message.as_ref();
        let measured = message.and_then(|message| message.input_tokens());
        let time = record.timestamp.as_deref();
        let leaf = self.leaf(parent);
        let mut above = self.chain.above(leaf);
        if let Above::Whole(walk) = &above
            && let Some(dangling) = walk.dangling
            && self.settle(dangling, walk, measured, turn)
        {
            above = self.chain.above(leaf);
        }
        let boundary = self.chain.boundary_of(&above);
        let pieces = self.chain.send(&above, leaf);
        self.sent_bytes = match &pieces {
            Pieces::Added(added) => self.sent_bytes + self.bytes(added),
            Pieces::Whole(pieces) => self.bytes(pieces),
        };
        let estimated = estimated(self.sent_bytes);
        self.edits(record, turn);
        self.compare(&above, turn, measured, estimated, leaf);
        for (number, mutated) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let name = format!("mutation.{id}.{number}");
            self.recording.event(
                &name,
                &EventType::ContextMutated,
                time,
                &ContextMutated { turn, ..mutated },
            );
        }
        let incomplete = self
            .lost
            .clone()
            .or_else(|| self.incomplete.clone())
            .or_else(|| Sizes::too_large(measured, estimated));
        let captured = ContextCaptured {
            turn,
            incomplete,
            tokens: measured.map(|count| TokenCount {
                count,
                source: TokenSource::Measured,
            }),
            ..ContextCaptured::default()
        };
        let name = format!("context.{id}");
        match pieces {
            Pieces::Added(added) => {
                self.assembly
                    .grow(&mut self.recording, &name, time, captured, &added);
            }
            Pieces::Whole(pieces) => {
                self.assembly
                    .capture(&mut self.recording, &name, time, captured, pieces);
            }
        }
        self.last_walk = Some(LastWalk {
            leaf,
            boundary,
            estimated,
        });
        self.sizes.last = measured.or(self.sizes.last);
    }

    /// Bytes of the texts of some pieces.
    fn bytes(&self, pieces: &[Piece]) -> u64 {
        let bytes = pieces.iter().map(|&piece| self.assembly.bytes(piece));
        bytes.sum()
    }

    pub(super) fn leaf(&mut self, parent: Parent) -> Option<NodeIndex> {
        match parent {
            Parent::Node(node) => Some(node),
            Parent::Root => None,
            // The answer itself continues from a record that is not in the file.
            other => Some(self.link(other)),
        }
    }

    /// Decides once what a record that continues from a missing one stands behind; whether the walk changes with that.
    pub(super) fn settle(
        &mut self,
        dangling: NodeIndex,
        walk: &Walk,
        measured: Option<u64>,
        turn: u32,
    ) -> bool {
        if self.chain.nodes[dangling].parent != Parent::Missing {
            return false;
        }
        let alone = estimated(self.bytes(&self.chain.pieces(walk)));
        let continuity = match self.last_walk {
            Some(_) => self.sizes.continuity(measured, alone),
            None => Continuity::Unclear,
        };
        let (parent, name) = match continuity {
            Continuity::Kept => (
                dangling
                    .checked_sub(1)
                    .map_or(Parent::Unclear, Parent::Node),
                "the size of the request shows that what came before was still sent",
            ),
            Continuity::Dropped => (
                Parent::Lost,
                "the size of the request shows that what came before was not sent",
            ),
            Continuity::Unclear => (
                Parent::Unclear,
                "nothing shows whether what came before was sent",
            ),
        };
        self.chain.nodes[dangling].parent = parent;
        if self.last_walk.is_some() {
            self.pending
                .push(mutation(turn, MutationKind::DanglingParent, Some(name)));
        }
        if parent == Parent::Unclear {
            self.incomplete = Some(
                "it continues from a record that is not in the transcript, and nothing shows what was sent of what came before"
                    .to_owned(),
            );
        }
        matches!(parent, Parent::Node(_))
    }

    /// What the provider removed from the request by itself.
    pub(super) fn edits(&mut self, record: &Record, turn: u32) {
        let management = record
            .message
            .as_ref()
            .and_then(|message| message.context_management.as_ref());
        let edits = management.and_then(|management| management.applied_edits.as_ref());
        for edit in edits.into_iter().flatten() {
            let mut mutated = mutation(turn, MutationKind::ServerEdit, edit.kind.as_deref());
            mutated.trigger = Some(Trigger {
                cause: Some("provider".to_owned()),
                threshold_tokens: None,
                observed_tokens: edit.cleared_input_tokens,
            });
            self.pending.push(mutated);
        }
    }

    /// Compares the context with the last one: a compaction, a rewind, or growth; and its size with the measured one.
    pub(super) fn compare(
        &mut self,
        above: &Above,
        turn: u32,
        measured: Option<u64>,
        estimated: u64,
        leaf: Option<NodeIndex>,
    ) {
        let walk = match above {
            Above::Last(_) => return self.grew(measured, estimated),
            Above::Whole(walk) => walk,
        };
        let Some(last) = self.last_walk else {
            if walk.dangling.is_none() && walk.boundary.is_none() {
                self.sizes.begin(measured, estimated);
            }
            self.compacted(walk, turn);
            return self.tell_size(turn, measured, estimated);
        };
        let is_compacted = walk.boundary != last.boundary && walk.boundary.is_some();
        if is_compacted {
            self.incomplete = self.sizes.after_loss(measured, estimated);
            self.compacted(walk, turn);
            return self.tell_size(turn, measured, estimated);
        }
        let is_rewound = last.leaf.is_some() && last.leaf != leaf && {
            let last = last.leaf.unwrap_or(0);
            walk.boundary != Some(last) && !walk.path.contains(&last)
        };
        if is_rewound {
            let is_told = |mutated: &ContextMutated| mutated.kind == MutationKind::DanglingParent;
            if !self.pending.iter().any(is_told) {
                self.pending
                    .push(mutation(turn, MutationKind::Rewind, None));
            }
            return self.tell_size(turn, measured, estimated);
        }
        self.grew(measured, estimated);
    }

    /// Nothing left the context since the last request.
    fn grew(&mut self, measured: Option<u64>, estimated: u64) {
        if let (Some(before), Some(after)) = (self.sizes.last, measured) {
            let estimated_before = self.last_walk.map_or(0, |last| last.estimated);
            self.growth.0 += after.saturating_sub(before);
            self.growth.1 += estimated.saturating_sub(estimated_before);
        }
    }

    pub(super) fn compacted(&mut self, walk: &Walk, turn: u32) {
        let Some(compaction) = walk
            .boundary
            .and_then(|boundary| self.compactions.remove(&boundary))
        else {
            return;
        };
        let metadata = compaction.metadata;
        let mut mutated = mutation(turn, MutationKind::Compaction, None);
        mutated.trigger = Some(Trigger {
            cause: metadata.trigger,
            threshold_tokens: None,
            observed_tokens: metadata.pre_tokens,
        });
        mutated.summary = compaction.summary.map(|text| SummaryRecord {
            text,
            ..SummaryRecord::default()
        });
        mutated.counted =
            metadata
                .pre_tokens
                .zip(metadata.post_tokens)
                .map(|(uncompacted, compacted)| CountedTokens {
                    uncompacted,
                    compacted,
                    fixed_overhead: None,
                    source: TokenSource::Estimated,
                });
        // First, because it is what took the parts away, whatever else happened before the request.
        self.pending.insert(0, mutated);
    }

    /// Says how the rebuilt size agrees with the measured one, where a context begins or parts left.
    pub(super) fn tell_size(&mut self, turn: u32, measured: Option<u64>, estimated: u64) {
        let Some(measured) = measured else { return };
        let kind = EventType::Custom("custom.transcript.size".to_owned());
        let data = serde_json::json!({
            "turn": turn,
            "measured_tokens": measured,
            "estimated_tokens": estimated,
            "not_in_transcript_tokens": self.sizes.head(),
        });
        self.recording
            .event(&format!("size.{turn}"), &kind, None, &data);
    }
}
