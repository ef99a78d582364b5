//! The context at hand while the turns are walked through: each turn takes away and adds parts at the end.

use remembrancer_schema::payload::PartKind;

use super::*;
use crate::analysis::ContextPart;
use crate::matcher::Search;
use crate::restatement::COMPARED_MAX;
use crate::sighting::Watched;

/// Kinds of carrying parts by how safely they stand: re-supplied, summarised, said in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Footing {
    Supplied,
    Summarised,
    Said,
}

/// How many positions have each footing.
type Standing = [usize; 3];

/// The parts of one context with what they show, as stacks by position.
pub(super) struct Window<'a> {
    timeline: &'a ContextTimeline,
    watch: &'a Watch,
    parts: Vec<PartIndex>,
    /// The same parts as the list that they were taken from.
    list: PartList,
    shown: Vec<Option<Arc<Sightings>>>,
    /// Estimated tokens up to and with each part.
    sums: Vec<u64>,
    /// Positions of parts that cannot be read.
    unreadable: Vec<usize>,
    /// Those of them that could carry a statement.
    unread_carriers: Vec<usize>,
    /// By constraint: positions that give each state.
    places: Vec<Places>,
    /// By constraint: positions of parts that were not looked at as a whole, with how many clauses were left.
    limited: Vec<Vec<(usize, usize)>>,
    /// How many parts the context at hand shares with the one before, from its start.
    shared: usize,
    /// By constraint and term of its matcher: positions in carrying parts, and in others.
    terms: Vec<Vec<TermPlaces>>,
}

#[derive(Debug, Clone, Default)]
struct Places {
    verbatim: Vec<usize>,
    matched: Vec<usize>,
    altered: Vec<usize>,
    partial: Vec<usize>,
    mention: Vec<usize>,
    /// Of the positions that make it present.
    standing: Standing,
}

#[derive(Debug, Clone, Default)]
struct TermPlaces {
    carrying: Vec<usize>,
    other: Vec<usize>,
    /// Of those in carrying parts.
    standing: Standing,
}

impl Places {
    fn push(&mut self, state: PresenceState, position: usize, footing: Footing) {
        self.of(state).push(position);
        self.standing[footing as usize] += usize::from(state.is_present());
    }

    fn pop(&mut self, state: PresenceState, footing: Footing) {
        self.of(state).pop();
        self.standing[footing as usize] -= usize::from(state.is_present());
    }

    fn of(&mut self, state: PresenceState) -> &mut Vec<usize> {
        match state {
            PresenceState::Verbatim => &mut self.verbatim,
            PresenceState::Matched => &mut self.matched,
            PresenceState::Altered => &mut self.altered,
            PresenceState::Partial => &mut self.partial,
            _ => &mut self.mention,
        }
    }
}

impl TermPlaces {
    fn push(&mut self, position: usize, carrying: bool, footing: Footing) {
        if carrying {
            self.carrying.push(position);
            self.standing[footing as usize] += 1;
        } else {
            self.other.push(position);
        }
    }

    fn pop(&mut self, carrying: bool, footing: Footing) {
        if carrying {
            self.carrying.pop();
            self.standing[footing as usize] -= 1;
        } else {
            self.other.pop();
        }
    }
}

impl<'a> Window<'a> {
    pub(super) fn new(timeline: &'a ContextTimeline, watch: &'a Watch) -> Self {
        let terms = |watched: &Watched| {
            vec![TermPlaces::default(); watched.search.as_ref().map_or(0, Search::len)]
        };
        Self {
            timeline,
            watch,
            parts: Vec::new(),
            list: PartList::default(),
            shown: Vec::new(),
            sums: Vec::new(),
            unreadable: Vec::new(),
            unread_carriers: Vec::new(),
            places: vec![Places::default(); watch.constraints().len()],
            limited: vec![Vec::new(); watch.constraints().len()],
            shared: 0,
            terms: watch.constraints().iter().map(terms).collect(),
        }
    }

