//! Another word in the place of one of the constraint's, where all else agrees: "into develop" for "into main".
//!
//! No list of words can know which nouns are different things. What tells is the rest: who rewrites a sentence changes more of it
//! than one noun, and a verb more often than its object. So a clause that has all of the content but for one place, with other
//! words there between the same neighbours, says it of something else. Verbs, and nouns that stand for nearly anything, are left
//! out: there a synonym is the likelier reason.

use std::ops::Range;

use super::declared::{OwnWord, Polarity};
use super::difference::Compared;
use crate::analysis::AlterationKind;
use crate::effort;
use crate::language::{self, Mark};

/// Most words of the constraint that something else stands for, and most words of that.
const PLACE_WORDS_MAX: usize = 2;
/// Fewest words that the two have in common.
const COMMON_MIN: usize = 2;
/// How far beside the constraint's words something else for one of them stands, in tokens.
const BESIDE: usize = 3;
/// Most small words between neighbours.
const SMALL_WORDS_MAX: usize = 4;

/// The neighbour of a place: its concept, and the small words between, from the place on.
type Neighbour<'w> = (String, Vec<&'w str>);

impl Compared<'_, '_, '_> {
    /// What stands in the place of one of the constraint's words.
    pub(super) fn swapped(&self) -> Option<(AlterationKind, String)> {
        let common = self.found + self.declared.anchors.len();
        if !self.values.missing.is_empty() || common < COMMON_MIN || self.declared.is_long {
            return None;
        }
        let clause = self.reading.passage.clause(self.hits[0].token);
        let within = clause.start.max(self.region.start)..clause.end.min(self.region.end);
        effort::spend(within.len() + self.declared.words.len());
        let missing = self.missing();
        if let Some((own, other)) = self.opposed(&within, &missing) {
            let told =
                format!("\u{201c}{other}\u{201d} stands in the place of \u{201c}{own}\u{201d}");
            return Some((AlterationKind::Contradicted, told));
        }
        let (own, other) = self.replaced(&within, &missing)?;
        let told = format!("\u{201c}{other}\u{201d} stands in the place of \u{201c}{own}\u{201d}");
        Some((AlterationKind::Mutated, told))
    }

    /// Whether the opposite of a word that does not stand there does: "must not be open", of what is to be closed.
    pub(super) fn has_opposite(&self) -> bool {
        let here = &self.reading.passage.words()[self.region.clone()];
        effort::spend(here.len());
        self.missing().into_iter().any(|at| {
            let own = &self.declared.words[at].concept;
            let mut words = here.iter();
            words.any(|word| language::opposite(own, &language::concept(word.text)))
        })
    }

    /// Which of the declared words do not stand there, by their positions.
    fn missing(&self) -> Vec<usize> {
        let stands = |content: usize| self.hits.iter().any(|hit| hit.content == content);
        let words = self.declared.words.iter().enumerate();
        words
            .filter(|(_, own)| own.content.is_some_and(|content| !stands(content)))
            .map(|(at, _)| at)
            .collect()
    }

    /// A word of the constraint, and its opposite in the clause, where that says the same about all else.
    fn opposed(&self, within: &Range<usize>, missing: &[usize]) -> Option<(String, String)> {
        let (tone, declared) = (&self.tone, self.declared);
        let negative = tone.forbids() || tone.has(Mark::Negate);
        let only = tone.has(Mark::Exclusive);
        // "Not above" is "at most": of two differences each takes the other back.
        if negative != declared.is_negative || only != (declared.polarity == Polarity::Restricts) {
            return None;
        }
        let contents = declared.contents.len();
        let words = self.reading.passage.words();
        let here: Vec<String> = words[within.clone()]
            .iter()
            .map(|word| language::concept(word.text).into_owned())
            .collect();
        let is_new = |concept: &str| !declared.words.iter().any(|own| own.concept == concept);
        declared.words.iter().enumerate().find_map(|(at, own)| {
            if here.contains(&own.concept) {
                return None;
            }
            let place = here
                .iter()
                .position(|concept| language::opposite(&own.concept, concept) && is_new(concept))?;
            let place = within.start + place;
            let after = |one: &Option<Neighbour<'_>>| one.as_ref().map(|(word, _)| word.clone());
            let agrees = if missing.contains(&at) {
                missing.len() == 1 && self.found + 1 == contents
            } else {
                let (own, other) = (self.own_after(at + 1), self.after(place + 1, within));
                self.found + 1 >= contents && own.is_some() && after(&own) == after(&other)
            };
            agrees.then(|| (own.text.clone(), words[place].text.to_owned()))
        })
    }

    /// Words of the constraint, and others between the same neighbours.
    fn replaced(&self, within: &Range<usize>, missing: &[usize]) -> Option<(String, String)> {
        let declared = &self.declared.words;
        let (first, last) = (*missing.first()?, *missing.last()?);
        let one_place = missing.len() <= PLACE_WORDS_MAX
            && (first..last).all(|at| missing.contains(&at) || !declared[at].is_solid());
        if !one_place || is_verb(declared, first) || self.has_opposite() {
            return None;
        }
        let place = self.new_words(within)?;
        let words = self.reading.passage.words();
        let (own, other) = (&declared[last], words[place.end - 1].text);
        let forms = |ending: &str| own.text.ends_with(ending) && other.ends_with(ending);
        // Before another noun they say what kind of one it is.
        let is_head = declared.get(last + 1).is_none_or(|next| !next.is_solid());
        let generic = is_head
            && (language::is_generic(&own.concept)
                || language::is_generic(&language::concept(other)));
        if generic || is_head && (forms("ing") || forms("ed")) {
            return None;
        }
        let same = |own: Option<Neighbour<'_>>, other: Option<Neighbour<'_>>| {
            own.is_some() && own == other
        };
        let before = same(self.own_before(first), self.before(place.start, within));
        let after = same(self.own_after(last + 1), self.after(place.end, within));
        let directed = self.directs() || self.reading.begins(place.start) || before && after;
        (directed && (before || after)).then(|| {
            let texts: Vec<&str> = words[place].iter().map(|word| word.text).collect();
            let own: Vec<&str> = declared[first..=last]
                .iter()
                .map(|own| own.text.as_str())
                .collect();
            (own.join(" "), texts.join(" "))
        })
    }

    /// What says more of one of the words in a clause that is otherwise the declared text, word for word.
    pub(super) fn gained_modifier(&self) -> Option<String> {
        let clause = self.reading.passage.clause(self.hits[0].token);
        let own = &self.declared.words;
        if clause.len() > 2 * own.len() || clause.len() > self.region.len() {
            return None;
        }
        effort::spend(clause.len());
        let words = self.reading.passage.words();
        let says_which = |text: &str| !is_article(text) && !matches!(text, "always" | "strictly");
        let mut own = own
            .iter()
            .enumerate()
            .filter(|(_, own)| says_which(&own.text))
            .peekable();
        let mut gained: Vec<&str> = Vec::new();
        for at in clause {
            let text = words[at].text;
            if !says_which(text) {
                continue;
            }
            let (position, next) = own.peek()?;
            if language::concept(text) == next.concept {
                own.next();
                continue;
            }
            let ahead = words.get(at + 1).map(|word| language::concept(word.text));
            let attribute = next.is_solid() && ahead.is_some_and(|ahead| ahead == next.concept);
            let named = self.reading.anchors_in(&(at..at + 1)).is_empty();
            let plain = !text.ends_with("ly") && !text.ends_with("'s") && self.is_new(at);
            let verb = next.content.is_some() && is_verb(&self.declared.words, *position);
            if gained.len() == PLACE_WORDS_MAX || !attribute || !named || !plain || verb {
                return None;
            }
            gained.push(text);
        }
        (own.next().is_none() && !gained.is_empty()).then(|| gained.join(" "))
    }

    /// The only words of a clause that name something and are not the constraint's.
    fn new_words(&self, within: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (self.hits[0].token, self.hits[self.hits.len() - 1].token);
        let from = first.saturating_sub(BESIDE).max(within.start);
        let to = (last + 1 + BESIDE).min(within.end);
        let mut new = (from..to).filter(|at| self.is_new(*at));
        let start = new.next()?;
        let end = new.next_back().unwrap_or(start) + 1;
        let alone = (start..end).all(|at| !self.is_hit(at));
        (alone && end - start <= PLACE_WORDS_MAX).then_some(start..end)
    }

    /// Whether a word of the clause names something that the constraint does not.
    pub(super) fn is_new(&self, at: usize) -> bool {
        let Some(word) = self.reading.passage.words().get(at) else {
            return false;
        };
        let says_how = word.is_stop_word()
            || word.turns()
            || language::is_manner(word.text)
            || language::is_absolute(word.text)
            || language::is_light(word.text)
            || language::is_universal(word.text);
        let concept = language::concept(word.text);
        !says_how
            && !self.declared.own.contains(word.text)
            && !self
                .declared
                .words
                .iter()
                .any(|own| own.concept == concept.as_ref())
            && !self.tone.covers(at)
    }

    fn is_hit(&self, at: usize) -> bool {
        self.hits.iter().any(|hit| hit.token == at)
    }

    fn own_before(&self, end: usize) -> Option<Neighbour<'_>> {
        let words = self.declared.words[..end].iter().rev();
        neighbour(words.map(|own| (own.text.as_str(), own.is_solid())))
    }

    fn own_after(&self, start: usize) -> Option<Neighbour<'_>> {
        let words = self.declared.words.get(start..)?.iter();
        neighbour(words.map(|own| (own.text.as_str(), own.is_solid())))
    }

    fn before(&self, end: usize, within: &Range<usize>) -> Option<Neighbour<'_>> {
        neighbour((within.start..end).rev().map(|at| self.seen(at)))
    }

    fn after(&self, start: usize, within: &Range<usize>) -> Option<Neighbour<'_>> {
        neighbour((start..within.end).map(|at| self.seen(at)))
    }

    /// A word of the clause, and whether it is one of the constraint's that names something, or another that does.
    fn seen(&self, at: usize) -> (&str, bool) {
        let text = self.reading.passage.words()[at].text;
        let own = || {
            self.declared
                .words
                .iter()
                .any(|own| own.is_solid() && own.text == text)
        };
        (text, self.is_hit(at) || self.is_new(at) || own())
    }
}

/// The nearest of some words that names something, and the small words before it; articles say nothing.
fn neighbour<'w>(words: impl Iterator<Item = (&'w str, bool)>) -> Option<Neighbour<'w>> {
    let mut small = Vec::new();
    for (text, is_solid) in words {
        if is_solid {
            return Some((language::concept(text).into_owned(), small));
        }
        if !is_article(text) {
            small.push(text);
        }
        if small.len() > SMALL_WORDS_MAX {
            break;
        }
    }
    None
}

/// Articles, and what speaks of all there is.
fn is_article(text: &str) -> bool {
    matches!(text, "a" | "an" | "the")
        || language::is_universal(text) && !matches!(text, "always" | "no")
}

/// Whether a declared word is likely the verb of what is ordered: it begins the text, or follows a modal or a negation.
fn is_verb(words: &[OwnWord], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| &words[at]) else {
        return true;
    };
    before.turns && !before.is_solid() || matches!(before.text.as_str(), "be" | "is" | "are")
}

#[cfg(test)]
mod tests;
