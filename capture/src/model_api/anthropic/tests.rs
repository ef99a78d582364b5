//! Requests and answers as Anthropic's API has them.

use remembrancer_schema::payload::PartKind;
use serde_json::json;

use super::super::ResultContent;
use super::*;

fn read(body: serde_json::Value) -> ModelRequest {
    request(body.to_string().as_bytes()).expect("it can be read")
}

fn told(request: &ModelRequest) -> Vec<(PartKind, &str)> {
    let parts = request.parts.iter();
    parts
        .map(|part| (part.kind, part.text.as_deref().unwrap_or("(hash)")))
        .collect()
}

#[test]
fn every_kind_of_block_becomes_a_part_in_the_order_sent() {
    let body = r#"{"model":"m","tools":[{"name":"read","input_schema":{}}],
        "system":[{"type":"text","text":"Never delete.","cache_control":{"type":"ephemeral"}}],
        "messages":[
        {"role":"user","content":"go"},
        {"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"redacted_thinking","data":"secret"},
            {"type":"text","text":"reading"},
            {"type":"tool_use","id":"t1","name":"read","input":{"b":1,  "a":2}}]},
        {"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"damp"}],"is_error":true},
            {"type":"image","source":{"type":"base64","data":"x"}},
            {"type":"unheard_of","x":1}]}]}"#;
    let request = request(body.as_bytes()).expect("it can be read");
    let expected = [
        (PartKind::ToolSchema, r#"{"name":"read","input_schema":{}}"#),
        (PartKind::System, "Never delete."),
        (PartKind::User, "go"),
        (PartKind::Reasoning, "hm"),
        (PartKind::Reasoning, "(hash)"),
        (PartKind::Assistant, "reading"),
        (PartKind::ToolCall, r#"read {"b":1,  "a":2}"#),
        (PartKind::ToolResult, "damp"),
        (
            PartKind::Other,
            r#"{"type":"image","source":{"type":"base64","data":"x"}}"#,
        ),
        (PartKind::Other, r#"{"type":"unheard_of","x":1}"#),
    ];
    assert_eq!(told(&request), expected);
    assert!(request.parts[4].encrypted && request.incomplete.is_empty());
    assert_eq!(request.parts[0].name.as_deref(), Some("read"));
    let messages: Vec<Option<u32>> = request.parts.iter().map(|part| part.message).collect();
    assert_eq!(messages[..4], [None, None, Some(0), Some(1)]);
    assert_eq!(request.parts[7].call_id.as_deref(), Some("t1"));
    let result = &request.results[0];
    assert_eq!(
        (result.call_id.as_str(), result.status),
        ("t1", ReturnStatus::Error)
    );
    assert_eq!(result.result, ResultContent::Text("damp".to_owned()));
}

#[test]
fn what_stands_before_a_compaction_block_is_not_in_the_context() {
    let request = read(json!({
        "system": "rules",
        "context_management": { "edits": [{ "type": "compact_20260112", "trigger": { "type": "input_tokens", "value": 50000 } }] },
        "messages": [
            { "role": "user", "content": "the old task" },
            { "role": "assistant", "content": [{ "type": "compaction", "content": "summary" }, { "type": "text", "text": "on" }] },
            { "role": "user", "content": "next" },
        ],
    }));
    let expected = [
        (PartKind::System, "rules"),
        (PartKind::Summary, "summary"),
        (PartKind::Assistant, "on"),
        (PartKind::User, "next"),
    ];
    assert_eq!(told(&request), expected);
    assert_eq!(request.left_out.len(), 1);
    assert_eq!(
        request.compaction.and_then(|item| item.summary).as_deref(),
        Some("summary")
    );
    assert_eq!(request.threshold_tokens, Some(50_000));
    let failed = read(json!({ "messages": [
        { "role": "user", "content": "task" },
        { "role": "assistant", "content": [{ "type": "compaction", "content": null }] },
    ]}));
    assert_eq!(
        (failed.parts.len(), failed.compaction),
        (2, None),
        "a compaction that failed leaves everything in place"
    );
}

#[test]
fn a_document_whose_words_are_not_read_makes_the_context_incomplete() {
    let with = |source: serde_json::Value| {
        let block = json!({ "type": "document", "title": "rules.txt", "source": source });
        read(json!({ "messages": [{ "role": "user", "content": [block] }] }))
    };
    let text = with(json!({ "type": "text", "media_type": "text/plain", "data": "Never delete." }));
    assert_eq!(told(&text), [(PartKind::User, "Never delete.")]);
    assert_eq!(
        (text.parts[0].name.as_deref(), text.incomplete.len()),
        (Some("rules.txt"), 0)
    );
    assert_eq!(
        with(json!({ "type": "base64", "data": "JVBERi0=" }))
            .incomplete
            .len(),
        1
    );
    assert_eq!(
        with(json!({ "type": "file", "file_id": "f" }))
            .incomplete
            .len(),
        1
    );
}

#[test]
fn what_is_no_request_is_an_error_and_what_is_odd_is_kept() {
    for bad in [
        "",
        "[1",
        "7",
        "{\"messages\": 7}",
        "{\"role\":\"user\"}",
        "\u{1}",
    ] {
        assert!(request(bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(request(&[0xff, 0xfe]).is_err());
    let odd = read(json!({ "messages": [
        { "content": { "no": "list" } },
        { "role": "user", "content": [7, { "type": "text", "text": 7 }, { "type": "tool_use" }, { "type": "tool_result" }] },
        { "role": "user" },
    ]}));
    let kinds: Vec<PartKind> = odd.parts.iter().map(|part| part.kind).collect();
    assert_eq!(
        kinds,
        [
            PartKind::Other,
            PartKind::Other,
            PartKind::Other,
            PartKind::Other,
            PartKind::ToolResult
        ]
    );
}

const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[
    {"type":"text","text":"Reading both."},
    {"type":"tool_use","id":"t1","name":"read","input":{"shelf": 7}},
    {"type":"tool_use","id":"t2","name":"read","input":{}},
    {"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"damp"}},
    {"type":"web_search_tool_result","tool_use_id":"s1","content":[{"url":"u"}]}],
    "stop_reason":"tool_use",
    "usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":7},
    "context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":900}]}}"#;

#[test]
fn an_answer_has_text_calls_usage_and_the_providers_edits() {
    let answer = response(ANSWER.as_bytes()).expect("it can be read");
    assert_eq!(
        (answer.id.as_deref(), answer.stop_reason.as_deref()),
        (Some("msg_1"), Some("tool_use"))
    );
    assert_eq!(answer.text, ["Reading both."]);
    let calls: Vec<(&str, &str)> = answer
        .calls
        .iter()
        .map(|call| (call.call_id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("t1", "{\"shelf\": 7}"),
            ("t2", "{}"),
            ("s1", "{\"query\":\"damp\"}")
        ]
    );
    assert_eq!(answer.results.len(), 1);
    let usage = answer.usage.expect("usage");
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens
        ),
        (115, 7, Some(100))
    );
    assert_eq!(
        (
            answer.edits[0].name.as_str(),
            answer.edits[0].cleared_tokens
        ),
        ("clear_tool_uses_20250919", Some(900))
    );
    assert!(answer.is_whole && answer.error.is_none());
    let refusal =
        response(br#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#)
            .expect("read");
    assert_eq!(refusal.error.as_deref(), Some("overloaded_error"));
}

