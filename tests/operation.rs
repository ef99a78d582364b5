//! What an operator does: look, back up, restore, migrate; and what is shipped for running the program.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Server, json as run_json, remembrancer, succeed};

fn events(session: &str, from: usize, count: usize) -> Value {
    let event = |number: usize| match number {
        0 => {
            json!({ "id": "start", "session": session, "type": "session.started", "data": { "label": session } })
        }
        _ => {
            json!({ "id": format!("n{number}"), "session": session, "type": "custom.note", "data": { "n": number } })
        }
    };
    (from..from + count).map(event).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs the program and demands an exit code; standard output and standard error together.
fn exits(code: i32, arguments: &[&str]) -> String {
    let output = remembrancer(arguments);
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{told}");
    told
}

fn finding<'a>(outcome: &'a Value, check: &str) -> &'a Value {
    let findings = outcome["findings"].as_array().expect("findings");
    findings
        .iter()
        .find(|finding| finding["check"] == check)
        .unwrap_or_else(|| panic!("nothing on {check}: {outcome:#}"))
}

#[test]
fn a_backup_made_under_load_restores_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (backup, restored) = (folder.path().join("backup"), folder.path().join("restored"));
    let server = Server::start();
    let write = server.key("write");
    server.post_until_taken(&write, &events("before", 0, 100));
    let data = server.data.clone();
    let made = std::thread::scope(|scope| {
        let backing = scope.spawn(|| {
            run_json(&[
                "backup",
                "--data",
                text(&data),
                "--to",
                text(&backup),
                "--with-key",
            ])
        });
        for batch in 0..20 {
            let session = format!("during-{batch}");
            server.post_until_taken(&write, &events(&session, 0, 10));
        }
        backing.join().expect("backs up")
    });
    assert_eq!(made["verified"], true);
    let state = &made["manifest"]["ledgers"][0]["state"];
    let entries = state["entries"].as_u64().expect("a number");
    assert!(entries >= 100, "{made:#}");
    assert!(
        state["checkpoint"]
            .as_str()
            .is_some_and(|note| note.contains(&format!("\n{entries}\n"))),
        "{state:#}"
    );
    exits(2, &["backup", "--data", text(&data), "--to", text(&backup)]);
    let told = exits(
        2,
        &["serve", "--listen", "127.0.0.1:0", "--data", text(&backup)],
    );
    assert!(told.contains("remembrancer restore"), "{told}");

    let mut anchor = PathBuf::new();
    server.stop_and_keep(|data| {
        anchor = folder.path().join("anchor");
        std::fs::copy(data.join("ledger.checkpoint"), &anchor).unwrap();
    });
    let note = std::fs::read_to_string(&anchor).unwrap();
    let total: u64 = note.lines().nth(1).unwrap().parse().expect("its size");
    assert!(total >= 300, "{note}");
    let outcome = run_json(&[
        "restore",
        "--from",
        text(&backup),
        "--data",
        text(&restored),
        "--anchor",
        text(&anchor),
    ]);
    assert_eq!(outcome["ledgers"][0]["entries"], entries);
    assert_eq!(outcome["ledgers"][0]["key"], "present");
    if total > entries {
        assert_eq!(outcome["ledgers"][0]["anchor_states"], total);
        assert!(
            outcome["next"].to_string().contains("entries are lost"),
            "{outcome:#}"
        );
        let told = exits(
            2,
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--data",
                text(&restored),
                "--anchor",
                text(&anchor),
            ],
        );
        assert!(told.contains("rolled-back"), "{told}");
    }
    succeed(&[
        "verify",
        "--data",
        text(&restored),
        "--key",
        text(&restored.join("ledger.pub.pem")),
    ]);
    let server = Server::start_on(&restored);
    // Keys are in the backup: whoever had one goes on with it.
    let answer = server.post(&write, &events("after", 0, 1)).json();
    // Entries of the ledger's own may stand between: the restore was an act, too.
    assert!(
        answer["results"][0]["index"].as_u64() >= Some(entries),
        "{answer:#}"
    );
    let acts = server
        .get(
            &server.key("read"),
            "/v1/sessions/remembrancer.admin/entries",
        )
        .to_string();
    assert!(acts.contains("admin.backup_restored"), "{acts}");
}

