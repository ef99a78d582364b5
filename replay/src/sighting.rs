//! What one part's text shows of each constraint, found once for each distinct text.
//!
//! One automaton over the stems of all constraints' words decides which constraints a text can concern at all; only those are
//! looked at closely.

mod carrying;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use remembrancer_schema::payload::PartKind;

use crate::analysis::{Alteration, PresenceState};
use crate::context::{DeclaredConstraint, estimated_tokens};
use crate::folding::{Escapes, Folded};
use crate::matcher::{Search, Subject};
use crate::restatement::Restatements;
use crate::statement::{Statement, Stems};
use crate::weight;
use carrying::cut;

/// A constraint, ready to be looked for.
#[derive(Debug)]
pub(crate) struct Watched {
    statement: Statement,
    /// The matcher that its author declared.
    pub(crate) search: Option<Search>,
    /// Patterns of the automaton that a text must hold to show anything of it.
    needed: Vec<usize>,
}

impl Watched {
    /// Why nothing can be looked for, if so.
    pub(crate) fn error(&self) -> Option<String> {
        if let Some(reason) = self.search.as_ref().and_then(Search::error) {
            return Some(format!(
                "the declared matcher cannot be evaluated: {reason}"
            ));
        }
        let wordless = self.statement.needle().len() == 0 && self.search.is_none();
        wordless.then(|| "the declared text holds no word to look for".to_owned())
    }
}

/// All constraints of a session, with the automaton over their words.
#[derive(Debug)]
pub(crate) struct Watch {
    constraints: Vec<Watched>,
    restatements: Restatements,
    /// The declared texts, as they are shown beside an alteration.
    texts: Vec<String>,
    /// Over folded text: each pattern begins with the space before a token.
    folded: Option<AhoCorasick>,
    /// Over ASCII text as it is: the same patterns without that space.
    plain: Option<AhoCorasick>,
    patterns: usize,
}

/// What a part shows of one constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// Position of the constraint.
    pub(crate) constraint: usize,
    /// The state that this part alone gives.
    pub(crate) state: PresenceState,
    /// Where.
    pub(crate) place: Place,
    /// What was found, in words.
    pub(crate) note: &'static str,
    /// How it differs from what was declared, where it does.
    pub(crate) alteration: Option<Arc<Alteration>>,
}

/// A term of a declared matcher in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TermSighting {
    /// Position of the constraint.
    pub(crate) constraint: usize,
    /// Position of the term.
    pub(crate) term: usize,
    /// Where.
    pub(crate) place: Place,
}

/// A place in a part's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes of the text; `None` where the tool's name alone says it.
    pub(crate) range: Option<(usize, usize)>,
    /// Estimated tokens of the part after it.
    pub(crate) remainder: u64,
}

/// Everything that a part shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sightings {
    /// By constraint; one that is present and altered in the same part has one for each.
    pub(crate) found: Vec<Sighting>,
    /// By constraint and term.
    pub(crate) terms: Vec<TermSighting>,
    /// By constraint: how many clauses of the text were not compared with it.
    pub(crate) left: Vec<(usize, usize)>,
}

impl Sightings {
    /// Bytes that they hold, roughly, the texts of alterations included.
    pub(crate) fn bytes(&self) -> usize {
        let altered = self.found.iter();
        size_of::<Self>()
            + size_of_val(self.found.as_slice())
            + size_of_val(self.terms.as_slice())
            + size_of_val(self.left.as_slice())
            + altered
                .filter_map(|sighting| sighting.alteration.as_deref())
                .map(weight::of_alteration)
                .sum::<usize>()
    }
}

