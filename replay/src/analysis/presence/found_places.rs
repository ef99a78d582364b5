//! The places that a state rests on, shared by the turns at which they are the same.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Alteration, Evidence, PresenceState};
use crate::analysis::PartIndex;

/// The places of one constraint in one context. Most turns only append to a context: its places then are those of the turn
/// before, a little further from the end. So they are held once, and beside them how long the context is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundPlaces {
    list: Arc<[Arc<Evidence>]>,
    tokens: u64,
}

impl FoundPlaces {
    /// Places in a context of so many estimated tokens.
    pub fn new(tokens: u64, places: impl IntoIterator<Item = Evidence>) -> Self {
        Self {
            list: places.into_iter().map(Arc::new).collect(),
            tokens,
        }
    }

    /// Estimated tokens between the match of one of the places and the end of the context.
    pub fn tokens_from_end(&self, place: &Evidence) -> u64 {
        self.tokens
            .saturating_sub(place.tokens_to_part_end)
            .saturating_add(place.tokens_behind)
    }

    /// The list as it may be held by several turns.
    pub(crate) fn shared(&self) -> &Arc<[Arc<Evidence>]> {
        &self.list
    }

    /// Takes the places over from those of another turn, as far as they are the same.
    pub(crate) fn share(&mut self, known: &Self) {
        if self.list == known.list {
            self.list = Arc::clone(&known.list);
            return;
        }
        let shared = |place: &Arc<Evidence>| {
            let same = known.list.iter().find(|known| *known == place);
            Arc::clone(same.unwrap_or(place))
        };
        self.list = self.list.iter().map(shared).collect();
    }

    /// The same places at other positions.
    pub(crate) fn moved(&self, position: impl Fn(u32) -> u32) -> Self {
        let places = self.list.iter().map(|place| Evidence {
            position: position(place.position),
            ..Evidence::clone(place)
        });
        Self::new(self.tokens, places)
    }
}

impl Deref for FoundPlaces {
    type Target = [Arc<Evidence>];

    fn deref(&self) -> &Self::Target {
        &self.list
    }
}

impl<'a> IntoIterator for &'a FoundPlaces {
    type Item = &'a Arc<Evidence>;
    type IntoIter = std::slice::Iter<'a, Arc<Evidence>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl Serialize for FoundPlaces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|place| Placed {
            state: place.state,
            position: place.position,
            part: place.part,
            range: place.range,
            tokens_from_end: self.tokens_from_end(place),
            note: place.note.as_deref(),
            alteration: place.alteration.as_deref(),
        }))
    }
}

/// A place as it is written.
#[derive(Serialize)]
struct Placed<'a> {
    state: PresenceState,
    position: u32,
    part: PartIndex,
    range: Option<(usize, usize)>,
    tokens_from_end: u64,
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alteration: Option<&'a Alteration>,
}
