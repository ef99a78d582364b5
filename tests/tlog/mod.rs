//! The ledger as a transparency log, followed by a program that was written from the specifications and shares no code with
//! this one.

mod follower;
mod witness;

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::support::Server;
use follower::{Follower, copied, post_notes, settle};

#[test]
fn conformance_an_independent_follower_recomputes_the_log_and_its_growth() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let server = Server::start();
    let log = follower.log_of(&server);
    let refused = follower.follow(&log, &[]);
    // The first entry may be there already: the key is recorded.
    assert!(refused.is_ok() || refused.is_err_and(|said| said.contains("404")));
    let writer = server.key("write");
    settle(&server, &log, 2);
    let mut before = post_notes(&server, &writer, 1);
    let old = follower.file("old");
    let found = follower.must(&log, &["--save", &old]);
    assert_eq!(
        (&found["size"], &found["entries"]),
        (&json!(before), &json!(before))
    );
    // Around the borders of tiles: one short of a full one, full, one more, and a second level.
    for size in [255, 256, 257, 700] {
        let grown = post_notes(&server, &writer, size - before);
        assert_eq!(grown, size);
        let found = follower.must(&log, &["--since", &old, "--save", &old]);
        assert_eq!(
            (&found["size"], &found["entries"], &found["since"]),
            (&json!(size), &json!(size), &json!(before))
        );
        assert_eq!(found["levels"], json!(if size < 256 { 1 } else { 2 }));
        assert_eq!(found["included"][0], 0);
        before = size;
    }
}

#[test]
fn conformance_an_independent_follower_sees_what_was_changed_in_a_copied_log() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let server = Server::start();
    let (writer, log) = (server.key("write"), follower.log_of(&server));
    settle(&server, &log, 2);
    let size = post_notes(&server, &writer, 300);
    let folder = follower.file("mirror");
    follower.must(&log, &["--mirror", &folder]);
    let mirror = copied(&log, &folder);
    // A log is static files: a copy of them is the log.
    assert_eq!(follower.must(&mirror, &[])["size"], json!(size));

    let partial = format!("tile/0/001.p/{}", size - 256);
    let bundle = format!("tile/entries/001.p/{}", size - 256);
    for (name, at, told) in [
        ("tile/0/000", 32 * 77, "root"),
        (&*partial, 5, "root"),
        ("tile/1/000.p/1", 31, "hash 0 is not that of the tile below"),
        ("tile/entries/000", 40, "entry 0 is not the one"),
        (&*bundle, 60, "entry 256 is not the one"),
    ] {
        let said = follower.changed(&mirror, &folder, name, |bytes| bytes[at] ^= 1);
        assert!(said.contains(told), "{name}: {said}");
    }
    for name in ["tile/0/000", "tile/entries/000", &*partial, &*bundle] {
        let said = follower.changed(&mirror, &folder, name, |bytes| {
            bytes.pop();
        });
        assert!(
            said.contains("bytes instead of") || said.contains("ends within"),
            "{said}"
        );
    }
    // A shorter log, another root, another signature: each is another text, or another key's.
    type Edit<'a> = &'a dyn Fn(&str) -> String;
    let edits: [(Edit<'_>, &str); 4] = [
        (
            &|note| note.replacen(&format!("\n{size}\n"), "\n7\n", 1),
            "does not verify",
        ),
        (&|note| with_other_root(note), "does not verify"),
        (
            &|note| note.replacen("\u{2014} ", "\u{2014} x", 1),
            "not signed by",
        ),
        (
            &|note| note.replacen("\n\n", "\nmore\n\n", 1),
            "does not verify",
        ),
    ];
    for (edit, told) in edits {
        let said = follower.changed(&mirror, &folder, "checkpoint", |bytes| {
            let note = String::from_utf8(bytes.clone()).unwrap();
            *bytes = edit(&note).into_bytes();
        });
        assert!(said.contains(told), "{said}");
    }
    assert_eq!(
        follower.must(&mirror, &[])["size"],
        json!(size),
        "all is as it was"
    );
}

fn with_other_root(note: &str) -> String {
    let root = note.lines().nth(2).unwrap();
    note.replacen(root, &STANDARD.encode([7; 32]), 1)
}

#[test]
fn conformance_an_independent_follower_tells_a_fork_and_a_roll_back() {
    let Some(follower) = Follower::new() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    let server = Server::start_on(&one);
    let (writer, log) = (server.key("write"), follower.log_of(&server));
    settle(&server, &log, 2);
    let size = post_notes(&server, &writer, 20);
    let early = follower.file("early");
    follower.must(&log, &["--save", &early]);
    server.stop_and_keep(|data| copy_folder(data, &other));

    let server = Server::start_on(&one);
    let more = post_notes(&server, &writer, 30);
    let late = follower.file("late");
    let log = log.at(&server);
    let found = follower.must(&log, &["--since", &early, "--save", &late]);
    assert_eq!(
        (&found["size"], &found["since"]),
        (&json!(more), &json!(size))
    );
    drop(server);

    // The same key, the same beginning, and another history behind it.
    let server = Server::start_on(&other);
    let log = log.at(&server);
    let said = follower.follow(&log, &["--since", &late]).unwrap_err();
    assert!(said.contains(&format!("and had {more}")), "{said}");
    post_notes(&server, &writer, 40);
    follower.must(&log, &["--since", &early]);
    let said = follower.follow(&log, &["--since", &late]).unwrap_err();
    assert!(
        said.contains(&format!("does not extend that of {more}")),
        "{said}"
    );
}

/// Copies a data folder of a server that has stopped.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            copy_folder(&file.path(), &target);
        } else {
            fs::copy(file.path(), target).unwrap();
        }
    }
}
