//! Permissions that summaries attribute to the people whom an agent acts for.

use serde::Serialize;

use super::{MutationIndex, PartIndex};

/// A sentence of a summary that says somebody allowed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// The summary.
    pub part: PartIndex,
    /// The first turn whose context holds it.
    pub turn: u32,
    /// The mutation that brought it, where that is known.
    pub mutation: Option<MutationIndex>,
    /// Bytes of the summary's text that hold the sentence: start and end.
    pub range: (usize, usize),
    /// The sentence, at most 400 characters of it.
    pub sentence: String,
    /// Who is said to have allowed it, as written; `None` where nobody is named.
    pub grantor: Option<String>,
    /// Words of the user's or the operator's that say so. `None`: there are none in the contexts up to that turn.
    pub support: Option<AuthoritySupport>,
}

/// Where a permission was really given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AuthoritySupport {
    /// The part.
    pub part: PartIndex,
    /// Bytes of its text: start and end.
    pub range: (usize, usize),
}
