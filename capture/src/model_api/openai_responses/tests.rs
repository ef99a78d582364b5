//! Requests and answers as the Responses API has them.

use remembrancer_schema::payload::PartKind;
use serde_json::json;

use super::super::{ModelResponse, ResultContent};
use super::*;

fn read(body: &serde_json::Value) -> ModelRequest {
    request(body.to_string().as_bytes()).expect("it can be read")
}

#[test]
fn every_item_becomes_parts_in_the_order_sent() {
    let request = read(&json!({
        "model": "m",
        "instructions": "Never delete.",
        "tools": [{ "type": "function", "name": "read", "parameters": {} }],
        "prompt_cache_key": "thread-1",
        "context_management": [{ "type": "compaction", "compact_threshold": 200000 }],
        "input": [
            { "role": "user", "content": "go" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] },
            { "type": "reasoning", "id": "rs", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "zzz" },
            { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"a\": 1}" },
            { "type": "function_call_output", "call_id": "c1", "output": "damp" },
            { "type": "local_shell_call", "call_id": "c2", "action": { "command": ["ls"], "type": "exec" } },
            { "type": "custom_tool_call_output", "call_id": "c3", "output": [{ "type": "input_text", "text": "x" }] },
            { "type": "compaction", "encrypted_content": "opaque" },
        ],
    }));
    let told: Vec<(PartKind, &str)> = request
        .parts
        .iter()
        .map(|part| (part.kind, part.text.as_deref().unwrap_or("(hash)")))
        .collect();
    assert_eq!(
        told[1..],
        [
            (PartKind::System, "Never delete."),
            (PartKind::User, "go"),
            (PartKind::Assistant, "ok"),
            (PartKind::Reasoning, "hm"),
            (PartKind::Reasoning, "(hash)"),
            (PartKind::ToolCall, "read {\"a\": 1}"),
            (PartKind::ToolResult, "damp"),
            (
                PartKind::ToolCall,
                "local_shell {\"command\":[\"ls\"],\"type\":\"exec\"}"
            ),
            (PartKind::ToolResult, "x"),
            (PartKind::Summary, "(hash)"),
        ]
    );
    assert!(request.parts[10].encrypted);
    assert_eq!(
        request.compaction.as_ref().map(|item| item.hash),
        Some(ContentHash::of(b"opaque"))
    );
    assert_eq!(request.threshold_tokens, Some(200_000));
    let results: Vec<&str> = request
        .results
        .iter()
        .map(|result| result.call_id.as_str())
        .collect();
    assert_eq!(results, ["c1", "c3"]);
    assert_eq!(
        request.results[1].result,
        ResultContent::Text("x".to_owned())
    );
    assert!(request.incomplete.is_empty());
}

#[test]
fn what_only_the_provider_knows_makes_the_context_incomplete() {
    assert_eq!(
        read(&json!({ "input": "a", "prompt": { "id": "p" } }))
            .incomplete
            .len(),
        1
    );
    assert_eq!(
        read(&json!({ "input": [{ "type": "item_reference", "id": "i" }] }))
            .incomplete
            .len(),
        1
    );
    let file = json!([{ "role": "user", "content": [{ "type": "input_file", "file_id": "f" }] }]);
    assert_eq!(read(&json!({ "input": file })).incomplete.len(), 1);
    let next = read(&json!({ "input": "a", "previous_response_id": "resp_1" }));
    assert_eq!(next.kept, Some(KeptContext::Response("resp_1".to_owned())));
    for conversation in [json!("conv"), json!({ "id": "conv" })] {
        let kept = read(&json!({ "input": "a", "conversation": conversation })).kept;
        assert_eq!(kept, Some(KeptContext::Conversation("conv".to_owned())));
    }
    for bad in ["", "[]1", "{\"model\": 7}"] {
        assert!(request(bad.as_bytes()).is_err(), "{bad}");
    }
    let odd =
        read(&json!({ "input": [7, {}, { "type": "function_call" }, { "type": "compaction" }] }));
    let kinds: Vec<PartKind> = odd.parts.iter().map(|part| part.kind).collect();
    assert_eq!(
        kinds,
        [
            PartKind::Other,
            PartKind::Other,
            PartKind::ToolCall,
            PartKind::Other
        ]
    );
}

