//! `remembrancer scan` on a home folder of its own.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::shared_data;

fn scan(home: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
        .arg("scan")
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .output();
    output.expect("the program can be started")
}

fn scanned(home: &Path) -> Value {
    let output = scan(home, &["--format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    serde_json::from_slice(&output.stdout).expect("output is JSON")
}

/// A home folder with a recorded session of each program.
fn home() -> Option<tempfile::TempDir> {
    let transcripts = shared_data("transcripts")?;
    let home = tempfile::tempdir().unwrap();
    for (file, place) in [
        (
            "cc-02-two-compactions-constraints-lost.jsonl",
            ".claude/projects/-home-dev/1e0816ef-6f89-4f05-b331-dab09bb14485.jsonl",
        ),
        (
            "codex-01-local-compaction-synthetic.jsonl",
            ".codex/sessions/2026/02/01/rollout-1.jsonl",
        ),
        (
            "pi-01-v1-two-compactions.jsonl",
            ".pi/agent/sessions/--home-dev--/1.jsonl",
        ),
    ] {
        let path = home.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(transcripts.join(file), path).unwrap();
    }
    Some(home)
}

#[test]
fn conformance_a_scan_finds_what_is_there_and_tells_the_worst_first() {
    let Some(home) = home() else { return };
    let report = scanned(home.path());
    let sessions = report["sessions"].as_array().unwrap();
    let mut formats: Vec<&str> = sessions
        .iter()
        .map(|session| session["format"].as_str().unwrap())
        .collect();
    let without: Vec<u64> = sessions
        .iter()
        .map(|session| session["actions_without_trace"].as_u64().unwrap())
        .collect();
    assert!(without.is_sorted_by(|one, other| one >= other));
    formats.sort_unstable();
    assert_eq!(formats, ["claude-code", "codex", "pi"]);
    assert!(
        home.path()
            .join(".local/share/remembrancer/ledger.sqlite")
            .is_file()
    );
    let claude = sessions
        .iter()
        .find(|session| session["format"] == "claude-code")
        .unwrap();
    assert_eq!(claude["actions"], 208);
    assert_eq!(claude["mutations"]["compaction"], 2);

    let again = scanned(home.path());
    assert_eq!(again["recorded"], 0);
    assert_eq!(again["sessions"], report["sessions"]);

    let text = scan(home.path(), &[]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(!text.contains('\u{1b}'), "colours on no terminal: {text}");
    let session = claude["session"].as_str().unwrap();
    let opens = format!("remembrancer view {session} --data ");
    assert!(text.contains(&opens), "{text}");
}

#[test]
fn a_scan_without_histories_says_where_it_looked() {
    let home = tempfile::tempdir().unwrap();
    let output = scan(home.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains(".claude/projects") && told.contains("next:"),
        "{told}"
    );
    assert!(!home.path().join(".local").exists(), "nothing was made");
}
