//! What the words of a text do to how strongly it is meant, each run of them found once.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::decision::{DECIDED, DECIDED_ONCE, ENDED, GRANTED, WITHDRAWN};
use super::force::{
    ABSOLUTE, ADJECTIVAL, BEFORE_WANTING, BEYOND, CONDITIONAL, KEEPING, LIGHT, MARKS, NEEDED,
    RELATIVE, ROUGH, TIME_ZONES, UNIVERSAL, WANTED, WANTED_LATER, WANTERS, WANTING, WORTH,
};
use super::softness::{CONCERN, SOFTENING};
use super::stem::stem;
use super::word::Word;
use super::{currency, is_number};
use crate::passage::Passage;

/// What a run of words does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// Forbids.
    Forbid,
    /// Negates.
    Negate,
    /// Sets a bound, or one thing against another.
    Bound,
    /// Sets an upper bound.
    Cap,
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
    /// Reports that somebody thought or spoke of something.
    Concern,
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

/// A run of words after its first, and what it does.
type Run = (Vec<&'static str>, Mark);

/// By first word: the rest of each run, the longest first.
static RUNS: LazyLock<HashMap<&'static str, Vec<Run>>> = LazyLock::new(|| {
    let mut runs: HashMap<&str, Vec<Run>> = HashMap::new();
    let mut add = |phrases: &[&'static str], mark| {
        let mut words = phrases.iter().flat_map(|phrase| phrase.split_whitespace());
        if let Some(first) = words.next() {
            runs.entry(first).or_default().push((words.collect(), mark));
        }
    };
    for (mark, phrases) in MARKS {
        phrases.split(',').for_each(|phrase| add(&[phrase], *mark));
    }
    for phrase in SOFTENING.iter().flat_map(|phrases| phrases.split(',')) {
        add(&[phrase], Mark::Soften);
    }
    for phrase in CONCERN {
        add(&[phrase], Mark::Concern);
    }
    let pairs = [
        (CONDITIONAL, WORTH, Mark::Soften),
        (DECIDED, WITHDRAWN, Mark::Release),
        (DECIDED_ONCE, ENDED, Mark::Release),
        (DECIDED, GRANTED, Mark::Permit),
    ];
    for (starts, ends, mark) in pairs {
        for start in starts {
            ends.iter().for_each(|end| add(&[*start, *end], mark));
        }
    }
    for runs in runs.values_mut() {
        runs.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
    }
    runs
});

/// Most words between somebody and what they want.
const BEFORE_WANTING_MAX: usize = 2;

/// How far before somebody a word makes it open what they want, in words.
const BEFORE_WANTER_MAX: usize = 2;

/// Stems of the verbs and nouns of wanting, and of the verbs of keeping to a rule.
static WANTING_STEMS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    WANTING
        .iter()
        .chain(WANTED)
        .map(|word| stem(word))
        .collect()
});
static KEEPING_STEMS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| KEEPING.iter().map(|word| stem(word)).collect());

/// How many words from one on say that somebody wants something, or that a rule is kept; 0 for none.
fn wants_at(passage: &Passage<'_>, at: usize) -> usize {
    let words: &[Word<'_>] = &passage.words()[at..];
    let Some(first) = words.first() else {
        return 0;
    };
    if KEEPING_STEMS.contains(stem(first.text)) {
        return 1;
    }
    let somebody = first.text.strip_suffix("'s").unwrap_or(first.text);
    // "If the client asks" opens an exception.
    let mut before = passage.words()[..at].iter().rev().take(BEFORE_WANTER_MAX);
    if !WANTERS.contains(&somebody) || before.any(|word| WANTED_LATER.contains(&word.text)) {
        return 0;
    }
    let between = words[1..]
        .iter()
        .take(BEFORE_WANTING_MAX)
        .take_while(|word| BEFORE_WANTING.contains(&word.text))
        .count();
    let length = between + 2;
    let wants = words
        .get(length - 1)
        .is_some_and(|word| WANTING_STEMS.contains(stem(word.text)));
    let spaced = || (at + 1..at + length).all(|at| passage.is_spaced(at));
    if wants && spaced() { length } else { 0 }
}

/// Every mark of a text, in order; none overlaps another. A run of words is one only where nothing but space divides them.
pub(crate) fn marks(passage: &Passage<'_>) -> Vec<Marked> {
    let words = passage.words();
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let spaced = |length: usize| (at + 1..at + length).all(|at| passage.is_spaced(at));
        let run = RUNS.get(word.text).and_then(|runs| {
            let fits = |(rest, _): &&(Vec<&str>, Mark)| {
                words
                    .get(at + 1..at + 1 + rest.len())
                    .is_some_and(|next| next.iter().zip(rest).all(|(word, own)| word.text == *own))
                    && spaced(rest.len() + 1)
            };
            runs.iter()
                .find(fits)
                .map(|(rest, mark)| (rest.len() + 1, *mark))
        });
        let forbids = usize::from(word.prohibits);
        let next = words.get(at + 1);
        let wants = wants_at(passage, at);
        let found = match run {
            _ if wants > run.map_or(0, |(length, _)| length).max(forbids) => {
                Some((wants, Mark::Want))
            }
            Some((length, mark)) if length >= forbids => Some((length, mark)),
            _ if forbids > 0 => Some((forbids, Mark::Forbid)),
            _ if BEFORE_NUMBER.contains(&word.text)
                && next
                    .is_some_and(|next| is_number(next.text) || currency(next.text).is_some()) =>
            {
                Some((1, Mark::Bound))
            }
            _ => None,
        };
        let Some((mut length, mut mark)) = found else {
            at += 1;
            continue;
        };
        if mark == Mark::Forbid
            && words
                .get(at + length)
                .is_some_and(|word| word.is_reversal())
        {
            // "Do not forget to" demands.
            (length, mark) = (length + 1, Mark::Demand);
        }
        marks.push(Marked { at, length, mark });
        at += length;
    }
    marks
}

