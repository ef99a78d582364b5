//! What a clause that restates a constraint says otherwise.

use std::ops::Range;

use super::declared::{Declared, Polarity};
use super::{Hit, Reading};
use crate::analysis::AlterationKind;
use crate::anchor::Value;
use crate::language::{self, Mark, Marked};
use crate::modality::{Tone, words_of};

/// How far before "be skipped" a negation makes it the contrary, in tokens.
const BEFORE_SPARING: usize = 4;
/// What opens a condition that narrows a limit or a demand.
const CONDITIONS: &[&str] = &["as", "if", "in", "provided", "so"];
/// How far before a content word what narrows it stands.
const BEFORE_CONTENT: usize = 2;

/// The values of a clause against the declared ones.
pub(super) struct Values {
    /// Those declared that do not stand there.
    pub(super) missing: Vec<usize>,
    /// One of them, and the tokens of what stands in its place.
    pub(super) instead: Option<(usize, Range<usize>)>,
}

/// A clause, held against one constraint.
pub(super) struct Compared<'c, 'p, 'a> {
    pub(super) declared: &'c Declared,
    pub(super) reading: &'c Reading<'p, 'a>,
    pub(super) tone: Tone<'c>,
    pub(super) values: Values,
    /// How many of the content words were found.
    pub(super) found: usize,
    /// The first of them was.
    pub(super) lead: bool,
    /// The clause.
    pub(super) region: Range<usize>,
    pub(super) hits: &'c [Hit],
    /// The words begin their clause, as an order does.
    pub(super) is_order: bool,
}

/// Content words and values of a constraint.
fn all_of(declared: &Declared) -> usize {
    declared.contents.len() + declared.anchors.len()
}

type Verdict = (Option<(AlterationKind, String)>, usize);

