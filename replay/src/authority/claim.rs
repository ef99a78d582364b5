//! The sentences of a text that say somebody allowed something.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::effort;
use crate::folding::{Escapes, Folded};
use crate::language::{self, authority};

/// Longest sentence that is read as one.
const SENTENCE_TOKENS_MAX: usize = 200;
/// Most characters of a sentence that are kept.
const SENTENCE_CHARS_MAX: usize = 400;
/// Most words of what was allowed that are looked for.
const CONTENT_WORDS_MAX: usize = 16;

/// A sentence that says somebody allowed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// Bytes of the text.
    pub(super) range: (usize, usize),
    pub(super) sentence: String,
    pub(super) grantor: Option<String>,
    /// Stems of the words that tell what was allowed; empty where nothing does.
    pub(super) content: BTreeSet<String>,
}

impl Claim {
    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        let stems = self.content.iter();
        self.sentence.len()
            + self.grantor.as_ref().map_or(0, String::len)
            + stems
                .map(|stem| size_of::<String>() + stem.len())
                .sum::<usize>()
    }
}

/// The first claims of a text, in order, at most so many.
pub(super) fn claims(text: &str, most: usize) -> Vec<Claim> {
    if most == 0 {
        return Vec::new();
    }
    let folded = Folded::new(text, Escapes::Plain);
    effort::spend(folded.len());
    let gap = |at: usize| text.get(folded.gap(at, text.len())).unwrap_or("");
    let mut claims = Vec::new();
    let mut start = 0;
    for end in 1..=folded.len() {
        let ends = end == folded.len()
            || end - start >= SENTENCE_TOKENS_MAX
            || ends_sentence(gap(end), folded.token(end - 1), folded.token(end));
        if !ends {
            continue;
        }
        if !gap(end)
            .trim_start_matches(['"', '\'', ')'])
            .starts_with('?')
        {
            claims.extend(claim(text, &folded, start..end));
        }
        start = end;
        if claims.len() == most {
            break;
        }
    }
    claims
}

fn claim(text: &str, folded: &Folded, sentence: Range<usize>) -> Option<Claim> {
    let words: Vec<&str> = sentence.clone().map(|at| folded.token(at)).collect();
    let gap = |at: usize| {
        text.get(folded.gap(sentence.start + at, text.len()))
            .unwrap_or("")
    };
    let divides = |at: usize| gap(at).contains([',', ';', '(', ')', '\u{2014}']);
    // "authorized_keys" and "user_approved=true" are names.
    let joined = |at: usize| {
        at > 0
            && at < words.len()
            && gap(at).contains(['_', '=', '/', '.'])
            && !gap(at).contains(char::is_whitespace)
    };
    let permitted = authority::permitted(&words, divides, joined)?;
    let range = folded.original(sentence.clone())?;
    Some(Claim {
        range: (range.start, range.end),
        sentence: text.get(range)?.chars().take(SENTENCE_CHARS_MAX).collect(),
        grantor: permitted
            .grantor
            .and_then(|at| folded.original(sentence.start + at..sentence.start + at + 1))
            .and_then(|range| text.get(range))
            .map(str::to_owned),
        content: content(&words, &permitted),
    })
}

/// What was allowed: what follows in the clause, or else what stands before, or else the rest of the sentence.
fn content(words: &[&str], permitted: &authority::Permitted) -> BTreeSet<String> {
    let stems = |range: Range<usize>| -> BTreeSet<String> {
        words[range]
            .iter()
            .filter(|word| is_content(word))
            .map(|word| language::stem(word).to_owned())
            .take(CONTENT_WORDS_MAX)
            .collect()
    };
    let after = stems(permitted.words.end..permitted.clause.end);
    if !after.is_empty() {
        return after;
    }
    let before = stems(permitted.clause.start..permitted.words.start);
    if !before.is_empty() {
        return before;
    }
    let mut rest = stems(0..permitted.words.start);
    rest.extend(stems(permitted.words.end..words.len()));
    rest
}

/// Whether a word tells what was allowed.
pub(super) fn is_content(word: &str) -> bool {
    !language::is_stop_word(word) && !language::is_manner(word) && !authority::is_of_authority(word)
}

/// Whether what stands between two words ends a sentence.
pub(super) fn ends_sentence(gap: &str, before: &str, after: &str) -> bool {
    let mut lines = gap.split('\n').skip(1);
    let is_list = |line: &str| {
        line.trim_start()
            .starts_with(['-', '*', '#', '\u{2022}', '+'])
    };
    let numbered = |line: &str| {
        line.trim().is_empty()
            && after.len() <= 2
            && after.bytes().all(|byte| byte.is_ascii_digit())
    };
    if gap.matches('\n').count() > 1 || lines.any(|line| is_list(line) || numbered(line)) {
        return true;
    }
    let mut marks = gap
        .char_indices()
        .filter(|(_, mark)| matches!(mark, '.' | '!' | '?' | '\u{2026}'));
    // An initial or "e.g." ends no sentence.
    let is_initial =
        before.chars().count() == 1 && !before.bytes().all(|byte| byte.is_ascii_digit());
    marks.any(|(at, mark)| {
        let rest =
            gap[at + mark.len_utf8()..].trim_start_matches(['"', '\'', ')', '*', '\u{201d}']);
        (mark != '.' || !is_initial)
            && (rest.is_empty() || rest.starts_with(char::is_whitespace))
            && gap.contains(char::is_whitespace)
    })
}
