//! Bringing the tables of a ledger up to the version that this program reads and writes. Never done in passing: whoever runs
//! the ledger asks for it, after a backup, since an older program refuses the ledger from then on.

use serde::Serialize;

use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{self, Found, LedgerLocation, MigrationStep};

/// What would be done to a ledger, or was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Migration {
    /// Where the ledger is.
    pub location: String,
    /// Version of its tables before.
    pub from: i64,
    /// The version that this program reads and writes.
    pub to: i64,
    /// The steps between the two, in order; none if the ledger is up to date.
    pub steps: Vec<MigrationStep>,
    /// Entries, after the steps were done; `None` as long as they were not.
    pub entries: Option<u64>,
}

/// The ledgers of a data directory, whatever their version, one per workspace.
pub async fn ledgers_in(location: &LedgerLocation) -> Result<Vec<LedgerLocation>, LedgerError> {
    let ledgers = store::ledgers(location).await?;
    if ledgers.is_empty() {
        return Err(LedgerError::NoLedger(location.to_string()));
    }
    Ok(ledgers.into_iter().map(|(ledger, _)| ledger).collect())
}

/// Says what [`migrate_ledger`] would do. Refuses a ledger that a newer program wrote.
pub async fn plan_migration(location: impl Into<LedgerLocation>) -> Result<Migration, LedgerError> {
    let location = location.into();
    let to = store::known_version(&location);
    let from = match store::find(&location).await? {
        Found::Nothing => return Err(LedgerError::NoLedger(location.to_string())),
        Found::Version(from) => from,
    };
    if from > to {
        return Err(LedgerError::SchemaVersion {
            location: location.to_string(),
            found: from,
            known: to,
        });
    }
    let mut steps = store::migrations(&location);
    steps.retain(|step| step.version > from);
    Ok(Migration {
        location: location.to_string(),
        from,
        to,
        steps,
        entries: None,
    })
}

/// Brings a ledger up to date, and reads from it that its newest checkpoint still signs what it holds. A step that fails
/// leaves the version before it. Refuses while another process writes to the same file.
pub async fn migrate_ledger(location: impl Into<LedgerLocation>) -> Result<Migration, LedgerError> {
    let location = location.into();
    let folder = location.folder();
    let lock = if location.database.is_none() && folder.database().exists() {
        Some(folder.lock()?)
    } else {
        None
    };
    // Looked at under the lock: what was planned before may be done by now.
    let mut migration = plan_migration(location.clone()).await?;
    if !migration.steps.is_empty() {
        store::migrate(&location).await?;
    }
    let reader = Reader::open(location).await?;
    let checked = reader.check_newest_checkpoint().await;
    reader.close().await;
    migration.entries = Some(checked?);
    drop(lock);
    Ok(migration)
}
