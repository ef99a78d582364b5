//! Names that clients choose, parsed once at the edge into their own types.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::limits::{AGENT_BYTES_MAX, ID_BYTES_MAX, ORIGIN_BYTES_MAX};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The name has no characters.
    #[error("{what} is empty")]
    Empty {
        /// Which kind of name.
        what: &'static str,
    },
    /// The name is longer than its limit.
    #[error("{what} has {bytes} bytes; at most {max} are allowed")]
    TooLong {
        /// Which kind of name.
        what: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The name has a character outside its alphabet.
    #[error("{what} has {character:?} at byte {at}; allowed are {allowed}")]
    Character {
        /// Which kind of name.
        what: &'static str,
        /// The first character outside the alphabet.
        character: char,
        /// Its byte offset.
        at: usize,
        /// The alphabet, in words.
        allowed: &'static str,
    },
}

fn check(
    what: &'static str,
    text: &str,
    max: usize,
    allowed: &'static str,
    is_allowed: fn(char) -> bool,
) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { what });
    }
    if text.len() > max {
        return Err(IdError::TooLong {
            what,
            bytes: text.len(),
            max,
        });
    }
    match text
        .char_indices()
        .find(|&(_, character)| !is_allowed(character))
    {
        Some((at, character)) => Err(IdError::Character {
            what,
            character,
            at,
            allowed,
        }),
        None => Ok(()),
    }
}

fn is_id_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | ':' | '-' | '@')
}

fn is_origin_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-' | '/' | ':')
}

fn is_agent_character(character: char) -> bool {
    !character.is_control()
}

const ID_ALPHABET: &str = "letters A-Z and a-z, digits, and . _ : - @";
const ID_PATTERN: &str = "^[A-Za-z0-9._:@-]{1,128}$";

// Names go with an event from place to place, so that a copy of one shares its text.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:expr, $allowed:expr, $test:expr, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                check($what, text, $max, $allowed, $test)?;
                Ok(Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::parse(deserializer)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "minLength": 1, "maxLength": $max })
            }
        }
    };
}

name_type!(
    /// One run of one agent, named by the client: 1 to 128 of `A-Z a-z 0-9 . _ : - @`, so that it is safe in a URL.
    SessionId, "session id", ID_BYTES_MAX, ID_ALPHABET, is_id_character, ID_PATTERN
);
name_type!(
    /// The idempotency key of an event within its session: 1 to 128 of `A-Z a-z 0-9 . _ : - @`. `UUIDv7` is recommended.
    EventId, "event id", ID_BYTES_MAX, ID_ALPHABET, is_id_character, ID_PATTERN
);
name_type!(
    /// A constraint's name within its session: 1 to 128 of `A-Z a-z 0-9 . _ : - @`.
    ConstraintId, "constraint id", ID_BYTES_MAX, ID_ALPHABET, is_id_character, ID_PATTERN
);
name_type!(
    /// The agent that an event speaks for: 1 to 256 bytes of UTF-8 without control characters.
    AgentName, "agent name", AGENT_BYTES_MAX, "all characters but control characters", is_agent_character,
    "^[^\\u0000-\\u001F\\u007F-\\u009F]+$"
);
name_type!(
    /// A ledger's name, unique in the world by convention (a host and path without scheme), as in C2SP `tlog-checkpoint`.
    Origin, "ledger origin", ORIGIN_BYTES_MAX, "letters A-Z and a-z, digits, and . _ - / :", is_origin_character,
    "^[A-Za-z0-9._/:-]{1,255}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_refused_with_the_place_and_the_alphabet() {
        assert_eq!(
            "".parse::<SessionId>(),
            Err(IdError::Empty { what: "session id" })
        );
        let error = "a/b"
            .parse::<SessionId>()
            .expect_err("a slash is outside the alphabet");
        assert_eq!(
            error.to_string(),
            "session id has '/' at byte 1; allowed are letters A-Z and a-z, digits, and . _ : - @"
        );
        assert!("x".repeat(129).parse::<EventId>().is_err());
        assert!("x".repeat(128).parse::<EventId>().is_ok());
        assert!("billing agent é".parse::<AgentName>().is_ok());
        assert!("billing\u{1b}[2J".parse::<AgentName>().is_err());
        assert!("ledger.example/main".parse::<Origin>().is_ok());
        assert!("two lines\n".parse::<Origin>().is_err());
    }
}
