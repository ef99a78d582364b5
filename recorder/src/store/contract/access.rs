//! Who sees what and when: keys, snapshots, turns, and rows that somebody else changed.

use super::*;
use crate::admin_act::AdminActRow;
use crate::store::Store;

fn key(id: &str, created: &str) -> KeyRow {
    KeyRow {
        id: id.to_owned(),
        role: "read".to_owned(),
        name: format!("key {id}"),
        secret: vec![1, 2, 3],
        created: created.to_owned(),
        revoked: None,
    }
}

pub(super) fn identity(name: &str) -> IdentityRow {
    IdentityRow {
        origin: format!("example.org/{name}"),
        public_key: format!("key of {name}"),
        created: "2026-01-02T03:04:05Z".to_owned(),
    }
}

fn act(id: &str) -> AdminActRow {
    AdminActRow {
        id: id.to_owned(),
        kind: "admin.key_made".to_owned(),
        happened: "2026-01-02T03:04:05Z".to_owned(),
        data: format!("{{\"id\":\"{id}\"}}"),
        acting_key: None,
    }
}

async fn acts(store: &dyn Store) -> Vec<String> {
    let mut writer = store.writer().await.expect("opens");
    let acts = writer.look_up_acts(100).await.expect("reads");
    writer.close().await;
    acts.into_iter().map(|act| act.id).collect()
}

pub(super) async fn a_key_is_listed_and_revoked_once(database: TestDatabase) {
    let store = database.store().await;
    let mut administration = store.administration().await.expect("opens");
    for (row, made) in [
        (key("b", "2026-01-02"), "1"),
        (key("a", "2026-01-02"), "3"),
        (key("c", "2026-01-01"), "2"),
    ] {
        administration
            .add_key(&row, &act(made))
            .await
            .expect("adds");
    }
    administration
        .add_key(&key("a", "2026-01-03"), &act("4"))
        .await
        .expect_err("an id is there once");
    assert_eq!(
        acts(&*store).await,
        ["1", "2", "3"],
        "no act without its key"
    );
    let mut reads = store.connection().await.expect("connects");
    let listed = reads.keys().await.expect("reads");
    let ids = listed.iter().map(|row| row.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids, ["c", "a", "b"]);
    for (when, made) in [("first", "5"), ("second", "6")] {
        let is_there = administration.revoke_key("a", when, &act(made)).await;
        assert!(is_there.expect("revokes"));
    }
    for unknown in ["x", "A", "", "a\0"] {
        let is_there = administration.revoke_key(unknown, "never", &act("7")).await;
        assert!(!is_there.expect("looks"), "{unknown:?}");
        assert!(
            reads.key(unknown).await.expect("reads").is_none(),
            "{unknown:?}"
        );
    }
    assert_eq!(
        acts(&*store).await,
        ["1", "2", "3", "5"],
        "what changed nothing is no act"
    );
    let a = reads.key("a").await.expect("reads").expect("there");
    assert_eq!(a.revoked.as_deref(), Some("first"));
    assert_eq!(
        (a.role.as_str(), a.name.as_str(), a.secret),
        ("read", "key a", vec![1, 2, 3])
    );
    administration
        .replace_secret("b", &[9], &[8])
        .await
        .expect("leaves it");
    administration
        .replace_secret("c", &[1, 2, 3], &[8])
        .await
        .expect("replaces it");
    let mut secret = async |id| {
        let reads = administration.reads();
        reads.key(id).await.expect("reads").expect("there").secret
    };
    assert_eq!(
        (secret("b").await, secret("c").await),
        (vec![1, 2, 3], vec![8])
    );
}

