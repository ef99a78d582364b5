//! The words, in one place. Every word is written as it is folded: lower case, with `'`.

/// Words that carry no content of their own. Modalities, negations and bounds are not among them.
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "also", "am", "an", "and", "are", "as", "at", "be", "been", "being", "by",
    "each", "every", "for", "from", "he", "her", "here", "his", "i", "in", "into", "is", "it",
    "its", "me", "my", "of", "on", "or", "our", "please", "she", "so", "such", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we",
    "were", "which", "will", "with", "you", "your", "yourself",
];

/// Words that may stand between the words of a statement without changing it.
pub(super) const GLUE: &[&str] = &[
    "a",
    "absolutely",
    "action",
    "actions",
    "all",
    "also",
    "an",
    "and",
    "any",
    "at",
    "attempt",
    "be",
    "circumstance",
    "circumstances",
    "condition",
    "conditions",
    "directly",
    "ever",
    "explicitly",
    "following",
    "for",
    "from",
    "in",
    "kind",
    "of",
    "or",
    "perform",
    "please",
    "reason",
    "strictly",
    "take",
    "the",
    "their",
    "these",
    "this",
    "those",
    "time",
    "to",
    "under",
    "way",
    "your",
];

/// What forbids, as runs of tokens.
pub(super) const PROHIBITIONS: &[&[&str]] = &[
    &["may", "not"],
    &["must", "not"],
    &["shall", "not"],
    &["can", "not"],
    &["cannot"],
    &["can't"],
    &["mustn't"],
    &["shan't"],
    &["mayn't"],
    &["do", "not"],
    &["don't"],
    &["never"],
    &["not", "to"],
    &["not", "allowed"],
    &["not", "permitted"],
    &["not", "authorized"],
    &["not", "authorised"],
    &["aren't", "allowed"],
    &["isn't", "allowed"],
    &["aren't", "permitted"],
    &["isn't", "permitted"],
    &["prohibited"],
    &["forbidden"],
    &["disallowed"],
    &["prohibits"],
    &["prohibitions"],
    &["forbids"],
    &["off", "limits"],
    &["refrain", "from"],
];

/// The ones of them that also stand after what they forbid ("contacting customers is prohibited").
pub(super) const PROHIBITIONS_AFTER: &[&[&str]] = &[
    &["not", "allowed"],
    &["not", "permitted"],
    &["isn't", "allowed"],
    &["aren't", "allowed"],
    &["isn't", "permitted"],
    &["aren't", "permitted"],
    &["prohibited"],
    &["forbidden"],
    &["disallowed"],
    &["off", "limits"],
];

/// What may stand between a statement and a prohibition after it.
pub(super) const COPULAS: &[&str] = &[
    "is",
    "are",
    "be",
    "strictly",
    "explicitly",
    "absolutely",
    "must",
    "also",
    "all",
    "expressly",
];

/// What permits.
pub(super) const PERMISSIONS: &[&[&str]] = &[
    &["may"],
    &["can"],
    &["allowed"],
    &["permitted"],
    &["authorized"],
    &["authorised"],
    &["free", "to"],
    &["permission"],
    &["permissions"],
    &["permits"],
];

/// What obliges.
pub(super) const OBLIGATIONS: &[&[&str]] = &[
    &["must"],
    &["shall"],
    &["always"],
    &["required"],
    &["requires"],
    &["require"],
    &["have", "to"],
    &["has", "to"],
    &["need", "to"],
    &["needs", "to"],
    &["ensure"],
    &["make", "sure"],
    &["obligations"],
    &["obligation"],
    &["be", "sure", "to"],
];

/// Before the words of a statement in their own clause, what permits them.
pub(super) const PERMITTING: &[&str] = &["may", "can", "allowed", "permitted"];

/// Likewise, what obliges.
pub(super) const OBLIGING: &[&str] = &["must", "shall", "always", "required"];

/// Words that make a text a whole statement rather than the name of an action, wherever they stand; so does every
/// prohibition. With one of them it needs no governing sentence.
pub(super) const STATEMENT_WORDS: &[&str] = &[
    "always", "can't", "cannot", "don't", "must", "mustn't", "never", "no", "nobody", "none",
    "nothing", "only", "shall", "shan't",
];

/// Likewise, runs of words.
pub(super) const STATEMENT_PATTERNS: &[&[&str]] = &[
    &["are", "required"],
    &["at", "least"],
    &["at", "most"],
    &["capped", "at"],
    &["has", "to"],
    &["have", "to"],
    &["is", "required"],
    &["limited", "to"],
    &["need", "to"],
    &["needs", "to"],
];

/// Verbs and negations that make a statement of a main clause alone: "records that are open" is none.
pub(super) const MAIN_CLAUSE_WORDS: &[&str] = &[
    "are", "aren't", "has", "have", "is", "isn't", "may", "mayn't", "needs", "not",
];

