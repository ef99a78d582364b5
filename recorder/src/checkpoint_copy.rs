//! Copies of the newest checkpoint in files outside the database: one beside it, and an anchor wherever the operator wants
//! one. A database that was replaced by an older copy of itself is sound in every other respect; these files, unless they
//! were taken back too, say that there was more.
//!
//! The file beside the database is written after a commit and not synced, at most ten times a second: a commit does not wait
//! for the disk a second time. After a crash of the process it is behind by no more than that, after a power cut it may be
//! older or empty; never is it ahead, since what it states was durable before. So a crash cannot make a good ledger look
//! rolled back. The anchor is synced, about once a second while the ledger grows and when it is closed.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::limits::NOTE_BYTES_MAX;
use remembrancer_schema::signing::PublicKey;
use tokio::time::Instant;

use crate::data_dir::{failed, private_file};
use crate::error::LedgerError;
use crate::store::Connection;
use crate::tree;

/// A file that holds a copy of a ledger's newest checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointCopy(PathBuf);

impl CheckpointCopy {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
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

    /// Removes drafts that other processes left when they ended in the middle of a write, if they are at least so old. A
    /// process that lives and loses its draft by this tells so in its log, and writes the copy again with its next group.
    pub(crate) fn remove_drafts(&self, age_min: Duration) {
        let folder = match self.0.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // What cannot be listed or removed is in nobody's way.
        let Ok(files) = fs::read_dir(folder) else {
            return;
        };
        for file in files.filter_map(Result::ok) {
            let is_stale = self.is_others_draft(&file.file_name())
                && file.metadata().is_ok_and(|file| {
                    let age = file.modified().ok().and_then(|at| at.elapsed().ok());
                    file.is_file() && age.unwrap_or_default() >= age_min
                });
            if is_stale && let Err(error) = fs::remove_file(file.path()) {
                tracing::debug!(%error, path = %file.path().display(), "an old draft stays");
            }
        }
    }

    /// Whether a name is that of a draft which another process wrote.
    fn is_others_draft(&self, name: &OsStr) -> bool {
        let copy = self.0.file_name().and_then(OsStr::to_str);
        let Some((name, copy)) = name.to_str().zip(copy) else {
            return false;
        };
        let number = name
            .strip_prefix(copy)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(".new"));
        number.is_some_and(|number| {
            number
                .parse::<u32>()
                .is_ok_and(|id| id != std::process::id())
        })
    }

    /// Reads the copy; `None` if there is none, which is so for a ledger without entries. A file that is not a checkpoint of
    /// this ledger is an error.
    pub(crate) fn read(
        &self,
        origin: &Origin,
        key: &PublicKey,
    ) -> Result<Option<Checkpoint>, LedgerError> {
        let read = self.read_note(origin, key)?;
        Ok(read.map(|(_, checkpoint)| checkpoint))
    }

    /// As [`CheckpointCopy::read`], with the signed note itself, and whatever signatures of others it carries.
    pub(crate) fn read_note(
        &self,
        origin: &Origin,
        key: &PublicKey,
    ) -> Result<Option<(String, Checkpoint)>, LedgerError> {
        let mut bytes = Vec::new();
        let read = fs::File::open(&self.0)
            .and_then(|file| file.take(NOTE_BYTES_MAX as u64).read_to_end(&mut bytes));
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
        let note = String::from_utf8(bytes).map_err(|error| bad(error.to_string()))?;
        let checkpoint = Checkpoint::verify(&note, key).map_err(|error| bad(error.to_string()))?;
        if checkpoint.origin != *origin {
            return Err(bad(format!("it is of the ledger {}", checkpoint.origin)));
        }
        Ok(Some((note, checkpoint)))
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

/// Least time between two writes of the copy beside the database.
const BESIDE_EVERY: Duration = Duration::from_millis(100);
/// Least time between two writes of the anchor.
const ANCHOR_EVERY: Duration = Duration::from_secs(1);

/// Longest time that a draft can be in use: it is renamed as soon as it is written.
const DRAFT_TIME_MAX: Duration = Duration::from_secs(600);

/// The copies that a sequencer keeps, and what of them waits to be written. A copy that cannot be written is no reason to
/// deny what is stored: it is told in the log and tried again with the next group.
pub(crate) struct CheckpointCopies {
    /// The one beside the database, and the anchor if there is one.
    kept: Vec<Kept>,
    newest: Option<String>,
}

struct Kept {
    copy: CheckpointCopy,
    every: Duration,
    is_synced: bool,
    is_behind: bool,
    /// Before this moment it is not written again.
    not_before: Instant,
}

impl Kept {
    fn new(copy: CheckpointCopy, every: Duration, is_synced: bool) -> Self {
        Self {
            copy,
            every,
            is_synced,
            is_behind: false,
            not_before: Instant::now(),
        }
    }

    /// When it has to be written; `None` if it is not behind.
    fn due(&self) -> Option<Instant> {
        self.is_behind.then_some(self.not_before)
    }

    fn write(&mut self, note: &str) {
        self.is_behind = false;
        self.not_before = Instant::now() + self.every;
        if let Err(error) = self.copy.write(note, self.is_synced) {
            tracing::warn!(%error, "a copy of the newest checkpoint is out of date");
        }
    }
}

impl CheckpointCopies {
    pub(crate) fn new(beside: CheckpointCopy, anchor: Option<CheckpointCopy>) -> Self {
        let beside = Kept::new(beside, BESIDE_EVERY, false);
        let anchor = anchor.map(|anchor| Kept::new(anchor, ANCHOR_EVERY, true));
        Self {
            kept: [Some(beside), anchor].into_iter().flatten().collect(),
            newest: None,
        }
    }

    /// Removes what earlier processes left half written. `is_alone` says that no other process can write to this ledger now.
    pub(crate) fn remove_drafts(&self, is_alone: bool) {
        let age_min = if is_alone {
            Duration::ZERO
        } else {
            DRAFT_TIME_MAX
        };
        for kept in &self.kept {
            kept.copy.remove_drafts(age_min);
        }
    }

    /// Takes the note of a newer checkpoint.
    pub(crate) fn follow(&mut self, note: String) {
        self.newest = Some(note);
        for kept in &mut self.kept {
            kept.is_behind = true;
        }
    }

    /// When the next copy has to be written; `None` if none is behind.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.kept.iter().filter_map(Kept::due).min()
    }

    /// Writes the copies whose time has come.
    pub(crate) fn write_due(&mut self) {
        let now = Instant::now();
        self.write(|kept| kept.due().is_some_and(|due| due <= now));
    }

    /// Writes all that is behind.
    pub(crate) fn write_all(&mut self) {
        self.write(|kept| kept.is_behind);
    }

    fn write(&mut self, is_wanted: impl Fn(&Kept) -> bool) {
        let Some(note) = &self.newest else { return };
        for kept in self.kept.iter_mut().filter(|kept| is_wanted(kept)) {
            kept.write(note);
        }
    }

    /// Looks whether files can be written where the ledger is.
    pub(crate) fn probe(&self) -> Result<(), LedgerError> {
        match (&self.newest, self.kept.first()) {
            (Some(note), Some(beside)) => beside.copy.write(note, true),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
