//! What the statement tests know of English: stances of openers, prohibitions, and stems.
//!
//! The words themselves are closed lists, most of them in [`vocabulary`]. They decide only whether words that were found also
//! *say* what was declared; a word that is missing there costs a match, not a false one. A text in another language is still
//! found word for word.

pub(crate) mod authority;
mod decision;
mod denial;
mod force;
mod marks;
mod number;
mod opposites;
mod root;
mod softness;
mod stem;
mod synonyms;
mod unit;
mod vocabulary;
mod word;

use decision::{TAKEN_BACK_AFTER, TAKEN_BACK_BEFORE};
pub(crate) use denial::{denies, ends_negated};
pub(crate) use marks::{
    Mark, Marked, is_absolute, is_adjectival, is_beyond, is_light, is_narrow, is_needed,
    is_relative, is_rough, is_universal, marks,
};
pub(crate) use number::{is_number, is_scale};
pub(crate) use opposites::{is_generic, opposite};
pub(crate) use root::concept;
pub(crate) use stem::stem;
pub(crate) use unit::{currency, is_weekday, month, multiple, numeral, unit};
use vocabulary::*;
use word::pattern_at;
pub(crate) use word::{Word, softening_at, words};

/// What a run of tokens does to the statements that it governs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stance {
    /// Forbids them.
    Prohibits,
    /// Allows them.
    Permits,
    /// Demands them.
    Obliges,
    /// Takes them back, or says two things at once.
    Unclear,
    /// Nothing.
    Neutral,
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Whether a text says something of itself, rather than naming an action.
pub(crate) fn is_statement(words: &[Word<'_>]) -> bool {
    let texts = texts(words);
    let main = (1..texts.len())
        .find(|at| SUBORDINATORS.contains(&texts[*at]))
        .unwrap_or(texts.len());
    (0..texts.len()).any(|at| {
        let word = texts[at];
        let is_attribute =
            matches!(word, "no" | "only") && at > 0 && BEFORE_ATTRIBUTE.contains(&texts[at - 1]);
        words[at].prohibits > 0
            || STATEMENT_WORDS.contains(&word) && !is_attribute
            || pattern_at(STATEMENT_PATTERNS, &texts, at) > 0
            || at < main && MAIN_CLAUSE_WORDS.contains(&word)
            || at == 0 && matches!(word, "maximum" | "minimum")
    })
}

/// Whether a text says how things are, rather than ordering it: its main clause has "is" or "are".
pub(crate) fn is_indicative(words: &[Word<'_>]) -> bool {
    words
        .iter()
        .take_while(|word| !SUBORDINATORS.contains(&word.text))
        .any(|word| matches!(word.text, "is" | "are"))
}

/// Whether a whole statement is taken back by what stands beside it in its clause.
pub(crate) fn takes_back(before: &[Word<'_>], after: &[Word<'_>]) -> bool {
    holds(TAKEN_BACK_BEFORE, &texts(before)) || holds(TAKEN_BACK_AFTER, &texts(after))
}

/// Whether a text allows, forbids or demands.
pub(crate) fn is_modal(words: &[Word<'_>]) -> bool {
    words.iter().any(|word| {
        word.prohibits > 0 || matches!(modality(word), Stance::Permits | Stance::Obliges)
    })
}

/// Words that say how, not what: they count for a statement and not for its topic.
pub(crate) fn is_manner(word: &str) -> bool {
    POLARITY.contains(&word)
        || EXCEPTIONS.contains(&word)
        || OBLIGATIONS
            .iter()
            .chain(PROHIBITIONS)
            .any(|pattern| pattern.contains(&word))
        || matches!(
            word,
            "above"
                | "all"
                | "any"
                | "below"
                | "between"
                | "do"
                | "does"
                | "ever"
                | "inside"
                | "least"
                | "less"
                | "more"
                | "most"
                | "outside"
                | "over"
                | "than"
                | "under"
                | "up"
                | "within"
                | "allowed"
        )
}

/// What one word before a statement does to it, prohibitions aside.
pub(crate) fn modality(word: &Word<'_>) -> Stance {
    if PERMITTING.contains(&word.text) {
        Stance::Permits
    } else if OBLIGING.contains(&word.text) {
        Stance::Obliges
    } else if word.is_polarity() {
        Stance::Unclear
    } else {
        Stance::Neutral
    }
}

/// Length of the prohibition that stands at `at`, read as an order; 0 if there is none, or if it reports rather than orders.
pub(crate) fn prohibition_at(words: &[Word<'_>], at: usize, begins: bool) -> usize {
    let length = fits(words, at, |word| word.prohibits);
    if length == 0 {
        return 0;
    }
    let text = |at: usize| words.get(at).map(|word| word.text);
    let before = at.checked_sub(1).and_then(text);
    let orders = match text(at) {
        Some("do" | "don't") => begins || before.is_none_or(|word| BEFORE_ORDER.contains(&word)),
        Some("not") if text(at + 1) == Some("to") => {
            begins || before.is_none_or(|word| BEFORE_NOT_TO.contains(&word))
        }
        Some("not") => before.is_none_or(|word| !matches!(word, "was" | "were")),
        Some("never") => before.is_none_or(|word| !REPORTERS.contains(&word)),
        Some("prohibited" | "forbidden" | "disallowed") => before.is_none_or(|word| {
            !matches!(word, "not" | "never" | "isn't" | "aren't" | "was" | "were")
        }),
        _ => true,
    };
    if orders { length } else { 0 }
}

/// Length of the prohibition at `at` that refers to what stands before it; 0 if there is none.
pub(crate) fn prohibition_after(words: &[Word<'_>], at: usize) -> usize {
    fits(words, at, |word| word.prohibits_after)
}

/// Whether a release stands anywhere in the words.
pub(crate) fn releases(words: &[Word<'_>]) -> bool {
    (0..words.len()).any(|at| fits(words, at, |word| word.releases) > 0)
}

/// A pattern's length where it does not run out of the words at hand.
fn fits(words: &[Word<'_>], at: usize, length: impl Fn(&Word<'_>) -> u8) -> usize {
    let length = words.get(at).map_or(0, |word| usize::from(length(word)));
    if at + length <= words.len() {
        length
    } else {
        0
    }
}

/// What a heading or an opening sentence does to the list below it.
pub(crate) fn stance(words: &[Word<'_>]) -> Stance {
    if releases(words) || words.iter().any(Word::is_reversal) {
        return Stance::Unclear;
    }
    let mut rest: Vec<&str> = Vec::with_capacity(words.len());
    let mut prohibits = false;
    let mut at = 0;
    while at < words.len() {
        match prohibition_at(words, at, at == 0) {
            0 => {
                rest.push(words[at].text);
                at += 1;
            }
            length => {
                prohibits = true;
                at += length;
            }
        }
    }
    let negated = rest
        .iter()
        .any(|word| matches!(*word, "not" | "no" | "never" | "nor") || word.ends_with("n't"));
    let (permits, obliges) = (holds(PERMISSIONS, &rest), holds(OBLIGATIONS, &rest));
    match (prohibits, permits, obliges) {
        _ if negated => Stance::Unclear,
        (true, false, false) => Stance::Prohibits,
        (false, true, false) => Stance::Permits,
        (false, false, true) => Stance::Obliges,
        (false, false, false) => Stance::Neutral,
        _ => Stance::Unclear,
    }
}

fn texts<'a>(words: &[Word<'a>]) -> Vec<&'a str> {
    words.iter().map(|word| word.text).collect()
}

fn holds(patterns: &[&[&str]], words: &[&str]) -> bool {
    (0..words.len()).any(|at| pattern_at(patterns, words, at) > 0)
}

#[cfg(test)]
mod tests;
