//! Requests and answers as the Chat Completions API has them.

use serde_json::json;

use super::super::ResultContent;
use super::*;

fn read(body: &serde_json::Value) -> ModelRequest {
    request(body.to_string().as_bytes()).expect("it can be read")
}

#[test]
fn every_message_becomes_parts_in_the_order_sent() {
    let request = read(&json!({
        "model": "m",
        "tools": [{ "type": "function", "function": { "name": "read", "parameters": {} } }],
        "response_format": { "type": "json_schema", "json_schema": { "name": "x" } },
        "metadata": { "session_id": "run-7" },
        "prompt_cache_key": "other",
        "messages": [
            { "role": "developer", "content": "Never delete." },
            { "role": "user", "content": [{ "type": "text", "text": "go" }, { "type": "image_url", "image_url": { "url": "u" } }] },
            { "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"a\": 1}" } },
                { "id": "c2", "type": "custom", "custom": { "name": "sh", "input": "ls" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "damp" },
            { "role": "tool", "tool_call_id": "c2", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": "done", "refusal": "no" },
        ],
    }));
    let told: Vec<(PartKind, &str)> = request
        .parts
        .iter()
        .map(|part| (part.kind, part.text.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        told[2..4],
        [(PartKind::System, "Never delete."), (PartKind::User, "go")]
    );
    assert_eq!(
        (told[0].0, told[1].0, told[4].0),
        (PartKind::ToolSchema, PartKind::ToolSchema, PartKind::Other)
    );
    assert_eq!(
        told[5..],
        [
            (PartKind::Reasoning, "hm"),
            (PartKind::ToolCall, "read {\"a\": 1}"),
            (PartKind::ToolCall, "sh ls"),
            (PartKind::ToolResult, "damp"),
            (PartKind::ToolResult, "a"),
            (PartKind::ToolResult, "b"),
            (PartKind::Assistant, "done"),
            (PartKind::Assistant, "no"),
        ]
    );
    assert_eq!(request.parts[0].name.as_deref(), Some("read"));
    assert_eq!(request.parts[2].message, Some(0));
    assert_eq!(
        request.results[0].result,
        ResultContent::Text("damp".to_owned())
    );
    assert!(
        matches!(&request.results[1].result, ResultContent::Json(json) if json.contains("\"b\""))
    );
    assert_eq!(
        request.group.as_ref().map(|group| group.key.as_str()),
        Some("run-7")
    );
}

#[test]
fn the_older_form_of_calls_is_joined_by_its_name() {
    let request = read(&json!({ "messages": [
        { "role": "assistant", "function_call": { "name": "read", "arguments": "{}" } },
        { "role": "function", "name": "read", "content": "damp" },
    ]}));
    assert_eq!(request.parts[0].call_id.as_deref(), Some("read"));
    assert_eq!(request.parts[1].call_id.as_deref(), Some("read"));
    let file = read(
        &json!({ "messages": [{ "role": "user", "content": [{ "type": "file", "file": { "file_id": "f" } }] }] }),
    );
    assert_eq!(file.incomplete.len(), 1);
}

#[test]
fn what_is_no_request_is_an_error_and_what_is_odd_is_kept() {
    for bad in ["", "{", "[]x", "{\"messages\":{}}"] {
        assert!(request(bad.as_bytes()).is_err(), "{bad}");
    }
    let odd = read(
        &json!({ "messages": [7, { "role": "user", "content": 7 }, { "role": "wizard", "content": "x" }, {}] }),
    );
    let kinds: Vec<PartKind> = odd.parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, [PartKind::Other; 3]);
}

#[test]
fn an_answer_has_text_calls_and_usage() {
    let body = json!({
        "id": "chatcmpl-1", "model": "m-1",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": "both", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"a\":1}" } },
            { "id": "c2", "type": "function", "function": { "name": "read", "arguments": "{}" } },
        ] } }],
        "usage": { "prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": 8 } },
    });
    let answer = response(body.to_string().as_bytes()).expect("it can be read");
    assert_eq!(
        (answer.text, answer.calls.len()),
        (vec!["both".to_owned()], 2)
    );
    assert_eq!(answer.stop_reason.as_deref(), Some("tool_calls"));
    let usage = answer.usage.expect("usage");
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens
        ),
        (12, 3, Some(8))
    );
    let refusal = response(
        br#"{"error":{"message":"key sk-x is wrong","type":null,"code":"invalid_api_key"}}"#,
    )
    .expect("read");
    assert_eq!(refusal.error.as_deref(), Some("invalid_api_key"));
}

fn chunk(delta: serde_json::Value, finish: Option<&str>) -> String {
    let data = json!({ "id": "chatcmpl-1", "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {data}\n\n")
}

#[test]
fn chunks_are_put_together() {
    let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] });
    let chunks = [
        chunk(json!({ "role": "assistant", "content": "" }), None),
        chunk(json!({ "content": "bo" }), None),
        chunk(json!({ "content": "th" }), None),
        chunk(call(0, Some("c1"), Some("read"), ""), None),
        chunk(call(1, Some("c2"), Some("list"), "{}"), None),
        chunk(call(0, None, None, "{\"a\""), None),
        chunk(call(0, None, None, ":1}"), None),
        chunk(json!({}), Some("tool_calls")),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n"
            .to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ];
    let answer = stream(chunks.concat().as_bytes()).expect("it can be read");
    assert_eq!(
        (answer.text, answer.is_whole),
        (vec!["both".to_owned()], true)
    );
    let calls: Vec<(&str, &str, &str)> = answer
        .calls
        .iter()
        .map(|call| {
            (
                call.call_id.as_str(),
                call.tool.as_str(),
                call.arguments.as_str(),
            )
        })
        .collect();
    assert_eq!(calls, [("c1", "read", "{\"a\":1}"), ("c2", "list", "{}")]);
    assert_eq!(answer.usage.map(|usage| usage.input_tokens), Some(12));
    let cut = stream(chunks[..6].concat().as_bytes()).expect("it can be read");
    assert!(!cut.is_whole && cut.calls[0].arguments == "{\"a\"");
    let without_done = stream(chunks[..8].concat().as_bytes()).expect("it can be read");
    assert!(
        without_done.is_whole,
        "a server that leaves its last word away"
    );
    let odd = stream(
        b"data: 7\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[7,{\"id\":\"x\"}]}}]}\n\n",
    )
    .expect("read");
    assert_eq!(odd.calls.len(), 1);
}
