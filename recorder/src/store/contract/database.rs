//! An empty place for a ledger, on each database.

#![allow(
    clippy::print_stderr,
    reason = "a test that is skipped, or leaves something behind, says so"
)]

use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

use crate::store::{self, DatabaseUrl, LedgerLocation, Store, WorkspaceName};

/// Address of a PostgreSQL server where tests may make schemas.
const VARIABLE: &str = "REMEMBRANCER_TEST_POSTGRES";

/// A place for a ledger that goes with it.
pub(crate) struct TestDatabase {
    folder: TempDir,
    pub(crate) location: LedgerLocation,
}

impl TestDatabase {
    /// A file in a temporary folder.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let location = LedgerLocation::new(folder.path());
        Self { folder, location }
    }

    /// A schema of its own on the server for tests. `None`, said aloud, where there is none; with `CI` set that is a failure.
    pub(crate) fn postgres() -> Option<Self> {
        let Ok(url) = std::env::var(VARIABLE) else {
            assert!(
                std::env::var_os("CI").is_none(),
                "{VARIABLE} is not set: without a server nothing is known about PostgreSQL"
            );
            eprintln!("skipped: {VARIABLE} names no PostgreSQL server");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let number: [u8; 8] = crate::random::bytes().expect("random bytes");
        let workspace: WorkspaceName = format!("test-{}", hex::encode(number))
            .parse()
            .expect("a name");
        let database: DatabaseUrl = url.parse().expect(VARIABLE);
        let location = LedgerLocation {
            database: Some(database),
            ..LedgerLocation::new(folder.path()).workspace(workspace)
        };
        Some(Self { folder, location })
    }

    /// The same on a server, with an address of its own: its connections carry the schema's name, and can be told from those
    /// of other tests.
    pub(crate) fn named_postgres() -> Option<Self> {
        let mut database = Self::postgres()?;
        let url = database.location.database.take().expect("a server");
        let url = url.expose();
        let separator = if url.contains('?') { '&' } else { '?' };
        let named = format!("{url}{separator}application_name={}", database.schema());
        database.location.database = Some(named.parse().expect("an address"));
        Some(database)
    }

    /// The tables, and the way to them.
    pub(crate) async fn store(&self) -> std::sync::Arc<dyn Store> {
        self.location.folder().create().expect("makes the folder");
        store::migrate(&self.location).await.expect("migrates");
        store::open(&self.location).await.expect("opens")
    }

    /// Another data directory for the same tables, as a second process on another machine has.
    pub(crate) fn other_directory(&self) -> LedgerLocation {
        LedgerLocation {
            data: self.folder.path().join("other"),
            ..self.location.clone()
        }
    }

    /// The schema's name on a server.
    pub(crate) fn schema(&self) -> String {
        format!(
            "remembrancer_{}",
            self.location.workspace.as_str().replace('-', "_")
        )
    }

    /// Changes tables as somebody with the file, or their owner, can: without the triggers that forbid it. Says how many rows.
    pub(crate) async fn tamper(&self, statement: &str) -> u64 {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        match &self.location.database {
            None => {
                let file = self.location.folder().database();
                let mut connection =
                    sqlx::SqliteConnection::connect_with(&store::sqlite::writing(&file))
                        .await
                        .expect("opens");
                let triggers: Vec<String> =
                    sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
                        .fetch_all(&mut connection)
                        .await
                        .expect("lists");
                for trigger in triggers {
                    sqlx::query(sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}")))
                        .execute(&mut connection)
                        .await
                        .expect("drops");
                }
                let done = sqlx::raw_sql(statement).execute(&mut connection).await;
                connection.close().await.expect("closes");
                done.expect("changes").rows_affected()
            }
            Some(url) => {
                let mut connection = PgConnection::connect(url.expose()).await.expect("connects");
                let prepare = format!(
                    "SET search_path TO {}; SET session_replication_role = replica",
                    self.schema()
                );
                sqlx::raw_sql(sqlx::AssertSqlSafe(prepare))
                    .execute(&mut connection)
                    .await
                    .expect("turns triggers off");
                let done = sqlx::raw_sql(statement).execute(&mut connection).await;
                connection.close().await.expect("closes");
                done.expect("changes").rows_affected()
            }
        }
    }

    /// Tries a change as a program that means no harm does, and says why it is refused.
    pub(crate) async fn refused(&self, statement: &str) -> String {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        let done = match &self.location.database {
            None => {
                let file = self.location.folder().database();
                let mut connection =
                    sqlx::SqliteConnection::connect_with(&store::sqlite::writing(&file))
                        .await
                        .expect("opens");
                let done = sqlx::raw_sql(statement).execute(&mut connection).await;
                done.map(|done| done.rows_affected())
            }
            Some(url) => {
                let mut connection = PgConnection::connect(url.expose()).await.expect("connects");
                let path = format!("SET search_path TO {}", self.schema());
                sqlx::raw_sql(sqlx::AssertSqlSafe(path))
                    .execute(&mut connection)
                    .await
                    .expect("sets");
                let done = sqlx::raw_sql(statement).execute(&mut connection).await;
                done.map(|done| done.rows_affected())
            }
        };
        done.expect_err("is refused").to_string()
    }
}

impl Drop for TestDatabase {
    /// Takes the schema away, also after a failed test; on a thread of its own, because a test's runtime cannot wait here.
    fn drop(&mut self) {
        let Some(url) = self.location.database.clone() else {
            return;
        };
        // Connections that are being given back wait for the runtime that waits here.
        let drop = format!(
            "SET client_min_messages = warning; \
             SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation \
             WHERE c.relnamespace = to_regnamespace('{0}') AND l.pid <> pg_backend_pid(); \
             DROP SCHEMA IF EXISTS {0} CASCADE",
            self.schema()
        );
        let removing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect(url.expose()).await?;
                sqlx::raw_sql(sqlx::AssertSqlSafe(drop))
                    .execute(&mut connection)
                    .await?;
                connection.close().await
            })
        });
        match removing.join() {
            Ok(Ok(())) => {}
            other => eprintln!("the schema {} is left: {other:?}", self.schema()),
        }
    }
}
