//! What the texts of a session show, kept by content: text work is done once for each distinct one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::PartKind;

use crate::analysis::PartIndex;
use crate::context::ContextTimeline;
use crate::sighting::{Sightings, Watch};

/// So many contents are kept without looking whether a context still holds them.
const KEPT_MIN: usize = 64;

/// What each part shows: what its text does, with the name of its tool where that counts.
#[derive(Debug, Default)]
pub(super) struct Shown {
    known: HashMap<Shape, ByTool>,
    /// How many of them the contexts held when that was last looked for.
    needed: usize,
    /// Bytes that it holds, roughly.
    pub(super) bytes: usize,
}

/// A content as parts of one kind.
type Shape = (ContentHash, PartKind);

/// What one content shows as parts of one kind.
#[derive(Debug, Default)]
struct ByTool {
    alone: Option<Arc<Sightings>>,
    named: HashMap<String, Arc<Sightings>>,
}

impl Shown {
    /// `None` for a part whose text cannot be read.
    pub(super) fn of(
        &mut self,
        timeline: &ContextTimeline,
        watch: &Watch,
        part: PartIndex,
    ) -> Option<Arc<Sightings>> {
        let part = timeline.parts.get(part as usize)?;
        let content = timeline.contents.get(part.content)?;
        let text = content.text.as_deref()?;
        let Self { known, bytes, .. } = self;
        let known = known.entry((content.hash, part.kind)).or_insert_with(|| {
            let new = ByTool::default();
            *bytes += new.bytes();
            new
        });
        let mut sight = |tool: Option<&str>| {
            let shown = watch.sight(text, part.kind, tool);
            *bytes += shown.bytes() + tool.map_or(0, of_name);
            Arc::new(shown)
        };
        let sightings = match part.tool.as_deref().filter(|_| !part.kind.is_carrying()) {
            None => known.alone.get_or_insert_with(|| sight(None)),
            Some(tool) => {
                // Not `entry`: a name that is known costs no copy.
                if !known.named.contains_key(tool) {
                    known.named.insert(tool.to_owned(), sight(Some(tool)));
                }
                known.named.get(tool)?
            }
        };
        Some(Arc::clone(sightings))
    }
}

impl Shown {
    /// Drops what no context holds any more, once that may be more than half of it: looking for it costs a pass over the parts.
    pub(super) fn forget(&mut self, timeline: &ContextTimeline) {
        // No more of it than there are parts is held.
        if self.known.len() <= 2 * self.needed.min(timeline.parts.len()) + KEPT_MIN {
            return;
        }
        let held: HashSet<Shape> = timeline
            .parts
            .iter()
            .filter_map(|part| Some((timeline.contents.get(part.content)?.hash, part.kind)))
            .collect();
        self.known.retain(|shape, _| held.contains(shape));
        self.needed = self.known.len();
        self.bytes = self.known.values().map(ByTool::bytes).sum();
    }
}

impl ByTool {
    fn bytes(&self) -> usize {
        let alone = self.alone.iter().map(|shown| shown.bytes());
        let named = self.named.iter();
        size_of::<(Shape, Self)>()
            + alone.sum::<usize>()
            + named
                .map(|(tool, shown)| of_name(tool) + shown.bytes())
                .sum::<usize>()
    }
}

/// Bytes of an entry by the name of a tool.
fn of_name(tool: &str) -> usize {
    size_of::<(String, Arc<Sightings>)>() + tool.len()
}
