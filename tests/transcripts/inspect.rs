//! Inspect: contexts that are known exactly.

use super::no_writes::{NoWrites, at_actions};
use crate::support::shared_data;

#[test]
fn conformance_inspect_shows_the_rule_at_the_action_that_breaks_it() {
    for name in [
        "inspect-01-trim-generated.eval",
        "inspect-02-summary-generated.eval",
    ] {
        let Some(file) = shared_data(&format!("transcripts/{name}")) else {
            return;
        };
        let mission = NoWrites::from("first_stated");
        let imported = mission.imported(&file);
        // The first two messages, where the rule stands, survive both compactions.
        assert_eq!(at_actions(&imported), ["verbatim"; 10], "{name}");
        let findings = imported.told("findings");
        let prohibited = findings.as_array().unwrap().iter();
        let prohibited = prohibited.filter(|finding| finding["kind"] == "action.prohibited");
        assert_eq!(prohibited.count(), 1, "{name}");
        let mutations = imported.told("mutations");
        let kinds: Vec<&str> = mutations
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["kind"].as_str().unwrap())
            .collect();
        let expected: &[&str] = if name.contains("trim") {
            &["truncation", "truncation"]
        } else {
            &["compaction"]
        };
        assert_eq!(kinds, expected, "{name}");
    }
}
