use remembrancer_schema::payload::{MutationKind, Payload};

use super::super::ImportOptions;
use super::super::tests::imported;
use super::Pi;

fn message(id: &str, parent: &str, role: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"{role}","content":"{text}"}}}}"#
    )
}

const HEADER: &str = r#"{"type":"session","version":3,"id":"p","cwd":"/w"}"#;

#[test]
fn a_compaction_keeps_what_it_names_and_a_branch_leaves_the_rest() {
    let lines = [
        HEADER.to_owned(),
        message("a", "null", "user", "old"),
        message("b", "\"a\"", "assistant", "one"),
        message("c", "\"b\"", "user", "kept"),
        r#"{"type":"compaction","id":"d","parentId":"c","summary":"sum","firstKeptEntryId":"c","tokensBefore":99}"#
            .to_owned(),
        message("e", "\"d\"", "assistant", "two"),
        message("f", "\"a\"", "user", "other"),
        message("g", "\"f\"", "assistant", "three"),
    ]
    .join("\n");
    let (collected, report) = imported(&Pi, "x.jsonl", &lines, &ImportOptions::default());
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    assert_eq!(
        collected.contexts("pi-p"),
        [vec!["old"], vec!["sum", "kept"], vec!["old", "other"]]
    );
    let mutations: Vec<_> = collected
        .payloads("pi-p")
        .into_iter()
        .filter_map(|payload| match payload {
            Payload::ContextMutated(mutated) => Some((mutated.turn, mutated.kind)),
            _ => None,
        })
        .collect();
    assert_eq!(
        mutations,
        [(2, MutationKind::Compaction), (3, MutationKind::Rewind)]
    );
}

#[test]
fn version_1_names_what_it_keeps_by_its_line() {
    let without_ids = |role: &str, text: &str| {
        format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
    };
    let lines = [
        r#"{"type":"session","id":"p","cwd":"/w"}"#.to_owned(),
        without_ids("user", "old"),
        without_ids("assistant", "one"),
        without_ids("user", "kept"),
        r#"{"type":"compaction","summary":"sum","firstKeptEntryIndex":3}"#.to_owned(),
        without_ids("assistant", "two"),
    ]
    .join("\n");
    let (collected, _) = imported(&Pi, "x.jsonl", &lines, &ImportOptions::default());
    assert_eq!(
        collected.contexts("pi-p"),
        [vec!["old"], vec!["sum", "kept"]]
    );
}

fn doubts(lines: &[String]) -> Vec<bool> {
    let text = lines.join("\n");
    let (collected, _) = imported(&Pi, "x.jsonl", &text, &ImportOptions::default());
    let captures = collected.captures("pi-p").into_iter();
    captures
        .map(|captured| captured.incomplete.is_some())
        .collect()
}

fn compaction(id: &str, parent: &str, kept: &str) -> String {
    format!(
        r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","summary":"sum","firstKeptEntryId":"{kept}"}}"#
    )
}

#[test]
fn what_is_not_in_the_file_leaves_contexts_in_doubt_until_a_compaction_drops_it() {
    let lines = [
        HEADER.to_owned(),
        message("a", "null", "user", "go"),
        message("b", "\"a\"", "assistant", "one"),
        "{\"type\":\"message\",\"id\":\"c\"".to_owned(),
        message("d", "\"c\"", "user", "more"),
        message("e", "\"d\"", "assistant", "two"),
        message("f", "\"e\"", "user", "kept"),
        compaction("g", "f", "f"),
        message("h", "\"g\"", "assistant", "three"),
        compaction("i", "h", "gone"),
        message("j", "\"i\"", "assistant", "four"),
    ];
    assert_eq!(doubts(&lines), [false, true, false, true]);
    let straight = [message(
        "b",
        "\"c\"",
        "assistant",
        "an answer that follows on nothing known",
    )];
    let lines = [&[HEADER.to_owned()], &straight[..]].concat();
    assert_eq!(doubts(&lines), [true]);
}

#[test]
fn in_version_1_a_line_that_cannot_be_read_leaves_contexts_in_doubt() {
    let plain = |role: &str, text: &str| {
        format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
    };
    let lines = [
        r#"{"type":"session","id":"p","cwd":"/w"}"#.to_owned(),
        plain("user", "go"),
        plain("assistant", "one"),
        "{".to_owned(),
        plain("user", "more"),
        plain("assistant", "two"),
        plain("user", "kept"),
        r#"{"type":"compaction","summary":"sum","firstKeptEntryIndex":6}"#.to_owned(),
        plain("assistant", "three"),
    ];
    assert_eq!(doubts(&lines), [false, true, false]);
}
