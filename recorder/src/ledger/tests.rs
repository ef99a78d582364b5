use bytes::Bytes;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::entry::{entry_hash, genesis};
use remembrancer_schema::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use remembrancer_schema::{ContentHash, Entry, EntryHash};
use sqlx::{Connection as _, SqliteConnection};

use super::*;
use crate::store::sqlite;
use crate::testing::{TestLedger, ended, event, note, started};
use crate::{Outcome, Rejection};

fn recorded(outcome: &Outcome) -> (u64, u64, EntryHash) {
    match outcome {
        Outcome::Recorded {
            index,
            sequence,
            hash,
        } => (*index, *sequence, *hash),
        other => panic!("{other:?} is not recorded"),
    }
}

#[tokio::test]
async fn entries_are_linked_and_the_checkpoint_covers_them() {
    let test = TestLedger::new().await;
    let outcomes = test
        .ledger
        .append(vec![
            started("a"),
            started("b"),
            note("a", "1", "x"),
            note("b", "1", "y"),
            ended("a"),
        ])
        .await
        .expect("appends");
    let places: Vec<_> = outcomes.iter().map(recorded).collect();
    assert_eq!(
        places
            .iter()
            .map(|place| (place.0, place.1))
            .collect::<Vec<_>>(),
        [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]
    );
    let reader = test.ledger.reader();
    let record = reader
        .session_record(&"a".parse().expect("id"))
        .await
        .expect("reads");
    let mut head = genesis(test.ledger.origin(), &record.session);
    for recorded in &record.events {
        assert_eq!(recorded.entry.prev, head);
        head = entry_hash(&recorded.entry_bytes);
        assert_eq!(recorded.hash, head);
    }
    let summary = reader.find_session("label of a").await.expect("by label");
    assert_eq!(summary.head, head);
    assert!(summary.sealed);
    assert_eq!(
        (
            summary.entries,
            summary.agent.as_deref(),
            summary.model.as_deref()
        ),
        (3, Some("tester"), Some("m-1"))
    );
    let note = reader
        .checkpoint()
        .await
        .expect("reads")
        .expect("there is one");
    let checkpoint = Checkpoint::verify(&note, test.ledger.public_key()).expect("signed");
    assert_eq!(checkpoint.size, 5);
    assert_eq!(checkpoint.root, reader.root(5).await.expect("known"));
}

