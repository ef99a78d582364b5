//! Rollouts of Codex and sessions of pi.

use super::{imported, mission};

#[test]
fn conformance_what_codex_keeps_of_the_user_is_there_and_the_rest_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mission = mission(folder.path(), "prohibitions", &["Do not push to main"]);
    let file = "codex-01-local-compaction-synthetic.jsonl";
    let Some(imported) = imported(file, &["--mission", mission.to_str().unwrap()]) else {
        return;
    };
    assert_eq!(imported.mutations(), [(3, "compaction".to_owned())]);
    let presence = imported.told("presence");
    let push = &presence["actions"][1];
    assert_eq!(
        (&push["turn"], &push["call_id"]),
        (&3.into(), &"call_2".into())
    );
    assert_eq!(push["states"]["do_not_push_to_main"]["state"], "verbatim");
    // The rules file is declared by the file itself, and its words left with the compaction.
    let of_file = presence["constraints"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| {
            rule["text"]
                .as_str()
                .unwrap()
                .contains("Never run migrations")
        })
        .expect("the rule of the rules file");
    let id = of_file["id"].as_str().unwrap();
    assert_eq!(push["states"][id]["state"], "no_trace");
    assert_eq!(push["states"][id]["last_present"], 2);
}

#[test]
fn conformance_an_encrypted_compaction_cannot_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let mission = mission(
        folder.path(),
        "prohibitions",
        &["Never delete anything under s3://acme-prod"],
    );
    let file = "codex-02-remote-opaque-compaction-synthetic.jsonl";
    let arguments = ["--mission", mission.to_str().unwrap()];
    let Some(imported) = imported(file, &arguments) else {
        return;
    };
    let presence = imported.told("presence");
    let delete = &presence["actions"][0];
    let states = delete["states"].as_object().unwrap();
    assert_eq!((delete["turn"].as_u64(), states.len()), (Some(1), 1));
    for state in states.values() {
        assert_eq!(state["state"], "opaque", "{state}");
    }
    assert_eq!(presence["summary"]["actions_without_trace"], 0);
    assert_eq!(imported.mutations(), [(1, "compaction".to_owned())]);
}

#[test]
fn conformance_pi_keeps_what_it_names_by_line() {
    let Some(imported) = imported("pi-01-v1-two-compactions.jsonl", &[]) else {
        return;
    };
    let mutations = imported.told("mutations");
    let told: Vec<(u64, u64)> = mutations
        .as_array()
        .unwrap()
        .iter()
        .map(|mutation| {
            let trigger = &mutation["declared"]["trigger"];
            (
                mutation["turn"].as_u64().unwrap(),
                trigger["observed_tokens"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(174, 175_004), (304, 185_014)]);
    // Of the lines 293 to 358 and 551 to 627, counted from 0, which the compactions keep, the last is the answer to the request
    // before: its parts, one and two, were in no earlier context.
    for (mutation, kept) in mutations.as_array().unwrap().iter().zip([87 - 1, 93 - 2]) {
        assert_eq!(mutation["counts"]["kept"], kept);
    }
}
