//! The strict check that received bytes are I-JSON (RFC 7493).
//!
//! Two readers of the same bytes must never see different data, or a record could say one thing to an auditor and another to
//! a court: so duplicate names, lone surrogates, and integers that a double cannot hold are refused before anything is
//! stored. `serde_json` does the grammar; this module adds what its data model would silently smooth over.
//!
//! Nearly every text is sound, so a quick pass looks for that alone; only what it does not vouch for is read again, slowly,
//! to say what is wrong and where.

mod sound;

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::limits::{INTEGER_MAX, JSON_DEPTH_MAX};

pub(crate) use sound::is_sound;

/// Why bytes are not I-JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IJsonError {
    /// Not JSON at all, or not UTF-8.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// An object has the same name twice.
    #[error("an object has the name {name:?} twice (near byte {near})")]
    DuplicateName {
        /// The name, cut to 64 characters.
        name: String,
        /// Byte offset shortly after its second occurrence.
        near: usize,
    },
    /// A number that is too large to be exact, or that an IEEE 754 double does not hold.
    #[error(
        "the number {number} at byte {at} is outside ±(2^53−1) or does not survive an IEEE 754 double; send it as a string"
    )]
    NumberOutOfRange {
        /// The number as written, cut to 64 characters.
        number: String,
        /// Its byte offset.
        at: usize,
    },
    /// A lone UTF-16 surrogate in a string.
    #[error("a string holds a lone surrogate: {0}")]
    LoneSurrogate(String),
    /// Nested deeper than [`JSON_DEPTH_MAX`].
    #[error("nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
}

/// Checks one JSON text. Linear in its length; memory grows with the names of the objects that enclose the current place.
pub fn check(bytes: &[u8]) -> Result<(), IJsonError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_sound(text, 0) => Ok(()),
        _ => explain(bytes),
    }
}

/// The same check, which says what is wrong and where.
pub(crate) fn explain(bytes: &[u8]) -> Result<(), IJsonError> {
    check_depth(bytes)?;
    let mut duplicate = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let outcome = Value {
        duplicate: &mut duplicate,
    }
    .deserialize(&mut deserializer)
    .and_then(|()| deserializer.end());
    match outcome {
        Ok(()) => check_numbers(bytes),
        Err(error) => Err(match duplicate {
            Some(name) => IJsonError::DuplicateName {
                name,
                near: offset(bytes, error.line(), error.column()),
            },
            // The number that stopped the reading is found again by its value.
            None if error.to_string().starts_with("number out of range") => check_numbers(bytes)
                .err()
                .unwrap_or_else(|| IJsonError::NotJson(error.to_string())),
            None if is_lone_surrogate(&error) => IJsonError::LoneSurrogate(error.to_string()),
            None => IJsonError::NotJson(error.to_string()),
        }),
    }
}

/// `serde_json` names a low surrogate without its high one, and a high one that another escape does not follow.
fn is_lone_surrogate(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    text.starts_with("lone leading surrogate") || text.starts_with("unexpected end of hex escape")
}

fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let start: usize = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (start + column).min(bytes.len())
}

fn clip(text: &str) -> String {
    text.chars().take(64).collect()
}

/// Walks the tokens that lie outside strings. Sound on bytes that are not JSON too: then it only bounds the nesting.
fn for_each_token(
    bytes: &[u8],
    mut visit: impl FnMut(usize, u8) -> Result<(), IJsonError>,
) -> Result<(), IJsonError> {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
        } else {
            visit(at, bytes[at])?;
        }
        at += 1;
    }
    Ok(())
}

fn check_depth(bytes: &[u8]) -> Result<(), IJsonError> {
    let mut depth = 0usize;
    for_each_token(bytes, |_, byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            Err(IJsonError::TooDeep)
        } else {
            Ok(())
        }
    })
}

