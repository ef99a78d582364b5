//! Sentences that look like rules, in what the user wrote.
//!
//! Most sessions declare no rule: the user writes "please use the British spelling" and later "default to off", and means it from
//! then on. [`proposed`] reads a text sentence by sentence and proposes those that forbid, demand, limit or prefer something for
//! the work to come. It goes by the words alone: some rules it does not see, and some tasks it takes for rules
//! (`docs/mission-file.md` has the counts). What is proposed from the user's words is therefore declared as inferred. It names no
//! actions and so judges none: it is looked for in the contexts and nothing else.

mod cue;
mod sentence;
mod vocabulary;

use std::collections::HashSet;

use remembrancer_schema::payload::ConstraintKind;

use crate::cut::prefix;
use crate::transcript::ProposedRule;
use cue::Cue;

/// Most rules that are proposed from one text.
pub const RULES_MAX: usize = 50;
/// Longest sentence that is taken for a rule, in bytes. What is longer describes.
const SENTENCE_BYTES_MAX: usize = 300;
/// Fewest words of a rule.
const WORDS_MIN: usize = 2;
/// How much of a text is read, in bytes. What people write themselves is short; what follows is pasted.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The rules in a text, in its order, each once.
pub fn proposed(text: &str) -> Vec<ProposedRule> {
    let text = prefix(text, TEXT_BYTES_MAX);
    let mut known = HashSet::new();
    let rules = sentence::sentences(text).into_iter().filter_map(rule);
    rules
        .filter(|(_, text)| known.insert(text.to_lowercase()))
        .take(RULES_MAX)
        .map(|(kind, text)| ProposedRule {
            kind,
            text: text.to_owned(),
            actions: Vec::new(),
        })
        .collect()
}

/// What a sentence rules, and the words that do.
fn rule(sentence: &str) -> Option<(ConstraintKind, &str)> {
    if sentence.len() > SENTENCE_BYTES_MAX {
        return None;
    }
    let cue = Cue::find(sentence)?;
    let text = sentence[cue.from..].trim_matches(is_dressing);
    if text.split_whitespace().count() < WORDS_MIN {
        return None;
    }
    let kind = if cue.forbids {
        ConstraintKind::Prohibition
    } else {
        ConstraintKind::Obligation
    };
    Some((kind, text))
}

/// What stands around a sentence and is none of it.
fn is_dressing(character: char) -> bool {
    character.is_whitespace() || matches!(character, '.' | '!' | ',' | ':' | ';')
}

#[cfg(test)]
mod tests;
