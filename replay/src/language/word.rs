//! The words of a text, each looked up once: what is asked of them at every match is then a bit or a length.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::decision::{TAKEN_BACK_AFTER, TAKEN_BACK_BEFORE};
use super::softness::SOFTENING;
use super::vocabulary::{
    self, BLOCKERS, COPULAS, EXCEPTIONS, HEDGES, OBLIGING, PERMITTING, PROHIBITIONS,
    PROHIBITIONS_AFTER, RELEASES, REVERSALS,
};

/// A word with what the vocabulary knows of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    classes: u16,
    /// Length of the prohibition that begins here, whatever stands around it; 0 for none. The next two likewise.
    pub(super) prohibits: u8,
    pub(super) prohibits_after: u8,
    pub(super) releases: u8,
}

const STOP: u16 = 1;
const GLUE: u16 = 1 << 1;
const COPULA: u16 = 1 << 2;
const BLOCKER: u16 = 1 << 3;
const POLARITY: u16 = 1 << 4;
const HEDGE: u16 = 1 << 5;
const EXCEPTION: u16 = 1 << 6;
const REVERSAL: u16 = 1 << 7;
const OPENS_PATTERN: u16 = 1 << 8;
const MODAL: u16 = 1 << 9;
const SOFT: u16 = 1 << 10;

/// A run of words, and how many stand before the one that it is looked up by.
type Run = (usize, Vec<&'static str>);

/// The runs of words that soften, each by its last word that is no small one.
static SOFT_RUNS: LazyLock<HashMap<&'static str, Vec<Run>>> = LazyLock::new(|| {
    let mut runs: HashMap<&str, Vec<Run>> = HashMap::new();
    for phrase in SOFTENING.iter().flat_map(|phrases| phrases.split(',')) {
        let run: Vec<&str> = phrase.split_whitespace().collect();
        let last = run
            .iter()
            .rposition(|word| !vocabulary::STOP_WORDS.contains(word));
        if let Some(last) = last {
            runs.entry(run[last]).or_default().push((last, run));
        }
    }
    runs
});

/// The run of words that softens and has its main word at `at`.
pub(crate) fn softening_at(words: &[Word<'_>], at: usize) -> Option<Range<usize>> {
    let word = words.get(at).filter(|word| word.is(SOFT))?;
    SOFT_RUNS.get(word.text)?.iter().find_map(|(before, run)| {
        let start = at.checked_sub(*before)?;
        let here = words.get(start..start + run.len())?;
        let same = here.iter().zip(run).all(|(word, own)| word.text == *own);
        same.then(|| start..start + run.len())
    })
}

static CLASSES: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let lists = [
        (vocabulary::STOP_WORDS, STOP),
        (vocabulary::GLUE, GLUE),
        (COPULAS, COPULA),
        (BLOCKERS, BLOCKER),
        (vocabulary::POLARITY, POLARITY),
        (HEDGES, HEDGE),
        (EXCEPTIONS, EXCEPTION),
        (REVERSALS, REVERSAL | BLOCKER),
        (PERMITTING, MODAL),
        (OBLIGING, MODAL),
    ];
    let mut classes: HashMap<&str, u16> = HashMap::new();
    for (words, class) in lists {
        for word in words {
            *classes.entry(word).or_default() |= class;
        }
    }
    let patterns = PROHIBITIONS
        .iter()
        .chain(PROHIBITIONS_AFTER)
        .chain(RELEASES)
        .chain(TAKEN_BACK_BEFORE)
        .chain(TAKEN_BACK_AFTER);
    for word in SOFT_RUNS.keys() {
        *classes.entry(word).or_default() |= SOFT;
    }
    for first in patterns.filter_map(|pattern| pattern.first()) {
        *classes.entry(first).or_default() |= OPENS_PATTERN;
    }
    classes
});

/// Looks up every word of a text.
pub(crate) fn words<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Word<'a>> {
    let texts: Vec<&str> = texts.collect();
    let word = |(at, text): (usize, &&'a str)| {
        let classes = CLASSES.get(text).copied().unwrap_or(0);
        let length = |patterns| {
            if classes & OPENS_PATTERN == 0 {
                0
            } else {
                pattern_at(patterns, &texts, at)
            }
        };
        Word {
            text,
            classes,
            prohibits: length(PROHIBITIONS),
            prohibits_after: length(PROHIBITIONS_AFTER),
            releases: length(RELEASES),
        }
    };
    texts.iter().enumerate().map(word).collect()
}

impl Word<'_> {
    pub(crate) fn is_stop_word(&self) -> bool {
        self.is(STOP)
    }

    pub(crate) fn is_glue(&self) -> bool {
        self.is(GLUE)
    }

    pub(crate) fn is_copula(&self) -> bool {
        self.is(COPULA)
    }

    pub(crate) fn is_blocker(&self) -> bool {
        self.is(BLOCKER)
    }

    pub(crate) fn is_polarity(&self) -> bool {
        self.is(POLARITY)
    }

    pub(crate) fn is_hedge(&self) -> bool {
        self.is(HEDGE)
    }

    pub(crate) fn is_exception(&self) -> bool {
        self.is(EXCEPTION)
    }

    /// Whether it negates, obliges, hedges or excepts.
    pub(crate) fn turns(&self) -> bool {
        self.is(POLARITY | HEDGE | EXCEPTION)
    }

    /// Whether it can do anything to the words beside it: permit, oblige, forbid, negate, hedge, except or take back.
    pub(crate) fn may_govern(&self) -> bool {
        self.is(POLARITY | HEDGE | EXCEPTION | OPENS_PATTERN | MODAL | SOFT)
    }

    pub(crate) fn is_reversal(&self) -> bool {
        self.is(REVERSAL)
    }

    fn is(&self, class: u16) -> bool {
        self.classes & class != 0
    }
}

/// Length of the longest pattern that begins at a word; 0 for none.
pub(super) fn pattern_at(patterns: &[&[&str]], words: &[&str], at: usize) -> u8 {
    let rest = words.get(at..).unwrap_or(&[]);
    let lengths = patterns
        .iter()
        .filter(|pattern| rest.starts_with(pattern))
        .map(|pattern| u8::try_from(pattern.len()).unwrap_or(u8::MAX));
    lengths.max().unwrap_or(0)
}
