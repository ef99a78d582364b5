//! What only PostgreSQL has to keep: writers in several processes, some of which stop in the middle.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use sqlx::{Connection as _, PgConnection};

use super::connecting::{Purpose, Server};
use super::*;
use crate::store::contract::TestDatabase;
use crate::testing::{note, started};
use crate::{Ledger, LedgerOptions, verify_ledger};

/// Runs a statement in the schema of a test as its owner, and gives the first column of its rows.
async fn ask(database: &TestDatabase, statement: String) -> Vec<String> {
    let url = database.location.database.as_ref().expect("a server");
    let mut connection = PgConnection::connect(url.expose()).await.expect("connects");
    let path = sqlx::AssertSqlSafe(format!("SET search_path TO {}", database.schema()));
    sqlx::raw_sql(path)
        .execute(&mut connection)
        .await
        .expect("sets");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .fetch_all(&mut connection)
        .await
        .expect("answers")
}

fn server(database: &TestDatabase) -> Server {
    let url = database.location.database.as_ref().expect("a server");
    Server::new(url, &database.location.workspace).expect("an address")
}

/// The private key goes to a second data directory, as an operator copies it.
fn copy_key(from: &LedgerLocation, to: &LedgerLocation) {
    std::fs::create_dir_all(to.directory()).expect("makes");
    std::fs::copy(from.folder().private_key(), to.folder().private_key()).expect("copies");
}

#[tokio::test]
async fn processes_that_start_at_the_same_time_make_one_ledger() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let starting = (0..4).map(|_| async {
        migrate(
            database.location.database.as_ref().expect("a server"),
            &database.location,
        )
        .await
    });
    for done in futures_util::future::join_all(starting).await {
        done.expect("migrates");
    }
    let tables = ask(&database, "SELECT count(*)::TEXT FROM head".to_owned()).await;
    assert_eq!(tables, ["1"]);
    let opening = (0..4).map(|_| Ledger::create(LedgerOptions::new(database.location.clone())));
    let ledgers = futures_util::future::try_join_all(opening)
        .await
        .expect("opens");
    assert!(
        ledgers
            .iter()
            .all(|ledger| ledger.origin() == ledgers[0].origin())
    );
    for ledger in ledgers {
        ledger.close().await;
    }
}

#[tokio::test]
async fn a_writer_waits_for_the_disk_whatever_the_server_is_set_to() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    for (asked, expected) in [
        ("off", "on"),
        ("local", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        let mut server = server(&database);
        server.options = server.options.options([("synchronous_commit", asked)]);
        let mut writer = server.connect(Purpose::Writing).await.expect("connects");
        let set: String = sqlx::query_scalar("SHOW synchronous_commit")
            .fetch_one(&mut writer)
            .await
            .expect("answers");
        assert_eq!(set, expected, "where the server says {asked}");
    }
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    database.store().await;
    let mut reader = server(&database)
        .connect(Purpose::Reading)
        .await
        .expect("connects");
    let refused = sqlx::query("UPDATE head SET size = 1")
        .execute(&mut reader)
        .await
        .expect_err("read-only");
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

#[tokio::test]
async fn a_paused_writer_loses_its_turn_and_finds_out() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let store = database.store().await;
    let mut paused = store.writer().await.expect("opens");
    let mut other = store.writer().await.expect("opens");
    assert_eq!(paused.begin().await.expect("begins"), 0);
    crate::store::contract::group(0, 3, 1)
        .write(&mut *paused, 0)
        .await
        .expect("writes");
    // From here on it does nothing, as under SIGSTOP.
    let waited = Instant::now();
    assert_eq!(other.begin().await.expect("has its turn"), 0);
    assert!(
        waited.elapsed() >= Duration::from_secs(3),
        "it was not paused long enough to be given up"
    );
    crate::store::contract::group(0, 2, 2)
        .write(&mut *other, 0)
        .await
        .expect("writes");
    other.commit().await.expect("commits");
    paused.commit().await.expect_err("its connection was ended");
    paused.begin().await.expect_err("and stays so");
    let mut reads = store.connection().await.expect("connects");
    assert_eq!(reads.size().await.expect("reads"), 2);
    let newest = reads
        .newest_checkpoint()
        .await
        .expect("reads")
        .expect("there");
    assert_eq!(newest.root, [2; 32]);
}

/// Another writer's attempts to have its turn, while one with the head is stuck in the middle of taking an answer.
async fn turns_behind_a_stuck_writer(
    database: &TestDatabase,
    setting: &'static str,
) -> Vec<String> {
    let store = database.store().await;
    let mut stuck = server(database)
        .connect(Purpose::Writing)
        .await
        .expect("connects");
    sqlx::raw_sql(setting)
        .execute(&mut stuck)
        .await
        .expect("sets");
    sqlx::raw_sql("BEGIN; SELECT size FROM head WHERE one = 1 FOR UPDATE")
        .execute(&mut stuck)
        .await
        .expect("takes the head");
    // More than the sockets hold, of which one row is read: the server is in the middle of sending.
    let mut answer =
        sqlx::raw_sql("SELECT repeat('x', 1000000) FROM generate_series(1, 100)").fetch(&mut stuck);
    assert!(answer.try_next().await.expect("begins to answer").is_some());
    let mut other = store.writer().await.expect("opens");
    let mut errors = Vec::new();
    while errors.len() < 3 {
        match other.begin().await {
            Ok(_) => {
                other.rollback().await.expect("rolls back");
                drop(answer);
                let ended = sqlx::raw_sql("COMMIT").execute(&mut stuck).await;
                ended.expect_err("its connection is gone");
                return errors;
            }
            Err(error) => errors.push(error.to_string()),
        }
    }
    panic!("it never had its turn: {errors:?}");
}

