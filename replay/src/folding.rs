//! Folding: what two spellings of the same words have in common, with the way back to the original bytes.
//!
//! A text is folded into tokens joined by single spaces. Invisible characters go first (zero-width, bidirectional controls,
//! soft hyphens, variation selectors), then NFKC, then full case folding; what is left of white space and punctuation
//! separates tokens, `_`, `-`, `/` and quotes included. Some marks change what a text says and stay:
//!
//! - inside numbers `.` `,` `:` `/` and dashes: `3.5` is neither `35` nor `3 5`, and `1,500` is not `1500`;
//! - a sign, a currency and a per cent mark at a number: `$149`, `-5`, `5%` are not `149`, `5`, `5`;
//! - superscript digits: `10²` is `10^2`, not `102`;
//! - comparisons (`<` `>` `=` `≤` `≥` `≠` `!=`) as tokens of their own, except as quotation marks of Markdown and as tags;
//! - the apostrophe between letters (`don't`, `don’t`), and `c++`, `c#`.
//!
//! Two spellings of one number that differ in these marks are not equal: a missed match is a question, a false one is an
//! answer that misleads.

mod glyph;

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use glyph::{Glyph, glyphs};

/// Longest needle whose occurrences may overlap by more than the space between them.
const OVERLAP_BYTES_MAX: usize = 256;

/// A folded text. Tokens keep the byte ranges of the original that they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folded {
    text: String,
    tokens: Vec<Token>,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token {
    start: usize,
    end: usize,
    from: usize,
    to: usize,
}

/// What a backslash means in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Escapes {
    /// Nothing.
    Plain,
    /// It starts an escape, as in JSON: arguments and results of tools are mostly that.
    Json,
}

impl Folded {
    /// Folds a text.
    pub(crate) fn new(text: &str, escapes: Escapes) -> Self {
        let glyphs = glyphs(text, escapes);
        let mut builder = Builder {
            folded: Self {
                text: String::with_capacity(text.len() + 2),
                tokens: Vec::new(),
            },
            open: false,
        };
        builder.folded.text.push(' ');
        for (index, glyph) in glyphs.iter().enumerate() {
            let before = index
                .checked_sub(1)
                .and_then(|at| glyphs.get(at))
                .map(|g| g.symbol);
            let after = glyphs.get(index + 1).map(|g| g.symbol);
            let role = role(glyph.symbol, before, after, || starts_line(&glyphs, index));
            builder.add(role, glyph);
        }
        builder.close();
        builder.folded
    }

    /// Number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens, each with a space before and after it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A token's text; empty beyond the last.
    pub(crate) fn token(&self, index: usize) -> &str {
        self.tokens
            .get(index)
            .map_or("", |token| &self.text[token.start..token.end])
    }

    /// Every token's text, in order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.tokens
            .iter()
            .map(|token| &self.text[token.start..token.end])
    }

    /// Bytes of the original text that a run of tokens comes from; `None` for an empty run or one beyond the last token.
    pub(crate) fn original(&self, tokens: Range<usize>) -> Option<Range<usize>> {
        let first = self.tokens.get(tokens.start)?;
        let last = self.tokens.get(tokens.end.checked_sub(1)?)?;
        (first.from <= last.to).then_some(first.from..last.to)
    }

    /// Bytes of the original text between a token and the one before it (for the first: the beginning; beyond the last: the
    /// end of a text of `length` bytes).
    pub(crate) fn gap(&self, index: usize, length: usize) -> Range<usize> {
        let from = index
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .map_or(0, |t| t.to);
        let to = self.tokens.get(index).map_or(length, |token| token.from);
        from..to.max(from)
    }

    /// The token that starts at a byte of the folded text.
    pub(crate) fn token_at(&self, start: usize) -> Option<usize> {
        self.tokens
            .binary_search_by_key(&start, |token| token.start)
            .ok()
    }

    /// Every place where another folded text stands, as positions of its first token.
    pub(crate) fn occurrences<'a>(&'a self, needle: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || {
            if needle.tokens.is_empty() {
                return None;
            }
            let found = at + self.text.get(at..)?.find(needle.text.as_str())?;
            // A long needle is not looked for within itself: each byte is then compared once or twice.
            at = found
                + if needle.text.len() > OVERLAP_BYTES_MAX {
                    needle.text.len() - 1
                } else {
                    1
                };
            // The needle begins with a space, so the byte after it starts a token.
            self.token_at(found + 1)
        })
    }
}

/// What a character does to the token at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Ends it.
    Separates,
    /// Goes on with it, as itself or as another character.
    Joins(char),
    /// Begins a new one.
    Begins(char),
    /// Is one of its own.
    Stands(char),
}