pub(super) async fn an_act_waits_until_a_group_takes_it(database: TestDatabase) {
    let store = database.store().await;
    let mut administration = store.administration().await.expect("opens");
    for id in ["2", "1", "3"] {
        administration.record_act(&act(id)).await.expect("records");
    }
    administration
        .record_act(&act("2"))
        .await
        .expect_err("an act is there once");
    let made = key("k", "2026-01-02");
    administration
        .add_key(&made, &act("4"))
        .await
        .expect("adds");
    administration
        .add_key(&key("revoked", "2026-01-02"), &act("5"))
        .await
        .expect("adds");
    administration
        .revoke_key("revoked", "now", &act("6"))
        .await
        .expect("revokes");
    let mut writer = store.writer().await.expect("opens");
    let first = writer.look_up_acts(2).await.expect("reads");
    assert_eq!(
        first.iter().map(|act| act.id.as_str()).collect::<Vec<_>>(),
        ["1", "2"]
    );
    assert_eq!(
        (first[0].kind.as_str(), first[0].data.as_str()),
        ("admin.key_made", r#"{"id":"1"}"#)
    );
    let valid = writer
        .look_up_valid_keys(&["k", "revoked", "none", "k\0"])
        .await;
    assert_eq!(valid.expect("reads"), ["k"]);
    assert!(
        writer
            .look_up_valid_keys(&[])
            .await
            .expect("reads")
            .is_empty()
    );
    let mut taken = group(0, 1, 1);
    taken.rest.acts = vec!["1".to_owned(), "3".to_owned()];
    writer.begin().await.expect("begins");
    taken.write(&mut *writer, 0).await.expect("writes");
    writer.rollback().await.expect("rolls back");
    assert_eq!(acts(&*store).await.len(), 6);
    commit(&mut *writer, &taken).await;
    assert_eq!(acts(&*store).await, ["2", "4", "5", "6"]);
    writer.close().await;
}

pub(super) async fn a_snapshot_stays_where_it_was(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 2, 1)).await;
    let mut snapshot = store.snapshot().await.expect("opens");
    assert_eq!(snapshot.size().await.expect("reads"), 2);
    commit(&mut *writer, &group(2, 5, 2)).await;
    assert_eq!(snapshot.size().await.expect("reads"), 2);
    assert_eq!(
        snapshot.entries(0, WIDE).await.expect("reads").rows.len(),
        2
    );
    let session = snapshot
        .session_by_number(1)
        .await
        .expect("reads")
        .expect("there");
    assert_eq!(session.entries, 2);
    assert_eq!(
        snapshot
            .newest_checkpoint()
            .await
            .expect("reads")
            .expect("there")
            .size,
        2
    );
    drop(snapshot);
    let mut later = store.snapshot().await.expect("opens");
    assert_eq!(later.size().await.expect("reads"), 5);
    writer.close().await;
}

