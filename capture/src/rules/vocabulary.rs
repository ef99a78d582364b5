//! The words by which rules are told: closed lists, English. What is missing here costs a rule that is not proposed.

/// A word of a sentence, lower case, with its place in bytes.
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: usize,
    pub(super) end: usize,
    /// A comma or a colon stands before it.
    pub(super) opens: bool,
}

/// The words of a sentence.
pub(super) fn words(sentence: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut start = None;
    let mut opens = false;
    for (at, character) in sentence.char_indices().chain([(sentence.len(), ' ')]) {
        let is_letter = character.is_alphanumeric() || matches!(character, '\'' | '\u{2019}' | '_');
        match (is_letter, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let text = sentence[from..at].trim_matches(['\'', '_', '\u{2019}']);
                words.push(Word {
                    text: text.to_lowercase().replace('\u{2019}', "'"),
                    at: from,
                    end: at,
                    opens,
                });
                (start, opens) = (None, false);
            }
            _ => {}
        }
        opens |= matches!(character, ',' | ':');
    }
    words.retain(|word| !word.text.is_empty());
    words
}

/// First words of a question, whatever follows.
pub(super) const ASKING: &[&str] = &["how", "what", "where", "which", "who", "why"];
/// First words of a question where one of [`ASKED`] follows.
pub(super) const ASKING_BEFORE: &[&str] = &[
    "am", "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "shall",
    "should", "was", "were", "will", "would",
];
/// What follows the first word of a question.
pub(super) const ASKED: &[&str] = &[
    "a", "an", "he", "i", "it", "she", "that", "the", "there", "these", "they", "this", "those",
    "we", "you",
];
/// What may stand before the first word that counts.
pub(super) const LEADING: &[&str] = &[
    "actually",
    "also",
    "alright",
    "and",
    "but",
    "so",
    "then",
    "just",
    "hmm",
    "no",
    "ok",
    "okay",
    "please",
    "pls",
    "yes",
    "yep",
    "yeah",
    "well",
    "again",
    "btw",
    "important",
    "note",
    "remember",
    "oh",
    "plus",
];
/// Verbs that order how something is done from now on.
pub(super) const PREFERRING: &[&str] = &[
    "use", "prefer", "keep", "stick", "default", "follow", "respect", "preserve", "maintain",
    "ensure", "favor", "favour", "restrict", "limit", "stay",
];
/// Verbs that order what is not to be done.
pub(super) const AVOIDING: &[&str] = &[
    "avoid", "skip", "never", "stop", "exclude", "omit", "refrain",
];
/// What makes "keep", "stop" and the like a task or a talk of the moment.
pub(super) const MOMENTARY: &[&str] = &[
    "going",
    "working",
    "trying",
    "it",
    "reading",
    "here",
    "there",
    "up",
    "investigating",
    "checking",
    "in",
    "track",
    "looking",
];
/// Verbs after "don't" that are no order.
pub(super) const TALKING: &[&str] = &[
    "know",
    "think",
    "see",
    "understand",
    "mind",
    "remember",
    "worry",
    "have",
    "get",
    "care",
    "need",
    "want",
    "believe",
    "hesitate",
    "bother",
];
/// Verbs after "should" that say how something is to be, not what to do next.
pub(super) const STANDING: &[&str] = &[
    "be", "not", "never", "only", "always", "stay", "keep", "use", "remain", "have", "default",
    "match",
];
/// Who wants, where what follows is a rule and not a task.
pub(super) const WANTED: &[&str] = &[
    "a",
    "all",
    "an",
    "every",
    "everything",
    "no",
    "nothing",
    "only",
    "the",
];
/// What makes "for now" an approval.
pub(super) const APPROVING: &[&str] = &[
    "fine", "good", "ok", "okay", "enough", "great", "done", "perfect",
];
/// What makes a note a rule.
pub(super) const RULE_NAMES: &[&str] = &[
    "requirement",
    "requirements",
    "constraint",
    "constraints",
    "rule",
    "rules",
    "limit",
    "convention",
    "conventions",
    "policy",
];
