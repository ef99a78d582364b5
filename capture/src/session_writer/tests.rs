use remembrancer_schema::payload::{PartKind, Payload};
use serde_json::json;

use super::*;

const TIME: Option<&str> = Some("2026-11-30T08:00:00Z");

fn writer() -> SessionWriter {
    let agent = "agent".parse().expect("a name");
    SessionWriter::new("s".parse().expect("an id"), Some(agent))
}

fn custom() -> EventType {
    EventType::Custom("custom.x".to_owned())
}

fn captures(events: &[NewEvent]) -> Vec<ContextCaptured> {
    let payloads = events.iter().map(|event| {
        let event = Event::parse(&event.bytes).expect("a valid event");
        event.payload
    });
    payloads
        .filter_map(|payload| match payload {
            Payload::ContextCaptured(captured) => Some(captured),
            _ => None,
        })
        .collect()
}

#[test]
fn ids_stay_apart_whatever_calls_are_called() {
    let mut writer = writer();
    for name in ["call-1", "call-1", "call-\u{1b}[2J/..", "call-\u{1b}[2J/.."] {
        writer
            .push(name, &custom(), TIME, &json!({}))
            .expect("a valid event");
    }
    let events = writer.take().events;
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids[..2], ["call-1", "call-1.2"]);
    assert!(
        ids[2].starts_with("event-") && ids[3] == format!("{}.2", ids[2]),
        "{ids:?}"
    );
}

#[test]
fn what_the_recorder_would_refuse_is_refused_by_name() {
    let error = writer().push("x", &custom(), Some("yesterday"), &json!({}));
    assert!(matches!(error, Err(WriteError::Event { id, .. }) if id == "x"));
    let large = json!({ "text": "x".repeat(300 * 1024) });
    let error = writer().push("y", &custom(), TIME, &large);
    assert!(matches!(error, Err(WriteError::Event { id, .. }) if id == "y"));
}

#[test]
fn a_context_says_what_is_new_and_every_text_once() {
    let mut writer = writer();
    let large = "x".repeat(INLINE_PART_BYTES_MAX + 1);
    let lists: [&[&str]; 3] = [
        &["rule", "task"],
        &["rule", "task", &large],
        &["rule", "sum"],
    ];
    for (at, texts) in lists.into_iter().enumerate() {
        let captured = ContextCaptured {
            turn: at as u32 + 1,
            parts: texts
                .iter()
                .map(|text| Part::inline(PartKind::User, *text))
                .collect(),
            ..ContextCaptured::default()
        };
        writer.context("turn", TIME, captured).expect("a context");
    }
    let written = writer.take();
    let captures = captures(&written.events);
    assert_eq!(captures[0].parts.len(), 2);
    assert_eq!((captures[1].base, captures[1].parts.len()), (Some(1), 1));
    let hash = ContentHash::of(large.as_bytes());
    assert_eq!(captures[1].parts[0].hash, Some(hash));
    assert_eq!(written.blobs[&hash], large.as_bytes());
    assert_eq!((captures[2].base, captures[2].parts.len()), (None, 2));
    let known = captures[2].parts[0].hash;
    assert_eq!(known, Some(ContentHash::of(b"rule")));
    assert_eq!(captures[2].parts[1].text.as_deref(), Some("sum"));
}

#[test]
fn a_context_too_long_for_an_event_goes_as_a_blob() {
    let mut writer = writer();
    let parts: Vec<Part> = (0..3000)
        .map(|number| Part::inline(PartKind::User, format!("{number}{}", "y".repeat(400))))
        .collect();
    let captured = ContextCaptured {
        turn: 1,
        parts: parts.clone(),
        ..ContextCaptured::default()
    };
    writer.context("turn", TIME, captured).expect("a context");
    let written = writer.take();
    let captures = captures(&written.events);
    let list = captures[0].parts_blob.expect("a list as a blob");
    let listed: Vec<Part> = serde_json::from_slice(&written.blobs[&list]).expect("a list");
    assert_eq!(listed.len(), parts.len());
    let introduced: usize = written
        .events
        .iter()
        .map(|event| Event::parse(&event.bytes).expect("valid").blobs.len())
        .sum();
    assert_eq!(introduced, written.blobs.len());
    assert!(written.events.len() > 2);
}

#[test]
fn a_context_that_grew_is_told_as_the_whole_list_would_be() {
    let part = |text: &str| Part::inline(PartKind::User, text);
    let captured = |turn, parts| ContextCaptured {
        turn,
        parts,
        ..ContextCaptured::default()
    };
    let (mut by_list, mut by_growth) = (writer(), writer());
    by_list
        .context("1", TIME, captured(1, vec![part("a")]))
        .expect("a context");
    by_list
        .context("2", TIME, captured(2, vec![part("a"), part("b")]))
        .expect("a context");
    by_growth
        .grown_context("1", TIME, captured(1, vec![part("a")]))
        .expect("a context");
    by_growth
        .grown_context("2", TIME, captured(2, vec![part("b")]))
        .expect("a context");
    assert_eq!(by_list.take().events, by_growth.take().events);
    by_growth
        .context(
            "3",
            TIME,
            captured(3, vec![part("a"), part("b"), part("c")]),
        )
        .expect("a context");
    let captures = captures(&by_growth.take().events);
    assert_eq!((captures[0].base, captures[0].parts.len()), (Some(2), 1));
}
