//! What a database says of itself, and what can be done to bring it up to date.

use serde::Serialize;

use super::{LedgerLocation, Result, postgres, sqlite};
use crate::doctor::Finding;
use crate::error::LedgerError;

/// One step from a version of the tables to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MigrationStep {
    /// The version that the tables have after it.
    pub version: i64,
    /// What it is about, in a word or two.
    pub what: String,
}

/// Every step that this program knows, oldest first.
pub(crate) fn migrations(location: &LedgerLocation) -> Vec<MigrationStep> {
    match &location.database {
        None => sqlite::migrations(),
        Some(_) => postgres::migrations(),
    }
}

/// How the database is set up, as far as durability depends on it.
pub(crate) async fn condition(location: &LedgerLocation) -> Result<Vec<Finding>> {
    match &location.database {
        None => sqlite::condition(&location.folder()).await,
        Some(url) => postgres::condition(url, location).await,
    }
}

/// What to do about a ledger of another version.
pub(crate) fn next_step_for_version(found: i64, known: i64) -> &'static str {
    if found < known {
        "bring it up to date with `remembrancer migrate`, after a backup"
    } else {
        "use the newer program that wrote it"
    }
}

impl LedgerError {
    /// Whether it is the database that failed, rather than something that was found in it or asked of it.
    pub(crate) fn is_of_database(&self) -> bool {
        matches!(self, Self::Database(_) | Self::Sqlite(_))
    }
}