#[tokio::test]
async fn the_order_of_a_session_is_enforced_and_the_rest_of_a_batch_is_kept() {
    let test = TestLedger::new().await;
    let second_start = event(r#"{"id":"start2","session":"a","type":"session.started","data":{}}"#);
    let outcomes = test
        .ledger
        .append(vec![
            note("a", "0", "before its start"),
            started("a"),
            second_start,
            note("a", "1", "kept"),
            ended("a"),
            note("a", "2", "after its end"),
            note("a", "1", "kept"),
            note("a", "1", "changed"),
        ])
        .await
        .expect("appends");
    assert!(matches!(
        outcomes[0],
        Outcome::Rejected(Rejection::UnknownSession(_))
    ));
    let kept = recorded(&outcomes[3]);
    assert!(matches!(
        outcomes[2],
        Outcome::Rejected(Rejection::SessionAlreadyStarted(_))
    ));
    assert_eq!(recorded(&outcomes[4]).0, 2);
    assert!(matches!(
        outcomes[5],
        Outcome::Rejected(Rejection::SessionEnded(_))
    ));
    assert!(matches!(outcomes[6], Outcome::Duplicate { index: 1, .. }));
    assert!(matches!(
        outcomes[7],
        Outcome::Rejected(Rejection::IdConflict { index: 1, .. })
    ));
    assert_eq!(test.ledger.reader().size().await.expect("reads"), 3);

    // The same questions against what is stored rather than against the batch.
    let outcomes = test
        .ledger
        .append(vec![
            note("a", "1", "kept"),
            note("a", "1", "changed"),
            started("a"),
        ])
        .await
        .expect("appends");
    assert_eq!(outcomes[0].place(), Some(kept));
    assert!(matches!(
        outcomes[1],
        Outcome::Rejected(Rejection::IdConflict { index: 1, .. })
    ));
    assert!(matches!(outcomes[2], Outcome::Duplicate { index: 0, .. }));
    assert_eq!(test.ledger.reader().size().await.expect("reads"), 3);
}

#[tokio::test]
async fn a_blob_must_be_stored_before_it_is_named() {
    let test = TestLedger::new().await;
    let hash = ContentHash::of(b"large");
    let naming = || {
        event(&format!(
            r#"{{"id":"b","session":"a","type":"custom.x","blobs":["{hash}"],"data":{{}}}}"#
        ))
    };
    let outcomes = test
        .ledger
        .append(vec![started("a"), naming()])
        .await
        .expect("appends");
    assert_eq!(outcomes[1], Outcome::Rejected(Rejection::BlobMissing(hash)));
    let large = || Bytes::from_static(b"large");
    assert_eq!(
        test.ledger.store_blob(large()).await.expect("stores"),
        (hash, true)
    );
    assert_eq!(
        test.ledger.store_blob(large()).await.expect("stores"),
        (hash, false)
    );
    let outcomes = test.ledger.append(vec![naming()]).await.expect("appends");
    assert_eq!(recorded(&outcomes[0]).0, 1);
    let record = test
        .ledger
        .reader()
        .session_record(&"a".parse().expect("id"))
        .await
        .expect("reads");
    assert_eq!(
        record.blobs.get(&hash).map(|bytes| &bytes[..]),
        Some(&b"large"[..])
    );
}

#[tokio::test]
async fn a_restart_goes_on_where_the_ledger_was() {
    let mut test = TestLedger::new().await;
    let origin = test.ledger.origin().clone();
    let mut roots = Vec::new();
    for round in 0..4 {
        test.record_notes(&format!("s{round}"), 100).await;
        let reader = test.ledger.reader();
        let size = reader.size().await.expect("reads");
        roots.push((size, reader.root(size).await.expect("known")));
        test = test.reopen().await;
    }
    assert_eq!(*test.ledger.origin(), origin);
    let reader = test.ledger.reader();
    let (size, root) = *roots.last().expect("four rounds");
    for (old, old_root) in &roots {
        let proof = reader.consistency_proof(*old, size).await.expect("proves");
        assert_eq!(
            verify_consistency(*old, size, old_root, &root, &proof),
            Ok(())
        );
    }
    for stored in reader.entries_from(250, 20).await.expect("reads") {
        let proof = reader
            .inclusion_proof(stored.index, size)
            .await
            .expect("proves");
        let leaf = leaf_hash(&stored.bytes);
        assert_eq!(
            verify_inclusion(&leaf, stored.index, size, &proof, &root),
            Ok(())
        );
        assert_eq!(
            Entry::from_bytes(&stored.bytes).expect("canonical").index,
            stored.index
        );
    }
    assert!(matches!(
        reader.inclusion_proof(size, size).await,
        Err(LedgerError::OutOfRange { what: "index", .. })
    ));
    assert!(matches!(
        reader.consistency_proof(1, size + 1).await,
        Err(LedgerError::OutOfRange { what: "new", .. })
    ));
}

#[tokio::test]
async fn a_second_writer_is_refused_until_the_first_is_gone() {
    let test = TestLedger::new().await;
    let error = Ledger::open(LedgerOptions::new(test.path()))
        .await
        .expect_err("locked");
    assert!(matches!(error, LedgerError::AlreadyOpen(_)), "{error}");
    assert!(
        error.to_string().contains("another process writes"),
        "{error}"
    );
    test.reopen().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_key_is_for_its_owner_alone_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = TestLedger::new().await;
    for name in ["ledger-key.pem", "ledger.sqlite", "ledger.lock"] {
        let mode = std::fs::metadata(test.path().join(name))
            .expect("exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let path = test.path().join("ledger-key.pem");
    test.ledger.close().await;
    let key = std::fs::read(&path).expect("reads");
    std::fs::remove_file(&path).expect("removes");
    let reopen = || Ledger::open(LedgerOptions::new(test.path()));
    assert!(matches!(
        reopen().await,
        Err(LedgerError::MissingKey { .. })
    ));
    let other = LedgerKey::from_seed(&[1; 32]).to_pem().expect("encodes");
    std::fs::write(&path, other).expect("writes");
    assert!(matches!(reopen().await, Err(LedgerError::WrongKey { .. })));
    std::fs::write(&path, key).expect("writes");
    reopen()
        .await
        .expect("opens with its own key")
        .close()
        .await;
}

#[tokio::test]
async fn a_ledger_that_does_not_fit_its_checkpoint_is_not_written_to() {
    let test = TestLedger::new().await;
    test.record_notes("a", 300).await;
    test.ledger.close().await;
    let file = DataDir::new(test.path()).database();
    let mut connection = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    sqlx::query("DROP TRIGGER entries_delete")
        .execute(&mut connection)
        .await
        .expect("drops");
    sqlx::query("DELETE FROM entries WHERE idx = 300")
        .execute(&mut connection)
        .await
        .expect("deletes");
    connection.close().await.expect("closes");
    let error = Ledger::open(LedgerOptions::new(test.path()))
        .await
        .expect_err("refuses");
    assert!(
        matches!(error, LedgerError::RootMismatch { size: 300, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn record_tables_refuse_changes() {
    let test = TestLedger::new().await;
    test.record_notes("a", 260).await;
    test.ledger
        .store_blob(Bytes::from_static(b"x"))
        .await
        .expect("stores");
    let file = DataDir::new(test.path()).database();
    let mut connection = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    for statement in [
        "UPDATE entries SET bytes = x'00' WHERE idx = 0",
        "DELETE FROM entries WHERE idx = 0",
        "UPDATE payloads SET data = x'00' WHERE idx = 0",
        "UPDATE checkpoints SET note = ''",
        "DELETE FROM checkpoints",
        "UPDATE tiles SET hashes = x'00'",
        "DELETE FROM tiles",
        "UPDATE blobs SET bytes = x'00'",
        "DELETE FROM blobs",
        "UPDATE ledger SET origin = 'x'",
        "DELETE FROM ledger",
    ] {
        let error = sqlx::query(statement)
            .execute(&mut connection)
            .await
            .expect_err(statement);
        assert!(
            error.to_string().contains("append-only") || error.to_string().contains("immutable")
        );
    }
}

#[tokio::test]
async fn a_full_queue_is_an_answer_and_not_a_loss() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut options = LedgerOptions::new(folder.path());
    options.queue_bytes_max = 4096;
    let ledger = Ledger::open(options).await.expect("opens");
    ledger.append(vec![started("a")]).await.expect("appends");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            let event = note("a", &format!("e{number}"), "x");
            match ledger.try_append(vec![event]).await {
                Ok(outcomes) => outcomes[0].place().is_some(),
                Err(LedgerError::Busy) => false,
                Err(error) => panic!("{error}"),
            }
        });
    }
    let stored = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|is_stored| *is_stored)
        .count() as u64;
    assert!((1..64).contains(&stored), "{stored} of 64 were stored");
    assert_eq!(ledger.reader().size().await.expect("reads"), stored + 1);
    ledger.close().await;
}

/// The shape of the large ingest test at a size that runs in seconds: many clients, batches of 100, none lost.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_batches_lose_nothing() {
    let test = TestLedger::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for client in 0..8 {
        let ledger = test.ledger.clone();
        tasks.spawn(async move {
            let session = format!("c{client}");
            ledger
                .append(vec![started(&session)])
                .await
                .expect("appends");
            for batch in 0..25 {
                let events =
                    (0..100).map(|number| note(&session, &format!("{batch}-{number}"), "x"));
                let outcomes = ledger.append(events.collect()).await.expect("appends");
                assert!(
                    outcomes
                        .iter()
                        .all(|one| matches!(one, Outcome::Recorded { .. }))
                );
            }
        });
    }
    tasks.join_all().await;
    let test = test.reopen().await;
    let reader = test.ledger.reader();
    assert_eq!(reader.size().await.expect("reads"), 20_008);
    let page = reader.sessions(None, 5).await.expect("reads");
    let rest = reader
        .sessions(page.next.as_deref(), 5)
        .await
        .expect("reads");
    assert_eq!(
        (page.items.len(), rest.items.len(), rest.next),
        (5, 3, None)
    );
    assert!(
        page.items
            .iter()
            .chain(&rest.items)
            .all(|session| session.entries == 2501)
    );
    let numbers: Vec<_> = page
        .items
        .iter()
        .chain(&rest.items)
        .map(|s| s.number)
        .collect();
    assert_eq!(numbers, [8, 7, 6, 5, 4, 3, 2, 1]);
}

#[tokio::test]
async fn a_record_is_as_long_as_its_summary_and_a_cut_one_is_refused() {
    let test = TestLedger::new().await;
    test.record_notes("a", 3).await;
    let reader = test.ledger.reader();
    let id = "a".parse().expect("id");
    let mut summary = reader.session(&id).await.expect("reads").expect("is there");
    test.ledger
        .append(vec![note("a", "later", "x")])
        .await
        .expect("appends");
    let record = reader.record_of(&summary).await.expect("reads");
    assert_eq!(record.events.len(), 4);
    assert_eq!(record.events[3].hash, summary.head);
    assert_eq!(
        reader
            .session_record(&id)
            .await
            .expect("reads")
            .events
            .len(),
        5
    );
    summary.entries = 6;
    let error = reader
        .record_of(&summary)
        .await
        .expect_err("one is missing");
    assert!(error.to_string().contains("5 of its 6 entries"), "{error}");
}
