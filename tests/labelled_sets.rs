//! The labelled sets that nobody here wrote, through `bench presence`: what must come out of them.

use serde_json::Value;

use crate::support::{json, remembrancer, shared_data, succeed};

const PAIRS: &str = "transcripts/compint-labelled-pairs.jsonl";
const CASES: &str = "transcripts/compaction-guard-cases.jsonl";

/// Label and state of every case of a set; `None` where there is no recorded data.
fn judged(set: &str) -> Option<Vec<(String, String)>> {
    let path = shared_data(set)?;
    let report = json(&["bench", "presence", "--labelled", path.to_str().unwrap()]);
    let of = |case: &Value| {
        let field = |name: &str| {
            case[name]
                .as_str()
                .unwrap_or_else(|| panic!("{name}: {case}"))
                .to_owned()
        };
        assert!(!field("id").is_empty());
        (field("label"), field("state"))
    };
    Some(report["cases"].as_array().unwrap().iter().map(of).collect())
}

/// How many cases have a label, and how many of those came out in one of some states.
fn count(judged: &[(String, String)], label: &str, states: &[&str]) -> (usize, usize) {
    let of = judged.iter().filter(|(own, _)| own == label);
    let told = of
        .clone()
        .filter(|(_, state)| states.contains(&state.as_str()));
    (of.count(), told.count())
}

const PRESENT: [&str; 2] = ["verbatim", "matched"];
const KEPT: [&str; 3] = ["verbatim", "matched", "partial"];
const ALTERED: [&str; 1] = ["altered"];

#[test]
fn conformance_no_pair_judged_absent_is_present_and_survivors_are_found() {
    let Some(judged) = judged(PAIRS) else {
        return;
    };
    assert_eq!(count(&judged, "absent", &PRESENT), (12, 0));
    let (survivors, found) = count(&judged, "present", &KEPT);
    assert!(
        survivors > 0 && found * 25 >= survivors * 22,
        "{found} of {survivors}"
    );
}

#[test]
fn conformance_changed_limits_are_altered_and_paraphrases_are_not() {
    let Some(judged) = judged(CASES) else {
        return;
    };
    for (label, share) in [("mutated", 100), ("weakened", 90), ("contradicted", 60)] {
        let (cases, present) = count(&judged, label, &PRESENT);
        assert!(
            cases > 0 && present == 0,
            "{present} of {cases} {label} count as present"
        );
        let (_, altered) = count(&judged, label, &ALTERED);
        assert!(
            altered * 100 >= cases * share,
            "{altered} of {cases} {label} are altered"
        );
    }
    let (paraphrases, altered) = count(&judged, "paraphrased", &ALTERED);
    assert!(
        paraphrases > 0 && altered * 100 <= paraphrases * 15,
        "{altered} of {paraphrases} paraphrases are altered"
    );
    let (preserved, present) = count(&judged, "preserved", &PRESENT);
    assert!(
        preserved > 0 && present == preserved,
        "{present} of {preserved}"
    );
    let (dropped, gone) = count(&judged, "dropped", &["mention", "no_trace"]);
    assert!(dropped > 0 && gone == dropped, "{gone} of {dropped}");
}

#[test]
fn a_confusion_table_is_printed_for_people() {
    let Some(path) = shared_data(CASES) else {
        return;
    };
    let text = succeed(&["bench", "presence", "--labelled", path.to_str().unwrap()]);
    for part in [
        "label",
        "no_trace",
        "preserved",
        "precision",
        "recall",
        "kept",
        "gone",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "colours belong to a terminal");
}

#[test]
fn a_file_that_is_no_set_is_refused_with_the_line_and_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.jsonl");
    std::fs::write(&file, "{\"compacted\": 3}\n").unwrap();
    let output = remembrancer(&["bench", "presence", "--labelled", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("set.jsonl, line 1") && error.contains("next:"),
        "{error}"
    );
}
