//! What the words of a text do: forbid, demand, limit, want, permit. For programs that look for rules in what people wrote.
//!
//! It is the same table by which the statement tests judge how strongly something is meant. It says what words are there, not
//! that a sentence with them is a rule.

use std::ops::Range;

use crate::folding::{Escapes, Folded};
use crate::language::{self, Mark};
use crate::passage::Passage;

/// What a run of words does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wording {
    /// Forbids ("never", "must not", an ordering "do not").
    Forbids,
    /// Demands ("must", "always", "make sure").
    Demands,
    /// Demands less than strictly ("should").
    Advises,
    /// Sets a bound, or one thing against another ("at most", "instead of").
    Bounds,
    /// Allows one thing alone ("only").
    Restricts,
    /// Permits ("may", "feel free").
    Permits,
    /// Takes a demand or a prohibition back ("no longer", "no need").
    Releases,
    /// Softens ("prefer", "by default", "if possible").
    Softens,
    /// Tells what was.
    Reports,
}

/// A run of words with what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worded {
    /// Its place in the text, in bytes.
    pub bytes: Range<usize>,
    /// What it does.
    pub wording: Wording,
}

/// What the words of a text do, in order; runs do not overlap. A "do not" that reports ("we do not know") does nothing.
pub fn wording(text: &str) -> Vec<Worded> {
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    let worded = |marked: language::Marked| {
        let wording = match marked.mark {
            Mark::Forbid if reports(&passage, marked.at) => return None,
            Mark::Forbid => Wording::Forbids,
            Mark::Demand => Wording::Demands,
            Mark::Should => Wording::Advises,
            Mark::Bound | Mark::Cap => Wording::Bounds,
            Mark::Exclusive => Wording::Restricts,
            Mark::Permit => Wording::Permits,
            Mark::Release | Mark::Spare => Wording::Releases,
            Mark::Soften | Mark::Want => Wording::Softens,
            Mark::Past => Wording::Reports,
            Mark::Concern | Mark::Negate | Mark::Except | Mark::Condition | Mark::Narrow => {
                return None;
            }
        };
        let bytes = folded.original(marked.at..marked.at + marked.length)?;
        Some(Worded { bytes, wording })
    };
    language::marks(&passage)
        .into_iter()
        .filter_map(worded)
        .collect()
}

/// Whether what could forbid reports instead: "we don't know", "it was not".
fn reports(passage: &Passage<'_>, at: usize) -> bool {
    let words = passage.words();
    let is_order =
        |word: &language::Word<'_>| matches!(word.text, "do" | "don't" | "not" | "never");
    words.get(at).is_some_and(is_order)
        && language::prohibition_at(words, at, passage.begins_clause(at)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_with_their_place() {
        let text = "You must never retry, and log at most 3 lines.";
        let found = wording(text);
        let told: Vec<(&str, Wording)> = found
            .iter()
            .map(|run| (&text[run.bytes.clone()], run.wording))
            .collect();
        assert_eq!(
            told,
            [
                ("must never", Wording::Forbids),
                ("at most", Wording::Bounds)
            ]
        );
    }

    #[test]
    fn a_report_forbids_nothing() {
        let forbids = |text: &str| {
            wording(text)
                .iter()
                .any(|run| run.wording == Wording::Forbids)
        };
        assert!(forbids("don't touch the tests"));
        assert!(forbids("please do not touch the tests"));
        assert!(!forbids("I don't know the tests"));
        assert!(!forbids("we do not show them"));
    }
}
