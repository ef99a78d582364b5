use super::*;
use crate::fate::derive;
use crate::record::fixture::SessionFixture;

const BEFORE: &str = r#"{"kind":"system","text":"rules"},{"kind":"assistant","text":"thought"},
    {"kind":"tool_call","text":"look()","call_id":"c1"},
    {"kind":"tool_result","text":"a result that is long enough to be stubbed","call_id":"c1"}"#;

/// Compares declared parts with the change from `BEFORE` to `after`.
fn compared(after: &str, declared: &str) -> Vec<Disagreement> {
    let record = SessionFixture::new()
        .event(
            "context.captured",
            format!(r#"{{"turn":1,"parts":[{BEFORE}]}}"#),
        )
        .event(
            "context.captured",
            format!(r#"{{"turn":2,"parts":[{after}]}}"#),
        )
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let (before, after) = (&timeline.turns[0].parts, &timeline.turns[1].parts);
    let change = derive(&timeline, before, after).expect("the contexts differ");
    let declared: Vec<DeclaredFate> = serde_json::from_str(declared).expect("declared parts");
    compare(&timeline, &declared, &change.fates, &after.to_vec())
}

fn said(disagreements: &[Disagreement]) -> Vec<(Option<Fate>, Option<Fate>)> {
    disagreements
        .iter()
        .map(|one| (one.declared, one.derived))
        .collect()
}

const COMPACTED: &str = r#"{"kind":"system","text":"rules"},{"kind":"summary","text":"looked"}"#;

#[test]
fn a_true_account_is_not_contradicted() {
    let account = r#"[{"fate":"kept","position":0},{"fate":"summarised","position":1},{"fate":"summarised","call_id":"c1"},
        {"fate":"injected","position":1}]"#;
    assert_eq!(compared(COMPACTED, account), []);
}

#[test]
fn said_kept_and_gone_is_overstated() {
    let found = compared(
        COMPACTED,
        r#"[{"fate":"kept","call_id":"c1","part_kind":"tool_result"},{"fate":"summarised","call_id":"c1","part_kind":"tool_call"},
            {"fate":"summarised","position":1}]"#,
    );
    assert_eq!(said(&found), [(Some(Fate::Kept), Some(Fate::Summarised))]);
    assert!(is_overstated(&found[0]) && !is_understated(&found[0]));
    assert!(found[0].part.is_some());
}

#[test]
fn said_gone_and_kept_is_understated() {
    let hash = remembrancer_schema::ContentHash::of(b"rules");
    let found = compared(
        COMPACTED,
        &format!(
            r#"[{{"fate":"dropped","hash":"{hash}"}},{{"fate":"dropped","position":1}},{{"fate":"dropped","call_id":"c1"}}]"#
        ),
    );
    assert_eq!(said(&found), [(Some(Fate::Dropped), Some(Fate::Kept))]);
    assert!(is_understated(&found[0]) && !is_overstated(&found[0]));
}

#[test]
fn what_left_without_a_word_is_named_but_only_where_parts_are_named() {
    let found = compared(COMPACTED, r#"[{"fate":"summarised","call_id":"c1"}]"#);
    assert_eq!(said(&found), [(None, Some(Fate::Summarised))]);
    assert!(!is_overstated(&found[0]) && !is_understated(&found[0]));
    assert_eq!(compared(COMPACTED, "[]"), []);
}

#[test]
fn a_stub_must_be_there_and_a_summary_too() {
    let stubbed = r#"{"kind":"system","text":"rules"},{"kind":"assistant","text":"thought"},
        {"kind":"tool_call","text":"look()","call_id":"c1"},{"kind":"tool_result","text":"[gone]","call_id":"c1"}"#;
    let account = r#"[{"fate":"stubbed","call_id":"c1","part_kind":"tool_result"}]"#;
    assert_eq!(compared(stubbed, account), []);
    let dropped = r#"{"kind":"system","text":"rules"}"#;
    let found = compared(
        dropped,
        r#"[{"fate":"stubbed","call_id":"c1","part_kind":"tool_result"},{"fate":"summarised","position":1},
            {"fate":"dropped","call_id":"c1","part_kind":"tool_call"}]"#,
    );
    assert_eq!(
        said(&found),
        [
            (Some(Fate::Summarised), Some(Fate::Dropped)),
            (Some(Fate::Stubbed), Some(Fate::Dropped))
        ]
    );
    assert!(found.iter().all(is_overstated));
}

/// An application compacts the request that it is about to send, so it speaks of parts that no earlier request held.
#[test]
fn parts_that_were_never_sent_are_judged_by_the_context_after() {
    let after = format!(
        r#"{COMPACTED},{{"kind":"tool_result","text":"[gone]","call_id":"c2","stub":true}},
           {{"kind":"tool_result","text":"new","call_id":"c3"}}"#
    );
    let rest = r#"{"fate":"summarised","position":1},{"fate":"summarised","call_id":"c1"}"#;
    let with = |more: &str| said(&compared(&after, &format!("[{rest},{more}]")));
    assert_eq!(with(r#"{"fate":"stubbed","call_id":"c2"}"#), []);
    assert_eq!(with(r#"{"fate":"kept","call_id":"c3"}"#), []);
    assert_eq!(with(r#"{"fate":"dropped","call_id":"c9"}"#), []);
    assert_eq!(
        with(r#"{"fate":"dropped","call_id":"c3"}"#),
        [(Some(Fate::Dropped), Some(Fate::Kept))]
    );
    assert_eq!(
        with(r#"{"fate":"kept","call_id":"c9"}"#),
        [(Some(Fate::Kept), Some(Fate::Dropped))]
    );
    assert_eq!(
        with(r#"{"fate":"kept","position":40}"#),
        [(Some(Fate::Kept), None)]
    );
    assert_eq!(
        with(r#"{"fate":"injected","position":0}"#),
        [(Some(Fate::Injected), Some(Fate::Kept))]
    );
}

#[test]
fn a_part_with_two_declared_fates_needs_one_that_is_true() {
    let found = compared(
        COMPACTED,
        r#"[{"fate":"dropped","call_id":"c1"},{"fate":"kept","call_id":"c1"},{"fate":"summarised","position":1}]"#,
    );
    assert_eq!(found, []);
}
