//! The words that make a sentence of the user look like a rule.

use remembrancer_replay::{Wording, wording};

use super::vocabulary::*;

/// Where a rule begins in its sentence, and whether it forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cue {
    pub(super) from: usize,
    pub(super) forbids: bool,
}

impl Cue {
    /// The first cue of a sentence.
    pub(super) fn find(sentence: &str) -> Option<Self> {
        let words = words(sentence);
        if sentence.ends_with('?') || asks(&words) {
            return None;
        }
        let runs = wording(sentence);
        if runs.iter().any(|run| run.wording == Wording::Reports) {
            return None;
        }
        let reader = Reader {
            sentence,
            words: &words,
        };
        runs.iter()
            .filter_map(|run| reader.worded(run.wording, run.bytes.start, run.bytes.end))
            .chain(reader.ordered())
            .chain(reader.contrasted())
            .chain(reader.limited_to_now())
            .chain(reader.noted())
            .chain(reader.conditioned())
            .min_by_key(|cue| (cue.from, !cue.forbids))
    }
}

/// Whether a sentence begins as a question does.
fn asks(words: &[Word]) -> bool {
    let mut rest = words
        .iter()
        .map(|word| word.text.as_str())
        .skip_while(|word| LEADING.contains(word));
    let (first, next) = (rest.next().unwrap_or(""), rest.next().unwrap_or(""));
    ASKING.contains(&first) || ASKING_BEFORE.contains(&first) && ASKED.contains(&next)
}

