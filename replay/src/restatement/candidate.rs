//! Which constraints a clause may restate, by the concepts that it holds.
//!
//! A hostile record can declare hundreds of constraints of the same words and send a megabyte of them. Nothing is therefore
//! kept for each word and constraint: of a text one number for each word, and of one clause the words of one constraint.

use std::collections::HashMap;
use std::ops::Range;

use super::declared::Declared;
use crate::effort;
use crate::language;
use crate::passage::Passage;

/// A content word of a constraint in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub(super) token: usize,
    pub(super) content: usize,
}

/// Most clauses of one text that are compared with one constraint. A text holds a constraint's words so often only if it was
/// made to. What is left is counted and told.
pub(crate) const COMPARED_MAX: usize = 1_000;
/// Most places of one word in a clause that are compared: who repeats it more says no more.
const HITS_MAX: usize = 8;

/// Number of a concept that any constraint has.
type Concept = usize;

/// The constraints by their concepts.
#[derive(Debug)]
pub(super) struct Index {
    /// Number of each concept.
    concepts: HashMap<String, Concept>,
    /// By concept: what was declared with it.
    places: Vec<Vec<usize>>,
    /// By what was declared: its concepts, in the order of its content words.
    contents: Vec<Vec<Concept>>,
}

/// The constraints that a text has enough words of, and those words.
pub(super) struct Candidates<'i> {
    index: &'i Index,
    declared: &'i [Declared],
    /// By token.
    concepts: Vec<Option<Concept>>,
    /// By concept: what a clause may restate, and what a whole sentence may.
    places: HashMap<Concept, [Vec<usize>; 2]>,
    /// How many content words of each a clause has: 0 between two clauses.
    found: Vec<usize>,
    /// By constraint: how many clauses were compared, or left.
    compared: HashMap<usize, usize>,
}

impl Index {
    pub(super) fn new(declared: &[Declared]) -> Self {
        let mut concepts: HashMap<String, Concept> = HashMap::new();
        let mut places: Vec<Vec<usize>> = Vec::new();
        let mut contents = Vec::with_capacity(declared.len());
        for (statement, one) in declared.iter().enumerate() {
            let mut own = Vec::with_capacity(one.contents.len());
            for concept in &one.contents {
                let next = places.len();
                let number = *concepts.entry(concept.clone()).or_insert(next);
                if number == next {
                    places.push(Vec::new());
                }
                places[number].push(statement);
                own.push(number);
            }
            contents.push(own);
        }
        Self {
            concepts,
            places,
            contents,
        }
    }

    /// What a text may restate; `None` if nothing.
    pub(super) fn candidates<'i>(
        &'i self,
        declared: &'i [Declared],
        passage: &Passage<'_>,
    ) -> Option<Candidates<'i>> {
        let words = passage.words();
        effort::spend(words.len());
        if self.places.is_empty() {
            return None;
        }
        let concepts: Vec<Option<Concept>> = words
            .iter()
            .map(|word| {
                let concept = language::concept(word.text);
                self.concepts.get(concept.as_ref()).copied()
            })
            .collect();
        let mut present: Vec<Concept> = concepts.iter().copied().flatten().collect();
        present.sort_unstable();
        present.dedup();
        let mut found = vec![0; declared.len()];
        for concept in &present {
            effort::spend(self.places[*concept].len());
            for &statement in &self.places[*concept] {
                found[statement] += 1;
            }
        }
        let mut places: HashMap<Concept, [Vec<usize>; 2]> = HashMap::new();
        for concept in present {
            for &statement in &self.places[concept] {
                if declared[statement].may_stand(found[statement]) {
                    let both = places.entry(concept).or_default();
                    both[usize::from(declared[statement].is_long)].push(statement);
                }
            }
        }
        found.fill(0);
        (!places.is_empty()).then_some(Candidates {
            index: self,
            declared,
            concepts,
            places,
            found,
            compared: HashMap::new(),
        })
    }
}

impl Candidates<'_> {
    /// Calls `compare` for each constraint that a clause has enough words of, with those words; or for each that is compared with
    /// whole sentences. The clause is no longer than `CLAUSE_TOKENS_MAX`, and so are the words.
    pub(super) fn within(
        &mut self,
        clause: &Range<usize>,
        whole: bool,
        mut compare: impl FnMut(usize, &[Hit]),
    ) {
        effort::spend(clause.len());
        let mut here: Vec<(Concept, usize)> = clause
            .clone()
            .filter_map(|token| Some(((*self.concepts.get(token)?)?, token)))
            .collect();
        here.sort_unstable();
        let mut touched: Vec<usize> = Vec::new();
        for one in here.chunk_by(|(one, _), (other, _)| one == other) {
            let Some(places) = self.places.get(&one[0].0) else {
                continue;
            };
            let places = &places[usize::from(whole)];
            effort::spend(places.len());
            for &statement in places {
                if self.found[statement] == 0 {
                    touched.push(statement);
                }
                self.found[statement] += 1;
            }
        }
        touched.retain(|&statement| {
            let found = std::mem::take(&mut self.found[statement]);
            self.declared[statement].may_stand(found)
        });
        touched.sort_unstable();
        for statement in touched {
            let constraint = self.declared[statement].constraint;
            let compared = self.compared.entry(constraint).or_default();
            *compared += 1;
            if *compared <= COMPARED_MAX {
                compare(statement, &self.index.hits(statement, &here));
            }
        }
    }
}

impl Candidates<'_> {
    /// How many clauses were not compared with each constraint that has such, by constraint.
    pub(super) fn left(self) -> Vec<(usize, usize)> {
        let mut left: Vec<(usize, usize)> = self
            .compared
            .into_iter()
            .filter(|(_, compared)| *compared > COMPARED_MAX)
            .map(|(constraint, compared)| (constraint, compared - COMPARED_MAX))
            .collect();
        left.sort_unstable();
        left
    }
}

impl Index {
    /// The content words of what was declared among the words of a clause, by token.
    fn hits(&self, statement: usize, here: &[(Concept, usize)]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (content, concept) in self.contents[statement].iter().enumerate() {
            let from = here.partition_point(|(other, _)| other < concept);
            let own = here[from..]
                .iter()
                .take_while(|(other, _)| other == concept)
                .take(HITS_MAX);
            hits.extend(own.map(|&(_, token)| Hit { token, content }));
        }
        effort::spend(self.contents[statement].len() + hits.len());
        hits.sort_unstable();
        hits
    }
}

#[cfg(test)]
mod tests;
