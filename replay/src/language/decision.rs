//! What somebody decided about a rule or an action, in the passive: "has been lifted", "were approved".

/// Auxiliaries of what was decided and holds.
pub(super) const DECIDED: &[&str] = &[
    "has been",
    "have been",
    "been",
    "was",
    "were",
    "is",
    "are",
    "now",
];

/// Those of them that tell of one decision: "is removed" may be what a program does every day.
pub(super) const DECIDED_ONCE: &[&str] = &["has been", "have been", "been", "was", "were"];

/// After one of [`DECIDED`], what takes a rule back.
pub(super) const WITHDRAWN: &[&str] = &[
    "eased",
    "lifted",
    "loosened",
    "overridden",
    "relaxed",
    "repealed",
    "rescinded",
    "retracted",
    "revoked",
    "scrapped",
    "superseded",
    "suspended",
    "waived",
    "withdrawn",
];

/// Likewise, after one of [`DECIDED_ONCE`].
pub(super) const ENDED: &[&str] = &[
    "abandoned",
    "abolished",
    "canceled",
    "cancelled",
    "discontinued",
    "dropped",
    "removed",
    "overruled",
    "overturned",
    "retired",
    "shelved",
    "voided",
];

/// After one of [`DECIDED`], what allows an action.
pub(super) const GRANTED: &[&str] = &[
    "approved",
    "authorised",
    "authorized",
    "cleared",
    "enabled",
    "granted",
    "greenlit",
    "okayed",
    "sanctioned",
    "tolerated",
    "unblocked",
    "unlocked",
];

/// What takes a whole statement back in its own clause, before it.
pub(super) const TAKEN_BACK_BEFORE: &[&[&str]] = &[
    &["no", "longer"],
    &["not", "the", "case"],
    &["not", "true"],
    &["isn't", "true"],
    &["untrue"],
    &["is", "false"],
];

/// Likewise, after it.
pub(super) const TAKEN_BACK_AFTER: &[&[&str]] = &[
    &["no", "longer"],
    &["not", "true"],
    &["isn't", "true"],
    &["is", "false"],
    &["untrue"],
    &["lifted"],
    &["withdrawn"],
    &["revoked"],
    &["rescinded"],
    &["waived"],
    &["superseded"],
    &["been", "abandoned"],
    &["was", "abandoned"],
    &["been", "abolished"],
    &["was", "abolished"],
    &["been", "cancelled"],
    &["was", "cancelled"],
    &["been", "canceled"],
    &["was", "canceled"],
    &["been", "discontinued"],
    &["was", "discontinued"],
    &["been", "dropped"],
    &["was", "dropped"],
    &["been", "removed"],
    &["was", "removed"],
    &["been", "retired"],
    &["was", "retired"],
    &["been", "scrapped"],
    &["was", "scrapped"],
    &["been", "shelved"],
    &["was", "shelved"],
    &["been", "voided"],
    &["was", "voided"],
    &["eased"],
    &["loosened"],
    &["overridden"],
    &["overruled"],
    &["overturned"],
    &["relaxed"],
    &["repealed"],
    &["retracted"],
    &["suspended"],
    &["obsolete"],
    &["not", "apply"],
    &["doesn't", "apply"],
];
