//! The words, in one place. Every word is written as it is folded.

/// Who can allow: the people that an agent acts for.
pub(super) const GRANTORS: &[&str] = &[
    "admin",
    "administrator",
    "client",
    "clients",
    "customer",
    "customers",
    "human",
    "operator",
    "operators",
    "owner",
    "user",
    "users",
    "you",
];

/// What allows, told as done.
pub(super) const ALLOWED: &[&str] = &[
    "allowed",
    "approved",
    "authorised",
    "authorized",
    "consented",
    "greenlighted",
    "greenlit",
    "ok'd",
    "okayed",
    "permitted",
    "preapproved",
    "sanctioned",
];

/// What is given by somebody who allows.
pub(super) const GRANTS: &[&[&str]] = &[
    &["approval"],
    &["authorisation"],
    &["authorization"],
    &["blessing"],
    &["clearance"],
    &["consent"],
    &["go", "ahead"],
    &["green", "light"],
    &["permission"],
    &["sign", "off"],
];

/// A permission of these kinds is one of a machine.
pub(super) const MACHINE: &[&str] = &[
    "access",
    "api",
    "bucket",
    "database",
    "directory",
    "execute",
    "file",
    "folder",
    "iam",
    "read",
    "root",
    "sudo",
    "write",
];

/// What is approved every day by reviewers and programs.
pub(super) const REVIEWED: &[&str] = &[
    "application",
    "charge",
    "claim",
    "invoice",
    "loan",
    "mr",
    "order",
    "patch",
    "payment",
    "pr",
    "pull",
    "request",
    "review",
    "transaction",
];

pub(super) const GIVE: &[&str] = &["gave", "given", "granted", "provided"];
pub(super) const GIVEN: &[&str] = &[
    "confirmed",
    "given",
    "granted",
    "obtained",
    "provided",
    "received",
    "secured",
];
pub(super) const SAY: &[&str] = &[
    "confirmed",
    "indicated",
    "replied",
    "said",
    "says",
    "stated",
    "told",
    "wrote",
];
pub(super) const FINE: &[&str] = &[
    "acceptable",
    "allowed",
    "alright",
    "approved",
    "fine",
    "ok",
    "okay",
    "permitted",
];
pub(super) const BE: &[&str] = &["are", "be", "is", "it's", "that's", "was", "were"];
/// Who is said to be free to act, and how. "You can see it in the portal" frees nobody.
pub(super) const AGENTS: &[&str] = &["agent", "assistant", "i", "me", "us", "we"];
pub(super) const MODALS: &[&str] = &["can", "could", "may"];
pub(super) const GO: &[&[&str]] = &[&["do", "it"], &["feel", "free"], &["go", "ahead"]];
/// What may stand between somebody and what they did.
pub(super) const BETWEEN: &[&str] = &[
    "already",
    "also",
    "both",
    "clearly",
    "explicitly",
    "expressly",
    "finally",
    "fully",
    "had",
    "has",
    "have",
    "initially",
    "just",
    "later",
    "now",
    "previously",
    "since",
    "subsequently",
    "then",
    "verbally",
];
pub(super) const DETERMINERS: &[&str] = &["a", "an", "both", "my", "our", "the", "their", "this"];
pub(super) const KINDS_OF_GRANT: &[&str] = &[
    "clear", "direct", "explicit", "express", "full", "prior", "verbal", "written",
];
/// What says that a grant is had.
pub(super) const HAVING: &[&str] = &[
    "given", "got", "had", "has", "have", "having", "obtained", "per", "received", "secured",
    "under", "with",
];

/// In the clause before: denies it.
pub(super) const DENIALS: &[&str] = &[
    "cannot",
    "declined",
    "denied",
    "lacked",
    "lacking",
    "lacks",
    "neither",
    "never",
    "no",
    "nobody",
    "none",
    "nor",
    "not",
    "refused",
    "rejected",
    "revoked",
    "without",
    "withdrawn",
    "withdrew",
];
/// Anywhere before in the sentence: makes it a condition.
pub(super) const CONDITIONS: &[&str] = &[
    "assuming",
    "if",
    "once",
    "provided",
    "suppose",
    "supposing",
    "unless",
    "until",
    "whether",
];
/// In the clause before: makes it a wish, a plan, a rule or somebody's tale.
pub(super) const DOUBTS: &[&str] = &[
    "allegedly",
    "any",
    "ask",
    "asked",
    "asking",
    "asks",
    "await",
    "awaiting",
    "be",
    "before",
    "being",
    "can",
    "check",
    "could",
    "ensure",
    "falsely",
    "get",
    "incorrectly",
    "may",
    "might",
    "must",
    "need",
    "needed",
    "needs",
    "obtain",
    "only",
    "pending",
    "request",
    "requested",
    "requesting",
    "requests",
    "require",
    "required",
    "requires",
    "seek",
    "seeking",
    "shall",
    "should",
    "sought",
    "supposedly",
    "unclear",
    "unknown",
    "unsure",
    "verify",
    "wait",
    "waiting",
    "will",
    "would",
    "wrongly",
];
/// Begins a clause of its own.
pub(super) const CONNECTORS: &[&str] = &[
    "although", "as", "because", "but", "however", "so", "though", "whereas", "while", "yet",
];

/// What assents, in somebody's own words.
pub(super) const ASSENT: &[&str] = &[
    "accept",
    "accepted",
    "agree",
    "agreed",
    "allow",
    "allowed",
    "approve",
    "approved",
    "authorise",
    "authorised",
    "authorize",
    "authorized",
    "confirm",
    "confirmed",
    "consent",
    "fine",
    "lgtm",
    "ok",
    "okay",
    "permit",
    "permitted",
    "please",
    "proceed",
    "sure",
    "yes",
];
pub(super) const ASSENT_PHRASES: &[&[&str]] = &[
    &["do", "it"],
    &["feel", "free"],
    &["go", "ahead"],
    &["sounds", "good"],
    &["want", "you"],
];
pub(super) const DISSENT: &[&str] = &["don't", "never", "no", "nor", "not", "stop", "without"];
