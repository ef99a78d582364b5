mod forged;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::{
    consistency_ranges, fold_subtrees, inclusion_ranges, leaf_hash, node_hash, perfect_subtrees,
};
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::{Entry, TreeHash};

use super::*;
use crate::record::SessionRecord;
use crate::record::fixture::SessionFixture;

fn key() -> LedgerKey {
    LedgerKey::from_seed(&[7; 32])
}

fn session() -> SessionRecord {
    SessionFixture::new()
        .event("session.started", r#"{"label":"bundle"}"#)
        .event(
            "constraint.declared",
            r#"{"id":"no_contact","kind":"prohibition","text":"never contact customers"}"#,
        )
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[{"kind":"system","text":"You must never contact customers."}]}"#,
        )
        .event("tool.called", r#"{"turn":1,"call_id":"c1","tool":"look"}"#)
        .event(
            "tool.returned",
            r#"{"call_id":"c1","status":"ok","result":{"n":1}}"#,
        )
        .event("session.ended", "{}")
        .record()
}

/// The session stands at the front of a ledger that others wrote to afterwards.
struct Ledger {
    leaves: Vec<TreeHash>,
}

impl Ledger {
    fn around(record: &SessionRecord) -> Self {
        let mut leaves: Vec<TreeHash> = record
            .events
            .iter()
            .map(|event| leaf_hash(&event.entry_bytes))
            .collect();
        leaves.extend((0..5u8).map(|other| leaf_hash(&[other])));
        Self { leaves }
    }

    fn root(&self, range: Range<u64>) -> TreeHash {
        let subtree = |start: u64, level: u32| {
            let mut hashes = self.leaves[start as usize..][..1 << level].to_vec();
            while hashes.len() > 1 {
                hashes = hashes
                    .chunks(2)
                    .map(|pair| node_hash(&pair[0], &pair[1]))
                    .collect();
            }
            hashes[0]
        };
        let hashes: Vec<TreeHash> = perfect_subtrees(range)
            .iter()
            .map(|tree| subtree(tree.index << tree.level, tree.level))
            .collect();
        fold_subtrees(&hashes).expect("ranges are not empty")
    }

    fn checkpoint(&self, size: u64) -> String {
        let origin = "ledger.example/test".parse().expect("an origin");
        Checkpoint {
            origin,
            size,
            root: self.root(0..size),
        }
        .sign(&key())
    }

    fn proofs(&self, record: &SessionRecord) -> Proofs {
        let size = self.leaves.len() as u64;
        let path = |ranges: Vec<Range<u64>>| {
            ranges
                .into_iter()
                .map(|range| self.root(range))
                .collect::<Vec<_>>()
        };
        let inclusion = record
            .events
            .iter()
            .map(|event| InclusionProof {
                index: event.entry.index,
                path: path(inclusion_ranges(event.entry.index, size).expect("in range")),
            })
            .collect();
        let earlier = record.events.len() as u64;
        let consistency = Some(ConsistencyProof {
            checkpoint: self.checkpoint(earlier),
            path: path(consistency_ranges(earlier, size).expect("in range")),
        });
        Proofs {
            size,
            inclusion,
            consistency,
        }
    }
}

fn bundle_of(record: &SessionRecord) -> Vec<u8> {
    let ledger = Ledger::around(record);
    write(&BundleInput {
        record,
        analysis: &crate::analyse(record),
        checkpoint: &ledger.checkpoint(ledger.leaves.len() as u64),
        proofs: &ledger.proofs(record),
        report: &report(&record.head().expect("it has entries").to_string()),
        key: &key(),
    })
    .expect("a bundle can be written")
}

type Files = BTreeMap<String, Vec<u8>>;

fn zip_of(files: &Files) -> Vec<u8> {
    archive::write(files).expect("the container can be written")
}

fn files_of(bundle: &[u8]) -> Files {
    archive::read(bundle).expect("readable").contents
}

/// Signs the sums anew, as a forger who holds a key would.
fn resigned(files: &mut Files, key: &LedgerKey) -> Vec<u8> {
    files.remove(layout::SUMS);
    files.remove(layout::SUMS_SIGNATURE);
    let sums: String = files
        .iter()
        .map(|(name, bytes)| sums_line(name, bytes))
        .collect();
    files.insert(
        layout::SUMS_SIGNATURE.to_owned(),
        key.sign(sums.as_bytes()).to_vec(),
    );
    files.insert(layout::SUMS.to_owned(), sums.into_bytes());
    zip_of(files)
}

fn render(_: &crate::Analysis, facts: &ReportFacts<'_>) -> Option<String> {
    Some(report(facts.head))
}

fn report(head: &str) -> String {
    format!("<!doctype html><title>session up to {head}</title>")
}

fn verified(bytes: &[u8]) -> Verification {
    verify(bytes, Some(&key().public()), Some(&render)).expect("the container can be read")
}

#[test]
fn a_sound_bundle_verifies_and_is_reproducible() {
    let record = session();
    let bytes = bundle_of(&record);
    assert_eq!(bytes, bundle_of(&record));
    let verification = verified(&bytes);
    assert_eq!(
        verification.verdict,
        Verdict::Verified,
        "{:?}",
        verification.faults
    );
    assert_eq!(
        (verification.entries, verification.checkpoint_size),
        (6, Some(11))
    );
    assert_eq!(verification.analysis, Some(crate::analyse(&record)));
    let unconfirmed = verify(&bytes, None, Some(&render)).expect("readable");
    assert_eq!(unconfirmed.verdict, Verdict::KeyNotConfirmed);
    assert!(unconfirmed.not_proven[0].contains("--key"));
    let stranger = LedgerKey::from_seed(&[8; 32]).public();
    let other = verify(&bytes, Some(&stranger), None).expect("readable");
    assert_eq!(
        (other.verdict, other.key),
        (Verdict::Failed, KeyStanding::Differs)
    );
}

