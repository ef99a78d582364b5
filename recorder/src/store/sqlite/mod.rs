//! SQLite: one file in the data directory, in WAL mode, one writer and many readers.

mod administration;
mod blobs;
mod copying;
mod direct;
mod reading;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqlSafeStr, SqliteConnection, SqlitePool};

use super::{
    Administration, Connection, Found, MigrationStep, Result, Store, WorkspaceName, Writer,
};
use crate::data_dir::{DataDir, failed};
use crate::error::LedgerError;

use administration::SqliteAdministration;
pub(crate) use copying::{condition, copy, file_faults};
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
    Migrator::with_migrations(vec![
        migration(
            1,
            "ledger",
            include_str!("../../../migrations/sqlite/0001_ledger.sql"),
        ),
        migration(
            2,
            "blobs",
            include_str!("../../../migrations/sqlite/0002_blobs.sql"),
        ),
        migration(
            3,
            "access",
            include_str!("../../../migrations/sqlite/0003_access.sql"),
        ),
        migration(
            4,
            "locality",
            include_str!("../../../migrations/sqlite/0004_locality.sql"),
        ),
    ])
});

/// How long a writer waits for another one (a key being made or revoked takes milliseconds).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const READERS_MAX: u32 = 8;
/// Of new files. A commit writes whole pages, and each active session has a page of its own in an index: with pages twice as
/// large, single events wrote a third more bytes, and batches and large ledgers were no faster.
const PAGE_BYTES: u32 = 4096;
/// Small, frequent WAL checkpoints, every 8 MiB: a rare large one shows as a pause of a tenth of a second.
const WAL_CHECKPOINT_PAGES: &str = "2000";

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
            // A file does not go away as a server may, and asking costs every read a second trip to its thread.
            .test_before_acquire(false)
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
        // A process that is killed between writing the log and syncing it leaves commits that are there to be read, and that a
        // power cut could still take. Whoever builds on them syncs them first.
        let log = wal(&self.file);
        let synced = tokio::task::spawn_blocking(move || match std::fs::File::open(&log) {
            Ok(file) => file.sync_all().map_err(failed("cannot sync", &log)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("cannot open", &log)(error)),
        });
        synced.await.map_err(|_| sqlx::Error::WorkerCrashed)??;
        Ok(Box::new(SqliteWriter::open(self.file.clone()).await?))
    }

    async fn administration(&self) -> Result<Box<dyn Administration>> {
        let connection = SqliteConnection::connect_with(&writing(&self.file)).await?;
        Ok(Box::new(SqliteAdministration::new(connection)))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

/// The write-ahead log of a database file.
fn wal(file: &Path) -> PathBuf {
    let mut name = file.to_owned().into_os_string();
    name.push("-wal");
    PathBuf::from(name)
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

/// The folders in a folder that are named as workspaces are.
pub(crate) fn workspaces(folder: &Path) -> Result<Vec<WorkspaceName>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("cannot list", folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("cannot list", folder))?;
        let name = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // The default workspace is not one of them, whatever somebody put there.
        let name = name.filter(|name: &WorkspaceName| !name.is_default());
        names.extend(name.filter(|_| entry.path().is_dir()));
    }
    names.sort();
    Ok(names)
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

/// Every migration, oldest first.
pub(crate) fn migrations() -> Vec<MigrationStep> {
    let step = |migration: &Migration| MigrationStep {
        version: migration.version,
        what: migration.description.to_string(),
    };
    MIGRATIONS.iter().map(step).collect()
}

/// Makes the file and its tables, or brings those of an older version up to date.
pub(crate) async fn migrate(folder: &DataDir) -> Result<()> {
    folder.create_database_file()?;
    let mut connection = SqliteConnection::connect_with(&writing(&folder.database())).await?;
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await.map_err(LedgerError::Database)
}

/// Executes statements on a ledger's file, as somebody who holds it can.
#[cfg(test)]
pub(crate) async fn execute(file: &Path, statements: &'static str) {
    let mut connection = SqliteConnection::connect_with(&writing(file))
        .await
        .expect("opens");
    sqlx::raw_sql(statements)
        .execute(&mut connection)
        .await
        .expect(statements);
    connection.close().await.expect("closes");
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

#[cfg(test)]
mod tests;
