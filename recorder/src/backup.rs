//! Backups: a copy of one state of the ledgers of a data directory, made while a recorder writes, and verified before it
//! counts as one. And the way back.

mod copying;
mod manifest;
mod restoring;

use std::path::PathBuf;

use serde::Serialize;

use crate::blob_store::BlobLocation;
use crate::checkpoint_copy::CheckpointCopy;
use crate::clock;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{self, LedgerLocation, WorkspaceName, sqlite};
use crate::verify::verify_ledger;

use copying::{copy_file, copy_folder, empty_folder, sync_folders};
use manifest::{digest, files_below};

pub(crate) use manifest::FILE_NAME as MANIFEST_FILE;
pub use manifest::{FileInBackup, LedgerInBackup, LedgerState, Manifest};
pub use restoring::{KeyAfterRestore, LedgerRestored, RestoreOptions, RestoreReport, restore};

/// Name of the configuration file in a data directory, and in a backup.
const CONFIGURATION: &str = "remembrancer.toml";
/// Folder of large blobs in a data directory, and in a backup.
const BLOBS: &str = "blobs";

/// What is backed up, and to where.
#[derive(Debug, Clone)]
pub struct BackupOptions {
    /// The data directory; all its workspaces are taken.
    pub location: LedgerLocation,
    /// A folder that does not exist, or is empty.
    pub to: PathBuf,
    /// Whether private keys go with it. Whoever has the backup can then sign in the ledger's name.
    pub with_key: bool,
    /// The configuration file in use; the one in the data directory if `None`.
    pub configuration: Option<PathBuf>,
}

/// What came of a backup.
#[derive(Debug, Clone, Serialize)]
pub struct BackupReport {
    /// What the backup holds.
    pub manifest: Manifest,
    /// Why it is not sound. The manifest is then not in its folder, which makes the folder no backup.
    pub faults: Vec<String>,
}

