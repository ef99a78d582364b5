//! Cuts a text into clauses, by the gaps between its tokens.

use std::cell::OnceCell;

use super::Clause;
use crate::folding::Folded;

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
pub(super) struct Divider {
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
    pub(super) fn divide(text: &str, folded: &Folded) -> Vec<Clause> {
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
