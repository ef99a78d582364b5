//! Whether a text restates a constraint in other words, and whether it then still says the same.
//!
//! The words of a clause are compared by their concepts (roots and closed classes of synonyms). Where at least half of a
//! constraint's content stands in one clause, the clause's values and its modality are held against those declared: another
//! value is a mutation, a softer modality a weakening, the opposite a contradiction. What is left is likely a paraphrase.

mod candidate;
mod declared;
mod difference;
mod substitution;
mod weakening;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use remembrancer_schema::payload::ConstraintKind;

use crate::analysis::AlterationKind;
use crate::anchor::{self, Anchor, Value};
use crate::effort;
use crate::language::{self, Marked, Stance};
use crate::modality::Tone;
use crate::passage::Passage;
pub(crate) use candidate::COMPARED_MAX;
use candidate::{Hit, Index};
use declared::Declared;

/// Longest clause that is compared at once; a longer one is compared in pieces.
const CLAUSE_TOKENS_MAX: usize = 80;
/// Tokens of a clause that are read on each side of a constraint's words.
const MARGIN_TOKENS: usize = 10;
/// Tokens beside the words themselves in their window, and for each word.
const SLACK_TOKENS: usize = 12;
const TOKENS_PER_WORD: usize = 4;
/// Most small words before an order.
const SMALL_WORDS_MAX: usize = 4;

/// All constraints of a session, with the index over their content words.
#[derive(Debug)]
pub(crate) struct Restatements {
    /// Each whole, and its clauses after it.
    declared: Vec<Declared>,
    index: Index,
}

/// A place where a constraint stands itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stated {
    /// Position of the constraint.
    pub(crate) constraint: usize,
    /// Its words.
    pub(crate) run: Range<usize>,
    /// They are the declared ones, word for word.
    pub(crate) word_for_word: bool,
}

/// A place that restates a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restated {
    /// Position of the constraint.
    pub(crate) constraint: usize,
    /// Its words.
    pub(crate) run: Range<usize>,
    /// The clause or sentence in which they stand.
    pub(crate) within: Range<usize>,
    /// How it differs, and the difference in words; `None` for a likely paraphrase.
    pub(crate) altered: Option<(AlterationKind, String)>,
    /// All of the constraint's content stands there.
    pub(crate) is_whole: bool,
    /// How much of it does.
    fullness: usize,
    /// It says the same of something else, which may be another rule beside this one.
    is_swap: bool,
}

/// What a text restates, as far as it was compared.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By constraint.
    pub(crate) restated: Vec<Restated>,
    /// By constraint: clauses with enough of its words that were not compared with it.
    pub(crate) left: Vec<(usize, usize)>,
}

/// A text that is held against constraints, with its marks and values found once.
struct Reading<'p, 'a> {
    passage: &'p Passage<'a>,
    marks: Vec<Marked>,
    anchors: Vec<Anchor>,
}

impl Restatements {
    pub(crate) fn new<'d>(declared: impl Iterator<Item = (ConstraintKind, &'d str)>) -> Self {
        let declared: Vec<Declared> = (0..)
            .zip(declared)
            .flat_map(|(constraint, (kind, text))| Declared::read(constraint, kind, text))
            .collect();
        let index = Index::new(&declared);
        Self { declared, index }
    }

    /// The fullest restatement of each constraint that a text restates, by constraint. A sentence that states another constraint
    /// is no alteration of this one, and a place where one stands word for word is judged already.
    pub(crate) fn find(&self, passage: &Passage<'_>, stated: &[Stated]) -> Found {
        let Some(mut candidates) = self.index.candidates(&self.declared, passage) else {
            return Found::default();
        };
        let reading = Reading::new(passage);
        let standing = Standing::new(stated);
        let mut best: HashMap<usize, Restated> = HashMap::new();
        let mut consider = |within: Range<usize>, sentence: &Range<usize>, whole: bool| {
            let near: OnceCell<Vec<&Stated>> = OnceCell::new();
            candidates.within(&within, whole, |statement, hits| {
                let declared = &self.declared[statement];
                let near = near.get_or_init(|| standing.near(&within));
                if standing.is_judged(declared.constraint, hits, near) {
                    return;
                }
                if let Some(found) = reading.compare(declared, hits, &within, sentence)
                    && (found.altered.is_none()
                        || !says_another(found.constraint, &found.run, near))
                    && !(found.is_swap && standing.constraints.contains(&found.constraint))
                {
                    keep(&mut best, found);
                }
            });
        };
        let clauses: Vec<(Range<usize>, bool)> = passage.clauses().collect();
        for sentence in clauses.chunk_by(|_, (_, continues)| *continues) {
            let whole = sentence[0].0.start..sentence[sentence.len() - 1].0.end;
            for (clause, _) in sentence {
                pieces(clause).for_each(|piece| consider(piece, &whole, false));
            }
            pieces(&whole).for_each(|piece| consider(piece, &whole, true));
        }
        let mut restated: Vec<Restated> = best.into_values().collect();
        restated.sort_by_key(|restated| restated.constraint);
        Found {
            restated,
            left: candidates.left(),
        }
    }
}

