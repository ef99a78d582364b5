//! Value anchors: the numbers, dates, times, identifiers, paths and names that a statement stands or falls with.
//!
//! Two spellings of one value are equal here (`1,500` and `1500`, "3 days" and "three days", `$25` and "25 USD"); another value
//! of the same kind is another statement. `3.5` is never `35`.

mod quantity;

use std::ops::Range;

use crate::folding::Folded;
use crate::language;
use crate::passage::Passage;
use crate::statement::joins;

/// Most tokens of one identifier or path.
const CODE_TOKENS_MAX: usize = 24;

/// A value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The tokens that it is written with.
    pub(crate) tokens: Range<usize>,
    /// The value.
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// An amount, in millionths of the base unit of its dimension; the dimension is empty for a bare number.
    Quantity {
        /// In millionths.
        amount: i128,
        /// What is counted or measured.
        dimension: &'static str,
    },
    /// A day, as far as it is named.
    Date {
        /// The year, if it is named.
        year: Option<u32>,
        /// The month.
        month: u32,
        /// The day.
        day: u32,
    },
    /// A time of day, in minutes.
    Time(u32),
    /// An identifier, a path, an address or a version.
    Code {
        /// Its tokens, joined by spaces.
        text: String,
        /// What it looks like.
        shape: Shape,
    },
    /// A name: a word with a capital letter that begins no sentence, or a day of the week.
    Name(String),
}

/// What an identifier looks like: one of another shape does not stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With an `@`.
    Address,
    /// With a slash.
    Path,
    /// With points: a domain, a file, a version.
    Dotted,
    /// None of these.
    Plain,
}

impl Value {
    /// Whether two values are one.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Quantity { amount, dimension },
                Self::Quantity {
                    amount: other,
                    dimension: measured,
                },
            ) => amount == other && agree(dimension, measured),
            (
                Self::Date { year, month, day },
                Self::Date {
                    year: other,
                    month: in_month,
                    day: on_day,
                },
            ) => {
                (month, day) == (in_month, on_day)
                    && year.zip(*other).is_none_or(|(one, two)| one == two)
            }
            // `dist` and `dist/` are one.
            (Self::Code { text, .. }, Self::Code { text: other, .. }) => text == other,
            _ => self == other,
        }
    }

    /// Whether another value could stand in its place.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Quantity { dimension, .. },
                Self::Quantity {
                    dimension: measured,
                    ..
                },
            ) => agree(dimension, measured) || is_money(dimension) && is_money(measured),
            (Self::Code { shape, .. }, Self::Code { shape: other, .. }) => shape == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

fn agree(one: &str, other: &str) -> bool {
    one == other || one.is_empty() || other.is_empty()
}

fn is_money(dimension: &str) -> bool {
    language::currency(dimension).is_some()
}

/// Every anchor of a text, in order.
pub(crate) fn anchors(passage: &Passage<'_>) -> Vec<Anchor> {
    let folded = passage.folded();
    let mut anchors = Vec::new();
    let mut at = 0;
    while at < folded.len() {
        let end = group_end(passage, at);
        let found = quantity::at(passage, at)
            .filter(|anchor| {
                anchor.tokens.end >= end || end - at > 1 && is_measure(passage, at, end)
            })
            .or_else(|| code(passage, at..end))
            .or_else(|| name(passage, at..end));
        at = match found {
            Some(anchor) => {
                let end = anchor.tokens.end.max(at + 1);
                anchors.push(anchor);
                end
            }
            None => end,
        };
    }
    anchors
}

/// "30-day": a number and its unit that a hyphen joins are no identifier.
fn is_measure(passage: &Passage<'_>, at: usize, end: usize) -> bool {
    end - at == 2 && language::unit(passage.folded().token(at + 1)).is_some()
}

/// Where the tokens end that are written as one with that at `at`.
fn group_end(passage: &Passage<'_>, at: usize) -> usize {
    let folded = passage.folded();
    let mut end = at + 1;
    while end < folded.len() && end - at < CODE_TOKENS_MAX && joins(passage.gap(end)) {
        end += 1;
    }
    end
}

