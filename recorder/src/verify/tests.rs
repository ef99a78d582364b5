mod raw_file;

use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{Entry, Salt};
use sqlx::{Connection as _, SqliteConnection};

use super::*;
use crate::store::sqlite;
use crate::testing::{TestLedger, ended, event, note, started, tamper};

/// A closed ledger with two interleaved sessions, a blob and more than one tile of entries.
async fn ledger() -> TestLedger {
    let test = TestLedger::new().await;
    let (hash, _) = test
        .ledger
        .store_blob(bytes::Bytes::from_static(b"a large result"))
        .await
        .expect("stores");
    test.record_notes("a", 200).await;
    test.record_notes("b", 100).await;
    let naming = format!(
        r#"{{"id":"large","session":"b","type":"tool.returned","blobs":["{hash}"],"data":{{"call_id":"c","status":"ok"}}}}"#
    );
    let outcomes = test
        .ledger
        .append(vec![
            event(&naming),
            note("a", "last", "x"),
            ended("a"),
            started("c"),
        ])
        .await
        .expect("appends");
    assert!(
        outcomes.iter().all(|outcome| outcome.place().is_some()),
        "{outcomes:?}"
    );
    test
}

async fn verdict(test: &TestLedger) -> LedgerVerdict {
    let reader = Reader::open(test.path()).await.expect("opens");
    let mut last = 0;
    let verdict = verify_ledger(&reader, |entries| last = entries)
        .await
        .expect("can be checked");
    if verdict.is_sound() {
        assert_eq!(last, verdict.entries);
    }
    reader.close().await;
    verdict
}

#[tokio::test]
async fn a_ledger_as_recorded_is_sound() {
    let test = ledger().await;
    let verdict = verdict(&test).await;
    assert_eq!(verdict.faults, []);
    assert!(verdict.is_sound());
    assert_eq!(
        (verdict.entries, verdict.sessions, verdict.checkpoints),
        (306, 3, 3)
    );
    assert_eq!(verdict.absent_payloads, 0);
}

#[tokio::test]
async fn an_anchor_tells_of_an_older_copy_and_of_another_history() {
    let test = ledger().await;
    let anchor = test.path().join("elsewhere");
    let reader = test.ledger.reader();
    let against = async || {
        let verdict = crate::verify_ledger_against(reader, Some(&anchor), |_| {}).await;
        verdict.expect("can be checked")
    };
    let newest = reader.checkpoint().await.expect("reads").expect("there");
    std::fs::write(&anchor, &newest).expect("writes");
    assert!(against().await.is_sound());

    let stated = verdict(&test).await.entries;
    let key = crate::load_key(test.path()).expect("the key");
    let sign = |size: u64, root: [u8; 32]| {
        let checkpoint = remembrancer_schema::checkpoint::Checkpoint {
            origin: test.ledger.origin().clone(),
            size,
            root: remembrancer_schema::TreeHash::from_bytes(root),
        };
        std::fs::write(&anchor, checkpoint.sign(&key)).expect("writes");
    };
    sign(stated + 7, [1; 32]);
    let older = against().await.first_bad.expect("a fault");
    assert_eq!(older.index, Some(stated));
    assert!(older.message.contains("older than the anchor"), "{older}");
    assert!(
        older.message.contains(&format!("{} entries", stated + 7)),
        "{older}"
    );
    sign(stated - 1, [1; 32]);
    let other = against().await.first_bad.expect("a fault");
    assert!(other.message.contains("than the anchor"), "{other}");
    assert!(other.message.contains("another history"), "{other}");
    std::fs::write(&anchor, "of nobody").expect("writes");
    assert!(!against().await.is_sound());
    assert!(verdict(&test).await.is_sound(), "without it nothing shows");
}

#[tokio::test]
async fn an_empty_ledger_is_sound() {
    let test = TestLedger::new().await;
    let verdict = verdict(&test).await;
    assert!(verdict.is_sound(), "{:?}", verdict.faults);
    assert_eq!(verdict.entries, 0);
}