/// The stream of an answer like [`ANSWER`].
fn events() -> Vec<String> {
    let data = [
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "claude", "content": [], "usage": { "input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Reading " } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "both." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "t1", "name": "read", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"shelf\"" } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "tool_use", "id": "t2", "name": "read", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": ": 7}" } }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 7 },
                "context_management": { "applied_edits": [{ "type": "clear_thinking_20251015" }] } }),
        json!({ "type": "message_stop" }),
    ];
    data.iter()
        .map(|data| {
            format!(
                "event: {}\ndata: {data}\n\n",
                data["type"].as_str().expect("a type")
            )
        })
        .collect()
}

#[test]
fn a_stream_is_put_together_to_the_answer_in_one_piece() {
    let answer = stream(events().concat().as_bytes()).expect("it can be read");
    let whole = response(ANSWER.as_bytes()).expect("it can be read");
    assert_eq!(
        (answer.id, answer.model, answer.text),
        (whole.id, whole.model, whole.text)
    );
    assert_eq!(answer.calls[..2], whole.calls[..2]);
    assert_eq!(
        answer
            .parts
            .last()
            .map(|part| (part.kind, part.text.as_deref())),
        Some((PartKind::Reasoning, Some("hm")))
    );
    let usage = answer.usage.expect("usage");
    assert_eq!((usage.input_tokens, usage.output_tokens), (110, 7));
    assert_eq!(answer.edits[0].name, "clear_thinking_20251015");
    assert_eq!(
        (answer.stop_reason.as_deref(), answer.is_whole),
        (Some("tool_use"), true)
    );
}

#[test]
fn a_stream_that_breaks_off_says_what_came() {
    let events = events();
    for count in 0..events.len() {
        let answer = stream(events[..count].concat().as_bytes()).expect("it can be read");
        assert!(!answer.is_whole, "{count} events");
        assert_eq!(answer.text.is_empty(), count < 2);
    }
    let cut = stream(events[..8].concat().as_bytes()).expect("it can be read");
    assert_eq!(
        cut.calls[0].arguments, "{\"shelf\"",
        "what was broken off stands as it came"
    );
    let failed = format!(
        "{}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\"}}}}\n\n",
        events[0]
    );
    assert_eq!(
        stream(failed.as_bytes()).expect("read").error.as_deref(),
        Some("overloaded_error")
    );
    for nonsense in [
        "",
        "data: {}\n\n",
        "data: [1\n\n",
        "\u{0}\u{1}",
        "data: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":{}}\n\n",
    ] {
        assert!(
            !stream(nonsense.as_bytes())
                .expect("it can be read")
                .is_whole
        );
    }
}