/// Where constraints stand themselves.
struct Standing<'s> {
    by_start: Vec<&'s Stated>,
    /// Tokens of the longest.
    longest: usize,
    constraints: HashSet<usize>,
}

impl<'s> Standing<'s> {
    fn new(stated: &'s [Stated]) -> Self {
        let mut by_start: Vec<&Stated> = stated.iter().collect();
        by_start.sort_by_key(|stated| stated.run.start);
        Self {
            by_start,
            longest: stated.iter().map(|one| one.run.len()).max().unwrap_or(0),
            constraints: stated.iter().map(|stated| stated.constraint).collect(),
        }
    }

    /// Those that share tokens with a clause.
    fn near(&self, within: &Range<usize>) -> Vec<&'s Stated> {
        let from = self
            .by_start
            .partition_point(|stated| stated.run.start + self.longest <= within.start);
        let to = self
            .by_start
            .partition_point(|stated| stated.run.start < within.end);
        let here = &self.by_start[from..to.max(from)];
        effort::spend(here.len());
        let shares = |stated: &&&Stated| shared(&stated.run, within) > 0;
        here.iter().filter(shares).copied().collect()
    }

    /// Whether a constraint's words are those of another that stands there, or its own place that is judged already.
    fn is_judged(&self, constraint: usize, hits: &[Hit], near: &[&Stated]) -> bool {
        let (Some(first), Some(last)) = (hits.first(), hits.last()) else {
            return true;
        };
        effort::spend(near.len());
        let run = first.token..last.token + 1;
        let itself = near.iter().any(|stated| {
            stated.constraint == constraint && stated.word_for_word && shared(&stated.run, &run) > 0
        });
        itself || self.constraints.contains(&constraint) && says_another(constraint, &run, near)
    }
}

/// A clause as it is compared: whole, or where it is very long in pieces.
fn pieces(clause: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = clause.end;
    clause
        .clone()
        .step_by(CLAUSE_TOKENS_MAX)
        .map(move |start| start..(start + CLAUSE_TOKENS_MAX).min(end))
}

/// Whether most of a run belongs to another constraint that stands there itself.
fn says_another(constraint: usize, run: &Range<usize>, near: &[&Stated]) -> bool {
    near.iter()
        .any(|stated| stated.constraint != constraint && shared(&stated.run, run) * 2 > run.len())
}

/// How many tokens two runs share.
fn shared(one: &Range<usize>, other: &Range<usize>) -> usize {
    one.end
        .min(other.end)
        .saturating_sub(one.start.max(other.start))
}

/// The fullest place decides. Of two that are equally full, and of two in one place, the one that differs does.
fn keep(best: &mut HashMap<usize, Restated>, found: Restated) {
    let rank = |one: &Restated| (one.fullness, one.altered.is_some());
    let Some(known) = best.get(&found.constraint) else {
        best.insert(found.constraint, found);
        return;
    };
    let one_place = known.run.start < found.run.end && found.run.start < known.run.end;
    let wins = if one_place && known.altered.is_some() != found.altered.is_some() {
        found.altered.is_some()
    } else {
        rank(&found) > rank(known)
    };
    if wins {
        best.insert(found.constraint, found);
    }
}

impl<'p, 'a> Reading<'p, 'a> {
    fn new(passage: &'p Passage<'a>) -> Self {
        let anchors = anchor::anchors(passage);
        let mut marks = language::marks(passage);
        // The month of May permits nothing.
        marks.retain(|marked| {
            let after = anchors.partition_point(|anchor| anchor.tokens.start <= marked.at);
            let before = after.checked_sub(1).and_then(|at| anchors.get(at));
            before.is_none_or(|anchor| !anchor.tokens.contains(&marked.at))
        });
        Self {
            passage,
            marks,
            anchors,
        }
    }

    fn compare(
        &self,
        declared: &Declared,
        hits: &[Hit],
        within: &Range<usize>,
        sentence: &Range<usize>,
    ) -> Option<Restated> {
        let window = closest(hits, declared.contents.len())?;
        let run = window.first()?.token..window.last()?.token + 1;
        let found: u64 = window.iter().fold(0, |found, hit| found | 1 << hit.content);
        let region = run.start.saturating_sub(MARGIN_TOKENS).max(within.start)
            ..(run.end + MARGIN_TOKENS).min(within.end);
        effort::spend(region.len());
        let opener = self.passage.opening_stance(run.start);
        if opener == Stance::Unclear {
            return None;
        }
        let compared = difference::Compared {
            declared,
            reading: self,
            tone: Tone::of(&self.marks, &region, opener),
            values: self.values(declared, &self.around(within, sentence)),
            found: found.count_ones() as usize,
            lead: found & 1 == 1,
            hits: window,
            is_order: self.begins(run.start),
            region,
        };
        let (altered, fullness) = compared.verdict()?;
        let swapped = altered.is_none().then(|| compared.swapped()).flatten();
        let is_swap = swapped.is_some();
        let altered = altered.or(swapped);
        if declared.is_clause && altered.is_none() {
            return None;
        }
        Some(Restated {
            constraint: declared.constraint,
            is_whole: fullness >= declared.contents.len() + declared.anchors.len(),
            run,
            within: within.clone(),
            altered,
            fullness,
            is_swap,
        })
    }

