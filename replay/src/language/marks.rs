//! What the words of a text do to how strongly it is meant, each run of them found once.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Word;
use super::force::{ABSOLUTE, LIGHT, MARKS};

/// What a run of words does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// Forbids.
    Forbid,
    /// Negates.
    Negate,
    /// Sets a bound, or one thing against another.
    Bound,
    /// Allows one thing alone.
    Exclusive,
    /// Demands.
    Demand,
    /// Demands less than strictly.
    Should,
    /// Reports what somebody wants, or calls something a rule.
    Want,
    /// Allows.
    Permit,
    /// Takes a demand or a prohibition back.
    Release,
    /// Says that something demanded need not be done.
    Spare,
    /// Tells what was, as a report does.
    Past,
    /// Softens.
    Soften,
    /// Opens an exception.
    Except,
    /// Opens a condition.
    Condition,
    /// Narrows what is spoken of.
    Narrow,
}

/// A run of words with what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) mark: Mark,
}

/// By first word: the rest of each run, the longest first.
static RUNS: LazyLock<HashMap<&'static str, Vec<(Vec<&'static str>, Mark)>>> =
    LazyLock::new(|| {
        let mut runs: HashMap<&str, Vec<(Vec<&str>, Mark)>> = HashMap::new();
        for (mark, phrases) in MARKS {
            for phrase in phrases.split(',') {
                let mut words = phrase.split_whitespace();
                if let Some(first) = words.next() {
                    let rest = words.collect();
                    runs.entry(first).or_default().push((rest, *mark));
                }
            }
        }
        for runs in runs.values_mut() {
            runs.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        runs
    });

/// Every mark of a text, in order; none overlaps another.
pub(crate) fn marks(words: &[Word<'_>]) -> Vec<Marked> {
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let run = RUNS.get(word.text).and_then(|runs| {
            let fits = |(rest, _): &&(Vec<&str>, Mark)| {
                words
                    .get(at + 1..at + 1 + rest.len())
                    .is_some_and(|next| next.iter().zip(rest).all(|(word, own)| word.text == *own))
            };
            runs.iter()
                .find(fits)
                .map(|(rest, mark)| (rest.len() + 1, *mark))
        });
        let forbids = usize::from(word.prohibits);
        let (length, mark) = match run {
            Some((length, mark)) if length >= forbids => (length, mark),
            _ if forbids > 0 => (forbids, Mark::Forbid),
            _ => {
                at += 1;
                continue;
            }
        };
        let turned = mark == Mark::Forbid && words.get(at + length).is_some_and(Word::is_reversal);
        if turned {
            // "Do not forget to" demands.
            let (length, mark) = (length + 1, Mark::Demand);
            marks.push(Marked { at, length, mark });
            at += length;
            continue;
        }
        marks.push(Marked { at, length, mark });
        at += length;
    }
    marks
}

/// Whether a word makes a demand of the strongest kind.
pub(crate) fn is_absolute(word: &str) -> bool {
    ABSOLUTE.contains(&word)
}

/// Whether a word carries next to no content by itself.
pub(crate) fn is_light(word: &str) -> bool {
    LIGHT.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::words;

    fn marked(text: &str) -> Vec<Mark> {
        let words = words(text.split(' '));
        marks(&words).iter().map(|marked| marked.mark).collect()
    }

    #[test]
    fn the_longest_run_counts() {
        let cases = [
            ("you may not", &[Mark::Forbid][..]),
            ("you may", &[Mark::Permit]),
            ("no longer allowed", &[Mark::Forbid]),
            ("no longer prohibited", &[Mark::Release]),
            ("not only here", &[Mark::Release]),
            ("only here", &[Mark::Exclusive]),
            ("try to avoid it unless asked", &[Mark::Soften, Mark::Soften, Mark::Except]),
            ("the user prefers tea", &[Mark::Want]),
            ("tea is preferred", &[Mark::Soften]),
            ("tea", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(marked(text), expected, "{text}");
        }
    }

    #[test]
    fn no_run_stands_in_the_table_twice() {
        for (first, runs) in RUNS.iter() {
            for (index, (rest, mark)) in runs.iter().enumerate() {
                let again = runs[index + 1..].iter().find(|(other, _)| other == rest);
                assert!(again.is_none(), "{first} {rest:?} {mark:?}");
            }
        }
    }
}
