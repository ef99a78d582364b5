//! Long histories: what a line costs does not grow with the lines before it, and short ways give what the long ones give.

use std::fmt::Write as _;

use super::collected::Collected;
use super::work;

/// Writes a made-up history of some turns.
type History = fn(usize) -> String;

const HISTORIES: [(&str, &str, History); 5] = [
    ("claude-code", "x.jsonl", claude_code),
    ("codex", "rollout-x.jsonl", codex),
    ("pi", "x.jsonl", pi),
    ("gemini", "session-x.jsonl", gemini),
    ("openhands", "x.jsonl", openhands),
];

fn lines(first: &str, turns: usize, turn: impl Fn(usize) -> Vec<String>) -> String {
    let mut text = String::new();
    let turns = (0..turns).flat_map(turn);
    for line in std::iter::once(first.to_owned()).chain(turns) {
        writeln!(text, "{line}").expect("a string takes everything");
    }
    text
}

fn claude_code(turns: usize) -> String {
    let head = |uuid: String, parent: String, kind: &str| {
        format!(r#""type":"{kind}","sessionId":"s","uuid":"{uuid}","parentUuid":{parent}"#)
    };
    let first = format!(
        r#"{{{},"message":{{"role":"user","content":"task"}}}}"#,
        head("r-start".to_owned(), "null".to_owned(), "user")
    );
    lines(&first, turns, |turn| {
        let above = match turn.checked_sub(1) {
            Some(before) => format!("\"r{before}\""),
            None => "\"r-start\"".to_owned(),
        };
        vec![
            format!(
                r#"{{{},"message":{{"id":"m{turn}","role":"assistant","content":[{{"type":"tool_use","id":"c{turn}","name":"Read","input":{{"path":"{turn}"}}}}]}}}}"#,
                head(format!("a{turn}"), above, "assistant")
            ),
            format!(
                r#"{{{},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{turn}","content":"result {turn}"}}]}}}}"#,
                head(format!("r{turn}"), format!("\"a{turn}\""), "user")
            ),
        ]
    })
}

fn codex(turns: usize) -> String {
    let first = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/w"}}"#;
    let item = |payload: String| {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{payload}}}"#
        )
    };
    lines(first, turns, |turn| {
        vec![
            item(format!(
                r#"{{"type":"function_call","name":"shell","arguments":"{{}}","call_id":"c{turn}"}}"#
            )),
            item(format!(
                r#"{{"type":"function_call_output","call_id":"c{turn}","output":"result {turn}"}}"#
            )),
        ]
    })
}

fn pi(turns: usize) -> String {
    let first = r#"{"type":"session","version":3,"id":"p","cwd":"/w"}"#;
    lines(first, turns, |turn| {
        let parent = match turn.checked_sub(1) {
            Some(before) => format!("\"a{before}\""),
            None => "null".to_owned(),
        };
        vec![
            format!(
                r#"{{"type":"message","id":"u{turn}","parentId":{parent},"message":{{"role":"user","content":"say {turn}"}}}}"#
            ),
            format!(
                r#"{{"type":"message","id":"a{turn}","parentId":"u{turn}","message":{{"role":"assistant","content":"said {turn}"}}}}"#
            ),
        ]
    })
}

