//! The workspaces of a place as a list shows them.

use std::path::PathBuf;

use remembrancer_schema::Origin;
use serde::Serialize;

use super::locations;
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{LedgerLocation, WorkspaceName};

/// A workspace as a list shows it.
#[derive(Debug, Clone, Serialize)]
pub struct WorkspaceSummary {
    /// Its name.
    pub name: WorkspaceName,
    /// The folder of its files.
    pub path: PathBuf,
    /// Its database, if that is not a file in the folder; without a password.
    pub database: Option<String>,
    /// What its ledger says; absent if it cannot be read.
    #[serde(flatten)]
    pub ledger: Option<LedgerSummary>,
    /// Why its ledger cannot be read.
    pub problem: Option<String>,
}

/// What a ledger says of itself.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerSummary {
    /// Its name.
    pub origin: Origin,
    /// Fingerprint of its public key.
    pub key: String,
    /// Number of entries.
    pub size: u64,
    /// The newest signed checkpoint; absent if it is empty.
    pub checkpoint: Option<String>,
}

/// The workspaces of a place, the default one first, then by name. One that cannot be read is in the list with the reason.
pub async fn list_workspaces(
    location: impl Into<LedgerLocation>,
) -> Result<Vec<WorkspaceSummary>, LedgerError> {
    let mut summaries = Vec::new();
    for location in locations(&location.into()).await? {
        let (ledger, problem) = match read(&location).await {
            Ok(ledger) => (Some(ledger), None),
            Err(error) => (None, Some(error.to_string())),
        };
        summaries.push(WorkspaceSummary {
            path: location.directory(),
            database: location.database.as_ref().map(ToString::to_string),
            name: location.workspace,
            ledger,
            problem,
        });
    }
    Ok(summaries)
}

async fn read(location: &LedgerLocation) -> Result<LedgerSummary, LedgerError> {
    let reader = Reader::open(location.clone()).await?;
    let summary = LedgerSummary {
        origin: reader.origin().clone(),
        key: reader.public_key().fingerprint(),
        size: reader.size().await?,
        checkpoint: reader.checkpoint().await?,
    };
    reader.close().await;
    Ok(summary)
}
