//! Values and texts that an event cannot hold: too long, or not the strict JSON that records are made of.

use remembrancer_schema::ijson;
use serde_json::value::RawValue;

use super::TEXT_BYTES_MAX;
use crate::cut::{CutValue, cut_text};

/// How much of a value that does not fit is kept inline, in bytes.
const START_BYTES: usize = 16 * 1024;

/// A value as an event holds it.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) value: Box<RawValue>,
    /// The bytes that the event does not hold, to be kept as a blob.
    pub(super) cut: Option<Vec<u8>>,
}

/// The value as it is where an event can hold it; else an object that has its size, its hash and its beginning.
pub(super) fn value(raw: &RawValue) -> Fitted {
    let text = raw.get();
    let stand_in = if text.len() > TEXT_BYTES_MAX {
        CutValue::too_long(text, START_BYTES)
    } else {
        // One level deeper than it stands alone: it becomes a member of an event's data.
        match ijson::check(format!("[[{text}]]").as_bytes()) {
            Ok(()) => {
                return Fitted {
                    value: raw.to_owned(),
                    cut: None,
                };
            }
            Err(error) => CutValue::unfit(text, START_BYTES, error),
        }
    };
    Fitted {
        value: stand_in.to_raw(),
        cut: Some(text.as_bytes().to_vec()),
    }
}

/// The text, or its beginning and a word about the rest.
pub(super) fn text(text: String) -> (String, Option<Vec<u8>>) {
    if text.len() <= TEXT_BYTES_MAX {
        return (text, None);
    }
    let cut = cut_text(&text, TEXT_BYTES_MAX);
    (cut, Some(text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::ContentHash;

    use super::*;

    fn raw(text: String) -> Box<RawValue> {
        RawValue::from_string(text).expect("JSON")
    }

    #[test]
    fn what_fits_stays_byte_for_byte() {
        let small = raw(r#"{"b": 1.50, "a": "é"}"#.to_owned());
        let fitted = value(&small);
        assert_eq!(fitted.value.get(), small.get());
        assert_eq!(fitted.cut, None);
        assert_eq!(text("short".to_owned()), ("short".to_owned(), None));
    }

    #[test]
    fn what_does_not_fit_is_kept_beside_with_its_size_and_hash() {
        let deep = format!("{}{}", "[".repeat(63), "]".repeat(63));
        let long = format!("\"{}\"", "é".repeat(TEXT_BYTES_MAX));
        let twice = r#"{"a":1,"a":2}"#.to_owned();
        for whole in [deep, long, twice, "12345678901234567890123".to_owned()] {
            let fitted = value(&raw(whole.clone()));
            let stand_in: serde_json::Value =
                serde_json::from_str(fitted.value.get()).expect("JSON");
            assert_eq!(stand_in["cut"]["bytes"], whole.len());
            let hash = ContentHash::of(whole.as_bytes()).to_string();
            assert_eq!(stand_in["cut"]["blake3"], hash);
            assert!(whole.starts_with(stand_in["cut"]["start"].as_str().expect("a text")));
            assert_eq!(fitted.cut.expect("kept beside"), whole.as_bytes());
        }
    }

    #[test]
    fn a_long_text_keeps_its_beginning() {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        let (cut, rest) = text(long.clone());
        assert!(cut.starts_with(&long[..TEXT_BYTES_MAX]) && cut.contains("[cut: 98305 bytes"));
        assert_eq!(rest.expect("kept beside"), long.as_bytes());
    }
}
