//! Every fixed vector that `vectors/generate.py` made from the written format, held against this crate.

use std::path::Path;

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::commitment::{COMMITMENT_CONTEXT, Salt, commit};
use remembrancer_schema::entry::{ENTRY_CONTEXT, Entry, GENESIS_CONTEXT, entry_hash, genesis};
use remembrancer_schema::hash::sha256;
use remembrancer_schema::ijson::{self, IJsonError};
use remembrancer_schema::merkle::{
    Frontier, consistency_ranges, fold_subtrees, inclusion_ranges, leaf_hash, perfect_subtrees,
    verify_consistency, verify_inclusion,
};
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use remembrancer_schema::{ContentHash, TreeHash};
use serde_json::Value;

fn vectors(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the vectors are kept beside the crate");
    serde_json::from_str(&text).expect("the vectors are JSON")
}

/// The rows of a list, which must not be empty: a test over no rows would hold without checking anything.
fn rows(value: &Value) -> &[Value] {
    let rows = value.as_array().expect("a list");
    assert!(!rows.is_empty(), "a list of vectors is empty");
    rows
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name} is not text in {row}"))
}

fn number(row: &Value, name: &str) -> u64 {
    row[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} is not a number in {row}"))
}

fn bytes(row: &Value, name: &str) -> Vec<u8> {
    hex::decode(text(row, name)).expect("hexadecimal")
}

fn bytes32(row: &Value, name: &str) -> [u8; 32] {
    bytes(row, name).try_into().expect("32 bytes")
}

fn proof(row: &Value) -> Vec<TreeHash> {
    let hashes = row["proof"].as_array().expect("a list");
    hashes
        .iter()
        .map(|hash| hash.as_str().expect("text").parse().expect("a hash"))
        .collect()
}

#[test]
fn hashes() {
    let vectors = vectors("hashes.json");
    for row in rows(&vectors["blake3"]) {
        assert_eq!(
            ContentHash::of(&bytes(row, "input")).to_string(),
            text(row, "hash")
        );
    }
    for row in rows(&vectors["sha256"]) {
        assert_eq!(hex::encode(sha256(&bytes(row, "input"))), text(row, "hash"));
    }
    let contexts = [COMMITMENT_CONTEXT, ENTRY_CONTEXT, GENESIS_CONTEXT];
    for row in rows(&vectors["derive_key"]) {
        assert!(contexts.contains(&text(row, "context")), "{row}");
        if text(row, "context") == ENTRY_CONTEXT {
            assert_eq!(
                entry_hash(&bytes(row, "input")).to_string(),
                text(row, "hash")
            );
        }
        let derived = blake3::derive_key(text(row, "context"), &bytes(row, "input"));
        assert_eq!(hex::encode(derived), text(row, "hash"));
    }
}

#[test]
fn commitments() {
    for row in rows(&vectors("commitments.json")) {
        let commitment = commit(
            &Salt::from_bytes(bytes32(row, "salt")),
            text(row, "payload").as_bytes(),
        );
        assert_eq!(commitment.to_string(), text(row, "commitment"));
    }
}

#[test]
fn entries() {
    let vectors = vectors("entries.json");
    for row in rows(&vectors["genesis"]) {
        let origin = text(row, "origin").parse().expect("an origin");
        let session = text(row, "session").parse().expect("a session");
        assert_eq!(genesis(&origin, &session).to_string(), text(row, "hash"));
    }
    let mut heads = std::collections::HashMap::new();
    for (index, row) in (0u64..).zip(rows(&vectors["ledger"])) {
        let raw = text(row, "bytes").as_bytes();
        let entry = Entry::from_bytes(raw).expect("canonical");
        assert_eq!(entry.index, index);
        assert_eq!(entry.to_bytes(), raw);
        let prev = heads.get(&entry.session).copied();
        let prev = prev.unwrap_or_else(|| genesis(&entry.origin, &entry.session));
        assert_eq!(
            (entry.prev, entry.prev.to_string().as_str()),
            (prev, text(row, "prev"))
        );
        let salt = Salt::from_bytes(bytes32(row, "salt"));
        assert_eq!(
            entry.commitment,
            commit(&salt, text(row, "payload").as_bytes())
        );
        assert_eq!(entry_hash(raw).to_string(), text(row, "hash"));
        assert_eq!(leaf_hash(raw).to_string(), text(row, "leaf"));
        heads.insert(entry.session, entry_hash(raw));
    }
    assert_eq!(heads.len(), 2);
    for row in rows(&vectors["refused"]) {
        let entry = Entry::from_bytes(text(row, "bytes").as_bytes());
        assert!(entry.is_err(), "{} was accepted", text(row, "why"));
    }
}

