//! The attributes of a span, read by name. Structured values may come as such or as JSON in a string: both are read.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::{Map, Number, Value as Json};

use super::wire::{AnyValue, KeyValue, Value};

/// Values nested more deeply are not read: an event could not hold them.
const DEPTH_MAX: usize = 32;
/// Largest whole number that JSON keeps everywhere.
const INTEGER_MAX: u64 = remembrancer_schema::limits::INTEGER_MAX;

/// Attributes by name. Of two with the same name the first counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes<'a>(BTreeMap<&'a str, &'a Value>);

/// A structured attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Structured {
    /// Not given.
    Absent,
    /// Read.
    Read(Json),
    /// A string that is no JSON: most often one that was cut by a limit of the sender.
    Broken(String),
}

impl<'a> Attributes<'a> {
    pub(super) fn of(list: &'a [KeyValue]) -> Self {
        let mut attributes = Self::default();
        attributes.add(list);
        attributes
    }

    /// Adds attributes that count unless there are ones of the same name.
    pub(super) fn add(&mut self, list: &'a [KeyValue]) {
        for KeyValue { key, value } in list {
            if let Some(value) = value.as_ref().and_then(|value| value.value.as_ref()) {
                self.0.entry(key).or_insert(value);
            }
        }
    }

    /// The first of several names that has a text that is not empty.
    pub(super) fn text(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
    }

    /// The first of several names that has a whole number from 0.
    pub(super) fn count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| match self.0.get(name)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::Double(number) if *number >= 0.0 && *number < INTEGER_MAX as f64 => {
                Some(*number as u64)
            }
            Value::String(text) => text.parse().ok(),
            _ => None,
        })
    }

    /// Whether an attribute is `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Bool(true)))
    }

    /// Whether there is an attribute of the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The first of several names that is given, as JSON.
    pub(super) fn structured(&self, names: &[&str]) -> Structured {
        let found = names.iter().find_map(|name| self.0.get(name));
        match found {
            None => Structured::Absent,
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(value) => Structured::Read(sound(value, 0)),
                Err(_) => Structured::Broken(text.clone()),
            },
            Some(value) => Structured::Read(sound(as_json(value), 0)),
        }
    }

    /// A value as a tool gave or took it: JSON where it is some, else a string.
    pub(super) fn value(&self, names: &[&str]) -> Option<Json> {
        match self.structured(names) {
            Structured::Absent => None,
            Structured::Read(value) => Some(value),
            Structured::Broken(text) => Some(Json::String(text)),
        }
    }

    /// The texts among them.
    pub(super) fn texts_under<'p>(
        &self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a, '_, 'p> {
        self.under(prefix).filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text.as_str())),
            _ => None,
        })
    }

    /// All attributes as members of an object.
    pub(super) fn all(&self) -> Map<String, Json> {
        let members = self.0.iter();
        members
            .map(|(name, value)| ((*name).to_owned(), sound(as_json(value), 1)))
            .collect()
    }

    /// The attributes whose names begin with a text, with the rest of the name.
    pub(super) fn under<'p>(
        &self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a, '_, 'p> {
        self.0
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(move |(name, _)| name.starts_with(prefix))
            .map(move |(name, value)| (&name[prefix.len()..], *value))
    }
}

/// A value as JSON. Of bytes only their number is kept: they are no text.
pub(super) fn as_json(value: &Value) -> Json {
    let inner = |value: &AnyValue| value.value.as_ref().map_or(Json::Null, as_json);
    match value {
        Value::String(text) => Json::String(text.clone()),
        Value::Bool(is_true) => Json::Bool(*is_true),
        Value::Int(number) => Json::Number((*number).into()),
        Value::Double(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        Value::Array(array) => Json::Array(array.values.iter().map(inner).collect()),
        Value::Map(map) => {
            let members = map.values.iter().map(|KeyValue { key, value }| {
                let value = value.as_ref().map_or(Json::Null, inner);
                (key.clone(), value)
            });
            Json::Object(members.collect::<Map<_, _>>())
        }
        Value::Bytes(bytes) => Json::String(format!("{} bytes", bytes.len())),
    }
}

/// JSON that an event can hold: numbers that a double does not keep become their digits, and what is nested too deeply its text.
pub(super) fn sound(value: Json, depth: usize) -> Json {
    match value {
        Json::Number(number) if !is_kept(&number) => Json::String(number.to_string()),
        Json::Array(_) | Json::Object(_) if depth >= DEPTH_MAX => Json::String(value.to_string()),
        Json::Array(items) => {
            let items = items.into_iter().map(|item| sound(item, depth + 1));
            Json::Array(items.collect())
        }
        Json::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, member)| (name, sound(member, depth + 1)));
            Json::Object(members.collect())
        }
        plain => plain,
    }
}

fn is_kept(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => number <= INTEGER_MAX,
        (None, Some(number)) => number.unsigned_abs() <= INTEGER_MAX,
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(key: &str, value: Value) -> KeyValue {
        KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
        }
    }

    #[test]
    fn structured_values_are_read_from_text_and_as_they_are() {
        let map = Value::Map(super::super::wire::KeyValueList {
            values: vec![attribute("a", Value::Int(1))],
        });
        let list = [
            attribute("text", Value::String(r#"{"a":1}"#.to_owned())),
            attribute("map", map),
            attribute("cut", Value::String(r#"[{"a":1},{"b"#.to_owned())),
            attribute(
                "large",
                Value::String("[9007199254740993,-1,1.5]".to_owned()),
            ),
        ];
        let attributes = Attributes::of(&list);
        let expected = Structured::Read(serde_json::json!({ "a": 1 }));
        assert_eq!(attributes.structured(&["none", "text"]), expected);
        assert_eq!(attributes.structured(&["map"]), expected);
        assert_eq!(attributes.structured(&["none"]), Structured::Absent);
        assert!(matches!(
            attributes.structured(&["cut"]),
            Structured::Broken(_)
        ));
        assert_eq!(
            attributes.value(&["large"]),
            Some(serde_json::json!(["9007199254740993", -1, 1.5]))
        );
    }

    #[test]
    fn what_is_nested_too_deeply_becomes_its_text() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let list = [attribute("deep", Value::String(deep))];
        let mut value = Attributes::of(&list).value(&["deep"]).expect("given");
        let mut depth = 0;
        while let Json::Array(mut items) = value {
            value = items.pop().expect("one item");
            depth += 1;
        }
        assert_eq!(depth, DEPTH_MAX);
        assert!(value.as_str().is_some_and(|text| text.starts_with("[[[")));
    }
}
