//! From a backup to a data directory.

use std::path::{Path, PathBuf};

use remembrancer_schema::signing::{LedgerKey, PublicKey};
use serde::Serialize;

use super::copying::{copy_file, empty_folder, sync_folders};
use super::manifest::digest;
use super::{Manifest, Progress, check};
use crate::checkpoint_copy::CheckpointCopy;
use crate::data_dir::{DataDir, failed};
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{LedgerLocation, WorkspaceName};

/// What is restored, and to where.
#[derive(Debug, Clone)]
pub struct RestoreOptions {
    /// The backup's folder.
    pub from: PathBuf,
    /// The new data directory: a folder that does not exist, or is empty.
    pub data: PathBuf,
    /// Private key of the default workspace's ledger, for a backup without it.
    pub key: Option<PathBuf>,
    /// The anchor that the ledger will be opened with, to say now what it says then.
    pub anchor: Option<PathBuf>,
}

/// Whether a restored ledger has its private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyAfterRestore {
    /// It is there, and is the ledger's.
    Present,
    /// It is not: the ledger cannot be written until it is put there.
    Missing,
    /// There is one, of another ledger.
    OfAnotherLedger,
}

/// One ledger after a restore.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerRestored {
    /// Its workspace.
    pub workspace: String,
    /// Its entries; `None` for tables of another version, which this program cannot read.
    pub entries: Option<u64>,
    /// Its private key.
    pub key: KeyAfterRestore,
    /// Entries that the anchor states, if they are more.
    pub anchor_states: Option<u64>,
}

/// What came of a restore.
#[derive(Debug, Clone, Serialize)]
pub struct RestoreReport {
    /// What the backup said of itself.
    pub manifest: Manifest,
    /// The restored ledgers; empty if nothing was restored.
    pub ledgers: Vec<LedgerRestored>,
    /// Why the backup, or what was restored from it, is not sound.
    pub faults: Vec<String>,
}

impl RestoreReport {
    /// Whether everything was restored and verified.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Restores a backup into a new data directory. Every file is compared with the manifest before anything is written, and
/// every ledger is verified afterwards.
pub async fn restore(
    options: RestoreOptions,
    progress: Progress<'_>,
) -> Result<RestoreReport, LedgerError> {
    let manifest = Manifest::read(&options.from)?;
    if let Some(path) = &options.key {
        let key = read_key(path)?;
        let mut ledgers = manifest.ledgers.iter();
        let state =
            ledgers.find_map(|ledger| ledger.state.as_ref().filter(|_| ledger.folder.is_empty()));
        if state.is_some_and(|state| state.key_fingerprint != key.public().fingerprint()) {
            return Err(LedgerError::WrongKey { path: path.clone() });
        }
    }
    empty_folder(&options.data)?;
    let mut report = RestoreReport {
        faults: compare(&options.from, &manifest),
        ledgers: Vec::new(),
        manifest,
    };
    if !report.is_sound() {
        return Ok(report);
    }
    for file in &report.manifest.files {
        let target = options.data.join(&file.path);
        if let Some(folder) = target.parent() {
            DataDir::new(folder).create()?;
        }
        copy_file(&options.from.join(&file.path), &target)?;
    }
    sync_folders(&options.data)?;
    let place = LedgerLocation::new(&options.data);
    for mut taken in report.manifest.ledgers.clone() {
        let faults = check(&place, &mut taken, progress).await?;
        report.faults.extend(faults);
        let name: WorkspaceName = taken.workspace.parse().unwrap_or_default();
        let ledger = place.workspace(name);
        let is_default = ledger.workspace.is_default();
        if let Some(file) = options.key.as_deref().filter(|_| is_default)
            && !taken.has_private_key
        {
            copy_file(file, &ledger.folder().private_key())?;
        }
        let mut restored = LedgerRestored {
            workspace: taken.workspace.clone(),
            entries: taken.state.as_ref().map(|state| state.entries),
            key: key_beside(&ledger.folder())?,
            anchor_states: None,
        };
        if taken.state.is_some() {
            let reader = Reader::open(ledger.clone()).await?;
            restored.key = key_state(&ledger.folder(), &reader)?;
            if let Some(anchor) = options.anchor.as_ref().filter(|_| is_default) {
                let stated = CheckpointCopy::new(anchor.clone())
                    .read(reader.origin(), reader.public_key())?
                    .map(|checkpoint| checkpoint.size);
                restored.anchor_states = stated.filter(|stated| Some(*stated) > restored.entries);
            }
            reader.close().await;
        }
        report.ledgers.push(restored);
    }
    Ok(report)
}

/// What of a backup's files is not what its manifest says.
fn compare(folder: &Path, manifest: &Manifest) -> Vec<String> {
    let differs = |file: &super::FileInBackup| match digest(&folder.join(&file.path)) {
        Err(error) => Some(error.to_string()),
        Ok((bytes, _)) if bytes != file.bytes => Some(format!(
            "{} has {bytes} bytes; its manifest says {}",
            file.path, file.bytes
        )),
        Ok((_, sha256)) if sha256 != file.sha256 => Some(format!(
            "{} has other bytes than its manifest says",
            file.path
        )),
        Ok(_) => None,
    };
    manifest.files.iter().filter_map(differs).collect()
}

fn read_key(path: &Path) -> Result<LedgerKey, LedgerError> {
    let pem = std::fs::read_to_string(path).map_err(failed("cannot read", path))?;
    LedgerKey::from_pem(&pem).map_err(|error| LedgerError::BadKey {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// The private key against the one that the database has.
fn key_state(folder: &DataDir, reader: &Reader) -> Result<KeyAfterRestore, LedgerError> {
    compare_key(folder, |key| key.public() == *reader.public_key())
}

/// The private key against the public one beside it, for a database that cannot be read here.
fn key_beside(folder: &DataDir) -> Result<KeyAfterRestore, LedgerError> {
    let beside = std::fs::read_to_string(folder.public_key()).unwrap_or_default();
    compare_key(folder, |key| {
        PublicKey::from_pem(&beside).is_ok_and(|public| public == key.public())
    })
}

fn compare_key(
    folder: &DataDir,
    is_right: impl Fn(&LedgerKey) -> bool,
) -> Result<KeyAfterRestore, LedgerError> {
    match folder.key(false) {
        Ok(key) if is_right(&key) => Ok(KeyAfterRestore::Present),
        Ok(_) => Ok(KeyAfterRestore::OfAnotherLedger),
        Err(LedgerError::MissingKey { .. }) => Ok(KeyAfterRestore::Missing),
        Err(error) => Err(error),
    }
}
