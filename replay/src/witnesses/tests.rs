use super::*;
use crate::analysis::{FindingKind, Severity};
use crate::view;

/// Two requests, the second after a mutation; three actions, of which the first two bear one call id.
fn analysis() -> Analysis {
    let mut analysis = view::tests::analysis();
    analysis.turns[0].witness = Witness::Exact;
    analysis.turns[1].witness = Witness::Telemetry;
    for (at, witness) in [Witness::Exact, Witness::Hook, Witness::Claimed]
        .into_iter()
        .enumerate()
    {
        analysis.actions[at].entry = 20 + at as u64;
        analysis.actions[at].witness = witness;
    }
    analysis.actions[1].call_id = "a".to_owned();
    analysis
}

fn finding(turn: Option<u32>, entry: Option<u64>, call: Option<&str>) -> Finding {
    Finding {
        kind: FindingKind::ActionProhibited,
        severity: Severity::Alarm,
        turn,
        call_id: call.map(str::to_owned),
        constraint: None,
        mutation: None,
        entry,
        message: String::new(),
    }
}

#[test]
fn a_session_s_witnesses_are_those_of_its_contexts_and_actions_the_strongest_first() {
    let mut analysis = analysis();
    let expected = [
        Witness::Exact,
        Witness::Telemetry,
        Witness::Hook,
        Witness::Claimed,
    ];
    assert_eq!(analysis.witnesses(), expected);
    analysis.actions.clear();
    assert_eq!(analysis.witnesses(), [Witness::Exact, Witness::Telemetry]);
    analysis.turns.clear();
    assert_eq!(analysis.witnesses(), []);
}

#[test]
fn a_finding_rests_on_the_context_of_its_turn_and_on_the_action_that_its_entry_names() {
    let analysis = analysis();
    let places = FindingPlaces::of(&analysis);
    let both = |finding: &Finding| {
        let context = places.context_witness(finding);
        (context, places.action_witness(finding))
    };
    // The entry decides where agents use an id again.
    let second = finding(Some(2), Some(21), Some("a"));
    assert_eq!(places.action(&second), Some(1));
    assert_eq!(
        both(&second),
        (Some(Witness::Telemetry), Some(Witness::Hook))
    );
    let by_call = finding(Some(1), Some(4), Some("a"));
    assert_eq!(both(&by_call), (Some(Witness::Exact), Some(Witness::Exact)));
    // A turn that is not recorded has no witness; the action still has.
    let no_context = finding(Some(7), Some(22), None);
    assert_eq!(both(&no_context), (None, Some(Witness::Claimed)));
    assert_eq!(both(&finding(None, None, None)), (None, None));
}

#[test]
fn a_finding_about_a_mutation_rests_on_the_weaker_of_the_contexts_before_and_after() {
    let mut analysis = analysis();
    analysis.turns[0].witness = Witness::Claimed;
    let about = Finding {
        mutation: Some(0),
        ..finding(Some(2), None, None)
    };
    let places = FindingPlaces::of(&analysis);
    assert_eq!(places.context_witness(&about), Some(Witness::Claimed));
    let nowhere = Finding {
        mutation: Some(9),
        ..about
    };
    assert_eq!(places.context_witness(&nowhere), Some(Witness::Telemetry));
}

#[test]
fn the_findings_that_programs_read_name_what_they_rest_on() {
    let mut analysis = analysis();
    analysis.findings = vec![finding(Some(2), Some(21), None), finding(None, None, None)];
    let shown = serde_json::to_value(view::findings(&analysis)).expect("a view is JSON");
    assert_eq!(shown[0]["context_witness"], "telemetry");
    assert_eq!(shown[0]["action_witness"], "hook");
    assert_eq!(shown[1]["context_witness"], serde_json::Value::Null);
    assert_eq!(shown[1].get("action_witness"), None);
}
