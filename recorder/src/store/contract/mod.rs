//! What every database has to keep: each function here runs on each of them.
//!
//! SQLite runs always. PostgreSQL runs on the server that `REMEMBRANCER_TEST_POSTGRES` names, each test in its own schema.

mod access;
mod blobs;
mod database;
mod rows;

use std::time::Duration;

use remembrancer_schema::{ContentHash, SessionId};

use crate::error::LedgerError;
use crate::store::{GroupRows, IdentityRow, PageLimits};
use crate::token::KeyRow;

use access::*;
use blobs::*;
pub(crate) use database::TestDatabase;
pub(crate) use rows::group;
use rows::{TestGroup, blob, census, commit, entry, root, session, tile};

/// Runs each function on both databases, as tests of their own.
macro_rules! on_each_database {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() { super::$name(super::TestDatabase::sqlite()).await; })+
        }
        mod postgres {
            $(#[tokio::test] async fn $name() {
                if let Some(database) = super::TestDatabase::postgres() { super::$name(database).await; }
            })+
        }
    };
}

on_each_database![
    a_group_is_read_back_as_it_was_written,
    lists_go_both_ways_and_end_at_their_limit,
    a_group_decided_on_an_old_head_is_not_written,
    a_group_that_is_rolled_back_leaves_nothing,
    a_probe_changes_nothing,
    no_size_has_two_roots_and_no_place_two_entries,
    record_tables_refuse_changes,
    a_page_ends_at_its_rows_and_at_its_bytes,
    look_ups_find_what_is_there_and_nothing_else,
    a_key_is_listed_and_revoked_once,
    an_act_waits_until_a_group_takes_it,
    a_snapshot_stays_where_it_was,
    writers_take_turns,
    an_identity_is_written_once,
    any_text_comes_back,
    what_cannot_have_been_written_is_an_error,
    rows_that_no_entry_explains_are_counted,
    a_sound_structure_has_no_faults,
    blobs_are_listed_by_where_they_lie,
    a_condemned_blob_is_gone_until_it_is_stored_anew,
];

const WIDE: PageLimits = PageLimits {
    rows: 100,
    bytes: 1 << 20,
};

async fn a_group_is_read_back_as_it_was_written(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    assert_eq!(writer.begin().await.expect("begins"), 0);
    let mut rows = group(0, 3, 1);
    rows.entries.push(entry(3, 2, 0, "of another session"));
    rows.rest.sessions.push(session(2, 1));
    rows.rest.blobs = vec![blob("blob"), blob("")];
    rows.rest.tiles = vec![tile(0, 0), tile(0, 1), tile(1, 0)];
    rows.set_size(4);
    rows.write(&mut *writer, 0).await.expect("writes");
    writer.commit().await.expect("commits");
    // A second group changes a session's row.
    commit(&mut *writer, &group(4, 5, 2)).await;
    writer.close().await;

    let mut reads = store.connection().await.expect("connects");
    assert_eq!(reads.size().await.expect("reads"), 5);
    let page = reads.entries(0, WIDE).await.expect("reads");
    assert!(!page.has_more);
    for (row, written) in page.rows.iter().zip(&rows.entries) {
        assert_eq!(u64::try_from(row.index).expect("index"), written.index);
        assert_eq!(row.session_no, written.session_no);
        assert_eq!(
            u64::try_from(row.sequence).expect("sequence"),
            written.sequence
        );
        assert_eq!(row.event, written.event);
        assert_eq!(row.bytes, written.bytes);
        assert_eq!(row.hash, written.hash.as_bytes());
        assert_eq!(row.leaf, written.leaf.as_bytes());
        assert_eq!(row.salt.as_deref(), Some(&written.salt[..]));
        assert_eq!(row.data.as_deref(), Some(&written.data[..]));
    }
    assert_eq!(page.rows.len(), 5);
    let of_two = reads.session_entries(2, -1, WIDE).await.expect("reads");
    assert_eq!(
        of_two.rows.iter().map(|row| row.index).collect::<Vec<_>>(),
        [3]
    );
    assert_eq!(reads.count_session_entries(1).await.expect("reads"), 4);
    let leaves = reads.leaves(1, 3).await.expect("reads");
    assert_eq!(
        leaves,
        [
            rows.entries[1].leaf.as_bytes(),
            rows.entries[2].leaf.as_bytes()
        ]
    );

    let bytes = reads.entry_bytes(1, 2).await.expect("reads");
    let written = [1, 2].map(|index| (index as i64, rows.entries[index].bytes.clone()));
    assert_eq!(bytes, written);

    let one: SessionId = "s1".parse().expect("an id");
    let stored = reads.session(&one).await.expect("reads").expect("there");
    // What never changes keeps its first value.
    assert_eq!(stored, session(1, 5));
    assert_eq!(
        reads.session_by_number(2).await.expect("reads"),
        Some(session(2, 1))
    );
    assert_eq!(reads.session_by_number(3).await.expect("reads"), None);

    assert_eq!(
        reads.tile(1, 0).await.expect("reads"),
        Some(tile(1, 0).hashes)
    );
    assert_eq!(reads.tile(1, 1).await.expect("reads"), None);
    assert_eq!(
        reads.tiles(0, 0, 9).await.expect("reads"),
        [tile(0, 0).hashes, tile(0, 1).hashes]
    );
    for (text, there) in [("blob", true), ("", true), ("other", false)] {
        let read = reads
            .inline_blob(&ContentHash::of(text.as_bytes()))
            .await
            .expect("reads");
        assert_eq!(read, there.then(|| text.as_bytes().to_vec()));
    }
    let newest = reads
        .newest_checkpoint()
        .await
        .expect("reads")
        .expect("there");
    assert_eq!((newest.size, newest.note.as_str()), (5, "note of 5"));
    assert_eq!(newest.root, root(2).as_bytes());
}

