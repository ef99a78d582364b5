//! What the end-to-end tests share: the binary, a running server, and the data that nobody here wrote.

pub(crate) mod audit;
pub(crate) mod journal;
pub(crate) mod load;
mod moto;
pub(crate) mod mount;
pub(crate) mod postgres;
pub(crate) mod process;
pub(crate) mod random;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use moto::{Moto, python};
pub(crate) use server::{Server, problem_slug};

/// The name of every ledger that the crash tests make.
pub(crate) const ORIGIN: &str = "ledger.example/faults";

/// Runs the program and returns what it printed and its exit code.
pub(crate) fn remembrancer<I: AsRef<std::ffi::OsStr>>(arguments: &[I]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
        .args(arguments)
        .env_remove("REMEMBRANCER_DATA")
        .output();
    output.expect("the program can be started")
}

/// Runs the program, demands exit code 0, and returns its standard output.
pub(crate) fn succeed<I: AsRef<std::ffi::OsStr>>(arguments: &[I]) -> String {
    let output = remembrancer(arguments);
    assert!(
        output.status.success(),
        "exit {:?}\n{}\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The session of the acts of those who run a ledger: making a key begins it.
pub(crate) const ADMIN_SESSION: &str = "remembrancer.admin";

/// Runs the program with `--format json` and parses what it prints.
pub(crate) fn json(arguments: &[&str]) -> serde_json::Value {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--format", "json"])
        .collect();
    serde_json::from_str(&succeed(&arguments)).expect("output is JSON")
}

/// The recorded data beside the project. Without it a test fails where CI is set, and is skipped, visibly, elsewhere.
pub(crate) fn shared_data(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REMEMBRANCER_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is missing: put the recorded data beside the project, or name its folder in REMEMBRANCER_SHARED_DATA",
        found.display()
    );
    eprintln!("skipped: {} is missing", found.display());
    None
}

/// A ledger with the recorded pair, imported anew.
pub(crate) fn imported_pair() -> Option<(tempfile::TempDir, PathBuf)> {
    let pair = shared_data("mission-continuity")?;
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = folder.path().join("data");
    for run in ["E1-baseline", "E1-governed"] {
        succeed(&[
            "import",
            "mission-continuity",
            pair.join(run).to_str().unwrap(),
            "--data",
            data.to_str().unwrap(),
        ]);
    }
    Some((folder, data))
}

/// A tool that CI installs. Without it a test fails where CI is set, and is skipped, visibly, elsewhere.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed");
        eprintln!("skipped: {name} is not installed");
    }
    found
}
