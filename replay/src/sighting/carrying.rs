//! What a part says that can carry a statement: the statement itself, a change of it, a paraphrase, or its topic.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::{Sighting, Watch, Watched, place};
use crate::analysis::{Alteration, AlterationKind, PresenceState};
use crate::folding::{Escapes, Folded};
use crate::passage::Passage;
use crate::restatement::{Restated, Stated};
use crate::statement::Stems;

/// Most characters of a text that is shown beside another.
const SHOWN_CHARS_MAX: usize = 400;

impl Watch {
    /// What a part says that can carry a statement; and by constraint, how many of its clauses were not compared with it.
    pub(super) fn carried(&self, text: &str) -> (Vec<Sighting>, Vec<(usize, usize)>) {
        if self.constraints.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let folded = &Folded::new(text, Escapes::Plain);
        let seen = self.seen(self.folded.as_ref(), folded.text());
        let stems = Stems::of(folded);
        let passage = Passage::new(text, folded);
        let (mut found, mut stated, mut topics) = (Vec::new(), Vec::new(), Vec::new());
        for (index, watched) in self.constraints.iter().enumerate() {
            if !watched.needed.iter().all(|pattern| seen[*pattern]) {
                continue;
            }
            match stands(watched, &passage, &stems) {
                Ok((state, run, note)) => {
                    stated.push(Stated {
                        constraint: index,
                        run: run.clone(),
                        word_for_word: state == PresenceState::Verbatim,
                    });
                    found.push(sighting(text, folded, index, state, run, note));
                }
                Err(topic) => topics.push((index, topic)),
            }
        }
        let compared = self.restatements.find(&passage, &stated);
        let restated = self.add_restated(text, &passage, &stated, compared.restated, &mut found);
        for (index, topic) in topics {
            let mentioned = || self.constraints[index].statement.mentioned(&stems);
            if !restated.contains(&index)
                && let Some(run) = topic.or_else(mentioned)
            {
                let note = "its words as a topic: nothing here makes them the statement";
                let state = PresenceState::Mention;
                found.push(sighting(text, folded, index, state, run, note));
            }
        }
        found.sort_by_key(|sighting| (sighting.constraint, sighting.state));
        (found, compared.left)
    }

    /// Adds what restates a constraint, and returns which were.
    fn add_restated(
        &self,
        text: &str,
        passage: &Passage<'_>,
        stated: &[Stated],
        restated: Vec<Restated>,
        found: &mut Vec<Sighting>,
    ) -> HashSet<usize> {
        let (mut constraints, mut replaced) = (HashSet::new(), Vec::new());
        for restated in restated {
            let own = stated
                .iter()
                .position(|stated| stated.constraint == restated.constraint);
            if let Some(own) = own {
                let run = &stated[own].run;
                let one_place = run.start < restated.run.end && restated.run.start < run.end;
                // Beside the statement itself only a change of the whole of it counts.
                if restated.altered.is_none() || !one_place && !restated.is_whole {
                    continue;
                }
                if one_place {
                    replaced.push(own);
                }
            }
            constraints.insert(restated.constraint);
            let (state, note) = restated_as(&restated);
            let (index, run) = (restated.constraint, restated.run.clone());
            let mut sighting = sighting(text, passage.folded(), index, state, run, note);
            sighting.alteration = self.alteration(passage, restated);
            found.push(sighting);
        }
        // The same statement in other words, but softened or narrowed, is none.
        for own in replaced.into_iter().rev() {
            found.remove(own);
        }
        constraints
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

fn sighting(
    text: &str,
    folded: &Folded,
    constraint: usize,
    state: PresenceState,
    run: Range<usize>,
    note: &'static str,
) -> Sighting {
    Sighting {
        constraint,
        state,
        place: place(text, folded.original(run)),
        note,
        alteration: None,
    }
}

/// The state that a statement gives, its words, and what was found.
type Statement = (PresenceState, Range<usize>, &'static str);

/// Where a part states a constraint, word for word or in other forms of its words; or else where it does so as a topic.
fn stands(
    watched: &Watched,
    passage: &Passage<'_>,
    stems: &Stems<'_>,
) -> Result<Statement, Option<Range<usize>>> {
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
