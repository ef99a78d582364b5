//! SQLite: one file in the data directory, in WAL mode, one writer and many readers.

mod administration;
mod reading;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqlSafeStr, SqliteConnection, SqlitePool};

use super::{Administration, Connection, Found, Result, Store, Writer};
use crate::data_dir::DataDir;
use crate::error::LedgerError;

use administration::SqliteAdministration;
pub(crate) use reading::Reading;
use writing::SqliteWriter;

/// Every migration, in order. Listed here rather than by `sqlx::migrate!`, whose macros would build SQLite a second time.
static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migration = |version: i64, description: &'static str, sql: &'static str| {
        let sql = SqlSafeStr::into_sql_str(sql);
        Migration::new(
            version,
            description.into(),
            MigrationType::Simple,
            sql,
            false,
        )
    };
    Migrator::with_migrations(vec![migration(
        1,
        "ledger",
        include_str!("../../../migrations/sqlite/0001_ledger.sql"),
    )])
});

/// How long a writer waits for another one (a key being made or revoked takes milliseconds).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const READERS_MAX: u32 = 8;
const PAGE_BYTES: u32 = 8192;
/// Small, frequent WAL checkpoints: a rare large one shows as a pause of a tenth of a second.
const WAL_CHECKPOINT_PAGES: &str = "1000";

/// A ledger's file.
pub(crate) struct SqliteStore {
    file: PathBuf,
    /// Read-only connections; they see what is committed, while a writer writes.
    pool: SqlitePool,
}

impl SqliteStore {
    /// Opens the file of a data directory, which has the known version.
    pub(crate) async fn open(folder: &DataDir) -> Result<Self> {
        let file = folder.database();
        let pool = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .acquire_timeout(BUSY_TIMEOUT)
            .connect_with(options(&file).read_only(true))
            .await?;
        Ok(Self { file, pool })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn connection(&self) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Reading(self.pool.acquire().await?)))
    }

    async fn snapshot(&self) -> Result<Box<dyn Connection>> {
        Ok(Box::new(Reading(self.pool.begin().await?)))
    }

    async fn writer(&self) -> Result<Box<dyn Writer>> {
        let connection = SqliteConnection::connect_with(&writing(&self.file)).await?;
        Ok(Box::new(SqliteWriter::new(connection)))
    }

    async fn administration(&self) -> Result<Box<dyn Administration>> {
        let connection = SqliteConnection::connect_with(&writing(&self.file)).await?;
        Ok(Box::new(SqliteAdministration::new(connection)))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
}

/// Options of a connection that writes. `synchronous=FULL` in WAL mode: a commit returns after its fsync, so that what was
/// acknowledged survives a power cut.
pub(crate) fn writing(file: &Path) -> SqliteConnectOptions {
    options(file)
        .page_size(PAGE_BYTES)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", WAL_CHECKPOINT_PAGES)
}

/// Looks which version the file of a data directory has.
pub(crate) async fn find(folder: &DataDir) -> Result<Found> {
    let file = folder.database();
    // An empty file is what a crash leaves between making it and making its tables.
    if std::fs::metadata(&file).map_or(true, |file| file.len() == 0) && !folder.has_wal() {
        return Ok(Found::Nothing);
    }
    let mut connection = SqliteConnection::connect_with(&options(&file).read_only(true)).await?;
    let version = version(&mut connection).await;
    connection.close().await?;
    version
}

async fn version(connection: &mut SqliteConnection) -> Result<Found> {
    let tables: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'",
    )
    .fetch_one(&mut *connection)
    .await?;
    if tables == 0 {
        return Ok(Found::Nothing);
    }
    let version: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(connection)
            .await?;
    Ok(version.map_or(Found::Nothing, Found::Version))
}

/// The version that the tables have after all migrations known here.
pub(crate) fn known_version() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

/// Makes the file and its tables, or brings those of an older version up to date.
pub(crate) async fn migrate(folder: &DataDir) -> Result<()> {
    folder.create_database_file()?;
    let mut connection = SqliteConnection::connect_with(&writing(&folder.database())).await?;
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await.map_err(LedgerError::Database)
}

/// A database in memory with the tables of the known version.
#[cfg(test)]
pub(crate) async fn in_memory() -> SqliteConnection {
    let mut connection = SqliteConnection::connect("sqlite::memory:")
        .await
        .expect("opens");
    MIGRATIONS.run(&mut connection).await.expect("migrates");
    connection
}