fn answer_json() -> serde_json::Value {
    json!({
        "id": "resp_1", "model": "m-1", "status": "completed",
        "output": [
            { "type": "reasoning", "id": "rs", "summary": [] },
            { "type": "web_search_call", "id": "ws", "status": "completed", "action": { "type": "search", "query": "damp" } },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "both" }] },
            { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"a\":1}" },
            { "type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}" },
            { "type": "mcp_call", "id": "m", "name": "list", "arguments": "{}", "output": null, "error": "gone" },
            { "type": "compaction", "encrypted_content": "opaque" },
        ],
        "usage": { "input_tokens": 12, "input_tokens_details": { "cached_tokens": 8 }, "output_tokens": 3 },
    })
}

fn check(answer: &ModelResponse) {
    assert_eq!(
        (answer.id.as_deref(), answer.text.clone()),
        (Some("resp_1"), vec!["both".to_owned()])
    );
    let calls: Vec<(&str, &str)> = answer
        .calls
        .iter()
        .map(|call| (call.call_id.as_str(), call.tool.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("ws", "web_search"),
            ("c1", "read"),
            ("c2", "read"),
            ("m", "list")
        ]
    );
    let results: Vec<(&str, ReturnStatus)> = answer
        .results
        .iter()
        .map(|result| (result.call_id.as_str(), result.status))
        .collect();
    assert_eq!(
        results,
        [("ws", ReturnStatus::Ok), ("m", ReturnStatus::Error)]
    );
    assert!(
        answer
            .parts
            .iter()
            .any(|part| part.kind == PartKind::Summary && part.encrypted)
    );
}

#[test]
fn an_answer_has_text_calls_usage_and_the_results_of_the_providers_own_tools() {
    let answer = response(answer_json().to_string().as_bytes()).expect("it can be read");
    check(&answer);
    let usage = answer.usage.expect("usage");
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens, answer.is_whole),
        (12, Some(8), true)
    );
    let waiting = response(br#"{"id":"r","status":"queued","output":[]}"#).expect("it can be read");
    assert!(!waiting.is_whole);
    let cut = response(
        br#"{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
    )
    .expect("read");
    assert_eq!(cut.stop_reason.as_deref(), Some("max_output_tokens"));
}

#[test]
fn a_stream_ends_with_the_answer_or_says_what_came_of_it() {
    let whole = answer_json();
    let mut events = vec![
        json!({ "type": "response.created", "response": { "id": "resp_1", "model": "m-1", "status": "in_progress", "output": [] } }),
    ];
    for (index, item) in whole["output"]
        .as_array()
        .expect("a list")
        .iter()
        .enumerate()
    {
        events.push(json!({ "type": "response.output_text.delta", "delta": "b" }));
        events.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
        );
    }
    events.push(json!({ "type": "response.completed", "response": whole }));
    let text = |events: &[serde_json::Value]| -> String {
        events
            .iter()
            .map(|event| format!("event: x\ndata: {event}\n\n"))
            .collect()
    };
    let answer = stream(text(&events).as_bytes()).expect("it can be read");
    check(&answer);
    assert!(answer.is_whole && answer.usage.is_some());
    let cut = stream(text(&events[..events.len() - 1]).as_bytes()).expect("it can be read");
    check(&cut);
    assert!(!cut.is_whole && cut.usage.is_none());
    let failed = stream(b"data: {\"type\":\"error\",\"code\":\"server_error\"}\n\n")
        .expect("it can be read");
    assert_eq!(
        (failed.error.as_deref(), failed.is_whole),
        (Some("server_error"), false)
    );
    assert!(
        !stream(b"data: [1\n\ndata: {\"type\":7}\n\n")
            .expect("it can be read")
            .is_whole
    );
}
