//! Attacks over the HTTP API: what two readers could read differently is not taken in, and what was taken in stays.

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::merkle::verify_consistency;
use remembrancer_schema::receipt;
use remembrancer_schema::signing::PublicKey;
use serde_json::{Value, json};

use super::{SESSION, Victim, events};
use crate::support::Server;

/// A server with one open session of two events, and keys for both sides.
struct Open {
    server: Server,
    write: String,
    read: String,
}

impl Open {
    fn new() -> Self {
        let server = Server::start();
        let (write, read) = (server.key("write"), server.key("read"));
        let open = Self {
            server,
            write,
            read,
        };
        let first: Vec<Value> = events().into_iter().take(2).collect();
        assert_eq!(open.server.post(&open.write, &json!(first)).status, 200);
        open
    }

    /// The session as an auditor reads it.
    fn entries(&self) -> Vec<Value> {
        let page = self
            .server
            .get(&self.read, &format!("/v1/sessions/{SESSION}/entries"));
        page["items"].as_array().expect("a page has items").clone()
    }

    /// Posts text as it is; the problem that names it, after which the record is what it was before.
    #[track_caller]
    fn refuses(&self, body: &str, status: u16, problem: &str, detail: &str) {
        let before = self.entries();
        let answer = self.server.send(
            "POST",
            "/v1/events",
            Some(&self.write),
            "application/json",
            body.as_bytes(),
        );
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (status, problem),
            "{answer:?}"
        );
        let said = answer.json()["detail"].to_string();
        assert!(said.contains(detail), "{detail:?}: {said}");
        assert_eq!(self.entries(), before, "nothing is stored of it");
    }
}

