//! A copy of the file, of one state, while others write; and what the file says of itself.

use std::fs::File;
use std::path::Path;

use sqlx::{Connection as _, SqliteConnection};

use super::{Result, options};
use crate::data_dir::{DataDir, failed, private_file};
use crate::doctor::Finding;
use crate::error::LedgerError;

/// Writes one state of a ledger's file into another folder, and returns when it is on the disk. The statement reads in one
/// transaction, so that entries, tiles and checkpoints fit together; a recorder goes on writing meanwhile, and its
/// write-ahead log grows until this is done.
pub(crate) async fn copy(from: &DataDir, to: &DataDir) -> Result<()> {
    let path = to.database();
    // Made here for its mode. SQLite takes a file that exists if it is empty, and refuses any other.
    private_file()
        .create_new(true)
        .open(&path)
        .map_err(failed("cannot make", &path))?;
    let name = path.to_str().ok_or_else(|| LedgerError::File {
        what: "cannot use the name",
        path: path.clone(),
        source: std::io::Error::other("it is not UTF-8"),
    })?;
    let mut connection =
        SqliteConnection::connect_with(&options(&from.database()).read_only(true)).await?;
    let written = sqlx::query("VACUUM INTO ?")
        .bind(name)
        .execute(&mut connection)
        .await;
    connection.close().await?;
    written?;
    // SQLite does not sync what this statement writes.
    File::open(&path)
        .and_then(|file| file.sync_all())
        .map_err(failed("cannot sync", &path))?;
    to.sync()
}

/// What the database finds wrong with a file of whichever version.
pub(crate) async fn file_faults(file: &Path) -> Result<Vec<String>> {
    let mut connection = SqliteConnection::connect_with(&options(file).read_only(true)).await?;
    let told = structure_faults(&mut connection).await;
    connection.close().await?;
    told
}

pub(super) async fn structure_faults(connection: &mut SqliteConnection) -> Result<Vec<String>> {
    // Indices with it: entries are looked up and sessions listed through those.
    let told: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(10)")
        .fetch_all(connection)
        .await?;
    Ok(told.into_iter().filter(|told| told != "ok").collect())
}

/// How a file is set up.
pub(crate) async fn condition(folder: &DataDir) -> Result<Vec<Finding>> {
    let file = folder.database();
    let mut connection = SqliteConnection::connect_with(&options(&file).read_only(true)).await?;
    let mode = sqlx::query_scalar::<_, String>("PRAGMA journal_mode")
        .fetch_one(&mut connection)
        .await;
    connection.close().await?;
    const CHECK: &str = "journal mode";
    Ok(vec![match mode?.as_str() {
        "wal" => Finding::ok(
            CHECK,
            "write-ahead log; every commit is flushed (synchronous=FULL)",
        ),
        mode => Finding::warn(
            CHECK,
            format!("{mode}, not the write-ahead log"),
            "a server sets it when it opens the file, as after a restore; if one runs already, somebody changed it",
        ),
    }])
}