#[tokio::test]
async fn a_writer_that_does_not_take_its_answer_is_given_up_by_the_network() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let errors = turns_behind_a_stuck_writer(&database, "SELECT 1").await;
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn a_writer_that_does_not_take_its_answer_is_ended_by_the_next_where_the_network_does_not() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    // As on a socket of the file system.
    let errors = turns_behind_a_stuck_writer(&database, "SET tcp_user_timeout = 0").await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("lock timeout"), "{errors:?}");
}

#[tokio::test]
async fn a_commit_of_a_group_that_failed_is_an_error() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    writer.begin().await.expect("begins");
    let mut rows = crate::store::contract::group(0, 2, 1);
    let twice = crate::store::contract::group(0, 1, 1).entries;
    rows.entries.extend(twice);
    rows.write(&mut *writer, 0)
        .await
        .expect_err("an index twice");
    writer
        .commit()
        .await
        .expect_err("COMMIT alone would say nothing");
    writer.rollback().await.expect("rolls back");
    assert_eq!(writer.begin().await.expect("begins"), 0);
    writer.rollback().await.expect("rolls back");
}

#[tokio::test]
async fn a_head_that_is_not_where_the_entries_end_is_told() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let store = database.store().await;
    assert_eq!(database.tamper("UPDATE head SET size = 7").await, 1);
    let mut writer = store.writer().await.expect("opens");
    let refused = writer.begin().await.expect_err("does not fit");
    assert!(
        refused.to_string().contains("the head is at size 7"),
        "{refused}"
    );
    let faults = store
        .connection()
        .await
        .expect("connects")
        .structure_faults()
        .await;
    assert_eq!(
        faults.expect("checks"),
        ["the head is at size 7, the entries end at 0"]
    );
}

#[tokio::test]
async fn processes_on_one_ledger_lose_nothing_and_fork_nothing() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let first = Ledger::create(LedgerOptions::new(database.location.clone()))
        .await
        .expect("opens");
    let elsewhere = database.other_directory();
    let refused = Ledger::open(LedgerOptions::new(elsewhere.clone()))
        .await
        .expect_err("has no key");
    assert!(refused.to_string().contains("ledger-key.pem"), "{refused}");
    copy_key(&database.location, &elsewhere);
    let second = Ledger::open(LedgerOptions::new(elsewhere))
        .await
        .expect("opens");
    let run = |ledger: Ledger, name: &'static str| async move {
        for number in 0..40 {
            let session = format!("{name}-{number}");
            let events = vec![
                started(&session),
                note(&session, "n", "x"),
                note("shared", &format!("{name}{number}"), "x"),
            ];
            let outcomes = ledger.append(events).await.expect("appends");
            assert!(
                outcomes.iter().all(|outcome| outcome.place().is_some()),
                "{outcomes:?}"
            );
        }
    };
    first
        .append(vec![started("shared")])
        .await
        .expect("appends");
    let duplicate = note("shared", "first0", "x");
    tokio::join!(run(first.clone(), "first"), run(second.clone(), "second"));
    let again = second.append(vec![duplicate]).await.expect("appends");
    assert!(
        matches!(again[0], crate::Outcome::Duplicate { .. }),
        "{again:?}"
    );
    let verdict = verify_ledger(second.reader(), |_| {})
        .await
        .expect("checks");
    assert_eq!(verdict.faults, []);
    assert_eq!((verdict.entries, verdict.sessions), (241, 81));
    first.close().await;
    second.close().await;
}

#[tokio::test]
async fn a_connection_that_the_server_ends_is_made_anew() {
    let Some(database) = TestDatabase::named_postgres() else {
        return;
    };
    let name = database.schema();
    let ledger = Ledger::create(LedgerOptions::new(database.location.clone()))
        .await
        .expect("opens");
    ledger.append(vec![started("a")]).await.expect("appends");
    let end = format!(
        "SELECT pg_terminate_backend(pid)::TEXT FROM pg_stat_activity WHERE application_name = '{name}' AND pid <> pg_backend_pid()"
    );
    assert!(!ask(&database, end).await.is_empty(), "nothing was ended");
    let deadline = Instant::now() + Duration::from_secs(20);
    let outcomes = loop {
        match ledger.append(vec![note("a", "n", "x")]).await {
            Ok(outcomes) => break outcomes,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(outcomes[0].place().is_some(), "{outcomes:?}");
    let verdict = verify_ledger(ledger.reader(), |_| {})
        .await
        .expect("checks");
    assert_eq!((verdict.faults, verdict.entries), (vec![], 2));
    ledger.close().await;
}

mod tls;
