//! Pieces of a JSON document as people write them: indented, one member or item on a line.

use serde_json::Value;
use serde_json::value::RawValue;

/// A list as text, its items `depth` levels deep.
pub(super) fn list(items: &[Box<RawValue>], depth: usize) -> String {
    let inner = "  ".repeat(depth + 1);
    let items: Vec<String> = items
        .iter()
        .map(|item| format!("{inner}{}", item.get()))
        .collect();
    format!("[\n{}\n{}]", items.join(",\n"), "  ".repeat(depth))
}

/// A new value as text, its members `depth` levels deep.
pub(super) fn pretty(value: &Value, depth: usize) -> Result<Box<RawValue>, serde_json::Error> {
    let text = serde_json::to_string_pretty(value)?;
    let indented = text.replace('\n', &format!("\n{}", "  ".repeat(depth)));
    RawValue::from_string(indented)
}

#[cfg(test)]
mod tests {
    use remembrancer_capture::Members;

    use super::*;

    #[test]
    fn what_is_not_changed_keeps_its_order_and_its_bytes() {
        let text =
            "{\n  \"z\": {\"b\":1,   \"a\": [1.50]},\n  \"a\": \"\\u00e9\",\n  \"n\": null\n}";
        let mut members: Members = serde_json::from_str(text).expect("an object");
        assert_eq!(members.text(0).expect("text"), text);
        let new = pretty(&serde_json::json!({"x": [1]}), 1).expect("JSON");
        members.set("a", new);
        let changed = members.text(0).expect("text");
        let expected = text.replace("\"\\u00e9\"", "{\n    \"x\": [\n      1\n    ]\n  }");
        assert_eq!(changed, expected);
    }
}
