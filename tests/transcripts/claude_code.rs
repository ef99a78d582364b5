//! Recorded sessions of Claude Code.

use serde_json::Value;

use super::{Imported, imported, imported_from, mission};
use crate::support::shared_data;

const TWO_COMPACTIONS: &str = "cc-02-two-compactions-constraints-lost.jsonl";
/// What the user said in passing, in the order said.
const RULES: [&str; 3] = [
    "default to 'off'",
    "british spelling",
    "just manual commit for now",
];

fn with_rules(file: &str, kind: &str, rules: &[&str]) -> Option<Imported> {
    let folder = tempfile::tempdir().unwrap();
    let mission = mission(folder.path(), kind, rules);
    imported(file, &["--mission", mission.to_str().unwrap()])
}

/// The states of all rules at each action.
fn states(presence: &Value) -> Vec<Vec<&str>> {
    let actions = presence["actions"].as_array().unwrap().iter();
    actions
        .map(|action| {
            let states = action["states"].as_object().unwrap().values();
            states
                .map(|state| state["state"].as_str().unwrap_or("not yet declared"))
                .collect()
        })
        .collect()
}

#[test]
fn conformance_what_the_user_said_is_there_for_162_actions_and_then_without_trace_for_32() {
    let Some(imported) = with_rules(TWO_COMPACTIONS, "obligations", &RULES) else {
        return;
    };
    let presence = imported.told("presence");
    let states = states(&presence);
    assert_eq!(states.len(), 208);
    assert!(states.iter().all(|states| states.len() == RULES.len()));
    let is_present = |states: &Vec<&str>| {
        states
            .iter()
            .all(|state| matches!(*state, "verbatim" | "matched"))
    };
    // The last of the rules is said after 14 actions.
    let (before, counted) = states.split_at(14);
    for states in before {
        assert_eq!(states, &["not yet declared", "matched", "not yet declared"]);
    }
    let (first, rest) = counted.split_at(41);
    let (second, last) = rest.split_at(121);
    assert!(first.iter().chain(second).all(is_present));
    assert_eq!(last.len(), 32);
    for states in last {
        // In the order of the rules' names: british, default, manual. A test that a tool returned has "default to true" in it.
        assert_eq!((states[0], states[2]), ("no_trace", "no_trace"));
        assert!(matches!(states[1], "no_trace" | "mention"), "{states:?}");
    }
    assert_eq!(presence["summary"]["actions_without_trace"], 32);
    let last = presence["actions"].as_array().unwrap().last().unwrap();
    for rule in ["british_spelling", "just_manual_commit_for_now"] {
        let state = &last["states"][rule];
        assert_eq!(
            (&state["last_present"], &state["left_with"]["turn"]),
            (&172.into(), &173.into())
        );
    }
    let witness = presence["turns"][0]["witness"].as_str();
    assert_eq!(witness, Some("transcript"));
}

#[test]
fn conformance_compactions_missing_records_and_a_resume_are_mutations() {
    let Some(imported) = imported(TWO_COMPACTIONS, &[]) else {
        return;
    };
    let expected = [
        (54, "compaction"),
        (111, "dangling_parent"),
        (149, "dangling_parent"),
        (170, "dangling_parent"),
        (172, "dangling_parent"),
        (173, "compaction"),
        (173, "resume"),
    ];
    let expected = expected.map(|(turn, kind)| (turn, kind.to_owned()));
    assert_eq!(imported.mutations(), expected);
    let mutations = imported.told("mutations");
    let first = &mutations[0]["declared"]["trigger"];
    assert_eq!(
        (&first["cause"], &first["observed_tokens"]),
        (&"auto".into(), &167_979.into())
    );
    let second = mutations[5]["declared"]["summary"]["text"].as_str();
    assert!(second.is_some_and(|text| text.contains("very short")));
}

#[test]
fn conformance_emptied_results_are_a_mutation_of_their_own() {
    let Some(imported) = imported("cc-04-microcompact.jsonl", &[]) else {
        return;
    };
    let kinds: Vec<String> = imported
        .mutations()
        .into_iter()
        .map(|(_, kind)| kind)
        .collect();
    assert_eq!(
        kinds,
        [
            "compaction",
            "microcompaction",
            "compaction",
            "microcompaction"
        ]
    );
}

#[test]
fn conformance_what_a_compaction_preserves_follows_its_summary() {
    let rule = "Never edit migrations";
    let file = "cc-06-boundary-2.1.270-fields-synthetic.jsonl";
    let Some(imported) = with_rules(file, "prohibitions", &[rule]) else {
        return;
    };
    let mutations = imported.told("mutations");
    let after: Vec<(&str, u64)> = mutations[0]["fates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|fate| !fate["after"].is_null() && fate["fate"] != "summarised")
        .map(|fate| {
            (
                fate["kind"].as_str().unwrap(),
                fate["after"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        after,
        [("tool_result", 1), ("summary", 0), ("assistant", 2)]
    );
    let presence = imported.told("presence");
    assert_eq!(states(&presence), [["verbatim"], ["no_trace"]]);
}

#[test]
fn conformance_a_session_that_grows_gets_the_rest() {
    let Some(path) = shared_data(&format!("transcripts/{TWO_COMPACTIONS}")) else {
        return;
    };
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().unwrap();
    let grows = folder.path().join("s.jsonl");
    // In the middle of a line, of an answer, and of the calls of one.
    let cuts = [
        lines[..100].concat() + &lines[100][..50],
        lines[..547].concat(),
    ];
    std::fs::write(&grows, &cuts[0]).unwrap();
    let imported = imported_from(&grows, &[]);
    let mut recorded = imported.report["recorded"].as_u64().unwrap();
    for text in [&cuts[1], &whole] {
        std::fs::write(&grows, text).unwrap();
        let report = imported.import(&grows, &[]);
        let session = &report["files"][0]["sessions"][0];
        assert_eq!(session["conflicting"], 0);
        assert!(session["duplicate"].as_u64().unwrap() <= recorded);
        recorded += session["recorded"].as_u64().unwrap();
    }
    let at_once = imported_from(&path, &[]);
    // What is known of an answer that may go on is told once more when it is whole.
    let expected = at_once.report["recorded"].as_u64().unwrap();
    assert!(
        (expected..=expected + 2).contains(&recorded),
        "{recorded} events, {expected} at once"
    );
    assert_eq!(imported.mutations(), at_once.mutations());
    assert_eq!(
        imported.told("presence")["actions"],
        at_once.told("presence")["actions"]
    );
}