async fn a_probe_changes_nothing(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 3, 1)).await;
    for size in [3, 3] {
        assert_eq!(writer.begin().await.expect("begins"), size);
        writer.probe().await.expect("writes");
        writer.commit().await.expect("commits");
    }
    commit(&mut *writer, &group(3, 4, 2)).await;
    writer.close().await;
    let mut reads = store.connection().await.expect("connects");
    assert_eq!(reads.size().await.expect("reads"), 4);
    assert_eq!(
        reads.structure_faults().await.expect("checks"),
        Vec::<String>::new()
    );
}

async fn lists_go_both_ways_and_end_at_their_limit(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 1, 1);
    rows.rest.sessions = (1..=7).map(|number| session(number, 1)).collect();
    commit(&mut *writer, &rows).await;
    commit(&mut *writer, &group(1, 2, 2)).await;
    commit(&mut *writer, &group(2, 3, 3)).await;
    let reads = writer.reads();
    let numbers = |sessions: Vec<crate::SessionSummary>| {
        sessions
            .iter()
            .map(|session| session.number)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        numbers(reads.sessions_before(6, 3).await.expect("reads")),
        [5, 4, 3]
    );
    assert_eq!(
        numbers(reads.sessions_before(i64::MAX, 9).await.expect("reads")),
        [7, 6, 5, 4, 3, 2, 1]
    );
    assert_eq!(
        numbers(reads.sessions_after(2, 2).await.expect("reads")),
        [3, 4]
    );
    assert_eq!(
        numbers(reads.sessions_labelled("label 0", 2).await.expect("reads")),
        [2, 4]
    );
    assert_eq!(reads.count_labelled("label 1").await.expect("reads"), 4);
    assert_eq!(reads.count_labelled("label 2").await.expect("reads"), 0);
    let parent: SessionId = "s1".parse().expect("an id");
    assert_eq!(
        numbers(reads.children(&parent, 3).await.expect("reads")),
        [2, 3, 4]
    );
    let sizes = |rows: Vec<crate::store::CheckpointRow>| {
        rows.iter().map(|row| row.size).collect::<Vec<_>>()
    };
    assert_eq!(sizes(reads.checkpoints(0, 2).await.expect("reads")), [1, 2]);
    assert_eq!(sizes(reads.checkpoints(2, 9).await.expect("reads")), [3]);
    let from = reads
        .checkpoint_from(2)
        .await
        .expect("reads")
        .expect("there");
    assert_eq!(from.size, 2);
    assert!(reads.checkpoint_from(4).await.expect("reads").is_none());
    writer.close().await;
}

