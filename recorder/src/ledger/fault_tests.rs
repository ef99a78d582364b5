//! Each step of writing, failing in each of its ways: what the caller is told, what is stored, and that writing goes on by
//! itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::store;
use crate::store::contract::TestDatabase;
use crate::store::faulty::{Fault, FaultyStore, Plan, Step};
use crate::testing::{TestLedger, note, started, tamper};
use crate::{Ledger, LedgerError, LedgerOptions, Outcome, OwnedEvent, Reader, verify_ledger};
use table::{Asked, Case, ON_A_SERVER, ON_EACH_DATABASE, Told};

/// A ledger with one session of one entry, over steps that can fail.
async fn faulty(database: &TestDatabase) -> (Ledger, Plan) {
    // Made by a ledger without faults, so that the plan meets the first group and not the opening.
    let options = LedgerOptions::new(database.location.clone());
    let first = Ledger::create(options.clone()).await.expect("opens");
    first.append(vec![started("a")]).await.expect("appends");
    first.close().await;
    let plan = match &database.location.database {
        None => Plan::default(),
        Some(url) => Plan::on_server(url.clone(), database.schema()),
    };
    let store = FaultyStore {
        inner: store::open(&database.location).await.expect("opens"),
        plan: plan.clone(),
    };
    let ledger = Ledger::over(Arc::new(store), options, None)
        .await
        .expect("opens");
    (ledger, plan)
}

/// More than any driver writes at once, twice.
const MANY: u64 = 1_100;

impl Asked {
    fn events(self) -> Vec<OwnedEvent> {
        match self {
            Self::Note | Self::NoteWithKey => vec![note("a", "doubtful", "x")],
            Self::Start => vec![started("b")],
            Self::Many => (0..MANY)
                .map(|number| note("a", &format!("doubtful{number}"), "x"))
                .collect(),
            Self::Blob => Vec::new(),
        }
    }

    /// Asks once. True for each that was stored before.
    async fn ask(self, ledger: &Ledger) -> Result<Vec<bool>, LedgerError> {
        if self == Self::Blob {
            let (_, is_new) = ledger.store_blob(Bytes::from_static(b"doubtful")).await?;
            return Ok(vec![!is_new]);
        }
        let outcomes = ledger.append(self.events()).await?;
        let stored = outcomes.iter().enumerate().map(|(number, outcome)| {
            let (index, ..) = outcome.place().expect("it is stored now");
            assert_eq!(index, number as u64 + 1, "{outcome:?}");
            matches!(outcome, Outcome::Duplicate { .. })
        });
        Ok(stored.collect())
    }

    /// Asks for what meets the fault.
    async fn ask_first(self, ledger: &Ledger) -> Result<(), LedgerError> {
        match self {
            Self::NoteWithKey => ledger
                .try_append_with(self.events(), "nobody".into())
                .await
                .map(drop),
            _ => self.ask(ledger).await.map(drop),
        }
    }
}

