//! What a clause that restates a constraint says otherwise.

use std::ops::Range;

use super::Reading;
use super::candidate::Hit;
use super::declared::{Declared, Polarity};
use crate::analysis::AlterationKind;
use crate::anchor::Value;
use crate::language::{self, Mark, Marked};
use crate::modality::{Tone, words_of};

/// So few items of a constraint's content that a report may hold them by chance.
const FEW: usize = 2;
/// How far before "be skipped" a negation makes it the contrary, in tokens.
const BEFORE_SPARING: usize = 4;

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
        if all * 5 >= total * 3
            && let Some(difference) = self.weakening(all == total)
        {
            return Some((Some((AlterationKind::Weakened, difference)), all));
        }
        let lost = anchors > 0 && kept == 0;
        (by_all && !lost && self.says_as_much(all * 4 >= total * 3)).then_some((None, all))
    }

    fn contradiction(&self, is_part: bool) -> Option<String> {
        use Polarity::{Both, Demands, Forbids, Permits, Restricts, States};
        let tone = &self.tone;
        let open = || {
            tone.permission(self.reading.passage, |mark| self.is_topic(mark))
                .filter(|_| !self.wants())
        };
        let polarity = self.declared.polarity;
        if polarity == Permits {
            let forbids = tone.first(Mark::Forbid)?;
            return Some(self.told("what may be done is forbidden", &forbids));
        }
        if let Some(release) = self.adds(Mark::Release)
            && !self.is_negated(&release)
        {
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
                let other = tone.restricts() || tone.has(Mark::Soften) || self.declared.excepts;
                if polarity != Forbids || !self.lead || other {
                    return None;
                }
                let demand = tone
                    .first(Mark::Demand)
                    .or_else(|| tone.first(Mark::Should));
                let ordered =
                    self.is_order && !is_part && all_of(self.declared) > 2 && !tone.has(Mark::Past);
                match demand {
                    Some(demand) if self.found * 4 >= self.declared.contents.len() * 3 => {
                        Some(self.told("what is forbidden is demanded", &demand))
                    }
                    _ => ordered.then(|| "what is forbidden is ordered".to_owned()),
                }
            }
            Demands => self.spared().or_else(|| {
                let conditional = [Mark::Exclusive, Mark::Except, Mark::Condition, Mark::Bound]
                    .iter()
                    .any(|mark| self.adds(*mark).is_some());
                if let Some(forbid) = self.forbidding()
                    && self.lead
                    && self.found * 4 >= self.declared.contents.len() * 3
                    && !conditional
                    && !self.declared.is_negative
                    && !self.has_opposite()
                {
                    return Some(self.told("what is demanded is forbidden", &forbid));
                }
                if !is_part
                    && !self.declared.is_negative
                    && let Some(none) = self.denied()
                {
                    return Some(self.told("it is denied", &none));
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

    /// A prohibition of the constraint's words: before their last, or as one that refers back ("… is prohibited").
    fn forbidding(&self) -> Option<Marked> {
        let words = self.reading.passage.words();
        let last = self.hits[self.hits.len() - 1].token;
        self.tone
            .all(Mark::Forbid)
            .filter(|forbid| !self.allows_one(forbid))
            .find(|forbid| forbid.at < last || language::prohibition_after(words, forbid.at) > 0)
    }

    /// "No" directly before one of the constraint's words, and nothing that makes a condition of it: "not before …" demands.
    fn denied(&self) -> Option<Marked> {
        let words = self.reading.passage.words();
        let conditions = [Mark::Exclusive, Mark::Except, Mark::Condition];
        if conditions.iter().any(|mark| self.tone.has(*mark)) || self.adds(Mark::Bound).is_some() {
            return None;
        }
        let is_no = |mark: &Marked| words.get(mark.at).is_some_and(|word| word.text == "no");
        let names = |at: usize| self.hits.iter().any(|hit| hit.token == at);
        let mut negations = self.tone.all(Mark::Negate);
        negations.find(|mark| is_no(mark) && names(mark.at + mark.length))
    }

    /// "May only": what is allowed under a condition may be demanded with it.
    fn allows_one(&self, forbid: &Marked) -> bool {
        let last = (forbid.at + forbid.length).checked_sub(1);
        let word = last.and_then(|at| self.reading.passage.words().get(at));
        word.is_some_and(|word| word.text == "only")
    }

    /// "No need to", "can be skipped"; not "must not be skipped".
    fn spared(&self) -> Option<String> {
        let spare = self.tone.all(Mark::Spare).find(|spare| {
            let negated = |mark: Marked| mark.at < spare.at && mark.at + BEFORE_SPARING >= spare.at;
            let any = |mark| self.tone.all(mark).any(negated);
            !any(Mark::Forbid) && !any(Mark::Negate) && !self.is_topic(spare)
        });
        let spare = spare
            .or_else(|| self.unneeded())
            .or_else(|| self.left_undone())?;
        Some(self.told("it need not be done", &spare))
    }

    /// "Without asking", of a demand to ask, where nothing forbids that.
    fn left_undone(&self) -> Option<Marked> {
        let words = self.reading.passage.words();
        let lead = |at: usize| {
            self.hits
                .iter()
                .any(|hit| hit.token == at && hit.content == 0)
        };
        let without = self.tone.all(Mark::Bound).find(|mark| {
            words
                .get(mark.at)
                .is_some_and(|word| word.text == "without")
                && lead(mark.at + 1)
        })?;
        let limits = [Mark::Negate, Mark::Exclusive, Mark::Except];
        let allowed = !self.tone.forbids() && !limits.iter().any(|mark| self.tone.has(*mark));
        allowed.then_some(without)
    }

    /// "No entry is needed": a negation that begins the clause, and nothing that makes a condition of it.
    fn unneeded(&self) -> Option<Marked> {
        let start = self.reading.passage.clause(self.hits[0].token).start;
        let words = self.reading.passage.words();
        let conditional = [Mark::Except, Mark::Bound, Mark::Exclusive]
            .iter()
            .any(|mark| self.tone.has(*mark));
        let opens = |none: &Marked| {
            none.at == start
                && words
                    .get(start)
                    .is_some_and(|word| matches!(word.text, "no" | "neither"))
        };
        let negation = self.tone.all(Mark::Negate).find(opens)?;
        let needs = |at: usize| {
            let is = words
                .get(at)
                .is_some_and(|word| matches!(word.text, "is" | "are"));
            let needed = words
                .get(at + 1)
                .is_some_and(|word| language::is_needed(word.text));
            is && needed
        };
        let needed = !conditional && self.region.clone().any(needs);
        needed.then_some(negation)
    }

    /// Whether the clause forbids, demands or orders as the constraint does, whatever about.
    pub(super) fn directs(&self) -> bool {
        use Polarity::{Both, Demands, Forbids, Permits, Restricts, States};
        let tone = &self.tone;
        let limits = || {
            let limits = [Mark::Exclusive, Mark::Negate, Mark::Cap];
            tone.forbids() || limits.iter().any(|mark| tone.has(*mark))
        };
        let demands = || tone.is_normative() || self.is_order;
        match self.declared.polarity {
            // "Not without a signature" demands one.
            Forbids if self.declared.excepts => limits() || tone.has(Mark::Demand),
            Forbids | Restricts => limits(),
            Both | Demands => demands(),
            Permits | States => true,
        }
    }

    fn mutation(&self) -> Option<String> {
        let contents = self.declared.contents.len();
        let complete = self.found == contents;
        let directed = self.directs();
        let kept = self.declared.anchors.len() - self.values.missing.len();
        let many = complete && self.found + kept > FEW;
        let few = self.found < FEW && !(self.values.instead.is_some() && directed);
        if few
            || self.found * 5 < contents * 3
            || !directed && !many
            || self.tone.is_report() && !many
        {
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

    /// A mark with words that the declared text does not have.
    fn adds(&self, mark: Mark) -> Option<Marked> {
        let words = self.reading.passage.words();
        self.tone.all(mark).find(|marked| {
            let run = words
                .get(marked.at..marked.at + marked.length)
                .unwrap_or(&[]);
            !run.iter().all(|word| self.declared.own.contains(word.text)) && !self.is_topic(marked)
        })
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
            // "Not without a signature" demands one.
            Forbids if self.declared.excepts && tone.has(Mark::Demand) => true,
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

    /// Whether all that a mark's words name is what the constraint is about: "dropped" where it forbids to drop something.
    pub(super) fn is_topic(&self, mark: &Marked) -> bool {
        let words = self.reading.passage.words();
        (mark.at..mark.at + mark.length).all(|at| {
            self.hits.iter().any(|hit| hit.token == at)
                || words.get(at).is_some_and(|word| word.is_stop_word())
        })
    }

    /// Whether the clause reports what somebody wants.
    pub(super) fn wants(&self) -> bool {
        self.tone.all(Mark::Want).any(|mark| !self.is_topic(&mark))
    }

    /// Whether a negation stands directly before a mark.
    fn is_negated(&self, mark: &Marked) -> bool {
        let before = mark.at.checked_sub(1);
        let word = before.and_then(|at| self.reading.passage.words().get(at));
        word.is_some_and(|word| matches!(word.text, "not" | "never") || word.text.ends_with("n't"))
    }

    pub(super) fn told(&self, what: &str, mark: &Marked) -> String {
        let words = words_of(self.reading.passage.words(), mark);
        format!("{what}: \u{201c}{words}\u{201d}")
    }
}
