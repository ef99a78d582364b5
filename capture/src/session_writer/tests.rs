//! Sessions written, and gone on with.

use remembrancer_replay::{RecordedEvent, RecordedPayload, SessionRecord};
use remembrancer_schema::commitment::commit;
use remembrancer_schema::payload::{PartKind, Payload};
use remembrancer_schema::{Entry, EntryHash, Salt};
use serde_json::json;

use super::*;

const TIME: Option<&str> = Some("2026-11-30T08:00:00Z");

fn writer() -> SessionWriter {
    let agent = "agent".parse().expect("a name");
    SessionWriter::new("s".parse().expect("an id"), Some(agent), Witness::Hook)
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
fn what_could_not_be_written_is_not_taken_for_sent() {
    let mut writer = writer();
    let captured = |turn, texts: &[&str]| ContextCaptured {
        turn,
        parts: texts
            .iter()
            .map(|text| Part::inline(PartKind::User, *text))
            .collect(),
        ..ContextCaptured::default()
    };
    let large = "x".repeat(INLINE_PART_BYTES_MAX + 1);
    let texts = ["rule", large.as_str()];
    writer
        .context("turn-1", TIME, captured(1, &texts[..1]))
        .expect("a context");
    // A turn 0 is refused.
    let refused = writer.context("turn-0", TIME, captured(0, &["rule", &large, "lost"]));
    assert!(matches!(refused, Err(WriteError::Event { .. })));
    writer
        .context("turn-2", TIME, captured(2, &["rule", &large, "lost"]))
        .expect("a context");
    let written = writer.take();
    let captures = captures(&written.events);
    assert_eq!(captures[1].base, Some(1));
    assert_eq!(captures[1].parts[1].text.as_deref(), Some("lost"));
    assert_eq!(written.blobs.len(), 1);
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

/// What a ledger keeps of a session's events, as it is read back.
pub(crate) fn recorded(written: &Written) -> SessionRecord {
    let entries = written.events.iter().enumerate().map(|(at, event)| {
        let event = Event::parse(&event.bytes).expect("a valid event");
        let at = at as u64;
        let entry = Entry {
            agent: event.agent,
            blobs: event.blobs,
            commitment: commit(&Salt::from_bytes([0; 32]), event.data.as_bytes()),
            event: event.id,
            index: at,
            origin: "ledger.example/test".parse().expect("an origin"),
            prev: EntryHash::from_bytes([0; 32]),
            received: "2026-11-30T08:00:00.000Z".to_owned(),
            sequence: at,
            session: event.session,
            time: event.time,
            kind: event.kind,
            v: 1,
        };
        RecordedEvent {
            entry_bytes: entry.to_bytes().into(),
            hash: EntryHash::from_bytes([0; 32]),
            entry,
            payload: Some(RecordedPayload {
                salt: Salt::from_bytes([0; 32]),
                data: event.data.into(),
            }),
        }
    });
    let events: Vec<RecordedEvent> = entries.collect();
    SessionRecord {
        session: events[0].entry.session.clone(),
        events,
        blobs: written
            .blobs
            .iter()
            .map(|(hash, bytes)| (*hash, bytes.as_slice().into()))
            .collect(),
    }
}

fn context(writer: &mut SessionWriter, turn: u32, texts: &[String]) {
    let captured = ContextCaptured {
        turn,
        parts: texts
            .iter()
            .map(|text| Part::inline(PartKind::User, text))
            .collect(),
        ..ContextCaptured::default()
    };
    let id = format!("turn-{turn}");
    writer.context(&id, TIME, captured).expect("a context");
}

#[test]
fn a_resumed_writer_writes_what_the_first_one_would_have_written() {
    let large = "x".repeat(INLINE_PART_BYTES_MAX + 1);
    let many: Vec<String> = (0..3000)
        .map(|number| format!("{number}{}", "y".repeat(400)))
        .collect();
    let mut texts = vec!["rule".to_owned(), large];
    for growth in [vec!["one".to_owned()], many] {
        let mut first = writer();
        context(&mut first, 1, &texts);
        texts.extend(growth);
        context(&mut first, 2, &texts);
        let record = recorded(&first.take());
        let agent = "agent".parse().ok();
        let mut resumed = SessionWriter::resume(&record, agent, Witness::Hook);
        assert_eq!(resumed.last_turn(), 2);
        assert_eq!(resumed.last_context(), first.last_context());
        assert!(resumed.has("turn-1") && !resumed.has("turn-3"));
        texts.push("more".to_owned());
        for writer in [&mut first, &mut resumed] {
            context(writer, 3, &texts);
        }
        let (first, resumed) = (first.take(), resumed.take());
        assert_eq!(first.events, resumed.events);
        assert_eq!(first.blobs, resumed.blobs);
        assert_eq!(captures(&resumed.events)[0].base, Some(2));
    }
}

#[test]
fn a_writer_learns_what_others_wrote_behind_its_own_events() {
    let texts: Vec<String> = ["rule", "task", "more"].map(str::to_owned).into();
    let mut first = writer();
    context(&mut first, 1, &texts[..2]);
    let known = recorded(&first.take());
    let mut second = SessionWriter::resume(&known, "agent".parse().ok(), Witness::Hook);
    context(&mut second, 2, &texts);
    let behind = recorded(&second.take());
    first.learn(&behind);
    assert_eq!(
        (first.last_turn(), first.last_context().map(<[Part]>::len)),
        (2, Some(3))
    );
    // What builds on a context that nobody told is not known, and the next one is sent whole.
    let mut stranger = writer();
    stranger.learn(&behind);
    assert_eq!((stranger.last_turn(), stranger.last_context()), (2, None));
    context(&mut stranger, 3, &texts);
    let whole = captures(&stranger.take().events);
    assert_eq!((whole[0].base, whole[0].parts.len()), (None, 3));
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

#[test]
fn an_event_that_names_no_witness_gets_the_writers_and_stands_beside_what_was_written_without() {
    let mut writer = writer();
    let claimed = json!({ "witness": "claimed", "text": "{\"witness\":\"hook\"}}" });
    for (id, data) in [
        ("none", json!({})),
        ("some", json!({ "a": [1, {}] })),
        ("own", claimed),
    ] {
        writer
            .push(id, &custom(), TIME, &data)
            .expect("a valid event");
    }
    let events = writer.take().events;
    let data = |event: &NewEvent| Event::parse(&event.bytes).expect("valid").data.to_owned();
    assert_eq!(data(&events[0]), r#"{"witness":"hook"}"#);
    assert_eq!(data(&events[1]), r#"{"a":[1,{}],"witness":"hook"}"#);
    assert!(
        data(&events[2]).contains(r#""witness":"claimed""#),
        "{}",
        data(&events[2])
    );
    assert!(!data(&events[2]).ends_with(r#""witness":"hook"}"#));
    let earlier = |event: &NewEvent| {
        let bytes = event.without_witness()?;
        Some(Event::parse(&bytes).expect("valid").data.to_owned())
    };
    assert_eq!(earlier(&events[0]).as_deref(), Some("{}"));
    assert_eq!(earlier(&events[1]).as_deref(), Some(r#"{"a":[1,{}]}"#));
    let nested =
        json!({ "a": { "witness": "hook" }, "witness": "exact", "z": {"witness": "hook"} });
    writer
        .push("nested", &custom(), TIME, &nested)
        .expect("a valid event");
    let nested = writer.take().events;
    let stripped = nested[0]
        .without_witness()
        .map(|bytes| Event::parse(&bytes).expect("valid").data.to_owned());
    // Where members keep no order, the own one may stand last; one of an inner object never counts.
    assert!(stripped.is_none_or(|data| data.contains(r#""z":{"witness":"hook"}"#)));
}
