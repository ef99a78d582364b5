use std::borrow::Cow;

use crate::Analysis;
use crate::analysis::{Clearing, Presence, PresenceState};
use crate::record::fixture::SessionFixture;

const RULES: [(&str, &str); 3] = [
    ("no-contact", "Never contact customers."),
    ("no-refund", "Never issue refunds."),
    ("no-mail", "Never send mail to suppliers."),
];

/// One request: instructions with the second rule, then two calls whose older result speaks of the first. `edit` is what the
/// provider did to it.
fn analysed(edit: &str) -> Analysis {
    let mut fixture = SessionFixture::new();
    for (id, text) in RULES {
        fixture = fixture.event(
            "constraint.declared",
            format!(r#"{{"id":"{id}","kind":"prohibition","text":"{text}"}}"#),
        );
    }
    let record = fixture
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[
                {"kind":"user","text":"Sort the complaints.","message":0},
                {"kind":"reasoning","text":"Do not send mail to suppliers.","message":1},
                {"kind":"tool_call","call_id":"c1","tool":"read","text":"read {}","message":1},
                {"kind":"tool_result","call_id":"c1","text":"The old manual says: never contact customers.","message":2},
                {"kind":"reasoning","text":"On to the next one.","message":3},
                {"kind":"tool_call","call_id":"c2","tool":"read","text":"read {}","message":3},
                {"kind":"tool_result","call_id":"c2","text":"Nothing.","message":4},
                {"kind":"user","text":"You must never issue refunds.","message":4}]}"#,
        )
        .event("model.responded", r#"{"turn":1,"model":"m"}"#)
        .event("context.mutated", format!(r#"{{"turn":1,"kind":"server_edit",{edit}}}"#))
        .record();
    crate::analyse(&record)
}

fn states(analysis: &Analysis) -> Vec<PresenceState> {
    let row = analysis.presence[0].iter();
    row.filter_map(|presence| presence.state).collect()
}

fn clearing(analysis: &Analysis) -> Option<&Clearing> {
    assert_eq!(analysis.mutations.len(), 1);
    assert_eq!(analysis.turns[0].mutation, Some(0));
    analysis.mutations[0].clearing.as_ref()
}

fn reason(presence: &Presence) -> Cow<'_, str> {
    presence.reason_in_words().unwrap_or_default()
}

#[test]
fn what_was_cleared_did_not_reach_the_model_and_the_rest_did() {
    use PresenceState::{Mention, NoTrace, Verbatim};
    let whole = analysed(r#""name":"compact_20260112""#);
    assert_eq!(clearing(&whole), None);
    assert_eq!(states(&whole), [Mention, Verbatim, Mention]);
    let edited = analysed(
        r#""name":"clear_tool_uses_20250919","parts":[{"fate":"stubbed","call_id":"c1","part_kind":"tool_result"}]"#,
    );
    let expected = Clearing {
        cleared: vec![3],
        possible: Vec::new(),
    };
    assert_eq!(clearing(&edited), Some(&expected));
    assert_eq!(states(&edited), [NoTrace, Verbatim, Mention]);
    let row = &edited.presence[0];
    assert!(
        reason(&row[0]).contains("the 7 parts that the provider left of this context are known"),
        "{:?}",
        row[0]
    );
    assert_eq!(row[1].evidence[0].position, 7, "as the context was sent");
    let disagreements = &edited.mutations[0].disagreements;
    assert!(disagreements.is_empty(), "{disagreements:?}");
}

#[test]
fn a_call_without_a_kind_takes_its_result_and_what_was_asked() {
    let edited = analysed(
        r#""name":"clear_tool_uses_20250919","parts":[{"fate":"stubbed","call_id":"c1"},{"fate":"stubbed","call_id":"gone"}]"#,
    );
    assert_eq!(
        clearing(&edited).map(|told| told.cleared.as_slice()),
        Some(&[2, 3][..])
    );
}

#[test]
fn what_may_have_been_cleared_leaves_the_state_open() {
    use PresenceState::{Mention, Unknown, Verbatim};
    let edited = analysed(r#""name":"clear_tool_uses_20250919""#);
    let expected = Clearing {
        cleared: Vec::new(),
        possible: vec![3, 6],
    };
    assert_eq!(clearing(&edited), Some(&expected));
    assert_eq!(states(&edited), [Unknown, Verbatim, Mention]);
    let open = &edited.presence[0][0];
    assert!(reason(open).contains("does not tell which"), "{open:?}");
    assert_eq!(
        open.evidence[0].position, 3,
        "where its words may have stood"
    );
    assert_eq!(edited.summary.actions_without_trace, 0);
    let edited = analysed(r#""name":"clear_thinking_20251015""#);
    assert_eq!(
        clearing(&edited).map(|told| told.possible.as_slice()),
        Some(&[1][..]),
        "the newest answer keeps its reasoning"
    );
    assert_eq!(states(&edited), [Mention, Verbatim, Unknown]);
}
