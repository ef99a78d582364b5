//! Calls that are recorded after what they explain.

use super::*;

fn captured(fixture: SessionFixture, turn: u32, parts: &[&str]) -> SessionFixture {
    fixture.event(
        "context.captured",
        format!(r#"{{"turn":{turn},"parts":[{}]}}"#, parts.join(",")),
    )
}

fn called(fixture: SessionFixture, turn: u32, call: &str) -> SessionFixture {
    fixture.event(
        "tool.called",
        format!(r#"{{"turn":{turn},"call_id":"{call}","tool":"look","arguments":{{"id":1}}}}"#),
    )
}

fn returned(fixture: SessionFixture, call: &str) -> SessionFixture {
    fixture.event(
        "tool.returned",
        format!(r#"{{"call_id":"{call}","status":"ok","result":"found"}}"#),
    )
}

fn half(kind: &str, call: &str) -> String {
    format!(r#"{{"kind":"{kind}","text":"{kind} of {call}","call_id":"{call}","tool":"look"}}"#)
}

const SUMMARY: &str = r#"{"kind":"summary","text":"what happened so far"}"#;

/// The analyses before and after the last event, from one analyser that was looked at before it.
fn around_the_last_event(fixture: SessionFixture) -> (Analysis, Analysis) {
    let record = fixture.record();
    let mut before = record.clone();
    before.events.pop();
    let mut analyser = Analyser::of(&before);
    let early = Analysis::clone(analyser.analysis());
    assert_eq!(early, crate::analyse(&before));
    follow(&mut analyser, &record);
    let late = Analysis::clone(analyser.analysis());
    assert_eq!(late, crate::analyse(&record));
    (early, late)
}

#[test]
fn a_late_call_tells_that_its_result_had_left_before() {
    let (call, result) = (half("tool_call", "d"), half("tool_result", "d"));
    let fixture = captured(SessionFixture::new(), 1, &[&call, &result]);
    let fixture = returned(fixture, "c");
    let fixture = captured(fixture, 2, &[&half("tool_call", "c"), SUMMARY]);
    let fixture = captured(fixture, 3, &[r#"{"kind":"user","text":"anew"}"#]);
    let (early, late) = around_the_last_event(called(fixture, 1, "c"));
    let orphans = |analysis: &Analysis| -> Vec<u64> {
        let mutations = analysis.mutations.iter();
        mutations
            .map(|mutation| mutation.aftermath.orphan_count)
            .collect()
    };
    assert_eq!(orphans(&early), [0, 0]);
    assert_eq!(orphans(&late), [1, 0]);
}

#[test]
fn a_late_call_tells_that_its_result_stood_in_the_context_of_a_repetition() {
    let fixture = captured(SessionFixture::new(), 1, &[]);
    let fixture = returned(called(fixture, 1, "a"), "a");
    let (own, same) = (half("tool_result", "a"), half("tool_result", "z"));
    let fixture = captured(fixture, 2, &[&own, &same]);
    let fixture = captured(fixture, 3, &[&same, SUMMARY]);
    let fixture = called(fixture, 3, "again");
    let (early, late) = around_the_last_event(called(fixture, 1, "z"));
    let repeated = |analysis: &Analysis| -> u64 {
        let mutations = analysis.mutations.iter();
        mutations
            .map(|mutation| mutation.aftermath.repeated_call_count)
            .sum()
    };
    assert_eq!((repeated(&early), repeated(&late)), (1, 0));
}

/// The halves of three calls that the bits of a number pick, and the summary before them.
fn picked(mask: u8) -> Vec<String> {
    let halves = (0..6u8).filter(|bit| mask & (1 << bit) != 0).map(|bit| {
        let kind = ["tool_call", "tool_result"][usize::from(bit / 3)];
        half(kind, &format!("c{}", bit % 3))
    });
    let summary = (mask & 64 != 0).then(|| SUMMARY.to_owned());
    summary.into_iter().chain(halves).collect()
}

proptest! {
    /// Calls, their results and contexts that hold halves of them, in any order.
    #[test]
    fn halves_in_any_order_are_told_the_same_in_pieces_and_whole(
        steps in proptest::collection::vec((0u8..4, 1u32..5, 0u8..128, 0u8..3), 4..16),
    ) {
        let mut analyser = Analyser::new(&"s-1".parse().unwrap());
        let mut fixture = SessionFixture::new();
        for (kind, turn, mask, call) in steps {
            let call = format!("c{call}");
            fixture = match kind {
                0 => called(fixture, turn, &call),
                1 => returned(fixture, &call),
                _ => {
                    let parts = picked(mask);
                    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
                    captured(fixture, turn, &parts)
                }
            };
            let record = fixture.clone().record();
            follow(&mut analyser, &record);
            prop_assert_eq!(&**analyser.analysis(), &crate::analyse(&record));
        }
    }
}
