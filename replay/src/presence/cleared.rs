//! Turns whose provider cleared parts of the request: the model read less than what was sent.
//!
//! Two contexts bracket what it read: the one with every part that may have stayed, and the one with only those that surely did.
//! Where both give a constraint the same standing, that is its state. Where they do not, the state is `unknown`: what the model
//! read could not be rebuilt. It is not `opaque`, because no part that is there is unreadable.

use super::window::Window;
use super::*;

/// Why a state that rests on parts that may have been cleared is not known.
const MAY_BE_CLEARED: &str = "the provider cleared parts of this request before the model read it and does not tell which; its words \
                              stand only in parts that may be among them";

/// The positions that providers cleared, by turn.
pub(super) struct Cleared {
    by_turn: HashMap<u32, OfTurn>,
}

/// The positions of one turn, in order.
#[derive(Default)]
pub(super) struct OfTurn {
    pub(super) cleared: Vec<u32>,
    possible: Vec<u32>,
}

impl Cleared {
    pub(super) fn of(mutations: &[Mutation]) -> Self {
        let mut by_turn: HashMap<u32, OfTurn> = HashMap::new();
        for mutation in mutations {
            if let Some(clearing) = &mutation.clearing {
                let of_turn = by_turn.entry(mutation.turn).or_default();
                of_turn.cleared.extend(&clearing.cleared);
                of_turn.possible.extend(&clearing.possible);
            }
        }
        for of_turn in by_turn.values_mut() {
            for positions in [&mut of_turn.cleared, &mut of_turn.possible] {
                positions.sort_unstable();
                positions.dedup();
            }
        }
        Self { by_turn }
    }

    pub(super) fn at(&self, turn: u32) -> Option<&OfTurn> {
        self.by_turn.get(&turn)
    }
}

impl OfTurn {
    /// Positions that may have reached the model.
    fn most(&self, parts: usize) -> Vec<u32> {
        let is_left = |position: &u32| self.cleared.binary_search(position).is_err();
        (0u32..).take(parts).filter(is_left).collect()
    }
}

/// The two contexts that bracket what the model read. Kept from turn to turn: providers clear the same parts again.
pub(super) struct Bracket<'a> {
    most: Window<'a>,
    least: Window<'a>,
}

impl<'a> Bracket<'a> {
    pub(super) fn new(timeline: &'a ContextTimeline, watch: &'a Watch) -> Self {
        Self {
            most: Window::new(timeline, watch),
            least: Window::new(timeline, watch),
        }
    }

    /// How each constraint stands at a turn, without what came before, and the parts that may have reached the model.
    pub(super) fn judge(
        &mut self,
        turn: &Turn,
        cleared: &OfTurn,
        constraints: usize,
        mut shown: impl FnMut(PartIndex) -> Option<Arc<Sightings>>,
    ) -> (Vec<Presence>, &Window<'a>) {
        let open = turn.unknown.as_deref().or(turn.incomplete.as_deref());
        let parts_at = |positions: &[u32]| -> PartList {
            let parts = positions.iter();
            parts
                .filter_map(|&position| turn.parts.get(position as usize))
                .collect()
        };
        let most = cleared.most(turn.parts.len());
        self.most.advance(&parts_at(&most), &mut shown);
        let mut row: Vec<Presence> = (0..constraints)
            .map(|constraint| judge(&self.most, open, constraint))
            .collect();
        // Evidence names positions in the context as it was sent.
        let sent_at = |position: u32| most.get(position as usize).copied().unwrap_or(position);
        for presence in &mut row {
            presence.evidence = presence.evidence.moved(sent_at);
        }
        if cleared.possible.is_empty() {
            return (row, &self.most);
        }
        let stayed: Vec<u32> = most
            .into_iter()
            .filter(|position| cleared.possible.binary_search(position).is_err())
            .collect();
        self.least.advance(&parts_at(&stayed), &mut shown);
        for (constraint, presence) in row.iter_mut().enumerate() {
            let (least, _) = judged(&self.least, open, constraint);
            let is_settled =
                presence.state == Some(least) || presence.is_present() && least.is_present();
            if !is_settled {
                presence.state = Some(PresenceState::Unknown);
                presence.at_risk = None;
                presence.reason = Some(MAY_BE_CLEARED.into());
            }
        }
        (row, &self.most)
    }
}