#[tokio::test]
async fn what_is_changed_in_a_table_is_found_and_the_first_bad_entry_named() {
    // (statement, index of the first bad entry, word of its fault)
    let cases: [(&'static str, Option<u64>, &str); 28] = [
        (
            "UPDATE entries SET bytes = CAST(replace(bytes, '\"n41\"', '\"n4x\"') AS BLOB) WHERE idx = 42",
            Some(42),
            "hash",
        ),
        (
            "UPDATE entries SET bytes = x'7b7d' WHERE idx = 42",
            Some(42),
            "not an entry",
        ),
        (
            "UPDATE entries SET bytes = CAST(bytes || ' ' AS BLOB) WHERE idx = 42",
            Some(42),
            "canonical",
        ),
        (
            "UPDATE entries SET hash = randomblob(32) WHERE idx = 42",
            Some(42),
            "hash",
        ),
        (
            "UPDATE entries SET leaf = randomblob(32) WHERE idx = 42",
            Some(42),
            "leaf",
        ),
        (
            "UPDATE entries SET event = 'other' WHERE idx = 42",
            Some(42),
            "columns",
        ),
        (
            "UPDATE entries SET session_no = 3, sequence = 999 WHERE idx = 42",
            Some(42),
            "columns",
        ),
        (
            "UPDATE entries SET session_no = 99 WHERE idx = 42",
            Some(42),
            "session number 99",
        ),
        (
            "UPDATE entries SET session_no = 99 WHERE idx = 0",
            Some(0),
            "session number 99",
        ),
        (
            "UPDATE sessions SET no = 99 WHERE id = 'c'",
            Some(305),
            "session number 3",
        ),
        (
            "UPDATE payloads SET data = CAST(replace(data, 'text', 'tex1') AS BLOB) WHERE idx = 42",
            Some(42),
            "commitment",
        ),
        (
            "UPDATE payloads SET data = x'ff' WHERE idx = 42",
            Some(42),
            "payload",
        ),
        (
            "UPDATE payloads SET salt = randomblob(32) WHERE idx = 42",
            Some(42),
            "commitment",
        ),
        (
            "DELETE FROM payloads WHERE idx = 42",
            Some(42),
            "payload is missing",
        ),
        ("DELETE FROM entries WHERE idx = 42", Some(42), "missing"),
        ("DELETE FROM entries WHERE idx >= 300", Some(300), "missing"),
        ("UPDATE blobs SET bytes = x'00'", Some(302), "other bytes"),
        ("DELETE FROM blobs", Some(302), "missing"),
        (
            "UPDATE checkpoints SET root = randomblob(32) WHERE size = 201",
            None,
            "size 201",
        ),
        (
            "UPDATE checkpoints SET note = replace(note, char(10) || '201' || char(10), char(10) || '200' || char(10)) WHERE size = 201",
            None,
            "size 201",
        ),
        ("UPDATE tiles SET hashes = zeroblob(8192)", None, "tile 0"),
        (
            "INSERT INTO tiles SELECT 0, 1, hashes FROM tiles",
            None,
            "1 tiles",
        ),
        (
            "INSERT INTO tiles SELECT -1, 0, hashes FROM tiles",
            None,
            "1 tiles",
        ),
        (
            "INSERT INTO entries SELECT -5, session_no, 7777, 'stray', bytes, hash, leaf FROM entries WHERE idx = 42",
            None,
            "index below 0",
        ),
        (
            "INSERT INTO payloads SELECT -5, salt, data FROM payloads WHERE idx = 42",
            None,
            "1 payloads",
        ),
        (
            "INSERT INTO payloads SELECT 306, salt, data FROM payloads WHERE idx = 42",
            None,
            "1 payloads",
        ),
        (
            "INSERT INTO checkpoints SELECT 0, root, note FROM checkpoints WHERE size = 201",
            None,
            "1 checkpoints",
        ),
        (
            "UPDATE sessions SET entries = entries + 1 WHERE id = 'b'",
            None,
            "session b",
        ),
    ];
    for (statement, index, word) in cases {
        let test = ledger().await;
        test.ledger.close().await;
        tamper(&test, statement).await;
        let verdict = verdict(&test).await;
        let fault = verdict.first_bad.clone().expect(statement);
        assert_eq!(fault.index, index, "{statement}: {fault}");
        let all = verdict
            .faults
            .iter()
            .map(|fault| fault.message.as_str())
            .collect::<Vec<_>>();
        assert!(
            all.iter().any(|message| message.contains(word)),
            "{statement}: {all:?}"
        );
    }
}

/// Every column of an entry, changed alone to a value that no other row has.
#[tokio::test]
async fn each_column_of_an_entry_is_checked_by_itself() {
    let cases: [(&str, &'static str); 7] = [
        ("idx", "UPDATE entries SET idx = 7777 WHERE idx = 118"),
        (
            "session_no",
            "UPDATE entries SET session_no = 77 WHERE idx = 118",
        ),
        (
            "sequence",
            "UPDATE entries SET sequence = 7777 WHERE idx = 118",
        ),
        (
            "event",
            "UPDATE entries SET event = 'unused' WHERE idx = 118",
        ),
        (
            "bytes",
            "UPDATE entries SET bytes = CAST(replace(bytes, '\"n117\"', '\"n11x\"') AS BLOB) WHERE idx = 118",
        ),
        (
            "hash",
            "UPDATE entries SET hash = zeroblob(32) WHERE idx = 118",
        ),
        (
            "leaf",
            "UPDATE entries SET leaf = zeroblob(32) WHERE idx = 118",
        ),
    ];
    let test = ledger().await;
    let file = test.path().join("ledger.sqlite");
    let mut connection = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info('entries')")
        .fetch_all(&mut connection)
        .await
        .expect("lists");
    assert_eq!(columns, cases.map(|(column, _)| column));
    connection.close().await.expect("closes");
    test.ledger.close().await;
    let original = std::fs::read(&file).expect("reads");
    for (column, statement) in cases {
        tamper(&test, statement).await;
        let fault = verdict(&test).await.first_bad.expect(column);
        assert_eq!(fault.index, Some(118), "{column}: {fault}");
        std::fs::write(&file, &original).expect("writes");
    }
    assert!(verdict(&test).await.is_sound());
}

/// A forger who recomputes entry, hash and leaf, and so on to the end of the session, still lacks the key.
#[tokio::test]
async fn a_consistent_forgery_is_caught_by_the_signed_root() {
    let test = TestLedger::new().await;
    test.record_notes("a", 3).await;
    test.ledger.close().await;
    let reader = Reader::open(test.path()).await.expect("opens");
    let last = reader.entries_from(3, 1).await.expect("reads").remove(0);
    let salt = Salt::from_bytes(last.salt.expect("kept"));
    let forged = r#"{"text":"something else"}"#;
    let mut entry = Entry::from_bytes(&last.bytes).expect("canonical");
    entry.commitment = remembrancer_schema::commitment::commit(&salt, forged.as_bytes());
    reader.close().await;
    tamper(&test, "UPDATE sessions SET turns = turns").await;
    let file = test.path().join("ledger.sqlite");
    let mut connection = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    let bytes = entry.to_bytes();
    let hash = entry_hash(&bytes);
    sqlx::query("UPDATE entries SET bytes = ?, hash = ?, leaf = ? WHERE idx = 3")
        .bind(bytes.as_slice())
        .bind(hash.as_bytes().as_slice())
        .bind(leaf_hash(&bytes).as_bytes().as_slice())
        .execute(&mut connection)
        .await
        .expect("forges");
    for statement in ["UPDATE payloads SET data = ? WHERE idx = 3"] {
        sqlx::query(statement)
            .bind(forged.as_bytes())
            .execute(&mut connection)
            .await
            .expect("forges");
    }
    sqlx::query("UPDATE sessions SET head = ?")
        .bind(hash.as_bytes().as_slice())
        .execute(&mut connection)
        .await
        .expect("forges");
    connection.close().await.expect("closes");
    let verdict = verdict(&test).await;
    let fault = verdict.first_bad.expect("the root differs");
    assert_eq!(fault.index, Some(3));
    assert!(fault.message.contains("signed checkpoint"), "{fault}");
}
