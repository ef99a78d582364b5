//! Attacks on the database file by somebody who may write it: the triggers that keep the record as it is are dropped first, as an
//! attacker would, so that only the verification is left to tell.

use remembrancer_recorder::load_key;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::commitment::{Salt, commit};
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::{Frontier, leaf_hash};
use remembrancer_schema::{Entry, TreeHash};
use rusqlite::{Connection, params};

use super::{Judged, Victim, text};
use crate::support::{Server, succeed};

impl Victim {
    fn unguarded_again(&self) -> Connection {
        Connection::open(self.data.join("ledger.sqlite")).expect("opens")
    }

    /// The database, without what guards it.
    fn unguarded(&self) -> Connection {
        let connection = self.unguarded_again();
        let triggers: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .and_then(|mut found| found.query_map([], |row| row.get(0))?.collect())
            .expect("lists");
        assert!(
            !triggers.is_empty(),
            "the record is guarded against mistakes"
        );
        for trigger in triggers {
            connection
                .execute_batch(&format!("DROP TRIGGER {trigger}"))
                .expect("drops");
        }
        connection
    }

    /// Runs statements in which `$N` stands for the index of the session's entry number N, and judges what is left.
    fn attacked(&self, statements: &str) -> Judged {
        let mut statements = statements.to_owned();
        let first = self.first_index();
        for number in 0..super::ENTRIES {
            statements = statements.replace(&format!("${number}"), &(first + number).to_string());
        }
        let connection = self.unguarded();
        connection
            .execute_batch(&statements)
            .expect("the statements are sound");
        assert!(connection.changes() > 0, "{statements} changed nothing");
        drop(connection);
        self.judge_ledger(&[])
    }
}

#[track_caller]
fn is_caught(statements: &str, number: u64, message: &str) {
    let victim = Victim::new();
    let first = victim.first_index();
    let judged = victim.attacked(statements);
    assert_eq!(judged.code, Some(1), "{statements}: {judged:?}");
    assert_eq!(
        judged.found["first_bad"]["index"],
        first + number,
        "{judged:?}"
    );
    judged.names(None, message);
}

#[test]
fn an_edited_entry_does_not_have_its_hash() {
    is_caught(
        "UPDATE entries SET bytes = CAST(replace(bytes, '\"e3\"', '\"x3\"') AS BLOB) WHERE idx = $3",
        3,
        "is not the hash of its bytes",
    );
}

#[test]
fn reordered_entries_say_another_place() {
    is_caught(
        "UPDATE entries SET bytes = (SELECT bytes FROM entries AS other WHERE other.idx = $3 + $4 - entries.idx) \
         WHERE idx IN ($3, $4)",
        3,
        "its bytes say that it is entry",
    );
}

#[test]
fn an_inserted_entry_belongs_to_no_place() {
    is_caught(
        "INSERT INTO entries SELECT $6 + 1, session_no, 7, 'e7', bytes, hash, leaf FROM entries WHERE idx = $3",
        7,
        "its bytes say that it is entry",
    );
}

#[test]
fn a_deleted_middle_is_missing() {
    is_caught("DELETE FROM entries WHERE idx IN ($2, $3)", 2, "missing");
}

#[test]
fn a_deleted_tail_is_stated_by_the_signed_checkpoint() {
    is_caught(
        "DELETE FROM payloads WHERE idx >= $5; DELETE FROM entries WHERE idx >= $5",
        5,
        "missing",
    );
}

#[test]
fn a_payload_without_its_hash_does_not_match_the_commitment() {
    is_caught(
        "UPDATE payloads SET data = CAST(replace(data, 'deny', 'allow') AS BLOB) WHERE idx = $5",
        5,
        "does not match the entry's commitment",
    );
}

