//! How connections are opened, and what each kind of them is set to.

use std::future::Future;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::error::LedgerError;
use crate::store::{DatabaseUrl, Result, WorkspaceName};

/// How long a writer may do nothing in the middle of a group before the server ends its connection and frees the head: a
/// healthy one takes milliseconds between two statements, one that is paused or whose host died takes for ever.
const IDLE_IN_GROUP: Duration = Duration::from_secs(5);
/// How long a writer waits for the head. Longer than [`IDLE_IN_GROUP`], so that the wait outlives a holder that is gone.
const HEAD_WAIT: Duration = Duration::from_secs(15);
/// How long one statement of a writer may take. Longer than [`HEAD_WAIT`], which is a part of it.
const STATEMENT: Duration = Duration::from_secs(30);
/// How long one statement of a reader may take.
const READER_STATEMENT: Duration = Duration::from_secs(60);
/// How long a reader may hold a snapshot without reading from it: an old snapshot keeps the server from cleaning up.
const READER_IDLE: Duration = Duration::from_secs(600);
/// How long opening a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a writer waits for an answer, whatever the server does. A server that is gone without a word (host dead, network
/// cut) answers nothing, ever. Longer than the server's own limits, so that its answer comes first where there is one.
pub(super) const ANSWER: Duration = Duration::from_secs(45);
/// Name under which connections show in `pg_stat_activity`, unless the address or PGAPPNAME names one.
const APPLICATION: &str = "remembrancer";

/// The schema of a workspace. Built from a checked name alone, which has no underscore: no two workspaces share one, and
/// there is nothing to quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schema(String);

impl Schema {
    pub(super) fn of(workspace: &WorkspaceName) -> Self {
        if workspace.is_default() {
            return Self("remembrancer".to_owned());
        }
        Self(format!(
            "remembrancer_{}",
            workspace.as_str().replace('-', "_")
        ))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The workspace whose schema has a name; `None` for the default one's, and for others' schemas.
pub(super) fn workspace_of(schema: &str) -> Option<WorkspaceName> {
    let name = schema.strip_prefix("remembrancer_")?;
    let name: WorkspaceName = name.replace('_', "-").parse().ok()?;
    (!name.is_default() && Schema::of(&name).as_str() == schema).then_some(name)
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Reads what is committed.
    Reading,
    /// Writes groups or keys: durably, and never for long.
    Writing,
    /// Makes tables, however long that takes.
    Migrating,
}

/// A server, and the schema in which a ledger's tables are.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// The address as shown.
    shown: String,
    pub(super) options: PgConnectOptions,
    pub(super) schema: Schema,
}

impl Server {
    pub(super) fn new(url: &DatabaseUrl, workspace: &WorkspaceName) -> Result<Self> {
        let shown = url.to_string();
        let options =
            PgConnectOptions::from_str(url.expose()).map_err(|source| LedgerError::NoDatabase {
                database: shown.clone(),
                source,
            })?;
        let options = match options.get_application_name() {
            None => options.application_name(APPLICATION),
            Some(_) => options,
        };
        Ok(Self {
            shown,
            options,
            schema: Schema::of(workspace),
        })
    }

    /// Opens a connection and sets it up.
    pub(super) async fn connect(&self, purpose: Purpose) -> Result<PgConnection> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            prepare(&mut connection, &self.schema, purpose).await?;
            Ok(connection)
        };
        let mut connection = tokio::time::timeout(CONNECT, connecting)
            .await
            .unwrap_or_else(|_| Err(no_answer(CONNECT)))
            .map_err(|source| self.unreachable(source))?;
        if purpose != Purpose::Reading {
            self.check_fitness(&mut connection).await?;
        }
        Ok(connection)
    }

    pub(super) fn unreachable(&self, source: sqlx::Error) -> LedgerError {
        LedgerError::NoDatabase {
            database: self.shown.clone(),
            source,
        }
    }

    /// Refuses a server that would acknowledge what it can lose, or that cannot hold what is written.
    async fn check_fitness(&self, connection: &mut PgConnection) -> Result<()> {
        let row = sqlx::query(
            "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, \
             current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby",
        )
        .fetch_one(connection)
        .await?;
        let is_standby: bool = row.try_get("is_standby")?;
        let (fsync, pages, encoding): (String, String, String) = (
            row.try_get("fsync")?,
            row.try_get("full_page_writes")?,
            row.try_get("encoding")?,
        );
        let reason = if is_standby {
            "it is a standby, which takes no writes: name the primary".to_owned()
        } else if fsync != "on" {
            "it runs with fsync = off, so a crash of its host loses what was acknowledged: set fsync = on".to_owned()
        } else if encoding != "UTF8" {
            format!("its encoding is {encoding}: make a database with ENCODING 'UTF8'")
        } else {
            if pages != "on" {
                tracing::warn!(
                    database = self.shown,
                    "the server runs with full_page_writes = off: safe only where the file system never tears a page"
                );
            }
            return Ok(());
        };
        Err(LedgerError::UnfitDatabase {
            database: self.shown.clone(),
            reason,
        })
    }
}