/// A sentence whose cues are looked for.
struct Reader<'a> {
    sentence: &'a str,
    words: &'a [Word],
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    fn before(&self, at: usize) -> &str {
        at.checked_sub(1).map_or("", |before| self.text(before))
    }

    /// The word that begins at a byte.
    fn word_at(&self, byte: usize) -> Option<usize> {
        self.words
            .iter()
            .position(|word| (word.at..word.end).contains(&byte))
    }

    /// The first word of the part of the sentence, between commas or colons, in which a word stands.
    fn part(&self, at: usize) -> usize {
        (0..=at)
            .rev()
            .find(|&at| at == 0 || self.words[at].opens)
            .unwrap_or(0)
    }

    /// A cue at a word: the rule begins with the part that the word stands in, without what only leads to it.
    fn cue(&self, at: usize, forbids: bool) -> Cue {
        let mut from = self.part(at);
        while from < at && LEADING.contains(&self.text(from)) {
            from += 1;
        }
        Cue {
            from: self.words.get(from).map_or(0, |word| self.quoted(word.at)),
            forbids,
        }
    }

    /// The place with an opening quotation mark or the like before it.
    fn quoted(&self, at: usize) -> usize {
        let before = self.sentence[..at].trim_end_matches(['"', '\'', '`', '_', '*', '\u{201c}']);
        before.len()
    }

    /// What a run of words that forbids, demands or limits makes of the sentence.
    fn worded(&self, wording: Wording, start: usize, end: usize) -> Option<Cue> {
        let at = self.word_at(start)?;
        let next = self.words.iter().position(|word| word.at >= end);
        let next = next.map_or("", |next| self.text(next));
        let first = self.text(at);
        let subject = self.before(at);
        let is_own = matches!(subject, "i" | "i'm" | "we");
        match wording {
            Wording::Forbids => {
                let talks = matches!(first, "don't" | "do") && TALKING.contains(&next);
                let predicts = matches!(first, "won't" | "will" | "refuse" | "blocked" | "barred")
                    || matches!(first, "can't" | "cannot") && subject != "you";
                (!talks && !predicts && !is_own).then(|| self.cue(at, true))
            }
            // "Don't forget to" demands; "don't worry" and "don't hesitate" do not.
            Wording::Demands if matches!(first, "don't" | "do" | "never") => self.sentence
                [start..end]
                .ends_with("forget")
                .then(|| self.cue(at, false)),
            // "Refunds require approval", not "this requires a refactor".
            Wording::Demands if matches!(first, "require" | "requires") => {
                let points = matches!(subject, "" | "this" | "that" | "it" | "which" | "you");
                (!points && !is_own).then(|| self.cue(at, false))
            }
            Wording::Demands => {
                let is_need = matches!(first, "need" | "needs" | "have" | "has");
                let is_standing = STANDING.contains(&next)
                    || matches!(next, "to" | "be") && self.follows(end, STANDING);
                (!is_need || !is_own && subject != "you" && is_standing || subject == "it")
                    .then(|| self.cue(at, false))
            }
            Wording::Advises => STANDING
                .contains(&next)
                .then(|| self.cue(at, matches!(next, "not" | "never"))),
            Wording::Bounds => {
                let is_cap = matches!(
                    first,
                    "at" | "no"
                        | "not"
                        | "max"
                        | "maximum"
                        | "limit"
                        | "limited"
                        | "cap"
                        | "capped"
                        | "under"
                        | "below"
                        | "within"
                        | "up"
                        | "less"
                        | "fewer"
                );
                let has_number = self.words[at..]
                    .iter()
                    .any(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
                let contrasts =
                    matches!(first, "instead" | "rather" | "without") && self.begins_with_order(at);
                (is_cap && has_number || contrasts).then(|| self.cue(at, first == "without"))
            }
            Wording::Restricts => {
                let names_one = matches!(subject, "the" | "an" | "my" | "is" | "it's" | "that's")
                    || matches!(next, "one" | "problem" | "issue" | "question" | "thing");
                (!names_one && !matches!(first, "alone")).then(|| self.cue(at, false))
            }
            Wording::Permits | Wording::Releases | Wording::Softens | Wording::Reports => None,
        }
    }

    /// Whether the first word at or after a byte, "to" aside, is one of a list.
    fn follows(&self, byte: usize, list: &[&str]) -> bool {
        let words = self.words.iter().filter(|word| word.at >= byte);
        words
            .map(|word| word.text.as_str())
            .find(|word| *word != "to")
            .is_some_and(|word| list.contains(&word))
    }

    /// Whether the part in which a word stands begins with an order.
    fn begins_with_order(&self, at: usize) -> bool {
        let from = self.part(at);
        let order = (from..=at).find(|&at| {
            !LEADING.contains(&self.text(at)) && !matches!(self.text(at), "let's" | "lets")
        });
        order.is_some_and(|at| {
            PREFERRING.contains(&self.text(at))
                || AVOIDING.contains(&self.text(at))
                || matches!(self.text(at), "do" | "make" | "write" | "call" | "put")
        })
    }

    /// An order at the beginning of a part: "use …", "let's keep …", "avoid …", "I want no …".
    fn ordered(&self) -> Option<Cue> {
        (0..self.words.len())
            .filter(|&at| at == 0 || self.words[at].opens)
            .find_map(|start| {
                let mut at = start;
                while LEADING.contains(&self.text(at))
                    || matches!(self.text(at), "let's" | "lets" | "you")
                {
                    at += 1;
                }
                let (verb, next) = (self.text(at), self.text(at + 1));
                if matches!(verb, "i" | "i'd" | "we") {
                    return self.wanted(at);
                }
                if verb == "not" && self.before(at).starts_with("let") {
                    return Some(self.cue(at, true));
                }
                if MOMENTARY.contains(&next) && !self.is_last_manner(at + 2) {
                    return None;
                }
                let leaves = verb == "leave"
                    && (at..self.words.len()).any(|at| {
                        matches!(self.text(at), "alone" | "untouched" | "unchanged" | "out")
                    });
                let forbids = leaves || AVOIDING.contains(&verb);
                (forbids || PREFERRING.contains(&verb)).then(|| self.cue(at, forbids))
            })
    }

    /// Whether what follows "keep it" says how: "keep it simple", "keep it local".
    fn is_last_manner(&self, at: usize) -> bool {
        matches!(self.before(at - 1), "keep" | "stay")
            && self.before(at) == "it"
            && !matches!(self.text(at), "" | "up" | "going" | "coming" | "in")
    }

    /// "I prefer …", "I'd rather …", "I only want …", "I want no …".
    fn wanted(&self, at: usize) -> Option<Cue> {
        let rest: Vec<&str> = (at + 1..(at + 5).min(self.words.len()))
            .map(|at| self.text(at))
            .collect();
        let prefers = rest
            .iter()
            .take(2)
            .any(|word| matches!(*word, "prefer" | "rather"));
        let wants = rest.iter().position(|word| *word == "want");
        let limits = wants.is_some_and(|want| {
            rest[..want].contains(&"only")
                || rest.get(want + 1).is_some_and(|next| WANTED.contains(next))
        });
        (prefers || limits).then(|| self.cue(at, rest.contains(&"no")))
    }

    /// One thing set against another: "…, not the whole log", "but not …", "nothing else".
    fn contrasted(&self) -> Option<Cue> {
        let at = (1..self.words.len()).find(|&at| {
            let (before, word, next) = (self.before(at), self.text(at), self.text(at + 1));
            match word {
                "not" => {
                    before == "but" && next != "sure"
                        || self.words[at].opens
                            && matches!(next, "a" | "all" | "an" | "any" | "every" | "the")
                }
                "else" => matches!(before, "nothing" | "anything"),
                _ => false,
            }
        })?;
        // What is set against is said before, so the whole sentence is the rule.
        let mut cue = self.cue(0, true);
        if self.text(at) == "else" && self.before(at) == "anything" {
            cue.forbids = false;
        }
        Some(cue)
    }

    /// "Just X for now", "keep it simple for now".
    fn limited_to_now(&self) -> Option<Cue> {
        let now =
            (1..self.words.len()).find(|&at| self.before(at) == "for" && self.text(at) == "now")?;
        let approves = self
            .words
            .iter()
            .any(|word| APPROVING.contains(&word.text.as_str()));
        let start = self.part(now);
        (!approves && now > start + 1).then(|| Cue {
            from: self.words.get(start).map_or(0, |word| self.quoted(word.at)),
            forbids: false,
        })
    }

    /// "When you give measurements, use metric": an order for every time that something comes up.
    fn conditioned(&self) -> Option<Cue> {
        let is_condition = matches!(self.text(0), "when" | "whenever" | "before");
        // Only of what the agent does: "when I run it, it fails" tells what happened.
        let order = (2..self.words.len())
            .rev()
            .find(|&at| self.words[at].opens)
            .filter(|_| is_condition && self.text(1) == "you")?;
        let is_order = !ASKED.contains(&self.text(order)) && !LEADING.contains(&self.text(order));
        is_order.then(|| self.cue(0, false))
    }

    /// "Note the X requirement", "remember the rule …".
    fn noted(&self) -> Option<Cue> {
        let at = (0..self.words.len()).find(|&at| {
            matches!(
                self.text(at),
                "note" | "remember" | "mind" | "heed" | "observe"
            )
        })?;
        let names = self.words[at..]
            .iter()
            .any(|word| RULE_NAMES.contains(&word.text.as_str()));
        names.then(|| Cue {
            from: self
                .words
                .get(self.part(at))
                .map_or(0, |word| self.quoted(word.at)),
            forbids: false,
        })
    }
}
