//! Runs the independent follower, and gives it logs to follow.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::{ADMIN_SESSION, Server, python};

/// The follower, with a folder for what it saves.
pub(super) struct Follower {
    folder: tempfile::TempDir,
}

/// Where a log is, and who signs it.
pub(super) struct Log {
    prefix: String,
    pub(super) vkey: String,
    key: Option<String>,
}

impl Log {
    /// The key that reads it.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The same log, or one that says so, on another server.
    pub(super) fn at(&self, server: &Server) -> Self {
        Self {
            prefix: format!("{}/tlog", server.url),
            vkey: self.vkey.clone(),
            key: self.key.clone(),
        }
    }
}

impl Follower {
    /// `None` where Python has no Ed25519; a failure where CI is set.
    pub(super) fn new() -> Option<Self> {
        let python = python();
        let has_it = Command::new(&python)
            .args(["-c", "import cryptography"])
            .output()
            .is_ok_and(|done| done.status.success());
        if !has_it {
            assert!(
                std::env::var_os("CI").is_none(),
                "{python} has no cryptography: pip install cryptography"
            );
            eprintln!("skipped: {python} has no cryptography");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Some(Self { folder })
    }

    /// A file for the follower.
    pub(super) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The log that a server serves.
    pub(super) fn log_of(&self, server: &Server) -> Log {
        let key = server.key("read");
        let answer = server.send("GET", "/v1/verifier-key", Some(&key), "text/plain", b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        Log {
            prefix: format!("{}/tlog", server.url),
            vkey: answer.body.trim().to_owned(),
            key: Some(key),
        }
    }

    /// Follows a log; an error is what the follower said.
    pub(super) fn follow(&self, log: &Log, more: &[&str]) -> Result<Value, String> {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/independent/follow_log.py"
        );
        let mut command = Command::new(python());
        command
            .arg(script)
            .arg(&log.prefix)
            .arg(&log.vkey)
            .args(more);
        command.env_remove("LOG_KEY");
        if let Some(key) = &log.key {
            command.env("LOG_KEY", key);
        }
        let output = command.output().expect("Python can be started");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => Ok(serde_json::from_slice(&output.stdout).expect("JSON")),
            // A sentence, and no exception that nobody thought of.
            Some(1) if !said.contains("Traceback") => Err(said),
            code => panic!("the follower ended with {code:?}: {said}"),
        }
    }

    /// Follows a log that is to be sound.
    pub(super) fn must(&self, log: &Log, more: &[&str]) -> Value {
        self.follow(log, more)
            .unwrap_or_else(|said| panic!("{more:?}: {said}"))
    }

    /// Changes a file of a copied log, follows it, and puts the file back. Returns what the follower said against it.
    pub(super) fn changed(
        &self,
        log: &Log,
        folder: &str,
        name: &str,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> String {
        let file = Path::new(folder).join(name);
        let kept = fs::read(&file).expect(name);
        let mut bytes = kept.clone();
        change(&mut bytes);
        assert_ne!(bytes, kept, "{name} is changed");
        fs::write(&file, bytes).unwrap();
        let followed = self.follow(log, &[]);
        fs::write(&file, kept).unwrap();
        followed.expect_err(name)
    }
}

/// The copy of a log in a folder.
pub(super) fn copied(log: &Log, folder: &str) -> Log {
    Log {
        prefix: format!("file://{folder}"),
        vkey: log.vkey.clone(),
        key: None,
    }
}

/// Waits until the making of keys is recorded: from then on the ledger grows by what is posted alone.
pub(super) fn settle(server: &Server, log: &Log, keys: u64) {
    let key = log.key.as_deref().expect("a served log has a key");
    let path = format!("/v1/sessions/{ADMIN_SESSION}");
    for _ in 0..500 {
        let answer = server.send("GET", &path, Some(key), "application/json", b"");
        // The session's start, and an act for each key.
        if answer.status == 200 && answer.json()["entries"] == json!(keys + 1) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{keys} keys are not recorded after ten seconds");
}

/// Posts as many events, and returns how many entries the ledger has.
pub(super) fn post_notes(server: &Server, key: &str, count: u64) -> u64 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let session = format!("s{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let started = json!({"id": "start", "session": session, "type": "session.started", "data": {}});
    let note = |number: u64| json!({"id": format!("n{number}"), "session": session, "type": "custom.note", "data": {"number": number}});
    let events: Vec<Value> = std::iter::once(started)
        .chain((1..count).map(note))
        .collect();
    let answer = server.post(key, &Value::from(events));
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json();
    let results = results["results"].as_array().expect("results").clone();
    assert!(
        results.iter().all(|result| result["status"] == "recorded"),
        "{results:?}"
    );
    results
        .last()
        .and_then(|last| last["index"].as_u64())
        .expect("an index")
        + 1
}
