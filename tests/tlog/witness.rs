//! A ledger and its witness, each a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::copy_folder;
use super::follower::{Follower, Log, post_notes, settle};
use crate::support::{Server, remembrancer, succeed};

/// Longest time until witnesses have signed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running witness; killed by its id when the test is done with it.
struct Witness {
    child: Child,
    url: String,
    vkey: String,
}

impl Witness {
    fn start(data: &Path, ledger: &str, listen: &str) -> Self {
        Self::following(data, ledger, listen, None)
    }

    /// The same with a key that reads the ledger, which is looked at every second.
    fn following(data: &Path, ledger: &str, listen: &str, key: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remembrancer"));
        command.env_remove("REMEMBRANCER_KEY");
        if let Some(key) = key {
            command.env("REMEMBRANCER_KEY", key);
        }
        let mut child = command
            .args([
                "witness", "--ledger", ledger, "--listen", listen, "--every", "1", "--data",
            ])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = || lines.next().expect("a line").expect("text");
        let (url, vkey) = (line(), line());
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self { child, url, vkey }
    }

    fn address(&self) -> String {
        format!("{}@{}", self.vkey, self.url)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // It may have ended before, which is no error.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A ledger that was begun without a witness: its folder, the log, a key that writes, and how many entries it has.
struct Begun {
    _folder: tempfile::TempDir,
    data: PathBuf,
    witness_data: PathBuf,
    log: Log,
    writer: String,
    size: u64,
}

fn begin(follower: &Follower, entries: u64) -> Begun {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("ledger");
    let server = Server::start_on(&data);
    let (writer, log) = (server.key("write"), follower.log_of(&server));
    settle(&server, &log, 2);
    let size = post_notes(&server, &writer, entries);
    drop(server);
    Begun {
        data,
        witness_data: folder.path().join("witness"),
        log,
        writer,
        size,
        _folder: folder,
    }
}

fn checkpoint(server: &Server, log: &Log) -> (u16, String) {
    let answer = server.send("GET", "/v1/checkpoint", log.key(), "text/plain", b"");
    (answer.status, answer.body)
}

/// Waits until what a server publishes has a property.
fn wait_for(server: &Server, log: &Log, what: &str, holds: impl Fn(u16, &str) -> bool) -> String {
    let begun = Instant::now();
    loop {
        let (status, body) = checkpoint(server, log);
        if holds(status, &body) {
            return body;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {status} {body}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn wait_for_log(log: &Path, what: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(log).unwrap().contains(what) {
        let said = fs::read_to_string(log).unwrap();
        assert!(begun.elapsed() < PATIENCE, "{what}: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_of(note: &str, size: u64) -> bool {
    note.lines().nth(1) == Some(&size.to_string())
}

#[test]
fn conformance_checkpoints_wait_for_their_witness_and_receipts_do_not() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let begun = begin(&follower, 5);
    let (data, log) = (&begun.data, &begun.log);
    let witness = Witness::start(&begun.witness_data, &log.vkey, "127.0.0.1:0");
    let (address, listen) = (witness.address(), witness.url.replacen("http://", "", 1));
    drop(witness);
    let arguments = ["--witness", &address, "--require-witnesses", "1"];
    let said = begun.data.with_file_name("said");

    // The witness is not there: nothing is published, and events are taken as ever.
    let server = Server::start_on_with(data, &arguments, &said);
    let (status, body) = checkpoint(&server, log);
    assert!(
        status == 404 && body.contains("1 witnesses"),
        "{status} {body}"
    );
    let served = server.send("GET", "/tlog/checkpoint", log.key(), "text/plain", b"");
    assert_eq!(served.status, 404);
    let size = post_notes(&server, &begun.writer, 4);
    assert_eq!(size, begun.size + 4);
    wait_for_log(&said, "a witness did not sign");

    // It comes: what it signed is published, and an independent reader finds its signature sound.
    let witness = Witness::start(&begun.witness_data, &log.vkey, &listen);
    assert_eq!(witness.address(), address, "the same key");
    let note = wait_for(&server, log, "signed", |status, _| status == 200);
    assert!(
        is_of(&note, size) && note.matches('\u{2014}').count() == 2,
        "{note}"
    );
    let live = log.at(&server);
    let found = follower.must(&live, &["--witness", &witness.vkey]);
    let name = witness.vkey.split('+').next().unwrap();
    assert_eq!(found["size"], json!(size));
    assert!(
        found["witnesses"][name].as_u64().unwrap() > 1_700_000_000,
        "{found}"
    );
    let more = post_notes(&server, &begun.writer, 300);
    let note = wait_for(&server, log, "grown", |_, body| is_of(body, more));
    follower.must(&live, &["--witness", &witness.vkey]);

    // A bundle carries the signature, and verifies with it.
    let bundle = follower.file("s.rmb");
    let data_text = data.to_str().unwrap();
    succeed(&[
        "bundle",
        "remembrancer.admin",
        "--data",
        data_text,
        "--out",
        &bundle,
    ]);
    let bytes = fs::read(&bundle).unwrap();
    assert!(
        bytes
            .windows(note.len())
            .any(|part| part == note.as_bytes())
    );
    let pem = data.join("ledger.pub.pem");
    let verify = ["verify", &bundle, "--key", pem.to_str().unwrap()];
    let told = succeed(&[&verify[..], &["--witness", &witness.vkey]].concat());
    assert!(
        told.contains(&format!("the witness {name} signed the checkpoint")),
        "{told}"
    );
    // Another witness did not.
    let other = begun.data.with_file_name("another witness");
    let stranger = Witness::start(&other, &log.vkey, "127.0.0.1:0");
    let refused = remembrancer(&[&verify[..], &["--witness", &stranger.vkey]].concat());
    let told = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(
        told.contains("FAILED") && told.contains("not signed by the witness"),
        "{told}"
    );

    // It goes away again, and so do both processes: what was published stays.
    drop(witness);
    let grown = post_notes(&server, &begun.writer, 2);
    assert!(is_of(&note, more) && grown == more + 2);
    assert_eq!(checkpoint(&server, log), (200, note.clone()));
    drop(server);
    let server = Server::start_on_with(data, &arguments, &said);
    assert_eq!(checkpoint(&server, log), (200, note));
}

#[test]
fn conformance_a_witness_refuses_a_ledger_that_went_back_and_then_another_way() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let begun = begin(&follower, 20);
    let (data, log) = (&begun.data, &begun.log);
    let other = data.with_file_name("other");
    copy_folder(data, &other);
    let witness = Witness::start(&begun.witness_data, &log.vkey, "127.0.0.1:0");
    let address = witness.address();
    let arguments = ["--witness", &address, "--require-witnesses", "1"];
    let said = data.with_file_name("said");

    let server = Server::start_on_with(data, &arguments, &said);
    let size = post_notes(&server, &begun.writer, 30);
    let signed = wait_for(&server, log, "signed", |_, body| is_of(body, size));
    drop(server);

    // The older copy, whose own files agree with each other.
    let server = Server::start_on_with(&other, &arguments, &said);
    wait_for_log(&said, "the ledger was rolled back");
    let evidence = || {
        let folder = begun.witness_data.to_str().unwrap();
        let printed = remembrancer(&["witness", "--evidence", "--data", folder]);
        assert_eq!(printed.status.code(), Some(1), "{printed:?}");
        String::from_utf8(printed.stdout).unwrap()
    };
    // The ledger's own text and signature, without the witness's line.
    let own: String = signed.split_inclusive('\n').take(5).collect();
    let printed = evidence();
    assert!(
        printed.contains("-older.txt") && printed.contains(&own),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("\n{}\n", begun.size)),
        "{printed}"
    );
    // It grows beyond what was signed, with other entries.
    let forked = post_notes(&server, &begun.writer, 60);
    assert!(forked > size);
    wait_for_log(&said, "the ledger was forked");
    let printed = evidence();
    assert!(printed.contains("-not-extended-") && printed.contains(&format!("\n{forked}\n")));
    let (status, body) = checkpoint(&server, log);
    assert_eq!(status, 404, "nothing of the fork is published: {body}");
    drop(server);

    // The first history goes on as if nothing had been.
    let server = Server::start_on_with(data, &arguments, &said);
    let more = post_notes(&server, &begun.writer, 3);
    wait_for(&server, log, "signed", |_, body| is_of(body, more));
    follower.must(&log.at(&server), &["--witness", &witness.vkey]);
}

#[test]
fn conformance_a_witness_looks_for_itself_at_a_ledger_that_does_not_ask() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let begun = begin(&follower, 20);
    let (data, log) = (&begun.data, &begun.log);
    let other = data.with_file_name("other");
    copy_folder(data, &other);
    let look = |server: &Server| {
        let ledger = format!("{}@{}", log.vkey, server.url);
        Witness::following(&begun.witness_data, &ledger, "127.0.0.1:0", log.key())
    };
    let wait_for_file = |what: &str, folder: PathBuf, holds: &dyn Fn(&str, &str) -> bool| {
        let started = Instant::now();
        loop {
            let files = fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .map(Result::unwrap);
            let is_there = files.filter(|file| file.path().is_file()).any(|file| {
                let text = fs::read_to_string(file.path()).unwrap_or_default();
                holds(&file.file_name().to_string_lossy(), &text)
            });
            if is_there {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let remembers = |size: u64| {
        wait_for_file(
            &format!("{size}"),
            begun.witness_data.clone(),
            &|name, text| name.ends_with(".checkpoint") && is_of(text, size),
        );
    };
    let server = Server::start_on(data);
    let witness = look(&server);
    remembers(begun.size);
    // Over the border of a tile.
    let size = post_notes(&server, &begun.writer, 300);
    remembers(size);
    drop((witness, server));

    // The older copy does not have the tiles that the newer one had.
    let server = Server::start_on(&other);
    let witness = look(&server);
    let evidence = begun.witness_data.join("evidence");
    wait_for_file("older", evidence.clone(), &|name, _| {
        name.ends_with("-older.txt")
    });
    let forked = post_notes(&server, &begun.writer, 400);
    assert!(forked > size);
    wait_for_file("forked", evidence, &|name, text| {
        name.contains("-not-extended-") && text.contains(&format!("\n{forked}\n"))
    });
    drop((witness, server));
    remembers(size);
}