#[test]
fn merkle_roots_and_proofs() {
    let vectors = vectors("merkle.json");
    let mut frontier = Frontier::new();
    let roots: Vec<TreeHash> = rows(&vectors["roots"])
        .iter()
        .map(|r| r.as_str().expect("text").parse().expect("a hash"))
        .collect();
    assert_eq!(frontier.root(), roots[0]);
    let mut nodes = std::collections::HashMap::new();
    for (row, root) in rows(&vectors["leaves"]).iter().zip(&roots[1..]) {
        let leaf = leaf_hash(&bytes(row, "input"));
        assert_eq!(leaf.to_string(), text(row, "hash"));
        frontier.push(leaf, |level, index, hash| {
            nodes.insert((level, index), hash);
        });
        assert_eq!(frontier.root(), *root, "size {}", frontier.size());
    }
    let compute = |ranges: Vec<std::ops::Range<u64>>| -> Vec<TreeHash> {
        let fold = |range| {
            let subtrees = perfect_subtrees(range);
            let hashes: Vec<_> = subtrees
                .iter()
                .map(|at| nodes[&(at.level, at.index)])
                .collect();
            fold_subtrees(&hashes).expect("a proof asks for no empty range")
        };
        ranges.into_iter().map(fold).collect()
    };
    for row in rows(&vectors["inclusion"]) {
        let (index, size) = (number(row, "index"), number(row, "size"));
        let ranges = inclusion_ranges(index, size).expect("inside");
        assert_eq!(compute(ranges), proof(row), "{row}");
        let root = &roots[size as usize];
        assert_eq!(
            verify_inclusion(&nodes[&(0, index)], index, size, &proof(row), root),
            Ok(())
        );
    }
    for row in rows(&vectors["consistency"]) {
        let (old, new) = (number(row, "old"), number(row, "new"));
        assert_eq!(
            compute(consistency_ranges(old, new).expect("growing")),
            proof(row),
            "{row}"
        );
        let (old_root, new_root) = (&roots[old as usize], &roots[new as usize]);
        assert_eq!(
            verify_consistency(old, new, old_root, new_root, &proof(row)),
            Ok(()),
            "{row}"
        );
    }
    for row in rows(&vectors["refused_inclusion"]) {
        let (index, size) = (number(row, "index"), number(row, "size"));
        // The leaf that the untouched proof is of: another index must not hold for it either.
        let verdict = verify_inclusion(
            &nodes[&(0, 4)],
            index,
            size,
            &proof(row),
            &roots[size as usize],
        );
        assert!(verdict.is_err(), "{}", text(row, "why"));
    }
    for row in rows(&vectors["refused_consistency"]) {
        let (old, new) = (number(row, "old"), number(row, "new"));
        let (old_root, new_root) = (&roots[old as usize], &roots[new as usize]);
        let verdict = verify_consistency(old, new, old_root, new_root, &proof(row));
        assert!(verdict.is_err(), "{}", text(row, "why"));
    }
}

#[test]
fn keys_checkpoints_and_receipts() {
    let vectors = vectors("notes.json");
    for row in rows(&vectors["keys"]) {
        let public = LedgerKey::from_seed(&bytes32(row, "seed")).public();
        assert_eq!(public.fingerprint(), text(row, "fingerprint"));
        assert_eq!(
            hex::encode(public.note_key_id(text(row, "name"))),
            text(row, "key_id")
        );
    }
    let key = LedgerKey::from_seed(&bytes32(&vectors["keys"][0], "seed"));
    let public = key.public();
    assert_eq!(
        PublicKey::from_pem(text(&vectors, "public_pem")),
        Ok(public.clone())
    );
    assert_eq!(public.to_pem().as_deref(), Ok(text(&vectors, "public_pem")));
    let signature = key.sign(text(&vectors["signature"], "message").as_bytes());
    assert_eq!(
        hex::encode(signature),
        text(&vectors["signature"], "signature")
    );

    let row = &vectors["checkpoint"];
    let checkpoint = Checkpoint {
        origin: text(row, "origin").parse().expect("an origin"),
        size: number(row, "size"),
        root: text(row, "root").parse().expect("a hash"),
    };
    assert_eq!(checkpoint.sign(&key), text(row, "note"));
    for note in ["note", "cosigned"] {
        assert_eq!(
            Checkpoint::verify(text(row, note), &public),
            Ok(checkpoint.clone()),
            "{note}"
        );
    }
    for row in rows(&vectors["refused_checkpoints"]) {
        let verdict = Checkpoint::verify(text(row, "note"), &public);
        assert!(verdict.is_err(), "{} was accepted", text(row, "why"));
    }

    let row = &vectors["receipt"];
    let line = |line: &Value| ReceiptLine {
        index: number(line, "index"),
        session: text(line, "session").parse().expect("a session"),
        sequence: number(line, "sequence"),
        hash: text(line, "hash").parse().expect("a hash"),
    };
    let lines: Vec<_> = rows(&row["lines"]).iter().map(line).collect();
    let origin = text(row, "origin").parse().expect("an origin");
    assert_eq!(receipt::sign(&origin, &lines, &key), text(row, "note"));
    assert_eq!(
        receipt::verify(text(row, "note"), &origin, &public),
        Ok(lines)
    );
    let checkpoint = text(&vectors["checkpoint"], "note");
    assert!(
        receipt::verify(checkpoint, &origin, &public).is_err(),
        "a checkpoint is no receipt"
    );
}

#[test]
fn i_json() {
    for row in rows(&vectors("ijson.json")) {
        let input = bytes(row, "input");
        let shown = String::from_utf8_lossy(&input);
        let verdict = ijson::check(&input);
        if row["accepted"] == true {
            assert_eq!(verdict, Ok(()), "{shown}");
            continue;
        }
        let error = verdict.expect_err(&shown);
        let fits = match text(row, "why") {
            "duplicate_name" => matches!(error, IJsonError::DuplicateName { .. }),
            // A number that overflows to infinity is refused by the grammar's reader already.
            "number" => matches!(
                error,
                IJsonError::NumberOutOfRange { .. } | IJsonError::NotJson(_)
            ),
            "surrogate" => matches!(error, IJsonError::LoneSurrogate(_)),
            "depth" => matches!(error, IJsonError::TooDeep),
            "syntax" => matches!(error, IJsonError::NotJson(_)),
            other => panic!("unknown reason {other}"),
        };
        assert!(
            fits,
            "{shown}: {error:?} where {} is expected",
            text(row, "why")
        );
    }
}
