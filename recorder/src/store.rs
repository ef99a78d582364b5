//! How the database file is opened.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::SqlitePool;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::error::LedgerError;

/// Every migration, in order. Listed here rather than by `sqlx::migrate!`, whose macros would build SQLite a second time.
pub(crate) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
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
        include_str!("../migrations/sqlite/0001_ledger.sql"),
    )])
});

/// How long a writer waits for another one (a key being made or revoked takes milliseconds).
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const READERS_MAX: u32 = 8;
const PAGE_BYTES: u32 = 8192;
/// Small, frequent WAL checkpoints: a rare large one shows as a pause of a tenth of a second.
const WAL_CHECKPOINT_PAGES: &str = "1000";

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

/// Opens read-only connections; they see what is committed, while a writer writes.
pub(crate) async fn reading(file: &Path) -> Result<SqlitePool, LedgerError> {
    Ok(SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .acquire_timeout(BUSY_TIMEOUT)
        .connect_with(options(file).read_only(true))
        .await?)
}

/// The version that the tables have after all migrations known here.
pub(crate) fn known_version() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}
