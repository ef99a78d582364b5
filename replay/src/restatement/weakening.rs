//! How a clause says a constraint less strongly, of less, or with exceptions.

use super::candidate::Hit;
use super::declared::Polarity;
use super::difference::Compared;
use crate::anchor::Value;
use crate::language::{self, Mark, Marked};

/// How far beside the constraint's words what softens them stands, in tokens.
const BESIDE: usize = 8;
/// How far before a content word what narrows it stands.
const BEFORE_CONTENT: usize = 2;
/// What opens a condition that narrows a limit or a demand.
const CONDITIONS: &[&str] = &["as", "if", "in", "provided", "so"];

/// Likewise, where all that was declared stands before it.
const FURTHER_CONDITIONS: &[&str] = &[
    "assuming",
    "depending",
    "subject",
    "until",
    "when",
    "whenever",
    "where",
    "wherever",
];
/// How far into a relative clause a word of the constraint makes it part of that.
const RELATIVE_TOKENS: usize = 4;

impl Compared<'_, '_, '_> {
    pub(super) fn weakening(&self, is_whole: bool) -> Option<String> {
        use Polarity::{Demands, Forbids, Permits, Restricts, States};
        let (tone, declared) = (&self.tone, self.declared);
        if matches!(declared.polarity, Permits | States) {
            return None;
        }
        let words = self.reading.passage.words();
        let firm = tone.has(Mark::Demand) || tone.has(Mark::Forbid);
        if !firm
            && !declared.softens
            && let Some(concern) = tone.all(Mark::Concern).find(|mark| !self.is_topic(mark))
        {
            return Some(self.told("it is only reported as a thought of somebody's", &concern));
        }
        let softens = |soft: &Marked| {
            let own = |at: usize| {
                words
                    .get(at)
                    .is_some_and(|word| declared.own.contains(word.text))
            };
            let avoids = words
                .get(soft.at)
                .is_some_and(|word| word.text.starts_with("avoid"));
            let (first, last) = (self.hits[0].token, self.hits[self.hits.len() - 1].token);
            let near = soft.at + soft.length + BESIDE >= first && soft.at <= last + BESIDE;
            near && !(soft.at..soft.at + soft.length).all(own) && !(avoids && firm)
        };
        if !declared.softens
            && let Some(soft) = tone.all(Mark::Soften).find(softens)
        {
            return Some(self.told("it is softened", &soft));
        }
        if let Some(limit) = self.loosened(is_whole) {
            return Some(self.told("what is forbidden is only limited", &limit));
        }
        let alone = declared.polarity == Restricts && !tone.restricts() && !self.wants();
        if (declared.is_absolute || alone)
            && !declared.softens
            && let Some(should) = tone.merely_should(words, |mark| self.is_topic(mark))
        {
            return Some(self.told("a strict demand is softened", &should));
        }
        if let Some(rough) = self.rough() {
            return Some(format!(
                "its value is made a rough one: \u{201c}{rough}\u{201d}"
            ));
        }
        let only_unless = declared.polarity == Demands && tone.restricts();
        // Where the declared text has a condition itself, another one is what follows all of its content.
        let all_before = || {
            let region = &self.region;
            let mut values = self.reading.anchors_in(region).iter();
            let value =
                values.rfind(|anchor| declared.anchors.iter().any(|own| own.equals(&anchor.value)));
            let last = self.hits[self.hits.len() - 1].token;
            is_whole.then(|| value.map_or(last, |anchor| last.max(anchor.tokens.end - 1)))
        };
        let further = |mark: &Marked| all_before().is_some_and(|last| mark.at > last);
        {
            let (first, last) = (self.hits[0].token, self.hits[self.hits.len() - 1].token);
            let opens = |marked: &Marked| {
                let beside =
                    marked.at > last || marked.at == self.reading.passage.clause(first).start;
                beside
                    && words
                        .get(marked.at)
                        .is_some_and(|word| CONDITIONS.contains(&word.text))
            };
            let is_new = |marked: &Marked| !declared.own.contains(words[marked.at].text);
            let opens_all = |marked: &Marked| {
                let when = words
                    .get(marked.at)
                    .is_some_and(|word| FURTHER_CONDITIONS.contains(&word.text));
                further(marked)
                    && (when || opens(marked))
                    && !declared.own.contains(words[marked.at].text)
            };
            let added = if declared.excepts {
                let excepts = tone
                    .all(Mark::Except)
                    .filter(|_| !only_unless)
                    .find(further);
                excepts.or_else(|| tone.all(Mark::Condition).find(opens_all))
            } else {
                let excepts = tone.all(Mark::Except).filter(|_| !only_unless).find(is_new);
                excepts.or_else(|| {
                    let opens = |mark: &Marked| !only_unless && opens(mark) || opens_all(mark);
                    tone.all(Mark::Condition).find(opens)
                })
            };
            let without = || {
                let forbids = declared.polarity == Forbids && !declared.excepts;
                let opens = |mark: &Marked| {
                    words
                        .get(mark.at)
                        .is_some_and(|word| word.text == "without")
                };
                let mut bounds = tone.all(Mark::Bound);
                bounds.find(|mark| forbids && opens(mark) && further(mark))
            };
            let added = added.or_else(without);
            if let Some(added) = added.filter(|_| !self.wants()) {
                return Some(self.told("an exception or a condition is added", &added));
            }
        }
        if let Some(which) = self.singled_out() {
            return Some(format!("its scope is narrowed: \u{201c}{which}\u{201d}"));
        }
        if let Some(narrow) = tone
            .all(Mark::Narrow)
            .find(|narrow| (is_whole || self.is_said()) && self.narrows(narrow))
        {
            return Some(self.told("its scope is narrowed", &narrow));
        }
        if declared.polarity == Demands
            && let Some(permit) = tone
                .permission(self.reading.passage, |mark| self.is_topic(mark))
                .filter(|_| !self.wants())
        {
            return Some(self.told("what is demanded is only allowed", &permit));
        }
        if let Some(gained) = self.gained_modifier() {
            return Some(format!(
                "word for word, but only of what is \u{201c}{gained}\u{201d}"
            ));
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
        (bare && !self.wants()).then(|| "that it is the only one is left out".to_owned())
    }

    /// A limit that names the forbidden thing only to limit it, or to allow it under a condition.
    fn loosened(&self, is_whole: bool) -> Option<Marked> {
        let tone = &self.tone;
        let words = self.reading.passage.words();
        let is_own = |mark: &Marked| {
            words
                .get(mark.at)
                .is_some_and(|word| self.declared.own.contains(word.text))
        };
        let start = self.reading.passage.clause(self.hits[0].token).start;
        if self.declared.polarity != Polarity::Forbids || tone.forbids() || tone.has(Mark::Negate) {
            return None;
        }
        let limits = tone.first(Mark::Bound).filter(|mark| mark.at == start);
        let only = tone.first(Mark::Exclusive).filter(|only| {
            self.is_order
                && tone
                    .all(Mark::Condition)
                    .any(|mark| mark.at == only.at + only.length)
        });
        // "X is only done in emergencies": outside of them, that X is not done is the declared text's.
        let rarely = || {
            let plain = is_whole && !self.declared.excepts && self.has_all_bounds();
            tone.all(Mark::Exclusive)
                .find(|only| plain && !is_own(only))
        };
        limits.or(only).or_else(rarely).filter(|mark| !is_own(mark))
    }

    /// Whether all that bounds what is forbidden stands in the clause too: "outside" what it is.
    fn has_all_bounds(&self) -> bool {
        let here = &self.reading.passage.words()[self.region.clone()];
        let stands = |concept: &str| {
            here.iter()
                .any(|word| language::concept(word.text) == concept)
        };
        let mut words = self.declared.words.iter();
        !self.declared.bounds || words.all(|own| own.turns || own.is_small || stands(&own.concept))
    }

    /// What says which ones are meant, of those that the declared text means all: "exports that …", "expensive boats".
    fn singled_out(&self) -> Option<&str> {
        let words = self.reading.passage.words();
        let is_new = |word: &str| !self.declared.own.contains(word);
        let hit_at = |at: usize| self.hits.iter().any(|hit| hit.token == at);
        let of_all = |hit: &&Hit| self.declared.universal.contains(&hit.content);
        let all_before = |at: usize| {
            let before = &words[at.saturating_sub(BEFORE_CONTENT + 1)..at];
            before.iter().any(|word| language::is_universal(word.text))
        };
        self.hits.iter().filter(of_all).find_map(|hit| {
            let clause = self.reading.passage.clause(hit.token);
            let next = words.get(hit.token + 1).filter(|next| {
                let relative = language::is_relative(next.text) && is_new(next.text);
                let own = (hit.token + 2..hit.token + 2 + RELATIVE_TOKENS).any(hit_at);
                relative && !own && self.reading.passage.is_spaced(hit.token + 1)
            });
            let before = hit
                .token
                .checked_sub(1)
                .filter(|at| *at >= clause.start && !hit_at(*at) && !all_before(*at));
            let adjective = before.and_then(|at| words.get(at)).filter(|word| {
                let plain = !word.is_stop_word() && !language::is_universal(word.text);
                language::is_adjectival(word.text) && is_new(word.text) && plain
            });
            // "Portrait photos need a signed form."
            let kind = before.and_then(|at| words.get(at)).filter(|_| {
                let at = hit.token - 1;
                let norms = [Mark::Demand, Mark::Forbid, Mark::Should, Mark::Permit];
                let governed = norms
                    .iter()
                    .any(|mark| self.tone.all(*mark).any(|marked| marked.at > hit.token));
                at == clause.start && governed && self.is_new(at)
            });
            next.or(adjective).or(kind).map(|word| word.text)
        })
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

    /// The word that makes a rough figure of a declared value.
    fn rough(&self) -> Option<&str> {
        let words = self.reading.passage.words();
        let here = self.reading.anchors_in(&self.region);
        let values = here.iter().filter(|anchor| {
            let is_figure = match &anchor.value {
                Value::Quantity { .. } | Value::Time(_) | Value::Date { .. } => true,
                Value::Name(name) => language::is_weekday(name),
                Value::Code { .. } => false,
            };
            is_figure
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
        !(narrow.at..end).all(own) && (end..end + BEFORE_CONTENT).any(|at| self.names(at))
    }

    /// Whether a word is one of the constraint's content words, inside the closest run of them or beside it.
    fn names(&self, at: usize) -> bool {
        self.reading.passage.words().get(at).is_some_and(|word| {
            let concept = language::concept(word.text);
            self.declared.contents.iter().any(|own| *own == concept)
        })
    }

    /// Whether it is this constraint that the clause is about: by its direction, or by one of its values.
    fn is_said(&self) -> bool {
        self.directs() || self.declared.anchors.len() > self.values.missing.len()
    }
}
