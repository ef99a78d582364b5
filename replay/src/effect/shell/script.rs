//! Shell code as the walk over it needs it: which commands may run, in which order, and what their words are.

mod reading;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::scan::Unit;
use reading::Reader;

/// Longest code that is read, in bytes.
pub(super) const CODE_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of commands in commands.
const NESTING_MAX: usize = 24;
/// Most steps of the parser.
const STEPS_MAX: usize = 200_000;
/// Most opening braces in a run of characters without white space: the parser looks for their ends again and again.
const BRACES_MAX: usize = 256;
/// Most expansions in one text: each is parsed again by itself.
const EXPANSIONS_MAX: usize = 512;

/// Shell code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A command with its words.
    Simple(Simple),
    /// One after the other.
    Sequence(Vec<Node>),
    /// One after the other, each only if what was before it succeeded or failed.
    Chain(Box<Node>, Vec<(Link, Node)>),
    /// Each reads what the one before it writes.
    Pipe(Vec<Node>),
    /// In a shell of its own.
    Apart(Box<Node>),
    /// The first runs; then one, some or none of the others.
    Choice(Box<Node>, Vec<Node>),
    /// Any number of times.
    Loop(Box<Node>),
    /// A function is defined.
    Function(Vec<String>, Rc<Node>),
    /// With other inputs and outputs.
    With(Vec<Redirect>, Box<Node>),
    /// Code that runs while a word is put together.
    Code(String),
    /// It cannot be told what it does.
    Unclear(&'static str),
}

/// What links two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A command with its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The variables that it sets.
    pub(super) variables: Vec<String>,
    /// Its words, the name first.
    pub(super) words: Vec<Vec<Unit>>,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirect {
    /// From a file.
    From(Vec<Unit>),
    /// To a file.
    To(Vec<Unit>),
    /// From and to a file.
    Both(Vec<Unit>),
    /// From a text; `None` where the text is open.
    Text(Option<String>),
}

/// Why code was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is longer than what is read.
    TooLong,
    /// It nests, or holds more of something, than what is read.
    TooMuch,
    /// It is no code of a POSIX shell or bash, or not whole.
    NotShell,
}

impl Unread {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "the shell code is longer than 65536 bytes",
            Self::TooMuch => "the shell code nests deeper or holds more than is looked at",
            Self::NotShell => "the shell code is not whole, or not that of a POSIX shell or bash",
        }
    }
}

/// Reads shell code.
pub(super) fn read(code: &str) -> Result<Node, Unread> {
    check(code)?;
    let profile = ShellProfile::native(ShellDialect::Bash);
    // The parser is not ours, and what an agent wrote is hostile: should it panic, the code is unknown and nothing else fails.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        Parser::with_limits_and_profile(code, NESTING_MAX, STEPS_MAX, profile).parse()
    }))
    .map_err(|_| Unread::NotShell)?;
    if !parsed.is_ok() {
        let message = parsed.terminal_error.map(|error| error.to_string());
        let is_limit = message.is_some_and(|message| {
            ["too deep", "too long", "fuel"]
                .iter()
                .any(|sign| message.contains(sign))
        });
        return Err(if is_limit {
            Unread::TooMuch
        } else {
            Unread::NotShell
        });
    }
    Ok(Reader { text: code }.sequence(&parsed.file.body))
}

/// What would cost the parser more than its own limits allow for.
fn check(code: &str) -> Result<(), Unread> {
    if code.len() > CODE_BYTES_MAX {
        return Err(Unread::TooLong);
    }
    let mut braces = 0;
    for byte in code.bytes() {
        match byte {
            b'{' => braces += 1,
            byte if byte.is_ascii_whitespace() => braces = 0,
            _ => {}
        }
        if braces > BRACES_MAX {
            return Err(Unread::TooMuch);
        }
    }
    let expansions =
        code.matches("$(").count() + code.matches("${").count() + code.matches('`').count();
    match expansions > EXPANSIONS_MAX || code.contains('\0') {
        true => Err(Unread::TooMuch),
        false => Ok(()),
    }
}

fn plain(text: &str) -> Vec<Unit> {
    let chars = text.chars();
    chars
        .map(|of| Unit::Char {
            of,
            is_quoted: true,
        })
        .collect()
}

/// The text of a word that holds nothing open.
fn known_text(units: &[Unit]) -> Option<String> {
    let chars = units.iter().map(|unit| match unit {
        Unit::Char { of, .. } => Some(*of),
        Unit::Variable { .. } | Unit::Open => None,
    });
    chars.collect()
}

/// `2` and `-` behind `>&` name a descriptor, not a file.
fn is_descriptor(units: &[Unit]) -> bool {
    known_text(units).is_some_and(|text| {
        text == "-"
            || text
                .trim_end_matches('-')
                .chars()
                .all(|of| of.is_ascii_digit())
    })
}
