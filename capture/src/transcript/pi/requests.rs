//! Requests: the entries above each, and what changed other than by growing.

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, MutationKind, RequestedCall, ReturnStatus,
    TokenCount, TokenSource,
};

use super::super::assembly::Piece;
use super::super::{Answer, Call, Line, Returned};
use super::entry::{Entry, Message};
use super::{Reading, plain_mutation};

/// The way up from a request.
pub(super) struct Above {
    /// The entries on it, from the first to the last.
    path: Vec<usize>,
    /// Whether it leads to the last request's context, which is whole above it.
    is_last: bool,
    /// The place of the last compaction on it.
    compaction: Option<usize>,
}

impl Reading {
    /// The entries above a leaf: down from the last request's context where the way leads there with no compaction between,
    /// else from the first entry that the last compaction keeps, or from the root.
    pub(super) fn above(&self, leaf: Option<usize>) -> Above {
        let mut path = Vec::new();
        let mut at = leaf;
        let mut compaction = None;
        let mut is_last = false;
        let last = self.sent;
        #[cfg(test)]
        let last = super::super::work::known(last);
        // Parents stand before their children, so this ends, and what stands before an entry is not on the way to it.
        let mut first = 0;
        while let Some(node) = at.filter(|&node| node >= first) {
            #[cfg(test)]
            super::super::work::looked_at(1);
            if compaction.is_none() && last == Some(node) {
                is_last = true;
                break;
            }
            path.push(node);
            let kept = self.nodes[node].first_kept;
            if let (None, Some(kept)) = (compaction, kept) {
                compaction = Some(path.len());
                first = kept.unwrap_or(node);
            }
            at = self.nodes[node].parent.filter(|&parent| parent < node);
        }
        path.reverse();
        Above {
            compaction: compaction.map(|from_below| path.len() - from_below),
            path,
            is_last,
        }
    }

    /// The summary, what the compaction kept, and what followed.
    fn context_of(&self, path: &[usize], compaction: Option<usize>) -> Vec<Piece> {
        let Some(place) = compaction else {
            return self.pieces(path).collect();
        };
        let node = &self.nodes[path[place]];
        let from = self.first_sent(path, place).unwrap_or(place);
        let kept = path[from..place].iter();
        node.piece
            .into_iter()
            // An earlier summary is covered by the newer one.
            .chain(
                kept.filter(|&&node| self.nodes[node].first_kept.is_none())
                    .filter_map(|&node| self.nodes[node].piece),
            )
            .chain(self.pieces(&path[place + 1..]))
            .collect()
    }

    /// The place of the first entry that a compaction keeps, where it is above it.
    fn first_sent(&self, path: &[usize], compaction: usize) -> Option<usize> {
        let kept = self.nodes[path[compaction]].first_kept.flatten()?;
        path[..compaction].iter().position(|&node| node == kept)
    }

    /// Why parts of a context may be missing.
    fn doubt(&self, above: &Above) -> Option<&'static str> {
        let path = &above.path;
        if above.is_last && self.last_doubt.is_some() {
            return self.last_doubt;
        }
        let from = match above.compaction {
            None => 0,
            Some(place) => match self.first_sent(path, place) {
                // What the first one that is kept follows on is not sent.
                Some(first) => first + 1,
                None => return Some("the compaction kept entries that are not in the transcript"),
            },
        };
        path[from..].iter().find_map(|&node| self.nodes[node].doubt)
    }

    fn pieces<'a>(&'a self, path: &'a [usize]) -> impl Iterator<Item = Piece> + 'a {
        path.iter().filter_map(|&node| self.nodes[node].piece)
    }

    /// The request whose answer an assistant's message is.
    pub(super) fn request(
        &mut self,
        message: &Message,
        entry: &Entry,
        line: &Line,
        leaf: Option<usize>,
        doubt: Option<&'static str>,
    ) {
        let turn = self.recording.next_turn();
        let name = entry.name(line.number);
        let time = entry.timestamp.as_deref();
        let above = self.above(leaf);
        self.mutations(turn, &above, &name, time);
        let pieces = self.context_of(&above.path, above.compaction);
        self.last_doubt = self.doubt(&above);
        let captured = ContextCaptured {
            turn,
            incomplete: doubt.or(self.last_doubt).map(str::to_owned),
            tokens: message.input_tokens().map(|count| TokenCount {
                count,
                source: TokenSource::Measured,
            }),
            ..ContextCaptured::default()
        };
        let name = format!("context.{name}");
        if above.is_last {
            self.assembly
                .grow(&mut self.recording, &name, time, captured, &pieces);
        } else {
            self.assembly
                .capture(&mut self.recording, &name, time, captured, pieces);
            self.last_compaction = above.compaction.map(|place| above.path[place]);
        }
        self.sent = leaf;
        self.last_leaf = Some(self.nodes.len());
    }

    /// What changed since the last request other than by growing.
    fn mutations(&mut self, turn: u32, above: &Above, name: &str, time: Option<&str>) {
        let compaction = above.compaction.map(|place| above.path[place]);
        let mutated = match compaction {
            Some(node) if Some(node) != self.last_compaction => self.compactions.remove(&node),
            _ => None,
        };
        // The last answer follows on the last context: where the way does not lead through it, the session went back. An entry
        // above the first one that a compaction keeps was answered before that compaction, and so is not the last.
        let is_on_path = |leaf| above.path.contains(&leaf);
        if let Some(mutated) = mutated {
            let mutated = ContextMutated { turn, ..mutated };
            let id = format!("mutation.{name}");
            self.recording
                .event(&id, &EventType::ContextMutated, time, &mutated);
        } else if self.last_leaf.is_some_and(|leaf| !is_on_path(leaf)) {
            let mutated = plain_mutation(turn, MutationKind::Rewind, "branch");
            let id = format!("mutation.{name}");
            self.recording
                .event(&id, &EventType::ContextMutated, time, &mutated);
        }
    }

    /// The answer and its calls.
    pub(super) fn answered(&mut self, message: &Message, entry: &Entry, line: &Line) {
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

    pub(super) fn result(&mut self, message: &Message, entry: &Entry) {
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
