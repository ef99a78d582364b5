use remembrancer_schema::ContentHash;
use remembrancer_schema::limits::CONTEXT_PARTS_MAX;
use remembrancer_schema::payload::{ProofOutcome, TokenCount, TokenSource, Witness};

use super::*;
use crate::analysis::Absence;
use crate::record::fixture::SessionFixture;

fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn texts(timeline: &ContextTimeline, turn: u32) -> Vec<&str> {
    let at = timeline.turn_position(turn).expect("the turn is there");
    timeline.turns[at]
        .parts
        .iter()
        .map(|part| timeline.text(part).unwrap_or("?"))
        .collect()
}

#[test]
fn captures_build_on_each_other_and_share_their_parts() {
    let record = SessionFixture::new()
        .event("session.started", r#"{"witness":"exact"}"#)
        .event("context.captured", r#"{"turn":1,"parts":[{"kind":"system","text":"s"},{"kind":"user","text":"u"}]}"#)
        .event("context.captured", r#"{"turn":2,"base":1,"parts":[{"kind":"assistant","text":"a"}],"witness":"hook"}"#)
        .event(
            "context.captured",
            format!(
                r#"{{"turn":3,"parts":[{{"kind":"system","hash":"{}"}},{{"kind":"summary","text":"sum"}},{{"kind":"assistant","text":"a"}}]}}"#,
                hash("s")
            ),
        )
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    assert_eq!(texts(&timeline, 2), ["s", "u", "a"]);
    assert_eq!(texts(&timeline, 3), ["s", "sum", "a"]);
    assert_eq!(timeline.turns[1].parts.to_vec(), [0, 1, 2]);
    assert_eq!(timeline.turns[2].parts.to_vec(), [0, 3, 2]);
    assert_eq!((timeline.parts.len(), timeline.contents.len()), (4, 4));
    assert_eq!(timeline.turns[0].witness, Witness::Exact);
    assert_eq!(timeline.turns[1].witness, Witness::Hook);
    assert_eq!(timeline.parts[2].first_turn, 2);
}

#[test]
fn a_part_may_name_by_hash_what_any_event_of_the_session_says() {
    let said = [
        "a \"quoted\" response",
        r#"{"shelf" : 7}"#,
        "a result\nof two lines",
        r#"{"state":"damp"}"#,
        "what was before, in short",
        "the file's new text",
    ];
    let parts: Vec<String> = said
        .iter()
        .map(|text| format!(r#"{{"kind":"other","hash":"{}"}}"#, hash(text)))
        .collect();
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let record = SessionFixture::new()
        .event(
            "context.captured",
            format!(r#"{{"turn":1,"parts":[{}]}}"#, parts.join(",")),
        )
        .event(
            "model.responded",
            format!(r#"{{"turn":1,"text":[{}]}}"#, json(said[0])),
        )
        .event(
            "tool.called",
            format!(
                r#"{{"turn":1,"call_id":"a","tool":"t","arguments":{}}}"#,
                said[1]
            ),
        )
        .event(
            "tool.returned",
            format!(
                r#"{{"call_id":"a","status":"ok","result":{}}}"#,
                json(said[2])
            ),
        )
        .event(
            "tool.returned",
            format!(r#"{{"call_id":"b","status":"ok","result":{}}}"#, said[3]),
        )
        .event(
            "context.mutated",
            format!(
                r#"{{"turn":2,"kind":"compaction","summary":{{"text":{}}}}}"#,
                json(said[4])
            ),
        )
        .event(
            "artifact.changed",
            format!(r#"{{"name":"f","text":{}}}"#, json(said[5])),
        )
        .record();
    assert_eq!(texts(&ContextTimeline::rebuild(&record), 1), said);
}

#[test]
fn what_cannot_be_read_says_why() {
    let (blob, binary, cipher) = ("blob text", [0xff, 0xfe], "cipher");
    let captured = format!(
        r#"{{"turn":1,"parts":[{{"kind":"user","hash":"{}","withheld":"personal"}},{{"kind":"summary","hash":"{}","encrypted":true}},
            {{"kind":"user","hash":"{}"}},{{"kind":"user","hash":"{}"}},{{"kind":"user","hash":"{}"}}]}}"#,
        hash("withheld"),
        hash(cipher),
        hash("never sent"),
        ContentHash::of(&binary),
        hash(blob),
    );
    let record = SessionFixture::new()
        .blob(&binary)
        .blob(blob.as_bytes())
        .blob(cipher.as_bytes())
        .event("context.captured", captured)
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let absences: Vec<_> = timeline
        .contents
        .iter()
        .map(|content| content.absence.clone())
        .collect();
    assert_eq!(
        absences,
        [
            Some(Absence::Withheld("personal".to_owned())),
            Some(Absence::Encrypted),
            Some(Absence::NotRecorded),
            Some(Absence::NotText),
            None
        ]
    );
    assert_eq!(timeline.contents[4].text.as_deref(), Some(blob));
    assert_eq!(
        timeline.turns[0].unknown, None,
        "its parts are known, if not their text"
    );
}

#[test]
fn turns_without_a_capture_or_on_an_unknown_base_are_unknown() {
    let record = SessionFixture::new()
        .event(
            "model.responded",
            r#"{"turn":2,"usage":{"input_tokens":7,"output_tokens":1}}"#,
        )
        .event(
            "context.captured",
            r#"{"turn":3,"base":2,"parts":[{"kind":"user","text":"u"}]}"#,
        )
        .event("tool.called", r#"{"turn":1,"call_id":"c","tool":"t"}"#)
        .event("context.captured", r#"{"turn":4,"base":3,"parts":[]}"#)
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let numbers: Vec<u32> = timeline.turns.iter().map(|turn| turn.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert!(timeline.turns.iter().all(|turn| turn.unknown.is_some()));
    assert_eq!(
        timeline.turns[1].tokens,
        Some(TokenCount {
            count: 7,
            source: TokenSource::Measured
        })
    );
    assert_eq!(timeline.turns[1].witness, Witness::Claimed);
    assert_eq!(texts(&timeline, 3), ["u"], "what is known is shown");
}

#[test]
fn the_first_capture_of_a_turn_counts_and_the_second_is_named() {
    let record = SessionFixture::new()
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[{"kind":"user","text":"first"}],"tokens":{"count":5,"source":"counted"},
                "proof":{"method":"sha256","expected":"ab","outcome":"verified"}}"#,
        )
        .event("context.captured", r#"{"turn":1,"parts":[{"kind":"user","text":"second"}]}"#)
        .event("model.responded", r#"{"turn":1,"text":["x"],"usage":{"input_tokens":9,"output_tokens":1}}"#)
        .event("model.responded", r#"{"turn":1,"text":["y"]}"#)
        .record();
    let (timeline, left_out) = rebuild(&record);
    assert_eq!(texts(&timeline, 1), ["first"]);
    assert_eq!(
        left_out.iter().map(|left| left.entry).collect::<Vec<_>>(),
        [1, 3]
    );
    let turn = &timeline.turns[0];
    assert_eq!(
        turn.tokens.map(|tokens| tokens.count),
        Some(5),
        "the capture's own count comes first"
    );
    assert_eq!(
        turn.proof.as_ref().map(|proof| proof.outcome),
        Some(ProofOutcome::Verified)
    );
    assert_eq!(
        turn.response.as_ref().map(|response| response.text.clone()),
        Some(vec!["x".to_owned()])
    );
}

#[test]
fn a_context_never_holds_more_parts_than_one_may() {
    let part = r#"{"kind":"user","text":""}"#;
    let half = vec![part; CONTEXT_PARTS_MAX / 2 + 1].join(",");
    let record = SessionFixture::new()
        .event(
            "context.captured",
            format!(r#"{{"turn":1,"parts":[{half}]}}"#),
        )
        .event(
            "context.captured",
            format!(r#"{{"turn":2,"base":1,"parts":[{half}]}}"#),
        )
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    assert!(timeline.turns[0].unknown.is_none());
    assert!(timeline.turns[1].unknown.is_some());
}

#[test]
fn contexts_beyond_what_is_held_in_all_are_unknown_and_say_so() {
    let record = SessionFixture::new()
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[{"kind":"user","text":"a"},{"kind":"user","text":"b"}]}"#,
        )
        .event(
            "context.captured",
            r#"{"turn":2,"base":1,"parts":[{"kind":"user","text":"c"}]}"#,
        )
        .event("context.captured", r#"{"turn":3,"base":2,"parts":[]}"#)
        .event(
            "context.captured",
            r#"{"turn":4,"parts":[{"kind":"user","text":"d"}]}"#,
        )
        .event(
            "context.captured",
            r#"{"turn":5,"parts":[{"kind":"user","text":"e"}]}"#,
        )
        .record();
    let within = |parts, runs| rebuild_within(&record, Room { parts, runs }).0;
    let timeline = within(6, 100);
    let lengths: Vec<_> = timeline.turns.iter().map(|turn| turn.parts.len()).collect();
    let known: Vec<_> = timeline
        .turns
        .iter()
        .map(|turn| turn.unknown.is_none())
        .collect();
    assert_eq!(lengths, [2, 3, 0, 1, 0]);
    assert_eq!(known, [true, true, false, true, false]);
    let reason = timeline.turns[2].unknown.as_deref().unwrap_or_default();
    assert!(reason.starts_with("left out: "), "{reason}");
    // A context that only grows is one run: two of them, and two parts that may be runs of their own.
    let timeline = within(100, 3);
    let known = timeline.turns.iter().map(|turn| turn.unknown.is_none());
    assert_eq!(known.collect::<Vec<_>>(), [true, true, true, false, false]);
    let reason = timeline.turns[3].unknown.as_deref().unwrap_or_default();
    assert!(reason.contains("runs of parts"), "{reason}");
}

#[test]
fn a_list_of_parts_may_come_as_a_blob() {
    let list = format!(
        r#"[{{"kind":"system","text":"s"}},{{"kind":"user","hash":"{}"}}]"#,
        hash("large")
    );
    let captured = |turn: u32, blob: ContentHash| {
        format!(r#"{{"turn":{turn},"parts":[],"parts_blob":"{blob}"}}"#)
    };
    let record = SessionFixture::new()
        .blob(b"large")
        .blob(list.as_bytes())
        .blob(b"[1]")
        .event("context.captured", captured(1, hash(&list)))
        .event(
            "context.captured",
            r#"{"turn":2,"base":1,"parts":[{"kind":"assistant","text":"a"}]}"#,
        )
        .event("context.captured", captured(3, hash("never sent")))
        .event("context.captured", captured(4, hash("[1]")))
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    assert_eq!(texts(&timeline, 1), ["s", "large"]);
    assert_eq!(texts(&timeline, 2), ["s", "large", "a"]);
    let why = |at: usize| timeline.turns[at].unknown.clone().unwrap_or_default();
    assert!(why(2).ends_with("was never recorded"), "{}", why(2));
    assert!(why(3).contains("is no list of parts"), "{}", why(3));
}

#[test]
fn what_builds_on_an_incomplete_context_is_incomplete() {
    let record = SessionFixture::new()
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[{"kind":"user","text":"u"}],"incomplete":"no instructions"}"#,
        )
        .event("context.captured", r#"{"turn":2,"base":1,"parts":[]}"#)
        .event(
            "context.captured",
            r#"{"turn":3,"parts":[{"kind":"user","text":"u"}]}"#,
        )
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let incomplete = timeline.turns.iter().map(|turn| turn.incomplete.as_deref());
    assert_eq!(
        incomplete.collect::<Vec<_>>(),
        [Some("no instructions"), Some("no instructions"), None]
    );
}
