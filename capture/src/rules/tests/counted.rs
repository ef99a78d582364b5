//! How well the rules that are proposed agree with those that a reader finds, on messages that people really wrote.
//!
//! What stands here beside each session is what a reader took for a rule: a sentence that limits or shapes the work to come, as
//! against a task, a question, an approval or a report. `docs/mission-file.md` has the counts.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::*;
use crate::recorded_data::shared;

/// A session, and of each rule in it the line of the file and words that stand in the rule.
type Read = (&'static str, &'static [(u64, &'static str)]);

const CLAUDE_CODE: &[Read] = &[
    (
        "cc-01-auto-one-compaction",
        &[(1, "note the ACCESSIBLE requirement")],
    ),
    (
        "cc-02-two-compactions-constraints-lost",
        &[
            (1, "default to 'off'"),
            (1, "specific claude-only generation for now"),
            (42, "use the british spelling"),
            (44, "ensure we log"),
            (46, "just manual commit for now"),
            (56, "keep it simple for now"),
            (62, "not the entire transcript log"),
            (93, "keep it local"),
            (382, "not bring all the contents in"),
            (504, "keep them somewhat separate for now"),
        ],
    ),
    (
        "cc-04-microcompact",
        &[(91, "skip 5, 7, 8"), (357, "skip 2738999818")],
    ),
];
/// A session of another person and program.
const PI: &[Read] = &[(
    "pi-01-v1-two-compactions",
    &[
        (21, "only want e2e tests"),
        (21, "needs to cover all the things"),
        (21, "needs to have work packages"),
        (23, "must be written in such a way"),
        (92, "keep the old code around"),
        (363, "don't read the full file"),
        (524, "fully self-contained implementatino"),
        (524, "needs to be duplicated or moved"),
        (791, "nothing else"),
        (959, "want to put it in pendingMessageContainer"),
    ],
)];

/// What came of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Rules that the reader found.
    read: usize,
    /// Those of them that are proposed.
    found: usize,
    /// Everything that is proposed.
    proposed: usize,
}

/// What the person wrote, by line. What the program wrote into the user's place is told by its record, not by its words.
fn messages(file: &Path) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(file).expect("readable");
    let message = |(number, line): (u64, &str)| {
        let record: Value = serde_json::from_str(line).ok()?;
        let is_made = record["isMeta"] == true || record["isCompactSummary"] == true;
        let message = &record["message"];
        if message["role"] != "user" || is_made {
            return None;
        }
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => {
                let texts = blocks.iter().filter_map(|block| block["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => return None,
        };
        (!text.trim().is_empty()).then_some((number, text))
    };
    (1..).zip(text.lines()).filter_map(message).collect()
}

/// Compares, and says each difference.
fn compare(sessions: &[Read], differences: &mut Vec<String>) -> Option<Counts> {
    let mut counts = Counts::default();
    for (name, read) in sessions {
        let file = shared(&format!("transcripts/{name}.jsonl"))?;
        let mut found = BTreeSet::new();
        for (line, message) in messages(&file) {
            for rule in proposed(&message) {
                counts.proposed += 1;
                let own = (0..read.len())
                    .find(|at| read[*at].0 == line && rule.text.contains(read[*at].1));
                if own.is_none() {
                    differences.push(format!("{name}, line {line}, no rule: {}", rule.text));
                }
                found.extend(own);
            }
        }
        counts.found += found.len();
        counts.read += read.len();
        let missed = (0..read.len()).filter(|at| !found.contains(at));
        differences.extend(missed.map(|at| format!("{name}, missed: {:?}", read[at])));
    }
    Some(counts)
}

/// The constraints of the labelled pairs, each once.
fn constraints() -> Option<BTreeSet<String>> {
    distinct("compint-labelled-pairs", "constraint")
}

/// The standing instructions of the compaction cases, each once.
fn instructions() -> Option<BTreeSet<String>> {
    distinct("compaction-guard-cases", "invariant")
}

fn distinct(name: &str, field: &str) -> Option<BTreeSet<String>> {
    let file = shared(&format!("transcripts/{name}.jsonl"))?;
    let content = std::fs::read_to_string(file).expect("readable");
    let text = |line: &str| {
        let row: Value = serde_json::from_str(line).ok()?;
        Some(row[field].as_str()?.to_owned())
    };
    Some(content.lines().filter_map(text).collect())
}

/// How many of some texts hold a rule, and of how many.
fn ruling(texts: &BTreeSet<String>) -> (usize, usize) {
    let with = texts.iter().filter(|text| !proposed(text).is_empty());
    (with.count(), texts.len())
}

#[test]
fn conformance_the_documented_counts_are_those_of_the_recorded_sessions() {
    let mut differences = Vec::new();
    let Some(claude_code) = compare(CLAUDE_CODE, &mut differences) else {
        return;
    };
    let pi = compare(PI, &mut differences).expect("beside the others");
    let counts = |read, found, proposed| Counts {
        read,
        found,
        proposed,
    };
    assert_eq!(
        (claude_code, pi),
        (counts(13, 13, 13), counts(10, 8, 9)),
        "{differences:#?}"
    );
    let constraints = constraints().expect("beside the others");
    let instructions = instructions().expect("beside the others");
    assert_eq!(ruling(&constraints), (10, 12));
    assert_eq!(ruling(&instructions), (38, 40));
}
