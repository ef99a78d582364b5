//! The words that a command gets: after braces, `~` and the variables that are known, before globs.

use super::scan::Unit;
use crate::effect::path::Ground;
use crate::effect::{Place, Target, Unresolved};

/// Most words that the braces of one word may stand for.
const BRACED_WORDS_MAX: usize = 64;
/// Longest sequence `{1..9}`.
const SEQUENCE_MAX: usize = 64;

/// A word that a command gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arg {
    /// Its text; what is open stands in it as it is written.
    pub(super) text: String,
    /// Where in the text the first open part begins.
    pub(super) open_at: Option<usize>,
    /// Where in the text there are characters that the shell takes for a glob.
    pub(super) globs: Vec<usize>,
    /// It stands for these, whatever its text is.
    pub(super) stands_for: Option<Vec<Target>>,
}

impl Arg {
    /// A word whose text is known.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// A word of which nothing is known.
    pub(super) fn open(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            open_at: Some(0),
            ..Self::default()
        }
    }

    /// Whether its text is what the command gets.
    pub(super) fn is_known(&self) -> bool {
        self.open_at.is_none() && self.globs.is_empty() && self.stands_for.is_none()
    }

    /// Whether its text is known, be it that the shell takes it for a glob.
    pub(super) fn is_known_text(&self) -> bool {
        self.open_at.is_none() && self.stands_for.is_none()
    }

    /// Whether it may turn out to be an option: what it begins with is open, or a glob.
    pub(super) fn may_be_option(&self) -> bool {
        self.open_at == Some(0) || self.globs.first() == Some(&0)
    }

    /// The word from a byte on.
    pub(super) fn tail(&self, from: usize) -> Self {
        Self {
            text: self.text.get(from..).unwrap_or_default().to_owned(),
            open_at: self.open_at.map(|at| at.saturating_sub(from)),
            globs: self
                .globs
                .iter()
                .filter_map(|at| at.checked_sub(from))
                .collect(),
            stands_for: self.stands_for.clone(),
        }
    }

    /// Where its globs are, for a text that stands in it from a byte on.
    fn has_glob(&self, from: usize, to: usize) -> bool {
        self.globs.iter().any(|at| (from..to).contains(at))
    }

    /// The files that it names in a directory, with the reason where that is not known.
    pub(super) fn file(
        &self,
        ground: &Ground,
        from: Option<&Place>,
    ) -> Result<Target, (Target, &'static str)> {
        let unknown = |reason| (Target::unknown(&self.text), reason);
        if self.open_at.is_some() {
            return Err(unknown("a path is put together when the command runs"));
        }
        let resolve = |text: &str| {
            let place = ground.resolve(text, from);
            place.map_err(|reason| unknown(reason.as_str()))
        };
        if self.globs.is_empty() {
            return resolve(&self.text).map(Target::file);
        }
        let mut at = 0;
        let mut fixed_end = 0;
        let mut globs = Vec::new();
        let mut tree = false;
        for component in self.text.split_inclusive('/') {
            let name = component.trim_end_matches('/');
            let is_glob = self.has_glob(at, at + component.len());
            at += component.len();
            match name {
                _ if globs.is_empty() && !is_glob && !tree => fixed_end = at,
                "" | "." => {}
                ".." => {
                    return Err(unknown(
                        "a path goes up from a directory that a glob stands for",
                    ));
                }
                // It may stand for any number of directories.
                "**" => tree = true,
                _ if tree => {}
                name => globs.push(name.to_owned()),
            }
        }
        let fixed = &self.text[..fixed_end];
        let place = resolve(if fixed.is_empty() { "." } else { fixed })?;
        if (globs.len() > 1 || tree) && ground.has_link_below(&place) {
            return Err(unknown(Unresolved::MadeLink.as_str()));
        }
        Ok(Target::File { place, globs, tree })
    }
}

/// What words are expanded with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expansion<'a> {
    /// The home directory, where it is known.
    pub(super) home: Option<&'a Place>,
    /// The directory that the command is run in, where it is known.
    pub(super) directory: Option<&'a Place>,
}

impl Expansion<'_> {
    /// The words that a word of the code stands for.
    pub(super) fn args(&self, units: &[Unit]) -> Vec<Arg> {
        let units = self.known(units);
        let mut words = Vec::new();
        if !braces(&units, &mut words) {
            let mut arg = joined(&units);
            arg.open_at = Some(0);
            return vec![arg];
        }
        words.iter().map(|word| joined(word)).collect()
    }

    /// Puts in the home directory and the variables that are known.
    fn known(&self, units: &[Unit]) -> Vec<Unit> {
        let mut known = Vec::with_capacity(units.len());
        let is_end = |unit: Option<&Unit>| matches!(unit, None | Some(Unit::Char { of: '/', .. }));
        for (at, unit) in units.iter().enumerate() {
            let place = match unit {
                Unit::Char {
                    of: '~',
                    is_quoted: false,
                } if at == 0 || is_assigned(&units[..at]) => {
                    match (is_end(units.get(at + 1)), self.home) {
                        (true, Some(home)) => Some(home),
                        // Another user's home, or one that is not declared.
                        _ => {
                            known.push(Unit::Variable {
                                name: "~".to_owned(),
                                is_quoted: true,
                            });
                            continue;
                        }
                    }
                }
                Unit::Variable { name, .. } if name == "HOME" => self.home,
                Unit::Variable { name, .. } if name == "PWD" => self.directory,
                _ => None,
            };
            match place {
                // A directory with such characters would be taken apart where the variable is not quoted.
                Some(place) if !place.to_string().contains([' ', '\t', '\n', '*', '?', '[']) => {
                    known.extend(place.to_string().chars().map(|of| Unit::Char {
                        of,
                        is_quoted: true,
                    }));
                }
                _ => known.push(unit.clone()),
            }
        }
        known
    }
}

