//! Settings through the real program: what wins, what is printed, what is refused.

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Server, remembrancer};

/// Runs `remembrancer config` with an environment of the test's own.
fn config(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remembrancer"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REMEMBRANCER_") {
            command.env_remove(name);
        }
    }
    let output = command
        .arg("config")
        .args(arguments)
        .envs(environment.iter().copied())
        .output();
    output.expect("the program can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn what_holds_is_printed_with_its_sources_and_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("remembrancer.toml");
    std::fs::write(
        &file,
        "database = \"postgres://recorder:s3cr3t@db.example.org/ledger?sslpassword=s3cr3t\"\n[limits]\nuploads_max = 7\n",
    )
    .unwrap();
    let data = folder.path().to_str().unwrap();
    let environment = [
        ("REMEMBRANCER_METRICS", "open"),
        ("REMEMBRANCER_LISTEN", "127.0.0.1:1"),
    ];
    let flags = [
        "--data",
        data,
        "--listen",
        "127.0.0.1:2",
        "--limit",
        "batch_events_max=9",
    ];
    let output = config(&[&flags[..], &["--format", "json"]].concat(), &environment);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let file = file.to_str().unwrap();
    for (name, value, source) in [
        ("listen", Value::from("127.0.0.1:2"), "flag --listen"),
        (
            "metrics",
            "open".into(),
            "environment variable REMEMBRANCER_METRICS",
        ),
        ("limits.uploads_max", 7.into(), file),
        ("limits.batch_events_max", 9.into(), "flag --limit"),
        ("limits.connections_max", 512.into(), "default"),
        ("origin", Value::Null, "default"),
    ] {
        assert_eq!(printed[name]["value"], value, "{name}");
        assert_eq!(printed[name]["source"], source, "{name}");
    }
    let output = config(&flags, &environment);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("metrics = \"open\"  # environment variable REMEMBRANCER_METRICS\n"),
        "{shown}"
    );
    assert!(shown.contains("db.example.org"), "{shown}");
    assert!(
        !shown.contains("s3cr3t") && !printed.to_string().contains("s3cr3t"),
        "{shown}"
    );
}

#[test]
fn a_setting_that_cannot_hold_stops_the_program_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, "[limits]\nconnections_max = 0\n").unwrap();
    let named = file.to_str().unwrap();
    let output = config(&["--config", named], &[]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    let expected = format!("{named}: limits.connections_max = 0: 0 is out of range: 1 to 65536");
    assert!(told.contains(&expected), "{told}");
    let secret = [("REMEMBRANCER_DATABASE", "mysql://u:s3cr3t@h/d")];
    let output = config(&[], &secret);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("REMEMBRANCER_DATABASE") && !told.contains("s3cr3t"),
        "{told}"
    );
}

#[test]
fn a_server_says_what_holds_when_it_starts_and_keeps_to_it() {
    let server = Server::with(&[
        "--limit",
        "batch_events_max=2",
        "--limit",
        "drain_seconds_max=5",
    ]);
    let (write, read) = (server.key("write"), server.key("read"));
    let said = server.log();
    assert!(
        said.contains("batch_events_max = 2  # flag --limit\n"),
        "{said}"
    );
    assert!(said.contains("uploads_max = 64\n"), "{said}");
    let answer = server.post(&write, &serde_json::json!([{}, {}, {}]));
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (413, "batch-too-large")
    );
    let limits = server.get(&read, "/v1/limits");
    assert_eq!(limits["batch_events_max"], 2);
    assert!(limits["drain_seconds_max"].is_null(), "{limits}");
}

#[test]
fn commands_find_the_ledger_by_the_file_that_its_server_reads() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let file = folder.path().join("remembrancer.toml");
    std::fs::write(&file, "database = \"mysql://u:s3cr3t@h/d\"\n").unwrap();
    for command in [&["sessions"][..], &["tokens", "list"], &["verify"]] {
        let output = remembrancer(&[command, &["--data", data]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(file.to_str().unwrap()), "{told}");
        assert!(
            told.contains("database = …") && !told.contains("s3cr3t"),
            "{told}"
        );
    }
    let named = folder.path().join("other.toml");
    std::fs::write(&named, "[limits]\nx = 1\n").unwrap();
    let output = remembrancer(&["sessions", "--config", named.to_str().unwrap()]);
    assert!(
        text(&output.stderr).contains("limits.x"),
        "{}",
        text(&output.stderr)
    );
}