/// Sets a new connection up. By statements rather than by the startup packet: a connection pooler passes those on.
pub(super) async fn prepare(
    connection: &mut PgConnection,
    schema: &Schema,
    purpose: Purpose,
) -> sqlx::Result<()> {
    let schema = schema.as_str();
    // Everything is found through an index, row by row; a plan that was made while a table was small must not read all of
    // it later. Generic plans, because planning a group's statement anew for each group buys nothing.
    let common = format!(
        "SET search_path TO {schema}; SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
         SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET client_min_messages = warning;"
    );
    let own = match purpose {
        Purpose::Reading => format!(
            "SET default_transaction_read_only = on; SET statement_timeout = {}; SET lock_timeout = {}; \
             SET idle_in_transaction_session_timeout = {};",
            READER_STATEMENT.as_millis(),
            HEAD_WAIT.as_millis(),
            READER_IDLE.as_millis(),
        ),
        // `on` waits for the disk, here and on synchronous standbys; only `remote_apply` asks for more. Keep-alives find a
        // client whose host is gone; they are no help against a paused one, whose kernel answers them.
        Purpose::Writing => format!(
            "SET default_transaction_read_only = off; SET statement_timeout = {}; SET lock_timeout = {}; \
             SET idle_in_transaction_session_timeout = {}; \
             SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
             WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false); \
             SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
             SET tcp_user_timeout = 10000;",
            STATEMENT.as_millis(),
            HEAD_WAIT.as_millis(),
            IDLE_IN_GROUP.as_millis(),
        ),
        Purpose::Migrating => {
            "SET default_transaction_read_only = off; SET statement_timeout = 0; SET lock_timeout = 0;"
                .to_owned()
        }
    };
    sqlx::raw_sql(AssertSqlSafe(common + &own))
        .execute(connection)
        .await?;
    Ok(())
}

/// Waits a bounded time for the server's answer. After an error for want of one, nobody knows what the server did.
pub(super) async fn answered<T, E: From<sqlx::Error>>(
    patience: Duration,
    answer: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<T, E> {
    tokio::time::timeout(patience, answer)
        .await
        .unwrap_or_else(|_| Err(no_answer(patience).into()))
}

fn no_answer(patience: Duration) -> sqlx::Error {
    let text = format!("no answer within {} s", patience.as_secs());
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_schema_of_its_own() {
        let schema = |name: &str| Schema::of(&name.parse().expect(name)).0;
        assert_eq!(schema("default"), "remembrancer");
        assert_eq!(schema("acme"), "remembrancer_acme");
        assert_eq!(schema("acme-2-b"), "remembrancer_acme_2_b");
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_given_up() {
        let patience = Duration::from_millis(10);
        let waited = answered::<(), sqlx::Error>(patience, std::future::pending()).await;
        assert!(
            matches!(waited, Err(sqlx::Error::Io(error)) if error.kind() == std::io::ErrorKind::TimedOut)
        );
    }

    #[test]
    fn a_schema_leads_back_to_its_workspace() {
        for name in ["acme", "a-b", "a--2", "remembrancer"] {
            let workspace: WorkspaceName = name.parse().expect(name);
            let schema = Schema::of(&workspace);
            assert_eq!(workspace_of(schema.as_str()), Some(workspace));
        }
        for other in [
            "remembrancer",
            "remembrancer_",
            "remembrancer_default",
            "remembrancer_a-b",
            "remembrancer_2a",
            "remembrancer_A",
            "public",
        ] {
            assert_eq!(workspace_of(other), None, "{other}");
        }
    }
}