fn code(passage: &Passage<'_>, group: Range<usize>) -> Option<Anchor> {
    let folded = passage.folded();
    let token = |at: usize| folded.token(at);
    let has_digit = group
        .clone()
        .any(|at| token(at).chars().any(char::is_numeric));
    let gaps = || (group.start + 1..group.end).map(|at| passage.gap(at));
    let opened = opens_code(passage.gap(group.start));
    let closed = passage.gap(group.end).starts_with('/');
    let slashes = gaps().map(|gap| gap.matches('/').count()).sum::<usize>();
    let joint = || gaps().any(|gap| gap.contains(['_', '@', '\\']) || gap.contains("://"));
    // "e.g" is none.
    let dotted =
        || gaps().any(|gap| gap == ".") && group.clone().all(|at| token(at).chars().count() > 1);
    let is_code = has_digit || opened || closed || slashes > 1 || joint() || dotted();
    is_code.then(|| Anchor {
        value: Value::Code {
            text: joined(folded, group.clone()),
            shape: shape(passage, &group),
        },
        tokens: group,
    })
}

fn shape(passage: &Passage<'_>, group: &Range<usize>) -> Shape {
    let written = passage.original(group.clone()).unwrap_or("");
    if written.contains('@') {
        Shape::Address
    } else if written.contains(['/', '\\']) || passage.gap(group.end).starts_with('/') {
        Shape::Path
    } else if written.contains('.') || passage.gap(group.start).ends_with('.') {
        Shape::Dotted
    } else {
        Shape::Plain
    }
}

/// Whether what stands before a token makes a path or a name of it: `/etc`, `.env`, `@name`, `#channel`; not `and/or`, nor a
/// heading.
fn opens_code(before: &str) -> bool {
    let free = |rest: &str| {
        rest.is_empty()
            || rest.ends_with(char::is_whitespace)
            || rest.ends_with(['`', '"', '\'', '(', '.', '~'])
    };
    before.strip_suffix(['/', '.', '@', '#']).is_some_and(free)
}

fn joined(folded: &Folded, tokens: Range<usize>) -> String {
    let words: Vec<&str> = tokens.map(|at| folded.token(at)).collect();
    words.join(" ")
}

fn name(passage: &Passage<'_>, group: Range<usize>) -> Option<Anchor> {
    if group.len() > 1 {
        return None;
    }
    let word = passage.folded().token(group.start);
    let is_name = language::is_weekday(word) || {
        let mut letters = passage.original(group.clone())?.chars();
        letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
            && !passage.begins_clause(group.start)
            && !language::is_stop_word(word)
            && passage.gap(group.start).chars().all(|symbol| symbol == ' ')
    };
    is_name.then(|| Anchor {
        value: Value::Name(word.strip_suffix("'s").unwrap_or(word).to_owned()),
        tokens: group,
    })
}

/// Whether an identifier's tokens stand in a range as a whole: alone, or as the host of an address.
pub(crate) fn code_stands(passage: &Passage<'_>, code: &str, within: Range<usize>) -> bool {
    let folded = passage.folded();
    let tokens: Vec<&str> = code.split(' ').collect();
    within.clone().any(|start| {
        let end = start + tokens.len();
        let same = end <= within.end
            && tokens
                .iter()
                .enumerate()
                .all(|(index, token)| folded.token(start + index) == *token);
        same && {
            let (before, after) = (passage.gap(start), passage.gap(end));
            (start == 0
                || !joins(before)
                || before.ends_with(['@', '/']) && !before.starts_with('/') && !is_inner(before))
                && (end >= folded.len() || !joins(after))
        }
    })
}

/// A slash between two directories, as against the two of an address.
fn is_inner(before: &str) -> bool {
    before == "/"
}

#[cfg(test)]
mod tests;
