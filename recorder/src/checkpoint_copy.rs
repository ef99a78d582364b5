//! A copy of the newest checkpoint in a file beside the database. A database that was replaced by an older copy of itself is
//! sound in every other respect; this file, unless it was taken back too, says that there was more.
//!
//! The file is written after each commit and not synced: a commit does not wait for the disk a second time. After a crash of
//! the process it is exact. After a power cut it may be some commits behind or empty, never ahead, since what it states was
//! durable before; so a power cut cannot make a good ledger look rolled back.

use std::io::{ErrorKind, Read as _};

use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::PublicKey;
use sqlx::SqliteConnection;

use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::tree;

/// More than any note has.
const NOTE_BYTES_MAX: u64 = 16 * 1024;

/// Reads the copy; `None` if there is none, which is so in a data directory of an older version. A file that is not a
/// checkpoint of this ledger is an error.
pub(crate) fn read(
    folder: &DataDir,
    origin: &Origin,
    key: &PublicKey,
) -> Result<Option<Checkpoint>, LedgerError> {
    let path = folder.checkpoint_copy();
    let mut bytes = Vec::new();
    let read = std::fs::File::open(&path)
        .and_then(|file| file.take(NOTE_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(LedgerError::File {
                what: "cannot read",
                path,
                source,
            });
        }
    }
    if bytes.iter().all(|byte| *byte == 0) {
        tracing::warn!(path = %path.display(), "the copy of the checkpoint is empty, as a power cut can leave it");
        return Ok(None);
    }
    let bad = |reason: String| LedgerError::BadCheckpointCopy {
        path: path.clone(),
        reason,
    };
    let note = std::str::from_utf8(&bytes).map_err(|error| bad(error.to_string()))?;
    let checkpoint = Checkpoint::verify(note, key).map_err(|error| bad(error.to_string()))?;
    if checkpoint.origin != *origin {
        return Err(bad(format!("it is of the ledger {}", checkpoint.origin)));
    }
    Ok(Some(checkpoint))
}

/// Refuses a database whose first entries are not those that the copy states, or that has fewer.
pub(crate) async fn compare(
    folder: &DataDir,
    connection: &mut SqliteConnection,
    size: u64,
    copy: &Checkpoint,
) -> Result<(), LedgerError> {
    if copy.size > size {
        return Err(LedgerError::RolledBack {
            path: folder.checkpoint_copy(),
            stated: copy.size,
            stored: size,
        });
    }
    if tree::range_root(connection, 0..copy.size).await? != copy.root {
        return Err(LedgerError::BadCheckpointCopy {
            path: folder.checkpoint_copy(),
            reason: format!(
                "the database's first {} entries have another root: they are another history",
                copy.size
            ),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
