//! Why a constraint stands as it does, where no place shows it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A reason in words. The one that most turns have is put into words only where it is read: it is another at every turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The whole context is known, and nothing of the constraint stands in it.
    NoTrace {
        /// How many parts the model read.
        parts: u32,
        /// Whether the provider cleared others.
        is_cleared: bool,
        /// The last turn before at which the constraint was present.
        last_present: Option<u32>,
    },
    /// Any other, in words.
    Words(Arc<str>),
}

impl Reason {
    /// The reason in words.
    pub fn in_words(&self) -> Cow<'_, str> {
        match self {
            Self::Words(words) => Cow::Borrowed(words),
            &Self::NoTrace {
                parts,
                is_cleared,
                last_present,
            } => Cow::Owned(no_trace(parts, is_cleared, last_present)),
        }
    }

    /// Takes words over from a reason of another turn, where they are the same.
    pub(crate) fn share(&mut self, known: &Self) {
        if self == known {
            self.clone_from(known);
        }
    }
}

fn no_trace(parts: u32, is_cleared: bool, last_present: Option<u32>) -> String {
    let of_this = if is_cleared {
        "that the provider left of this context"
    } else {
        "of this context"
    };
    let before = match last_present {
        Some(last) => format!("it was last present at turn {last}"),
        None => "it was present in no earlier recorded context".to_owned(),
    };
    let (noun, verb) = if parts == 1 {
        ("part", "is")
    } else {
        ("parts", "are")
    };
    format!(
        "no textual trace: the {parts} {noun} {of_this} {verb} known, and none holds its words together; {before}"
    )
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self::Words(words.into())
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self::Words(words.into())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.in_words())
    }
}
