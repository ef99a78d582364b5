//! A word as it stands in a command: which characters are quoted, and where the shell puts in what cannot be known.
//!
//! The parser says where words, and the commands inside them, begin and end; what the quotes of a word mean is read here, from
//! the very characters, so that every one of them is accounted for.

use std::collections::BTreeMap;

/// Deepest nesting of quotes and expansions in a word.
const NESTING_MAX: usize = 24;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// A character that stands for itself, or, where it is not quoted, may be special.
    Char {
        /// The character.
        of: char,
        /// It stands for itself.
        is_quoted: bool,
    },
    /// The value of a variable.
    Variable {
        /// Its name.
        name: String,
        /// Its value stays one word.
        is_quoted: bool,
    },
    /// Something else that the shell puts in.
    Open,
}

/// A word, and the code that runs while it is put together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) units: Vec<Unit>,
    pub(super) code: Vec<String>,
}

/// Commands inside words and what else the parser found, by where they begin: where they end, as bytes of the text.
pub(super) type Ends = BTreeMap<usize, usize>;

/// A word that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Outside quotes, to the end.
    Plain,
    /// Up to the closing double quote.
    Quotes,
    /// Up to the closing brace of an expansion.
    Braces,
    /// A here-document or arithmetic, to the end: as in double quotes, and these stand for themselves.
    Document,
}

/// Reads the word that stands in `text` from `start` to `end`.
pub(super) fn word(
    text: &str,
    start: usize,
    end: usize,
    ends: &Ends,
) -> Result<Scanned, Unreadable> {
    scan(text, start, end, ends, Within::Plain)
}

/// Reads the body of a here-document that the shell expands, or arithmetic.
pub(super) fn document(
    text: &str,
    start: usize,
    end: usize,
    ends: &Ends,
) -> Result<Scanned, Unreadable> {
    scan(text, start, end, ends, Within::Document)
}

