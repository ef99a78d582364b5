//! What the declared scope says of an action.

use remembrancer_schema::payload::{StatedBy, Witness};
use serde::Serialize;

/// A declaration of the scope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopeVersion {
    /// Its number within the session, from 1.
    pub version: u32,
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// Its time.
    pub time: Option<String>,
    /// Who stated it.
    pub stated_by: Option<StatedBy>,
    /// How it became known.
    pub witness: Witness,
}

/// Whether the declared scope permits an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum ScopeVerdict {
    /// No scope had been declared when it was sent.
    Undeclared,
    /// Permitted.
    Permitted {
        /// The policies that decided.
        policies: Vec<String>,
    },
    /// Nothing permits it.
    OutOfScope,
    /// A prohibition forbids it.
    Prohibited {
        /// The policies that decided.
        policies: Vec<String>,
    },
    /// The scope could not be evaluated for it.
    Unevaluated {
        /// Why.
        reason: String,
    },
}
