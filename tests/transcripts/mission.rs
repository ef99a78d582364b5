//! What a mission file declares, and rules found in what the user wrote.

use std::path::Path;

use super::imported_from;
use crate::support::{json, remembrancer, shared_data};

#[test]
fn a_mission_that_cannot_be_read_stops_the_import_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        path("mission.yaml"),
        "objective: x\nprohibition:\n  - never y\n",
    )
    .unwrap();
    let trace = "{\"object\":\"trace\",\"id\":\"trace_1\",\"workflow_name\":\"w\"}\n";
    std::fs::write(path("trace.jsonl"), trace).unwrap();
    let (file, mission, data) = (path("trace.jsonl"), path("mission.yaml"), path("data"));
    let arguments = ["import", &file, "--mission", &mission, "--data", &data];
    let refused = remembrancer(&arguments);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(
        told.contains("mission.yaml, line 2, column 1: unknown key \"prohibition\""),
        "{told}"
    );
    assert!(!Path::new(&data).exists(), "nothing was begun");
    std::fs::write(
        path("mission.yaml"),
        "permissions:\n  - {text: a, actions: [{tool: t}]}\n  - b\n",
    )
    .unwrap();
    let report = json(&arguments);
    assert_eq!(report["files"][0]["format"], "openai-agents");
    assert!(
        report["mission"][0].as_str().unwrap().contains("line 3"),
        "{report}"
    );
}

#[test]
fn conformance_rules_of_a_real_session_are_found_and_make_it_a_session_of_its_own() {
    let Some(file) = shared_data("transcripts/cc-02-two-compactions-constraints-lost.jsonl") else {
        return;
    };
    let imported = imported_from(&file, &["--extract-rules"]);
    assert!(imported.session().ends_with("-x"), "{}", imported.session());
    let presence = imported.told("presence");
    let texts: Vec<&str> = presence["constraints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|constraint| constraint["text"].as_str().unwrap())
        .collect();
    for rule in [
        "use the british spelling :)",
        "just manual commit for now",
        "keep it local",
    ] {
        assert!(texts.contains(&rule), "{texts:#?}");
    }
}