fn scan(
    text: &str,
    start: usize,
    end: usize,
    ends: &Ends,
    within: Within,
) -> Result<Scanned, Unreadable> {
    let mut scanner = Scanner {
        text: text.get(..end).ok_or(Unreadable)?,
        at: start,
        ends,
        depth: 0,
        found: Scanned::default(),
    };
    if text.get(start..end).is_none() {
        return Err(Unreadable);
    }
    scanner.scan(within, true)?;
    Ok(scanner.found)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    ends: &'a Ends,
    depth: usize,
    found: Scanned,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn push(&mut self, of: char, is_quoted: bool) {
        self.found.units.push(Unit::Char { of, is_quoted });
    }

    /// Scans up to the end of what it is within. What stands in braces is not kept: `keeps` is then false.
    fn scan(&mut self, within: Within, keeps: bool) -> Result<(), Unreadable> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(Unreadable);
        }
        let before = self.found.units.len();
        let result = self.scan_through(within);
        if !keeps {
            self.found.units.truncate(before);
        }
        self.depth -= 1;
        result
    }

    fn scan_through(&mut self, within: Within) -> Result<(), Unreadable> {
        let is_quoted = matches!(within, Within::Quotes | Within::Document);
        loop {
            let start = self.at;
            let Some(next) = self.next() else {
                return match within {
                    Within::Plain | Within::Document => Ok(()),
                    Within::Quotes | Within::Braces => Err(Unreadable),
                };
            };
            match next {
                '\\' => self.escape(is_quoted)?,
                '\'' if !is_quoted => self.single_quotes()?,
                '"' if within == Within::Quotes => return Ok(()),
                '"' if within != Within::Document => self.scan(Within::Quotes, true)?,
                '}' if within == Within::Braces => return Ok(()),
                '`' => self.backticks()?,
                '$' => self.dollar(start, is_quoted)?,
                '<' | '>' if !is_quoted && self.ends.contains_key(&start) => {
                    self.substitution(start)?;
                }
                other => self.push(other, is_quoted),
            }
        }
    }

    fn escape(&mut self, is_quoted: bool) -> Result<(), Unreadable> {
        match self.next() {
            // A backslash at the very end stands for itself.
            None => self.push('\\', true),
            Some('\n') => {}
            Some(next) if !is_quoted || matches!(next, '$' | '`' | '"' | '\\') => {
                self.push(next, true);
            }
            Some(next) => {
                self.push('\\', true);
                self.push(next, true);
            }
        }
        Ok(())
    }

    fn single_quotes(&mut self) -> Result<(), Unreadable> {
        let length = self.rest().find('\'').ok_or(Unreadable)?;
        let (start, end) = (self.at, self.at + length);
        let inside = self.text[start..end].chars();
        self.found.units.extend(inside.map(|of| Unit::Char {
            of,
            is_quoted: true,
        }));
        self.at = end + 1;
        Ok(())
    }

    /// `$'…'`: the usual escapes are read; with any other one the text is open.
    fn ansi_quotes(&mut self) -> Result<(), Unreadable> {
        loop {
            match self.next().ok_or(Unreadable)? {
                '\'' => return Ok(()),
                '\\' => match self.next().ok_or(Unreadable)? {
                    'n' => self.push('\n', true),
                    't' => self.push('\t', true),
                    of @ ('\\' | '\'' | '"' | '?') => self.push(of, true),
                    _ => self.found.units.push(Unit::Open),
                },
                of => self.push(of, true),
            }
        }
    }

    fn backticks(&mut self) -> Result<(), Unreadable> {
        let mut code = String::new();
        loop {
            match self.next().ok_or(Unreadable)? {
                '`' => break,
                '\\' => match self.next().ok_or(Unreadable)? {
                    of @ ('`' | '\\' | '$') => code.push(of),
                    of => code.extend(['\\', of]),
                },
                of => code.push(of),
            }
        }
        self.found.code.push(code);
        self.found.units.push(Unit::Open);
        Ok(())
    }

    fn dollar(&mut self, start: usize, is_quoted: bool) -> Result<(), Unreadable> {
        let Some(next) = self.rest().chars().next() else {
            self.push('$', true);
            return Ok(());
        };
        match next {
            '(' => return self.substitution(start),
            '{' => return self.braces(is_quoted),
            '[' => return Err(Unreadable),
            '\'' if !is_quoted => {
                self.at += 1;
                return self.ansi_quotes();
            }
            '"' if !is_quoted => {
                self.at += 1;
                return self.scan(Within::Quotes, true);
            }
            _ => {}
        }
        let is_name = |of: char| of.is_ascii_alphanumeric() || of == '_';
        let length = match next {
            '@' | '*' | '#' | '?' | '$' | '!' | '-' | '0'..='9' => 1,
            next if is_name(next) => self
                .rest()
                .find(|of| !is_name(of))
                .unwrap_or(self.rest().len()),
            _ => {
                self.push('$', true);
                return Ok(());
            }
        };
        let name = self.rest()[..length].to_owned();
        self.at += length;
        self.found.units.push(Unit::Variable { name, is_quoted });
        Ok(())
    }

    /// `${…}`. What stands in it beside a name is open, and the commands in it run.
    fn braces(&mut self, is_quoted: bool) -> Result<(), Unreadable> {
        self.at += 1;
        let start = self.at;
        self.scan(Within::Braces, false)?;
        let inside = &self.text[start..self.at - 1];
        // The value is taken for a prompt, in which commands may stand.
        if inside.ends_with("@P") {
            return Err(Unreadable);
        }
        let is_name = !inside.is_empty()
            && inside
                .chars()
                .all(|of| of.is_ascii_alphanumeric() || of == '_');
        self.found.units.push(match is_name {
            true => Unit::Variable {
                name: inside.to_owned(),
                is_quoted,
            },
            false => Unit::Open,
        });
        Ok(())
    }

    /// `$(…)`, `$((…))`, `<(…)` and `>(…)`.
    fn substitution(&mut self, start: usize) -> Result<(), Unreadable> {
        let known = self.ends.get(&start).copied();
        let end = match known.filter(|end| self.text.get(start..*end).is_some()) {
            Some(end) => end,
            None => closing(self.text, start + 1).ok_or(Unreadable)?,
        };
        let whole = &self.text[start..end];
        let arithmetic = whole
            .strip_prefix("$((")
            .and_then(|rest| rest.strip_suffix("))"));
        match arithmetic {
            // It may also be a subshell in a substitution: both are looked at.
            Some(inside) => {
                let inner = scan(inside, 0, inside.len(), &Ends::new(), Within::Document)?;
                self.found.code.extend(inner.code);
            }
            None => {
                let inside = whole.get(2..whole.len() - 1).ok_or(Unreadable)?;
                self.found.code.push(inside.to_owned());
            }
        }
        self.at = end;
        if whole.starts_with('$') {
            self.found.units.push(Unit::Open);
        } else {
            // The command gets the name of a pipe.
            "/dev/fd/63".chars().for_each(|of| self.push(of, true));
        }
        Ok(())
    }
}

/// Where the bracket that opens at `open` is closed, behind the closing one. Only for code that the parser did not place.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote: Option<char> = None;
    let mut chars = text.get(open..)?.char_indices();
    while let Some((at, next)) = chars.next() {
        match (quote, next) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                chars.next();
            }
            (Some(of), next) if of == next => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(next),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