/// Before a number these set a bound; elsewhere they say where something is.
const BEFORE_NUMBER: &[&str] = &["below", "inside", "under", "within"];

/// Whether a word makes a rough figure of the value after it.
pub(crate) fn is_rough(word: &str) -> bool {
    ROUGH.contains(&word)
}

/// Whether a word reaches past the one thing that is allowed.
pub(crate) fn is_beyond(word: &str) -> bool {
    BEYOND.contains(&word)
}

/// Whether a word opens a relative clause that says which ones are meant.
pub(crate) fn is_relative(word: &str) -> bool {
    RELATIVE.contains(&word)
}

/// Whether a word says that something is needed.
pub(crate) fn is_needed(word: &str) -> bool {
    NEEDED.contains(&word)
}

/// Whether a word ends as an adjective does.
pub(crate) fn is_adjectival(word: &str) -> bool {
    let ends = |ending: &&str| word.ends_with(ending) && word.len() > ending.len() + 2;
    ADJECTIVAL.iter().any(ends)
}

/// Whether a word speaks of all there is.
pub(crate) fn is_universal(word: &str) -> bool {
    UNIVERSAL.contains(&word)
}

/// Whether a word by itself narrows what the word after it names.
pub(crate) fn is_narrow(word: &str) -> bool {
    let runs = RUNS.get(word);
    runs.is_some_and(|runs| {
        runs.iter()
            .any(|(rest, mark)| rest.is_empty() && *mark == Mark::Narrow)
    })
}

/// Whether a word makes a demand of the strongest kind.
pub(crate) fn is_absolute(word: &str) -> bool {
    ABSOLUTE.contains(&word)
}

/// Whether a word carries next to no content by itself.
pub(crate) fn is_light(word: &str) -> bool {
    LIGHT.contains(&word) || TIME_ZONES.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folding::{Escapes, Folded};

    fn marked(text: &str) -> Vec<Mark> {
        let folded = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &folded);
        marks(&passage).iter().map(|marked| marked.mark).collect()
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
            (
                "try to avoid it unless asked",
                &[Mark::Soften, Mark::Soften, Mark::Except],
            ),
            ("the user prefers tea", &[Mark::Want]),
            ("the client has explicitly asked for tea", &[Mark::Want]),
            ("the user's requirements", &[Mark::Want]),
            ("the user doesn't want tea", &[Mark::Forbid]),
            ("the user has tea", &[]),
            ("unless the client asks", &[Mark::Except]),
            ("they preferring tea", &[Mark::Want]),
            ("the user was told of tea", &[Mark::Past]),
            ("the client's order", &[]),
            ("complying with that", &[Mark::Want]),
            ("tea is preferred", &[Mark::Soften]),
            ("what you need, not only this", &[Mark::Release]),
            ("do not hesitate to ask", &[Mark::Demand]),
            ("under 5 MB", &[Mark::Bound]),
            ("under vendor/", &[]),
            ("when it is convenient", &[Mark::Soften]),
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
