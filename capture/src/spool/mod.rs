//! What waits on disk until a recorder takes it: records in append-only files, written and read by several processes.
//!
//! A folder holds *segments* (`00000000000000000001.segment` and so on), each a sequence of frames ([`Record`]), and beside them
//! two lock files, the place up to which everything was delivered, and the count of what could not even be written here.
//!
//! - **Order.** Records are drained in the order in which they were appended; what is appended at once stays together.
//! - **Several processes** may append, and one drains at a time. Appending holds a lock for the time of one write.
//! - **A crash** while appending leaves a frame cut off at the end of a segment. The next one who appends removes it: what was not
//!   acknowledged is not there. A crash while draining delivers the last batch twice, which a recorder notices by the events' ids.
//! - **A frame whose checksum or header does not hold** is passed over and counted; the frames behind it are read.
//! - **Durability.** With [`SpoolOptions::sync`] an append returns after the disk has it (`fdatasync`, and the folder too when a
//!   segment is new). Without, it survives the end of the process, but not that of the machine within some seconds, unless
//!   [`Spool::sync`] is called after it.
//! - **Size.** Segments together stay below [`SpoolOptions::bytes_max`]. What does not fit is refused and counted as a [`Gap`], in
//!   a file that has its room beforehand; so is what the disk refuses. Whoever drains tells the recorder about the gaps.

mod drain;
mod frame;
mod gap;
mod place;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use remembrancer_schema::SessionId;

pub use drain::{Batch, Drainer};
pub use frame::{RECORD_BYTES_MAX, Record};
pub use gap::Gap;
pub use place::folder_for;

use gap::GapFile;
use segment::{Segment, Sizes, segment_path, segments};

use crate::private;

/// A segment that has more bytes than this gets no more records.
const SEGMENT_BYTES_MAX: u64 = 1024 * 1024;

/// How a spool is kept.
#[derive(Debug, Clone)]
pub struct SpoolOptions {
    /// Most bytes of all segments together.
    pub bytes_max: u64,
    /// Whether an append waits for the disk.
    pub sync: bool,
}

impl Default for SpoolOptions {
    fn default() -> Self {
        Self {
            bytes_max: 1024 * 1024 * 1024,
            sync: false,
        }
    }
}

/// Why something could not be spooled, or read back.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The disk or the folder refused.
    #[error("the spool {}: {what}: {error}", folder.display())]
    Disk {
        /// The spool's folder.
        folder: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The segments would become larger than they may.
    #[error(
        "the spool {} holds {held} bytes, at most {max} are allowed: {wanted} more do not fit until a recorder takes some",
        folder.display()
    )]
    Full {
        /// The spool's folder.
        folder: PathBuf,
        /// Bytes that it holds.
        held: u64,
        /// Bytes that it may hold.
        max: u64,
        /// Bytes that were to be added.
        wanted: u64,
    },
    /// A record larger than [`RECORD_BYTES_MAX`].
    #[error("a record has {0} bytes; at most {RECORD_BYTES_MAX} are allowed")]
    RecordTooLarge(usize),
}

/// A spool, open for appending.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    options: SpoolOptions,
    lock: File,
    gaps: GapFile,
    /// The segment that was written last, and its length then: known to be sound up to there.
    written: Mutex<Option<(u64, u64)>>,
    /// Sizes of segments that get no more records.
    sizes: Mutex<Sizes>,
    /// Segments that were appended to without waiting for the disk.
    unsynced: Mutex<BTreeSet<u64>>,
}

