//! Attacks on a bundle by the one who would gain most: an operator who holds the ledger's key and signs the sums anew. So the
//! sums hold, and the chain, the tree, or the computation must tell.

use std::collections::BTreeMap;

use remembrancer_recorder::load_key;
use remembrancer_schema::Entry;
use remembrancer_schema::commitment::{Salt, commit};
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::signing::LedgerKey;

use super::container::{contents, packed};
use super::{ENTRIES, SESSION, Victim, events, judge, text};

const LINES: &str = "entries.jsonl";
const PROOFS: &str = "proofs.json";

/// A bundle taken apart, and the key that signs what is made of it.
struct Forger {
    victim: Victim,
    files: BTreeMap<String, Vec<u8>>,
    key: LedgerKey,
}

impl Forger {
    fn new() -> Self {
        let victim = Victim::new();
        let sound = victim.bundle(SESSION);
        victim.judge_bundle(&sound).is_sound();
        let forger = Self {
            files: contents(&sound),
            key: load_key(&victim.data).expect("the ledger's key"),
            victim,
        };
        assert_eq!(
            forger.sealed(),
            sound,
            "what a forger makes is in the one form of a bundle"
        );
        forger
    }

    fn lines(&self) -> Vec<String> {
        let all = String::from_utf8(self.files[LINES].clone()).expect("UTF-8");
        all.lines().map(str::to_owned).collect()
    }

    fn put_lines(&mut self, lines: &[String]) {
        let all: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.files.insert(LINES.to_owned(), all.into_bytes());
    }

    /// Changes one file's text where it has what is looked for.
    #[track_caller]
    fn replace(&mut self, name: &str, from: &str, to: &str) {
        let old = String::from_utf8(self.files[name].clone()).expect("UTF-8");
        let new = old.replacen(from, to, 1);
        assert_ne!(old, new, "{name} holds {from}");
        self.files.insert(name.to_owned(), new.into_bytes());
    }

    /// Changes an entry, and links all that follow it anew.
    fn rewrite(&mut self, sequence: u64, change: impl Fn(&mut Entry)) {
        let mut prev = None;
        let mut lines = self.lines();
        for (line, number) in lines.iter_mut().zip(0..) {
            let mut entry = Entry::from_bytes(line.as_bytes()).expect("an entry");
            if number == sequence {
                change(&mut entry);
            }
            entry.prev = prev.unwrap_or(entry.prev);
            let bytes = entry.to_bytes();
            prev = Some(entry_hash(&bytes));
            *line = String::from_utf8(bytes).expect("UTF-8");
        }
        self.put_lines(&lines);
    }

    fn salt(&self, sequence: u64) -> Salt {
        let hexadecimal =
            String::from_utf8_lossy(&self.files[&format!("payloads/{sequence:08}.salt")]);
        let bytes = hex::decode(hexadecimal.trim()).expect("hexadecimal");
        Salt::from_bytes(bytes.try_into().expect("a salt's length"))
    }

    /// The sums made and signed anew, and the whole packed.
    fn sealed(&self) -> Vec<u8> {
        let mut files = self.files.clone();
        files.retain(|name, _| !name.starts_with("SHA256SUMS"));
        let sum = |bytes: &[u8]| hex::encode(<sha2::Sha256 as sha2::Digest>::digest(bytes));
        let sums: String = files
            .iter()
            .map(|(name, bytes)| format!("{}  {name}\n", sum(bytes)))
            .collect();
        files.insert(
            "SHA256SUMS.sig".to_owned(),
            self.key.sign(sums.as_bytes()).to_vec(),
        );
        files.insert("SHA256SUMS".to_owned(), sums.into_bytes());
        packed(&files)
    }

    fn judged(&self) -> super::Judged {
        self.victim.judge_bundle(&self.sealed())
    }
}

#[test]
fn an_edited_entry_breaks_the_link_behind_it() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines[3] = lines[3].replacen("\"event\":\"e3\"", "\"event\":\"x3\"", 1);
    forger.put_lines(&lines);
    let judged = forger.judged();
    judged.blames(3, "not proven to be in the checkpoint");
    judged.names(Some(LINES), "does not link to the entry before it");
}

#[test]
fn an_entry_in_another_spelling_is_not_in_its_one_form() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines[2] = lines[2].replacen("\"index\":", "\"index\": ", 1);
    forger.put_lines(&lines);
    forger.judged().blames(2, "canonical");
}

#[test]
fn reordered_entries_have_numbers_that_are_not_due() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines.swap(3, 4);
    forger.put_lines(&lines);
    forger
        .judged()
        .blames(3, "has sequence number 4 where 3 is due");
}

#[test]
fn an_inserted_entry_has_a_number_that_is_not_due() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines.insert(4, lines[3].clone());
    forger.put_lines(&lines);
    forger
        .judged()
        .blames(4, "has sequence number 3 where 4 is due");
}

