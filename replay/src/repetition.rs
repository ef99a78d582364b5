//! Whether re-supplied material repeats a text that left the context.

use std::collections::BTreeSet;

use serde_json::Value;

/// A shorter text may stand in another by chance.
const WHOLE_TEXT_BYTES_MIN: usize = 16;
/// Distinct values of a JSON result that make a repetition substantial; half of them where that is fewer.
const VALUES_MIN: usize = 3;
/// A shorter value or word may stand in another text by chance.
const VALUE_BYTES_MIN: usize = 3;

/// Whether `memory` repeats `text`: as a whole, or, where the memory names the text's call as its source, a substantial part:
/// three values of a JSON result, or half of them if that is fewer, or half of the distinct words of any other text.
pub(crate) fn is_repeated(text: &str, memory: &str, is_named_as_source: bool) -> bool {
    if text.len() >= WHOLE_TEXT_BYTES_MIN && memory.contains(text) {
        return true;
    }
    if !is_named_as_source {
        return false;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(result) => repeats_values(&result, memory),
        Err(_) => repeats_words(text, memory),
    }
}

fn repeats_values(result: &Value, memory: &str) -> bool {
    let mut values = BTreeSet::new();
    collect_values(result, &mut values);
    let needed = VALUES_MIN.min(values.len().div_ceil(2));
    needed > 0
        && values
            .iter()
            .filter(|value| memory.contains(value.as_str()))
            .take(needed)
            .count()
            == needed
}

/// The texts and numbers of a JSON value. `serde_json` refuses nesting deep enough to endanger the stack.
fn collect_values(value: &Value, values: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() >= VALUE_BYTES_MIN => {
            values.insert(text.clone());
        }
        Value::Number(number) => {
            let text = number.to_string();
            if text.len() >= VALUE_BYTES_MIN {
                values.insert(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_values(item, values)),
        Value::Object(members) => members
            .values()
            .for_each(|item| collect_values(item, values)),
        _ => {}
    }
}

fn repeats_words(text: &str, memory: &str) -> bool {
    let words = |text: &'_ str| -> BTreeSet<String> {
        text.split(|character: char| !character.is_alphanumeric())
            .filter(|word| word.len() >= VALUE_BYTES_MIN)
            .map(str::to_lowercase)
            .collect()
    };
    let (wanted, present) = (words(text), words(memory));
    !wanted.is_empty() && wanted.intersection(&present).count() * 2 >= wanted.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: &str =
        r#"{"ticket_id":"SUP-5602","status":"open","note":"long thread","amount":149.0}"#;

    #[test]
    fn a_named_source_is_pinned_by_its_values_and_not_by_its_field_names() {
        assert!(is_repeated(
            TICKET,
            "SUP-5602: status=open amount=149.0",
            true
        ));
        assert!(!is_repeated(
            TICKET,
            "ticket_id status note amount: see the archive",
            true
        ));
        assert!(!is_repeated(
            TICKET,
            "SUP-5602: status=open amount=149.0",
            false
        ));
    }

    #[test]
    fn a_text_that_stands_whole_in_memory_needs_no_source() {
        assert!(is_repeated(
            "the customer asked twice",
            "note: the customer asked twice.",
            false
        ));
        assert!(!is_repeated("ok", "ok, noted", false));
        assert!(is_repeated(
            "plain words of a result",
            "plain result words",
            true
        ));
        assert!(!is_repeated(
            "plain words of a result",
            "something else",
            true
        ));
    }
}
