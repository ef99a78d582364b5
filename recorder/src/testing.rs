//! What this crate's tests share: a ledger in a temporary folder, and events for it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;

use crate::store::faulty::{FaultyStore, Plan};
use crate::store::sqlite;
use crate::{Ledger, LedgerOptions, OwnedEvent};

/// A ledger in a folder that goes with it.
pub(crate) struct TestLedger {
    pub(crate) folder: TempDir,
    pub(crate) ledger: Ledger,
    /// What is to fail.
    pub(crate) plan: Plan,
}

impl TestLedger {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (ledger, plan) = open(folder.path()).await;
        Self {
            folder,
            ledger,
            plan,
        }
    }

    /// Closes and opens the ledger, as a restart does.
    pub(crate) async fn reopen(self) -> Self {
        self.ledger.close().await;
        let (ledger, plan) = open(self.folder.path()).await;
        Self {
            folder: self.folder,
            ledger,
            plan,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Appends a started session with `count` notes after its start.
    pub(crate) async fn record_notes(&self, session: &str, count: usize) {
        let mut events = vec![started(session)];
        events.extend((0..count).map(|number| note(session, &format!("n{number}"), "text")));
        let outcomes = self.ledger.append(events).await.expect("appends");
        assert!(
            outcomes.iter().all(|outcome| outcome.place().is_some()),
            "{outcomes:?}"
        );
    }
}

/// Changes a closed ledger's tables as somebody with the file can: without the triggers that forbid it.
pub(crate) async fn tamper(test: &TestLedger, statement: &'static str) {
    let file = test.path().join("ledger.sqlite");
    let mut connection = SqliteConnection::connect_with(&sqlite::writing(&file))
        .await
        .expect("opens");
    let triggers: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .fetch_all(&mut connection)
            .await
            .expect("lists");
    for trigger in triggers {
        let drop = sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}"));
        sqlx::query(drop)
            .execute(&mut connection)
            .await
            .expect("drops");
    }
    let done = sqlx::raw_sql(statement)
        .execute(&mut connection)
        .await
        .expect(statement);
    assert!(done.rows_affected() > 0, "{statement} changed nothing");
    connection.close().await.expect("closes");
}

async fn open(path: &Path) -> (Ledger, Plan) {
    let options = LedgerOptions::new(path);
    let (inner, lock) = Ledger::prepare(&options.location)
        .await
        .expect("the ledger can be opened");
    let plan = Plan::default();
    let store = FaultyStore {
        inner,
        plan: plan.clone(),
    };
    let ledger = Ledger::over(Arc::new(store), options, lock)
        .await
        .expect("the ledger opens");
    (ledger, plan)
}

/// An event from its text.
pub(crate) fn event(text: &str) -> OwnedEvent {
    OwnedEvent::parse(Bytes::copy_from_slice(text.as_bytes())).expect(text)
}

pub(crate) fn started_text(session: &str) -> String {
    format!(
        r#"{{"id":"start","session":"{session}","type":"session.started","agent":"tester","data":{{"label":"label of {session}","model":"m-1"}}}}"#
    )
}

pub(crate) fn started(session: &str) -> OwnedEvent {
    event(&started_text(session))
}

pub(crate) fn note_text(session: &str, id: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","session":"{session}","type":"custom.note","data":{{"text":"{text}"}}}}"#
    )
}

pub(crate) fn note(session: &str, id: &str, text: &str) -> OwnedEvent {
    event(&note_text(session, id, text))
}

pub(crate) fn ended(session: &str) -> OwnedEvent {
    event(&format!(
        r#"{{"id":"end","session":"{session}","type":"session.ended","data":{{"outcome":"completed"}}}}"#
    ))
}
