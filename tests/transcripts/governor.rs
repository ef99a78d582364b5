//! Sentience Governor: actions without contexts.

use super::imported_from;
use super::no_writes::NoWrites;
use crate::support::shared_data;

#[test]
fn conformance_a_governors_trace_answers_unknown_at_every_action() {
    let Some(file) = shared_data("governor/trace1-claude-code.jsonl") else {
        return;
    };
    let imported = NoWrites::from("start").imported(&file);
    let report = &imported.report;
    let plain = imported_from(&file, &[]);
    assert_ne!(plain.session(), imported.session());
    let presence = imported.told("presence");
    let actions = presence["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 6);
    for action in actions {
        assert_eq!(
            action["states"]["no_writes"]["state"], "unknown",
            "{action}"
        );
    }
    let notices = report["files"][0]["notices"].to_string();
    assert!(
        notices.contains("whether a rule was present at an action is unknown"),
        "{notices}"
    );
}
