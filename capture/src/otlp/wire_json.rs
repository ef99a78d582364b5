//! How the JSON form of OTLP differs from what `serde` derives.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::wire::{self, ArrayValue, KeyValueList, Value};

/// `null` as nothing.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// An id in hexadecimal, of whatever length: that is judged span by span. What is no hexadecimal is no id, and judged there too.
pub(super) fn hex_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    Ok(text
        .and_then(|text| hex::decode(text).ok())
        .unwrap_or_default())
}

/// An integer, as a number or as a string of digits.
pub(super) fn integer<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i128> + Default,
{
    deserializer.deserialize_any(Integer(PhantomData, &[]))
}

/// The code of a status, by number or by name.
pub(super) fn status_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    const NAMES: [&str; 3] = ["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"];
    deserializer.deserialize_any(Integer(PhantomData, &NAMES))
}

struct Integer<T>(PhantomData<T>, &'static [&'static str]);

impl<T: TryFrom<i128> + Default> Integer<T> {
    fn of<E: serde::de::Error>(number: i128) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::custom(format!("the number {number} is out of range")))
    }
}

impl<T: TryFrom<i128> + Default> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an integer, or one in a string")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        Self::of(number.into())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        Self::of(number.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        if let Some(at) = self.1.iter().position(|name| *name == text) {
            return Self::of(at as i128);
        }
        let number = text.parse::<i64>().map(i128::from);
        let number = number.or_else(|_| text.parse::<u64>().map(i128::from));
        Self::of(number.map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// A value, of which exactly one member is given; the first one counts.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AnyValue {
    string_value: Option<String>,
    bool_value: Option<bool>,
    int_value: Option<Int>,
    double_value: Option<Double>,
    array_value: Option<ArrayValue>,
    kvlist_value: Option<KeyValueList>,
    bytes_value: Option<Base64>,
}

#[derive(Deserialize)]
struct Int(#[serde(deserialize_with = "integer")] i64);

/// A number, or one of the names that JSON has no numbers for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Double {
    Number(f64),
    Name(String),
}

struct Base64(Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(&text)
            .map(Self)
            .map_err(|error| D::Error::custom(format!("bytes are not base64: {error}")))
    }
}

impl From<AnyValue> for wire::AnyValue {
    fn from(read: AnyValue) -> Self {
        let double = |double| match double {
            Double::Number(number) => number,
            Double::Name(name) => name.parse().unwrap_or(f64::NAN),
        };
        let value = read
            .string_value
            .map(Value::String)
            .or(read.bool_value.map(Value::Bool))
            .or(read.int_value.map(|Int(number)| Value::Int(number)))
            .or(read
                .double_value
                .map(|number| Value::Double(double(number))))
            .or(read.array_value.map(Value::Array))
            .or(read.kvlist_value.map(Value::Map))
            .or(read.bytes_value.map(|Base64(bytes)| Value::Bytes(bytes)));
        Self { value }
    }
}
