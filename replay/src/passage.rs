//! A part's text as clauses: sentences, list items and headings, each with the sentence or heading that opens it.
//!
//! "You may not: issue refunds; contact customers." is one opener and two clauses under it. So are a heading with bullets below,
//! and a line that ends with a colon. Punctuation inside round brackets divides nothing.

use std::cell::OnceCell;
use std::ops::Range;

use crate::effort;
use crate::folding::Folded;
use crate::language::{self, Stance, Word};

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

/// How a clause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    None,
    Sentence,
    Semicolon,
    Colon,
    Cell,
}

/// How what follows begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// On the same line.
    Same,
    /// On a new line, with its indentation.
    Line(usize),
    /// As a list item, with its indentation.
    Item(usize),
    /// After an empty line.
    Block,
    /// As a heading.
    Heading,
}

/// Walks through the gaps between tokens and cuts clauses.
#[derive(Default)]
struct Divider {
    clauses: Vec<Clause>,
    start: usize,
    opener: Option<usize>,
    /// The current clause goes on with the sentence before it.
    continues: bool,
    /// The current clause is a heading.
    in_heading: bool,
    /// The clause that ended with a colon, for what follows it in the same block.
    inline: Option<usize>,
    /// The clause that may open a list: it ended with a colon, or is a heading, and nothing has come since.
    pending: Option<usize>,
    /// What opens the list at hand.
    root: Option<usize>,
    /// The items above the current one: indentation and clause.
    items: Vec<(usize, usize)>,
    depth: usize,
}

impl Divider {
    fn divide(text: &str, folded: &Folded) -> Vec<Clause> {
        let mut divider = Self::default();
        let mut marker = None;
        for index in 0..folded.len() {
            let gap = text.get(folded.gap(index, text.len())).unwrap_or("");
            let (end, mut begin) = divider.read(
                gap,
                index == 0,
                index.checked_sub(1).map(|at| folded.token(at)),
            );
            if marker == Some(index) {
                divider.start = index;
                continue;
            }
            if let Begin::Line(indent) = begin
                && is_number(folded.token(index))
                && text
                    .get(folded.gap(index + 1, text.len()))
                    .is_some_and(follows_number)
            {
                begin = Begin::Item(indent);
                marker = Some(index + 1);
            }
            if index == 0 {
                divider.begin(None, begin);
            } else if divider.divides(end, begin) {
                divider.close(index, end, begin);
                divider.begin(Some(end), begin);
                divider.continues =
                    begin == Begin::Same && matches!(end, End::Semicolon | End::Colon);
                divider.start = index;
            }
        }
        divider.close(folded.len(), End::Sentence, Begin::Block);
        divider.clauses
    }

    /// What a gap says of the clause before it and of the one after.
    fn read(&mut self, gap: &str, first: bool, before: Option<&str>) -> (End, Begin) {
        let (mut end, mut waiting) = (End::None, End::None);
        for symbol in gap.chars() {
            match symbol {
                '\n' | '\r' => self.depth = 0,
                '(' => self.depth += 1,
                ')' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > 0 {
                continue;
            }
            match symbol {
                // An initial or "e.g." ends no sentence.
                '.' if before.is_some_and(|word| word.chars().count() == 1 && !is_number(word)) => {
                }
                '.' | '!' | '?' | '\u{2026}' => waiting = End::Sentence,
                '\u{3002}' | '\u{ff01}' | '\u{ff1f}' => end = End::Sentence,
                ':' | '\u{ff1a}' => waiting = End::Colon,
                ';' | '\u{ff1b}' => end = End::Semicolon,
                '|' => end = End::Cell,
                _ if symbol.is_whitespace() && waiting != End::None => {
                    end = waiting;
                    waiting = End::None;
                }
                _ => {}
            }
        }
        (end, begin(gap, first))
    }

    fn divides(&self, end: End, begin: Begin) -> bool {
        end != End::None
            || match begin {
                Begin::Same => false,
                Begin::Line(indent) => self.in_heading || self.leaves_list(indent),
                Begin::Item(_) | Begin::Block | Begin::Heading => true,
            }
    }

    /// Whether a line that is no item and stands so far left ends the list.
    fn leaves_list(&self, indent: usize) -> bool {
        self.items.last().is_some_and(|(item, _)| indent <= *item)
    }

    fn close(&mut self, at: usize, end: End, next: Begin) {
        let clause = self.clauses.len();
        if self.start >= at {
            return;
        }
        self.clauses.push(Clause {
            tokens: self.start..at,
            opener: self.opener,
            continues: self.continues,
            stance: OnceCell::new(),
        });
        if self.in_heading {
            self.pending = Some(clause);
            self.inline = None;
            return;
        }
        self.pending = (end == End::Colon).then_some(clause);
        if end == End::Colon && matches!(next, Begin::Same | Begin::Line(_)) {
            self.inline = Some(clause);
        }
    }

    fn begin(&mut self, end: Option<End>, begin: Begin) {
        self.in_heading = begin == Begin::Heading;
        match begin {
            Begin::Heading => {
                self.leave_list();
                self.opener = None;
            }
            Begin::Item(indent) => self.begin_item(indent),
            Begin::Block => {
                self.leave_list();
                self.opener = None;
            }
            Begin::Line(indent) if self.leaves_list(indent) => {
                self.leave_list();
                self.opener = None;
            }
            Begin::Same | Begin::Line(_) => match end {
                Some(End::Colon) => self.opener = self.inline,
                Some(End::Semicolon) | None => {}
                Some(End::Sentence | End::Cell | End::None) => {
                    self.inline = None;
                    self.opener = self.item_opener();
                }
            },
        }
    }

    fn begin_item(&mut self, indent: usize) {
        self.inline = None;
        if self.items.is_empty() {
            self.root = self.pending;
        }
        while self.items.last().is_some_and(|(above, _)| *above >= indent) {
            self.items.pop();
        }
        self.opener = self.item_opener_above();
        self.items.push((indent, self.clauses.len()));
    }

    fn item_opener_above(&self) -> Option<usize> {
        self.items
            .last()
            .map_or(self.root, |(_, clause)| Some(*clause))
    }

    /// The opener of the item at hand; `None` outside a list.
    fn item_opener(&self) -> Option<usize> {
        let (_, above) = self.items.split_last()?;
        above.last().map_or(self.root, |(_, clause)| Some(*clause))
    }

    fn leave_list(&mut self) {
        self.items.clear();
        self.root = None;
        self.inline = None;
    }
}

fn begin(gap: &str, first: bool) -> Begin {
    let line = gap.rfind(['\n', '\r']).map(|at| &gap[at + 1..]);
    let Some(line) = line.or_else(|| first.then_some(gap)) else {
        return Begin::Same;
    };
    let line = line.trim_start_matches('>');
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - rest.len();
    let mut marks = rest.chars();
    match (marks.next(), marks.next()) {
        (Some('#'), _) => Begin::Heading,
        (
            Some(
                '-' | '*' | '+' | '\u{2022}' | '\u{2023}' | '\u{25e6}' | '\u{25aa}' | '\u{2013}'
                | '\u{2014}' | '\u{b7}',
            ),
            Some(' ' | '\t'),
        ) => Begin::Item(indent),
        _ if gap.matches('\n').count() > 1 => Begin::Block,
        _ => Begin::Line(indent),
    }
}

fn is_number(token: &str) -> bool {
    token.len() <= 3 && !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

fn follows_number(gap: &str) -> bool {
    gap.strip_prefix(['.', ')'])
        .is_some_and(|rest| rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests;
