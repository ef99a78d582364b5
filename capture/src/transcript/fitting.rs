//! JSON values that fit into an event.

use remembrancer_schema::ijson;
use serde_json::value::RawValue;

use crate::cut::CutValue;

/// Longest JSON of a call's arguments or of a result, in bytes. A longer one is cut and named by its hash.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of a value that stands within an event.
const VALUE_DEPTH_MAX: usize = 48;

/// A value as an event can hold it: the same, byte for byte, or if it is too long, too deep or no I-JSON, what stands for it
/// with its size, its hash and its beginning.
pub fn fitting(value: &str) -> Box<RawValue> {
    if value.len() > VALUE_BYTES_MAX {
        return CutValue::too_long(value, CUT_BYTES).to_raw();
    }
    if depth(value) > VALUE_DEPTH_MAX {
        return CutValue::unfit(value, CUT_BYTES, "it nests too deeply").to_raw();
    }
    let sound = ijson::check(value.as_bytes()).map_err(|error| error.to_string());
    let raw = sound
        .and_then(|()| RawValue::from_string(value.to_owned()).map_err(|error| error.to_string()));
    raw.unwrap_or_else(|reason| CutValue::unfit(value, CUT_BYTES, reason).to_raw())
}

/// A text as a JSON string that an event can hold.
pub fn fitting_text(text: &str) -> Box<RawValue> {
    fitting(&serde_json::Value::from(text).to_string())
}

/// What is kept of a value that is cut. Escaping at most makes six bytes of one, so the event stays within its limit.
const CUT_BYTES: usize = 32 * 1024;

/// How deep brackets nest; those in strings do not count.
fn depth(value: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let (mut is_string, mut is_escape) = (false, false);
    for byte in value.bytes() {
        match byte {
            _ if is_escape => is_escape = false,
            b'\\' if is_string => is_escape = true,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::ContentHash;

    use super::*;

    #[test]
    fn what_fits_stays_byte_for_byte() {
        let value = r#"{ "b" : 1.0, "a": "[[{" }"#;
        assert_eq!(fitting(value).get(), value);
        assert_eq!(fitting_text("a\"b").get(), r#""a\"b""#);
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_hash() {
        let long = serde_json::Value::from("é".repeat(VALUE_BYTES_MAX)).to_string();
        let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
        let unsound = r#"{"a":1,"a":2}"#;
        for (value, is_long) in [(&long[..], true), (&deep[..], false), (unsound, false)] {
            let fitted: serde_json::Value =
                serde_json::from_str(fitting(value).get()).expect("an object");
            let fitted = &fitted["cut"];
            assert_eq!(fitted["bytes"], value.len());
            assert_eq!(fitted["reason"].is_null(), is_long);
            assert_eq!(
                fitted["blake3"],
                ContentHash::of(value.as_bytes()).to_string()
            );
            let text = fitted["start"].as_str().expect("a text");
            assert!(value.starts_with(text) && !text.is_empty());
        }
    }
}
