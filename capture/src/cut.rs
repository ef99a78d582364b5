//! Texts and values that an event cannot hold, and what stands in their place.

use remembrancer_schema::ContentHash;
use serde::Serialize;
use serde_json::value::RawValue;

/// The longest beginning of a text that has no more bytes than `bytes_max` and ends with a whole character.
pub(crate) fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// What stands in an event in the place of a JSON value that it cannot hold, whoever records it:
/// `{"cut": {"bytes": …, "blake3": …, "start": …}}`. The Python client writes the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CutValue<'a> {
    cut: Cut<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Cut<'a> {
    /// Size of the whole: of a text its UTF-8 bytes, of anything else its JSON.
    bytes: usize,
    /// BLAKE3 of the same. Where the whole is kept, it is a blob of this hash, or a part of a context with it.
    blake3: ContentHash,
    /// How the whole begins; all of it where its length is not why it was cut.
    start: &'a str,
    /// Why an event cannot hold it, where that is not its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl<'a> CutValue<'a> {
    /// What stands for a value that is too long; at most `start_max` bytes of it stay.
    pub(crate) fn too_long(whole: &'a str, start_max: usize) -> Self {
        Self {
            cut: Cut {
                bytes: whole.len(),
                blake3: ContentHash::of(whole.as_bytes()),
                start: prefix(whole, start_max),
                reason: None,
            },
        }
    }

    /// What stands for a value that no event holds, however short: one that nests too deeply, or is not I-JSON.
    pub(crate) fn unfit(whole: &'a str, start_max: usize, reason: impl ToString) -> Self {
        let mut unfit = Self::too_long(whole, start_max);
        unfit.cut.reason = Some(reason.to_string());
        unfit
    }

    /// As JSON.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        serde_json::value::to_raw_value(self).expect("an object of texts and a number is JSON")
    }
}

/// A text of which an event holds the beginning: that, and the size and the hash of the whole.
pub(crate) fn cut_text(whole: &str, start_max: usize) -> String {
    format!(
        "{}\n[cut: {} bytes, BLAKE3 {}]",
        prefix(whole, start_max),
        whole.len(),
        ContentHash::of(whole.as_bytes())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(prefix("aé", 2), "a");
        assert_eq!(prefix("aé", 3), "aé");
        assert_eq!(prefix("aé", 100), "aé");
        assert_eq!(prefix("é", 0), "");
    }

    #[test]
    fn what_stands_for_a_value_has_its_size_its_hash_and_its_beginning() {
        let whole = "\"éé\"";
        let hash = ContentHash::of(whole.as_bytes());
        assert_eq!(
            CutValue::too_long(whole, 4).to_raw().get(),
            format!(r#"{{"cut":{{"bytes":6,"blake3":"{hash}","start":"\"é"}}}}"#)
        );
        let unfit: serde_json::Value =
            serde_json::from_str(CutValue::unfit("[[]]", 100, "too deep").to_raw().get())
                .expect("JSON");
        assert_eq!(unfit["cut"]["start"], "[[]]");
        assert_eq!(unfit["cut"]["reason"], "too deep");
        assert_eq!(
            cut_text("aé", 2),
            format!(
                "a\n[cut: 3 bytes, BLAKE3 {}]",
                ContentHash::of("aé".as_bytes())
            )
        );
    }
}
