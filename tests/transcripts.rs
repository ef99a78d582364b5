//! The transcripts of agent programs, through the program as its user runs it. Most of them nobody here wrote: recorded runs of
//! Claude Code and pi, shortened; the others have the fields of their formats.

mod claude_code;
mod codex_and_pi;
mod governor;
mod inspect;
mod memory;
mod mission;
mod no_writes;
mod openhands;
mod scan;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{json, shared_data, succeed};

/// A ledger with what was imported into it.
struct Imported {
    _folder: tempfile::TempDir,
    data: PathBuf,
    report: Value,
}

/// Imports a recorded transcript with further arguments; without the recorded data, nothing.
fn imported(file: &str, arguments: &[&str]) -> Option<Imported> {
    let path = shared_data(&format!("transcripts/{file}"))?;
    Some(imported_from(&path, arguments))
}

fn imported_from(path: &Path, arguments: &[&str]) -> Imported {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = folder.path().join("data");
    let mut imported = Imported {
        _folder: folder,
        data,
        report: Value::Null,
    };
    imported.report = imported.import(path, arguments);
    imported
}

impl Imported {
    fn import(&self, path: &Path, arguments: &[&str]) -> Value {
        let mut all = vec!["import", path.to_str().unwrap()];
        all.extend(["--data", self.data.to_str().unwrap()]);
        all.extend(arguments);
        json(&all)
    }

    /// The id of the session of the first file.
    fn session(&self) -> &str {
        self.report["files"][0]["sessions"][0]["session"]
            .as_str()
            .expect("a session")
    }

    /// What a command says of the session.
    fn told(&self, command: &str) -> Value {
        json(&[
            command,
            self.session(),
            "--data",
            self.data.to_str().unwrap(),
        ])
    }

    /// Turn and kind of every mutation.
    fn mutations(&self) -> Vec<(u64, String)> {
        let mutations = self.told("mutations");
        let mutations = mutations.as_array().expect("a list").iter();
        mutations
            .map(|mutation| {
                let kind = mutation["kind"].as_str().expect("a kind");
                (mutation["turn"].as_u64().expect("a turn"), kind.to_owned())
            })
            .collect()
    }
}

/// A mission whose rules hold from the first request that has their words, and are found by them.
fn mission(folder: &Path, kind: &str, rules: &[&str]) -> PathBuf {
    let mut text = format!("{kind}:\n");
    for rule in rules {
        text.push_str(&format!(
            "  - text: {rule:?}\n    from: first_stated\n    matcher: {{ all_of: [ {{ literal: {rule:?} }} ] }}\n"
        ));
    }
    let path = folder.join("mission.yaml");
    std::fs::write(&path, text).expect("the mission can be written");
    path
}

#[test]
fn conformance_every_transcript_is_read_without_loss_and_twice_adds_nothing() {
    let Some(folder) = shared_data("transcripts") else {
        return;
    };
    let expected = [
        ("cc-01-auto-one-compaction.jsonl", "claude-code", 130),
        (
            "cc-02-two-compactions-constraints-lost.jsonl",
            "claude-code",
            830,
        ),
        ("cc-04-microcompact.jsonl", "claude-code", 787),
        (
            "cc-06-boundary-2.1.270-fields-synthetic.jsonl",
            "claude-code",
            12,
        ),
        ("codex-01-local-compaction-synthetic.jsonl", "codex", 14),
        (
            "codex-02-remote-opaque-compaction-synthetic.jsonl",
            "codex",
            7,
        ),
        ("pi-01-v1-two-compactions.jsonl", "pi", 1883),
    ];
    let imported = imported_from(&folder, &[]);
    let files = |report: &Value| -> Vec<Value> { report["files"].as_array().unwrap().clone() };
    for (name, format, events) in expected {
        let files = files(&imported.report);
        let file = files
            .iter()
            .find(|file| file["file"].as_str().unwrap().ends_with(name))
            .unwrap_or_else(|| panic!("{name} is not among the files"));
        let session = &file["sessions"][0];
        assert_eq!(
            (
                file["format"].as_str(),
                session["recorded"].as_u64(),
                file["malformed"].as_u64()
            ),
            (Some(format), Some(events), Some(0)),
            "{name}"
        );
    }
    let again = imported.import(&folder, &[]);
    assert_eq!(again["recorded"], 0);
    assert_eq!(again["duplicate"], imported.report["recorded"]);
}

#[test]
fn a_line_that_is_no_record_is_told_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let lines = [
        r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"content":"go"}}"#,
        r#"{"type":"user","uuid":"b","#,
        r#"{"type":"assistant","uuid":"c","parentUuid":"a","sessionId":"s","message":{"id":"m","content":[{"type":"text","text":"ok"}]}}"#,
    ];
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let imported = imported_from(&path, &[]);
    let file = &imported.report["files"][0];
    assert_eq!(
        (&file["malformed"], &file["notices"][0]["line"]),
        (&1.into(), &2.into())
    );
    let presence = imported.told("presence");
    assert_eq!(presence["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn conformance_every_file_imports_and_a_second_time_adds_nothing() {
    let files = [
        (
            "transcripts/openhands-01-condensation-generated.jsonl",
            "openhands",
        ),
        ("transcripts/inspect-01-trim-generated.eval", "inspect"),
        ("transcripts/inspect-02-summary-generated.eval", "inspect"),
        ("governor/trace1-claude-code.jsonl", "governor"),
        ("governor/trace2-mcp.jsonl", "governor"),
    ];
    for (name, format) in files {
        let Some(file) = shared_data(name) else {
            return;
        };
        let imported = imported_from(&file, &[]);
        let report = &imported.report;
        assert_eq!(report["files"][0]["format"], format, "{name}");
        assert_eq!(
            (&report["failed"], &report["duplicate"]),
            (&Value::Array(vec![]), &0.into()),
            "{name}"
        );
        let recorded = report["recorded"].as_u64().unwrap();
        assert!(recorded > 10, "{name}: {report}");
        let again = imported.import(&file, &[]);
        assert_eq!(
            (&again["recorded"], &again["duplicate"]),
            (&0.into(), &recorded.into()),
            "{name}"
        );
        succeed(&["verify", "--data", imported.data.to_str().unwrap()]);
    }
}