impl BackupReport {
    /// Whether the copy verified.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Told how many entries of the ledger at hand are verified, and how many it has.
pub(crate) type Progress<'a> = &'a mut (dyn FnMut(u64, u64) + Send);

/// Makes a backup of a data directory. A recorder may go on writing: what is copied is the state of one moment.
///
/// In order: the database in one read transaction; then large blobs, which are durable before the rows that name them and
/// never change, so that every one the copy names is there; then the rest. Then the copy is verified as a ledger, and only
/// then does it get its manifest.
pub async fn back_up(
    options: BackupOptions,
    progress: Progress<'_>,
) -> Result<BackupReport, LedgerError> {
    if let Some(url) = &options.location.database {
        return Err(LedgerError::BackupOfServer(url.to_string()));
    }
    let ledgers = store::ledgers(&options.location).await?;
    if ledgers.is_empty() {
        return Err(LedgerError::NoLedger(options.location.to_string()));
    }
    empty_folder(&options.to)?;
    let target = LedgerLocation::new(&options.to);
    let mut manifest = Manifest::new(clock::now(), Vec::new());
    for (ledger, tables) in &ledgers {
        let taken = take(ledger, *tables, &target, options.with_key, &mut manifest).await?;
        manifest.ledgers.push(taken);
    }
    take_configuration(&options, &mut manifest)?;
    let mut faults = Vec::new();
    for taken in &mut manifest.ledgers {
        let found = check(&target, taken, progress).await?;
        faults.extend(found.into_iter().map(|fault| match taken.folder.as_str() {
            "" => fault,
            folder => format!("{folder}: {fault}"),
        }));
    }
    // Read again from the disk after the verification, which a read-only connection may have left files beside.
    for path in files_below(&options.to)? {
        let (bytes, sha256) = digest(&options.to.join(&path))?;
        manifest.files.push(FileInBackup {
            path: path.to_string_lossy().into_owned(),
            bytes,
            sha256,
        });
    }
    sync_folders(&options.to)?;
    if faults.is_empty() {
        manifest.write(&options.to)?;
    }
    Ok(BackupReport { manifest, faults })
}

/// Copies one ledger's files.
async fn take(
    ledger: &LedgerLocation,
    tables: i64,
    target: &LedgerLocation,
    with_key: bool,
    manifest: &mut Manifest,
) -> Result<LedgerInBackup, LedgerError> {
    let (from, place) = (ledger.folder(), target.workspace(ledger.workspace.clone()));
    let to = place.folder();
    to.create()?;
    sqlite::copy(&from, &to).await?;
    take_blobs(ledger, &place, manifest)?;
    if from.public_key().exists() {
        copy_file(&from.public_key(), &to.public_key())?;
    }
    let has_private_key = with_key && from.private_key().exists();
    if has_private_key {
        copy_file(&from.private_key(), &to.private_key())?;
    } else {
        manifest.not_included.push(format!(
            "the private key {}: without it the restored ledger can be read and verified, not written; keep it apart",
            from.private_key().display()
        ));
    }
    let folder = place.directory();
    Ok(LedgerInBackup {
        workspace: ledger.workspace.to_string(),
        folder: folder
            .strip_prefix(&target.data)
            .unwrap_or(&folder)
            .to_string_lossy()
            .into_owned(),
        tables,
        has_private_key,
        state: None,
    })
}

/// Copies large blobs to where a ledger looks for them that was told nothing else. Those of a bucket stay there, and the copy
/// remembers where.
fn take_blobs(
    ledger: &LedgerLocation,
    place: &LedgerLocation,
    manifest: &mut Manifest,
) -> Result<(), LedgerError> {
    match BlobLocation::of(ledger)? {
        BlobLocation::Folder(folder) => {
            copy_folder(&folder.join(BLOBS), &place.directory().join(BLOBS))
        }
        bucket @ BlobLocation::S3 { .. } => {
            manifest.not_included.push(format!(
                "large blobs: they stay in {bucket}, where the copy looks for them; back the bucket up by its own means"
            ));
            place.folder().write_blob_place(&format!("{bucket}\n"))
        }
    }
}

fn take_configuration(options: &BackupOptions, manifest: &mut Manifest) -> Result<(), LedgerError> {
    let beside = options.location.data.join(CONFIGURATION);
    match &options.configuration {
        Some(path) => copy_file(path, &options.to.join(CONFIGURATION)),
        None if beside.exists() => copy_file(&beside, &options.to.join(CONFIGURATION)),
        None => {
            manifest.not_included.push(
                "a configuration file: none was named, and none stands in the data directory; flags and environment are \
                 kept nowhere"
                    .to_owned(),
            );
            Ok(())
        }
    }
}

/// Verifies a ledger of a backup, or one that was restored from it, and notes its state. What is wrong, in words.
async fn check(
    place: &LedgerLocation,
    taken: &mut LedgerInBackup,
    progress: Progress<'_>,
) -> Result<Vec<String>, LedgerError> {
    let name: WorkspaceName = taken
        .workspace
        .parse()
        .map_err(|error| LedgerError::NotABackup {
            folder: place.data.clone(),
            reason: format!("{error}"),
        })?;
    let ledger = place.workspace(name);
    if taken.tables != store::known_version(&ledger) {
        // Entries of other tables cannot be read here; what the database says of its own file is all that can be told.
        return sqlite::file_faults(&ledger.folder().database()).await;
    }
    let reader = Reader::open(ledger).await?;
    let outcome = check_read(&reader, taken, progress).await;
    reader.close().await;
    outcome
}

async fn check_read(
    reader: &Reader,
    taken: &mut LedgerInBackup,
    progress: Progress<'_>,
) -> Result<Vec<String>, LedgerError> {
    let checkpoint = reader.checkpoint().await?;
    let copy = CheckpointCopy::new(DataDir::new(reader.data_dir()).checkpoint_copy());
    // Not the one beside the original, which may be newer or older by now: the checkpoint of exactly this state.
    if let Some(note) = &checkpoint
        && !copy.path().exists()
    {
        copy.write(note, true)?;
    }
    let total = reader.size().await?;
    let verdict = verify_ledger(reader, |done| progress(done, total)).await?;
    let mut faults: Vec<String> = verdict.faults.iter().map(ToString::to_string).collect();
    match reader.root(verdict.entries).await {
        Ok(root) => {
            let state = LedgerState {
                origin: reader.origin().to_string(),
                key_fingerprint: reader.public_key().fingerprint(),
                entries: verdict.entries,
                root,
                checkpoint,
            };
            if let Some(stated) = taken.state.as_ref().filter(|stated| **stated != state) {
                faults.push(format!(
                    "it holds {} entries of {} with the root {}; its backup says {} of {} with {}",
                    state.entries,
                    state.origin,
                    state.root,
                    stated.entries,
                    stated.origin,
                    stated.root
                ));
            }
            taken.state = Some(state);
        }
        Err(error) => faults.push(error.to_string()),
    }
    Ok(faults)
}

#[cfg(test)]
mod tests;
