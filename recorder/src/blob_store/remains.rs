//! What only a local folder has: files to be synced and looked at before they are opened, and the half-written ones that a
//! crash leaves.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use remembrancer_schema::ContentHash;

use super::error::{BlobStoreError, reason};
use super::{BLOBS, BlobLocation, BlobStore};

/// Half-written files that one search returns at most.
const REMAINS_MAX: usize = 10_000;

/// A file that a write left when its process ended before it was done. No address leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remains {
    pub(crate) file: PathBuf,
    pub(crate) bytes: u64,
    /// When it was last written, in milliseconds since 1970.
    pub(crate) modified: i64,
}

impl BlobStore {
    /// Makes the folder of the blobs, readable by its owner alone, unless it exists.
    pub(super) fn make_folder(&self) -> Result<(), BlobStoreError> {
        let BlobLocation::Folder(folder) = self.location() else {
            return Ok(());
        };
        let blobs = folder.join(BLOBS);
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&blobs)
            .and_then(|()| sync_folders(&blobs, folder.parent().unwrap_or(folder)))
            .map_err(|error| self.unavailable("making the folder", &reason(&error)))
    }

    /// What is strange about the file of a blob, if there is one that is no plain file: opening a pipe would wait for ever,
    /// and a link leads to what somebody else may change.
    pub(super) async fn strange_file(&self, hash: &ContentHash) -> Option<String> {
        let file = self.file(hash)?;
        let found = tokio::fs::symlink_metadata(&file).await.ok()?;
        (!found.is_file()).then(|| format!("{} is no plain file", file.display()))
    }

    /// Brings a blob's file and the folders above it to the disk. Nothing to do for S3.
    pub(super) async fn sync_file(
        &self,
        hash: &ContentHash,
        doing: &'static str,
    ) -> Result<(), BlobStoreError> {
        let (Some(file), BlobLocation::Folder(folder)) = (self.file(hash), self.location()) else {
            return Ok(());
        };
        let folder = folder.clone();
        let sync = move || {
            File::open(&file)?.sync_all()?;
            sync_folders(file.parent().unwrap_or(&folder), &folder)
        };
        tokio::task::spawn_blocking(sync)
            .await
            .map_err(std::io::Error::from)
            .and_then(|done| done)
            .map_err(|error| self.unavailable(doing, &reason(&error)))
    }

    /// The half-written files of a local folder. An S3 service keeps none: a blob is sent in one request.
    pub(crate) async fn remains(&self) -> Result<Vec<Remains>, BlobStoreError> {
        let BlobLocation::Folder(folder) = self.location() else {
            return Ok(Vec::new());
        };
        let blobs = folder.join(BLOBS);
        tokio::task::spawn_blocking(move || find(&blobs))
            .await
            .map_err(std::io::Error::from)
            .and_then(|found| found)
            .map_err(|error| self.unavailable("looking for half-written files", &reason(&error)))
    }

    /// Removes one of them.
    pub(crate) fn remove_remains(&self, remains: &Remains) -> Result<(), BlobStoreError> {
        match fs::remove_file(&remains.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(self.unavailable("removing a half-written file", &reason(&error)))
            }
            _ => Ok(()),
        }
    }
}

/// Syncs a folder and those above it, up to and with `top`.
fn sync_folders(from: &Path, top: &Path) -> std::io::Result<()> {
    for folder in from.ancestors() {
        // The parent of a relative path of one name is the folder that the program runs in.
        let opened = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        #[cfg(unix)]
        File::open(opened)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = opened;
        if folder == top {
            break;
        }
    }
    Ok(())
}

fn find(blobs: &Path) -> std::io::Result<Vec<Remains>> {
    let mut found = Vec::new();
    for folder in entries(blobs)? {
        let folder = folder?;
        if !folder.file_type()?.is_dir() {
            continue;
        }
        for file in entries(&folder.path())? {
            let file = file?;
            if found.len() == REMAINS_MAX {
                return Ok(found);
            }
            if is_half_written(&file.file_name().to_string_lossy()) && file.file_type()?.is_file() {
                let about = file.metadata()?;
                found.push(Remains {
                    file: file.path(),
                    bytes: about.len(),
                    modified: milliseconds(about.modified()?),
                });
            }
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> std::io::Result<impl Iterator<Item = std::io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

/// The store writes to `HASH#NUMBER` first and links the whole file to its name.
fn is_half_written(name: &str) -> bool {
    name.split_once('#').is_some_and(|(hash, number)| {
        hash.parse::<ContentHash>().is_ok()
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
