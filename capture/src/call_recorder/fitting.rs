//! What is too large for an event, or for a name, and what stands in its place.

use std::collections::BTreeSet;

use remembrancer_schema::limits::CONTEXT_PARTS_MAX;
use remembrancer_schema::payload::{EventType, Part, ToolReturned, Witness};
use remembrancer_schema::{ContentHash, ijson};
use serde_json::value::{RawValue, to_raw_value};

use crate::cut::{CutValue, cut_text, prefix};
use crate::model_api::{CallResult, ResultContent};
use crate::spool::RECORD_BYTES_MAX;
use crate::{SessionWriter, WriteError};

/// Arguments, results and texts that are longer than this as JSON, in bytes, are cut.
pub(super) const INLINE_BYTES_MAX: usize = 96 * 1024;
/// Bytes that are left of what is cut.
const START_BYTES: usize = 4 * 1024;
/// Longest name, id, model or reason, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 512;

/// A name, cut to its longest length.
pub(super) fn name(text: &str) -> String {
    prefix(text, NAME_BYTES_MAX).to_owned()
}

/// A text, cut where it is too long, with the whole one's size and hash.
pub(super) fn text(text: &str) -> String {
    // Control characters are up to six bytes in JSON.
    if text.len() <= INLINE_BYTES_MAX / 6 || escaped_len(text) <= INLINE_BYTES_MAX {
        return text.to_owned();
    }
    cut_text(text, START_BYTES)
}

/// Bytes of a text as JSON.
pub(super) fn escaped_len(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..=31 => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// JSON for the inside of an event: as it was sent where it is I-JSON, else as a string that holds it; cut where it is too long.
/// The bytes that were cut are returned too, to be kept as a blob.
pub(super) fn json(raw: &str) -> Result<(Box<RawValue>, Option<Vec<u8>>), serde_json::Error> {
    if raw.len() > INLINE_BYTES_MAX {
        return cut(raw);
    }
    // Two levels are the event's own.
    let nested = format!("[[{raw}]]");
    if ijson::check(nested.as_bytes()).is_ok() && serde_json::from_str::<&RawValue>(raw).is_ok() {
        return Ok((RawValue::from_string(raw.to_owned())?, None));
    }
    string(raw)
}

/// The same of a text.
pub(super) fn string(text: &str) -> Result<(Box<RawValue>, Option<Vec<u8>>), serde_json::Error> {
    if escaped_len(text) > INLINE_BYTES_MAX {
        return cut(text);
    }
    Ok((to_raw_value(text)?, None))
}

fn cut(text: &str) -> Result<(Box<RawValue>, Option<Vec<u8>>), serde_json::Error> {
    let told = CutValue::too_long(text, START_BYTES);
    let whole = (text.len() <= RECORD_BYTES_MAX).then(|| text.as_bytes().to_vec());
    Ok((told.to_raw(), whole))
}

/// The event of a result.
pub(super) fn push_result(
    writer: &mut SessionWriter,
    result: CallResult,
    tool: Option<String>,
    time: &str,
) -> Result<(), WriteError> {
    let call_id = result.call_id;
    let id = format!("returned.{call_id}");
    let fitted = match &result.result {
        ResultContent::Text(text) => string(text),
        ResultContent::Json(raw) => json(raw),
    };
    let (value, whole) = fitted.map_err(|error| WriteError::Json {
        id: id.clone(),
        error,
    })?;
    let mut blobs = Vec::new();
    if let Some(whole) = whole {
        writer.blob(whole, &mut blobs);
    }
    let returned = ToolReturned {
        call_id,
        tool,
        status: result.status,
        result: Some(value),
        effect: None,
        witness: Some(Witness::Exact),
    };
    writer.push_with_blobs(&id, &EventType::ToolReturned, Some(time), &returned, &blobs)
}

/// Makes parts fit for a snapshot: names within their length, no text that no recorder takes, not too many.
pub(super) fn fit(parts: &mut Vec<Part>, incomplete: &mut BTreeSet<String>) {
    if parts.len() > CONTEXT_PARTS_MAX {
        incomplete.insert(format!(
            "it has {} parts, of which the first {CONTEXT_PARTS_MAX} are kept",
            parts.len()
        ));
        parts.truncate(CONTEXT_PARTS_MAX);
    }
    for part in parts {
        for field in [&mut part.name, &mut part.call_id, &mut part.tool] {
            if field
                .as_ref()
                .is_some_and(|text| text.len() > NAME_BYTES_MAX)
            {
                *field = field.as_deref().map(name);
            }
        }
        let large = part.text.take_if(|text| text.len() > RECORD_BYTES_MAX);
        if let Some(text) = large {
            part.hash = Some(ContentHash::of(text.as_bytes()));
            part.withheld = Some(format!("{} bytes, more than a recorder takes", text.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::payload::PartKind;

    use super::*;

    #[test]
    fn what_is_no_i_json_stands_as_a_string() {
        let kept = |raw: &str| json(raw).expect("it can be written").0.get().to_owned();
        assert_eq!(kept(r#"{"b":1,  "a":1e0}"#), r#"{"b":1,  "a":1e0}"#);
        for raw in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":1e400}"#,
            r#"{"a":"#,
            "",
            "],[",
            &("[".repeat(63) + &"]".repeat(63)),
        ] {
            assert_eq!(
                kept(raw),
                serde_json::to_string(raw).expect("a text"),
                "{raw}"
            );
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_names_the_whole() {
        let long = format!("\"{}\"", "é".repeat(INLINE_BYTES_MAX));
        let (value, whole) = json(&long).expect("it can be written");
        assert!(value.get().len() < 6_000);
        let told: serde_json::Value = serde_json::from_str(value.get()).expect("JSON");
        assert_eq!(told["cut"]["bytes"], long.len());
        assert_eq!(
            told["cut"]["blake3"],
            ContentHash::of(long.as_bytes()).to_string()
        );
        assert_eq!(whole.as_deref(), Some(long.as_bytes()));
        let hostile = "\u{1}".repeat(INLINE_BYTES_MAX / 5);
        assert!(string(&hostile).expect("it can be written").1.is_some());
        assert!(text(&hostile).starts_with('\u{1}') && text(&hostile).contains("[cut: "));
        assert_eq!(text("short"), "short");
        assert_eq!(
            escaped_len("a\"\n\u{1}é"),
            serde_json::to_string("a\"\n\u{1}é").expect("a text").len()
        );
    }

    #[test]
    fn parts_that_no_recorder_takes_are_named_by_their_hash() {
        let large = "x".repeat(RECORD_BYTES_MAX + 1);
        let mut parts = vec![
            Part {
                name: Some("n".repeat(600)),
                ..Part::inline(PartKind::User, "short")
            },
            Part::inline(PartKind::ToolResult, large.as_str()),
        ];
        let mut incomplete = BTreeSet::new();
        fit(&mut parts, &mut incomplete);
        assert_eq!(
            parts[0].name.as_ref().map(String::len),
            Some(NAME_BYTES_MAX)
        );
        assert_eq!(parts[0].text.as_deref(), Some("short"));
        assert_eq!(
            (parts[1].text.as_ref(), parts[1].hash),
            (None, Some(ContentHash::of(large.as_bytes())))
        );
        assert!(parts[1].withheld.is_some() && incomplete.is_empty());
        let mut parts = vec![Part::inline(PartKind::User, "x"); CONTEXT_PARTS_MAX + 1];
        fit(&mut parts, &mut incomplete);
        assert_eq!((parts.len(), incomplete.len()), (CONTEXT_PARTS_MAX, 1));
    }
}