    /// Makes the context that of `parts`. Only what differs from the one before is touched.
    pub(super) fn advance(
        &mut self,
        parts: &PartList,
        mut show: impl FnMut(PartIndex) -> Option<Arc<Sightings>>,
    ) {
        let same = self.list.common_start(parts);
        self.shared = same;
        while self.parts.len() > same {
            self.pop();
        }
        for part in parts.iter_from(same) {
            self.push(part, show(part));
        }
        self.list.clone_from(parts);
    }

    /// Estimated tokens of the context at hand.
    pub(super) fn tokens(&self) -> u64 {
        self.sums.last().copied().unwrap_or(0)
    }

    pub(super) fn watched(&self, constraint: usize) -> &'a Watched {
        &self.watch.constraints()[constraint]
    }

    /// The strongest state that a readable part gives.
    pub(super) fn strongest(&self, constraint: usize) -> Option<PresenceState> {
        let places = &self.places[constraint];
        if !places.verbatim.is_empty() {
            return Some(PresenceState::Verbatim);
        }
        let search = self.watched(constraint).search.as_ref();
        let holds = |any_part: bool| {
            search
                .is_some_and(|search| search.holds(|term| self.stands(constraint, term, any_part)))
        };
        if !places.matched.is_empty() || holds(search.is_some_and(Search::any_part)) {
            return Some(PresenceState::Matched);
        }
        if !places.altered.is_empty() {
            return Some(PresenceState::Altered);
        }
        if !places.partial.is_empty() {
            return Some(PresenceState::Partial);
        }
        (!places.mention.is_empty() || holds(true)).then_some(PresenceState::Mention)
    }

    /// Why the context cannot be read as a whole, if that leaves the state open. Where its words were found at all, only a
    /// part that could carry the statement does.
    pub(super) fn unreadable(&self, is_found: bool) -> Option<String> {
        let first = if is_found {
            self.unread_carriers.first()?
        } else {
            self.unreadable.first()?
        };
        let count = self.unreadable.len();
        let content = self
            .part(*first)
            .and_then(|part| self.timeline.contents.get(part.content));
        let why = absence_in_words(content.and_then(|content| content.absence.as_ref()));
        let others = match count {
            1 => String::new(),
            2 => "; neither can one other".to_owned(),
            _ => format!("; neither can {} others", count - 1),
        };
        Some(format!(
            "the part at position {first} cannot be read: {why}{others}"
        ))
    }

    /// Why the strongest state that was found is not certain, if it is not: a text that was not looked at as a whole could say
    /// something stronger, or take back what it gives.
    pub(super) fn limited(&self, constraint: usize, state: PresenceState) -> Option<String> {
        let limited = &self.limited[constraint];
        let (first, left) = limited.first()?;
        let is_whole =
            |position: &usize| limited.binary_search_by_key(position, |at| at.0).is_err();
        let places = &self.places[constraint];
        let is_settled = match state {
            PresenceState::Verbatim => true,
            // By its matcher, if in no place by its words.
            PresenceState::Matched => {
                places.matched.is_empty() || places.matched.iter().any(is_whole)
            }
            PresenceState::Altered => places.altered.iter().any(is_whole),
            _ => false,
        };
        if is_settled {
            return None;
        }
        let others = match limited.len() {
            1 => String::new(),
            count => format!("; of {} other parts neither", count - 1),
        };
        Some(format!(
            "not every clause of the part at position {first} was compared with it: {COMPARED_MAX} were, {left} more that hold \
             its words were not{others}"
        ))
    }

    /// The parts that the context before did not have, or not there, and that were not looked at as a whole: for each how many
    /// clauses were left.
    pub(super) fn newly_limited(
        &self,
        constraint: usize,
    ) -> impl Iterator<Item = (PartIndex, usize)> + '_ {
        let limited = &self.limited[constraint];
        let new = limited.partition_point(|(position, _)| *position < self.shared);
        limited[new..]
            .iter()
            .filter_map(|&(position, left)| Some((*self.parts.get(position)?, left)))
    }

    /// Whether the constraint stands only where the next compaction may take it.
    pub(super) fn risk(&self, constraint: usize) -> Option<Risk> {
        let search = self.watched(constraint).search.as_ref();
        // Where every part counts, the agent's own words and results of tools are messages, too.
        let any_part = search.is_some_and(Search::any_part);
        let holds_on = |footing: Footing| {
            let stands = |places: &TermPlaces| {
                places.standing[footing as usize] > 0
                    || any_part && footing == Footing::Said && !places.other.is_empty()
            };
            self.places[constraint].standing[footing as usize] > 0
                || search.is_some_and(|search| {
                    search.holds(|term| self.terms[constraint].get(term).is_some_and(stands))
                })
        };
        if holds_on(Footing::Supplied) {
            None
        } else if holds_on(Footing::Said) || !holds_on(Footing::Summarised) {
            Some(Risk::OnlyInMessages)
        } else {
            Some(Risk::OnlyInSummary)
        }
    }

    /// Whether a term stands in the context.
    fn stands(&self, constraint: usize, term: usize, any_part: bool) -> bool {
        self.terms[constraint].get(term).is_some_and(|places| {
            !places.carrying.is_empty() || any_part && !places.other.is_empty()
        })
    }

    fn push(&mut self, part: PartIndex, shown: Option<Arc<Sightings>>) {
        let position = self.parts.len();
        self.parts.push(part);
        let tokens = self.part(position).map_or(0, |part| part.estimated_tokens);
        self.sums.push(self.tokens().saturating_add(tokens));
        let carrying = self.part_kind(position).is_some_and(PartKind::is_carrying);
        let footing = self.footing(position);
        match &shown {
            Some(shown) => {
                for found in &shown.found {
                    self.places[found.constraint].push(found.state, position, footing);
                }
                for found in &shown.terms {
                    self.terms[found.constraint][found.term].push(position, carrying, footing);
                }
                for &(constraint, left) in &shown.left {
                    self.limited[constraint].push((position, left));
                }
            }
            None => {
                self.unreadable.push(position);
                if self.may_carry(position) {
                    self.unread_carriers.push(position);
                }
            }
        }
        self.shown.push(shown);
    }

    fn pop(&mut self) {
        let position = self.parts.len().saturating_sub(1);
        let carrying = self.part_kind(position).is_some_and(PartKind::is_carrying);
        let footing = self.footing(position);
        match self.shown.pop().flatten() {
            Some(shown) => {
                for found in &shown.found {
                    self.places[found.constraint].pop(found.state, footing);
                }
                for found in &shown.terms {
                    self.terms[found.constraint][found.term].pop(carrying, footing);
                }
                for &(constraint, _) in &shown.left {
                    self.limited[constraint].pop();
                }
            }
            None => {
                self.unreadable.pop();
                if self.may_carry(position) {
                    self.unread_carriers.pop();
                }
            }
        }
        self.parts.pop();
        self.sums.pop();
    }

    fn part_kind(&self, position: usize) -> Option<PartKind> {
        self.part(position).map(|part| part.kind)
    }

    fn part(&self, position: usize) -> Option<&'a ContextPart> {
        self.timeline.parts.get(*self.parts.get(position)? as usize)
    }

    /// Whether a part that cannot be read could carry a statement.
    fn may_carry(&self, position: usize) -> bool {
        self.part_kind(position)
            .is_none_or(|kind| kind.is_carrying() || kind == PartKind::Other)
    }

    fn footing(&self, position: usize) -> Footing {
        match self.part_kind(position) {
            Some(PartKind::System | PartKind::Memory) => Footing::Supplied,
            Some(PartKind::Summary) => Footing::Summarised,
            _ => Footing::Said,
        }
    }
}

mod evidence;
