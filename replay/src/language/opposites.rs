//! Words that general English sets against each other, and nouns that stand for nearly anything.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::root::concept;

/// Pairs of words: in the same sentence one says the opposite of the other.
const OPPOSITES: &[(&str, &str)] = &[
    ("above", "below"),
    ("above", "under"),
    ("accept", "reject"),
    ("active", "inactive"),
    ("add", "remove"),
    ("adult", "minor"),
    ("after", "before"),
    ("allow", "forbid"),
    ("approve", "reject"),
    ("ascending", "descending"),
    ("attach", "detach"),
    ("automatic", "manual"),
    ("begin", "end"),
    ("below", "over"),
    ("bottom", "top"),
    ("buy", "sell"),
    ("buyer", "seller"),
    ("close", "open"),
    ("cold", "hot"),
    ("connect", "disconnect"),
    ("continue", "stop"),
    ("create", "delete"),
    ("credit", "debit"),
    ("decrease", "increase"),
    ("decrypt", "encrypt"),
    ("delete", "keep"),
    ("different", "same"),
    ("disable", "enable"),
    ("discard", "keep"),
    ("download", "upload"),
    ("earlier", "later"),
    ("earliest", "latest"),
    ("early", "late"),
    ("empty", "full"),
    ("encrypted", "plaintext"),
    ("evening", "morning"),
    ("exclude", "include"),
    ("export", "import"),
    ("external", "internal"),
    ("fewer", "more"),
    ("first", "last"),
    ("grant", "revoke"),
    ("hidden", "visible"),
    ("hide", "show"),
    ("higher", "lower"),
    ("inbound", "outbound"),
    ("include", "omit"),
    ("incoming", "outgoing"),
    ("increase", "reduce"),
    ("input", "output"),
    ("inside", "outside"),
    ("invalid", "valid"),
    ("junior", "senior"),
    ("known", "unknown"),
    ("less", "more"),
    ("local", "remote"),
    ("lock", "unlock"),
    ("longer", "shorter"),
    ("lose", "win"),
    ("lower", "raise"),
    ("lower", "upper"),
    ("major", "minor"),
    ("mandatory", "optional"),
    ("maximum", "minimum"),
    ("new", "old"),
    ("newest", "oldest"),
    ("offline", "online"),
    ("outside", "within"),
    ("over", "under"),
    ("pause", "resume"),
    ("private", "public"),
    ("publish", "withhold"),
    ("pull", "push"),
    ("raise", "reduce"),
    ("read", "write"),
    ("receive", "send"),
    ("recipient", "sender"),
    ("start", "stop"),
    ("subscribe", "unsubscribe"),
    ("summer", "winter"),
    ("trusted", "untrusted"),
    ("weekday", "weekend"),
    ("with", "without"),
];

/// Nouns that stand for nearly anything: one in the place of another noun, or another noun in its place, is a way of speaking.
const GENERIC: &[&str] = &[
    "account",
    "action",
    "activity",
    "area",
    "thing",
    "case",
    "change",
    "content",
    "data",
    "department",
    "detail",
    "document",
    "element",
    "entry",
    "event",
    "file",
    "folk",
    "group",
    "individual",
    "info",
    "information",
    "item",
    "list",
    "material",
    "matter",
    "member",
    "message",
    "object",
    "one",
    "operation",
    "part",
    "party",
    "people",
    "person",
    "place",
    "point",
    "process",
    "record",
    "resource",
    "result",
    "service",
    "set",
    "site",
    "step",
    "stuff",
    "system",
    "task",
    "team",
    "text",
    "type",
    "unit",
    "value",
    "version",
    "work",
];

/// By concept, those of its opposites.
static OPPOSITE: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut opposites: HashMap<String, Vec<String>> = HashMap::new();
    for (one, other) in OPPOSITES {
        let pair = [concept(one).into_owned(), concept(other).into_owned()];
        for (from, to) in [(0, 1), (1, 0)] {
            let known = opposites.entry(pair[from].clone()).or_default();
            known.push(pair[to].clone());
        }
    }
    opposites
});

static GENERIC_CONCEPTS: LazyLock<std::collections::HashSet<String>> = LazyLock::new(|| {
    GENERIC
        .iter()
        .map(|word| concept(word).into_owned())
        .collect()
});

/// Whether two words, by their concepts, say the opposite of each other.
pub(crate) fn opposite(one: &str, other: &str) -> bool {
    let undone = |word: &str, undone: &str| undone.strip_prefix("un") == Some(word);
    let listed = || {
        let opposites = OPPOSITE.get(one);
        opposites.is_some_and(|opposites| opposites.iter().any(|word| word == other))
    };
    undone(one, other) || undone(other, one) || listed()
}

/// Whether a word, by its concept, stands for nearly anything.
pub(crate) fn is_generic(concept: &str) -> bool {
    GENERIC_CONCEPTS.contains(concept)
}
