//! What a compaction keeps as it is.

use super::super::chain::NodeIndex;
use super::super::record::{PreservedSegment, Record};
use super::Session;

/// Records that a compaction keeps.
#[derive(Debug, Default)]
pub(super) struct Preserved {
    pub(super) nodes: Vec<NodeIndex>,
    /// The record behind which they are sent.
    pub(super) anchor: Option<String>,
    /// Whether the file has all that are named.
    pub(super) is_whole: bool,
}

impl Session<'_> {
    /// The records that a compaction keeps: by a list, or as all from a first to a last one.
    pub(super) fn preserved(&self, at: usize, record: &Record) -> Preserved {
        let nothing = Preserved {
            is_whole: true,
            ..Preserved::default()
        };
        let Some(metadata) = &record.compact_metadata else {
            return nothing;
        };
        let node = |uuid: &String| {
            let &(of, node) = self.by_uuid.get(uuid)?;
            (of == at).then_some(node)
        };
        let messages = metadata.preserved_messages.as_ref();
        let segment = metadata.preserved_segment.as_ref();
        let anchor = messages
            .and_then(|messages| messages.anchor_uuid.clone())
            .or_else(|| segment.and_then(|segment| segment.anchor_uuid.clone()));
        let uuids = messages.map_or(&[][..], |messages| &messages.uuids);
        let listed: Vec<NodeIndex> = uuids.iter().filter_map(node).collect();
        if !listed.is_empty() && listed.len() == uuids.len() {
            return Preserved {
                nodes: listed,
                anchor,
                is_whole: true,
            };
        }
        let ends = match segment {
            Some(PreservedSegment {
                head_uuid: Some(head),
                tail_uuid: Some(tail),
                ..
            }) => Some(node(head).zip(node(tail))),
            _ => None,
        };
        let in_segment = ends.flatten();
        let in_segment = in_segment.and_then(|(head, tail)| self.segment(at, head, tail));
        match in_segment {
            Some(nodes) => Preserved {
                nodes,
                anchor,
                is_whole: true,
            },
            None => Preserved {
                nodes: listed,
                anchor,
                is_whole: uuids.is_empty() && ends.is_none(),
            },
        }
    }

    fn segment(&self, at: usize, head: NodeIndex, tail: NodeIndex) -> Option<Vec<NodeIndex>> {
        let walk = self.conversations[at].chain.walk(Some(tail));
        let from = walk.path.iter().position(|&node| node == head)?;
        Some(walk.path[from..].to_vec())
    }
}
