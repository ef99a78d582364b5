//! PostgreSQL: one schema per workspace, any number of processes, which take turns at writing by the row in `head`.

mod administration;
mod blobs;
mod condition;
mod connecting;
mod head;
mod reading;
mod rows;
mod text;
mod writing;

use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool, SqlSafeStr};

use super::{
    Administration, Connection, Found, LedgerLocation, MigrationStep, Result, Store, Writer,
};
use crate::error::LedgerError;
use crate::store::{DatabaseUrl, WorkspaceName};

use administration::PostgresAdministration;
pub(crate) use condition::condition;
use connecting::{Purpose, Server, prepare, workspace_of};
use reading::Reading;
use writing::PostgresWriter;

/// Every migration, in order: version, description, text.
const MIGRATIONS: [(i64, &str, &str); 4] = [
    (
        1,
        "ledger",
        include_str!("../../../migrations/postgres/0001_ledger.sql"),
    ),
    (
        2,
        "blobs",
        include_str!("../../../migrations/postgres/0002_blobs.sql"),
    ),
    (
        3,
        "access",
        include_str!("../../../migrations/postgres/0003_access.sql"),
    ),
    (
        4,
        "locality",
        include_str!("../../../migrations/postgres/0004_locality.sql"),
    ),
];

/// Connections for reading, per ledger and process.
const READERS_MAX: u32 = 8;
/// How long a reader waits for a free one.
const READER_WAIT: Duration = Duration::from_secs(10);
/// How long a connection may stand unused before it is given back to the server.
const READER_UNUSED: Duration = Duration::from_secs(300);

/// A ledger's schema on a server.
pub(crate) struct PostgresStore {
    server: Server,
    pool: PgPool,
}

impl PostgresStore {
    /// Opens the schema of a workspace, which has the known version.
    pub(crate) async fn open(url: &DatabaseUrl, location: &LedgerLocation) -> Result<Self> {
        let server = Server::new(url, &location.workspace)?;
        let schema = server.schema.clone();
        let pool = PgPoolOptions::new()
            .max_connections(READERS_MAX)
            .acquire_timeout(READER_WAIT)
            .idle_timeout(READER_UNUSED)
            .after_connect(move |connection, _| {
                let schema = schema.clone();
                Box::pin(async move { prepare(connection, &schema, Purpose::Reading).await })
            })
            .connect_with(server.options.clone())
            .await
            .map_err(|source| server.unreachable(source))?;
        Ok(Self { server, pool })
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn connection(&self) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Reading(self.pool.acquire().await?)))
    }

    async fn snapshot(&self) -> Result<Box<dyn Connection>> {
        let mut transaction = self
            .pool
            .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            .await?;
        // The first statement takes the snapshot, not BEGIN.
        sqlx::query("SELECT 1").execute(&mut *transaction).await?;
        Ok(Box::new(Reading(transaction)))
    }

    async fn writer(&self) -> Result<Box<dyn Writer>> {
        Ok(Box::new(PostgresWriter::open(self.server.clone()).await?))
    }

    async fn administration(&self) -> Result<Box<dyn Administration>> {
        let connection = self.server.connect(Purpose::Writing).await?;
        Ok(Box::new(PostgresAdministration::new(connection)))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

/// Looks which version the schema of a workspace has.
pub(crate) async fn find(url: &DatabaseUrl, location: &LedgerLocation) -> Result<Found> {
    let server = Server::new(url, &location.workspace)?;
    let mut connection = server.connect(Purpose::Reading).await?;
    let found = version(&mut connection, &server).await;
    connection.close().await?;
    found
}

async fn version(connection: &mut PgConnection, server: &Server) -> Result<Found> {
    let schema = server.schema.as_str();
    let has_tables: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(format!("{schema}._sqlx_migrations"))
        .fetch_one(&mut *connection)
        .await?;
    if !has_tables {
        return Ok(Found::Nothing);
    }
    let version: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(connection)
            .await?;
    Ok(version.map_or(Found::Nothing, Found::Version))
}

/// The workspaces beside the default one whose schemas are in a database.
pub(crate) async fn workspaces(url: &DatabaseUrl) -> Result<Vec<WorkspaceName>> {
    let server = Server::new(url, &WorkspaceName::default())?;
    let mut connection = server.connect(Purpose::Reading).await?;
    let schemas: sqlx::Result<Vec<String>> = sqlx::query_scalar(
        "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname::text, 'remembrancer_')",
    )
    .fetch_all(&mut connection)
    .await;
    connection.close().await?;
    let mut names: Vec<WorkspaceName> = schemas?
        .iter()
        .filter_map(|schema| workspace_of(schema))
        .collect();
    names.sort();
    Ok(names)
}

/// The version that the tables have after all migrations known here.
pub(crate) fn known_version() -> i64 {
    MIGRATIONS
        .iter()
        .map(|(version, ..)| *version)
        .max()
        .unwrap_or(0)
}

/// Every migration, oldest first.
pub(crate) fn migrations() -> Vec<MigrationStep> {
    let step = |&(version, what, _): &(i64, &str, &str)| MigrationStep {
        version,
        what: what.to_owned(),
    };
    MIGRATIONS.iter().map(step).collect()
}

/// Makes the schema and its tables, or brings those of an older version up to date. Processes that do so at the same time
/// wait for each other: sqlx holds a lock of the database meanwhile.
pub(crate) async fn migrate(url: &DatabaseUrl, location: &LedgerLocation) -> Result<()> {
    let server = Server::new(url, &location.workspace)?;
    let mut connection = server.connect(Purpose::Migrating).await?;
    let mut migrator = Migrator::with_migrations(
        MIGRATIONS
            .iter()
            .map(|&(version, description, text)| {
                let text = SqlSafeStr::into_sql_str(text);
                Migration::new(
                    version,
                    description.into(),
                    MigrationType::Simple,
                    text,
                    false,
                )
            })
            .collect(),
    );
    // Asked for only where it is missing: making one, even if it exists, takes a right that a role need not have.
    let has_schema: bool = sqlx::query_scalar("SELECT to_regnamespace($1) IS NOT NULL")
        .bind(server.schema.as_str())
        .fetch_one(&mut connection)
        .await?;
    if !has_schema {
        migrator.create_schema(server.schema.as_str().to_owned());
    }
    migrator.run(&mut connection).await?;
    connection.close().await.map_err(LedgerError::Database)
}

#[cfg(test)]
mod tests;