pub(super) async fn writers_take_turns(database: TestDatabase) {
    let store = database.store().await;
    let mut first = store.writer().await.expect("opens");
    let mut second = store.writer().await.expect("opens");
    assert_eq!(first.begin().await.expect("begins"), 0);
    let waiting = tokio::spawn(async move {
        let size = second.begin().await;
        (second, size)
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "two groups at once");
    group(0, 2, 1).write(&mut *first, 0).await.expect("writes");
    first.commit().await.expect("commits");
    let (mut second, size) = waiting.await.expect("runs");
    assert_eq!(
        size.expect("begins"),
        2,
        "it sees what was committed before its turn"
    );
    group(2, 3, 2).write(&mut *second, 2).await.expect("writes");
    second.commit().await.expect("commits");
    assert_eq!(first.begin().await.expect("begins"), 3);
    first.rollback().await.expect("rolls back");
    first.close().await;
    second.close().await;
    assert_eq!(census(&*store).await, (3, 3, 1, 2, false));
}

pub(super) async fn an_identity_is_written_once(database: TestDatabase) {
    let store = database.store().await;
    let mut reads = store.connection().await.expect("connects");
    assert!(reads.identity().await.expect("reads").is_none());
    let mut first = store.writer().await.expect("opens");
    let mut second = store.writer().await.expect("opens");
    first
        .write_identity(&identity("first"))
        .await
        .expect("writes");
    second
        .write_identity(&identity("second"))
        .await
        .expect("leaves it");
    first.close().await;
    second.close().await;
    let stored = reads.identity().await.expect("reads").expect("there");
    assert_eq!(stored.origin, "example.org/first");
    assert_eq!(stored.public_key, "key of first");
    assert_eq!(stored.created, "2026-01-02T03:04:05Z");
}

pub(super) async fn any_text_comes_back(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let texts = [
        "",
        "a\0b",
        "\u{1a}0",
        "'; DROP TABLE entries; --",
        "\u{202e}é\u{10ffff}",
        "\\x00",
        "NULL",
        "{a,b}",
    ];
    let mut rows = group(0, 1, 1);
    rows.rest.sessions = (1..)
        .zip(texts)
        .map(|(number, text)| crate::SessionSummary {
            label: Some(text.to_owned()),
            model: Some(text.to_owned()),
            ..session(number, 1)
        })
        .collect();
    commit(&mut *writer, &rows).await;
    for (written, text) in rows.rest.sessions.iter().zip(texts) {
        let found = writer
            .reads()
            .sessions_labelled(text, 9)
            .await
            .expect("reads");
        assert_eq!(&found, std::slice::from_ref(written), "{text:?}");
        assert_eq!(writer.reads().count_labelled(text).await.expect("reads"), 1);
    }
    writer.close().await;
}

pub(super) async fn what_cannot_have_been_written_is_an_error(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 2, 1)).await;
    writer.close().await;
    let mut reads = store.connection().await.expect("connects");
    let one: SessionId = "s1".parse().expect("an id");
    for (statement, back) in [
        (
            "UPDATE sessions SET entries = -1",
            "UPDATE sessions SET entries = 2",
        ),
        (
            "UPDATE sessions SET id = 'no id'",
            "UPDATE sessions SET id = 's1'",
        ),
        (
            "UPDATE sessions SET parent = ' '",
            "UPDATE sessions SET parent = NULL",
        ),
    ] {
        assert_eq!(database.tamper(statement).await, 1);
        let refused = reads.session_by_number(1).await.expect_err(statement);
        assert!(
            matches!(refused, LedgerError::Damaged(_)),
            "{statement}: {refused}"
        );
        reads.sessions_before(9, 9).await.expect_err(statement);
        assert_eq!(database.tamper(back).await, 1);
        let read = reads.session(&one).await.expect("reads");
        assert_eq!(read, Some(session(1, 2)), "{back}");
    }
    assert_eq!(database.tamper("UPDATE checkpoints SET size = -2").await, 1);
    let refused = reads
        .newest_checkpoint()
        .await
        .expect_err("a size below nothing");
    assert!(matches!(refused, LedgerError::Damaged(_)), "{refused}");
    // A payload that is gone is not an error: it may have been erased.
    assert_eq!(
        database.tamper("DELETE FROM payloads WHERE idx = 1").await,
        1
    );
    let page = reads.entries(1, WIDE).await.expect("reads");
    assert_eq!(
        (page.rows[0].salt.as_ref(), page.rows[0].data.as_ref()),
        (None, None)
    );
}

pub(super) async fn rows_that_no_entry_explains_are_counted(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let mut rows = group(0, 3, 1);
    rows.rest.tiles = vec![tile(0, 0)];
    commit(&mut *writer, &rows).await;
    writer.close().await;
    let mut reads = store.connection().await.expect("connects");
    let strays = reads.strays(3, 1).await.expect("counts");
    assert_eq!(
        (
            strays.entries,
            strays.payloads,
            strays.checkpoints,
            strays.tiles
        ),
        (0, 0, 0, 0)
    );
    for statement in [
        "UPDATE entries SET idx = -5 WHERE idx = 0",
        "UPDATE payloads SET idx = 3 WHERE idx = 1",
        "UPDATE payloads SET idx = -1 WHERE idx = 2",
        "UPDATE checkpoints SET size = 0",
    ] {
        assert_eq!(database.tamper(statement).await, 1, "{statement}");
    }
    let strays = reads.strays(3, 0).await.expect("counts");
    assert_eq!(
        (
            strays.entries,
            strays.payloads,
            strays.checkpoints,
            strays.tiles
        ),
        (1, 2, 1, 1)
    );
}

pub(super) async fn a_sound_structure_has_no_faults(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    commit(&mut *writer, &group(0, 50, 1)).await;
    writer.close().await;
    let mut snapshot = store.snapshot().await.expect("opens");
    assert_eq!(
        snapshot.structure_faults().await.expect("checks"),
        Vec::<String>::new()
    );
    assert_eq!(snapshot.size().await.expect("goes on"), 50);
}