async fn a_group_decided_on_an_old_head_is_not_written(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 2, 1)).await;
    let before = census(&*store).await;
    let only_blob = || TestGroup {
        entries: Vec::new(),
        rest: GroupRows {
            blobs: vec![blob("blob")],
            ..GroupRows::default()
        },
    };
    for (old, rows) in [
        (1, group(2, 4, 9)),
        (3, group(3, 4, 9)),
        (0, group(2, 3, 9)),
        (1, only_blob()),
    ] {
        assert_eq!(writer.begin().await.expect("begins"), 2);
        let refused = rows.write(&mut *writer, old).await.expect_err("is refused");
        assert!(
            matches!(refused, LedgerError::HeadMoved { expected, stored: 2 } if expected == old),
            "{refused}"
        );
        writer.rollback().await.expect("rolls back");
        assert_eq!(census(&*store).await, before);
    }
    assert_eq!(writer.begin().await.expect("begins"), 2);
    only_blob().write(&mut *writer, 2).await.expect("writes");
    writer.commit().await.expect("commits");
    commit(&mut *writer, &group(2, 3, 3)).await;
    assert_eq!(census(&*store).await, (3, 3, 1, 2, true));
    writer.close().await;
}

async fn a_group_that_is_rolled_back_leaves_nothing(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 3, 1);
    rows.rest.blobs = vec![blob("blob")];
    rows.rest.tiles = vec![tile(0, 0)];
    writer.begin().await.expect("begins");
    rows.write(&mut *writer, 0).await.expect("writes");
    // Nobody else sees it.
    assert_eq!(census(&*store).await, (0, 0, 0, 0, false));
    writer.rollback().await.expect("rolls back");
    assert_eq!(census(&*store).await, (0, 0, 0, 0, false));
    // Nor is it in the way of the same group once more.
    commit(&mut *writer, &rows).await;
    assert_eq!(census(&*store).await, (3, 3, 1, 1, true));
    writer.close().await;
}

async fn no_size_has_two_roots_and_no_place_two_entries(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 4, 1)).await;
    let before = census(&*store).await;
    let mut second_root = group(4, 5, 2);
    second_root.set_size(4);
    let mut second_index = group(4, 5, 2);
    second_index.entries = vec![entry(3, 1, 9, "x")];
    let mut second_event = group(4, 5, 2);
    second_event.entries = vec![entry(4, 1, 3, "x")];
    let mut second_tile = group(4, 5, 2);
    second_tile.rest.tiles = vec![tile(0, 0), tile(0, 0)];
    for (what, rows) in [
        ("root", second_root),
        ("index", second_index),
        ("event", second_event),
        ("tile", second_tile),
    ] {
        let size = writer.begin().await.expect("begins");
        let refused = rows.write(&mut *writer, size).await.expect_err(what);
        assert!(refused.is_of_database(), "{what}: {refused}");
        writer.rollback().await.expect("rolls back");
        assert_eq!(census(&*store).await, before, "{what}");
    }
    commit(&mut *writer, &group(4, 5, 2)).await;
    writer.close().await;
}

async fn record_tables_refuse_changes(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 1, 1);
    rows.rest.blobs = vec![blob("blob")];
    rows.rest.tiles = vec![tile(0, 0)];
    commit(&mut *writer, &rows).await;
    writer.write_identity(&identity("a")).await.expect("writes");
    writer.close().await;
    let mut statements = vec![
        "UPDATE ledger SET origin = 'x'".to_owned(),
        "DELETE FROM ledger".to_owned(),
        "UPDATE payloads SET data = data".to_owned(),
    ];
    for (table, column) in [
        ("entries", "idx"),
        ("blobs", "bytes"),
        ("checkpoints", "root"),
        ("tiles", "hashes"),
    ] {
        // Something else: a guard may let pass what changes nothing.
        let other = match column {
            "idx" => "idx + 1000",
            "bytes" if database.location.database.is_some() => "'\\x00'",
            _ => column,
        };
        statements.push(format!("UPDATE {table} SET {column} = {other}"));
        statements.push(format!("DELETE FROM {table}"));
    }
    if database.location.database.is_some() {
        for table in [
            "ledger",
            "entries",
            "payloads",
            "blobs",
            "checkpoints",
            "tiles",
            "head",
        ] {
            statements.push(format!("TRUNCATE {table}"));
        }
        statements.push("DELETE FROM head".to_owned());
        statements.push("UPDATE head SET size = 0".to_owned());
    }
    for statement in statements {
        let refused = database.refused(&statement).await;
        let expected = ["append-only", "immutable", "does not go back"];
        assert!(
            expected.iter().any(|why| refused.contains(why)),
            "{statement}: {refused}"
        );
    }
    assert_eq!(census(&*store).await, (1, 1, 1, 1, true));
}