impl Compared<'_, '_, '_> {
    /// How it differs, if it restates the constraint at all, and how much of it stands there.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let (contents, anchors) = (self.declared.contents.len(), self.declared.anchors.len());
        let kept = anchors - self.values.missing.len();
        let (all, total) = (self.found + kept, contents + anchors);
        let by_words = self.found * 2 >= contents && self.found >= contents.min(2);
        let by_all = all * 2 >= total && all >= total.min(2);
        if self.found == 0 || !by_words && !by_all {
            return None;
        }
        if let Some(difference) = self.contradiction(all < total) {
            return Some((Some((AlterationKind::Contradicted, difference)), all));
        }
        if by_words && let Some(difference) = self.mutation() {
            let swapped = usize::from(self.values.instead.is_some());
            return Some((Some((AlterationKind::Mutated, difference)), all + swapped));
        }
        if let Some(difference) = self.weakening(all == total) {
            return Some((Some((AlterationKind::Weakened, difference)), all));
        }
        let lost = anchors > 0 && kept == 0;
        (by_all && !lost && self.says_as_much(all * 4 >= total * 3)).then_some((None, all))
    }

    fn contradiction(&self, is_part: bool) -> Option<String> {
        use Polarity::{Both, Demands, Forbids, Permits, Restricts, States};
        let tone = &self.tone;
        let open = || {
            tone.permission(self.reading.passage)
                .filter(|_| !tone.has(Mark::Want))
        };
        let polarity = self.declared.polarity;
        if polarity == Permits {
            let forbids = tone.first(Mark::Forbid)?;
            return Some(self.told("what may be done is forbidden", &forbids));
        }
        if let Some(release) = tone.first(Mark::Release) {
            return Some(self.told("it is taken back", &release));
        }
        match polarity {
            Forbids | Restricts | Both => {
                if !tone.forbids()
                    && let Some(permit) = open()
                {
                    return Some(self.told("what is forbidden is allowed", &permit));
                }
                let words = &self.reading.passage.words()[self.region.clone()];
                let beyond = words.iter().find(|word| {
                    language::is_beyond(word.text) && !self.declared.own.contains(word.text)
                });
                if let Some(beyond) = beyond
                    && polarity == Restricts
                    && !tone.forbids()
                    && !tone.has(Mark::Negate)
                {
                    return Some(format!(
                        "it reaches past what is allowed: \u{201c}{}\u{201d}",
                        beyond.text
                    ));
                }
                if polarity != Forbids || !self.lead || tone.restricts() || tone.has(Mark::Soften) {
                    return None;
                }
                let demand = tone
                    .first(Mark::Demand)
                    .or_else(|| tone.first(Mark::Should));
                let ordered =
                    self.is_order && !is_part && all_of(self.declared) > 2 && !tone.has(Mark::Past);
                match demand {
                    Some(demand) => Some(self.told("what is forbidden is demanded", &demand)),
                    None => ordered.then(|| "what is forbidden is ordered".to_owned()),
                }
            }
            Demands => self.spared().or_else(|| {
                let conditional = [Mark::Exclusive, Mark::Except, Mark::Condition, Mark::Bound]
                    .iter()
                    .any(|mark| self.adds(*mark).is_some());
                if let Some(forbid) = tone.first(Mark::Forbid)
                    && self.lead
                    && self.found * 4 >= self.declared.contents.len() * 3
                    && !conditional
                    && !self.declared.is_negative
                {
                    return Some(self.told("what is demanded is forbidden", &forbid));
                }
                let permit = open().filter(|_| is_part || tone.has(Mark::Bound))?;
                Some(self.told("it may be done without", &permit))
            }),
            States => {
                let negation = tone
                    .first(Mark::Negate)
                    .or_else(|| tone.first(Mark::Forbid))?;
                (!self.declared.is_negative && !is_part)
                    .then(|| self.told("it is denied", &negation))
            }
            Permits => None,
        }
    }

    /// "No need to", "can be skipped"; not "must not be skipped".
    fn spared(&self) -> Option<String> {
        let spare = self.tone.all(Mark::Spare).find(|spare| {
            let negated = |mark: Marked| mark.at < spare.at && mark.at + BEFORE_SPARING >= spare.at;
            !self
                .tone
                .all(Mark::Forbid)
                .chain(self.tone.all(Mark::Negate))
                .any(negated)
        })?;
        Some(self.told("it need not be done", &spare))
    }

    fn mutation(&self) -> Option<String> {
        let complete = self.found == self.declared.contents.len();
        let says_so =
            complete || self.is_order || self.tone.is_normative() || self.tone.has(Mark::Bound);
        if !says_so || self.tone.is_report() && !complete {
            return None;
        }
        let passage = self.reading.passage;
        if let Some((at, tokens)) = &self.values.instead {
            let own = &self.declared.anchors[*at];
            // A name in the place of another is one only where all else agrees.
            if matches!(own, Value::Name(_)) && !complete {
                return None;
            }
            let other = passage.original(tokens.clone()).unwrap_or("");
            return Some(format!("another value stands in its place: {other}"));
        }
        let anchors = &self.declared.anchors;
        let lost = |value: &Value| {
            let like = |at: &usize| anchors[*at].is_like(value);
            // A name that is left out is often told by a pronoun.
            !matches!(value, Value::Name(_))
                && anchors.iter().filter(|other| other.is_like(value)).count()
                    == self.values.missing.iter().filter(|at| like(at)).count()
        };
        let gone =
            (complete || self.values.missing.len() == anchors.len()) && anchors.iter().any(lost);
        gone.then(|| "the value is left out".to_owned())
    }

    fn weakening(&self, is_whole: bool) -> Option<String> {
        use Polarity::{Demands, Permits, Restricts, States};
        let (tone, declared) = (&self.tone, self.declared);
        if matches!(declared.polarity, Permits | States) {
            return None;
        }
        let words = self.reading.passage.words();
        let firm = tone.has(Mark::Demand) || tone.has(Mark::Forbid);
        let softens = |soft: &Marked| {
            let own = |at: usize| {
                words
                    .get(at)
                    .is_some_and(|word| declared.own.contains(word.text))
            };
            let avoids = words
                .get(soft.at)
                .is_some_and(|word| word.text.starts_with("avoid"));
            !(soft.at..soft.at + soft.length).all(own) && !(avoids && firm)
        };
        if !declared.softens
            && let Some(soft) = tone.all(Mark::Soften).find(softens)
        {
            return Some(self.told("it is softened", &soft));
        }
        if declared.is_absolute
            && !declared.softens
            && let Some(should) = tone.merely_should(words)
        {
            return Some(self.told("a strict demand is softened", &should));
        }
        if let Some(rough) = self.rough() {
            return Some(format!(
                "its value is made a rough one: \u{201c}{rough}\u{201d}"
            ));
        }
        let only_unless = declared.polarity == Demands && tone.restricts();
        if !declared.excepts && !only_unless {
            let (first, last) = (self.hits[0].token, self.hits[self.hits.len() - 1].token);
            let opens = |marked: &Marked| {
                let beside =
                    marked.at > last || marked.at == self.reading.passage.clause(first).start;
                beside
                    && words
                        .get(marked.at)
                        .is_some_and(|word| CONDITIONS.contains(&word.text))
            };
            let added = tone
                .first(Mark::Except)
                .or_else(|| tone.all(Mark::Condition).find(opens));
            if let Some(added) = added.filter(|_| !tone.has(Mark::Want)) {
                return Some(self.told("an exception or a condition is added", &added));
            }
        }
        if let Some(narrow) = tone.all(Mark::Narrow).find(|narrow| self.narrows(narrow)) {
            return Some(self.told("its scope is narrowed", &narrow));
        }
        if declared.polarity == Demands
            && let Some(permit) = tone
                .permission(self.reading.passage)
                .filter(|_| !tone.has(Mark::Want))
        {
            return Some(self.told("what is demanded is only allowed", &permit));
        }
        if let Some(lost) = self.lost_modifier() {
            return Some(format!(
                "word for word, but \u{201c}{lost}\u{201d} is left out"
            ));
        }
        let universal = words[self.region.clone()]
            .iter()
            .any(|word| language::is_universal(word.text));
        let bare = declared.polarity == Restricts
            && is_whole
            && self.is_order
            && !tone.restricts()
            && !universal;
        (bare && !tone.has(Mark::Want)).then(|| "that it is the only one is left out".to_owned())
    }

    /// A word that says more of the next one, where the clause is the declared text without it and otherwise the same.
    fn lost_modifier(&self) -> Option<&str> {
        let declared = &self.declared.words;
        let words = self.reading.passage.words();
        let clause = self.reading.passage.clause(self.hits[0].token);
        if clause.len() >= declared.len() || clause.len() * 2 < declared.len() {
            return None;
        }
        let mut clause = words[clause].iter().map(|word| word.text).peekable();
        let mut lost = None;
        for (at, own) in declared.iter().enumerate() {
            if clause.next_if(|word| *word == own.text).is_some() {
                continue;
            }
            let says_more =
                own.is_content && declared.get(at + 1).is_some_and(|next| next.is_content);
            if !says_more {
                return None;
            }
            lost = Some(own.text.as_str());
        }
        lost.filter(|_| clause.peek().is_none())
    }

    /// A mark with words that the declared text does not have.
    fn adds(&self, mark: Mark) -> Option<Marked> {
        let words = self.reading.passage.words();
        self.tone.all(mark).find(|marked| {
            let run = words
                .get(marked.at..marked.at + marked.length)
                .unwrap_or(&[]);
            !run.iter().all(|word| self.declared.own.contains(word.text))
        })
    }

    /// The word that makes a rough figure of a declared value.
    fn rough(&self) -> Option<&str> {
        let words = self.reading.passage.words();
        let values = self.reading.anchors.iter().filter(|anchor| {
            matches!(
                anchor.value,
                Value::Quantity { .. } | Value::Time(_) | Value::Date { .. }
            ) && self.region.contains(&anchor.tokens.start)
                && self
                    .declared
                    .anchors
                    .iter()
                    .any(|own| own.equals(&anchor.value))
        });
        let mut before = values.filter_map(|anchor| {
            let at = anchor.tokens.start.checked_sub(1)?;
            let word = words.get(at)?.text;
            let close = word == "to"
                && at > 0
                && words.get(at - 1).is_some_and(|word| word.text == "close");
            (language::is_rough(word) || close).then_some(word)
        });
        before.find(|word| !self.declared.own.contains(*word))
    }

    /// Whether what narrows stands directly before one of the constraint's words, and is not its own.
    fn narrows(&self, narrow: &Marked) -> bool {
        let words = self.reading.passage.words();
        let own = |at: usize| {
            words
                .get(at)
                .is_some_and(|word| self.declared.own.contains(word.text))
        };
        let end = narrow.at + narrow.length;
        !(narrow.at..end).all(own)
            && self
                .hits
                .iter()
                .any(|hit| hit.token >= end && hit.token < end + BEFORE_CONTENT)
    }

    /// Whether the clause has the constraint's direction, so that it may be a paraphrase of it.
    fn says_as_much(&self, is_most: bool) -> bool {
        use Polarity::{Both, Demands, Forbids, Permits, Restricts, States};
        let tone = &self.tone;
        let avoids = tone
            .all(Mark::Soften)
            .any(|mark| words_of(self.reading.passage.words(), &mark).starts_with("avoid"));
        match self.declared.polarity {
            _ if tone.is_report() && !is_most => false,
            Forbids => (tone.restricts() || avoids) && !tone.is_report(),
            Restricts => {
                tone.restricts()
                    || tone.has(Mark::Want)
                    || tone.has(Mark::Demand)
                    || self.is_order && is_most
            }
            Both | Demands => tone.is_normative() || self.is_order || is_most,
            Permits => tone.has(Mark::Permit) || tone.has(Mark::Want) || tone.permits(),
            States => true,
        }
    }

    fn told(&self, what: &str, mark: &Marked) -> String {
        let words = words_of(self.reading.passage.words(), mark);
        format!("{what}: \u{201c}{words}\u{201d}")
    }
}
