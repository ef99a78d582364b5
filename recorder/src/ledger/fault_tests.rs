//! Each step of writing, failing in each of its ways: what the caller is told, what is stored, and that writing goes on by
//! itself.

use std::sync::Arc;
use std::time::Duration;

use crate::store::faulty::{Fault, FaultyStore, Plan, Step};
use crate::store::{self, LedgerLocation};
use crate::testing::{TestLedger, note, started, tamper};
use crate::{Ledger, LedgerError, LedgerOptions, Outcome, Reader, verify_ledger};

/// What a caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    NotStored,
    InDoubt,
}

/// Faults, what the caller is told, and whether the event is stored all the same.
type Case = (&'static [(Step, Fault)], Told, bool);

const TABLE: [Case; 14] = [
    (&[(Step::Begin, Fault::NotDone)], Told::NotStored, false),
    (
        &[(Step::Begin, Fault::DoneButFailed)],
        Told::NotStored,
        false,
    ),
    (&[(Step::LookUp, Fault::NotDone)], Told::NotStored, false),
    (
        &[(Step::LookUp, Fault::DoneButFailed)],
        Told::NotStored,
        false,
    ),
    (
        &[(Step::WriteEntries, Fault::NotDone)],
        Told::NotStored,
        false,
    ),
    (
        &[(Step::WriteEntries, Fault::DoneButFailed)],
        Told::NotStored,
        false,
    ),
    (&[(Step::Write, Fault::NotDone)], Told::NotStored, false),
    (
        &[(Step::Write, Fault::DoneButFailed)],
        Told::NotStored,
        false,
    ),
    (&[(Step::Commit, Fault::NotDone)], Told::InDoubt, false),
    (&[(Step::Commit, Fault::DoneButFailed)], Told::InDoubt, true),
    // The rollback fails too: the connection is given up.
    (
        &[
            (Step::Write, Fault::DoneButFailed),
            (Step::Rollback, Fault::NotDone),
        ],
        Told::NotStored,
        false,
    ),
    (
        &[
            (Step::Write, Fault::NotDone),
            (Step::Rollback, Fault::DoneButFailed),
        ],
        Told::NotStored,
        false,
    ),
    // The ledger cannot be opened again at once.
    (
        &[(Step::Commit, Fault::NotDone), (Step::Open, Fault::NotDone)],
        Told::InDoubt,
        false,
    ),
    (
        &[
            (Step::Commit, Fault::DoneButFailed),
            (Step::Open, Fault::NotDone),
            (Step::Begin, Fault::NotDone),
        ],
        Told::InDoubt,
        true,
    ),
];

async fn faulty(location: &LedgerLocation) -> (Ledger, Plan) {
    let plan = Plan::default();
    let store = FaultyStore {
        inner: store::open(location).await.expect("opens"),
        plan: plan.clone(),
    };
    let options = LedgerOptions::new(location.clone());
    let ledger = Ledger::over(Arc::new(store), options, None)
        .await
        .expect("opens");
    (ledger, plan)
}

/// Sends an event until it is answered, as a client does.
async fn send_again(ledger: &Ledger, id: &str) -> Outcome {
    for _ in 0..100 {
        match ledger.append(vec![note("a", id, "x")]).await {
            Ok(mut outcomes) => return outcomes.remove(0),
            Err(LedgerError::NotStored(_) | LedgerError::InDoubt(_) | LedgerError::Stopped(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the ledger did not come back");
}

#[tokio::test]
async fn after_every_fault_the_ledger_is_whole_and_goes_on() {
    for (faults, told, is_stored) in TABLE {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = LedgerLocation::new(folder.path());
        // Made by a ledger without faults, so that the plan meets the first group and not the opening.
        let first = Ledger::open(LedgerOptions::new(location.clone()))
            .await
            .expect("opens");
        first.append(vec![started("a")]).await.expect("appends");
        first.close().await;
        let (ledger, plan) = faulty(&location).await;
        for &(step, fault) in faults {
            plan.add(step, fault);
        }
        let error = ledger
            .append(vec![note("a", "doubtful", "x")])
            .await
            .expect_err("a fault was planned");
        let found = match error {
            LedgerError::NotStored(_) => Told::NotStored,
            LedgerError::InDoubt(_) => Told::InDoubt,
            error => panic!("{faults:?}: {error}"),
        };
        assert_eq!(found, told, "{faults:?}");
        assert!(ledger.stopped().is_some(), "{faults:?}");

        let outcome = send_again(&ledger, "doubtful").await;
        let was_stored = matches!(outcome, Outcome::Duplicate { index: 1, .. });
        assert_eq!(was_stored, is_stored, "{faults:?}: {outcome:?}");
        assert_eq!(
            outcome.place().map(|(index, ..)| index),
            Some(1),
            "{faults:?}"
        );
        let next = send_again(&ledger, "next").await;
        assert!(
            matches!(
                next,
                Outcome::Recorded {
                    index: 2,
                    sequence: 2,
                    ..
                }
            ),
            "{faults:?}: {next:?}"
        );
        assert!(plan.is_done(), "{faults:?} did not all happen");
        assert_eq!(ledger.stopped(), None, "{faults:?}");
        ledger.close().await;

        let reader = Reader::open(&folder).await.expect("opens");
        let verdict = verify_ledger(&reader, |_| {})
            .await
            .expect("can be checked");
        assert!(verdict.is_sound(), "{faults:?}: {:?}", verdict.faults);
        assert_eq!(verdict.entries, 3, "{faults:?}");
        reader.close().await;
    }
}

#[tokio::test]
async fn a_ledger_that_could_not_write_is_ready_again_without_being_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = LedgerLocation::new(folder.path());
    let made = Ledger::open(LedgerOptions::new(location.clone()))
        .await
        .expect("opens");
    made.append(vec![started("a")]).await.expect("appends");
    made.close().await;
    let (ledger, plan) = faulty(&location).await;
    plan.add(Step::Commit, Fault::NotDone);
    ledger
        .append(vec![note("a", "n", "x")])
        .await
        .expect_err("a fault was planned");
    assert!(ledger.stopped().is_some());
    for _ in 0..200 {
        if ledger.stopped().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ledger.stopped(), None);
    ledger.close().await;
}

#[tokio::test]
async fn a_checkpoint_copy_that_cannot_be_written_does_not_deny_what_is_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(LedgerOptions::new(folder.path()))
        .await
        .expect("opens");
    // A folder with something in it cannot be replaced by a file.
    let place = folder.path().join("ledger.checkpoint");
    std::fs::create_dir_all(place.join("taken")).expect("makes");
    let outcomes = ledger.append(vec![started("a")]).await.expect("appends");
    assert!(matches!(outcomes[0], Outcome::Recorded { index: 0, .. }));
    ledger.close().await;
    std::fs::remove_dir_all(&place).expect("removes");
    let reader = Reader::open(folder.path()).await.expect("opens");
    assert!(
        verify_ledger(&reader, |_| {})
            .await
            .expect("checks")
            .is_sound()
    );
}

#[tokio::test]
async fn a_ledger_that_went_back_while_it_was_in_doubt_is_not_gone_on_with() {
    let test = TestLedger::new().await;
    test.record_notes("a", 3).await;
    test.plan.add(Step::Commit, Fault::NotDone);
    test.ledger
        .append(vec![note("a", "doubtful", "x")])
        .await
        .expect_err("a fault was planned");
    // An older state, sound in itself, takes the place of the newest: only the process itself knows better.
    tamper(
        &test,
        "DELETE FROM checkpoints; DELETE FROM payloads; DELETE FROM entries;",
    )
    .await;
    for copy in std::fs::read_dir(test.path()).expect("lists") {
        let path = copy.expect("lists").path();
        if path.to_string_lossy().contains("ledger.checkpoint") {
            std::fs::remove_file(path).expect("removes");
        }
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let error = test
        .ledger
        .append(vec![started("b")])
        .await
        .expect_err("it went back");
    assert!(error.to_string().contains("older copy"), "{error}");
    assert_eq!(test.ledger.reader().size().await.expect("reads"), 0);
    assert!(test.ledger.stopped().is_some());
}