fn check_numbers(bytes: &[u8]) -> Result<(), IJsonError> {
    let mut number_ends = 0;
    for_each_token(bytes, |at, byte| {
        if at < number_ends || !(byte == b'-' || byte.is_ascii_digit()) {
            return Ok(());
        }
        let is_number_byte =
            |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = bytes[at..]
            .iter()
            .take_while(|byte| is_number_byte(byte))
            .count();
        number_ends = at + length;
        let text = String::from_utf8_lossy(&bytes[at..number_ends]);
        let survives = match text.parse::<f64>() {
            Ok(0.0) => is_zero(&text),
            Ok(value) if text.contains(['e', 'E']) => value.is_finite(),
            Ok(value) => value.abs() <= INTEGER_MAX as f64,
            Err(_) => false,
        };
        if survives {
            Ok(())
        } else {
            Err(IJsonError::NumberOutOfRange {
                number: clip(&text),
                at,
            })
        }
    })
}

/// Whether a number is zero as it is written, and not only as a double.
fn is_zero(number: &str) -> bool {
    let digits = number.split(['e', 'E']).next().unwrap_or(number);
    !digits.contains(|symbol| matches!(symbol, '1'..='9'))
}

struct Value<'a> {
    duplicate: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq
            .next_element_seed(Value {
                duplicate: self.duplicate,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                *self.duplicate = Some(clip(&name));
                return Err(A::Error::custom("duplicate name"));
            }
            names.insert(name);
            map.next_value_seed(Value {
                duplicate: self.duplicate,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_json_passes() {
        for text in [
            r#"{"a":1,"b":[{"a":2},{"a":3}],"c":"\ud83d\ude00"}"#,
            r#"[9007199254740991,-9007199254740991,0.1,1e300,-0,0e-999,0.0,-0.0E5,5e-324]"#,
            r#""9007199254740993 and \" { [""#,
        ] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let refused = |text: &str| check(text.as_bytes()).expect_err(text);
        assert_eq!(
            refused(r#"{"a":{"b":1,"b":2}}"#),
            IJsonError::DuplicateName {
                name: "b".into(),
                near: 15
            }
        );
        assert!(matches!(
            refused(r#"{"a":1,"\u0061":2}"#),
            IJsonError::DuplicateName { .. }
        ));
        assert_eq!(
            refused(r#"{"n":9007199254740993}"#),
            IJsonError::NumberOutOfRange {
                number: "9007199254740993".into(),
                at: 5
            }
        );
        assert!(matches!(
            refused("[9007199254740992]"),
            IJsonError::NumberOutOfRange { .. }
        ));
        assert!(matches!(
            refused("[123456789012345678901234567890]"),
            IJsonError::NumberOutOfRange { .. }
        ));
        assert!(matches!(
            refused("[9007199254740993.0]"),
            IJsonError::NumberOutOfRange { .. }
        ));
        for number in ["1e400", "-1e999", "1e-400", "-1E-999", "0.1e-400"] {
            assert_eq!(
                refused(&format!("[0,{number}]")),
                IJsonError::NumberOutOfRange {
                    number: number.into(),
                    at: 3
                }
            );
        }
        let tiny = format!("0.{}1", "0".repeat(400));
        assert!(matches!(
            refused(&tiny),
            IJsonError::NumberOutOfRange { .. }
        ));
        assert!(refused("1e400").to_string().contains("±(2^53−1)"));
        assert!(matches!(
            refused(r#"["\ud800"]"#),
            IJsonError::LoneSurrogate(_)
        ));
        assert!(matches!(
            refused(r#"["\udc00x"]"#),
            IJsonError::LoneSurrogate(_)
        ));
        assert!(matches!(refused("{"), IJsonError::NotJson(_)));
        assert!(matches!(refused("{} {}"), IJsonError::NotJson(_)));
        assert!(matches!(check(b"\"\xff\""), Err(IJsonError::NotJson(_))));
        assert_eq!(
            refused(&"[".repeat(JSON_DEPTH_MAX + 1)),
            IJsonError::TooDeep
        );
    }
}
