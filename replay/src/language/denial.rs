//! Whether what stands before a statement says that it is not so.

use super::Word;

/// Whether the words before a statement say that it is not so: "do not assume that …".
pub(crate) fn denies(before: &[Word<'_>]) -> bool {
    let mut negated = false;
    before.iter().enumerate().any(|(at, word)| {
        negated |= is_negation(word.text);
        negated
            && SAYING.contains(&word.text)
            && before.get(at + 1).is_some_and(|next| next.text == "that")
    })
}

/// Whether a negation stands directly before a statement, over small words at most.
pub(crate) fn ends_negated(before: &[Word<'_>]) -> bool {
    let mut back = before.iter().rev();
    back.find(|word| !word.is_glue())
        .is_some_and(|word| is_negation(word.text))
}

fn is_negation(word: &str) -> bool {
    matches!(
        word,
        "not" | "no" | "never" | "nor" | "neither" | "cannot" | "nobody" | "nothing"
    ) || word.ends_with("n't")
}

/// Before "that" and after a negation, what makes it said of the whole statement.
const SAYING: &[&str] = &[
    "assume", "believe", "case", "claim", "conclude", "correct", "imply", "mean", "pretend", "say",
    "suggest", "suppose", "think", "true",
];
