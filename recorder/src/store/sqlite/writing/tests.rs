//! The connection that goes to another thread and comes back, or does not; and what it agrees on with sqlx's.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

use sqlx::Row as _;

use super::*;
use crate::store::contract::{TestDatabase, group};
use crate::store::sqlite;

/// Entries that go to another thread in two pieces, and a rest that does not.
const MANY: u64 = 2 * ENTRIES_AT_ONCE as u64 + 7;

async fn open(database: &TestDatabase) -> Box<SqliteWriter> {
    let file = database.location.folder().database();
    Box::new(SqliteWriter::open(file).await.expect("opens"))
}

#[tokio::test]
async fn entries_are_stored_in_order_whichever_thread_writes_them() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let mut writer = open(&database).await;
    let mut rows = group(0, MANY, 1);
    writer.begin().await.expect("begins");
    let mut rest = std::mem::take(&mut rows.entries);
    while !rest.is_empty() {
        let behind = rest.split_off(rest.len().min(writer.entries_at_once()));
        writer.write_entries(rest).await.expect("writes");
        rest = behind;
    }
    writer.write(0, &rows.rest).await.expect("writes");
    writer.commit().await.expect("commits");
    writer.close().await;
    let mut reads = store.connection().await.expect("connects");
    assert_eq!(reads.size().await.expect("reads"), MANY);
    let stored = reads.leaves(0, MANY).await.expect("reads");
    let written = group(0, MANY, 1).entries;
    assert!(
        stored
            .iter()
            .zip(&written)
            .all(|(stored, written)| stored == written.leaf.as_bytes())
    );
}

#[tokio::test]
async fn a_connection_that_nobody_waited_for_is_lost_and_its_group_with_it() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let mut first = open(&database).await;
    let mut writer = open(&database).await;
    first.begin().await.expect("begins");
    {
        // It waits for the first one on another thread.
        let mut begun = pin!(writer.begin());
        let polled = begun.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "two groups at once");
    }
    for refused in [
        writer.commit().await.err(),
        writer.rollback().await.err(),
        writer.begin().await.err(),
        writer.look_up_acts(1).await.err(),
        writer.write_entries(group(0, 1, 1).entries).await.err(),
        writer.write_entries(group(0, MANY, 1).entries).await.err(),
    ] {
        let refused = refused.expect("the connection is gone");
        assert!(refused.is_of_database(), "{refused}");
    }
    // When it gets its turn it is closed, and the lock is free again.
    group(0, 1, 1).write(&mut *first, 0).await.expect("writes");
    first.commit().await.expect("commits");
    first.close().await;
    let mut next = open(&database).await;
    assert_eq!(next.begin().await.expect("begins"), 1);
    group(1, 2, 2).write(&mut *next, 1).await.expect("writes");
    next.commit().await.expect("commits");
    next.close().await;
    writer.close().await;
    let mut reads = store.connection().await.expect("connects");
    assert_eq!(reads.size().await.expect("reads"), 2);
}

#[tokio::test]
async fn a_probe_writes_to_the_log_although_nothing_changes() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let mut writer = open(&database).await;
    let log = sqlite::wal(&database.location.folder().database());
    let bytes = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let mut before = bytes();
    for _ in 0..3 {
        writer.begin().await.expect("begins");
        writer.probe().await.expect("writes");
        writer.commit().await.expect("commits");
        assert!(bytes() > before, "nothing was written");
        before = bytes();
    }
    writer.close().await;
    store.close().await;
}

#[tokio::test]
async fn what_is_read_beside_an_open_group_is_what_the_group_stands_on() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let mut first = open(&database).await;
    let mut second = open(&database).await;
    for size in 0..3 {
        first.begin().await.expect("begins");
        assert_eq!(first.reads().size().await.expect("reads"), size);
        let rows = group(size, size + 1, 1);
        rows.write(&mut *first, size).await.expect("writes");
        first.commit().await.expect("commits");
        assert_eq!(second.begin().await.expect("begins"), size + 1);
        assert_eq!(second.reads().size().await.expect("reads"), size + 1);
        second.rollback().await.expect("rolls back");
    }
    first.close().await;
    second.close().await;
    store.close().await;
}

#[tokio::test]
async fn both_drivers_set_a_connection_up_alike_on_one_copy_of_sqlite() {
    let database = TestDatabase::sqlite();
    let store = database.store().await;
    let file = database.location.folder().database();
    let direct = Direct::open(&file).expect("opens");
    let mut other = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    for (statement, expected) in [
        ("PRAGMA journal_mode", Some("wal")),
        ("PRAGMA synchronous", Some("2")),
        ("PRAGMA wal_autocheckpoint", Some("2000")),
        ("PRAGMA page_size", Some("4096")),
        ("PRAGMA foreign_keys", Some("1")),
        ("PRAGMA busy_timeout", Some("10000")),
        ("PRAGMA locking_mode", Some("normal")),
        ("SELECT sqlite_source_id()", None),
    ] {
        let row = sqlx::query(statement)
            .fetch_one(&mut other)
            .await
            .expect(statement);
        let number = || row.try_get(0).map(|number: i64| number.to_string());
        let told = row.try_get(0).or_else(|_| number()).expect(statement);
        assert_eq!(direct.told(statement), told, "{statement}");
        assert!(expected.is_none_or(|expected| expected == told), "{told}");
    }
    direct.close();
    other.close().await.expect("closes");
    store.close().await;
}