fn gemini(turns: usize) -> String {
    let first = r#"{"sessionId":"g","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}"#;
    lines(first, turns, |turn| {
        vec![
            format!(r#"{{"id":"u{turn}","type":"user","content":"say {turn}"}}"#),
            format!(r#"{{"id":"a{turn}","type":"gemini","content":"said {turn}"}}"#),
        ]
    })
}

fn openhands(turns: usize) -> String {
    let first = r#"{"kind":"MessageEvent","id":"start","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"task"}]}}"#;
    lines(first, turns, |turn| {
        vec![
            format!(
                r#"{{"kind":"ActionEvent","id":"a{turn}","source":"agent","llm_response_id":"m{turn}","tool_name":"bash","tool_call_id":"c{turn}","tool_call":{{"id":"c{turn}","name":"bash","arguments":"{{}}"}}}}"#
            ),
            format!(
                r#"{{"kind":"ObservationEvent","id":"o{turn}","source":"environment","tool_name":"bash","tool_call_id":"c{turn}","observation":{{"content":[{{"type":"text","text":"result {turn}"}}]}}}}"#
            ),
        ]
    })
}

fn collected(format: &str, name: &str, text: &str) -> Collected {
    let format = super::format_named(format).expect("a format");
    Collected::of_text(format, name, text)
}

#[test]
fn what_a_line_costs_does_not_grow_with_the_lines_before_it() {
    for (format, name, history) in HISTORIES {
        let cost = |turns: usize| {
            let text = history(turns);
            let (collected, looked_at) = work::counted(|| collected(format, name, &text));
            let events = collected.events();
            let contexts = events
                .iter()
                .filter(|event| event.kind == "context.captured");
            let contexts = contexts.count();
            assert!(contexts + 1 >= turns, "{format}: {contexts} contexts");
            looked_at
        };
        let (some, more) = (cost(100), cost(400));
        assert!(some >= 100, "{format}: {some} are not all that there is");
        assert!(
            more < some * 5,
            "{format}: 100 turns look at {some}, 400 at {more}"
        );
    }
}

#[test]
fn short_ways_give_the_events_that_the_long_ones_give() {
    for (format, name, history) in HISTORIES {
        let text = history(30);
        assert_same(format, name, &text);
    }
}

/// Asserts that contexts that go on from the last one are what they are when put together from their beginning.
fn assert_same(format: &str, name: &str, text: &str) {
    let short = collected(format, name, text);
    let long = work::whole(|| collected(format, name, text));
    assert_eq!(short.report.sessions, long.report.sessions);
    for (session, events) in &long.sessions {
        for (one, other) in short.sessions[session].iter().zip(events) {
            assert_eq!(
                String::from_utf8_lossy(&one.bytes),
                String::from_utf8_lossy(&other.bytes),
                "{format}: {text}"
            );
        }
        assert_eq!(short.sessions[session].len(), events.len());
    }
}

/// Numbers that are the same at every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// A history of Claude Code in which everything happens: parallel calls, results that come late, a session that goes back,
/// records of which the parent is missing, compactions that keep some records, results that are emptied.
fn tangled_claude_code(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    let mut uuids: Vec<String> = Vec::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    let mut message = 0;
    for line in 0..60 {
        let uuid = format!("u{line}");
        let parent = match (numbers.below(20), uuids.last()) {
            (0, Some(_)) => format!("\"{}\"", uuids[numbers.below(uuids.len())]),
            (1, _) => "\"gone\"".to_owned(),
            (_, Some(last)) => format!("\"{last}\""),
            (_, None) => "null".to_owned(),
        };
        let body = match numbers.below(12) {
            0..3 => format!(r#""type":"user","message":{{"role":"user","content":"say {line}"}}"#),
            3..7 => {
                if numbers.below(3) > 0 {
                    message = line;
                }
                calls.push((format!("c{line}"), uuid.clone()));
                let tokens = 50_000 + numbers.below(100_000);
                format!(
                    r#""type":"assistant","message":{{"id":"m{message}","role":"assistant","usage":{{"input_tokens":{tokens},"output_tokens":5}},"content":[{{"type":"text","text":"said {line}"}},{{"type":"tool_use","id":"c{line}","name":"Read","input":{{}}}}]}}"#
                )
            }
            7..10 if !calls.is_empty() => {
                let (call, _) = calls.swap_remove(numbers.below(calls.len()));
                format!(
                    r#""type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"result {line}"}}]}}"#
                )
            }
            10 => {
                let kept = uuids.get(numbers.below(uuids.len() + 1));
                let kept = kept.map_or(String::new(), |kept| format!("\"{kept}\""));
                format!(
                    r#""type":"system","subtype":"compact_boundary","compactMetadata":{{"trigger":"auto","preTokens":9,"preservedMessages":{{"uuids":[{kept}]}}}}"#
                )
            }
            _ => format!(
                r#""type":"system","subtype":"microcompact_boundary","microcompactMetadata":{{"trigger":"auto","compactedToolIds":["c{}"]}}"#,
                numbers.below(line + 1)
            ),
        };
        writeln!(
            text,
            r#"{{"sessionId":"s","uuid":"{uuid}","parentUuid":{parent},{body}}}"#
        )
        .expect("a string takes everything");
        uuids.push(uuid);
    }
    text
}

/// A session of pi with branches, missing parents and compactions that keep from wherever.
fn tangled_pi(numbers: &mut Numbers) -> String {
    let mut text =
        String::from("{\"type\":\"session\",\"version\":3,\"id\":\"p\",\"cwd\":\"/w\"}\n");
    for line in 0..60 {
        let parent = match (numbers.below(12), line) {
            (_, 0) => "null".to_owned(),
            (0, _) => format!("\"e{}\"", numbers.below(line)),
            (1, _) => "\"gone\"".to_owned(),
            _ => format!("\"e{}\"", line - 1),
        };
        let head = format!(r#""id":"e{line}","parentId":{parent}"#);
        let body = match numbers.below(9) {
            0..4 => format!(
                r#""type":"message","message":{{"role":"assistant","content":"said {line}"}}"#
            ),
            4..8 => {
                format!(r#""type":"message","message":{{"role":"user","content":"say {line}"}}"#)
            }
            _ => format!(
                r#""type":"compaction","summary":"sum {line}","firstKeptEntryId":"e{}""#,
                numbers.below(line + 3)
            ),
        };
        writeln!(text, "{{{head},{body}}}").expect("a string takes everything");
    }
    text
}

#[test]
fn they_do_so_too_where_sessions_go_back_and_forget() {
    let mut numbers = Numbers(7);
    for _ in 0..60 {
        assert_same("claude-code", "x.jsonl", &tangled_claude_code(&mut numbers));
        assert_same("pi", "x.jsonl", &tangled_pi(&mut numbers));
    }
}
