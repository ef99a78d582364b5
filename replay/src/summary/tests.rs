use super::*;
use crate::action;
use crate::analysis::PresenceState;
use crate::context;
use crate::reading::Reading;
use crate::record::fixture::SessionFixture;

/// Eight turns, with a limit declared before the third; `states` are those of the limit and of a fact.
fn summary(states: [Option<PresenceState>; 8]) -> Summary {
    let limit =
        r#"{"id":"limit","kind":"prohibition","text":"never pay","actions":[{"tool":"pay"}]}"#;
    let mut fixture = SessionFixture::new();
    for turn in 1..=8 {
        if turn == 3 {
            fixture = fixture.event("constraint.declared", limit).event(
                "constraint.declared",
                r#"{"id":"fact","kind":"fact","text":"the sky is blue"}"#,
            );
        }
        fixture = fixture.event(
            "context.captured",
            format!(r#"{{"turn":{turn},"parts":[]}}"#),
        );
    }
    for (turn, tool) in [(1, "pay"), (4, "look"), (5, "pay"), (8, "pay")] {
        fixture = fixture.event(
            "tool.called",
            format!(r#"{{"turn":{turn},"call_id":"c{turn}","tool":"{tool}"}}"#),
        );
    }
    let record = fixture.record();
    let reading = Reading::of(&record);
    let (timeline, _) = context::rebuild(&record);
    let (constraints, _) = constraint::declared(&reading, &timeline.turns);
    let shown: Vec<_> = constraints.iter().map(constraint::shown).collect();
    Counted {
        turns: &timeline.turns,
        actions: &action::actions(&reading, &shown).actions,
        constraints: &constraints,
        presence: &states.map(|state| {
            [state, Some(PresenceState::NoTrace)]
                .map(Presence::of)
                .to_vec()
        }),
    }
    .summary()
}

#[test]
fn only_limits_without_any_trace_count_and_only_once_declared() {
    use PresenceState::{Mention, NoTrace, Verbatim};
    let counted = summary([
        None,
        None,
        Some(Verbatim),
        Some(NoTrace),
        Some(NoTrace),
        Some(NoTrace),
        Some(Mention),
        Some(NoTrace),
    ]);
    assert_eq!(
        counted,
        Summary {
            actions_without_trace: 3,
            prohibited_without_trace: 2,
            longest_gap_turns: 3,
        }
    );
    assert_eq!(summary([Some(Verbatim); 8]), Summary::default());
    assert_eq!(
        summary([Some(PresenceState::Unknown); 8]),
        Summary::default()
    );
}
