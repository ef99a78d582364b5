//! Messages of several instrumentations as parts.

use serde_json::json;

use super::*;

fn parts(messages: &Json) -> Parts {
    let mut parts = Parts::default();
    parts.messages(messages);
    parts
}

fn shown(parts: &Parts) -> Vec<(PartKind, Option<&str>)> {
    parts
        .parts
        .iter()
        .map(|part| (part.kind, part.text.as_deref()))
        .collect()
}

#[test]
fn a_part_is_told_by_its_type_and_not_by_its_role() {
    let read = parts(&json!([
        { "role": "user", "parts": [{ "type": "text", "content": "go" }] },
        { "role": "assistant", "parts": [
            { "type": "thinking", "content": "hm" },
            { "type": "tool_call", "id": "c1", "name": "look", "arguments": "{\"x\":1}" },
        ] },
        { "role": "user", "parts": [{ "type": "tool_call_response", "id": "c1", "name": "look", "result": { "y": 2 } }] },
        { "role": "tool", "parts": [{ "type": "tool_call_response", "id": "c1", "response": "late" }] },
        { "role": "user", "parts": [{ "type": "uri", "uri": "https://example.org" }] },
    ]));
    assert_eq!(
        shown(&read),
        [
            (PartKind::User, Some("go")),
            (PartKind::Reasoning, Some("hm")),
            (PartKind::ToolCall, Some("look {\"x\":1}")),
            (PartKind::ToolResult, Some("{\"y\":2}")),
            (PartKind::ToolResult, Some("late")),
            (
                PartKind::Other,
                Some("{\"type\":\"uri\",\"uri\":\"https://example.org\"}")
            ),
        ]
    );
    assert_eq!(read.parts[3].call_id.as_deref(), Some("c1"));
    assert_eq!(read.parts[3].tool.as_deref(), Some("look"));
    assert_eq!(read.parts[3].message, Some(2));
    assert_eq!(read.empty, 0);
}

#[test]
fn messages_in_the_form_of_an_api_are_read_too() {
    let read = parts(&json!([
        { "role": "system", "content": "be kind" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } },
        ] },
        { "role": "tool", "tool_call_id": "c1", "content": "seen" },
    ]));
    assert_eq!(
        shown(&read),
        [
            (PartKind::System, Some("be kind")),
            (PartKind::ToolCall, Some("look {}")),
            (PartKind::ToolResult, Some("seen")),
        ]
    );
    assert_eq!(read.parts[2].call_id.as_deref(), Some("c1"));
}

#[test]
fn what_was_not_sent_is_counted_and_what_is_encrypted_stands_by_its_hash() {
    let read = parts(&json!([
        { "role": "user", "parts": [{ "type": "text" }] },
        { "role": "assistant", "parts": [{ "type": "thinking" }] },
        { "role": "assistant", "parts": [{ "type": "thinking", "signature": "abc" }] },
        { "role": "assistant", "parts": [{ "type": "compaction", "id": "cmp_1", "content": null }] },
    ]));
    assert_eq!(read.empty, 2);
    assert_eq!(
        shown(&read),
        [(PartKind::Reasoning, None), (PartKind::Summary, None)]
    );
    assert!(
        read.parts
            .iter()
            .all(|part| part.encrypted && part.hash.is_some())
    );
    assert_eq!(read.compaction, Some(None));
    let told = parts(&json!([
        { "role": "assistant", "parts": [{ "type": "compaction", "content": "so far" }] },
    ]));
    assert_eq!(shown(&told), [(PartKind::Summary, Some("so far"))]);
    assert_eq!(told.compaction, Some(Some("so far".to_owned())));
}

#[test]
fn an_answer_has_its_text_its_calls_and_why_it_ended() {
    let answer = Answer::of(
        &json!([{ "role": "assistant", "finish_reason": "tool_call", "parts": [
        { "type": "text", "content": "I look." },
        { "type": "tool_call", "id": "c1", "name": "look", "arguments": { "x": 1 } },
        { "type": "server_tool_call", "id": "c2", "name": "search", "server_tool_call": { "query": "y" } },
        { "type": "server_tool_call_response", "id": "c2", "server_tool_call_response": { "hits": 3 } },
    ] }]),
    );
    assert_eq!(answer.text, ["I look."]);
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_call"));
    let expected = Call {
        id: Some("c1".to_owned()),
        tool: "look".to_owned(),
        arguments: Some(json!({ "x": 1 })),
    };
    assert_eq!(answer.calls[0], expected);
    assert_eq!(answer.calls[1].tool, "search");
    assert_eq!(answer.calls[1].arguments, Some(json!({ "query": "y" })));
    assert_eq!(
        answer.returned,
        [(Some("c2".to_owned()), json!({ "hits": 3 }))]
    );
}

#[test]
fn no_shape_of_a_message_is_too_odd() {
    for odd in [
        json!(null),
        json!(7),
        json!("text"),
        json!([null, [], "x", { "parts": 3 }, { "role": 9, "parts": [null, 1, [], {}] }]),
        json!({ "tool_calls": { "function": 1 } }),
    ] {
        drop(parts(&odd));
        drop(Answer::of(&odd));
    }
}
