use super::*;
use crate::Analysis;
use crate::analysis::{FindingKind, Risk, Severity};
use crate::record::fixture::SessionFixture;

fn captured(fixture: SessionFixture, turn: u32, parts: &[(&str, &str)]) -> SessionFixture {
    let parts: Vec<String> = parts
        .iter()
        .map(|(kind, text)| format!(r#"{{"kind":"{kind}","text":"{text}"}}"#))
        .collect();
    let parts = parts.join(",");
    fixture.event(
        "context.captured",
        format!(r#"{{"turn":{turn},"parts":[{parts}]}}"#),
    )
}

/// A session that watches four limits and is compacted before its second turn.
fn compacted(after: &[(&str, &str)]) -> Analysis {
    let mut fixture = SessionFixture::new();
    for text in [
        "contact customers",
        "issue refunds",
        "delete records",
        "sign contracts",
    ] {
        fixture = fixture.event(
            "constraint.declared",
            format!(
                r#"{{"id":"{}","kind":"prohibition","text":"{text}"}}"#,
                &text[..4]
            ),
        );
    }
    let fixture = captured(
        fixture,
        1,
        &[
            ("system", "You may not contact customers."),
            (
                "user",
                "You may not issue refunds, delete records or sign contracts.",
            ),
            ("assistant", "I begin."),
        ],
    );
    crate::analyse(&captured(fixture, 2, after).record())
}

#[test]
fn emptying_a_summary_shows_what_rests_on_it_and_what_cannot_change() {
    let analysis = compacted(&[
        ("system", "You may not contact customers."),
        (
            "summary",
            "You may not issue refunds. I must not contact customers.",
        ),
        ("user", "You may not delete records."),
    ]);
    let control = &analysis.controls.emptied[0];
    assert_eq!((control.mutation, control.turn), (0, 2));
    assert_eq!(
        control.changed,
        [ChangedState {
            constraint: 1,
            with: PresenceState::Verbatim,
            without: PresenceState::NoTrace
        }]
    );
    assert_eq!(control.supplied, [0]);
    assert_eq!(control.elsewhere, [2]);
    assert_eq!(control.absent, [3]);
    assert!(!control.says_nothing);
    assert_eq!(
        control.in_words(),
        "with the summary emptied 1 of 4 results change at turn 2 (1 cannot change: instructions or re-supplied material hold \
         them, 1 stay present in messages, 1 are not present either way)"
    );
    assert_eq!(analysis.controls.cannot_fail, [0]);
    assert_eq!(analysis.presence[1][1].state, Some(PresenceState::Verbatim));
}

#[test]
fn a_summary_that_changes_no_state_is_one_that_the_check_says_nothing_about() {
    let analysis = compacted(&[
        ("system", "You may not contact customers."),
        ("summary", "The case was looked at."),
    ]);
    let control = &analysis.controls.emptied[0];
    assert!(control.says_nothing && control.changed.is_empty());
    assert_eq!(control.absent, [1, 2, 3]);
    assert!(
        control
            .in_words()
            .contains("the check says nothing about the summary"),
        "{}",
        control.in_words()
    );
}

#[test]
fn an_unreadable_summary_hides_what_may_stand_in_it() {
    let hash = ContentHash::of(b"never sent");
    let fixture = SessionFixture::new().event(
        "constraint.declared",
        r#"{"id":"c","kind":"prohibition","text":"contact customers"}"#,
    );
    let fixture = captured(fixture, 1, &[("user", "You may not contact customers.")]).event(
        "context.captured",
        format!(r#"{{"turn":2,"parts":[{{"kind":"summary","hash":"{hash}","encrypted":true}}]}}"#),
    );
    let analysis = crate::analyse(&fixture.record());
    assert_eq!(
        analysis.controls.emptied[0].changed,
        [ChangedState {
            constraint: 0,
            with: PresenceState::Opaque,
            without: PresenceState::NoTrace
        }]
    );
}

/// What a matcher finds in the agent's own words too does not stand only in the summary, and does not rest on it.
#[test]
fn a_matcher_over_every_part_stands_in_messages_too() {
    let analysed = |any_part: bool| {
        let fixture = SessionFixture::new().event(
            "constraint.declared",
            format!(
                r#"{{"id":"c","kind":"fact","text":"TX-9002 was released",
                    "matcher":{{"all_of":[{{"term":"tx-9002","substring":true}}],"any_part":{any_part}}}}}"#
            ),
        );
        let fixture = captured(
            fixture,
            1,
            &[("user", "Look into TX-9002."), ("user", "Go on.")],
        );
        let after = [
            ("summary", "Looked at TX-9002."),
            ("assistant", "TX-9002 is next."),
        ];
        crate::analyse(&captured(fixture, 2, &after).record())
    };
    let everywhere = analysed(true);
    assert_eq!(
        everywhere.presence[1][0].at_risk,
        Some(Risk::OnlyInMessages)
    );
    assert_eq!(everywhere.controls.emptied[0].elsewhere, [0]);
    let carrying = analysed(false);
    assert_eq!(carrying.presence[1][0].at_risk, Some(Risk::OnlyInSummary));
    assert_eq!(carrying.controls.emptied[0].changed.len(), 1);
}

#[test]
fn without_a_new_summary_there_is_nothing_to_empty() {
    let analysis = compacted(&[("system", "You may not contact customers.")]);
    assert_eq!(analysis.mutations.len(), 1);
    assert!(analysis.controls.emptied.is_empty());
}

#[test]
fn what_nobody_stated_is_found_nowhere_and_unknown_contexts_say_so() {
    let fixture = captured(
        SessionFixture::new(),
        1,
        &[
            ("system", "You must never sell the house"),
            ("user", "Go on."),
        ],
    );
    let analysis = crate::analyse(&fixture.event("model.responded", r#"{"turn":2}"#).record());
    assert_eq!(analysis.controls.never_stated.len(), 2);
    for control in &analysis.controls.never_stated {
        let states: Vec<_> = control
            .states
            .iter()
            .map(|(&at, &count)| (at, count))
            .collect();
        assert_eq!(
            states,
            [(PresenceState::NoTrace, 1), (PresenceState::Unknown, 1)],
            "{}",
            control.text
        );
        assert_eq!(control.found, None);
    }
}

/// The control can fail: where its words stand in a context, it is found, and the analysis says so.
#[test]
fn a_control_that_is_found_is_an_alarm() {
    let blank = SessionFixture::new().record();
    let controls = crate::analyse(&blank).controls.never_stated;
    for (at, control) in controls.iter().enumerate() {
        let fixture = captured(SessionFixture::new(), 1, &[("user", "Go on.")]);
        let fixture = captured(fixture, 2, &[("user", "Go on."), ("user", &control.text)]);
        let analysis = crate::analyse(&fixture.record());
        let found = analysis.controls.never_stated[at]
            .found
            .expect("its words stand there");
        assert_eq!(found.turn, 2);
        assert!(found.state.is_present());
        let alarms: Vec<_> = analysis
            .findings
            .iter()
            .filter(|finding| finding.kind == FindingKind::ControlFailed)
            .map(|finding| (finding.severity, finding.turn, finding.entry))
            .collect();
        assert_eq!(alarms, [(Severity::Alarm, Some(2), Some(1))]);
    }
}

#[test]
fn the_words_of_a_control_follow_from_the_session_and_from_nothing_else() {
    let texts = |session: &str| -> Vec<String> {
        never_stated_of(&session.parse().expect("an id"))
            .into_iter()
            .map(|control| control.declared.text)
            .collect()
    };
    assert_eq!(texts("s-1"), texts("s-1"));
    assert_ne!(texts("s-1"), texts("s-2"));
    for text in texts("s-1") {
        assert!(text.split(' ').all(|word| word.len() <= 10), "{text}");
    }
}

#[test]
fn a_likely_paraphrase_in_a_summary_is_for_a_reader_and_no_result() {
    let analysis = compacted(&[
        ("system", "You may not contact customers."),
        ("summary", "Contracts must not be agreed to or signed off."),
    ]);
    let control = &analysis.controls.emptied[0];
    let change = control.changed[0];
    assert_eq!(
        (change.constraint, change.with, change.without),
        (3, PresenceState::Partial, PresenceState::NoTrace)
    );
    assert!(control.says_nothing && !change.counts());
    let words = control.in_words();
    assert!(
        words.contains("no result changes") && words.contains("1 not present either way, but"),
        "{words}"
    );
}
