//! How English says that somebody allowed something: who allows, what they are said to have done, and what turns it into a
//! denial, a condition, a plan or a question. Closed lists, written as they are folded. A word that is missing costs a
//! sentence that is not looked at; so does every doubt.

mod lists;

use std::ops::Range;

use lists::*;

/// That a sentence says somebody allowed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permitted {
    /// The words that say so.
    pub(crate) words: Range<usize>,
    /// The clause that they stand in.
    pub(crate) clause: Range<usize>,
    /// Who is named; `None` where nobody is.
    pub(crate) grantor: Option<usize>,
}

/// Finds in a sentence that somebody allowed something. `divides` says whether punctuation before a word ends a clause;
/// `joined` whether a word is joined to the one before it, as in a name.
pub(crate) fn permitted(
    words: &[&str],
    divides: impl Fn(usize) -> bool,
    joined: impl Fn(usize) -> bool,
) -> Option<Permitted> {
    let mut start = 0;
    for end in 1..=words.len() {
        if end < words.len() && !(divides(end) || connects(words, end)) {
            continue;
        }
        let clause = start..end;
        start = end;
        let found = clause
            .clone()
            .find_map(|at| said_at(words, &clause, at, &joined));
        if let Some((said, grantor)) = found
            && !is_turned(words, &clause, &said)
        {
            return Some(Permitted {
                words: said,
                clause,
                grantor,
            });
        }
    }
    None
}

/// Whether a word belongs to the vocabulary of allowing rather than to what was allowed.
pub(crate) fn is_of_authority(word: &str) -> bool {
    [
        ALLOWED,
        GIVE,
        GIVEN,
        SAY,
        FINE,
        BETWEEN,
        AGENTS,
        MODALS,
        KINDS_OF_GRANT,
        HAVING,
    ]
    .iter()
    .any(|list| list.contains(&word))
        || grantor(word).is_some()
        || GRANTS.iter().any(|grant| grant.contains(&word))
        || matches!(word, "agreed" | "agreement" | "explicit" | "signed" | "off")
}

/// Whether words assent to something and deny nothing.
pub(crate) fn assents(words: &[&str]) -> bool {
    let yes = words.iter().any(|word| ASSENT.contains(word))
        || (0..words.len()).any(|at| phrase(ASSENT_PHRASES, words, at) > 0);
    yes && !dissents(words)
}

/// Whether words deny or forbid something.
pub(crate) fn dissents(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| DISSENT.contains(word) || word.ends_with("n't"))
}

fn connects(words: &[&str], at: usize) -> bool {
    let subject = |from: usize| {
        let rest = &words[from.min(words.len())..];
        let skip = usize::from(rest.first().is_some_and(|word| DETERMINERS.contains(word)));
        rest.get(skip)
            .is_some_and(|word| grantor(word).is_some() || AGENTS.contains(word))
    };
    CONNECTORS.contains(&words[at]) || matches!(words[at], "and" | "or") && subject(at + 1)
}

/// A grantor's name, without the mark of possession.
fn grantor(word: &str) -> Option<&str> {
    let name = word.strip_suffix("'s").unwrap_or(word);
    GRANTORS.contains(&name).then_some(name)
}

fn phrase(phrases: &[&[&str]], words: &[&str], at: usize) -> usize {
    usize::from(super::word::pattern_at(phrases, words, at))
}

type Said = (Range<usize>, Option<usize>);

fn said_at(
    words: &[&str],
    clause: &Range<usize>,
    at: usize,
    joined: &impl Fn(usize) -> bool,
) -> Option<Said> {
    if joined(at) || at + 1 < words.len() && joined(at + 1) {
        return None;
    }
    let clause_words = &words[..clause.end];
    if GRANTORS.contains(&words[at]) {
        return did(clause_words, at, joined).map(|end| (at..end, Some(at)));
    }
    if ALLOWED.contains(&words[at]) || words[at] == "agreed" {
        return by(clause_words, at + 1)
            .map(|who| (at..who + 1, Some(who)))
            .or_else(|| been(clause_words, clause.start, at));
    }
    let length = phrase(GRANTS, clause_words, at);
    if length == 0 || at > clause.start && MACHINE.contains(&words[at - 1]) {
        return None;
    }
    given(clause_words, at, length).or_else(|| had(clause_words, clause.start, at, length))
}