fn note(id: &str, data: &str) -> String {
    format!(r#"{{"id":"{id}","session":"{SESSION}","type":"custom.note","data":{data}}}"#)
}

#[test]
fn duplicate_names_are_refused_at_any_depth() {
    let open = Open::new();
    for data in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":[{"b":{"c":1,"c":1}}]}"#,
        r#"{"a":1,"\u0061":2}"#,
    ] {
        open.refuses(&note("x", data), 400, "not-i-json#duplicate-name", "twice");
    }
    // In the event around the data: the id that is stored must be the one that everybody reads.
    let twice = note("x", "{}").replacen('{', r#"{"id":"y","#, 1);
    open.refuses(&twice, 400, "not-i-json#duplicate-name", "id");
}

#[test]
fn numbers_that_two_readers_round_differently_are_refused() {
    let open = Open::new();
    for number in ["9007199254740993", "-9007199254740993", "1e400"] {
        let data = format!(r#"{{"n":{number}}}"#);
        open.refuses(
            &note("x", &data),
            400,
            "not-i-json#number-out-of-range",
            "double",
        );
    }
    let exact = note("x", r#"{"n":9007199254740991,"text":"9007199254740993"}"#);
    let answer = open.server.send(
        "POST",
        "/v1/events",
        Some(&open.write),
        "application/json",
        exact.as_bytes(),
    );
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[test]
fn ids_that_only_look_alike_cannot_be_made() {
    let open = Open::new();
    for id in [
        "caf\u{e9}",
        "cafe\u{301}",
        "e1\u{200b}",
        "e1\u{202e}",
        "\u{435}1",
        "e1\\u0000",
    ] {
        open.refuses(&note(id, "{}"), 422, "invalid-event", "event id");
    }
    let hidden = note("x", "{}").replace(SESSION, "run\u{200d}");
    open.refuses(&hidden, 422, "invalid-event", "session id");
}

#[test]
fn texts_that_only_look_alike_are_kept_apart_byte_for_byte() {
    let open = Open::new();
    let composed = note("same", r#"{"text":"café"}"#);
    let send = |body: &str| {
        open.server.send(
            "POST",
            "/v1/events",
            Some(&open.write),
            "application/json",
            body.as_bytes(),
        )
    };
    assert_eq!(send(&composed).status, 201);
    // The same to the eye; other bytes, and so another event.
    for other in ["cafe\u{301}", "caf\u{e9}\u{200b}", "caf\u{e9}\u{e0041}"] {
        open.refuses(&composed.replace("café", other), 409, "id-conflict", "same");
    }
    assert_eq!(send(&composed).status, 200, "the very same is a duplicate");
}

#[test]
fn an_old_event_id_with_other_content_is_a_conflict() {
    let open = Open::new();
    let changed = events()[1].to_string().replace("never contact", "contact");
    open.refuses(&changed, 409, "id-conflict", "e1");
    let again = open.server.post(&open.write, &events()[1]);
    assert_eq!(again.status, 200, "{again:?}");
}

#[test]
fn nothing_is_inserted_behind_the_seal() {
    let open = Open::new();
    let rest: Vec<Value> = events().into_iter().skip(2).collect();
    assert_eq!(open.server.post(&open.write, &json!(rest)).status, 200);
    open.refuses(&note("late", "{}"), 409, "session-ended", SESSION);
}

#[test]
fn a_backdated_event_has_the_time_of_its_receipt_beside_it() {
    let open = Open::new();
    let mut event: Value = serde_json::from_str(&note("old", "{}")).expect("JSON");
    event["time"] = json!("2001-01-01T00:00:00Z");
    assert_eq!(open.server.post(&open.write, &event).status, 201);
    let entry = open.entries().pop().expect("it is the last").to_string();
    assert!(
        entry.contains("2001-01-01"),
        "the agent's claim is kept: {entry}"
    );
    let year = jiff::Timestamp::now().to_string()[..4].to_owned();
    assert!(entry.contains(&format!("received\":\"{year}")), "{entry}");
    // The time of receipt is the recorder's: a client cannot say it.
    let mut claimed: Value = serde_json::from_str(&note("older", "{}")).expect("JSON");
    claimed["received"] = json!("2001-01-01T00:00:00.000Z");
    open.refuses(&claimed.to_string(), 422, "invalid-event", "received");
}

#[test]
fn no_request_edits_or_deletes() {
    let open = Open::new();
    let before = open.entries();
    let admin = open.server.key("admin");
    for method in ["PUT", "PATCH", "DELETE"] {
        for path in [
            "/v1/events",
            "/v1/sessions/run",
            "/v1/sessions/run/entries",
            "/v1/entries/2",
            "/v1/checkpoint",
        ] {
            let answer = open
                .server
                .send(method, path, Some(&admin), "application/json", b"{}");
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (405, "method-not-allowed"),
                "{method} {path}: {answer:?}"
            );
        }
    }
    assert_eq!(open.entries(), before);
}

/// Another key holder's copy of the ledger goes on by itself: two readers are shown two histories of one length.
#[test]
fn two_histories_for_two_readers_are_not_consistent() {
    let victim = Victim::new();
    let copy = victim.file("copy");
    std::fs::create_dir(&copy).expect("can be made");
    for file in std::fs::read_dir(&victim.data).expect("reads") {
        let file = file.expect("a file");
        if file.file_type().expect("known").is_file() {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("copies");
        }
    }
    let pem = std::fs::read_to_string(victim.public_key()).expect("reads");
    let key = PublicKey::from_pem(&pem).expect("a key");
    let shown = |data: &std::path::Path, story: &str| {
        let server = Server::start_on(data);
        let (write, read) = (server.key("write"), server.key("read"));
        let event = json!({ "id": "s", "session": "fork", "type": "session.started", "data": { "label": story } });
        let receipt = server.post(&write, &event).json()["receipt"]
            .as_str()
            .expect("a receipt")
            .to_owned();
        let note = server
            .send("GET", "/v1/checkpoint", Some(&read), "", b"")
            .body;
        (
            server,
            read,
            Checkpoint::verify(&note, &key).expect("signed by the ledger"),
            receipt,
        )
    };
    let (_first, _, mine, my_receipt) = shown(&victim.data, "one");
    let (second, read, theirs, their_receipt) = shown(&copy, "two");
    assert_eq!((&mine.origin, mine.size), (&theirs.origin, theirs.size));
    assert_ne!(
        mine.root, theirs.root,
        "one size, two roots, both signed: that is the evidence"
    );
    // The same by the receipts, for whoever kept no checkpoint: the last entry is promised under one hash, and shown under another.
    let promised =
        |note: &str| receipt::verify(note, &mine.origin, &key).expect("signed by the ledger");
    let (promise, other) = (promised(&my_receipt), promised(&their_receipt));
    assert_eq!(
        (promise[0].index, &promise[0].session),
        (other[0].index, &other[0].session)
    );
    let shown = second.get(&read, &format!("/v1/entries/{}", promise[0].index));
    assert!(
        shown.to_string().contains(&other[0].hash.to_string()),
        "{shown}"
    );
    assert!(
        !shown.to_string().contains(&promise[0].hash.to_string()),
        "{shown}"
    );

    // The second ledger grows, and is asked to prove that it extends what the first reader saw.
    let write = second.key("write");
    let event = json!({ "id": "n", "session": "fork", "type": "custom.note", "data": {} });
    assert_eq!(second.post(&write, &event).status, 201);
    let note = second
        .send("GET", "/v1/checkpoint", Some(&read), "", b"")
        .body;
    let later = Checkpoint::verify(&note, &key).expect("signed by the ledger");
    let address = format!(
        "/v1/proofs/consistency?old={}&new={}",
        theirs.size, later.size
    );
    let proof = second.get(&read, &address);
    let path: Vec<remembrancer_schema::TreeHash> =
        serde_json::from_value(proof["proof"].clone()).expect("hashes");
    let extends =
        |old: &Checkpoint| verify_consistency(old.size, later.size, &old.root, &later.root, &path);
    assert!(extends(&theirs).is_ok(), "its own history it does extend");
    let error = extends(&mine).expect_err("not the first reader's");
    assert!(!error.to_string().is_empty());
}
