//! JSON that keeps what a hash over its text depends on: the order of members and the spelling of numbers.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

use crate::Members;

/// A JSON value with its members in order and its numbers as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a value from its text. The nesting was bounded when the text was read as a [`RawValue`].
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let text = text.trim();
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text)?;
                let parsed = members
                    .into_iter()
                    .map(|(name, raw)| Ok((name, Self::parse(raw.get())?)));
                parsed.collect::<Result<_, _>>().map(Self::Object)
            }
            Some(b'[') => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(text)?;
                let parsed = items.iter().map(|raw| Self::parse(raw.get()));
                parsed.collect::<Result<_, _>>().map(Self::Array)
            }
            Some(b'"') => serde_json::from_str(text).map(Self::String),
            Some(b't' | b'f') => serde_json::from_str(text).map(Self::Bool),
            Some(b'n') => serde_json::from_str::<()>(text).map(|()| Self::Null),
            _ => {
                serde_json::from_str::<serde_json::Number>(text)?;
                Ok(Self::Number(text.to_owned()))
            }
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// As Python's `json.dumps` writes it: `", "` and `": "`, everything outside ASCII escaped.
    pub(super) fn to_python(&self) -> String {
        self.written(&Style {
            comma: ", ",
            colon: ": ",
            sorted: false,
        })
    }

    /// The same with the members of every object sorted by name.
    pub(super) fn to_python_sorted(&self) -> String {
        self.written(&Style {
            comma: ", ",
            colon: ": ",
            sorted: true,
        })
    }

    /// Sorted, and without white space.
    pub(super) fn to_compact_sorted(&self) -> String {
        self.written(&Style {
            comma: ",",
            colon: ":",
            sorted: true,
        })
    }

    fn written(&self, style: &Style) -> String {
        let mut out = String::new();
        self.write(&mut out, style);
        out
    }

    /// A string as it is, anything else as Python's `json.dumps` writes it.
    pub(super) fn to_content(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_python(),
        }
    }

    fn write(&self, out: &mut String, style: &Style) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(out, text),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(style.comma);
                    }
                    item.write(out, style);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut order: Vec<&(String, Self)> = members.iter().collect();
                if style.sorted {
                    order.sort_by(|left, right| left.0.cmp(&right.0));
                }
                out.push('{');
                for (index, (name, value)) in order.into_iter().enumerate() {
                    if index > 0 {
                        out.push_str(style.comma);
                    }
                    write_string(out, name);
                    out.push_str(style.colon);
                    value.write(out, style);
                }
                out.push('}');
            }
        }
    }
}

/// How a value is written.
struct Style {
    comma: &'static str,
    colon: &'static str,
    sorted: bool,
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_as_python_writes_it() {
        let text = r#"{"b":149.0,"a":[1,-0.5,true,null],"c":"\u2014 \ud83d\ude00\u007f\"\\\n","d":{},"e":[]}"#;
        let value = Json::parse(text).expect("JSON");
        assert_eq!(
            value.to_python(),
            r#"{"b": 149.0, "a": [1, -0.5, true, null], "c": "\u2014 \ud83d\ude00\u007f\"\\\n", "d": {}, "e": []}"#
        );
        assert!(value.to_python_sorted().starts_with(r#"{"a": [1"#));
        assert!(value.to_compact_sorted().starts_with(r#"{"a":[1,-0.5"#));
        assert_eq!(Json::parse(&value.to_python()).expect("JSON"), value);
        assert_eq!(Json::parse("\"x\"").expect("JSON").to_content(), "x");
        assert!(Json::parse("{\"a\":}").is_err());
        assert!(Json::parse("1 2").is_err());
    }
}
