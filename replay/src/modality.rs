//! How strongly a stretch of text is meant: what it demands, forbids, permits, takes back, softens and excepts.

use std::ops::Range;

use crate::language::{Mark, Marked, Stance, Word};
use crate::passage::Passage;

/// How far before a permission a negation, an exception or "only" reaches it, in tokens.
const BEFORE_PERMISSION: usize = 6;
/// How far after it "only" does.
const AFTER_PERMISSION: usize = 8;
/// How far before it a condition makes it part of a question or a clause of its own ("if you can").
const CONDITION: usize = 3;

/// The marks of a stretch of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tone<'m> {
    marks: &'m [Marked],
    /// What the opener of its list does.
    opener: Stance,
}

impl<'m> Tone<'m> {
    /// The tone of a range of tokens, given the marks of the whole text.
    pub(crate) fn of(marks: &'m [Marked], tokens: &Range<usize>, opener: Stance) -> Self {
        let from = marks.partition_point(|marked| marked.at < tokens.start);
        let to = marks.partition_point(|marked| marked.at < tokens.end);
        Self {
            marks: &marks[from..to.max(from)],
            opener,
        }
    }

    /// Whether a mark stands in it.
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.first(mark).is_some()
    }

    /// The first such mark.
    pub(crate) fn first(&self, mark: Mark) -> Option<Marked> {
        self.marks
            .iter()
            .copied()
            .find(|marked| marked.mark == mark)
    }

    /// Whether any mark covers a token.
    pub(crate) fn covers(&self, at: usize) -> bool {
        let from = self.marks.partition_point(|marked| marked.at <= at);
        from.checked_sub(1)
            .is_some_and(|last| self.marks[last].at + self.marks[last].length > at)
    }

    /// All marks of one kind.
    pub(crate) fn all(&self, mark: Mark) -> impl Iterator<Item = Marked> + 'm {
        let marks = self.marks.iter().copied();
        marks.filter(move |marked| marked.mark == mark)
    }

    /// Whether it forbids.
    pub(crate) fn forbids(&self) -> bool {
        self.has(Mark::Forbid) || self.opener == Stance::Prohibits
    }

    /// Whether it forbids, negates, allows one thing alone, or sets a bound.
    pub(crate) fn restricts(&self) -> bool {
        self.forbids()
            || self.has(Mark::Negate)
            || self.has(Mark::Exclusive)
            || self.has(Mark::Bound)
            || self.has(Mark::Cap)
    }

    /// Whether the opener of its list permits it.
    pub(crate) fn permits(&self) -> bool {
        self.opener == Stance::Permits
    }

    /// Whether it says how things shall be, as against how they are.
    pub(crate) fn is_normative(&self) -> bool {
        self.forbids()
            || self.opener == Stance::Obliges
            || [
                Mark::Negate,
                Mark::Exclusive,
                Mark::Cap,
                Mark::Demand,
                Mark::Should,
                Mark::Want,
            ]
            .iter()
            .any(|mark| self.has(*mark))
    }

    /// The first permission that is one: not negated, not of one thing alone, and in no condition of its clause.
    /// Marks that `is_topic` knows as words of what is spoken about change nothing ("travel alone").
    pub(crate) fn permission(
        &self,
        passage: &Passage<'_>,
        is_topic: impl Fn(&Marked) -> bool,
    ) -> Option<Marked> {
        let near =
            |marked: &Marked, reach: usize, at: usize| marked.at < at && marked.at + reach >= at;
        self.all(Mark::Permit).find(|permit| {
            let clause = passage.clause(permit.at);
            let here = |other: &&Marked| clause.contains(&other.at) && !is_topic(other);
            // "Can we …" asks.
            let next = passage.words().get(permit.at + permit.length);
            if next.is_some_and(|next| matches!(next.text, "i" | "we" | "you")) {
                return false;
            }
            !self
                .marks
                .iter()
                .filter(here)
                .any(|other| match other.mark {
                    Mark::Negate | Mark::Forbid | Mark::Except => {
                        near(other, BEFORE_PERMISSION, permit.at)
                    }
                    Mark::Exclusive | Mark::Cap => {
                        near(other, BEFORE_PERMISSION, permit.at)
                            || other.at > permit.at && other.at <= permit.at + AFTER_PERMISSION
                    }
                    Mark::Condition => near(other, CONDITION, permit.at),
                    _ => false,
                })
        })
    }

    /// Whether "should" stands here without anything that makes it strict.
    pub(crate) fn merely_should(
        &self,
        words: &[Word<'_>],
        is_topic: impl Fn(&Marked) -> bool,
    ) -> Option<Marked> {
        let mut only = self.all(Mark::Exclusive);
        let strict = self.has(Mark::Demand) || only.any(|only| !is_topic(&only));
        let never = |should: &Marked| {
            let next = words.get(should.at + should.length);
            next.is_some_and(|next| next.text == "never")
        };
        self.first(Mark::Should)
            .filter(|should| !strict && !never(should))
    }

    /// Whether it only tells what was.
    pub(crate) fn is_report(&self) -> bool {
        let norms = [
            Mark::Forbid,
            Mark::Demand,
            Mark::Should,
            Mark::Want,
            Mark::Exclusive,
        ];
        self.has(Mark::Past)
            && self.opener == Stance::Neutral
            && !norms.iter().any(|mark| self.has(*mark))
    }
}

/// The words of a mark.
pub(crate) fn words_of<'a>(words: &[Word<'a>], marked: &Marked) -> String {
    let run = words
        .get(marked.at..marked.at + marked.length)
        .unwrap_or(&[]);
    let texts: Vec<&'a str> = run.iter().map(|word| word.text).collect();
    texts.join(" ")
}
