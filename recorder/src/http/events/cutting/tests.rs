use super::*;
use crate::testing::{note_text, started_text};

#[test]
fn a_batch_is_cut_no_further_than_its_limit() {
    let limits = Limits {
        batch_events_max: 2,
        ..Limits::default()
    };
    let cut = |text: &str, lines| cut(&Bytes::copy_from_slice(text.as_bytes()), lines, &limits);
    // What follows the third item is no JSON, and nobody looks at it.
    let refused = cut("[1,2,3,4,oh no", false).err().expect("too many");
    assert_eq!(refused.kind, Slug::BatchTooLarge);
    assert_eq!(
        cut("1\n2\n3\n", true).err().expect("too many").kind,
        Slug::BatchTooLarge
    );
    for text in ["[1,2,", "[1 2]", "[1,2] 3", "[1,oh no]"] {
        assert_eq!(
            cut(text, false).err().expect(text).kind,
            Slug::NotJson,
            "{text}"
        );
    }
    let Ok(Batch::Many(events)) = cut(" [ {\"a\":1} , 2 ] ", false) else {
        panic!("an array is many");
    };
    assert_eq!(events, [&b"{\"a\":1}"[..], b"2"]);
}

#[test]
fn an_event_does_not_keep_a_body_that_is_mostly_not_its_own() {
    let padded = format!("{}{}", note_text("s", "1", "x"), " ".repeat(10_000));
    let dense = note_text("s", "1", &"x".repeat(10_000));
    for (text, keeps_body) in [(padded, false), (dense, true), (started_text("s"), false)] {
        let body = Bytes::from(text.into_bytes());
        let mut checked = vec![check(body.clone()), check(Bytes::from_static(b"{}"))];
        let whole = body.as_ptr_range();
        detach(&mut checked, body.len());
        let event = checked[0].as_ref().expect("an event");
        assert_eq!(whole.contains(&event.data().as_ptr()), keeps_body);
        assert!(checked[1].is_err());
    }
}