/// "the user (has already) approved …": where the words that say so end.
fn did(words: &[&str], at: usize, joined: &impl Fn(usize) -> bool) -> Option<usize> {
    let mut verb = at + 1;
    while verb < words.len() && verb < at + 5 && BETWEEN.contains(&words[verb]) {
        verb += 1;
    }
    let word = *words.get(verb)?;
    if joined(verb + 1) {
        return None;
    }
    let rest = &words[verb + 1..];
    let near = |count: usize| &rest[..rest.len().min(count)];
    let turned = |until: usize| dissents(&rest[..until]);
    if ALLOWED.contains(&word) {
        // "The users allowed to edit" and "a user approved for access" are allowed something themselves; a client that allows
        // is a program.
        let is_other = matches!(word, "allowed" | "authorised" | "authorized" | "permitted")
            && words[at].starts_with("client")
            || words[at].ends_with('s') && verb == at + 1;
        let denied = rest.first().is_some_and(|next| {
            matches!(*next, "neither" | "no" | "none" | "nothing")
                || word != "consented" && matches!(*next, "for" | "to")
        });
        return (!denied && !is_other).then_some(verb + 1);
    }
    match (word, rest.first().copied()) {
        ("green", Some("lighted" | "lit")) | ("signed", Some("off")) => return Some(verb + 2),
        ("agreed", next) if words[at] != "you" => {
            let allows = match next {
                Some("with") => false,
                Some("that") => near(7).iter().any(|word| MODALS.contains(word)),
                _ => !near(2).contains(&"not"),
            };
            return allows.then_some(verb + 1);
        }
        _ => {}
    }
    if GIVE.contains(&word) {
        let found = (0..near(6).len()).find(|&at| phrase(GRANTS, rest, at) > 0)?;
        return (!turned(found)).then(|| verb + 1 + found + phrase(GRANTS, rest, found));
    }
    if SAY.contains(&word) {
        let fine = |at: usize| {
            FINE.contains(&rest[at]) && is_it(rest, at)
                || phrase(GO, rest, at) > 0
                || at > 0 && MODALS.contains(&rest[at]) && AGENTS.contains(&rest[at - 1])
        };
        let found = (0..near(9).len()).find(|&at| fine(at))?;
        let until = (found + 2).min(rest.len());
        return (!turned(until)).then_some(verb + 2 + found);
    }
    None
}

/// "it is (ok)", or "is ok to": of an action, not of a thing.
fn is_it(words: &[&str], at: usize) -> bool {
    let Some(be) = (0..at).rev().take(2).find(|&be| BE.contains(&words[be])) else {
        return false;
    };
    matches!(words[be], "it's" | "that's")
        || be > 0 && matches!(words[be - 1], "it" | "that" | "this")
        || matches!(words.get(at + 1), Some(&("for" | "to")))
}

/// "by the operator": who.
fn by(words: &[&str], at: usize) -> Option<usize> {
    if words.get(at) != Some(&"by") {
        return None;
    }
    let mut who = at + 1;
    while who < words.len() && who < at + 4 && DETERMINERS.contains(&words[who]) {
        who += 1;
    }
    words
        .get(who)
        .is_some_and(|word| GRANTORS.contains(word))
        .then_some(who)
}

/// "… has been approved", by nobody in particular. What reviewers and programs approve every day is another matter.
fn been(words: &[&str], start: usize, at: usize) -> Option<Said> {
    let mut be = at;
    while be > start && BETWEEN.contains(&words[be - 1]) {
        be -= 1;
    }
    let has = be.checked_sub(2).filter(|&has| has >= start)?;
    let is_perfect = words[has + 1] == "been" && matches!(words[has], "had" | "has" | "have");
    let is_allowed = matches!(words[at], "approved" | "authorised" | "authorized");
    let is_reviewed = words[start..has].iter().any(|word| REVIEWED.contains(word));
    let is_by_another = words.get(at + 1) == Some(&"by");
    (is_perfect && is_allowed && !is_reviewed && !is_by_another).then_some((has..at + 1, None))
}

/// "permission (to …) was granted (by the user)".
fn given(words: &[&str], at: usize, length: usize) -> Option<Said> {
    let reach = words.len().min(at + length + 8);
    let verb = (at + length..reach).find(|&verb| {
        GIVEN.contains(&words[verb])
            && words[at + length..verb]
                .iter()
                .any(|word| matches!(*word, "been" | "is" | "was" | "were"))
    })?;
    if dissents(&words[at..verb]) {
        return None;
    }
    if words.get(verb + 1) == Some(&"by") {
        let who = by(words, verb + 1)?;
        return Some((at..who + 1, Some(who)));
    }
    Some((at..verb + 1, None))
}

/// "with the user's explicit approval", "has permission from the operator".
fn had(words: &[&str], start: usize, at: usize, length: usize) -> Option<Said> {
    let is_had = |from: usize| {
        let near = &words[from.saturating_sub(3).max(start)..from];
        near.iter().any(|word| HAVING.contains(word))
    };
    if words.get(at + length) == Some(&"from") {
        let who = by_name(words, at + length + 1)?;
        return is_had(at).then_some((at..who + 1, Some(who)));
    }
    let mut who = at;
    while who > start && KINDS_OF_GRANT.contains(&words[who - 1]) {
        who -= 1;
    }
    who = who.checked_sub(1).filter(|&who| who >= start)?;
    (grantor(words[who]).is_some() && is_had(who)).then_some((who..at + length, Some(who)))
}

fn by_name(words: &[&str], at: usize) -> Option<usize> {
    let who = at + usize::from(words.get(at).is_some_and(|word| DETERMINERS.contains(word)));
    words
        .get(who)
        .is_some_and(|word| GRANTORS.contains(word))
        .then_some(who)
}

/// Whether what stands before denies it, or makes it a condition, a plan or a tale.
fn is_turned(words: &[&str], clause: &Range<usize>, said: &Range<usize>) -> bool {
    let in_clause = &words[clause.start..said.start];
    dissents(&words[said.clone()])
        || in_clause
            .iter()
            .any(|word| DENIALS.contains(word) || DOUBTS.contains(word) || word.ends_with("n't"))
        || words[..said.start]
            .iter()
            .any(|word| CONDITIONS.contains(word))
}