/// Asks until it is answered, as a client does.
async fn ask_again<T>(asked: impl AsyncFn() -> Result<T, LedgerError>) -> T {
    for _ in 0..100 {
        match asked().await {
            Ok(answer) => return answer,
            Err(LedgerError::NotStored(_) | LedgerError::InDoubt(_) | LedgerError::Stopped(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the ledger did not come back");
}

async fn run(database: TestDatabase, case: Case) {
    let (ledger, plan) = faulty(&database).await;
    for &(step, fault) in case.faults {
        plan.add(step, fault);
    }
    let error = case.asked.ask_first(&ledger).await;
    let found = match error.expect_err("a fault was planned") {
        LedgerError::NotStored(_) => Told::NotStored,
        LedgerError::InDoubt(_) => Told::InDoubt,
        error => panic!("{case:?}: {error}"),
    };
    assert_eq!(found, case.told, "{case:?}");
    assert!(ledger.stopped().is_some(), "{case:?}");

    let was_stored = ask_again(async || case.asked.ask(&ledger).await).await;
    assert!(
        was_stored.iter().all(|stored| *stored == case.is_stored),
        "{case:?}: {was_stored:?}"
    );
    let entries = case.asked.events().len() as u64 + 1;
    let next = ask_again(async || ledger.append(vec![note("a", "next", "x")]).await).await;
    assert!(
        matches!(next[0], Outcome::Recorded { index, .. } if index == entries),
        "{case:?}: {next:?}"
    );
    assert!(plan.is_done(), "{case:?} did not all happen");
    assert_eq!(ledger.stopped(), None, "{case:?}");
    ledger.close().await;

    let reader = Reader::open(database.location.clone())
        .await
        .expect("opens");
    let verdict = verify_ledger(&reader, |_| {})
        .await
        .expect("can be checked");
    assert!(verdict.is_sound(), "{case:?}: {:?}", verdict.faults);
    assert_eq!(verdict.entries, entries + 1, "{case:?}");
    reader.close().await;
}

#[tokio::test]
async fn after_every_fault_the_ledger_is_whole_and_goes_on() {
    for case in ON_EACH_DATABASE {
        run(TestDatabase::sqlite(), case).await;
    }
}

#[tokio::test]
async fn after_every_fault_the_ledger_on_a_server_is_whole_and_goes_on() {
    for case in ON_EACH_DATABASE.into_iter().chain(ON_A_SERVER) {
        let Some(database) = TestDatabase::named_postgres() else {
            return;
        };
        run(database, case).await;
    }
}

async fn is_ready_again_without_being_asked(database: TestDatabase, step: Step) {
    let (ledger, plan) = faulty(&database).await;
    plan.add(step, Fault::NotDone);
    if step == Step::Commit {
        ledger
            .append(vec![note("a", "n", "x")])
            .await
            .expect_err("a fault was planned");
        assert!(ledger.stopped().is_some());
    }
    for _ in 0..400 {
        if plan.is_done() && ledger.stopped().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(plan.is_done(), "{step:?} was not met");
    assert_eq!(ledger.stopped(), None);
    let outcomes = ledger.append(vec![note("a", "after", "x")]).await;
    assert!(outcomes.expect("appends")[0].place().is_some());
    ledger.close().await;
}

/// A group, and the look for admin acts that nobody asks for either.
const FAILING: [Step; 2] = [Step::Commit, Step::LookUpActs];

#[tokio::test]
async fn a_ledger_that_could_not_write_is_ready_again_without_being_asked() {
    for step in FAILING {
        is_ready_again_without_being_asked(TestDatabase::sqlite(), step).await;
    }
}

#[tokio::test]
async fn a_ledger_on_a_server_that_could_not_write_is_ready_again_without_being_asked() {
    for step in FAILING {
        if let Some(database) = TestDatabase::named_postgres() {
            is_ready_again_without_being_asked(database, step).await;
        }
    }
}

/// As long as nothing can be written the ledger is not ready, whatever else works: groups begin, and what is known is known.
async fn is_not_ready_before_a_write_went_through(database: TestDatabase) {
    let (ledger, plan) = faulty(&database).await;
    let known = async || ledger.append(vec![started("a")]).await;
    plan.add(Step::Write, Fault::NotDone);
    for fault in [Fault::NotDone, Fault::DoneButFailed, Fault::NotDone] {
        plan.add(Step::Probe, fault);
    }
    ledger
        .append(vec![note("a", "n", "x")])
        .await
        .expect_err("a fault was planned");
    let mut answered = 0;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    // Read before the plan is: a probe that goes through comes after its end.
    while let (stopped, false) = (ledger.stopped(), plan.is_done()) {
        assert!(stopped.is_some(), "ready although nothing was written");
        assert!(tokio::time::Instant::now() < deadline, "no probe");
        match known().await {
            Ok(outcomes) => {
                assert!(matches!(outcomes[0], Outcome::Duplicate { .. }));
                answered += 1;
            }
            Err(error) => assert!(matches!(error, LedgerError::Stopped(_)), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(answered > 0, "a duplicate needs no write");
    for _ in 0..400 {
        if ledger.stopped().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ledger.stopped(), None);
    ledger.close().await;
}

#[tokio::test]
async fn a_ledger_is_not_ready_before_a_write_went_through() {
    is_not_ready_before_a_write_went_through(TestDatabase::sqlite()).await;
}

#[tokio::test]
async fn a_ledger_on_a_server_is_not_ready_before_a_write_went_through() {
    if let Some(database) = TestDatabase::named_postgres() {
        is_not_ready_before_a_write_went_through(database).await;
    }
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

mod table;
