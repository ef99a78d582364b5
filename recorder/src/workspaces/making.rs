//! Making a workspace.

use std::fs::File;
use std::path::Path;

use remembrancer_schema::Origin;
use remembrancer_schema::payload::AdminAct;

use super::locations;
use crate::admin_act::{Actor, record_act};
use crate::data_dir::{DataDir, failed};
use crate::error::LedgerError;
use crate::ledger::{Ledger, LedgerOptions};
use crate::reader::Reader;
use crate::store::{LedgerLocation, WorkspaceName};

/// Makes a workspace beside the default one, with a ledger, an origin and a key pair of its own; also while a server runs.
/// Its origin is the default one's, a slash and the workspace's name unless given.
///
/// Made again from where it stopped if an earlier attempt was cut off: until the ledger's own row is written, there is none.
pub async fn create_workspace(
    location: impl Into<LedgerLocation>,
    name: &WorkspaceName,
    origin: Option<Origin>,
) -> Result<Reader, LedgerError> {
    let location = location.into();
    if name.is_default() {
        return Err(LedgerError::WorkspaceExists(name.to_string()));
    }
    let default = Reader::open(location.workspace(WorkspaceName::default())).await?;
    let origin = match origin {
        Some(origin) => origin,
        None => format!("{}/{name}", default.origin())
            .parse()
            .map_err(|_| LedgerError::LongOrigin(name.to_string()))?,
    };
    let folder = DataDir::new(&location.data);
    // One at a time, so that two do not take the same origin.
    let lock = tokio::task::spawn_blocking(move || folder.lock_workspaces())
        .await
        .map_err(|_| sqlx::Error::WorkerCrashed)??;
    refuse_taken(&location, name, &origin).await?;
    let location = location.workspace(name.clone());
    let ledger = Ledger::create(LedgerOptions {
        origin: Some(origin),
        ..LedgerOptions::new(location.clone())
    })
    .await?;
    ledger.close().await;
    // Its folder is to be there after a power cut too.
    let parents = location.directory();
    for parent in parents.ancestors().skip(1).take(2) {
        sync(parent)?;
    }
    drop(lock);
    let made = Reader::open(location).await?;
    // In the default ledger, which is another database: a crash just before this leaves a workspace whose making is not among
    // the acts. Written first, it could tell of one that was never made.
    record_act(
        default.location().clone(),
        AdminAct::WorkspaceCreated,
        name.as_str(),
        &Actor::local_user(),
        &[
            ("origin", made.origin().as_str()),
            ("key", &made.public_key().fingerprint()),
        ],
    )
    .await?;
    default.close().await;
    Ok(made)
}

/// Refuses a name or an origin that another ledger of the place has. One that cannot be read keeps nobody from anything.
async fn refuse_taken(
    location: &LedgerLocation,
    name: &WorkspaceName,
    origin: &Origin,
) -> Result<(), LedgerError> {
    for other in locations(location).await? {
        let workspace = other.workspace.clone();
        match Reader::open(other).await {
            Ok(reader) => {
                reader.close().await;
                if workspace == *name {
                    return Err(LedgerError::WorkspaceExists(name.to_string()));
                }
                if reader.origin() == origin {
                    return Err(LedgerError::OriginTaken {
                        origin: origin.to_string(),
                        workspace: workspace.to_string(),
                    });
                }
            }
            // Nothing, or half made: it is made now.
            Err(LedgerError::NoLedger(_)) if workspace == *name => {}
            Err(error) if workspace == *name => return Err(error),
            Err(error) => {
                tracing::warn!(%workspace, %error, "a workspace cannot be read; its origin is not compared");
            }
        }
    }
    Ok(())
}

fn sync(folder: &Path) -> Result<(), LedgerError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed("cannot sync", folder))
}
