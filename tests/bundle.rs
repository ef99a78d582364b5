//! A bundle as an outsider meets it: a file, a key, and the tools of the system.

use std::path::Path;
use std::process::Command;

use crate::support::{imported_pair, remembrancer, succeed, tool};

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

fn bundle(data: &Path, session: &str, out: &Path) {
    succeed(&["bundle", session, "--data", text(data), "--out", text(out)]);
}

#[test]
fn conformance_a_bundle_verifies_with_the_program_and_by_hand() {
    let Some((folder, data)) = imported_pair() else {
        return;
    };
    let file = folder.path().join("baseline.rmb");
    bundle(&data, "E1-baseline", &file);
    let again = folder.path().join("again.rmb");
    bundle(&data, "E1-baseline", &again);
    assert_eq!(
        std::fs::read(&file).unwrap(),
        std::fs::read(&again).unwrap(),
        "a bundle is reproducible"
    );

    let verdict = |arguments: &[&str]| {
        let output =
            remembrancer(&[&["verify", text(&file), "--format", "json"], arguments].concat());
        let json: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("output is JSON");
        (
            output.status.code(),
            json["verdict"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(verdict(&[]), (Some(0), "key_not_confirmed".to_owned()));
    assert_eq!(
        verdict(&["--key", text(&data.join("ledger.pub.pem"))]),
        (Some(0), "verified".to_owned())
    );
    let Some(openssl) = tool("openssl") else {
        return;
    };
    let other_key = folder.path().join("other.pem");
    let private = folder.path().join("other-key.pem");
    run(Command::new(&openssl).args(["genpkey", "-algorithm", "ed25519", "-out", text(&private)]));
    run(Command::new(&openssl).args([
        "pkey",
        "-in",
        text(&private),
        "-pubout",
        "-out",
        text(&other_key),
    ]));
    assert_eq!(
        verdict(&["--key", text(&other_key)]),
        (Some(1), "failed".to_owned())
    );

    let unpacked = folder.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    run(Command::new("python3").args(["-m", "zipfile", "-e", text(&file), text(&unpacked)]));
    run(Command::new("sha256sum")
        .args(["-c", "--quiet", "SHA256SUMS"])
        .current_dir(&unpacked));
    let by_hand = "pkeyutl -verify -pubin -inkey keys/ledger.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig";
    run(Command::new(&openssl)
        .args(by_hand.split(' '))
        .current_dir(&unpacked));
    let readme = std::fs::read_to_string(unpacked.join("README.txt")).unwrap();
    assert!(readme.contains(by_hand) && readme.contains("sha256sum -c SHA256SUMS"));
}

fn run(command: &mut Command) {
    let output = command.output().expect("the tool can be started");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// One changed byte in a file of each kind; that every file and every byte is covered, is tested beside the verifier.
#[test]
fn conformance_a_changed_byte_is_found_and_the_first_bad_entry_named() {
    let Some((folder, data)) = imported_pair() else {
        return;
    };
    let file = folder.path().join("run.rmb");
    bundle(&data, "E1-governed", &file);
    let sound = std::fs::read(&file).unwrap();
    let kinds = [
        ("entries.jsonl", true),
        ("payloads/00000012.json", true),
        ("payloads/00000012.salt", true),
        ("proofs.json", true),
        ("analysis.json", false),
        ("report.html", false),
        ("README.txt", false),
        ("SHA256SUMS", false),
        ("keys/ledger.pem", false),
        ("checkpoint", false),
    ];
    for (name, names_an_entry) in kinds {
        let mut changed = sound.clone();
        let mut at = content_offset(&sound, name) + 60;
        if name == "proofs.json" {
            // In a hash that follows from random salts: "a" would become no hexadecimal digit, and the file no proofs at all.
            at += sound[at..].iter().position(u8::is_ascii_digit).unwrap();
        }
        changed[at] ^= 1;
        let path = folder.path().join("changed.rmb");
        std::fs::write(&path, &changed).unwrap();
        let output = remembrancer(&["verify", text(&path), "--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        let verification: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            verification["first_bad"].is_object(),
            names_an_entry,
            "{name}: {}",
            verification["first_bad"]
        );
        if name.starts_with("payloads/") {
            assert_eq!(verification["first_bad"]["sequence"], 12);
        }
    }
    std::fs::write(folder.path().join("cut.rmb"), &sound[..sound.len() / 2]).unwrap();
    assert_eq!(
        remembrancer(&["verify", text(&folder.path().join("cut.rmb"))])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        remembrancer(&["verify", text(&folder.path().join("absent.rmb"))])
            .status
            .code(),
        Some(2)
    );
}

/// Where a stored file's content starts: behind the first local header that bears its name.
fn content_offset(zip: &[u8], name: &str) -> usize {
    let header = |at: usize| {
        zip[at..].starts_with(b"PK\x03\x04") && zip[at + 30..].starts_with(name.as_bytes())
    };
    (0..zip.len() - 40)
        .find(|&at| header(at))
        .expect("the file is in the bundle")
        + 30
        + name.len()
}

/// The same for the database file: every byte of an entry that is found in it, one at a time.
#[test]
fn conformance_a_changed_byte_of_an_entry_in_the_database_is_found() {
    let Some((_folder, data)) = imported_pair() else {
        return;
    };
    let database = data.join("ledger.sqlite");
    let sound = std::fs::read(&database).unwrap();
    succeed(&["verify", "--data", text(&data)]);
    let needle = b"\"index\":17,";
    let copies: Vec<usize> = (0..sound.len() - 300)
        .filter(|&at| sound[at..].starts_with(needle))
        .collect();
    assert!(!copies.is_empty(), "entry 17 is in the file");
    for offset in [0, 1, 8, 9, 40, 90, 200] {
        let mut changed = sound.clone();
        // A page that was split may still hold an old copy, which nobody reads: every copy is changed.
        for at in &copies {
            changed[at + offset] ^= 1;
        }
        std::fs::write(&database, &changed).unwrap();
        let output = remembrancer(&["verify", "--data", text(&data), "--format", "json"]);
        assert_eq!(output.status.code(), Some(1), "byte {offset}: {output:?}");
        let verification: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            verification["first_bad"]["index"], 17,
            "byte {offset}: {verification}"
        );
    }
    std::fs::write(&database, &sound).unwrap();
    succeed(&["verify", "--data", text(&data)]);
}
