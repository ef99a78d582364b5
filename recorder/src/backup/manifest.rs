//! What a backup says of itself: which state of which ledgers it holds, and every file with its size and SHA-256, which
//! `sha256sum` computes too. It is a list for finding what is damaged or missing; what proves a ledger is its verification.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use remembrancer_schema::TreeHash;
use remembrancer_schema::hash::Sha256Stream;
use serde::{Deserialize, Serialize};

use crate::data_dir::{failed, private_file};
use crate::error::LedgerError;

/// The file in a backup's folder; a folder without it is no backup.
pub(crate) const FILE_NAME: &str = "backup.json";
/// The form of the file that this program writes and reads.
const FORMAT: u32 = 1;
/// A manifest has about 150 bytes per file.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Form of this file.
    pub format: u32,
    /// Version of the program that made it.
    pub program: String,
    /// When it was made.
    pub made: String,
    /// The ledgers in it.
    pub ledgers: Vec<LedgerInBackup>,
    /// Every other file, by path.
    pub files: Vec<FileInBackup>,
    /// What a restore needs beside it, in words.
    pub not_included: Vec<String>,
}

/// A ledger in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerInBackup {
    /// Its workspace.
    pub workspace: String,
    /// Its folder in the backup; empty for the backup's own.
    pub folder: String,
    /// Version of its tables.
    pub tables: i64,
    /// Whether its private key is in the backup.
    pub has_private_key: bool,
    /// Which state it is; `None` for tables of an older version, which this program cannot read.
    pub state: Option<LedgerState>,
}

/// The state of a ledger in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerState {
    /// Its name.
    pub origin: String,
    /// Fingerprint of its key.
    pub key_fingerprint: String,
    /// Entries in it.
    pub entries: u64,
    /// Root of their Merkle tree.
    pub root: TreeHash,
    /// The signed checkpoint of this very state; `None` if it has no entries.
    pub checkpoint: Option<String>,
}

/// A file in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileInBackup {
    /// Path within the backup, with slashes.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    pub(super) fn new(made: String, ledgers: Vec<LedgerInBackup>) -> Self {
        Self {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made,
            ledgers,
            files: Vec::new(),
            not_included: Vec::new(),
        }
    }

    /// Writes the manifest, as the last file of a backup.
    pub(super) fn write(&self, folder: &Path) -> Result<(), LedgerError> {
        use std::io::Write as _;
        let path = folder.join(FILE_NAME);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| failed("cannot write", &path)(error.into()))?;
        text.push('\n');
        let write = || {
            let mut file = private_file().create_new(true).open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            File::open(folder)?.sync_all()
        };
        write().map_err(failed("cannot write", &path))
    }

    /// Reads a backup's manifest, and refuses one whose paths lead out of the backup.
    pub(crate) fn read(folder: &Path) -> Result<Self, LedgerError> {
        let path = folder.join(FILE_NAME);
        let no_backup = |reason: String| LedgerError::NotABackup {
            folder: folder.to_owned(),
            reason,
        };
        let mut text = String::new();
        File::open(&path)
            .and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text))
            .map_err(|error| no_backup(format!("{}: {error}", path.display())))?;
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| no_backup(format!("{}: {error}", path.display())))?;
        if manifest.format != FORMAT {
            return Err(no_backup(format!(
                "its form is {}, this program knows {FORMAT}",
                manifest.format
            )));
        }
        let paths = manifest.files.iter().map(|file| &file.path);
        let folders = manifest.ledgers.iter().map(|ledger| &ledger.folder);
        match paths.chain(folders).find(|path| !stays_inside(path)) {
            Some(path) => Err(no_backup(format!("the path {path:?} leads out of it"))),
            None => Ok(manifest),
        }
    }
}

fn stays_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.contains('\\') && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Size and SHA-256 of a file, read in pieces.
pub(super) fn digest(path: &Path) -> Result<(u64, String), LedgerError> {
    let mut sum = Sha256Stream::new();
    let mut bytes = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut file = File::open(path).map_err(failed("cannot read", path))?;
    loop {
        let read = file
            .read(&mut buffer)
            .map_err(failed("cannot read", path))?;
        if read == 0 {
            return Ok((bytes, hex::encode(sum.finish())));
        }
        bytes += read as u64;
        sum.update(&buffer[..read]);
    }
}

/// Every regular file below a folder, as paths relative to it, sorted. Links and whatever else is there are left out.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let place = folder.join(&relative);
        let entries = std::fs::read_dir(&place).map_err(failed("cannot list", &place))?;
        for entry in entries {
            let entry = entry.map_err(failed("cannot list", &place))?;
            let kind = entry.file_type().map_err(failed("cannot list", &place))?;
            let path = relative.join(entry.file_name());
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_inside_or_is_refused() {
        for inside in ["ledger.sqlite", "blobs/ab/abcd", ""] {
            assert!(stays_inside(inside), "{inside}");
        }
        for outside in ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "./x"] {
            assert!(!stays_inside(outside), "{outside}");
        }
    }
}
