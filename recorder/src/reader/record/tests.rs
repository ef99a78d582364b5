use crate::error::LedgerError;
use crate::reader::Reader;
use crate::testing::{TestLedger, event, note, started, tamper};

/// A closed ledger: entries 0 to 3 are session `a`, 4 is the start of `b`, 5 names a blob, 6 is another of `a`.
async fn ledger() -> TestLedger {
    let test = TestLedger::new().await;
    let (hash, _) = test
        .ledger
        .store_blob(bytes::Bytes::from_static(b"large"))
        .await
        .expect("stores");
    test.record_notes("a", 3).await;
    let naming =
        format!(r#"{{"id":"b","session":"a","type":"custom.x","blobs":["{hash}"],"data":{{}}}}"#);
    let events = vec![started("b"), event(&naming), note("a", "last", "x")];
    let outcomes = test.ledger.append(events).await.expect("appends");
    assert!(outcomes.iter().all(|outcome| outcome.place().is_some()));
    test.ledger.close().await;
    test
}

#[tokio::test]
async fn a_record_that_does_not_hold_together_is_refused_and_the_entry_named() {
    // (statement, the entry that the error names)
    let cases: [(&'static str, Option<u64>); 14] = [
        ("DELETE FROM entries WHERE idx = 6", None),
        ("DELETE FROM entries WHERE idx = 2", None),
        ("UPDATE entries SET session_no = 77 WHERE idx = 2", None),
        (
            "UPDATE entries SET session_no = 1, sequence = 6, event = 'moved' WHERE idx = 4",
            None,
        ),
        ("UPDATE sessions SET entries = 5 WHERE id = 'a'", None),
        ("UPDATE sessions SET entries = 7 WHERE id = 'a'", None),
        ("UPDATE sessions SET head = zeroblob(32)", Some(6)),
        // The cut is hidden in the row's number, but not in its head.
        (
            "UPDATE entries SET session_no = 77 - sequence % 2 WHERE idx >= 5; \
             UPDATE sessions SET entries = 4 WHERE id = 'a'",
            Some(3),
        ),
        // A gap with the number adjusted.
        (
            "DELETE FROM entries WHERE idx = 2; UPDATE sessions SET entries = 5 WHERE id = 'a'",
            Some(3),
        ),
        (
            "UPDATE entries SET hash = zeroblob(32) WHERE idx = 2",
            Some(2),
        ),
        (
            "UPDATE payloads SET data = CAST('{\"text\":\"other\"}' AS BLOB) WHERE idx = 2",
            Some(2),
        ),
        (
            "UPDATE payloads SET salt = zeroblob(32) WHERE idx = 2",
            Some(2),
        ),
        ("UPDATE blobs SET bytes = x'00'", Some(5)),
        ("DELETE FROM blobs", Some(5)),
    ];
    let test = ledger().await;
    let file = test.path().join("ledger.sqlite");
    let original = std::fs::read(&file).expect("reads");
    let id = "a".parse().expect("id");
    let reader = Reader::open(test.path()).await.expect("opens");
    let before = reader.session(&id).await.expect("reads").expect("is there");
    reader.close().await;
    for (statement, index) in cases {
        tamper(&test, statement).await;
        let reader = Reader::open(test.path()).await.expect("opens");
        let error = reader.session_record(&id).await.expect_err(statement);
        match (&error, index) {
            (
                LedgerError::BlobMissing { entry, .. } | LedgerError::BlobDamaged { entry, .. },
                expected,
            ) => assert_eq!(*entry, expected, "{statement}: {error}"),
            (LedgerError::Damaged(reason), None) => {
                assert!(reason.contains("session a"), "{reason}")
            }
            (LedgerError::Corrupt { index, .. }, Some(expected)) => {
                assert_eq!(*index, expected, "{statement}: {error}");
            }
            _ => panic!("{statement}: {error}"),
        }
        if !statement.contains("sessions") {
            reader.record_of(&before).await.expect_err(statement);
        }
        reader.close().await;
        std::fs::write(&file, &original).expect("writes");
    }
    let reader = Reader::open(test.path()).await.expect("opens");
    assert_eq!(
        reader
            .session_record(&id)
            .await
            .expect("reads")
            .events
            .len(),
        6
    );
    reader.close().await;
}