/// Whether a word begins as an assignment does. There bash puts in the home directory behind the sign too.
fn is_assigned(before: &[Unit]) -> bool {
    let plain = |unit: &Unit| match unit {
        Unit::Char {
            of,
            is_quoted: false,
        } => Some(*of),
        _ => None,
    };
    let text: Option<String> = before.iter().map(plain).collect();
    let Some(text) = text else {
        return false;
    };
    is_assignment(&text) && (text.ends_with(':') || text.find('=') == Some(text.len() - 1))
}

/// Whether a word is `NAME=VALUE`.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let mut chars = name.chars();
        let is_first = |of: char| of.is_ascii_alphabetic() || of == '_';
        chars.next().is_some_and(is_first) && chars.all(|of| is_first(of) || of.is_ascii_digit())
    })
}

/// Makes the words that the braces of a word stand for. False where there are too many.
fn braces(units: &[Unit], words: &mut Vec<Vec<Unit>>) -> bool {
    let Some((start, end)) = first_braces(units) else {
        words.push(units.to_vec());
        return words.len() <= BRACED_WORDS_MAX;
    };
    let inside = &units[start + 1..end];
    let alternatives = match sequence(inside) {
        Some(numbers) => numbers,
        None => parts(inside),
    };
    alternatives.into_iter().all(|alternative| {
        let word = [&units[..start], &alternative, &units[end + 1..]].concat();
        words.len() < BRACED_WORDS_MAX && braces(&word, words)
    })
}

/// The first pair of braces that stands for several words.
fn first_braces(units: &[Unit]) -> Option<(usize, usize)> {
    let plain = |at: usize| match units[at] {
        Unit::Char {
            of,
            is_quoted: false,
        } => Some(of),
        _ => None,
    };
    for start in (0..units.len()).filter(|at| plain(*at) == Some('{')) {
        let (mut depth, mut has_comma) = (0usize, false);
        for at in start..units.len() {
            match plain(at) {
                Some('{') => depth += 1,
                Some(',') if depth == 1 => has_comma = true,
                Some('}') => {
                    depth -= 1;
                    if depth == 0 {
                        if has_comma || sequence(&units[start + 1..at]).is_some() {
                            return Some((start, at));
                        }
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    None
}

fn parts(inside: &[Unit]) -> Vec<Vec<Unit>> {
    let mut parts = vec![Vec::new()];
    let mut depth = 0usize;
    for unit in inside {
        match unit {
            Unit::Char {
                of: ',',
                is_quoted: false,
            } if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            Unit::Char {
                of: '{',
                is_quoted: false,
            } => depth += 1,
            Unit::Char {
                of: '}',
                is_quoted: false,
            } => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(unit.clone());
        }
    }
    parts
}

/// `{1..9}` and `{a..e}`. Longer sequences, and those with a step, stay as they are written: one word that names no file.
fn sequence(inside: &[Unit]) -> Option<Vec<Vec<Unit>>> {
    let text: Option<String> = inside
        .iter()
        .map(|unit| match unit {
            Unit::Char {
                of,
                is_quoted: false,
            } => Some(*of),
            _ => None,
        })
        .collect();
    let text = text?;
    let (first, last) = text.split_once("..")?;
    let word = |text: String| -> Vec<Unit> {
        let chars = text.chars();
        chars
            .map(|of| Unit::Char {
                of,
                is_quoted: true,
            })
            .collect()
    };
    let numbers = first.parse::<i32>().ok().zip(last.parse::<i32>().ok());
    // A sequence that is not told one by one is a word that is open.
    let open = || vec![vec![Unit::Open]];
    if let Some((first, last)) = numbers {
        let (low, high) = (first.min(last), first.max(last));
        let has_zeros = text.starts_with('0') && first != 0;
        return Some(match high.abs_diff(low) as usize {
            length if length < SEQUENCE_MAX && !has_zeros => (low..=high)
                .map(|number| word(number.to_string()))
                .collect(),
            _ => open(),
        });
    }
    match (first.as_bytes(), last.as_bytes()) {
        ([first], [last]) if first.is_ascii_alphabetic() && last.is_ascii_alphabetic() => {
            let (low, high) = (*first.min(last), *first.max(last));
            Some(
                (low..=high)
                    .map(|of| word(char::from(of).to_string()))
                    .collect(),
            )
        }
        _ if last.contains("..") => Some(open()),
        _ => None,
    }
}

fn joined(units: &[Unit]) -> Arg {
    let mut arg = Arg::default();
    for unit in units {
        match unit {
            Unit::Char { of, is_quoted } => {
                if !is_quoted && matches!(of, '*' | '?' | '[') {
                    arg.globs.push(arg.text.len());
                }
                // A pattern with brackets beside a glob sign may stand for anything.
                if !is_quoted && *of == '(' {
                    arg.open_at.get_or_insert(arg.text.len());
                }
                arg.text.push(*of);
            }
            Unit::Variable { name, .. } => {
                arg.open_at.get_or_insert(arg.text.len());
                if name != "~" {
                    arg.text.push('$');
                }
                arg.text.push_str(name);
            }
            Unit::Open => {
                arg.open_at.get_or_insert(arg.text.len());
                arg.text.push_str("$(…)");
            }
        }
    }
    // A bracket that is never closed stands for itself: `[` is the name of a command.
    if !arg.text.contains(']') {
        let text = &arg.text;
        arg.globs.retain(|at| !text[*at..].starts_with('['));
    }
    arg
}
