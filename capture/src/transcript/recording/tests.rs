use remembrancer_schema::payload::{PartKind, Payload};
use remembrancer_schema::{Event, EventType};

use super::*;

fn recording() -> Recording {
    Recording::new(
        "s".parse().expect("an id"),
        None,
        Witness::Transcript,
        &ImportOptions::default(),
    )
}

#[test]
fn what_no_event_can_hold_is_left_out_and_told() {
    let mut recording = recording();
    let large = serde_json::json!({ "text": "x".repeat(300 * 1024) });
    let kind = EventType::Custom("custom.x".to_owned());
    recording.event("a", &kind, Some("no time"), &large);
    recording.event("b", &kind, Some("no time"), &serde_json::json!({}));
    assert_eq!(recording.take().events.len(), 1);
    let notices = recording.take_notices();
    assert!(
        notices.len() == 1 && notices[0].contains("\"a\""),
        "{notices:?}"
    );
}

#[test]
fn arguments_that_are_no_json_are_kept_as_a_text() {
    let mut recording = recording();
    for arguments in ["{\"a\": 1}", "*** Begin Patch"] {
        recording.call(Call {
            turn: 1,
            id: arguments.len().to_string(),
            tool: "t".to_owned(),
            arguments: Some(arguments.to_owned()),
            time: None,
        });
    }
    let events = recording.take().events;
    let arguments: Vec<String> = events
        .iter()
        .map(
            |event| match Event::parse(&event.bytes).expect("valid").payload {
                Payload::ToolCalled(called) => {
                    called.arguments.expect("arguments").get().to_owned()
                }
                other => panic!("{other:?}"),
            },
        )
        .collect();
    assert_eq!(arguments, ["{\"a\": 1}", "\"*** Begin Patch\""]);
}

#[test]
fn a_text_that_is_handed_over_comes_by_its_hash_later() {
    let mut recording = recording();
    let part = Part::inline(PartKind::User, "a text");
    let handed = recording.hand_over(part.clone());
    assert_eq!(handed.hash, Some(ContentHash::of(b"a text")));
    let written = recording.take();
    assert_eq!((written.events.len(), written.blobs.len()), (1, 1));
    let captured = ContextCaptured {
        turn: 1,
        parts: vec![part],
        ..ContextCaptured::default()
    };
    recording.context("c", None, captured);
    let written = recording.take();
    assert!(written.blobs.is_empty());
    assert!(!String::from_utf8_lossy(&written.events[0].bytes).contains("a text"));
}