#[test]
fn a_backup_that_was_changed_is_refused_with_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (backup, restored) = (folder.path().join("backup"), folder.path().join("restored"));
    let server = Server::start();
    let write = server.key("write");
    server.post_until_taken(&write, &events("s", 0, 5));
    let told = exits(
        0,
        &[
            "backup",
            "--data",
            text(&server.data),
            "--to",
            text(&backup),
        ],
    );
    assert!(
        told.contains("verified") && told.contains("ledger-key.pem"),
        "{told}"
    );
    let database = backup.join("ledger.sqlite");
    let mut bytes = std::fs::read(&database).unwrap();
    let place = bytes
        .windows(5)
        .rposition(|five| five == b"{\"n\":")
        .expect("a payload");
    bytes[place + 5] ^= 1;
    std::fs::write(&database, bytes).unwrap();
    let told = exits(
        1,
        &[
            "restore",
            "--from",
            text(&backup),
            "--data",
            text(&restored),
        ],
    );
    assert!(told.contains("ledger.sqlite has other bytes"), "{told}");
    assert!(!restored.join("ledger.sqlite").exists());
}

#[test]
fn doctor_looks_at_a_running_server_and_at_a_broken_folder() {
    let server = Server::start();
    let write = server.key("write");
    server.post_until_taken(&write, &events("s", 0, 50));
    let data = server.data.clone();
    let listen = server.url.trim_start_matches("http://").to_owned();
    let outcome = run_json(&["doctor", "--data", text(&data), "--listen", &listen]);
    assert_eq!(finding(&outcome, "address")["level"], "ok", "{outcome:#}");
    assert!(
        finding(&outcome, "lock")["found"]
            .as_str()
            .unwrap()
            .starts_with("held by")
    );
    assert!(
        finding(&outcome, "newest checkpoint")["found"]
            .as_str()
            .unwrap()
            .contains(" entries of ")
    );
    let told = exits(0, &["doctor", "--ready", &server.url]);
    assert!(told.contains("ready"), "{told}");
    let url = server.url.clone();
    server.stop_and_keep(|data| {
        exits(1, &["doctor", "--ready", &url]);
        std::fs::remove_file(data.join("ledger-key.pem")).unwrap();
        let told = exits(
            1,
            &["doctor", "--data", text(data), "--listen", "127.0.0.1:0"],
        );
        assert!(told.contains("FAIL  private key"), "{told}");
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("remembrancer.toml");
    std::fs::write(&file, "listen = \"nonsense\"\n").unwrap();
    let told = exits(1, &["doctor", "--config", text(&file)]);
    assert!(
        told.contains("FAIL  configuration") && told.contains("listen"),
        "{told}"
    );
}

#[test]
fn migrate_says_what_it_would_do_and_asks_for_a_backup() {
    let server = Server::start();
    let write = server.key("write");
    server.post_until_taken(&write, &events("s", 0, 2));
    server.stop_and_keep(|data| {
        let outcome = run_json(&["migrate", "--data", text(data), "--dry-run"]);
        assert_eq!(outcome["done"], false);
        let ledger = &outcome["ledgers"][0];
        assert_eq!(
            ledger["from"], ledger["to"],
            "a new ledger is made at the newest version"
        );
        assert_eq!(ledger["steps"], json!([]));
        succeed(&["migrate", "--data", text(data)]);
    });
    let told = exits(2, &["migrate", "--data", "/nowhere/at/all"]);
    assert!(told.contains("holds no ledger"), "{told}");
}

// --- what is shipped ---------------------------------------------------------------------------

fn shipped(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// The flags in a command line, each of which the command's help must know.
fn known_flags(command: &str, line: &str) {
    let help = succeed(&[command, "--help"]);
    let flags: Vec<&str> = line
        .split([' ', '"', ','])
        .filter(|word| word.starts_with("--"))
        .collect();
    assert!(!flags.is_empty(), "no flags in {line:?}");
    for flag in flags {
        assert!(
            help.contains(&format!("{flag} ")),
            "{command} has no {flag}\n{help}"
        );
    }
}

/// The values of a key in a unit file, in order.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .collect()
}

fn seconds(value: &str) -> u64 {
    value.parse().expect("seconds")
}

#[test]
fn the_systemd_unit_runs_a_command_that_exists_without_rights() {
    let unit = shipped("packaging/remembrancer.service");
    let [start] = values(&unit, "ExecStart")[..] else {
        panic!("one ExecStart");
    };
    assert!(
        start.starts_with("/usr/local/bin/remembrancer serve "),
        "{start}"
    );
    known_flags("serve", start);
    for (key, value) in [
        ("DynamicUser", "yes"),
        ("StateDirectory", "remembrancer"),
        ("StateDirectoryMode", "0700"),
        ("ProtectSystem", "strict"),
        ("NoNewPrivileges", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("CapabilityBoundingSet", ""),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"),
        ("Restart", "on-failure"),
    ] {
        assert_eq!(values(&unit, key), [value], "{key}");
    }
    assert_eq!(values(&unit, "SystemCallFilter")[0], "@system-service");
    let limits = succeed(&["config", "--format", "json"]);
    let limits: Value = serde_json::from_str(&limits).expect("JSON");
    let limit =
        |name: &str| find_number(&limits, name).unwrap_or_else(|| panic!("{name}: {limits:#}"));
    assert!(seconds(values(&unit, "TimeoutStopSec")[0]) > limit("drain_seconds_max"));
    assert!(seconds(values(&unit, "LimitNOFILE")[0]) > limit("connections_max") + 100);
    for variable in values(&unit, "Environment") {
        assert_variable(variable);
    }
}

/// A number somewhere in the printed settings, by its name.
fn find_number(value: &Value, name: &str) -> Option<u64> {
    match value {
        Value::Object(members) => members.iter().find_map(|(key, value)| {
            if key == name || key.ends_with(&format!(".{name}")) {
                value.as_u64().or_else(|| value["value"].as_u64())
            } else {
                find_number(value, name)
            }
        }),
        Value::Array(items) => items.iter().find_map(|item| find_number(item, name)),
        _ => None,
    }
}

/// A `NAME=value` for the environment names a setting.
fn assert_variable(assignment: &str) {
    let (name, _) = assignment.split_once('=').expect("an assignment");
    let setting = name
        .strip_prefix("REMEMBRANCER_")
        .expect("a variable of ours")
        .to_lowercase();
    let example = succeed(&["config", "--example"]);
    let is_known = example.lines().any(|line| {
        line.trim_start_matches(['#', ' '])
            .starts_with(&format!("{setting} ="))
    });
    assert!(is_known, "no setting {setting}\n{example}");
}

#[test]
fn the_image_runs_a_pinned_program_as_a_user_without_rights() {
    let file = shipped("Dockerfile");
    let of = |instruction: &str| -> Vec<&str> {
        let lines = file.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter(|(name, _)| *name == instruction)
            .map(|(_, rest)| rest)
            .collect()
    };
    let bases = of("FROM");
    assert_eq!(bases.len(), 2, "one stage builds, one runs");
    for base in &bases {
        let (_, tag) = base
            .split_whitespace()
            .next()
            .unwrap()
            .split_once(':')
            .expect("a tag");
        assert!(
            tag.starts_with(|digit: char| digit.is_ascii_digit()) && tag.contains('.'),
            "{base} is not pinned"
        );
    }
    let toolchain = shipped("Cargo.toml");
    let wanted = toolchain
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .expect("a version")
        .trim_matches('"');
    assert!(
        bases[0].starts_with(&format!("rust:{wanted}.")),
        "{bases:?}"
    );
    assert!(file.contains("cargo build --release --locked"));
    assert_eq!(of("USER"), ["10001:10001"], "not root");
    assert!(
        file.rfind("USER ") > file.rfind("RUN "),
        "nothing is installed as that user"
    );
    assert_eq!(of("ENTRYPOINT"), ["[\"remembrancer\"]"]);
    assert_eq!(of("CMD"), ["[\"serve\"]"]);
    let health = file
        .lines()
        .skip_while(|line| !line.starts_with("HEALTHCHECK"))
        .nth(1)
        .expect("its command");
    assert!(health.contains("\"remembrancer\", \"doctor\""), "{health}");
    known_flags("doctor", health);
    let variables = file
        .lines()
        .map(|line| line.trim_start_matches("ENV ").trim());
    let variables: Vec<&str> = variables
        .filter(|line| line.starts_with("REMEMBRANCER_"))
        .map(|line| line.trim_end_matches(" \\"))
        .collect();
    assert_eq!(variables.len(), 3);
    variables.into_iter().for_each(assert_variable);
}

#[test]
fn what_is_copied_into_the_image_is_what_the_build_needs_and_no_key() {
    let ignored = shipped(".dockerignore");
    let rules: Vec<&str> = ignored
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(
        rules[0], "*",
        "everything is left out but for what is named"
    );
    let named: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule.strip_prefix('!'))
        .collect();
    for member in [
        "Cargo.toml",
        "Cargo.lock",
        "src",
        "schema",
        "replay",
        "recorder",
        "exports",
        "web",
    ] {
        assert!(named.contains(&member), "{member} is needed");
    }
    for left_out in [".git", "remembrancer-data", "target"] {
        assert!(!named.contains(&left_out), "{left_out}");
    }
    let last_named = rules
        .iter()
        .rposition(|rule| rule.starts_with('!'))
        .unwrap();
    for never in ["**/*.pem", "**/*.sqlite*", "**/target"] {
        let place = rules.iter().position(|rule| *rule == never).expect(never);
        assert!(place > last_named, "a later rule wins");
    }
}
