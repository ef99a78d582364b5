use std::fs;

use super::*;
use crate::testing::{TestLedger, note, started};
use crate::{Ledger, LedgerOptions, Reader, verify_ledger};

/// The message of the first fault, and the entry that it names.
async fn first_bad(test: &TestLedger) -> Option<(Option<u64>, String)> {
    let reader = Reader::open(test.path()).await.expect("opens");
    let verdict = verify_ledger(&reader, |_| {})
        .await
        .expect("can be checked");
    reader.close().await;
    verdict.first_bad.map(|fault| (fault.index, fault.message))
}

async fn open(test: &TestLedger) -> Result<Ledger, LedgerError> {
    Ledger::open(LedgerOptions::new(test.path())).await
}

#[tokio::test]
async fn the_copy_follows_each_commit_and_holds_no_more() {
    let test = TestLedger::new().await;
    let path = test.path().join("ledger.checkpoint");
    assert!(!path.exists(), "an empty ledger has no checkpoint");
    for count in [1, 2] {
        test.record_notes(&format!("s{count}"), count).await;
        let newest = test.ledger.reader().checkpoint().await.expect("reads");
        // It follows after the answer.
        for _ in 0..200 {
            if fs::read_to_string(&path).ok() == newest {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(fs::read_to_string(&path).ok(), newest);
    }
    assert_eq!(first_bad(&test).await, None);
    let names = fs::read_dir(test.path()).expect("lists");
    let mut names = names.map(|file| file.expect("lists").file_name());
    assert!(!names.any(|name| name.to_string_lossy().ends_with(".new")));
}

#[tokio::test]
async fn a_database_that_was_rolled_back_is_neither_written_to_nor_sound() {
    let test = TestLedger::new().await;
    let file = test.path().join("ledger.sqlite");
    test.record_notes("a", 3).await;
    let test = test.reopen().await;
    test.ledger.close().await;
    let older = fs::read(&file).expect("reads");
    let ledger = open(&test).await.expect("opens");
    ledger
        .append(vec![note("a", "later", "x"), started("b")])
        .await
        .expect("appends");
    ledger.close().await;
    assert_eq!(first_bad(&test).await, None);
    fs::write(&file, older).expect("writes");
    let error = open(&test).await.expect_err("older than its checkpoint");
    assert!(
        matches!(
            error,
            LedgerError::RolledBack {
                stated: 6,
                stored: 4,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("rolled-back copy"), "{error}");
    let (index, message) = first_bad(&test).await.expect("a fault");
    assert_eq!(index, Some(4));
    assert!(message.contains("rolled-back copy"), "{message}");
    // Who restored a backup on purpose says so by moving the file away.
    fs::remove_file(test.path().join("ledger.checkpoint")).expect("removes");
    open(&test).await.expect("opens").close().await;
    assert_eq!(first_bad(&test).await, None);
    assert!(test.path().join("ledger.checkpoint").exists());
}

/// Two histories of one ledger, signed by its key: the file beside the database is of the other one.
#[tokio::test]
async fn a_copy_of_another_history_or_ledger_is_told() {
    let test = TestLedger::new().await;
    let (file, copy) = (
        test.path().join("ledger.sqlite"),
        test.path().join("ledger.checkpoint"),
    );
    test.record_notes("a", 3).await;
    let test = test.reopen().await;
    test.ledger.close().await;
    let (fork, fork_copy) = (
        fs::read(&file).expect("reads"),
        fs::read(&copy).expect("reads"),
    );
    let mut notes = Vec::new();
    for text in ["one", "two"] {
        fs::write(&file, &fork).expect("writes");
        fs::write(&copy, &fork_copy).expect("writes");
        let ledger = open(&test).await.expect("opens");
        ledger
            .append(vec![note("a", "next", text)])
            .await
            .expect("appends");
        ledger.close().await;
        notes.push(fs::read(&copy).expect("reads"));
    }
    fs::write(&copy, &notes[0]).expect("writes");
    let error = open(&test).await.expect_err("another history");
    assert!(error.to_string().contains("another history"), "{error}");
    let (_, message) = first_bad(&test).await.expect("a fault");
    assert!(message.contains("another root"), "{message}");

    fs::write(&copy, "no note").expect("writes");
    let error = open(&test).await.expect_err("no note");
    assert!(
        matches!(error, LedgerError::BadCheckpointCopy { .. }),
        "{error}"
    );
    let (_, message) = first_bad(&test).await.expect("a fault");
    assert!(message.contains("ledger.checkpoint"), "{message}");

    // What a power cut can leave is no reason to refuse.
    fs::write(&copy, [0; 300]).expect("writes");
    open(&test).await.expect("opens").close().await;
    assert_eq!(fs::read(&copy).expect("reads"), notes[1]);
}

#[tokio::test]
async fn no_new_ledger_is_made_beside_what_is_left_of_another() {
    let test = TestLedger::new().await;
    test.record_notes("a", 1).await;
    let test = test.reopen().await;
    test.ledger.close().await;
    let file = test.path().join("ledger.sqlite");
    fs::remove_file(&file).expect("removes");
    for name in ["ledger.checkpoint", "ledger-key.pem"] {
        let error = open(&test).await.expect_err("remains");
        assert!(
            matches!(error, LedgerError::MissingDatabase { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
        assert!(!file.exists());
        // An empty file is no database either.
        if name == "ledger.checkpoint" {
            fs::write(&file, "").expect("writes");
            let error = open(&test).await.expect_err("remains");
            assert!(
                matches!(error, LedgerError::MissingDatabase { .. }),
                "{error}"
            );
            fs::remove_file(&file).expect("removes");
        }
        fs::remove_file(test.path().join(name)).expect("removes");
    }
    open(&test).await.expect("a new ledger").close().await;
}

#[tokio::test]
async fn drafts_that_ended_processes_left_are_removed_at_opening() {
    let test = TestLedger::new().await;
    test.record_notes("a", 1).await;
    test.ledger.close().await;
    let place = |name: &str| test.path().join(name);
    let left = [
        "ledger.checkpoint.1.new",
        "ledger.checkpoint.4000000000.new",
    ];
    let others = [
        "ledger.checkpoint.new",
        "ledger.checkpoint.x.new",
        "ledger.checkpoint.1.new.kept",
        "other.checkpoint.1.new",
    ];
    for name in left.iter().chain(&others) {
        fs::write(place(name), "half a note").expect("writes");
    }
    open(&test).await.expect("opens").close().await;
    for name in left {
        assert!(!place(name).exists(), "{name}");
    }
    for name in others {
        assert!(place(name).exists(), "{name}");
    }
    assert!(place("ledger.checkpoint").exists());
}

#[test]
fn where_others_may_write_only_old_drafts_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = CheckpointCopy::new(folder.path().join("anchor"));
    let copies = CheckpointCopies::new(copy, None);
    let (fresh, old) = (
        folder.path().join("anchor.1.new"),
        folder.path().join("anchor.2.new"),
    );
    for path in [&fresh, &old] {
        fs::write(path, "half a note").expect("writes");
    }
    let before = std::time::SystemTime::now() - DRAFT_TIME_MAX - Duration::from_secs(1);
    let file = fs::File::options().write(true).open(&old).expect("opens");
    file.set_modified(before).expect("sets");
    copies.remove_drafts(false);
    assert!(fresh.exists());
    assert!(!old.exists());
    // Its own draft is overwritten by the next write, and may be in use.
    let own = folder
        .path()
        .join(format!("anchor.{}.new", std::process::id()));
    fs::write(&own, "half a note").expect("writes");
    copies.remove_drafts(true);
    assert!(!fresh.exists());
    assert!(own.exists());
}
