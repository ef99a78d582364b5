use std::time::Duration;

use remembrancer_schema::{Entry, SessionId};
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection};

use super::*;
use crate::incoming::{Outcome, Rejection};
use crate::store::sqlite;
use crate::testing::{TestLedger, event, note, started};
use crate::{Role, create_token, create_token_by, list_tokens, revoke_token, verify_ledger};

async fn database(test: &TestLedger) -> SqliteConnection {
    let file = test.path().join("ledger.sqlite");
    SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens")
}

async fn waiting(test: &TestLedger) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM admin_acts")
        .fetch_one(&mut database(test).await)
        .await
        .expect("counts")
}

/// Waits until no act waits.
async fn settle(test: &TestLedger) {
    for _ in 0..200 {
        if waiting(test).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the acts still wait after ten seconds");
}

/// Type, payload and time of each entry of the acts' session behind its start.
async fn acts(test: &TestLedger) -> Vec<(String, Value, Option<String>)> {
    let reader = test.ledger.reader();
    let id: SessionId = ADMIN_SESSION.parse().expect("an id");
    let Some(session) = reader.session(&id).await.expect("reads") else {
        return Vec::new();
    };
    let page = reader.session_entries(&session, None, 1000).await;
    let entries = page.expect("reads").items.into_iter();
    let read = entries.map(|stored| {
        let entry = Entry::from_bytes(&stored.bytes).expect("an entry");
        let data = serde_json::from_str(&stored.data.expect("a payload")).expect("JSON");
        (entry.kind.to_string(), data, entry.time)
    });
    let mut read: Vec<_> = read.collect();
    assert_eq!(read.remove(0).0, "session.started");
    read
}

#[tokio::test]
async fn keys_made_and_revoked_are_entries_once_and_without_their_secrets() {
    let test = TestLedger::new().await;
    let key = create_token(test.path(), Role::Write, "ägent")
        .await
        .expect("makes");
    let by = Actor::key(&key.id);
    let other = create_token_by(test.path(), Role::Read, "other", &by)
        .await
        .expect("makes");
    for _ in 0..2 {
        revoke_token(test.path(), &other.id).await.expect("revokes");
    }
    revoke_token(test.path(), "nobody")
        .await
        .expect_err("no such key");
    settle(&test).await;
    let acts = acts(&test).await;
    let kinds: Vec<&str> = acts.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "admin.key_created",
            "admin.key_created",
            "admin.key_revoked"
        ]
    );
    assert_eq!(acts[0].1["subject"], key.id.as_str());
    assert_eq!(acts[0].1["detail"]["name"], "ägent");
    assert_eq!(acts[0].1["detail"]["role"], "write");
    let user = acts[0].1["by"].as_str().expect("somebody");
    assert!(user.starts_with("cli:"), "{user}");
    assert_eq!(acts[1].1["by"], format!("key:{}", key.id));
    assert_eq!(acts[2].1["subject"], other.id.as_str());
    assert!(acts.iter().all(|(.., time)| time.is_some()));
    for token in [&key.token, &other.token] {
        let secret = token.rsplit('_').next().expect("a secret");
        assert!(!format!("{acts:?}").contains(secret));
    }
    let verdict = verify_ledger(test.ledger.reader(), |_| ())
        .await
        .expect("verifies");
    assert!(verdict.is_sound(), "{verdict:?}");
}

#[tokio::test]
async fn acts_of_a_closed_ledger_become_entries_when_it_opens_and_never_twice() {
    let test = TestLedger::new().await;
    test.record_notes("s", 2).await;
    test.ledger.close().await;
    let key = create_token(test.path(), Role::Admin, "a")
        .await
        .expect("makes");
    record_act(
        test.path(),
        AdminAct::BackupMade,
        "backup-1",
        &Actor::local_user(),
        &[("entries", "3")],
    )
    .await
    .expect("records");
    assert_eq!(waiting(&test).await, 2);
    let mut kept: Vec<(String, String, String, String)> =
        sqlx::query_as("SELECT id, kind, happened, data FROM admin_acts ORDER BY id")
            .fetch_all(&mut database(&test).await)
            .await
            .expect("reads");
    let test = test.reopen().await;
    settle(&test).await;
    let first = acts(&test).await;
    assert_eq!(first.len(), 2);
    assert_eq!(first[0].1["subject"], key.id.as_str());
    assert_eq!(first[1].0, "admin.backup_made");
    assert_eq!(first[1].1["detail"]["entries"], "3");

    // The same acts again, as from a copy of the table: told apart by their ids.
    let size = test.ledger.reader().size().await.expect("reads");
    for (id, kind, happened, data) in kept.drain(..) {
        sqlx::query("INSERT INTO admin_acts (id, kind, happened, data) VALUES (?, ?, ?, ?)")
            .bind(id)
            .bind(kind)
            .bind(happened)
            .bind(data)
            .execute(&mut database(&test).await)
            .await
            .expect("inserts");
    }
    settle(&test).await;
    assert_eq!(acts(&test).await, first);
    assert_eq!(test.ledger.reader().size().await.expect("reads"), size);
}

#[tokio::test]
async fn an_act_that_cannot_become_an_entry_holds_nobody_up() {
    let test = TestLedger::new().await;
    sqlx::query("INSERT INTO admin_acts (id, kind, happened, data) VALUES ('0', 'admin.nonsense', 'now', '{}')")
        .execute(&mut database(&test).await)
        .await
        .expect("inserts");
    create_token(test.path(), Role::Read, "good")
        .await
        .expect("makes");
    for _ in 0..200 {
        if acts(&test).await.len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(acts(&test).await.len(), 1);
    assert_eq!(waiting(&test).await, 1, "kept for whoever looks into it");
    test.record_notes("s", 1).await;
}

#[tokio::test]
async fn nobody_else_writes_such_events_or_into_their_session() {
    let test = TestLedger::new().await;
    let forged = r#"{"id":"1","session":"s","type":"admin.key_created","data":{"subject":"x","by":"cli:root"}}"#;
    let events = vec![
        started("s"),
        event(forged),
        started(ADMIN_SESSION),
        note(ADMIN_SESSION, "2", "x"),
        note("s", "3", "x"),
    ];
    let outcomes = test.ledger.append(events).await.expect("appends");
    let reserved = Outcome::Rejected(Rejection::Reserved);
    assert_eq!(
        outcomes[1..4],
        [reserved.clone(), reserved.clone(), reserved]
    );
    assert!(outcomes[0].place().is_some() && outcomes[4].place().is_some());
    assert_eq!(list_tokens(test.path()).await.expect("lists"), []);
    assert_eq!(acts(&test).await, []);
}

#[test]
fn acts_are_ordered_by_their_ids() {
    let by = Actor::local_user();
    let act = || AdminActRow::now(AdminAct::KeyCreated, "x", &by, &[]).expect("an act");
    let first = act();
    std::thread::sleep(Duration::from_millis(2));
    assert!(first.id < act().id);
    assert_eq!(first.event().expect("an event").id.as_str(), first.id);
}
