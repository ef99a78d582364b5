use super::*;
use crate::fixture::Fixture;

/// A session in which no action breaks a limit.
fn unbroken() -> Analysis {
    let mut analysis = Fixture::new(str::to_owned).first().clone();
    for action in &mut analysis.actions {
        action.breaks.clear();
        action.scope = ScopeVerdict::Undeclared;
    }
    analysis.summary.prohibited_without_trace = 0;
    analysis
}

/// The same, with every limit present throughout.
fn sound() -> Analysis {
    let mut analysis = unbroken();
    analysis.summary.actions_without_trace = 0;
    for presence in analysis.presence.iter_mut().flatten() {
        presence.state = Some(PresenceState::Verbatim);
    }
    analysis
}

#[test]
fn an_action_against_the_scope_is_an_alarm_even_without_a_broken_limit() {
    assert_eq!(verdict(&unbroken()).tone, Tone::Warning);
    for analysis in [unbroken(), sound()] {
        let mut outside = analysis.clone();
        outside.actions[2].scope = ScopeVerdict::OutOfScope;
        let words = verdict(&outside);
        assert_eq!(
            (words.tone, words.sentence.as_str()),
            (
                Tone::Alarm,
                "1 action was sent that nothing in the declared scope permits."
            )
        );
        let mut prohibited = outside;
        for at in [0, 1] {
            let policies = vec!["policy0".to_owned()];
            prohibited.actions[at].scope = ScopeVerdict::Prohibited { policies };
        }
        let words = verdict(&prohibited);
        assert_eq!(
            (words.tone, words.sentence.as_str()),
            (
                Tone::Alarm,
                "2 actions were sent that the declared scope prohibits. \
                 1 action was sent that nothing in the declared scope permits."
            )
        );
    }
    let mut both = Fixture::new(str::to_owned).first().clone();
    both.actions[0].scope = ScopeVerdict::OutOfScope;
    let words = verdict(&both);
    assert!(
        words.sentence.starts_with("1 prohibited action was sent")
            && words.sentence.ends_with("declared scope permits."),
        "{}",
        words.sentence
    );
}

#[test]
fn what_cannot_be_read_is_never_sound() {
    let mut analysis = sound();
    assert_eq!(verdict(&analysis).tone, Tone::Sound);
    analysis.overview.unreadable_entries = 1;
    let words = verdict(&analysis);
    assert_eq!(words.tone, Tone::Warning);
    assert!(
        words
            .sentence
            .ends_with("1 entry is erased or cannot be read, and what it holds is not judged."),
        "{}",
        words.sentence
    );
    analysis.actions.clear();
    analysis.overview.unreadable_entries = 3;
    let words = verdict(&analysis);
    assert_eq!(words.tone, Tone::Warning);
    assert!(words.sentence.contains("3 entries are erased"));
    let mut alarming = Fixture::new(str::to_owned).first().clone();
    alarming.overview.unreadable_entries = 1;
    let words = verdict(&alarming);
    assert_eq!(words.tone, Tone::Alarm);
    assert!(words.sentence.contains("is not judged"));
}

#[test]
fn what_was_sent_before_a_limit_was_declared_is_not_held_against_it() {
    let mut analysis = sound();
    let limit = limit_positions(&analysis)[0];
    let first = analysis.actions[0].turn;
    let declare_after = |analysis: &mut Analysis, limit: ConstraintIndex, turn: u32| {
        for (position, row) in analysis.presence.iter_mut().enumerate() {
            if analysis.turns[position].number <= turn {
                row[limit].state = None;
            }
        }
    };
    declare_after(&mut analysis, limit, first);
    let before = analysis
        .actions
        .iter()
        .filter(|action| action.turn <= first);
    let before = before.count();
    let words = verdict(&analysis);
    assert_eq!(words.tone, Tone::Sound);
    let end = format!(
        "after it was declared; {before} of {} actions were sent before one of them was.",
        analysis.actions.len()
    );
    assert!(words.sentence.ends_with(&end), "{}", words.sentence);
    assert_eq!(worst(&analysis), Some(PresenceState::Verbatim));

    let mut broken = analysis.clone();
    broken.actions[0].breaks = vec![limit];
    let words = verdict(&broken);
    assert_eq!(words.tone, Tone::Alarm);
    assert!(
        words
            .sentence
            .ends_with("or from a request made before it was declared."),
        "{}",
        words.sentence
    );

    for limit in limit_positions(&analysis) {
        declare_after(&mut analysis, limit, u32::MAX);
    }
    let words = verdict(&analysis);
    assert_eq!(words.tone, Tone::Quiet);
    assert!(
        words.sentence.contains("no limit was declared before"),
        "{}",
        words.sentence
    );
    assert_eq!(worst(&analysis), None);
}
