//! A part's text as clauses: sentences, list items and headings, each with the sentence or heading that opens it.
//!
//! "You may not: issue refunds; contact customers." is one opener and two clauses under it. So are a heading with bullets below,
//! and a line that ends with a colon. Punctuation inside round brackets divides nothing.

mod divider;

use std::cell::OnceCell;
use std::ops::Range;

use crate::effort;
use crate::folding::Folded;
use crate::language::{self, Stance, Word};
use divider::Divider;

/// How far up the chain of openers is looked.
const OPENERS_MAX: usize = 8;
/// How many tokens of an opener are read, from its end.
const OPENER_TOKENS_MAX: usize = 60;

/// A folded text with its clauses.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    text: &'a str,
    folded: &'a Folded,
    words: Vec<Word<'a>>,
    /// For each word, how many before it may govern others.
    governing: Vec<usize>,
    clauses: Vec<Clause>,
}

/// A run of tokens between two boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    tokens: Range<usize>,
    opener: Option<usize>,
    /// It goes on with the sentence of the clause before it.
    continues: bool,
    /// What it does to the clauses that it opens, once that is asked.
    stance: OnceCell<Stance>,
}

impl<'a> Passage<'a> {
    /// Reads a text that was folded.
    pub(crate) fn new(text: &'a str, folded: &'a Folded) -> Self {
        let words = language::words(folded.words());
        let mut governing = Vec::with_capacity(words.len() + 1);
        governing.push(0);
        for word in &words {
            governing.push(governing[governing.len() - 1] + usize::from(word.may_govern()));
        }
        Self {
            text,
            folded,
            words,
            governing,
            clauses: Divider::divide(text, folded),
        }
    }

    /// The folded text.
    pub(crate) fn folded(&self) -> &'a Folded {
        self.folded
    }

    /// Its words.
    pub(crate) fn words(&self) -> &[Word<'a>] {
        &self.words
    }

    /// Whether nothing but white space or a hyphen stands between a token and the one before it.
    pub(crate) fn is_spaced(&self, token: usize) -> bool {
        let gap = self
            .text
            .get(self.folded.gap(token, self.text.len()))
            .unwrap_or("");
        gap.chars()
            .all(|symbol| symbol.is_whitespace() || matches!(symbol, '-' | '\u{2010}' | '\u{2011}'))
    }

    /// What stands between a token and the one before it; beyond the last, what follows that.
    pub(crate) fn gap(&self, token: usize) -> &'a str {
        let gap = self.folded.gap(token, self.text.len());
        self.text.get(gap).unwrap_or("")
    }

    /// The original text of a run of tokens.
    pub(crate) fn original(&self, tokens: Range<usize>) -> Option<&'a str> {
        self.text.get(self.folded.original(tokens)?)
    }

    /// Whether a token is the first of its clause.
    pub(crate) fn begins_clause(&self, token: usize) -> bool {
        self.clause_index(token)
            .is_some_and(|index| self.clauses[index].tokens.start == token)
    }

    /// The clauses, in order, each with whether it goes on with the sentence of the one before it.
    pub(crate) fn clauses(&self) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
        self.clauses
            .iter()
            .map(|clause| (clause.tokens.clone(), clause.continues))
    }

    /// Whether no word of a range can do anything to the words beside it.
    pub(crate) fn is_quiet(&self, tokens: Range<usize>) -> bool {
        self.governing.get(tokens.start) == self.governing.get(tokens.end)
    }

    /// The tokens of the clause that holds a token.
    pub(crate) fn clause(&self, token: usize) -> Range<usize> {
        self.clause_index(token)
            .map_or(token..token, |index| self.clauses[index].tokens.clone())
    }

    /// The positions, relative to the first, at which clauses begin within a run of tokens.
    pub(crate) fn boundaries(&self, run: &Range<usize>) -> impl Iterator<Item = usize> {
        let first = self
            .clauses
            .partition_point(|clause| clause.tokens.start <= run.start);
        let (start, end) = (run.start, run.end);
        let rest = self.clauses[first..]
            .iter()
            .map(|clause| clause.tokens.start);
        rest.take_while(move |at| *at < end)
            .map(move |at| at - start)
    }

    /// What the nearest opener that says anything does to a token's clause.
    pub(crate) fn opening_stance(&self, token: usize) -> Stance {
        let mut clause = self.clause_index(token).map(|index| &self.clauses[index]);
        for _ in 0..OPENERS_MAX {
            let Some(opener) = clause
                .and_then(|clause| clause.opener)
                .map(|at| &self.clauses[at])
            else {
                break;
            };
            match opener.stance.get_or_init(|| self.stance(opener)) {
                Stance::Neutral => clause = Some(opener),
                stance => return *stance,
            }
        }
        Stance::Neutral
    }

    fn stance(&self, opener: &Clause) -> Stance {
        let tokens = &opener.tokens;
        let start = tokens
            .start
            .max(tokens.end.saturating_sub(OPENER_TOKENS_MAX));
        effort::spend(tokens.end - start);
        language::stance(&self.words[start..tokens.end])
    }

    fn clause_index(&self, token: usize) -> Option<usize> {
        let after = self
            .clauses
            .partition_point(|clause| clause.tokens.start <= token);
        let index = after.checked_sub(1)?;
        self.clauses[index].tokens.contains(&token).then_some(index)
    }
}

#[cfg(test)]
mod tests;
