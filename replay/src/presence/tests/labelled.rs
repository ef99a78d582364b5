//! The labelled sets: nothing that a person or a label calls gone or changed may count as present.

use std::fs;

use serde_json::Value;

use super::*;

fn cases(name: &str) -> Option<Vec<Value>> {
    let path = recorded_data(&format!("transcripts/{name}"))?;
    let text = fs::read_to_string(path).expect("a labelled set is readable");
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).expect("one case a line"))
            .collect(),
    )
}

fn kind_of(text: &str) -> ConstraintKind {
    let lower = text.to_lowercase();
    if ["not ", "never", "don't"]
        .iter()
        .any(|word| lower.contains(word))
    {
        ConstraintKind::Prohibition
    } else {
        ConstraintKind::Obligation
    }
}

const KINDS: [ConstraintKind; 4] = [
    ConstraintKind::Prohibition,
    ConstraintKind::Obligation,
    ConstraintKind::Permission,
    ConstraintKind::Fact,
];

#[test]
fn no_pair_that_people_judged_absent_is_present() {
    let Some(pairs) = cases("compint-labelled-pairs.jsonl") else {
        return;
    };
    let mut judged_present = 0;
    for pair in &pairs {
        let (declared, text) = (
            pair["constraint"].as_str().unwrap_or(""),
            pair["compacted"].as_str().unwrap_or(""),
        );
        if pair["human_present"] == true {
            judged_present += usize::from(
                stands(kind_of(declared), declared, PartKind::Summary, text).is_present(),
            );
            continue;
        }
        for kind in KINDS {
            let presence = stands(kind, declared, PartKind::Summary, text);
            assert!(
                !presence.is_present(),
                "{declared} in pair {}: {presence:?}",
                pair["id"]
            );
        }
    }
    assert!(
        judged_present >= COMPINT_PRESENT_MIN,
        "{judged_present} of the survivors are found"
    );
}

#[test]
fn no_changed_or_dropped_case_is_present_and_every_kept_one_is() {
    let Some(cases) = cases("compaction-guard-cases.jsonl") else {
        return;
    };
    for case in &cases {
        let declared = case["invariant"].as_str().unwrap_or("");
        let mut contexts = Contexts::default();
        let messages = case["after"].as_array().into_iter().flatten();
        let parts = messages
            .map(|message| {
                let kind = match message["role"].as_str() {
                    Some("system") => PartKind::System,
                    Some("assistant") => PartKind::Assistant,
                    _ => PartKind::User,
                };
                contexts.part(kind, message["content"].as_str().unwrap_or(""))
            })
            .collect();
        contexts.turn(1, parts);
        let label = case["label"].as_str().unwrap_or("");
        let kinds: &[ConstraintKind] = if label == "preserved" {
            &[kind_of(declared)]
        } else {
            &KINDS
        };
        for kind in kinds {
            let row = matrix(&contexts.timeline, &[], &[constraint("c", *kind, declared)]);
            let presence = &row[0][0];
            match label {
                "preserved" => assert!(presence.is_present(), "{}: {presence:?}", case["case_id"]),
                "paraphrased" => {}
                _ => assert!(
                    !presence.is_present(),
                    "{label} {}: {presence:?}",
                    case["case_id"]
                ),
            }
        }
    }
}

/// Survivors of the human-judged pairs that these strict states find; the rest are paraphrases.
const COMPINT_PRESENT_MIN: usize = 2;
