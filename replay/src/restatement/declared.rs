//! A constraint's text, read for what a restatement must keep.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use remembrancer_schema::payload::ConstraintKind;

use crate::anchor::{self, Anchor, Value};
use crate::folding::{Escapes, Folded};
use crate::language::{self, Mark, Marked, Stance, Word};
use crate::modality::Tone;
use crate::passage::Passage;

/// Most content words of one constraint that are compared.
const CONTENTS_MAX: usize = 64;
/// Most clauses of one constraint that are compared by themselves: who declares more in one text has it compared as a whole.
const CLAUSES_MAX: usize = 16;
/// A declared text of more values is looked for word for word only: each is looked for in each clause that may restate it.
const ANCHORS_MAX: usize = 64;
/// How far "every" reaches, in tokens.
const UNIVERSAL_TOKENS: usize = 2;

/// What a constraint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polarity {
    /// Forbids something.
    Forbids,
    /// Allows one thing and forbids every other.
    Restricts,
    /// Demands one thing and forbids another.
    Both,
    /// Demands something.
    Demands,
    /// Allows something.
    Permits,
    /// States a fact.
    States,
}

/// A constraint's text or one clause of it, read for what a restatement must keep.
#[derive(Debug)]
pub(super) struct Declared {
    /// Position of the constraint.
    pub(super) constraint: usize,
    /// One clause of a longer text: a change of it is a change of the whole, its survival is not.
    pub(super) is_clause: bool,
    /// The values of the whole text.
    pub(super) family: Arc<[Value]>,
    pub(super) polarity: Polarity,
    /// Its content words, by their concepts.
    pub(super) contents: Vec<String>,
    /// Its values.
    pub(super) anchors: Vec<Value>,
    /// Its words.
    pub(super) own: BTreeSet<String>,
    /// The same, in order.
    pub(super) words: Vec<OwnWord>,
    /// Those of its content words that it says of all: "every export".
    pub(super) universal: BTreeSet<usize>,
    /// It is several clauses.
    pub(super) is_long: bool,
    /// It softens, excepts or makes conditions itself.
    pub(super) softens: bool,
    pub(super) excepts: bool,
    /// It demands or forbids in the strongest words, or says it as settled: "should" is then weaker.
    pub(super) is_absolute: bool,
    /// It negates or forbids.
    pub(super) is_negative: bool,
    /// It sets a bound, beyond which it forbids something.
    pub(super) bounds: bool,
}

/// A word of a declared text.
#[derive(Debug)]
pub(super) struct OwnWord {
    pub(super) text: String,
    pub(super) concept: String,
    /// It names something.
    pub(super) is_content: bool,
    /// Which of the content words it is.
    pub(super) content: Option<usize>,
    /// It is part of a value.
    pub(super) is_value: bool,
    /// It says nothing by itself.
    pub(super) is_small: bool,
    /// It negates, obliges or permits.
    pub(super) turns: bool,
}

impl OwnWord {
    /// Whether it is something that a restatement must keep.
    pub(super) fn is_solid(&self) -> bool {
        self.content.is_some() || self.is_value
    }
}

impl Declared {
    /// Reads a text, whole and clause by clause.
    pub(super) fn read(constraint: usize, kind: ConstraintKind, text: &str) -> Vec<Self> {
        let folded = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &folded);
        let mut whole = Self::new(constraint, kind, text);
        if whole.anchors.len() > ANCHORS_MAX {
            return Vec::new();
        }
        let parts = clauses(&passage);
        whole.is_long = passage.clauses().nth(1).is_some();
        let mut all = vec![whole];
        let may_split = matches!(
            kind,
            ConstraintKind::Prohibition | ConstraintKind::Obligation
        );
        for tokens in parts.into_iter().filter(|_| may_split) {
            let Some(text) = passage.original(tokens) else {
                continue;
            };
            let mut clause = Self::new(constraint, ConstraintKind::Obligation, text);
            if clause.contents.len() > 1 {
                clause.is_clause = true;
                clause.family = Arc::clone(&all[0].family);
                clause.is_absolute = all[0].is_absolute;
                clause.own.extend(all[0].own.iter().cloned());
                all.push(clause);
            }
        }
        all
    }

    /// Whether a clause with so many of its content words may restate it at all, even if all values stand there.
    pub(super) fn may_stand(&self, found: usize) -> bool {
        let (contents, all) = (self.contents.len(), found + self.anchors.len());
        let total = contents + self.anchors.len();
        let by_words = found * 2 >= contents && found >= contents.min(2);
        found > 0 && (by_words || all * 2 >= total && all >= total.min(2))
    }

    fn new(constraint: usize, kind: ConstraintKind, text: &str) -> Self {
        let folded = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &folded);
        let words = passage.words();
        let marks = language::marks(&passage);
        let tone = Tone::of(&marks, &(0..words.len()), Stance::Neutral);
        let anchors = anchor::anchors(&passage);
        let contents = contents(words, &anchors, &tone);
        let is_negative = tone.has(Mark::Forbid) || tone.has(Mark::Negate);
        let leads = tone.first(Mark::Forbid).is_some_and(|mark| mark.at <= 2);
        let polarity = match kind {
            ConstraintKind::Permission => Polarity::Permits,
            ConstraintKind::Fact => Polarity::States,
            _ if tone.has(Mark::Exclusive) => Polarity::Restricts,
            ConstraintKind::Prohibition => Polarity::Forbids,
            ConstraintKind::Obligation if leads => Polarity::Forbids,
            ConstraintKind::Obligation if is_negative => Polarity::Both,
            ConstraintKind::Obligation => Polarity::Demands,
        };
        let universal = universal(words, &contents);
        let without = words.iter().any(|word| word.text == "without");
        let own_words = own_words(words, &contents, &anchors);
        let anchors: Vec<Value> = anchors.into_iter().map(|anchor| anchor.value).collect();
        Self {
            constraint,
            is_clause: false,
            family: anchors.clone().into(),
            polarity,
            contents,
            anchors,
            own: words.iter().map(|word| word.text.to_owned()).collect(),
            words: own_words,
            universal,
            is_long: false,
            softens: tone.has(Mark::Soften) || tone.has(Mark::Should),
            excepts: tone.has(Mark::Except) || tone.has(Mark::Condition) || without,
            is_absolute: words.iter().any(|word| language::is_absolute(word.text))
                || language::is_indicative(words)
                || tone.all(Mark::Forbid).any(|mark| is_strict(words, &mark)),
            is_negative,
            bounds: tone.has(Mark::Bound)
                || tone.has(Mark::Cap)
                || words.iter().any(|word| language::is_beyond(word.text)),
        }
    }
}

