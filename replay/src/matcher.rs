//! Matchers that a constraint's author declared.

use std::cell::OnceCell;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use remembrancer_schema::payload::{MatchTerm, Matcher};

use crate::folding::{Escapes, Folded};

/// Largest compiled regular expression, in bytes.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

/// A matcher, ready to be looked for. It holds when all of its first terms are found and, if there are more, one of those.
#[derive(Debug)]
pub(crate) struct Search {
    terms: Vec<Look>,
    all_of: usize,
    any_part: bool,
    error: Option<String>,
}

/// One thing to look for.
#[derive(Debug)]
struct Look {
    way: Way,
    label: String,
}

#[derive(Debug)]
enum Way {
    Tokens(Folded),
    Substring(String),
    Regex(Regex),
    /// Cannot be looked for.
    Never,
}

/// A text, with the forms that terms are compared with made once and only when asked for.
pub(crate) struct Subject<'a> {
    text: &'a str,
    escapes: Escapes,
    folded: OnceCell<Folded>,
    lowered: OnceCell<String>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(text: &'a str, escapes: Escapes) -> Self {
        Self {
            text,
            escapes,
            folded: OnceCell::new(),
            lowered: OnceCell::new(),
        }
    }
}

impl Search {
    /// Prepares a matcher. One that cannot be compiled never holds and says why.
    pub(crate) fn new(matcher: &Matcher) -> Self {
        let mut error = None;
        let mut prepare = |term: &MatchTerm| {
            let (way, label) = prepare(term).unwrap_or_else(|reason| {
                error.get_or_insert(reason);
                (Way::Never, String::new())
            });
            Look { way, label }
        };
        let mut terms: Vec<Look> = matcher.all_of.iter().map(&mut prepare).collect();
        terms.extend(matcher.any_of.iter().map(&mut prepare));
        if terms.is_empty() {
            error = Some("it names nothing to look for".to_owned());
        }
        Self {
            terms,
            all_of: matcher.all_of.len(),
            any_part: matcher.any_part,
            error,
        }
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether every part counts, not only carrying ones.
    pub(crate) fn any_part(&self) -> bool {
        self.any_part
    }

    /// Why it cannot be evaluated.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// A term in words.
    pub(crate) fn label(&self, term: usize) -> &str {
        self.terms.get(term).map_or("", |look| look.label.as_str())
    }

    /// Whether it holds, given which of its terms are found.
    pub(crate) fn holds(&self, found: impl Fn(usize) -> bool) -> bool {
        self.error.is_none()
            && (0..self.all_of).all(&found)
            && (self.all_of == self.terms.len() || (self.all_of..self.terms.len()).any(&found))
    }

    /// The first place of each term in a text, as bytes of it.
    pub(crate) fn find(&self, subject: &Subject<'_>) -> Vec<(usize, Range<usize>)> {
        let place = |(index, look): (usize, &Look)| Some((index, look.way.find(subject)?));
        self.terms.iter().enumerate().filter_map(place).collect()
    }
}

impl Way {
    fn find(&self, subject: &Subject<'_>) -> Option<Range<usize>> {
        match self {
            Self::Tokens(needle) => {
                let folded = subject
                    .folded
                    .get_or_init(|| Folded::new(subject.text, subject.escapes));
                let start = folded.occurrences(needle).next()?;
                folded.original(start..start + needle.len())
            }
            Self::Substring(needle) => {
                let lowered = subject.lowered.get_or_init(|| subject.text.to_lowercase());
                let start = lowered.find(needle.as_str())?;
                Some(unlowered(subject.text, start..start + needle.len()))
            }
            // An empty match shows nothing.
            Self::Regex(regex) => regex
                .find(subject.text)
                .map(|found| found.range())
                .filter(|range| !range.is_empty()),
            Self::Never => None,
        }
    }
}

fn label(term: &MatchTerm) -> String {
    match (&term.term, &term.literal, &term.regex) {
        (Some(text), _, _) if term.substring => format!("substring {text:?}"),
        (Some(text), _, _) => format!("term {text:?}"),
        (_, Some(text), _) => format!("literal {text:?}"),
        (_, _, Some(text)) => format!("regex {text:?}"),
        _ => "nothing".to_owned(),
    }
}

fn prepare(term: &MatchTerm) -> Result<(Way, String), String> {
    let label = label(term);
    let way = match (&term.term, &term.literal, &term.regex) {
        (Some(text), _, _) if term.substring && text.trim().is_empty() => {
            return Err(format!("its {label} is empty"));
        }
        (Some(text), _, _) if term.substring => Way::Substring(text.to_lowercase()),
        (Some(text), _, _) | (None, Some(text), _) => {
            let folded = Folded::new(text, Escapes::Plain);
            if folded.len() == 0 {
                return Err(format!("its {label} holds no word"));
            }
            Way::Tokens(folded)
        }
        (None, None, Some(pattern)) => {
            let built = RegexBuilder::new(pattern)
                .size_limit(REGEX_BYTES_MAX)
                .dfa_size_limit(REGEX_BYTES_MAX)
                .build();
            let regex = built.map_err(|error| format!("its {label} does not compile: {error}"))?;
            if regex.is_match("") {
                return Err(format!(
                    "its {label} matches an empty text, so it would hold anywhere"
                ));
            }
            Way::Regex(regex)
        }
        (None, None, None) => return Err("one of its terms names nothing".to_owned()),
    };
    Ok((way, label))
}

/// The bytes of a text that a range of its lower-cased form comes from: whole characters of the text.
fn unlowered(text: &str, lowered: Range<usize>) -> Range<usize> {
    let (mut at, mut start, mut end) = (0, None, 0);
    for (index, symbol) in text.char_indices() {
        let next = at + symbol.to_lowercase().map(char::len_utf8).sum::<usize>();
        if next > lowered.start && at < lowered.end {
            start.get_or_insert(index);
            end = index + symbol.len_utf8();
        }
        if at >= lowered.end {
            break;
        }
        at = next;
    }
    start.map_or(0..0, |start| start..end)
}

#[cfg(test)]
mod tests;
