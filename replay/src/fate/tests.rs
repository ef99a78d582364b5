mod rebuilding;

use super::*;
use crate::record::fixture::SessionFixture;

/// Captures two contexts, given as JSON lists of parts, and compares them.
fn between(before: &str, after: &str) -> (ContextTimeline, Option<DerivedChange>) {
    let record = SessionFixture::new()
        .event(
            "context.captured",
            format!(r#"{{"turn":1,"parts":{before}}}"#),
        )
        .event(
            "context.captured",
            format!(r#"{{"turn":2,"parts":{after}}}"#),
        )
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let change = derive(
        &timeline,
        &timeline.turns[0].parts,
        &timeline.turns[1].parts,
    );
    (timeline, change)
}

fn change(before: &str, after: &str) -> DerivedChange {
    between(before, after).1.expect("the contexts differ")
}

fn fates(change: &DerivedChange) -> Vec<Fate> {
    change.fates.iter().map(|fate| fate.fate).collect()
}

const START: &str = r#"{"kind":"system","text":"rules"},{"kind":"user","text":"do the work"}"#;
const RESULT: &str = r#"{"kind":"tool_call","text":"look()","call_id":"c1"},
    {"kind":"tool_result","text":"{\"id\":\"TX-9001\",\"amount\":149.25,\"state\":\"captured\",\"note\":\"a long text\"}","call_id":"c1"}"#;

#[test]
fn growth_at_the_end_is_no_mutation() {
    let grown = format!("[{START},{RESULT}]");
    assert_eq!(between(&format!("[{START}]"), &grown).1, None);
    assert_eq!(between(&grown, &grown).1, None);
}

#[test]
fn a_summary_in_place_of_parts_is_a_compaction() {
    let change = change(
        &format!("[{START},{RESULT}]"),
        &format!(
            r#"[{START},{{"kind":"summary","text":"looked"}},{{"kind":"assistant","text":"next"}}]"#
        ),
    );
    assert_eq!(change.kind, MutationKind::Compaction);
    assert_eq!(
        fates(&change),
        [
            Fate::Kept,
            Fate::Kept,
            Fate::Summarised,
            Fate::Summarised,
            Fate::Injected,
            Fate::Injected
        ]
    );
    assert_eq!(change.fates[2].after, Some(2));
    assert_eq!(change.fates[2].replaced_by, Some(change.fates[4].part));
    let appended: Vec<bool> = change.fates.iter().map(|fate| fate.appended).collect();
    assert_eq!(appended, [false, false, false, false, false, true]);
}

#[test]
fn memory_that_repeats_a_result_pins_it() {
    let change = change(
        &format!("[{START},{RESULT}]"),
        &format!(
            r#"[{START},{{"kind":"memory","text":"TX-9001: amount=149.25 state=captured","sources":["c1"]}},
                {{"kind":"summary","text":"looked"}}]"#
        ),
    );
    assert_eq!(
        change.fates[2].fate,
        Fate::Summarised,
        "the call itself is not repeated"
    );
    assert_eq!(change.fates[3].fate, Fate::Pinned);
    assert_eq!(change.fates[3].after, Some(2));
}

#[test]
fn memory_that_only_names_a_call_pins_nothing() {
    let change = change(
        &format!("[{START},{RESULT}]"),
        &format!(r#"[{START},{{"kind":"memory","text":"see the archive","sources":["c1"]}}]"#),
    );
    assert_eq!(fates(&change)[2..4], [Fate::Dropped, Fate::Dropped]);
    assert_eq!(change.kind, MutationKind::Truncation);
}

#[test]
fn stubs_alone_are_a_microcompaction() {
    let stub = r#"{"kind":"tool_call","text":"look()","call_id":"c1"},{"kind":"tool_result","text":"[removed]","call_id":"c1"}"#;
    let change = change(&format!("[{START},{RESULT}]"), &format!("[{START},{stub}]"));
    assert_eq!(change.kind, MutationKind::Microcompaction);
    assert_eq!(
        fates(&change),
        [Fate::Kept, Fate::Kept, Fate::Kept, Fate::Stubbed]
    );
    assert_eq!(change.fates[3].after, Some(3));
}

#[test]
fn a_result_that_arrives_as_a_stub_was_stubbed_before_it_was_sent() {
    let change = change(
        &format!("[{START},{RESULT}]"),
        &format!(
            r#"[{START},{{"kind":"summary","text":"looked"}},{{"kind":"tool_result","text":"[removed]","call_id":"c2","stub":true}}]"#
        ),
    );
    let stub = change.fates.last().expect("there are fates");
    assert_eq!(
        (stub.fate, stub.before, stub.after, stub.appended),
        (Fate::Stubbed, None, Some(3), true)
    );
    assert_eq!(change.kind, MutationKind::Compaction);
}

#[test]
fn the_kinds_without_a_summary_are_told_apart() {
    let before = format!("[{START},{RESULT}]");
    let kind = |after: &str| change(&before, after).kind;
    assert_eq!(kind(&format!(r#"[{START}]"#)), MutationKind::Truncation);
    assert_eq!(
        kind(r#"[{"kind":"system","text":"rules"}]"#),
        MutationKind::Clear
    );
    assert_eq!(
        kind(
            r#"[{"kind":"system","text":"rules"},{"kind":"user","text":"a new day"},{"kind":"user","text":"more"}]"#
        ),
        MutationKind::Clear
    );
    assert_eq!(
        kind(&format!(
            r#"[{{"kind":"system","text":"other rules"}},{{"kind":"user","text":"do the work"}},{RESULT}]"#
        )),
        MutationKind::Rewrite
    );
    assert_eq!(
        kind(&format!(
            r#"[{{"kind":"system","text":"rules"}},{{"kind":"memory","text":"hook"}},{{"kind":"user","text":"do the work"}},{RESULT}]"#
        )),
        MutationKind::Injection
    );
    assert_eq!(
        kind(&format!(
            r#"[{{"kind":"user","text":"do the work"}},{{"kind":"system","text":"rules"}},{RESULT}]"#
        )),
        MutationKind::Rewrite
    );
}

#[test]
fn a_part_whose_text_is_withheld_now_is_withheld() {
    let hash = remembrancer_schema::ContentHash::of(b"redacted");
    let change = change(
        &format!("[{START},{RESULT}]"),
        &format!(
            r#"[{{"kind":"system","text":"rules"}},{{"kind":"user","hash":"{hash}","withheld":"personal"}},{RESULT}]"#
        ),
    );
    assert_eq!(change.fates[1].fate, Fate::Withheld);
    assert_eq!(change.fates.len(), 4);
    assert_eq!(change.kind, MutationKind::Rewrite);
}

/// A short text said again at the end is not the one that left.
#[test]
fn a_word_said_again_did_not_move() {
    let change = change(
        &format!(r#"[{START},{{"kind":"user","text":"continue"}},{RESULT}]"#),
        &format!(r#"[{START},{RESULT},{{"kind":"user","text":"continue"}}]"#),
    );
    assert_eq!(change.fates[2].fate, Fate::Dropped);
    assert!(change.fates[5].appended);
    assert_eq!(change.kind, MutationKind::Truncation);
}
