//! `expected.json` was worked out from the published bundles by hand and by script, apart from this code.
//!
//! Compared as recorded, because a bundle does not hold what it takes to compute them: `counted.{source,uncompacted,compacted,
//! fixed_overhead}` (a counting endpoint's answers), `est_tokens_*` (estimates over text that is not withheld), `wall_ms`,
//! `wall_seconds`, `leak_scan` (the values looked for are secret), `governance_errors_in_log` (the log is not published), the
//! data set's and the policy's hashes, `fault_injection`, `trigger`, the summarizers' caps and tokens, and `withheld`. Everything
//! else is computed.

use std::fs;

use remembrancer_schema::hash::sha256;
use serde_json::{Value, json};

use super::super::evaluation::compare;
use super::*;

fn expected() -> Option<Value> {
    let bytes = fs::read(shared("expected.json")?).expect("readable");
    Some(serde_json::from_slice(&bytes).expect("JSON"))
}

fn assert_same(recorded: &Value, computed: &Value) {
    let mut differences = Vec::new();
    compare(&mut differences, "", recorded, computed);
    assert_eq!(differences, Vec::<String>::new());
}

const LABELS: [&str; 2] = ["E1-baseline", "E1-governed"];

#[test]
fn every_value_of_both_runs_is_found_again() {
    let Some(expected) = expected() else { return };
    let runs = expected["runs"].as_array().expect("a list of runs");
    assert_eq!(runs.len(), 2);
    for run in runs {
        let label = run["label"].as_str().expect("a label");
        let import = import(label).expect("the bundle is beside expected.json");
        let evaluation = serde_json::to_value(&import.evaluation).expect("JSON");
        assert_same(run, &evaluation);
        assert_eq!(import.label, label);
        assert_eq!(import.notices, Vec::<String>::new(), "{label}");
    }
}

#[test]
fn every_value_of_every_request_is_found_again() {
    let Some(expected) = expected() else { return };
    for label in LABELS {
        let import = import(label).expect("the bundle is beside expected.json");
        let run = &expected["per_request"][label];
        let requests = run["requests"].as_array().expect("a list of requests");
        assert_eq!(requests.len(), import.evaluation.requests.len());
        let mut terms_compared = 0;
        for (request, computed) in requests.iter().zip(&import.evaluation.requests) {
            let mut request = request.clone();
            let members = request.as_object_mut().expect("an object");
            // Says what its author could reproduce, not what the bundle holds.
            members.remove("hash_reproduced_here");
            if let Some(terms) = members.remove("kernel_terms_missing_recomputed") {
                members.insert("kernel_terms_missing".to_owned(), terms);
                terms_compared += 1;
            }
            if let Some(is_present) = members.remove("cf6_present_recomputed") {
                let facts = computed.facts_present.as_ref().expect("a rebuilt context");
                let has_cf6 = facts.iter().any(|fact| fact == "CF6");
                assert_eq!(json!(has_cf6), is_present, "{label} {}", computed.run_step);
            }
            assert_eq!(computed.rebuilt_messages, Some(computed.n_messages));
            assert_same(&request, &serde_json::to_value(computed).expect("JSON"));
        }
        assert_eq!(terms_compared, if label == "E1-baseline" { 10 } else { 0 });
    }
}

#[test]
fn every_hash_is_computed_again() {
    let Some(expected) = expected() else { return };
    let vectors = expected["hash_vectors"].as_object().expect("an object");
    let mut computed = serde_json::Map::new();
    for (label, mode) in LABELS.into_iter().zip(["baseline", "governed"]) {
        let files =
            CheckedFiles::read(&shared(label).expect("beside expected.json")).expect("sound");
        let run = Run::read(&files).expect("readable");
        let contexts = Contexts::rebuild(&run);
        let first = &contexts.by_step[&1];
        let hash = |text: &str| json!(hex::encode(sha256(text.as_bytes())));
        computed.insert(
            format!("{mode}_instructions_sha256"),
            hash(&first[0].words()),
        );
        computed.insert(
            format!("{mode}_step1_context_sha256"),
            hash(&line::render(first)),
        );
        let declared = &run.main_trace()[1].payload;
        let objective = declared.stated_objective.as_deref().expect("an intent");
        let mission = mission(&run).expect("a mission");
        let kernel = mission.kernel_sha256(objective, &declared.session_scope_hint);
        computed.insert("kernel_sha256".to_owned(), json!(kernel));
        if mode == "baseline" {
            let of_file = |path| json!(hex::encode(sha256(files.get(path).expect("listed"))));
            let effects = of_file("run/effects.jsonl");
            computed.insert("E1_baseline_effects_jsonl_sha256".to_owned(), effects);
            let archive = of_file("run/archive/cmp-1.json");
            computed.insert("E1_baseline_archive_cmp1_sha256".to_owned(), archive);
        }
    }
    assert_eq!(*vectors, computed);
}

#[test]
fn remembering_has_the_expected_price() {
    let Some(expected) = expected() else { return };
    let [baseline, governed] = LABELS.map(|label| import(label).expect("beside expected.json"));
    let price = PriceOfRemembering::between(&baseline.evaluation, &governed.evaluation);
    assert_same(&expected["price_of_remembering"], &json!([price]));
}

#[test]
fn the_published_check_says_the_same_without_the_summary() {
    let Some(expected) = expected() else { return };
    let baseline = import("E1-baseline").expect("beside expected.json");
    let compaction = &baseline.evaluation.compactions[0];
    let mut control = expected["empty_summary_control_E1-baseline_cmp-1"].clone();
    control.as_object_mut().expect("an object").remove("note");
    assert_same(&control, &json!(compaction.control_empty_summary));
    assert_eq!(
        compaction.control_empty_summary.cf_missing,
        compaction.cf_missing
    );
}

#[test]
fn changed_results_are_reported_by_their_place() {
    let Some(baseline) = import("E1-baseline") else {
        return;
    };
    let mut results = baseline.evaluation.to_results();
    results["cost"]["input_tokens"] = json!(1);
    results["compactions"][0]["cf_missing"] = json!([]);
    results["unheard_of"] = json!("x");
    assert_eq!(
        baseline.evaluation.differences(&results),
        [
            "/compactions/0/cf_missing: recorded [], computed [\"CF6\"]",
            "/cost/input_tokens: recorded 1, computed 116043",
            "/unheard_of: recorded \"x\", computed null",
        ]
    );
}

#[test]
fn the_files_of_each_run_refer_to_one_another() {
    for (label, calls, responses, sessions, events) in [
        ("E1-baseline", 35, 14, 2, 89),
        ("E1-governed", 37, 11, 3, 93),
    ] {
        let Some(import) = import(label) else { return };
        let joins = Joins {
            tool_calls: calls,
            tool_calls_joined: calls,
            tool_snapshots_joined: calls,
            tool_calls_requested: calls,
            model_responses: responses,
            token_snapshots_joined: responses,
            completion_tokens_joined: responses,
            governor_sessions: sessions,
            governor_events: events,
            ..Joins::default()
        };
        assert_eq!(import.joins, joins);
    }
}