#[test]
fn a_deleted_middle_leaves_a_gap() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines.drain(2..4);
    forger.put_lines(&lines);
    forger
        .judged()
        .blames(2, "has sequence number 4 where 2 is due");
}

#[test]
fn a_deleted_tail_leaves_proofs_over_or_an_open_end() {
    let mut forger = Forger::new();
    let mut lines = forger.lines();
    lines.truncate(5);
    forger.put_lines(&lines);
    let judged = forger.judged();
    judged.names(Some(PROOFS), "there is not one proof for each entry");
    // Of a session that was cut before it was bundled nothing is left over: it has no seal, and is called incomplete.
    let cut = Victim::of(&events()[..5]);
    let judged = cut.judge_bundle(&cut.bundle(SESSION));
    assert_eq!(judged.found["verdict"], "incomplete", "{judged:?}");
    assert_eq!(judged.found["sealed"], false);
    let open = judged.found["not_proven"].to_string();
    assert!(open.contains("not sealed"), "{open}");
}

#[test]
fn a_payload_without_its_hash_does_not_match_the_commitment() {
    let mut forger = Forger::new();
    // The decision that hashes of some logs do not cover.
    forger.replace("payloads/00000005.json", "deny", "allow");
    forger
        .judged()
        .blames(5, "does not match the entry's commitment");
}

#[test]
fn a_payload_swapped_with_its_hash_does_not_lead_to_the_signed_root() {
    let mut forger = Forger::new();
    forger.replace("payloads/00000005.json", "deny", "allow");
    let salt = forger.salt(5);
    let data = forger.files["payloads/00000005.json"].clone();
    forger.rewrite(5, |entry| entry.commitment = commit(&salt, &data));
    let judged = forger.judged();
    judged.blames(5, "not proven to be in the checkpoint");
    assert_eq!(judged.found["first_bad"]["file"], PROOFS, "{judged:?}");
}

#[test]
fn a_backdated_entry_does_not_lead_to_the_signed_root() {
    let mut forger = Forger::new();
    // The last one: no link behind it could tell.
    forger.rewrite(ENTRIES - 1, |entry| {
        entry.received = "2025-01-01T00:00:00.000Z".to_owned()
    });
    forger
        .judged()
        .blames(ENTRIES - 1, "not proven to be in the checkpoint");
}

#[test]
fn an_analysis_or_a_report_that_lies_is_not_what_the_entries_give() {
    for (name, from, to) in [
        ("analysis.json", "no_contact", "no_contacts"),
        ("report.html", "no_contact", "no_contacts"),
    ] {
        let mut forger = Forger::new();
        forger.replace(name, from, to);
        let judged = forger.judged();
        judged.names(
            Some(name),
            "not what the entries give when it is computed anew",
        );
        assert_eq!(
            judged.found["faults"].as_array().unwrap().len(),
            1,
            "{judged:?}"
        );
    }
}

#[test]
fn a_signature_by_another_key_is_not_the_ledgers() {
    let mut forger = Forger::new();
    forger.key = LedgerKey::from_seed(&[9; 32]);
    // The sums signed by a stranger, the ledger's key left in its place.
    forger
        .judged()
        .names(Some("SHA256SUMS.sig"), "did not sign these sums");
    // The stranger's key put in its place: the checkpoint is still the ledger's.
    let pem = forger.key.public().to_pem().expect("PEM");
    forger
        .files
        .insert("keys/ledger.pem".to_owned(), pem.into_bytes());
    let judged = forger.judged();
    judged.names(Some("keys/ledger.pem"), "another key than the one given");
    judged.names(Some("checkpoint"), "has no signature by");
    // Signed by the stranger through and through, it agrees with itself: the auditor's own copy of the key is what tells.
    let note = String::from_utf8(forger.files["checkpoint"].clone()).expect("UTF-8");
    let known = load_key(&forger.victim.data)
        .expect("the ledger's key")
        .public();
    let checkpoint =
        remembrancer_schema::checkpoint::Checkpoint::verify(&note, &known).expect("the ledger's");
    forger.files.insert(
        "checkpoint".to_owned(),
        checkpoint.sign(&forger.key).into_bytes(),
    );
    let judged = forger.judged();
    judged.names(Some("keys/ledger.pem"), "another key than the one given");
    let file = forger.victim.file("attacked.rmb");
    let alone = judge(&["verify", text(&file)]);
    assert_ne!(
        alone.found["verdict"], "verified",
        "without a key nothing is ever verified"
    );
}

#[test]
fn a_file_that_no_entry_refers_to_is_named() {
    let mut forger = Forger::new();
    forger
        .files
        .insert("notes.txt".to_owned(), b"read me".to_vec());
    forger
        .judged()
        .names(Some("notes.txt"), "no entry refers to this file");
}
