//! How the context of a request goes on from the last one's.
//!
//! Most requests stand below the last one, and nothing above it changed: then the way up ends there, and what a request costs
//! grows with what is new and not with the whole conversation.

use super::{Chain, Held, MessageIndex, NodeIndex, Parent, Walk};
use crate::transcript::assembly::Piece;

/// The context of the last request.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The record that it ends with; none where the next context has to be put together from its beginning.
    leaf: Option<NodeIndex>,
    boundary: Option<NodeIndex>,
    held: Held,
}

impl Sent {
    /// Something in the context, or before it, is not what it was.
    pub(super) fn changed(&mut self) {
        *self = Self::default();
    }

    /// A message got another line or result.
    pub(super) fn message_grew(&mut self, message: MessageIndex) {
        if self.held.messages.contains(&message) {
            self.changed();
        }
    }
}

/// The way up from a request.
#[derive(Debug)]
pub(in super::super) enum Above {
    /// It leads to the last request's context, which is whole above it; these are the records under that.
    Last(Vec<NodeIndex>),
    /// The whole way.
    Whole(Walk),
}

/// What a request was sent with.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Pieces {
    /// The last context and these behind it.
    Added(Vec<Piece>),
    /// These.
    Whole(Vec<Piece>),
}

impl Chain {
    /// The way up from a request's leaf.
    pub(in super::super) fn above(&self, leaf: Option<NodeIndex>) -> Above {
        let last = self.sent.leaf;
        #[cfg(test)]
        let last = crate::transcript::work::known(last);
        let (walk, is_last) = self.walk_to(leaf, last);
        if is_last {
            Above::Last(walk.path)
        } else {
            Above::Whole(walk)
        }
    }

    /// The compaction that the context on a way begins with.
    pub(in super::super) fn boundary_of(&self, above: &Above) -> Option<NodeIndex> {
        match above {
            Above::Last(_) => self.sent.boundary,
            Above::Whole(walk) => walk.boundary,
        }
    }

    /// What a request with this way up is sent with. It becomes the last one.
    pub(in super::super) fn send(&mut self, above: &Above, leaf: Option<NodeIndex>) -> Pieces {
        let mut sent = std::mem::take(&mut self.sent);
        let pieces = match above {
            Above::Last(path) => {
                let mut added = Vec::new();
                for &node in path {
                    self.add(node, &mut sent.held, &mut added);
                }
                self.put_stubs(&mut added);
                Pieces::Added(added)
            }
            Above::Whole(walk) => {
                let (pieces, held) = self.gathered(walk);
                sent.held = held;
                sent.boundary = walk.boundary;
                Pieces::Whole(pieces)
            }
        };
        let can_go_on = match above {
            Above::Last(_) => true,
            Above::Whole(walk) => self.is_settled(walk),
        };
        sent.leaf = leaf.filter(|_| can_go_on);
        self.sent = sent;
        pieces
    }

    /// Whether what stands on a way and above it stays as it is when a request goes on from there. What is preserved stands
    /// behind the first record, so there has to be one; and what it continues from, where that is not in the file, may only be
    /// decided with the next request.
    fn is_settled(&self, walk: &Walk) -> bool {
        let is_open = |index: NodeIndex| self.nodes[index].parent == Parent::Missing;
        !walk.path.is_empty() && !walk.dangling.is_some_and(is_open)
    }
}