    /// Whether nothing but small words stands in a clause before a token, as in an order.
    fn begins(&self, token: usize) -> bool {
        let start = self.passage.clause(token).start;
        let before = &self.passage.words()[start.min(token)..token];
        before.len() <= SMALL_WORDS_MAX
            && before.iter().enumerate().all(|(at, word)| {
                at == 0 && token == start + 1
                    || word.is_stop_word()
                    || self.is_value(start + at)
                    || language::is_light(word.text)
            })
    }

    /// Whether a token is part of a value.
    fn is_value(&self, token: usize) -> bool {
        let after = self
            .anchors
            .partition_point(|anchor| anchor.tokens.start <= token);
        after
            .checked_sub(1)
            .is_some_and(|at| self.anchors[at].tokens.contains(&token))
    }

    /// Where the values of a clause may stand: beyond a colon too ("Arrival: 12 May").
    fn around(&self, clause: &Range<usize>, sentence: &Range<usize>) -> Range<usize> {
        let colon = |at: usize| self.passage.gap(at).contains(':');
        let before = clause.start > sentence.start && colon(clause.start);
        let after = clause.end < sentence.end && colon(clause.end);
        let far = CLAUSE_TOKENS_MAX / 2;
        let low = clause.start.saturating_sub(if before { far } else { 0 });
        let high = clause.end + if after { far } else { 0 };
        low.max(sentence.start)..high.min(sentence.end)
    }

    /// The values that begin in a region.
    fn anchors_in(&self, region: &Range<usize>) -> &[Anchor] {
        let starts = |end: usize| {
            self.anchors
                .partition_point(|anchor| anchor.tokens.start < end)
        };
        let (from, to) = (starts(region.start), starts(region.end));
        &self.anchors[from..to.max(from)]
    }

    /// Which of the declared values stand in a region, and what stands in the place of one that does not.
    fn values(&self, declared: &Declared, region: &Range<usize>) -> difference::Values {
        let here = self.anchors_in(region);
        effort::spend(here.len() * declared.anchors.len());
        let stands = |value: &Value| match value {
            Value::Code { text, .. } => {
                effort::spend(region.len());
                anchor::code_stands(self.passage, text, region.clone())
            }
            _ => here.iter().any(|other| value.equals(&other.value)),
        };
        let missing: Vec<usize> = (0..declared.anchors.len())
            .filter(|at| !stands(&declared.anchors[*at]))
            .collect();
        let is_own = |other: &Value| declared.family.iter().any(|own| own.equals(other));
        let others: Vec<&Anchor> = if missing.is_empty() {
            Vec::new()
        } else {
            effort::spend(here.len() * declared.family.len());
            here.iter().filter(|other| !is_own(&other.value)).collect()
        };
        let instead = missing.iter().find_map(|at| {
            let own = &declared.anchors[*at];
            let place = others.iter().find(|anchor| own.is_like(&anchor.value))?;
            Some((*at, place.tokens.clone()))
        });
        difference::Values { missing, instead }
    }
}

/// The shortest run of hits that holds the most content words.
fn closest(hits: &[Hit], contents: usize) -> Option<&[Hit]> {
    let limit = SLACK_TOKENS + TOKENS_PER_WORD * contents;
    let mut counts = vec![0_usize; contents];
    let (mut start, mut distinct) = (0, 0);
    let mut best: Option<(usize, usize, Range<usize>)> = None;
    for (end, hit) in hits.iter().enumerate() {
        effort::spend(1);
        counts[hit.content] += 1;
        distinct += usize::from(counts[hit.content] == 1);
        while counts[hits[start].content] > 1 || hit.token - hits[start].token > limit {
            let left = &mut counts[hits[start].content];
            *left -= 1;
            distinct -= usize::from(*left == 0);
            start += 1;
        }
        let length = hit.token - hits[start].token;
        if best.as_ref().is_none_or(|(most, shortest, _)| {
            distinct > *most || distinct == *most && length < *shortest
        }) {
            best = Some((distinct, length, start..end + 1));
        }
    }
    best.map(|(_, _, run)| &hits[run])
}

#[cfg(test)]
mod tests;