impl Watch {
    pub(crate) fn new(declared: &[DeclaredConstraint]) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut pattern = |text: &str| {
            *known.entry(text.to_owned()).or_insert_with(|| {
                patterns.push(format!(" {text}"));
                patterns.len() - 1
            })
        };
        let constraints: Vec<Watched> = declared
            .iter()
            .map(|constraint| {
                let statement = Statement::new(constraint.declared.kind, &constraint.declared.text);
                let needed = if statement.topic().is_empty() {
                    statement
                        .needle()
                        .words()
                        .take(1)
                        .map(&mut pattern)
                        .collect()
                } else {
                    statement
                        .topic()
                        .iter()
                        .map(|term| pattern(term.first()))
                        .collect()
                };
                let search = constraint.declared.matcher.as_ref().map(Search::new);
                Watched {
                    statement,
                    search,
                    needed,
                }
            })
            .collect();
        let bare: Vec<&str> = patterns.iter().map(|pattern| &pattern[1..]).collect();
        // An automaton that would be too large is done without: every text is then looked at closely.
        let folded = AhoCorasick::new(&patterns).ok();
        let plain = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .build(&bare)
            .ok();
        let texts = declared.iter().map(|one| &one.declared);
        Self {
            constraints,
            restatements: Restatements::new(texts.clone().map(|one| (one.kind, one.text.as_str()))),
            texts: texts.map(|one| cut(&one.text)).collect(),
            folded,
            plain,
            patterns: patterns.len(),
        }
    }

    /// Bytes that it holds, roughly: its automata, the constraints and their texts.
    pub(crate) fn bytes(&self) -> usize {
        let automata = self.folded.iter().chain(&self.plain);
        automata.map(AhoCorasick::memory_usage).sum::<usize>()
            + size_of_val(self.constraints.as_slice())
            + self.texts.iter().map(String::len).sum::<usize>()
    }

    pub(crate) fn constraints(&self) -> &[Watched] {
        &self.constraints
    }

    /// What a text shows of every constraint. `tool` is the name of the tool that the part belongs to.
    pub(crate) fn sight(&self, text: &str, kind: PartKind, tool: Option<&str>) -> Sightings {
        let escapes = match kind {
            PartKind::ToolCall | PartKind::ToolResult => Escapes::Json,
            _ => Escapes::Plain,
        };
        let mut sightings = Sightings {
            found: Vec::new(),
            terms: self.terms(text, escapes),
            left: Vec::new(),
        };
        let carrying = kind.is_carrying();
        // The tool's name is part of what a call says: it is read as if it stood before the text.
        let named = tool
            .filter(|_| !carrying)
            .map(|tool| format!("{tool}\n{text}"));
        let whole = named.as_deref().unwrap_or(text);
        if carrying {
            (sightings.found, sightings.left) = self.carried(text);
        } else if self.may_concern(whole, escapes) {
            sightings.found = self.mentioned(whole, whole.len() - text.len(), kind, escapes);
        }
        sightings
    }

    /// What a part mentions that carries no authority. The tool's name, `offset` bytes, stands before its text.
    fn mentioned(
        &self,
        whole: &str,
        offset: usize,
        kind: PartKind,
        escapes: Escapes,
    ) -> Vec<Sighting> {
        let folded = &Folded::new(whole, escapes);
        let seen = self.seen(self.folded.as_ref(), folded.text());
        let stems = Stems::of(folded);
        let text = &whole[offset..];
        let mut found = Vec::new();
        for (index, watched) in self.constraints.iter().enumerate() {
            if watched.needed.iter().all(|pattern| seen[*pattern])
                && let Some((run, note)) = mentioned(watched, folded, &stems, kind)
            {
                let range = folded.original(run).and_then(|range| within(range, offset));
                found.push(Sighting {
                    constraint: index,
                    state: PresenceState::Mention,
                    place: place(text, range),
                    note,
                    alteration: None,
                });
            }
        }
        found
    }

    fn terms(&self, text: &str, escapes: Escapes) -> Vec<TermSighting> {
        let subject = Subject::new(text, escapes);
        let mut terms = Vec::new();
        for (constraint, watched) in self.constraints.iter().enumerate() {
            for (term, range) in watched
                .search
                .iter()
                .flat_map(|search| search.find(&subject))
            {
                terms.push(TermSighting {
                    constraint,
                    term,
                    place: place(text, Some(range)),
                });
            }
        }
        terms
    }

    /// Whether a text can show anything, without folding it. Only ASCII without escapes can be ruled out so.
    fn may_concern(&self, text: &str, escapes: Escapes) -> bool {
        if !text.is_ascii() || escapes == Escapes::Json && text.contains("\\u") {
            return true;
        }
        let seen = self.seen(self.plain.as_ref(), text);
        self.constraints
            .iter()
            .any(|watched| watched.needed.iter().all(|pattern| seen[*pattern]))
    }

    fn seen(&self, automaton: Option<&AhoCorasick>, text: &str) -> Vec<bool> {
        let mut seen = vec![automaton.is_none(); self.patterns];
        for found in automaton
            .iter()
            .flat_map(|automaton| automaton.find_overlapping_iter(text))
        {
            seen[found.pattern().as_usize()] = true;
        }
        seen
    }
}

fn mentioned(
    watched: &Watched,
    folded: &Folded,
    stems: &Stems<'_>,
    kind: PartKind,
) -> Option<(Range<usize>, &'static str)> {
    let statement = &watched.statement;
    let needle = statement.needle();
    let phrase = || {
        folded
            .occurrences(needle)
            .next()
            .map(|start| start..start + needle.len())
    };
    let run = statement.mentioned(stems).or_else(phrase)?;
    let note = match kind {
        PartKind::ToolCall => "its words in the agent's own call",
        PartKind::ToolResult => "its words in what a tool returned",
        PartKind::Assistant | PartKind::Reasoning => "its words in the model's own text",
        PartKind::ToolSchema => "its words in a tool's schema",
        _ => "its words in a part without authority",
    };
    Some((run, note))
}

fn place(text: &str, range: Option<Range<usize>>) -> Place {
    Place {
        remainder: remainder(text, range.as_ref()),
        range: range.map(|range| (range.start, range.end)),
    }
}

/// A range of the text with the tool's name before it, as one of the text alone.
fn within(range: Range<usize>, offset: usize) -> Option<Range<usize>> {
    let (start, end) = (
        range.start.saturating_sub(offset),
        range.end.saturating_sub(offset),
    );
    (end > start).then_some(start..end)
}

/// Estimated tokens of a text after a range.
fn remainder(text: &str, range: Option<&Range<usize>>) -> u64 {
    let rest = range
        .and_then(|range| text.get(range.end..))
        .unwrap_or(text);
    estimated_tokens(rest)
}