/// Everything that belongs to the last entry is made anew, as far as that can be done without the key.
fn rewrite_last(victim: &Victim, change: impl Fn(&mut Entry, &Salt) -> String) {
    let index = i64::try_from(victim.first_index() + super::ENTRIES - 1).expect("small");
    let connection = victim.unguarded();
    let (bytes, salt): (Vec<u8>, [u8; 32]) = connection
        .query_row(
            "SELECT bytes, salt FROM entries JOIN payloads USING (idx) WHERE idx = ?",
            [index],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("is there");
    let mut entry = Entry::from_bytes(&bytes).expect("an entry");
    let data = change(&mut entry, &Salt::from_bytes(salt));
    let bytes = entry.to_bytes();
    let (hash, leaf) = (entry_hash(&bytes), leaf_hash(&bytes));
    let hash = hash.as_bytes().as_slice();
    connection
        .execute(
            "UPDATE entries SET bytes = ?, hash = ?, leaf = ? WHERE idx = ?",
            params![bytes, hash, leaf.as_bytes().as_slice(), index],
        )
        .expect("forges");
    connection
        .execute(
            "UPDATE payloads SET data = ? WHERE idx = ?",
            params![data.as_bytes(), index],
        )
        .expect("forges");
    connection
        .execute("UPDATE sessions SET head = ? WHERE id = 'run'", [hash])
        .expect("forges");
}

#[test]
fn a_payload_swapped_with_its_hash_does_not_lead_to_the_signed_root() {
    let victim = Victim::new();
    rewrite_last(&victim, |entry, salt| {
        let data = r#"{"reason":"done"}"#;
        entry.commitment = commit(salt, data.as_bytes());
        data.to_owned()
    });
    victim.judge_ledger(&[]).blames_root();
}

#[test]
fn a_backdated_entry_does_not_lead_to_the_signed_root() {
    let victim = Victim::new();
    rewrite_last(&victim, |entry, _| {
        entry.received = "2025-01-01T00:00:00.000Z".to_owned();
        "{}".to_owned()
    });
    victim.judge_ledger(&[]).blames_root();
}

impl Judged {
    #[track_caller]
    fn blames_root(&self) {
        assert_eq!(self.code, Some(1), "{self:?}");
        let first = self.found["first_bad"]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(first.contains("signed checkpoint"), "{self:?}");
    }
}

#[test]
fn a_ledger_signed_by_another_key_is_not_the_one_that_was_given() {
    let (victim, other) = (Victim::new(), Victim::new());
    let key = other.public_key();
    let judged = victim.judge_ledger(&["--key", text(&key)]);
    assert_eq!(judged.code, Some(1), "{judged:?}");
    assert_eq!(judged.found["key"], "differs");
    victim
        .judge_ledger(&["--key", text(&victim.public_key())])
        .is_sound();
    // The other ledger's key as the stored one: no checkpoint is signed by it.
    let pem = std::fs::read_to_string(&key).expect("reads");
    let connection = victim.unguarded();
    connection
        .execute("UPDATE ledger SET public_key = ?", [pem])
        .expect("forges");
    drop(connection);
    victim
        .judge_ledger(&[])
        .names(None, "the checkpoint of size");
}

#[test]
fn a_rolled_back_ledger_is_older_than_the_anchor() {
    let victim = Victim::new();
    let older = victim.file("older");
    succeed(&[
        "backup",
        "--with-key",
        "--to",
        text(&older),
        "--data",
        victim.data(),
    ]);
    let anchor = victim.file("anchor");
    let server = Server::start_on(&victim.data);
    let key = server.key("write");
    let started =
        serde_json::json!({ "id": "s", "session": "later", "type": "session.started", "data": {} });
    assert_eq!(server.post(&key, &started).status, 201);
    drop(server);
    std::fs::copy(victim.data.join("ledger.checkpoint"), &anchor).expect("the auditor's copy");
    victim.judge_ledger(&["--anchor", text(&anchor)]).is_sound();

    let restored = victim.file("restored");
    succeed(&["restore", "--from", text(&older), "--data", text(&restored)]);
    let alone = super::judge(&["verify", "--data", text(&restored)]);
    alone.is_sound();
    let against = super::judge(&[
        "verify",
        "--data",
        text(&restored),
        "--anchor",
        text(&anchor),
    ]);
    assert_eq!(against.code, Some(1), "{against:?}");
    against.names(None, "older than the anchor");
}

/// Whoever holds the key can sign what was rewritten. Nothing in the folder tells; what others hold does.
#[test]
fn a_history_rewritten_and_signed_by_the_key_holder_is_another_than_the_anchor() {
    let victim = Victim::new();
    let (anchor, beside) = (victim.file("anchor"), victim.data.join("ledger.checkpoint"));
    std::fs::copy(&beside, &anchor).expect("the auditor's copy");
    rewrite_last(&victim, |entry, salt| {
        let data = r#"{"reason":"done"}"#;
        entry.commitment = commit(salt, data.as_bytes());
        data.to_owned()
    });
    let connection = victim.unguarded_again();
    let leaves: Vec<[u8; 32]> = connection
        .prepare("SELECT leaf FROM entries ORDER BY idx")
        .and_then(|mut found| found.query_map([], |row| row.get(0))?.collect())
        .expect("reads");
    let mut tree = Frontier::new();
    for leaf in leaves {
        tree.push(TreeHash::from_bytes(leaf), |_, _, _| {});
    }
    let key = load_key(&victim.data).expect("the ledger's key");
    let note = std::fs::read_to_string(&beside).expect("reads");
    let genuine = Checkpoint::verify(&note, &key.public()).expect("the ledger's");
    let forged = Checkpoint {
        origin: genuine.origin,
        size: tree.size(),
        root: tree.root(),
    };
    assert_eq!(genuine.size, forged.size);
    assert_ne!(genuine.root, forged.root);
    let forged_note = forged.sign(&key);
    connection
        .execute(
            "UPDATE checkpoints SET root = ?, note = ? WHERE size = ?",
            params![
                forged.root.as_bytes().as_slice(),
                forged_note,
                i64::try_from(forged.size).expect("small")
            ],
        )
        .expect("forges");
    drop(connection);
    victim
        .judge_ledger(&[])
        .names(None, "than the checkpoint beside it");
    std::fs::write(&beside, &forged_note).expect("forges");
    victim
        .judge_ledger(&["--key", text(&victim.public_key())])
        .is_sound();
    let judged = victim.judge_ledger(&["--anchor", text(&anchor)]);
    assert_eq!(judged.code, Some(1), "{judged:?}");
    judged.names(None, "another history");
}
