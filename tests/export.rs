//! The exported tables, opened by a program that shares no code with this one.

use std::process::Command;

use serde_json::Value;

use crate::support::{imported_pair, json, succeed};

#[test]
fn conformance_duckdb_reads_the_ledgers_own_counts_from_the_tables() {
    let Some((folder, data)) = imported_pair() else {
        return;
    };
    let data = data.to_str().unwrap();
    let out = folder.path().join("tables");
    succeed(&["export", "--data", data, "--out", out.to_str().unwrap()]);
    let python = std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_duckdb = Command::new(&python)
        .args(["-c", "import duckdb"])
        .output()
        .is_ok_and(|done| done.status.success());
    if !has_duckdb {
        assert!(
            std::env::var_os("CI").is_none(),
            "{python} has no duckdb: pip install duckdb"
        );
        eprintln!("skipped: {python} has no duckdb");
        return;
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/independent/read_export.py"
    );
    let output = Command::new(&python)
        .arg(script)
        .arg(&out)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();

    let sessions = json(&["sessions", "--data", data]);
    let sum = |field: &str| -> u64 {
        sessions
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session[field].as_u64().unwrap())
            .sum()
    };
    assert_eq!(read["rows"]["sessions"], 2);
    assert_eq!(read["rows"]["entries"], sum("entries"));
    assert_eq!(read["rows"]["actions"], sum("actions"));
    assert_eq!(read["rows"]["turns"], sum("turns"));
    let of_both = |command: &str| -> u64 {
        ["E1-baseline", "E1-governed"]
            .iter()
            .map(|session| {
                json(&[command, session, "--data", data])
                    .as_array()
                    .unwrap()
                    .len() as u64
            })
            .sum()
    };
    assert_eq!(read["rows"]["mutations"], of_both("mutations"));
    assert_eq!(read["rows"]["findings"], of_both("findings"));
    let without_trace: u64 = ["E1-baseline", "E1-governed"]
        .iter()
        .map(|session| {
            json(&["presence", session, "--data", data])["summary"]["actions_without_trace"]
                .as_u64()
                .unwrap()
        })
        .sum();
    assert_eq!(read["actions_without_trace"], without_trace);

    let again = folder.path().join("again");
    succeed(&["export", "--data", data, "--out", again.to_str().unwrap()]);
    for file in std::fs::read_dir(&out).unwrap() {
        let file = file.unwrap();
        let other = std::fs::read(again.join(file.file_name())).unwrap();
        assert!(
            std::fs::read(file.path()).unwrap() == other,
            "{:?} differs between two exports",
            file.file_name()
        );
    }
}
