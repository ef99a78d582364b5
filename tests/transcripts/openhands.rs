//! `OpenHands`: a condensation that names what it forgets.

use super::no_writes::{NoWrites, at_actions};
use crate::support::shared_data;

#[test]
fn conformance_openhands_loses_the_rule_before_the_action_that_breaks_it() {
    let Some(file) = shared_data("transcripts/openhands-01-condensation-generated.jsonl") else {
        return;
    };
    let mission = NoWrites::from("first_stated");
    let imported = mission.imported(&file);
    let states = at_actions(&imported);
    assert_eq!(states[..2], ["verbatim", "verbatim"]);
    // The file holds no system prompt, so what is not found may stand there.
    assert_eq!(states[2], "unknown");
    let mutations = imported.told("mutations");
    assert_eq!(mutations[0]["kind"], "compaction");
    let findings = imported.told("findings");
    let kinds: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"action.prohibited"), "{kinds:?}");
    assert!(
        !kinds.contains(&"mutation.overstated") && !kinds.contains(&"mutation.understated"),
        "{kinds:?}"
    );
}
