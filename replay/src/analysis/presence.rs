//! How constraints stand in contexts, with what that rests on.

mod found_places;
mod reason;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use super::{Alteration, MutationIndex, PartIndex};
pub use found_places::FoundPlaces;
pub use reason::Reason;

/// How a constraint stands in a context, from the strongest state to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PresenceState {
    /// The declared text stands in one carrying part, word for word up to case, white space and punctuation.
    Verbatim,
    /// Not verbatim, but the declared matcher holds.
    Matched,
    /// A carrying part restates it with a difference that matters.
    Altered,
    /// Half of its content words stand close together in a carrying part: likely a paraphrase, to be read.
    Partial,
    /// Its content words stand only where they carry no authority, or as a topic.
    Mention,
    /// The whole context is known and holds no trace of it.
    NoTrace,
    /// A part cannot be read, or was not looked at as a whole, and nothing else settles it.
    Opaque,
    /// The context was not recorded, or could not be rebuilt.
    Unknown,
}

impl PresenceState {
    /// Every state, from the strongest to the weakest.
    pub const ALL: [Self; 8] = [
        Self::Verbatim,
        Self::Matched,
        Self::Altered,
        Self::Partial,
        Self::Mention,
        Self::NoTrace,
        Self::Opaque,
        Self::Unknown,
    ];

    /// Whether the constraint counts as present: only `verbatim` and `matched` do.
    pub fn is_present(self) -> bool {
        matches!(self, Self::Verbatim | Self::Matched)
    }

    /// The state as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verbatim => "verbatim",
            Self::Matched => "matched",
            Self::Altered => "altered",
            Self::Partial => "partial",
            Self::Mention => "mention",
            Self::NoTrace => "no_trace",
            Self::Opaque => "opaque",
            Self::Unknown => "unknown",
        }
    }
}

/// How one constraint stands in one turn's context, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Presence {
    /// The state. `None` at a turn before the constraint was declared, unless it was present there all the same: what nobody
    /// had declared yet cannot be missing.
    pub state: Option<PresenceState>,
    /// Where it was found, the strongest first; at most eight places.
    pub evidence: FoundPlaces,
    /// Present, but only where the next compaction may take it.
    pub at_risk: Option<Risk>,
    /// For states without evidence: why.
    pub reason: Option<Reason>,
    /// The last turn before this one at which it was present.
    pub last_present: Option<u32>,
    /// The mutation between that turn and the next, if the constraint was not present after it.
    pub left_with: Option<MutationIndex>,
}

impl Presence {
    /// How the state of a constraint that is not declared yet is written, where states are written in words.
    pub const NOT_YET_DECLARED: &str = "not yet declared";

    /// How a constraint stands where nothing more is known of it than that.
    pub fn of(state: Option<PresenceState>) -> Self {
        Self {
            state,
            evidence: FoundPlaces::default(),
            at_risk: None,
            reason: None,
            last_present: None,
            left_with: None,
        }
    }

    /// The reason in words.
    pub fn reason_in_words(&self) -> Option<Cow<'_, str>> {
        self.reason.as_ref().map(Reason::in_words)
    }

    /// Whether the constraint counts as present.
    pub fn is_present(&self) -> bool {
        self.state.is_some_and(PresenceState::is_present)
    }

    /// Whether the constraint was declared and has no trace: what is counted as missing.
    pub fn has_no_trace(&self) -> bool {
        self.state == Some(PresenceState::NoTrace)
    }
}

/// Why a constraint that is present may not stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It stands only in summaries.
    OnlyInSummary,
    /// It stands only in chat messages, which the next compaction summarises.
    OnlyInMessages,
}

/// One place where a constraint's words stand. How far it is from the end of a context, that context's
/// [`FoundPlaces::tokens_from_end`] says.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The state that this place alone would give.
    pub state: PresenceState,
    /// Position of the part in the turn's context, from 0.
    pub position: u32,
    /// The part.
    pub part: PartIndex,
    /// Bytes of the part's text that matched: start and end.
    pub range: Option<(usize, usize)>,
    /// Estimated tokens of the context up to the end of the part.
    pub tokens_to_part_end: u64,
    /// Estimated tokens of the part behind the match.
    pub tokens_behind: u64,
    /// What was found, in words.
    pub note: Option<String>,
    /// For a place that restates it with a difference: which, with both texts.
    pub alteration: Option<Arc<Alteration>>,
}
