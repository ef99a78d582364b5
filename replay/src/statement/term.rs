//! The words of a statement, by their stems.

use crate::folding::Folded;
use crate::language;

/// One word of a statement, or several that are written as one (`us-east-1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(super) stems: Vec<String>,
}

/// The stems of a text's tokens.
pub(crate) struct Stems<'a>(pub(super) Vec<&'a str>);

impl<'a> Stems<'a> {
    pub(crate) fn of(folded: &'a Folded) -> Self {
        Self(folded.words().map(language::stem).collect())
    }
}

impl Term {
    /// The stem to look for first.
    pub(crate) fn first(&self) -> &str {
        self.stems.first().map_or("", String::as_str)
    }

    pub(super) fn stands_at(&self, stems: &Stems<'_>, at: usize) -> bool {
        let rest = stems.0.get(at..).unwrap_or(&[]);
        rest.len() >= self.stems.len() && self.stems.iter().zip(rest).all(|(a, b)| a == b)
    }
}

/// The words of a text that are no stop words, each with the position of its first token.
pub(super) fn terms(text: &str, folded: &Folded) -> Vec<(usize, Term)> {
    let mut terms = Vec::new();
    let mut at = 0;
    while at < folded.len() {
        let mut end = at + 1;
        while end < folded.len() && text.get(folded.gap(end, text.len())).is_some_and(joins) {
            end += 1;
        }
        let stems: Vec<String> = (at..end)
            .map(|at| language::stem(folded.token(at)).to_owned())
            .collect();
        if !(at..end).all(|at| language::is_stop_word(folded.token(at))) {
            terms.push((at, Term { stems }));
        }
        at = end;
    }
    terms
}

/// Whether a gap without white space makes one word of what it stands between.
pub(crate) fn joins(gap: &str) -> bool {
    !gap.is_empty()
        && gap.chars().all(|symbol| {
            matches!(
                symbol,
                '-' | '_' | '.' | '/' | ':' | '@' | '\\' | '\u{2010}' | '\u{2011}'
            )
        })
}
