//! Attacks on a record, each made for real and each caught by name: on the file of a bundle, on the file of the database, and over
//! the HTTP API. `docs/threat-model.md` lists them, with those that are tested where the code is that catches them.

mod api;
mod bundle;
mod container;
mod database;
mod text;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Server, json as printed, remembrancer, succeed};

/// The session that is attacked.
const SESSION: &str = "run";

/// Its entries, the last of which seals it.
const ENTRIES: u64 = 7;

/// A ledger at rest, with one sealed session, and what an auditor kept of it elsewhere.
struct Victim {
    folder: tempfile::TempDir,
    data: PathBuf,
}

impl Victim {
    fn new() -> Self {
        Self::of(&events())
    }

    /// A ledger with these events of the session.
    fn of(events: &[Value]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let data = folder.path().join("data");
        let server = Server::start_on(&data);
        let key = server.key("write");
        let answer = server.post(&key, &json!(events));
        assert_eq!(answer.status, 200, "{answer:?}");
        drop(server);
        Self { folder, data }
    }

    fn data(&self) -> &str {
        text(&self.data)
    }

    /// A path for a file of the test.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The ledger's public key, which an auditor has from elsewhere.
    fn public_key(&self) -> PathBuf {
        self.data.join("ledger.pub.pem")
    }

    /// The bundle of a session as the ledger's own program writes it.
    fn bundle(&self, session: &str) -> Vec<u8> {
        let out = self.file("sound.rmb");
        succeed(&[
            "bundle",
            session,
            "--data",
            self.data(),
            "--out",
            text(&out),
        ]);
        std::fs::read(out).expect("it was written")
    }

    /// What the program says of the bytes of a bundle to an auditor who has the ledger's key.
    fn judge_bundle(&self, bytes: &[u8]) -> Judged {
        let file = self.file("attacked.rmb");
        std::fs::write(&file, bytes).expect("can be written");
        judge(&["verify", text(&file), "--key", text(&self.public_key())])
    }

    /// What it says of the ledger.
    fn judge_ledger(&self, arguments: &[&str]) -> Judged {
        judge(&[&["verify", "--data", self.data()], arguments].concat())
    }

    /// Index of the session's first entry in the ledger: those of the admin acts are before it.
    fn first_index(&self) -> u64 {
        let sessions = printed(&["verify", "--data", self.data()]);
        sessions["entries"].as_u64().expect("a number") - ENTRIES
    }
}

/// A session in which a limit is declared, an action is sent, and the end is sealed.
fn events() -> Vec<Value> {
    let event = |number: u64, kind: &str, data: Value| json!({ "id": format!("e{number}"), "session": SESSION, "type": kind, "data": data });
    vec![
        event(0, "session.started", json!({ "label": "attacked" })),
        event(
            1,
            "constraint.declared",
            json!({ "id": "no_contact", "kind": "prohibition", "text": "never contact customers" }),
        ),
        event(
            2,
            "context.captured",
            json!({ "turn": 1, "parts": [{ "kind": "system", "text": "You must never contact customers." }] }),
        ),
        event(
            3,
            "tool.called",
            json!({ "turn": 1, "call_id": "c1", "tool": "look" }),
        ),
        event(
            4,
            "tool.returned",
            json!({ "call_id": "c1", "status": "ok", "result": { "n": 1 } }),
        ),
        event(5, "custom.decision", json!({ "decision": "deny" })),
        event(6, "session.ended", json!({})),
    ]
}

/// What a verification came to: exit code, and what the program printed.
#[derive(Debug)]
struct Judged {
    code: Option<i32>,
    found: Value,
    said: String,
}

fn judge(arguments: &[&str]) -> Judged {
    let output = remembrancer(&[arguments, &["--format", "json"]].concat());
    Judged {
        code: output.status.code(),
        found: serde_json::from_slice(&output.stdout).unwrap_or_default(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Judged {
    #[track_caller]
    fn is_sound(&self) {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.found["faults"], json!([]), "{self:?}");
    }

    /// It failed, and a fault names the file, where it is of one, and says this.
    #[track_caller]
    fn names(&self, file: Option<&str>, message: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert_eq!(self.found["verdict"], "failed", "{self:?}");
        let faults = self.found["faults"].as_array().expect("faults");
        let is_it = |fault: &Value| {
            fault["file"].as_str() == file
                && fault["message"]
                    .as_str()
                    .is_some_and(|said| said.contains(message))
        };
        assert!(faults.iter().any(is_it), "{file:?}, {message:?}: {self:?}");
    }

    /// It failed, and the first bad entry is this one of its session, for this reason.
    #[track_caller]
    fn blames(&self, sequence: u64, message: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let first = &self.found["first_bad"];
        assert_eq!(first["sequence"], sequence, "{self:?}");
        let said = first["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{message:?}: {first}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// What the document claims to be tested is tested, and no test is missing from it.
#[test]
fn the_threat_model_names_exactly_these_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("docs/threat-model.md")).expect("reads");
    let mut tested = Vec::new();
    for module in ["api", "bundle", "container", "database", "text"] {
        let file = root.join(format!("tests/attacks/{module}.rs"));
        let source = std::fs::read_to_string(file).expect("reads");
        let functions = source.split("#[test]\nfn ").skip(1);
        tested.extend(functions.map(|rest| {
            let name = rest.split('(').next().expect("split gives one part");
            format!("{module}::{name}")
        }));
    }
    let mut named: Vec<String> = document
        .split('`')
        .filter(|code| code.contains("::") && !code.contains(' ') && !code.ends_with("::"))
        .map(str::to_owned)
        .collect();
    tested.sort();
    named.sort();
    named.dedup();
    assert!(!tested.is_empty());
    assert_eq!(named, tested);
}
