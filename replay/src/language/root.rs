//! What the forms of one word have in common: inflected, derived, and spelled in two ways.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::stem::stem;
use super::synonyms::{IRREGULAR, SYNONYMS};

/// Fewest letters that an ending leaves.
const ROOT_LETTERS_MIN: usize = 3;

/// For the root of each word of a class of synonyms, the root of its first.
static CONCEPTS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut concepts = HashMap::new();
    for class in SYNONYMS {
        let Some(first) = class.first() else {
            continue;
        };
        for word in *class {
            concepts
                .entry(root(word).into_owned())
                .or_insert_with(|| root(first).into_owned());
        }
    }
    concepts
});

static BASES: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| IRREGULAR.iter().copied().collect());

/// A word as what it means in general English: its root, or that of the first of its synonyms.
pub(crate) fn concept(word: &str) -> Cow<'_, str> {
    let root = root(word);
    match CONCEPTS.get(root.as_ref()) {
        Some(first) if *first != root => Cow::Owned(first.clone()),
        _ => root,
    }
}

/// A word without inflection and without the endings that make a noun or an adverb of a verb: "deletion", "deletes" and
/// "deleted" share one. Tokens with digits, and what is not English, stay whole.
fn root(word: &str) -> Cow<'_, str> {
    let word = BASES.get(word).copied().unwrap_or(word);
    let stem = stem(word);
    if !stem.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(stem);
    }
    // "deploy" keeps its last letter, as "deployment" does.
    let voiced = stem.ends_with(['a', 'e', 'o', 'u']) && word[stem.len()..].starts_with('y');
    let stem = &word[..stem.len() + usize::from(voiced)];
    let plain = underived(word, stem);
    if let Some(start) = plain.strip_suffix("is")
        && start.len() > ROOT_LETTERS_MIN
    {
        // "authorise" and "authorize".
        return Cow::Owned(format!("{start}iz"));
    }
    match plain.strip_suffix("our") {
        Some(start) if start.len() > 2 => Cow::Owned(format!("{start}or")),
        _ => Cow::Borrowed(plain),
    }
}

fn underived<'a>(word: &str, stem: &'a str) -> &'a str {
    let made = ["ate", "ates", "ated", "ating"]
        .iter()
        .any(|ending| word.ends_with(ending));
    if made && let Some(root) = without(stem, "at") {
        return root;
    }
    let endings = [
        ("ication", ""),
        ("ation", ""),
        ("ment", ""),
        ("all", ""),
        ("l", ""),
        ("ance", ""),
        ("anc", ""),
        ("enc", ""),
        ("ity", ""),
        ("it", ""),
        ("val", "v"),
        ("wal", "w"),
        ("sal", "s"),
        ("ion", ""),
        ("ur", ""),
    ];
    for (ending, kept) in endings {
        let whole = match ending {
            // Of a verb such as "delete" or "submit" what is left ends as the verb does.
            "ion" => stem.ends_with("tion") || stem.ends_with("sion"),
            // Of an adverb the stem has lost the last letter.
            "all" => word.ends_with("ally"),
            "l" => word.ends_with("ly"),
            "it" => word.ends_with("ity") || word.ends_with("ities"),
            "ur" => word.ends_with("ure") || word.ends_with("ures"),
            _ => true,
        };
        if whole && let Some(root) = without(stem, ending) {
            return &stem[..root.len() + kept.len()];
        }
    }
    stem
}

/// A stem without an ending, if enough of it is left to be a word.
fn without<'a>(stem: &'a str, ending: &str) -> Option<&'a str> {
    let root = stem.strip_suffix(ending)?;
    let vowel = root.bytes().any(|byte| b"aeiouy".contains(&byte));
    (root.len() >= ROOT_LETTERS_MIN && vowel).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_forms_share_a_root() {
        let groups = [
            &["delete", "deletes", "deleting", "deletion"][..],
            &["confirm", "confirmed", "confirmation"],
            &["deploy", "deployment", "deployments"],
            &["approve", "approval", "approved"],
            &["modify", "modified", "modification"],
            &["migrate", "migration", "migrating"],
            &["authorise", "authorize", "authorization", "authorised"],
            &["direct", "directly"],
            &["disclose", "disclosure"],
            &["write", "wrote", "written", "writing"],
            &["behaviour", "behavior"],
        ];
        for group in groups {
            for word in group {
                assert_eq!(root(word), root(group[0]), "{word}");
            }
        }
    }

    #[test]
    fn other_words_do_not() {
        for (one, other) in [
            ("refund", "refundable"),
            ("person", "personal"),
            ("format", "form"),
            ("data", "date"),
            ("custom", "customer"),
            ("gen", "general"),
            ("us", "use"),
            ("\u{e9}tat", "etat"),
        ] {
            assert_ne!(root(one), root(other), "{one} {other}");
        }
    }

    #[test]
    fn synonyms_share_a_concept_and_stand_in_one_class() {
        assert_eq!(concept("erasing"), concept("deleted"));
        assert_eq!(concept("invented"), concept("fabricate"));
        assert_ne!(concept("invoice"), concept("receipt"));
        let mut seen: HashMap<String, &str> = HashMap::new();
        for class in SYNONYMS {
            for word in *class {
                let first = seen.insert(root(word).into_owned(), class[0]);
                assert!(first.is_none_or(|first| first == class[0]), "{word}");
            }
        }
    }
}