async fn a_page_ends_at_its_rows_and_at_its_bytes(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 0, 1);
    // Larger than a page of the database, so that it is kept apart there.
    let large = "x".repeat(20_000);
    rows.entries = (0..10)
        .map(|index| entry(index, 1, index, &large))
        .collect();
    rows.set_size(10);
    commit(&mut *writer, &rows).await;
    let one = rows.entries[0].bytes.len() + large.len();
    for (rows, bytes, expected, has_more) in [
        (4, usize::MAX, 4, true),
        (10, usize::MAX, 10, false),
        (11, usize::MAX, 10, false),
        (10, 1, 1, true),
        (10, 0, 1, true),
        (10, one, 1, true),
        (10, one + 1, 2, true),
        (10, one * 9, 9, true),
        (10, one * 9 + 1, 10, false),
        (2, one * 9, 2, true),
    ] {
        let limits = PageLimits { rows, bytes };
        let page = writer.reads().entries(0, limits).await.expect("reads");
        assert_eq!(
            (page.rows.len(), page.has_more),
            (expected, has_more),
            "{limits:?}"
        );
        let page = writer
            .reads()
            .session_entries(1, -1, limits)
            .await
            .expect("reads");
        assert_eq!(
            (page.rows.len(), page.has_more),
            (expected, has_more),
            "{limits:?}"
        );
    }
    let last = PageLimits { rows: 5, bytes: 1 };
    let page = writer.reads().entries(9, last).await.expect("reads");
    assert_eq!((page.rows.len(), page.has_more), (1, false));
    let page = writer
        .reads()
        .session_entries(1, 9, last)
        .await
        .expect("reads");
    assert_eq!((page.rows.len(), page.has_more), (0, false));
    writer.close().await;
}

async fn look_ups_find_what_is_there_and_nothing_else(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 3, 1);
    rows.rest.blobs = vec![blob("blob")];
    rows.rest.sessions.push(session(2, 0));
    assert_eq!(writer.last_session_number().await.expect("reads"), 0);
    commit(&mut *writer, &rows).await;
    writer.begin().await.expect("begins");
    assert_eq!(writer.last_session_number().await.expect("reads"), 2);
    let ids: Vec<SessionId> = ["s1", "s9", "S1"]
        .iter()
        .map(|id| id.parse().expect("an id"))
        .collect();
    let found = writer
        .look_up_sessions(&ids.iter().collect::<Vec<_>>())
        .await
        .expect("reads");
    assert_eq!(found, [session(1, 3)]);
    let wanted = [
        (1, "e0"),
        (1, "e2"),
        (1, "E1"),
        (1, "e7"),
        (2, "e1"),
        (1, "e' OR 1=1"),
    ];
    let mut found = writer.look_up_events(&wanted).await.expect("reads");
    found.sort_by_key(|row| row.index);
    assert_eq!(
        found.iter().map(|row| row.index).collect::<Vec<_>>(),
        [0, 2]
    );
    assert_eq!(found[1].data.as_deref(), Some(&b"data 2"[..]));
    let hashes = [ContentHash::of(b"blob"), ContentHash::of(b"other")];
    assert_eq!(
        writer.look_up_blobs(&hashes).await.expect("reads"),
        hashes[..1]
    );
    assert!(
        writer
            .look_up_sessions(&[])
            .await
            .expect("reads")
            .is_empty()
    );
    assert!(writer.look_up_events(&[]).await.expect("reads").is_empty());
    assert!(writer.look_up_blobs(&[]).await.expect("reads").is_empty());
    writer.rollback().await.expect("rolls back");
    writer.close().await;
}