struct Builder {
    folded: Folded,
    open: bool,
}

impl Builder {
    fn add(&mut self, role: Role, glyph: &Glyph) {
        match role {
            Role::Separates => self.close(),
            Role::Joins(symbol) => self.push(symbol, glyph),
            Role::Begins(symbol) => {
                self.close();
                self.push(symbol, glyph);
            }
            Role::Stands(symbol) => {
                self.close();
                self.push(symbol, glyph);
                self.close();
            }
        }
    }

    fn push(&mut self, symbol: char, glyph: &Glyph) {
        let start = self.folded.text.len();
        self.folded.text.push(symbol);
        let end = self.folded.text.len();
        match self.folded.tokens.last_mut() {
            Some(token) if self.open => {
                token.end = end;
                token.to = glyph.to;
            }
            _ => self.folded.tokens.push(Token {
                start,
                end,
                from: glyph.from,
                to: glyph.to,
            }),
        }
        self.open = true;
    }

    fn close(&mut self) {
        if self.open {
            self.folded.text.push(' ');
            self.open = false;
        }
    }
}

fn role(
    symbol: char,
    before: Option<char>,
    after: Option<char>,
    starts_line: impl FnOnce() -> bool,
) -> Role {
    let digit = |at: Option<char>| at.is_some_and(char::is_numeric);
    let letter = |at: Option<char>| at.is_some_and(char::is_alphabetic);
    let word = |at: Option<char>| at.is_some_and(is_word);
    let blank = |at: Option<char>| at.is_none_or(|c| c.is_whitespace() || "([{=:;,\"".contains(c));
    let amount = |at: Option<char>| at.is_some_and(|c| c.is_numeric() || is_currency(c));
    let dash = if is_dash(symbol) { '-' } else { symbol };
    match dash {
        c if is_word(c) => Role::Joins(c),
        '^' if digit(after) && word(before) => Role::Joins('^'),
        '\'' | '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{2032}'
            if letter(before) && letter(after) =>
        {
            Role::Joins('\'')
        }
        '.' | ',' | ':' | '/' | '-' if digit(before) && digit(after) => Role::Joins(dash),
        '\u{2044}' | '\u{2215}' if digit(before) && digit(after) => Role::Joins('/'),
        '.' if digit(after) && blank(before) => Role::Begins('.'),
        '-' | '+' if amount(after) && blank(before) => Role::Begins(dash),
        '-' if digit(after) && before.is_some_and(is_currency) => Role::Joins('-'),
        '+' if (word(before) || before == Some('+')) && !word(after) => Role::Joins('+'),
        '#' if letter(before) && !word(after) => Role::Joins('#'),
        c if is_currency(c) && (word(before) || matches!(before, Some('-' | '+'))) => {
            Role::Joins(c)
        }
        c if is_currency(c) && (digit(after) || matches!(after, Some('-' | '.'))) => {
            Role::Begins(c)
        }
        c if is_currency(c) => Role::Stands(c),
        '%' | '\u{2030}' if digit(before) => Role::Joins(dash),
        '%' | '\u{2030}' | '\u{2264}' | '\u{2265}' | '\u{2260}' | '\u{b1}' | '\u{ac}' => {
            Role::Stands(dash)
        }
        '<' if !letter(after) && after != Some('/') => Role::Stands('<'),
        '>' if (blank(before) || amount(after) || after == Some('=')) && !starts_line() => {
            Role::Stands('>')
        }
        '=' if before != Some('=') && !matches!(after, Some('=' | '>')) => Role::Stands('='),
        '!' if after == Some('=') => Role::Stands('!'),
        _ => Role::Separates,
    }
}

fn starts_line(glyphs: &[Glyph], index: usize) -> bool {
    // Quotation marks may be nested; a longer run of blanks is no quotation.
    glyphs[..index]
        .iter()
        .rev()
        .take(16)
        .find(|glyph| !matches!(glyph.symbol, ' ' | '\t' | '>'))
        .is_none_or(|glyph| glyph.symbol == '\n' || glyph.symbol == '\r')
}

fn is_word(symbol: char) -> bool {
    symbol.is_alphanumeric() || is_combining_mark(symbol)
}

fn is_currency(symbol: char) -> bool {
    matches!(symbol, '$' | '\u{a2}'..='\u{a5}' | '\u{58f}' | '\u{60b}' | '\u{9f2}' | '\u{9f3}' | '\u{af1}' | '\u{bf9}'
        | '\u{e3f}' | '\u{17db}' | '\u{20a0}'..='\u{20cf}')
}

fn is_dash(symbol: char) -> bool {
    matches!(
        symbol,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

#[cfg(test)]
mod tests;
