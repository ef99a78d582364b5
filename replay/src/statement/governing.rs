//! What governs a run of words in its clause: a prohibition, a permission, an order, or nothing.

use std::ops::Range;

use crate::effort;
use crate::language::{self, Stance, Word};
use crate::passage::Passage;

/// How many tokens of a clause are read on each side of a match.
const REACH_TOKENS: usize = 40;

/// The tokens of a clause that are read for a run in it.
pub(super) fn reach(clause: &Range<usize>, run: &Range<usize>) -> (usize, usize) {
    let low = run.start.saturating_sub(REACH_TOKENS).max(clause.start);
    let high = (run.end + REACH_TOKENS).min(clause.end);
    let (low, high) = (low.min(run.start), high.max(run.end));
    (low, high)
}

/// The words beside a run in its clause. Where none of them can do anything to it, neither side is read.
pub(super) struct Beside<'p, 'a> {
    pub(super) before: &'p [Word<'a>],
    pub(super) after: &'p [Word<'a>],
    /// `before` starts with the clause.
    from_start: bool,
    /// The run begins its clause, as an order does.
    pub(super) begins: bool,
}

impl<'p, 'a> Beside<'p, 'a> {
    pub(super) fn of(passage: &'p Passage<'a>, run: &Range<usize>) -> Self {
        let clause = passage.clause(run.start);
        let (low, high) = reach(&clause, run);
        let words = passage.words();
        let quiet = passage.is_quiet(low..run.start) && passage.is_quiet(run.end..high);
        let before = &words[low..run.start];
        let begins = before
            .iter()
            .all(|word| matches!(word.text, "please" | "then" | "and"));
        let (before, after) = if quiet {
            (&words[..0], &words[..0])
        } else {
            effort::spend(high - low);
            (before, &words[run.end..high])
        };
        Self {
            before,
            after,
            from_start: low == clause.start,
            begins,
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &'p Word<'a>> {
        self.before.iter().chain(self.after)
    }

    /// What governs the run within its clause.
    pub(super) fn stance(&self) -> Stance {
        clause_stance(self.before, self.after, self.from_start)
    }
}

fn clause_stance(before: &[Word<'_>], after: &[Word<'_>], from_start: bool) -> Stance {
    let mut last = None;
    let mut at = 0;
    while at < before.len() {
        let word = &before[at];
        let forbids = language::prohibition_at(before, at, at == 0 && from_start);
        if forbids > 0 {
            last = Some((Stance::Prohibits, at + forbids));
            at += forbids;
            continue;
        }
        let stance = language::modality(word);
        at += 1;
        if stance != Stance::Neutral {
            last = Some((stance, at));
        }
    }
    if let Some((stance, from)) = last {
        return if reaches(stance, &before[from..], after) {
            stance
        } else {
            Stance::Unclear
        };
    }
    let copulas = after.iter().take_while(|word| word.is_copula()).count();
    match (0..=copulas).find(|at| language::prohibition_after(after, *at) > 0) {
        Some(_) => Stance::Prohibits,
        None if after
            .iter()
            .take(REACH_TOKENS)
            .any(|word| matches!(word.text, "not" | "isn't" | "aren't")) =>
        {
            Stance::Unclear
        }
        None => Stance::Neutral,
    }
}

/// Whether what stands before a match reaches it: over small words, or over the earlier members of an "a, b or c".
fn reaches(stance: Stance, between: &[Word<'_>], after: &[Word<'_>]) -> bool {
    if between.iter().all(Word::is_glue) {
        return true;
    }
    if between.iter().any(Word::is_blocker) {
        return false;
    }
    match between.last().map(|word| word.text) {
        Some("or" | "nor") => true,
        Some("and") => stance != Stance::Prohibits,
        _ => {
            after
                .iter()
                .take(12)
                .any(|word| matches!(word.text, "or" | "nor"))
                && !after.iter().take(12).any(Word::is_blocker)
        }
    }
}

/// Length of the prohibition that a declared text begins with, with what stands before it ("You may not", "Never").
pub(super) fn leading_prohibition(words: &[Word<'_>]) -> usize {
    let subject = words
        .iter()
        .take_while(|word| {
            matches!(
                word.text,
                "you" | "the" | "agent" | "agents" | "please" | "it" | "is"
            )
        })
        .count();
    match language::prohibition_at(words, subject, true) {
        0 => 0,
        length => {
            let after = subject + length;
            after
                + words[after..]
                    .iter()
                    .take_while(|word| matches!(word.text, "to" | "ever"))
                    .count()
        }
    }
}
