//! What a part says that can carry a statement: the statement itself, a change of it, a paraphrase, or its topic.

use std::ops::Range;
use std::sync::Arc;

use super::{Sighting, Watch, Watched, place};
use crate::analysis::{Alteration, AlterationKind, PresenceState};
use crate::folding::{Escapes, Folded};
use crate::passage::Passage;
use crate::restatement::Restated;
use crate::statement::Stems;

/// Most characters of a text that is shown beside another.
const SHOWN_CHARS_MAX: usize = 400;

impl Watch {
    /// What a part says that can carry a statement.
    pub(super) fn carried(&self, text: &str) -> Vec<Sighting> {
        if self.constraints.is_empty() {
            return Vec::new();
        }
        let folded = &Folded::new(text, Escapes::Plain);
        let seen = self.seen(self.folded.as_ref(), folded.text());
        let stems = Stems::of(folded);
        let passage = Passage::new(text, folded);
        let named = |constraint: usize, state, run: Range<usize>, note| Sighting {
            constraint,
            state,
            place: place(text, folded.original(run)),
            note,
            alteration: None,
        };
        let (mut found, mut stated, mut topics) = (Vec::new(), Vec::new(), Vec::new());
        for (index, watched) in self.constraints.iter().enumerate() {
            if !watched.needed.iter().all(|pattern| seen[*pattern]) {
                continue;
            }
            match stands(watched, &passage, &stems) {
                Ok((state, run, note)) => {
                    stated.push((index, run.clone()));
                    found.push(named(index, state, run, note));
                }
                Err(topic) => topics.push((index, topic)),
            }
        }
        let mut is_present = vec![false; self.constraints.len()];
        stated
            .iter()
            .for_each(|(index, _)| is_present[*index] = true);
        let mut is_restated = vec![false; self.constraints.len()];
        for restated in self.restatements.find(&passage, &stated) {
            let index = restated.constraint;
            // Beside the statement itself only a change of the whole of it counts.
            if is_present[index] && !(restated.altered.is_some() && restated.is_whole) {
                continue;
            }
            is_restated[index] = true;
            let (state, note) = restated_as(&restated);
            let mut sighting = named(index, state, restated.run.clone(), note);
            sighting.alteration = self.alteration(&passage, restated);
            found.push(sighting);
        }
        for (index, topic) in topics {
            let mentioned = || self.constraints[index].statement.mentioned(&stems);
            if !is_restated[index]
                && let Some(run) = topic.or_else(mentioned)
            {
                let note = "its words as a topic: nothing here makes them the statement";
                found.push(named(index, PresenceState::Mention, run, note));
            }
        }
        found.sort_by_key(|sighting| (sighting.constraint, sighting.state));
        found
    }

    fn alteration(&self, passage: &Passage<'_>, restated: Restated) -> Option<Arc<Alteration>> {
        let (kind, difference) = restated.altered?;
        Some(Arc::new(Alteration {
            kind,
            declared: self.texts.get(restated.constraint)?.clone(),
            said: cut(passage.original(restated.within)?),
            difference,
        }))
    }
}

/// Where a part states a constraint, word for word or in other forms of its words; or else where it does so as a topic.
fn stands(
    watched: &Watched,
    passage: &Passage<'_>,
    stems: &Stems<'_>,
) -> Result<(PresenceState, Range<usize>, &'static str), Option<Range<usize>>> {
    let statement = &watched.statement;
    let topic = match statement.verbatim(passage) {
        Ok(run) => {
            let note = if statement.is_bare() {
                "word for word, in a sentence or list that makes it the statement"
            } else {
                "word for word"
            };
            return Ok((PresenceState::Verbatim, run, note));
        }
        Err(topic) => topic,
    };
    let stated = match watched.search {
        None => statement.stated(passage, stems),
        Some(_) => None,
    };
    let note = "the same statement in other forms of its words";
    stated.map_or(Err(topic), |run| Ok((PresenceState::Matched, run, note)))
}

fn restated_as(restated: &Restated) -> (PresenceState, &'static str) {
    let Some((kind, _)) = &restated.altered else {
        let note = "at least half of its content in one clause: likely a paraphrase, to be read";
        return (PresenceState::Partial, note);
    };
    let note = match kind {
        AlterationKind::Mutated => "restated with another value, or without it",
        AlterationKind::Weakened => "restated more weakly",
        AlterationKind::Contradicted => "the opposite is said, or it is taken back",
    };
    (PresenceState::Altered, note)
}

/// A text as it is shown beside another: whole, or its beginning.
pub(super) fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text.to_owned(),
    }
}
