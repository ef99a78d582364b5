//! Copies of the newest checkpoint in files outside the database: one beside it, and an anchor wherever the operator wants
//! one. A database that was replaced by an older copy of itself is sound in every other respect; these files, unless they
//! were taken back too, say that there was more.
//!
//! The file beside the database is written after each commit and not synced: a commit does not wait for the disk a second
//! time. After a crash of the process it is exact. After a power cut it may be some commits behind or empty, never ahead,
//! since what it states was durable before; so a power cut cannot make a good ledger look rolled back. The anchor is synced,
//! about once a second while the ledger grows and when it is closed, and is behind by as much.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::PublicKey;
use tokio::time::Instant;

use crate::data_dir::{failed, private_file};
use crate::error::LedgerError;
use crate::store::Connection;
use crate::tree;

/// More than any note has.
const NOTE_BYTES_MAX: u64 = 16 * 1024;

/// A file that holds a copy of a ledger's newest checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointCopy(PathBuf);

impl CheckpointCopy {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Replaces the copy: its readers see the old one or the new one, whole. If `synced`, it is on the disk when this
    /// returns.
    pub(crate) fn write(&self, note: &str, synced: bool) -> Result<(), LedgerError> {
        let mut draft = self.0.clone().into_os_string();
        // Several processes may keep their copies in one folder.
        draft.push(format!(".{}.new", std::process::id()));
        let draft = PathBuf::from(draft);
        let write = || {
            let mut file = private_file().create(true).truncate(true).open(&draft)?;
            file.write_all(note.as_bytes())?;
            if synced {
                file.sync_all()?;
            }
            fs::rename(&draft, &self.0)?;
            match self.0.parent() {
                Some(folder) if synced && !folder.as_os_str().is_empty() => {
                    fs::File::open(folder)?.sync_all()
                }
                _ => Ok(()),
            }
        };
        write().map_err(|source| {
            // A draft that cannot be removed either is overwritten by the next one.
            drop(fs::remove_file(&draft));
            failed("cannot write", &self.0)(source)
        })
    }

    /// Reads the copy; `None` if there is none, which is so for a ledger without entries. A file that is not a checkpoint of
    /// this ledger is an error.
    pub(crate) fn read(
        &self,
        origin: &Origin,
        key: &PublicKey,
    ) -> Result<Option<Checkpoint>, LedgerError> {
        let mut bytes = Vec::new();
        let read = fs::File::open(&self.0)
            .and_then(|file| file.take(NOTE_BYTES_MAX).read_to_end(&mut bytes));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed("cannot read", &self.0)(source)),
        }
        if bytes.iter().all(|byte| *byte == 0) {
            tracing::warn!(
                path = %self.0.display(),
                "the copy of the checkpoint is empty, as a power cut can leave it"
            );
            return Ok(None);
        }
        let bad = |reason: String| self.bad(reason);
        let note = std::str::from_utf8(&bytes).map_err(|error| bad(error.to_string()))?;
        let checkpoint = Checkpoint::verify(note, key).map_err(|error| bad(error.to_string()))?;
        if checkpoint.origin != *origin {
            return Err(bad(format!("it is of the ledger {}", checkpoint.origin)));
        }
        Ok(Some(checkpoint))
    }

    /// Refuses a database whose first entries are not those that the copy states, or that has fewer.
    pub(crate) async fn compare(
        &self,
        connection: &mut dyn Connection,
        size: u64,
        copy: &Checkpoint,
    ) -> Result<(), LedgerError> {
        if copy.size > size {
            return Err(LedgerError::RolledBack {
                path: self.0.clone(),
                stated: copy.size,
                stored: size,
            });
        }
        if tree::range_root(connection, 0..copy.size).await? != copy.root {
            return Err(self.bad(format!(
                "the database's first {} entries have another root: they are another history",
                copy.size
            )));
        }
        Ok(())
    }

    fn bad(&self, reason: String) -> LedgerError {
        LedgerError::BadCheckpointCopy {
            path: self.0.clone(),
            reason,
        }
    }
}

/// Time between two writes of the copy beside the database while the ledger is busy.
const BESIDE_EVERY: Duration = Duration::from_millis(100);
/// Time between two writes of the anchor.
const ANCHOR_EVERY: Duration = Duration::from_secs(1);

/// The copies that a sequencer keeps, and what of them waits to be written. A copy that cannot be written is no reason to
/// deny what is stored: it is told in the log and tried again with the next group.
pub(crate) struct CheckpointCopies {
    beside: Kept,
    anchor: Option<Kept>,
    newest: Option<String>,
}

struct Kept {
    copy: CheckpointCopy,
    is_behind: bool,
    written: Option<Instant>,
}

impl Kept {
    fn new(copy: CheckpointCopy) -> Self {
        Self {
            copy,
            is_behind: false,
            written: None,
        }
    }

    fn due(&self, every: Duration) -> Instant {
        self.written
            .map_or_else(Instant::now, |written| written + every)
    }

    fn write(&mut self, note: &str, synced: bool) {
        self.is_behind = false;
        self.written = Some(Instant::now());
        if let Err(error) = self.copy.write(note, synced) {
            tracing::warn!(%error, "a copy of the newest checkpoint is out of date");
        }
    }
}

impl CheckpointCopies {
    pub(crate) fn new(beside: CheckpointCopy, anchor: Option<CheckpointCopy>) -> Self {
        Self {
            beside: Kept::new(beside),
            anchor: anchor.map(Kept::new),
            newest: None,
        }
    }

    /// Takes the note of a newer checkpoint.
    pub(crate) fn follow(&mut self, note: String) {
        self.newest = Some(note);
        self.beside.is_behind = true;
        if let Some(anchor) = &mut self.anchor {
            anchor.is_behind = true;
        }
    }

    /// Writes the copies whose time has come; the one beside the database also when there is nothing else to do.
    pub(crate) fn write_due(&mut self, is_idle: bool) {
        let Some(note) = &self.newest else { return };
        let now = Instant::now();
        if self.beside.is_behind && (is_idle || now >= self.beside.due(BESIDE_EVERY)) {
            self.beside.write(note, false);
        }
        if let Some(anchor) = &mut self.anchor
            && anchor.is_behind
            && now >= anchor.due(ANCHOR_EVERY)
        {
            anchor.write(note, true);
        }
    }

    /// When a copy has to be written although nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        let anchor = self.anchor.as_ref().filter(|anchor| anchor.is_behind)?;
        Some(anchor.due(ANCHOR_EVERY))
    }

    /// Writes all that is behind.
    pub(crate) fn write_all(&mut self) {
        let Some(note) = &self.newest else { return };
        if self.beside.is_behind {
            self.beside.write(note, false);
        }
        if let Some(anchor) = self.anchor.as_mut().filter(|anchor| anchor.is_behind) {
            anchor.write(note, true);
        }
    }

    /// Looks whether files can be written where the ledger is.
    pub(crate) fn probe(&self) -> Result<(), LedgerError> {
        match &self.newest {
            Some(note) => self.beside.copy.write(note, true),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
