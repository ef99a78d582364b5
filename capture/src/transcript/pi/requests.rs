//! Requests: the entries above each, and what changed other than by growing.

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, MutationKind, RequestedCall, ReturnStatus,
    TokenCount, TokenSource,
};

use super::super::assembly::Piece;
use super::super::{Answer, Call, Line, Returned};
use super::entry::{Entry, Message};
use super::{Reading, plain_mutation};

impl Reading {
    /// The nodes from the root to a leaf, and the place of the last compaction among them.
    pub(super) fn path(&self, leaf: Option<usize>) -> (Vec<usize>, Option<usize>) {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(node) = at {
            path.push(node);
            // Parents stand before their children, so this ends.
            at = self.nodes[node].parent.filter(|&parent| parent < node);
        }
        path.reverse();
        let compaction = path
            .iter()
            .rposition(|&node| self.nodes[node].first_kept.is_some());
        (path, compaction)
    }

    /// The summary, what the compaction kept, and what followed.
    pub(super) fn context_of(&self, path: &[usize], compaction: Option<usize>) -> Vec<Piece> {
        let Some(place) = compaction else {
            return self.pieces(path).collect();
        };
        let node = &self.nodes[path[place]];
        let from = self.first_sent(path, place).unwrap_or(place);
        node.piece
            .into_iter()
            .chain(self.pieces(&path[from..place]).filter({
                // An earlier summary is covered by the newer one.
                let summaries: Vec<Piece> = path[from..place]
                    .iter()
                    .filter(|&&node| self.nodes[node].first_kept.is_some())
                    .filter_map(|&node| self.nodes[node].piece)
                    .collect();
                move |piece| !summaries.contains(piece)
            }))
            .chain(self.pieces(&path[place + 1..]))
            .collect()
    }

    /// The place of the first entry that a compaction keeps, where it is above it.
    fn first_sent(&self, path: &[usize], compaction: usize) -> Option<usize> {
        let kept = self.nodes[path[compaction]].first_kept.flatten()?;
        path[..compaction].iter().position(|&node| node == kept)
    }

    /// Why parts of a context may be missing.
    fn doubt(&self, path: &[usize], compaction: Option<usize>) -> Option<&'static str> {
        let from = match compaction {
            None => 0,
            Some(place) => match self.first_sent(path, place) {
                // What the first one that is kept follows on is not sent.
                Some(first) => first + 1,
                None => return Some("the compaction kept entries that are not in the transcript"),
            },
        };
        path[from..].iter().find_map(|&node| self.nodes[node].doubt)
    }

    pub(super) fn pieces<'a>(&'a self, path: &'a [usize]) -> impl Iterator<Item = Piece> + 'a {
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
        let (path, compaction) = self.path(leaf);
        self.mutations(turn, &path, compaction, &name, time);
        let pieces = self.context_of(&path, compaction);
        let doubt = doubt.or_else(|| self.doubt(&path, compaction));
        let captured = ContextCaptured {
            turn,
            incomplete: doubt.map(str::to_owned),
            tokens: message.input_tokens().map(|count| TokenCount {
                count,
                source: TokenSource::Measured,
            }),
            ..ContextCaptured::default()
        };
        self.assembly.capture(
            &mut self.recording,
            &format!("context.{name}"),
            time,
            captured,
            pieces,
        );
        self.last_leaf = Some(self.nodes.len());
        self.last_compaction = compaction.map(|place| path[place]);
    }

    /// What changed since the last request other than by growing.
    pub(super) fn mutations(
        &mut self,
        turn: u32,
        path: &[usize],
        compaction: Option<usize>,
        name: &str,
        time: Option<&str>,
    ) {
        let compaction = compaction.map(|place| path[place]);
        let mutated = match compaction {
            Some(node) if Some(node) != self.last_compaction => self.compactions.remove(&node),
            _ => None,
        };
        if let Some(mutated) = mutated {
            let mutated = ContextMutated { turn, ..mutated };
            let id = format!("mutation.{name}");
            self.recording
                .event(&id, &EventType::ContextMutated, time, &mutated);
        } else if self.last_leaf.is_some_and(|leaf| !path.contains(&leaf)) {
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
