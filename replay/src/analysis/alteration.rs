//! What a restatement says otherwise.

use serde::Serialize;

/// A restatement that says something else than what was declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alteration {
    /// In which way.
    pub kind: AlterationKind,
    /// The declared text, cut where it is long.
    pub declared: String,
    /// The sentence of the part, cut where it is long.
    pub said: String,
    /// The difference, in words.
    pub difference: String,
}

/// In which way a restatement differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlterationKind {
    /// It names another value, or leaves the value out.
    Mutated,
    /// It says it less strongly, of less, or with exceptions.
    Weakened,
    /// It says the opposite, or takes it back.
    Contradicted,
}

impl AlterationKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutated => "mutated",
            Self::Weakened => "weakened",
            Self::Contradicted => "contradicted",
        }
    }
}