impl Spool {
    /// Opens the spool in a folder, and makes the folder, for its owner alone, if it is not there.
    pub fn open(folder: &Path, options: SpoolOptions) -> Result<Self, SpoolError> {
        let failed = |what| move |error| disk(folder, what, error);
        private::make_folder(folder).map_err(failed("making the folder"))?;
        let lock = lock_file(&folder.join("append.lock")).map_err(failed("opening its lock"))?;
        let gaps = GapFile::open(&folder.join("gaps")).map_err(failed("opening its gaps"))?;
        Ok(Self {
            folder: folder.to_owned(),
            options,
            lock,
            gaps,
            written: Mutex::new(None),
            sizes: Mutex::default(),
            unsynced: Mutex::default(),
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends records of a session: all of them, or none, unless the disk fails within. What cannot be appended is counted as a gap.
    ///
    /// Waits for other processes that append, and for the disk: not for the path of a request.
    pub fn append(&self, session: &SessionId, records: &[Record]) -> Result<(), SpoolError> {
        // Held within the process too: a file lock does not keep threads apart that share the file.
        let mut written = self
            .written
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        self.lock
            .lock()
            .map_err(|error| self.disk("locking", error))?;
        let outcome = self.append_locked(&mut written, records);
        if let Err(error) = &outcome {
            *written = None;
            let now = jiff::Timestamp::now().as_millisecond();
            let events = records
                .iter()
                .filter(|record| matches!(record, Record::Event(_)));
            let count = events.count().max(1) as u64;
            // If even this fails there is nobody left to tell.
            drop(self.gaps.note(session, count, now, &error.to_string()));
        }
        self.unlock()?;
        outcome
    }

    /// Counts records of a session that were lost before they came here.
    pub fn note_gap(
        &self,
        session: &SessionId,
        count: u64,
        reason: &str,
    ) -> Result<(), SpoolError> {
        let _written = self
            .written
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        self.lock
            .lock()
            .map_err(|error| self.disk("locking", error))?;
        let now = jiff::Timestamp::now().as_millisecond();
        let outcome = self.gaps.note(session, count, now, reason);
        self.unlock()?;
        outcome.map_err(|error| self.disk("counting a gap", error))
    }

    /// The reading side, or nothing while another process, or another part of this one, drains.
    pub fn drainer(&self) -> Result<Option<Drainer>, SpoolError> {
        Drainer::open(&self.folder)
    }

    /// Waits until the disk has everything that was appended here since this was called last.
    pub fn sync(&self) -> Result<(), SpoolError> {
        let failed = |error| self.disk("waiting for the disk", error);
        let mut unsynced = self
            .unsynced
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        while let Some(number) = unsynced.first().copied() {
            match File::open(segment_path(&self.folder, number)) {
                Ok(file) => file.sync_data().map_err(failed)?,
                // Delivered meanwhile, which is better still.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            unsynced.remove(&number);
            if unsynced.is_empty() {
                sync_folder(&self.folder).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Whether everything was delivered.
    pub fn is_empty(&self) -> Result<bool, SpoolError> {
        let failed = |error| self.disk("reading", error);
        let delivered = drain::read_position(&self.folder)
            .map_err(failed)?
            .unwrap_or_default();
        let waiting = segments(&self.folder).map_err(failed)?;
        Ok(waiting
            .iter()
            .all(|segment| match segment.number.cmp(&delivered.segment) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => segment.bytes <= delivered.at,
                std::cmp::Ordering::Greater => segment.bytes == 0,
            }))
    }

    fn append_locked(
        &self,
        written: &mut Option<(u64, u64)>,
        records: &[Record],
    ) -> Result<(), SpoolError> {
        if let Some(large) = records
            .iter()
            .map(|record| record.bytes().len())
            .find(|&bytes| bytes > RECORD_BYTES_MAX)
        {
            return Err(SpoolError::RecordTooLarge(large));
        }
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.write(&mut bytes));
        let (held, last) = self
            .sizes
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .read(&self.folder)
            .map_err(|error| self.disk("listing it", error))?;
        let wanted = bytes.len() as u64;
        if held.saturating_add(wanted) > self.options.bytes_max {
            return Err(SpoolError::Full {
                folder: self.folder.clone(),
                held,
                max: self.options.bytes_max,
                wanted,
            });
        }
        let failed = |error| self.disk("writing", error);
        let (number, at) = self.place(last.as_ref(), *written).map_err(failed)?;
        let path = segment_path(&self.folder, number);
        let is_new = at == 0;
        let mut options = private::options();
        let mut file = private::open(options.append(true).create(true), &path).map_err(failed)?;
        if let Err(error) = file.write_all(&bytes) {
            // A frame that was cut off goes away with the next append. Whole ones stay: they may be delivered already, and
            // what is appended in their place would then be taken for delivered too.
            return Err(failed(error));
        }
        if self.options.sync {
            file.sync_data().map_err(failed)?;
            if is_new {
                sync_folder(&self.folder).map_err(failed)?;
            }
        } else {
            let mut unsynced = self
                .unsynced
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            unsynced.insert(number);
        }
        *written = Some((number, at + wanted));
        Ok(())
    }

    /// The segment to append to and its sound length; what a crash cut off behind that is removed.
    fn place(&self, last: Option<&Segment>, written: Option<(u64, u64)>) -> io::Result<(u64, u64)> {
        let Some(last) = last else {
            return Ok((self.first_number()?, 0));
        };
        let sound = if written == Some((last.number, last.bytes)) {
            last.bytes
        } else {
            let path = segment_path(&self.folder, last.number);
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
            // From the start: most frames are small and come with one read.
            let sound = frame::sound_end(
                &mut BufReader::with_capacity(64 * 1024, &file),
                0,
                last.bytes,
            )?;
            if sound < last.bytes {
                file.set_len(sound)?;
            }
            sound
        };
        Ok(if sound > SEGMENT_BYTES_MAX {
            (last.number + 1, 0)
        } else {
            (last.number, sound)
        })
    }

    /// The number of the first segment of a spool that has none: behind every one that was delivered.
    fn first_number(&self) -> io::Result<u64> {
        Ok(drain::read_position(&self.folder)?.map_or(1, |position| position.segment + 1))
    }

    fn unlock(&self) -> Result<(), SpoolError> {
        self.lock
            .unlock()
            .map_err(|error| self.disk("unlocking", error))
    }

    fn disk(&self, what: &'static str, error: io::Error) -> SpoolError {
        disk(&self.folder, what, error)
    }
}

fn disk(folder: &Path, what: &'static str, error: io::Error) -> SpoolError {
    SpoolError::Disk {
        folder: folder.to_owned(),
        what,
        error,
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = private::options();
    private::open(options.write(true).create(true).truncate(false), path)
}

/// A file's name is on disk only once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _: &Path = folder;
    Ok(())
}
