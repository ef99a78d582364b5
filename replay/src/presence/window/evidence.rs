//! Where a constraint stands in the context at hand, by part and place.

use super::{ALTERED_MAX, Window};
use crate::analysis::{Evidence, PresenceState};
use crate::sighting::Place;

impl Window<'_> {
    /// The places that give a constraint's states, the strongest first. Statements are named from the front of the context,
    /// mentions from its end.
    pub(in crate::presence) fn evidence(&self, constraint: usize, most: usize) -> Vec<Evidence> {
        use PresenceState::{Altered, Matched, Mention, Partial, Verbatim};
        let places = &self.places[constraint];
        let sighted = |state| move |at: &usize| self.sighted(constraint, *at, state);
        let verbatim = places.verbatim.iter().filter_map(sighted(Verbatim));
        let matched = places.matched.iter().filter_map(sighted(Matched));
        let mut evidence: Vec<Evidence> = verbatim.chain(matched).take(most).collect();
        self.add_terms(constraint, &mut evidence, most);
        // What says otherwise is named even where many places say it.
        evidence.truncate(most - usize::from(!places.altered.is_empty()));
        let altered = places
            .altered
            .iter()
            .rev()
            .filter_map(sighted(Altered))
            .take(ALTERED_MAX);
        let partial = places.partial.iter().filter_map(sighted(Partial));
        let mention = places.mention.iter().rev().filter_map(sighted(Mention));
        let left = most.saturating_sub(evidence.len());
        evidence.extend(altered.chain(partial).chain(mention).take(left));
        evidence.sort_by_key(|evidence| evidence.state);
        evidence
    }

    /// The places of a declared matcher's terms, if it holds at all.
    fn add_terms(&self, constraint: usize, evidence: &mut Vec<Evidence>, most: usize) {
        let Some(search) = &self.watched(constraint).search else {
            return;
        };
        let any_part = search.any_part();
        let holds = |any_part| search.holds(|term| self.stands(constraint, term, any_part));
        let state = if holds(any_part) {
            PresenceState::Matched
        } else if holds(true) {
            PresenceState::Mention
        } else {
            return;
        };
        let wide = any_part || state == PresenceState::Mention;
        for (term, places) in self.terms[constraint].iter().enumerate() {
            let position = places
                .carrying
                .first()
                .or_else(|| places.other.last().filter(|_| wide));
            let Some(&position) = position.filter(|_| evidence.len() < most) else {
                continue;
            };
            let Some(shown) = self.shown.get(position).and_then(Option::as_ref) else {
                continue;
            };
            let found = shown
                .terms
                .iter()
                .find(|found| found.constraint == constraint && found.term == term);
            if let Some(found) = found {
                evidence.extend(self.named(
                    position,
                    state,
                    &found.place,
                    search.label(term).to_owned(),
                ));
            }
        }
    }

    fn sighted(
        &self,
        constraint: usize,
        position: usize,
        state: PresenceState,
    ) -> Option<Evidence> {
        let shown = self.shown.get(position)?.as_ref()?;
        let at = shown
            .found
            .binary_search_by_key(&(constraint, state), |found| {
                (found.constraint, found.state)
            })
            .ok()?;
        let found = &shown.found[at];
        let mut named = self.named(position, found.state, &found.place, found.note.to_owned())?;
        named.alteration.clone_from(&found.alteration);
        Some(named)
    }

    fn named(
        &self,
        position: usize,
        state: PresenceState,
        place: &Place,
        note: String,
    ) -> Option<Evidence> {
        Some(Evidence {
            state,
            position: u32::try_from(position).ok()?,
            part: *self.parts.get(position)?,
            range: place.range,
            tokens_to_part_end: *self.sums.get(position)?,
            tokens_behind: place.remainder,
            note: Some(note),
            alteration: None,
        })
    }
}
