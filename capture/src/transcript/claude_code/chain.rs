//! The records of one conversation, linked by their parents, and the context that stands above each of them.

use std::collections::{HashMap, HashSet};

use super::super::assembly::Piece;

mod growth;

use growth::Sent;
pub(super) use growth::{Above, Pieces};

/// A record, by its place among those of its conversation.
pub(super) type NodeIndex = usize;
/// A message of the model, by its place among those of its conversation.
pub(super) type MessageIndex = usize;

/// What a record continues from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    /// Nothing: it begins a conversation.
    Root,
    /// Another record.
    Node(NodeIndex),
    /// A record that is not in the file.
    Missing,
    /// A record that is not in the file, and the size of the next request shows that all before it was dropped.
    Lost,
    /// A record that is not in the file, and nothing shows what was sent of what came before it.
    Unclear,
}

/// A record.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Parent,
    pub(super) pieces: Vec<Piece>,
    /// The message of the model that it is a line of.
    pub(super) message: Option<MessageIndex>,
    /// The message of the model whose calls' results it has.
    pub(super) results_of: Option<MessageIndex>,
    /// A compaction: nothing above it is sent any more, except for these.
    pub(super) boundary: Option<Vec<NodeIndex>>,
}

/// A message of the model, gathered from its lines.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) nodes: Vec<NodeIndex>,
    pub(super) results: Vec<NodeIndex>,
}

/// The records of one conversation.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) nodes: Vec<Node>,
    pub(super) messages: Vec<Gathered>,
    by_message_id: HashMap<String, MessageIndex>,
    /// Results that were emptied, and what stands in their place.
    stubs: HashMap<Piece, Piece>,
    /// What is sent before everything else with every request: system prompt, tools and instructions, by what each is.
    head: Vec<(String, Vec<Piece>)>,
    /// The context of the last request, where the next one may go on from it.
    sent: Sent,
}

/// The records above a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// From the first to the last.
    pub(super) path: Vec<NodeIndex>,
    /// The compaction that it begins with.
    pub(super) boundary: Option<NodeIndex>,
    /// The first record, where it continues from one that is not in the file.
    pub(super) dangling: Option<NodeIndex>,
}

impl Chain {
    /// The message with an id, and whether it is new.
    pub(super) fn message(&mut self, id: &str) -> (MessageIndex, bool) {
        if let Some(&known) = self.by_message_id.get(id) {
            return (known, false);
        }
        let at = self.messages.len();
        self.messages.push(Gathered::default());
        self.by_message_id.insert(id.to_owned(), at);
        (at, true)
    }

    /// Adds a record.
    pub(super) fn push(&mut self, node: Node) -> NodeIndex {
        let at = self.nodes.len();
        if let Some(message) = node.message {
            self.messages[message].nodes.push(at);
            self.sent.message_grew(message);
        }
        if let Some(message) = node.results_of {
            self.messages[message].results.push(at);
            self.sent.message_grew(message);
        }
        self.nodes.push(node);
        at
    }

    /// Adds a record once more, under another parent.
    pub(super) fn copy(&mut self, earlier: NodeIndex, parent: Parent) -> NodeIndex {
        let pieces = self.nodes[earlier].pieces.clone();
        self.push(Node {
            parent,
            pieces,
            message: None,
            results_of: None,
            boundary: None,
        })
    }

    /// Something that is sent before everything else from now on; it replaces an earlier one of the same name.
    pub(super) fn put_at_head(&mut self, name: &str, pieces: Vec<Piece>) {
        self.sent.changed();
        match self.head.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = pieces,
            None => self.head.push((name.to_owned(), pieces)),
        }
    }

    /// A result that was emptied.
    pub(super) fn stub(&mut self, result: Piece, in_its_place: Piece) {
        self.sent.changed();
        self.stubs.insert(result, in_its_place);
    }

    /// The records above and with a leaf.
    pub(super) fn walk(&self, leaf: Option<NodeIndex>) -> Walk {
        self.walk_to(leaf, None).0
    }

    /// The records above a leaf, at most up to one of them, which is left out; and whether that one was reached.
    fn walk_to(&self, leaf: Option<NodeIndex>, last: Option<NodeIndex>) -> (Walk, bool) {
        let mut walk = Walk::default();
        let mut at = leaf;
        let mut is_reached = false;
        while let Some(index) = at {
            #[cfg(test)]
            super::super::work::looked_at(1);
            if Some(index) == last {
                is_reached = true;
                break;
            }
            let node = &self.nodes[index];
            if node.boundary.is_some() {
                walk.boundary = Some(index);
                break;
            }
            walk.path.push(index);
            at = match node.parent {
                // A parent stands before its child, so this ends.
                Parent::Node(parent) if parent < index => Some(parent),
                Parent::Missing | Parent::Unclear => {
                    walk.dangling = Some(index);
                    None
                }
                _ => None,
            };
        }
        walk.path.reverse();
        (walk, is_reached)
    }

    /// The pieces of a context, in the order in which they are sent: the lines of a message of the model together, then the
    /// results of its calls.
    pub(super) fn pieces(&self, walk: &Walk) -> Vec<Piece> {
        self.gathered(walk).0
    }

    /// The same, with the messages and the pieces that stand in it.
    fn gathered(&self, walk: &Walk) -> (Vec<Piece>, Held) {
        let head = self.head.iter().flat_map(|(_, pieces)| pieces);
        let mut pieces: Vec<Piece> = head.copied().collect();
        let mut held = Held {
            messages: HashSet::new(),
            pieces: pieces.iter().copied().collect(),
        };
        let preserved = walk
            .boundary
            .and_then(|boundary| self.nodes[boundary].boundary.as_deref())
            .unwrap_or(&[]);
        let (first, rest) = walk.path.split_at(walk.path.len().min(1));
        // What was preserved stands behind the summary; where it was written anew behind the boundary, the path has it.
        for &node in first.iter().chain(preserved).chain(rest) {
            self.add(node, &mut held, &mut pieces);
        }
        self.put_stubs(&mut pieces);
        (pieces, held)
    }

    fn put_stubs(&self, pieces: &mut [Piece]) {
        for piece in pieces {
            if let Some(&stub) = self.stubs.get(piece) {
                *piece = stub;
            }
        }
    }

    fn add(&self, index: NodeIndex, held: &mut Held, pieces: &mut Vec<Piece>) {
        let node = &self.nodes[index];
        let gathered = match node.message {
            Some(message) if held.messages.insert(message) => {
                let gathered = &self.messages[message];
                gathered.nodes.iter().chain(&gathered.results)
            }
            Some(_) => return,
            None => std::slice::from_ref(&index).iter().chain(&[]),
        };
        for &part in gathered {
            let new = self.nodes[part].pieces.iter();
            pieces.extend(new.filter(|&&piece| held.pieces.insert(piece)));
        }
    }
}

/// What stands in a context.
#[derive(Debug, Default)]
struct Held {
    messages: HashSet<MessageIndex>,
    pieces: HashSet<Piece>,
}

#[cfg(test)]
mod tests;
