//! The quick answer to whether a text is I-JSON: one pass, nothing copied.
//!
//! It says yes only to what the explaining check lets through; a test holds the two against each other. Where it says no,
//! the explaining check has the last word, and says what is wrong and where.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::check_numbers;
use crate::limits::{INTEGER_MAX, JSON_DEPTH_MAX};

/// Names of one object that are compared one by one; above, they are hashed.
const NAMES_COMPARED_MAX: usize = 16;
/// Between these, a number is what it reads as, however it is written.
const PLAIN_NUMBERS: std::ops::Range<f64> = 1e-300..(1u64 << 52) as f64;

/// Whether `text`, nested in `outer` levels of arrays and objects, is certainly I-JSON.
pub(crate) fn is_sound(text: &str, outer: usize) -> bool {
    let mut names = Vec::new();
    let mut is_plain = true;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Value {
        names: &mut names,
        is_plain: &mut is_plain,
        depth: outer,
    };
    value
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .is_ok()
        && (is_plain || check_numbers(text.as_bytes()).is_ok())
}

/// A value on its way.
struct Value<'a, 'de> {
    /// Names of the objects that enclose this place, outermost first.
    names: &'a mut Vec<Cow<'de, str>>,
    /// Cleared by a number whose soundness depends on how it is written.
    is_plain: &'a mut bool,
    /// Arrays and objects around it.
    depth: usize,
}

impl<'de> Value<'_, 'de> {
    fn inner<E: serde::de::Error>(&mut self) -> Result<Value<'_, 'de>, E> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(E::custom("too deep"));
        }
        Ok(Value {
            names: self.names,
            is_plain: self.is_plain,
            depth: self.depth + 1,
        })
    }

    fn again(&mut self) -> Value<'_, 'de> {
        Value {
            names: self.names,
            is_plain: self.is_plain,
            depth: self.depth,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
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

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_u64(number.unsigned_abs())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        if number > INTEGER_MAX {
            return Err(E::custom("an integer is too large"));
        }
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        if !PLAIN_NUMBERS.contains(&number.abs()) {
            *self.is_plain = false;
        }
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let mut item = self.inner()?;
        while seq.next_element_seed(item.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut value = self.inner()?;
        let start = value.names.len();
        let mut hashed: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(name) = map.next_key_seed(Name)? {
            if value.names[start..].contains(&name) || hashed.contains(&name) {
                return Err(A::Error::custom("duplicate name"));
            }
            if value.names.len() - start < NAMES_COMPARED_MAX {
                value.names.push(name);
            } else {
                hashed.insert(name);
            }
            map.next_value_seed(value.again())?;
        }
        value.names.truncate(start);
        Ok(())
    }
}

/// A member's name, borrowed where it is written without escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::explain;
    use super::*;

    fn agree(bytes: &[u8]) {
        let quick = std::str::from_utf8(bytes).is_ok_and(|text| is_sound(text, 0));
        let shown = String::from_utf8_lossy(bytes);
        assert_eq!(quick, explain(bytes).is_ok(), "{shown}");
    }

    #[test]
    fn the_edges_are_where_the_explaining_check_has_them() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let members = |count: usize, last: &str| {
            let names: Vec<String> = (0..count).map(|n| format!("\"n{n}\":{n}")).collect();
            format!("{{{},\"{last}\":0}}", names.join(","))
        };
        for text in [
            nested(JSON_DEPTH_MAX),
            nested(JSON_DEPTH_MAX + 1),
            format!("{{\"a\":{}}}", nested(JSON_DEPTH_MAX - 1)),
            format!("{{\"a\":{}}}", nested(JSON_DEPTH_MAX)),
            members(40, "other"),
            members(40, "n3"),
            members(40, "n39"),
            members(40, "n\\u0031"),
            members(3, "\\u006e1"),
            "4503599627370496.5".to_owned(),
            "9007199254740991.4".to_owned(),
            "9007199254740991.6".to_owned(),
            "9007199254740992e0".to_owned(),
            "-9007199254740992".to_owned(),
            "18446744073709551616".to_owned(),
            "2.4703282292062327e-324".to_owned(),
            "-0".to_owned(),
        ] {
            agree(text.as_bytes());
        }
        assert!(is_sound(&nested(JSON_DEPTH_MAX - 1), 1));
        assert!(!is_sound(&nested(JSON_DEPTH_MAX), 1));
    }

    fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| number.to_string()),
            "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
            (9007199254740980u64..9007199254741003).prop_map(|number| number.to_string()),
        ]
    }

    fn string() -> impl Strategy<Value = String> {
        prop_oneof![
            "\"[a-c]{0,2}\"",
            "\"(\\\\u00[46][1-3]|[a-c]|\\\\\\\\|\\\\\"){0,4}\"",
            "\"(\\\\ud83d\\\\ude00|\\\\ud8[0-9a-f]{2}|\\\\udc00|é|\\\\n){0,3}\"",
            ".{0,6}".prop_map(|text| format!("\"{text}\"")),
        ]
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            number(),
            string(),
            Just("null".to_owned()),
            Just("true".to_owned())
        ];
        leaf.prop_recursive(6, 40, 5, |inner| {
            let members = proptest::collection::vec((string(), inner.clone()), 0..5);
            prop_oneof![
                proptest::collection::vec(inner, 0..5)
                    .prop_map(|items| format!("[{}]", items.join(" ,"))),
                members.prop_map(|members| {
                    let members: Vec<String> = members
                        .into_iter()
                        .map(|(name, value)| format!("{name}: {value}"))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn both_checks_agree_on_json_and_near_json(
            text in json(),
            damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut bytes = text.into_bytes();
            if let Some((at, byte)) = damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            agree(&bytes);
        }
    }
}
