use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::*;
use crate::admin_act::Actor;
use crate::store::sqlite;
use crate::testing::TestLedger;
use crate::token::{NewToken, Role};
use crate::{create_token, create_token_by, list_tokens, revoke_token, revoke_token_by};

async fn database(test: &TestLedger) -> SqliteConnection {
    let file = test.path().join("ledger.sqlite");
    SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens")
}

async fn stored(test: &TestLedger, id: &str) -> Vec<u8> {
    sqlx::query("SELECT secret FROM tokens WHERE id = ?")
        .bind(id)
        .fetch_one(&mut database(test).await)
        .await
        .expect("a row")
        .get("secret")
}

async fn key(test: &TestLedger) -> NewToken {
    create_token(test.path(), Role::Write, "agent")
        .await
        .expect("makes")
}

/// The same key with another secret.
fn wrong(key: &NewToken, number: u8) -> String {
    let (start, _) = key.token.rsplit_once('_').expect("a secret");
    format!("{start}_{}", hex::encode([number; 32]))
}

fn gate(test: &TestLedger) -> &KeyGate {
    test.ledger.reader().keys()
}

async fn is_let_in(test: &TestLedger, text: &str) -> bool {
    let principal = gate(test).authenticate(text).await.expect("checks");
    principal.is_some()
}

#[tokio::test]
async fn a_key_from_before_is_good_and_has_the_hash_of_today_once_it_was_used() {
    let test = TestLedger::new().await;
    let old = ContentHash::of(&[7; 32]).as_bytes().to_vec();
    sqlx::query(
        "INSERT INTO tokens (id, role, name, secret, created) VALUES ('0123', 'read', 'old', ?, '2026-11-30T08:00:00.000Z')",
    )
    .bind(&old)
    .execute(&mut database(&test).await)
    .await
    .expect("inserts");
    let text = format!("rmb_read_0123_{}", hex::encode([7; 32]));
    let other = format!("rmb_read_0123_{}", hex::encode([8; 32]));
    assert!(!is_let_in(&test, &other).await);
    assert_eq!(
        stored(&test, "0123").await,
        old,
        "only a right secret is hashed anew"
    );
    let principal = gate(&test).authenticate(&text).await.expect("checks");
    let principal = principal.expect("let in");
    assert_eq!(
        (principal.id.as_str(), principal.role),
        ("0123", Role::Read)
    );
    let renewed = stored(&test, "0123").await;
    assert!(renewed.starts_with(b"$argon2id$"), "{renewed:?}");
    // As remembered, and as one that nobody remembers.
    assert!(is_let_in(&test, &text).await);
    let test = test.reopen().await;
    assert!(is_let_in(&test, &text).await);
    assert!(!is_let_in(&test, &other).await);
    assert_eq!(stored(&test, "0123").await, renewed);
}

#[tokio::test]
async fn a_revocation_holds_at_once_for_keys_remembered_or_not() {
    let test = TestLedger::new().await;
    let (used, unused) = (key(&test).await, key(&test).await);
    assert!(is_let_in(&test, &used.token).await);
    assert!(gate(&test).recognise(&used.token).is_some());
    assert!(gate(&test).recognise(&unused.token).is_none());
    for id in [&used.id, &unused.id] {
        assert!(gate(&test).is_valid(id).await.expect("reads"));
        revoke_token(test.path(), id).await.expect("revokes");
    }
    assert!(!is_let_in(&test, &used.token).await);
    assert!(!is_let_in(&test, &unused.token).await);
    assert!(gate(&test).recognise(&used.token).is_none(), "forgotten");
    assert!(!gate(&test).is_valid(&used.id).await.expect("reads"));
}

#[tokio::test]
async fn a_key_is_good_with_its_own_role_and_workspace_alone() {
    let test = TestLedger::new().await;
    let key = key(&test).await;
    assert!(is_let_in(&test, &key.token).await);
    for (part, other) in [
        ("_write_", "_admin_"),
        ("_default_", "_acme_"),
        (key.id.as_str(), "000000000000"),
    ] {
        let text = key.token.replacen(part, other, 1);
        assert_ne!(text, key.token);
        assert!(!is_let_in(&test, &text).await, "{part}");
        assert!(gate(&test).recognise(&text).is_none(), "{part}");
    }
    let without = key.token.replacen("_default_", "_", 1);
    assert!(
        is_let_in(&test, &without).await,
        "no workspace is the default one"
    );
}

#[tokio::test]
async fn wrong_secrets_wait_after_ten_and_do_not_shut_out_a_key_that_was_right() {
    let test = TestLedger::new().await;
    let (used, fresh) = (key(&test).await, key(&test).await);
    assert!(is_let_in(&test, &used.token).await);
    for number in 0..20 {
        assert!(!is_let_in(&test, &wrong(&used, number)).await);
    }
    assert!(
        gate(&test).failures().is_empty(),
        "no hash was computed for them"
    );
    assert!(is_let_in(&test, &used.token).await);

    for number in 0..10 {
        assert!(!is_let_in(&test, &wrong(&fresh, number)).await);
    }
    for text in [wrong(&fresh, 10), fresh.token.clone()] {
        let refused = gate(&test).authenticate(&text).await.expect_err("waits");
        assert!(
            matches!(refused, LedgerError::TooManyAttempts { seconds: 1..=60 }),
            "{refused}"
        );
    }
    {
        let mut failures = gate(&test).failures();
        let failed = failures.get_mut(&fresh.id).expect("counted");
        failed.since = failed.since.checked_sub(FAILURES_WINDOW).expect("a past");
    }
    assert!(is_let_in(&test, &fresh.token).await);
    assert!(gate(&test).failures().is_empty());
    let unknown = fresh.token.replacen(&fresh.id, "000000000000", 1);
    for _ in 0..20 {
        assert!(!is_let_in(&test, &unknown).await);
    }
    assert!(
        gate(&test).failures().is_empty(),
        "keys that are not there take no memory"
    );
}

#[tokio::test]
async fn many_requests_with_a_new_key_compute_few_hashes() {
    let test = TestLedger::new().await;
    let key = key(&test).await;
    let asked = (0..32).map(|_| is_let_in(&test, &key.token));
    let let_in = futures_util::future::join_all(asked).await;
    assert!(let_in.into_iter().all(|is_let_in| is_let_in));
    assert_eq!(gate(&test).hashing.available_permits(), HASHES_MAX);
}

/// A request can be let in and wait for its body while its key is revoked.
#[tokio::test]
async fn a_revoked_key_manages_no_keys_whenever_its_request_was_let_in() {
    let test = TestLedger::new().await;
    let admin = create_token(test.path(), Role::Admin, "admin")
        .await
        .expect("makes");
    let other = key(&test).await;
    let by = Actor::key(&admin.id);
    let made = create_token_by(test.path(), Role::Read, "before", &by).await;
    made.expect("is valid yet");
    revoke_token(test.path(), &admin.id).await.expect("revokes");
    let refused = create_token_by(test.path(), Role::Admin, "after", &by).await;
    assert!(matches!(refused, Err(LedgerError::KeyRefused)));
    let refused = revoke_token_by(test.path(), &other.id, &by).await;
    assert!(matches!(refused, Err(LedgerError::KeyRefused)));
    let keys = list_tokens(test.path()).await.expect("lists");
    assert!(keys.iter().all(|key| key.name != "after"));
    let kept = keys.iter().find(|key| key.id == other.id);
    assert_eq!(kept.expect("is there").revoked, None);
}
