//! Whether a text *says* a constraint, or only speaks of its subject.
//!
//! A prohibition is a statement, not a topic. Where the declared text names only the action ("issue refunds"), its words count
//! under a prohibition alone: in the same clause, with nothing between that could turn it, or in the sentence or heading that
//! opens the list. A permission likewise needs a permission, and an obligation an order. A clause that hedges, excepts or
//! takes back says something else than what was declared.

mod edges;
mod governing;
mod term;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use remembrancer_schema::payload::ConstraintKind;

use crate::effort;
use crate::folding::{Escapes, Folded};
use crate::language::{self, Stance, Word};
use crate::passage::Passage;
use edges::{code_edges, cuts_code, cuts_number, narrowed, singled_out};
use governing::{Beside, leading_prohibition, reach};
use term::terms;
pub(crate) use term::{Stems, Term, joins};

/// Most tokens that may stand between two words of a statement.
const GLUE_TOKENS_MAX: usize = 3;
/// Tokens beside the words themselves in the window of a mention, and for each word.
const MENTION_SLACK_TOKENS: usize = 6;
const MENTION_TOKENS_PER_WORD: usize = 3;
/// A declared text of more words is looked for word for word only: at each place in a text, each of its words may be read.
const TERMS_MAX: usize = 200;

/// A constraint's text, read for what to look for.
#[derive(Debug)]
pub(crate) struct Statement {
    kind: ConstraintKind,
    /// The declared text.
    needle: Folded,
    /// Where its clauses begin, but the first.
    boundaries: BTreeSet<usize>,
    /// Whether it begins and ends with an identifier.
    code_edges: (bool, bool),
    /// Tokens that the declared text has: their like beside a match changes nothing.
    own: BTreeSet<String>,
    /// The declared text itself allows, forbids or demands.
    is_modal: bool,
    /// What must govern the words, if they do not say it themselves.
    needs: Option<Stance>,
    /// The words of the statement, in order.
    terms: Vec<Term>,
    /// What governs `terms` when the declared text's own words are used.
    governor: Option<Stance>,
    /// The words that name its subject.
    topic: Vec<Term>,
    /// Positions in `topic` by the first stem.
    topic_by_stem: BTreeMap<String, Vec<usize>>,
}