/// What ends the main clause.
pub(super) const SUBORDINATORS: &[&str] = &[
    "after", "because", "before", "if", "that", "unless", "until", "what", "whatever", "when",
    "whenever", "where", "which", "while", "who", "whoever", "whom", "whose", "without",
];

/// Before "no" and "only", what makes them part of a name ("with no consent", "the only copy").
pub(super) const BEFORE_ATTRIBUTE: &[&str] = &[
    "a", "an", "have", "has", "her", "his", "its", "my", "our", "the", "their", "with", "your",
];

/// Negations and modalities: none may stand beside a match that the declared text does not have too.
pub(super) const POLARITY: &[&str] = &[
    "ain't", "always", "aren't", "but", "can", "can't", "cannot", "couldn't", "didn't", "doesn't",
    "don't", "except", "fails", "failed", "false", "hadn't", "hasn't", "haven't", "instead",
    "isn't", "may", "must", "mustn't", "neither", "never", "no", "nor", "not", "only", "rather",
    "shall", "untrue", "wasn't", "weren't", "will", "won't", "wouldn't",
];

/// What softens a statement.
pub(super) const HEDGES: &[&str] = &[
    "about",
    "appropriate",
    "approximately",
    "around",
    "avoid",
    "avoiding",
    "consider",
    "customary",
    "discretion",
    "could",
    "discouraged",
    "feasible",
    "generally",
    "ideally",
    "judgement",
    "judgment",
    "maybe",
    "might",
    "mostly",
    "normally",
    "occasionally",
    "often",
    "perhaps",
    "possible",
    "prefer",
    "preferably",
    "probably",
    "rarely",
    "reasonable",
    "recommended",
    "roughly",
    "seem",
    "seems",
    "should",
    "shouldn't",
    "sometimes",
    "try",
    "typically",
    "unlikely",
    "usually",
    "wherever",
    "would",
];

/// What opens an exception or a condition.
pub(super) const EXCEPTIONS: &[&str] = &[
    "after",
    "before",
    "but",
    "except",
    "excepting",
    "exception",
    "exceptions",
    "if",
    "once",
    "otherwise",
    "provided",
    "unless",
    "until",
    "when",
    "whenever",
    "where",
    "while",
    "without",
];

/// What takes a statement back.
pub(super) const RELEASES: &[&[&str]] = &[
    &["no", "longer"],
    &["no", "need"],
    &["not", "true"],
    &["isn't", "true"],
    &["is", "false"],
    &["untrue"],
    &["need", "not"],
    &["needn't"],
    &["not", "need"],
    &["not", "have", "to"],
    &["don't", "have", "to"],
    &["don't", "need"],
    &["not", "required"],
    &["not", "prohibited"],
    &["not", "forbidden"],
    &["never", "prohibited"],
    &["never", "forbidden"],
    &["anymore"],
    &["any", "more"],
    &["lifted"],
    &["withdrawn"],
    &["revoked"],
    &["rescinded"],
    &["formerly"],
    &["previously"],
    &["used", "to"],
    &["optional"],
    &["is", "fine"],
    &["are", "fine"],
    &["is", "ok"],
    &["is", "okay"],
    &["approved"],
    &["waived"],
    &["superseded"],
    &["obsolete"],
    &["was", "prohibited"],
    &["were", "prohibited"],
    &["was", "forbidden"],
    &["were", "forbidden"],
    &["exception"],
    &["exceptions"],
    &["except"],
    &["allowed", "again"],
    &["not", "only"],
    &["not", "just"],
    &["doubt", "that"],
    &["deny", "that"],
    &["myth", "that"],
    &["wrong", "that"],
    &["incorrect", "that"],
];

/// Verbs that turn a negation round ("do not forget to …").
pub(super) const REVERSALS: &[&str] = &[
    "delay", "fail", "forget", "hesitate", "ignore", "just", "miss", "neglect", "omit", "only",
    "overlook", "refuse", "skip", "stop", "wait", "worry",
];

/// What ends the reach of a negation within a sentence.
pub(super) const BLOCKERS: &[&str] = &[
    "although", "are", "because", "but", "can", "he", "however", "i", "if", "instead", "is", "it",
    "may", "must", "please", "rather", "shall", "she", "should", "since", "so", "that", "then",
    "they", "though", "unless", "until", "was", "we", "were", "when", "which", "while", "who",
    "will", "without", "yet", "you",
];

/// Before "do not", what leaves it an order: anything else is its subject, and the sentence a report.
pub(super) const BEFORE_ORDER: &[&str] = &[
    "also",
    "always",
    "and",
    "but",
    "important",
    "or",
    "please",
    "so",
    "strictly",
    "then",
];

/// Before "not to", what makes it an order.
pub(super) const BEFORE_NOT_TO: &[&str] = &[
    "are",
    "asked",
    "be",
    "instructed",
    "is",
    "ordered",
    "required",
    "told",
];

/// Before "never", what makes it a report.
pub(super) const REPORTERS: &[&str] = &[
    "had", "has", "have", "he", "i", "it", "she", "they", "was", "we", "were",
];