/// The clauses of a declared text, if there are several: those of its sentences, and what a comma sets against the rest
/// ("…, never from …"). Those beyond [`CLAUSES_MAX`] are left out.
fn clauses(passage: &Passage<'_>) -> Vec<Range<usize>> {
    let words = passage.words();
    let mut clauses: Vec<Range<usize>> = Vec::new();
    for (clause, _) in passage.clauses() {
        let mut start = clause.start;
        for (at, word) in words
            .iter()
            .enumerate()
            .take(clause.end)
            .skip(clause.start + 1)
        {
            let set_against =
                matches!(word.text, "never" | "not" | "which" | "no" | "don't" | "do");
            if set_against && passage.gap(at).contains(',') {
                clauses.push(start..at);
                start = at;
            }
        }
        clauses.push(start..clause.end);
        if clauses.len() > CLAUSES_MAX {
            clauses.truncate(CLAUSES_MAX);
            break;
        }
    }
    if clauses.len() > 1 {
        clauses
    } else {
        Vec::new()
    }
}

/// The content words of a declared text, by their concepts, each once. Where there are few, words that say little count too.
fn contents(words: &[Word<'_>], anchors: &[Anchor], tone: &Tone<'_>) -> Vec<String> {
    // "Frozen" and "off limits" forbid; what, other words say.
    let mut named = vec![true; words.len()];
    let forbids = tone.all(Mark::Forbid);
    let forbids = forbids.map(|mark| mark.at..mark.at + mark.length);
    for run in anchors.iter().map(|one| one.tokens.clone()).chain(forbids) {
        named[run.start.min(words.len())..run.end.min(words.len())].fill(false);
    }
    let mut contents: Vec<String> = Vec::new();
    let mut light: Vec<String> = Vec::new();
    let mut known: HashSet<(bool, String)> = HashSet::new();
    for (word, _) in words.iter().zip(named).filter(|(_, named)| *named) {
        if says_how(word) {
            continue;
        }
        let concept = language::concept(word.text).into_owned();
        let is_light = language::is_light(word.text) || word.is_hedge();
        let list = if is_light { &mut light } else { &mut contents };
        if list.len() < CONTENTS_MAX && known.insert((is_light, concept.clone())) {
            list.push(concept);
        }
        if contents.len() == CONTENTS_MAX {
            break;
        }
    }
    if contents.len() + anchors.len() < 2 {
        light.retain(|concept| !contents.contains(concept));
        contents.extend(light);
    }
    contents.truncate(CONTENTS_MAX);
    contents
}

/// The words of a declared text, each with what it is in it.
fn own_words(words: &[Word<'_>], contents: &[String], anchors: &[Anchor]) -> Vec<OwnWord> {
    let is_value = |at: usize| anchors.iter().any(|anchor| anchor.tokens.contains(&at));
    let own = |(at, word): (usize, &Word<'_>)| {
        let concept = language::concept(word.text).into_owned();
        let (is_content, is_value) = (!says_how(word), is_value(at));
        let known = || contents.iter().position(|content| *content == concept);
        OwnWord {
            text: word.text.to_owned(),
            content: if is_content && !is_value {
                known()
            } else {
                None
            },
            concept,
            is_content,
            is_value,
            is_small: word.is_stop_word() || language::is_light(word.text),
            turns: word.is_polarity() || language::modality(word) != Stance::Neutral,
        }
    };
    words.iter().enumerate().map(own).collect()
}

/// The content words that "every", "all" or "any" stands before.
fn universal(words: &[Word<'_>], contents: &[String]) -> BTreeSet<usize> {
    let of_all = |at: usize| {
        let before = &words[at.saturating_sub(UNIVERSAL_TOKENS)..at];
        before.iter().any(|word| language::is_universal(word.text))
    };
    let named = |at: usize| {
        let concept = language::concept(words[at].text);
        contents.iter().position(|content| *content == concept)
    };
    (0..words.len())
        .filter(|at| of_all(*at))
        .filter_map(named)
        .collect()
}

/// Whether what forbids is more than a bare order: "do not" is reported by "should not".
fn is_strict(words: &[Word<'_>], forbid: &Marked) -> bool {
    let first = words.get(forbid.at);
    first.is_some_and(|word| !matches!(word.text, "do" | "don't" | "not" | "refrain"))
}

/// Whether a word says how something is meant, and not what.
fn says_how(word: &Word<'_>) -> bool {
    word.is_stop_word()
        || word.is_polarity()
        || word.is_exception()
        || language::is_manner(word.text)
        || language::is_absolute(word.text)
}