#[test]
fn a_session_that_goes_on_is_incomplete() {
    let mut record = session();
    record.events.pop();
    let verification = verified(&bundle_of(&record));
    assert_eq!(
        verification.verdict,
        Verdict::Incomplete,
        "{:?}",
        verification.faults
    );
    assert!(
        verification
            .not_proven
            .iter()
            .any(|open| open.contains("not sealed"))
    );
}

#[test]
fn changed_bytes_of_every_file_are_found_and_the_first_bad_entry_named() {
    let record = session();
    let sound = files_of(&bundle_of(&record));
    for (name, content) in &sound {
        // Files are sampled; a prime step meets every kind of place.
        let step = if content.len() > 400 { 37 } else { 3 };
        for at in (0..content.len()).step_by(step) {
            let mut files = sound.clone();
            files.get_mut(name).expect("the file is there")[at] ^= 1;
            let verification = verified(&zip_of(&files));
            assert_eq!(verification.verdict, Verdict::Failed, "{name}, byte {at}");
            let expected = match name.as_str() {
                "entries.jsonl" => {
                    let entries = content[..at].iter().filter(|&&byte| byte == b'\n').count();
                    Some(entries as u64)
                }
                name if name.starts_with("payloads/") => name[9..17].parse().ok(),
                _ => None,
            };
            let first_bad = verification.first_bad.and_then(|fault| fault.sequence);
            if expected.is_some() {
                assert_eq!(first_bad, expected, "{name}, byte {at}");
            }
            assert!(!verification.faults.is_empty());
        }
    }
}

#[test]
fn a_container_that_two_programs_could_read_differently_is_refused() {
    let sound = bundle_of(&session());
    let unreadable =
        |bytes: &[u8]| matches!(archive::read(bytes), Err(ArchiveError::Unreadable(_)));
    assert!(unreadable(b"not a zip"));
    assert!(unreadable(&sound[..sound.len() / 2]));
    assert!(verify(b"not a zip", None, None).is_err());
    let refused = |bytes: &[u8]| {
        assert!(matches!(
            archive::read(bytes),
            Err(ArchiveError::Refused(_))
        ));
        verify(bytes, None, None).is_ok_and(|verification| verification.verdict == Verdict::Failed)
    };
    assert!(refused(&[b"#!/bin/sh\n".as_slice(), &sound].concat()));
    for name in ["../escape", "/absolute", "a//b", "a\\b", "nul\0", "./here"] {
        assert!(
            refused(&zip_of(&BTreeMap::from([(name.to_owned(), b"x".to_vec())]))),
            "{name:?}"
        );
    }
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive
        .add_symlink("link", "target", zip::write::SimpleFileOptions::default())
        .unwrap();
    assert!(refused(&archive.finish().unwrap().into_inner()));

    // The same name twice: two names of one length, one of which is then overwritten in both of its headers.
    let twins = BTreeMap::from([
        ("twin-a".to_owned(), b"1".to_vec()),
        ("twin-b".to_owned(), b"2".to_vec()),
    ]);
    assert!(refused(&replace_all(&zip_of(&twins), b"twin-b", b"twin-a")));
    // A name that differs between the two headers of one file.
    let mut two_faced = zip_of(&twins);
    let at = two_faced
        .windows(6)
        .position(|window| window == b"twin-b")
        .expect("the local header is first");
    two_faced[at..at + 6].copy_from_slice(b"twin-c");
    assert!(refused(&two_faced));
}

#[test]
fn no_byte_of_the_container_can_change_unnoticed() {
    let sound = bundle_of(&session());
    let is_noticed = |bytes: &[u8]| {
        verify(bytes, Some(&key().public()), Some(&render))
            .map_or(true, |verification| verification.verdict == Verdict::Failed)
    };
    assert!(!is_noticed(&sound));
    let first_entry = sound
        .windows(4)
        .position(|window| window == b"PK\x01\x02")
        .expect("a directory");
    let local = 0..30 + layout::README.len();
    let directory = first_entry..sound.len();
    for at in local.chain(directory.step_by(3)) {
        let mut changed = sound.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(is_noticed(&changed), "byte {at} of {}", sound.len());
    }
    assert!(is_noticed(&[sound.as_slice(), b"tail"].concat()));
}

/// The one form must not drift with the library that writes it: an old bundle has to verify for ever.
#[test]
fn the_form_of_the_container_is_fixed() {
    let files = BTreeMap::from([
        ("a.txt".to_owned(), b"one".to_vec()),
        ("b/c".to_owned(), Vec::new()),
    ]);
    let digest = layout::hex(&remembrancer_schema::hash::sha256(&zip_of(&files)));
    assert_eq!(
        digest,
        "61946b0f135e83c9ce6ac3d6120cc0ce460d78071c6f47ec5e4da8737ad728be"
    );
}

fn replace_all(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    for at in 0..changed.len() - from.len() {
        if changed[at..].starts_with(from) {
            changed[at..at + from.len()].copy_from_slice(to);
        }
    }
    changed
}