impl Statement {
    /// Reads a constraint's text.
    pub(crate) fn new(kind: ConstraintKind, text: &str) -> Self {
        let needle = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &needle);
        let code_edges = code_edges(&passage);
        let boundaries = passage.boundaries(&(0..needle.len())).collect();
        let words = passage.words();
        let own: BTreeSet<String> = words.iter().map(|word| word.text.to_owned()).collect();
        let is_modal = kind != ConstraintKind::Fact || language::is_modal(words);
        let whole = kind == ConstraintKind::Fact || language::is_statement(words);
        let needs = (!whole).then_some(match kind {
            ConstraintKind::Prohibition => Stance::Prohibits,
            ConstraintKind::Permission => Stance::Permits,
            ConstraintKind::Obligation | ConstraintKind::Fact => Stance::Obliges,
        });
        let lead = if kind == ConstraintKind::Prohibition {
            leading_prohibition(words)
        } else {
            0
        };
        let governor = if lead > 0 {
            Some(Stance::Prohibits)
        } else {
            needs
        };
        let all = terms(text, &needle);
        let stated = |(at, term): &(usize, Term)| (*at >= lead).then(|| term.clone());
        let terms = all.iter().filter_map(stated).collect();
        let topic: Vec<Term> = all
            .iter()
            .filter(|(at, term)| term.stems.len() > 1 || !language::is_manner(needle.token(*at)))
            .map(|(_, term)| term.clone())
            .collect();
        let mut topic_by_stem: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, term) in topic.iter().enumerate() {
            let places = topic_by_stem.entry(term.first().to_owned()).or_default();
            places.push(index);
        }
        Self {
            kind,
            needle,
            boundaries,
            code_edges,
            own,
            is_modal,
            needs,
            terms,
            governor,
            topic,
            topic_by_stem,
        }
    }

    /// The declared text, folded.
    pub(crate) fn needle(&self) -> &Folded {
        &self.needle
    }

    /// The words that name its subject.
    pub(crate) fn topic(&self) -> &[Term] {
        &self.topic
    }

    /// Whether the declared text only names an action, so that something must govern it.
    pub(crate) fn is_bare(&self) -> bool {
        self.needs.is_some()
    }

    /// Where the declared text stands word for word and counts; or else where it stands as a topic.
    pub(crate) fn verbatim(
        &self,
        passage: &Passage<'_>,
    ) -> Result<Range<usize>, Option<Range<usize>>> {
        let mut topic = None;
        for start in passage.folded().occurrences(&self.needle) {
            let run = start..start + self.needle.len();
            effort::spend(run.len());
            if !self.keeps_boundaries(passage, &run) {
                continue;
            }
            let counts = match self.needs {
                Some(stance) => self.is_governed(passage, &run, stance),
                None => self.stands_whole(passage, &run),
            };
            let cut = cuts_number(passage, &run)
                || cuts_code(passage, &run, self.code_edges)
                || singled_out(passage, &run);
            if counts && !cut {
                return Ok(run);
            }
            topic.get_or_insert(run);
        }
        Err(topic)
    }

    /// Where a text says the same in other inflections or with other small words between.
    pub(crate) fn stated(&self, passage: &Passage<'_>, stems: &Stems<'_>) -> Option<Range<usize>> {
        let (first, rest) = self.terms.split_first()?;
        if self.terms.len() > TERMS_MAX {
            return None;
        }
        effort::spend(stems.0.len());
        (0..stems.0.len()).find_map(|at| {
            if first.stands_at(stems, at)
                && let Some(run) = self.in_order(passage, stems, at, &self.terms)
                && self.same_form(passage, at)
                && !narrowed(passage, &run)
                && !singled_out(passage, &run)
                && self.says(passage, &run)
                && !cuts_number(passage, &run)
            {
                return Some(run);
            }
            self.passive(passage, stems, at, first, rest)
        })
    }

    /// Where the words of its subject stand together; the closest such place.
    pub(crate) fn mentioned(&self, stems: &Stems<'_>) -> Option<Range<usize>> {
        if self.topic.len() > TERMS_MAX {
            return None;
        }
        let limit = MENTION_SLACK_TOKENS + MENTION_TOKENS_PER_WORD * self.topic.len();
        let longest = self.topic.iter().map(|term| term.stems.len()).max()?;
        // The last place of each word, and the same by place.
        let mut last: Vec<Option<usize>> = vec![None; self.topic.len()];
        let mut places: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut best: Option<Range<usize>> = None;
        for (at, stem) in stems.0.iter().enumerate() {
            effort::spend(1);
            let mut moved = false;
            for &index in self.topic_by_stem.get(*stem).into_iter().flatten() {
                effort::spend(1);
                if self.topic[index].stands_at(stems, at) {
                    if let Some(before) = last[index].replace(at) {
                        places.remove(&(before, index));
                    }
                    places.insert((at, index));
                    moved = true;
                }
            }
            let Some(&(start, _)) = places
                .first()
                .filter(|_| moved && places.len() == self.topic.len())
            else {
                continue;
            };
            let run = start..(at + longest).min(stems.0.len());
            if at - start < limit && best.as_ref().is_none_or(|best| run.len() < best.len()) {
                best = Some(run);
            }
        }
        best
    }

    /// Whether a whole statement that stands word for word is still that statement: its clause does not take it back, and where
    /// it allows, forbids or demands, neither its clause nor its opener hedges, excepts or turns it.
    fn stands_whole(&self, passage: &Passage<'_>, run: &Range<usize>) -> bool {
        let beside = Beside::of(passage, run);
        if language::takes_back(beside.before, beside.after) {
            return false;
        }
        if !self.is_modal {
            return true;
        }
        let turned = match passage.opening_stance(run.start) {
            Stance::Unclear => true,
            Stance::Prohibits => self.kind != ConstraintKind::Prohibition,
            Stance::Permits | Stance::Obliges | Stance::Neutral => false,
        };
        !turned
            && !self.is_softened(beside.before)
            && !self.is_softened(beside.after)
            && !language::denies(beside.before)
            && !language::ends_negated(beside.before)
    }

    /// A match may not run over the end of a sentence or a list item where the declared text does not.
    fn keeps_boundaries(&self, passage: &Passage<'_>, run: &Range<usize>) -> bool {
        passage
            .boundaries(run)
            .all(|at| self.boundaries.contains(&at))
    }

    fn in_order(
        &self,
        passage: &Passage<'_>,
        stems: &Stems<'_>,
        start: usize,
        terms: &[Term],
    ) -> Option<Range<usize>> {
        let clause = passage.clause(start);
        let mut at = start;
        for (index, term) in terms.iter().enumerate() {
            let mut skipped = 0;
            effort::spend(1);
            while !term.stands_at(stems, at) {
                effort::spend(1);
                if index == 0
                    || skipped == GLUE_TOKENS_MAX
                    || !passage
                        .words()
                        .get(at)
                        .is_some_and(|word| self.is_filler(word))
                {
                    return None;
                }
                at += 1;
                skipped += 1;
            }
            at += term.stems.len();
        }
        (at <= clause.end).then_some(start..at)
    }

    fn is_filler(&self, word: &Word<'_>) -> bool {
        word.is_glue() || word.is_stop_word() && self.own.contains(word.text)
    }

    /// "never issued refunds" reports; "never issue" and "never issuing" order.
    fn same_form(&self, passage: &Passage<'_>, at: usize) -> bool {
        let word = passage.folded().token(at);
        self.kind == ConstraintKind::Fact || !word.ends_with("ed") || self.own.contains(word)
    }

    /// "Refunds must not be issued", "no refunds may be issued".
    fn passive(
        &self,
        passage: &Passage<'_>,
        stems: &Stems<'_>,
        at: usize,
        verb: &Term,
        objects: &[Term],
    ) -> Option<Range<usize>> {
        if self.governor != Some(Stance::Prohibits)
            || verb.stems.len() > 1
            || !objects.first()?.stands_at(stems, at)
        {
            return None;
        }
        let run = self.in_order(passage, stems, at, objects)?;
        let (low, high) = reach(&passage.clause(at), &run);
        let words = &passage.words()[low..high];
        let text = |at: usize| words.get(at).map(|word| word.text);
        let after = run.end - low;
        // "must never be" is one prohibition more than "must not be".
        let after = match (text(after), text(after + 1)) {
            (Some("must" | "shall"), Some("never")) => after + 1,
            _ => after,
        };
        let before = (run.start - low).checked_sub(1).and_then(text);
        let modal = language::prohibition_at(words, after, false);
        let be = match (before, text(after)) {
            (Some("no"), Some("may" | "can" | "must" | "shall")) => after + 1,
            _ if modal > 0
                && matches!(
                    text(after),
                    Some("may" | "must" | "shall" | "never" | "cannot" | "can't" | "can")
                ) =>
            {
                after + modal
            }
            _ => return None,
        };
        if text(be) != Some("be") || !verb.stands_at(stems, low + be + 1) {
            return None;
        }
        let found = run.start..low + be + 2;
        if found.end > high {
            // The verb is of the next sentence.
            return None;
        }
        effort::spend(high - low);
        let (before, after) = (&words[..found.start - low], &words[found.end - low..]);
        let quiet = before
            .iter()
            .chain(after)
            .all(|word| word.text == "no" || !word.turns());
        (quiet && !language::releases(words) && !cuts_number(passage, &found)).then_some(found)
    }

    fn says(&self, passage: &Passage<'_>, run: &Range<usize>) -> bool {
        match self.governor {
            Some(stance) => self.is_governed(passage, run, stance),
            None => {
                let beside = Beside::of(passage, run);
                let mut turning = beside.words().filter(|word| word.turns());
                turning.all(|word| self.own.contains(word.text) && !word.is_polarity())
                    && !language::releases(beside.before)
                    && !language::releases(beside.after)
                    && !matches!(
                        passage.opening_stance(run.start),
                        Stance::Prohibits | Stance::Unclear
                    )
            }
        }
    }

    /// Whether the words of a run are prohibited, permitted or demanded, and nothing in their clause softens it.
    fn is_governed(&self, passage: &Passage<'_>, run: &Range<usize>, wanted: Stance) -> bool {
        let beside = Beside::of(passage, run);
        if self.is_softened(beside.before)
            || self.is_softened(beside.after)
            || language::denies(beside.before)
        {
            return false;
        }
        match beside.stance() {
            Stance::Neutral => {
                let opened = passage.opening_stance(run.start);
                opened == wanted
                    || wanted == Stance::Obliges && opened == Stance::Neutral && beside.begins
            }
            stance => stance == wanted,
        }
    }

    /// Whether the words on one side of a match hedge, except or take back what the declared text does not.
    fn is_softened(&self, words: &[Word<'_>]) -> bool {
        let softens = |(at, word): (usize, &Word<'_>)| {
            let even = || at > 0 && words[at - 1].text == "even";
            (word.is_hedge() || word.is_exception() && !even()) && !self.own.contains(word.text)
        };
        let own = |run: &Range<usize>| {
            let mut run = words[run.clone()].iter();
            run.all(|word| self.own.contains(word.text))
        };
        let mut runs = (0..words.len()).filter_map(|at| language::softening_at(words, at));
        words.iter().enumerate().any(softens)
            || runs.any(|run| !own(&run))
            || language::releases(words)
    }
}

#[cfg(test)]
mod tests;
