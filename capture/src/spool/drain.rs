//! The reading side of a spool.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use super::frame::{self, Found};
use super::segment::{Segment, segment_path, segments};
use super::{Gap, GapFile, Record, SpoolError, disk, lock_file};
use crate::private;
use serde::{Deserialize, Serialize};

/// The place up to which everything was delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) segment: u64,
    pub(super) at: u64,
}

const POSITION: &str = "delivered";

/// The delivered place of the spool in a folder; none if nothing was delivered yet.
pub(super) fn read_position(folder: &Path) -> io::Result<Option<Position>> {
    match fs::read(folder.join(POSITION)) {
        // One that cannot be read makes everything be delivered again, which a recorder notices.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Records in order, to be delivered and then given back to [`Drainer::delivered`].
#[derive(Debug, Default)]
pub struct Batch {
    /// The records.
    pub records: Vec<Record>,
    /// Frames that were passed over because they are damaged.
    pub damaged: u64,
    end: Option<Position>,
}

impl Batch {
    /// Whether there is nothing to deliver and nothing to pass over.
    pub fn is_empty(&self) -> bool {
        self.end.is_none()
    }
}

/// Reads a spool in order. There is one at a time for a folder.
#[derive(Debug)]
pub struct Drainer {
    folder: PathBuf,
    /// Held as long as this lives.
    _lock: File,
    append: File,
    gaps: GapFile,
    position: Position,
}

impl Drainer {
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, SpoolError> {
        let failed = |what| move |error| disk(folder, what, error);
        let lock = lock_file(&folder.join("drain.lock")).map_err(failed("opening its lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(error)) => return Err(disk(folder, "locking", error)),
        }
        let position = read_position(folder).map_err(failed("reading the delivered place"))?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            _lock: lock,
            append: lock_file(&folder.join("append.lock")).map_err(failed("opening its lock"))?,
            gaps: GapFile::open(&folder.join("gaps")).map_err(failed("opening its gaps"))?,
            position: position.unwrap_or_default(),
        }))
    }

    /// The next records: at least one if there is any, and no more than fit into both limits.
    pub fn next(&mut self, records_max: usize, bytes_max: usize) -> Result<Batch, SpoolError> {
        self.read(records_max, bytes_max)
            .map_err(|error| disk(&self.folder, "reading", error))
    }

    /// Notes that a batch was delivered: it is not given out again, and segments that are done are removed.
    pub fn delivered(&mut self, batch: &Batch) -> Result<(), SpoolError> {
        let Some(end) = batch.end else { return Ok(()) };
        let failed = |error| disk(&self.folder, "noting what was delivered", error);
        let bytes = serde_json::to_vec(&end).map_err(|error| failed(error.into()))?;
        let path = self.folder.join(POSITION);
        let new = self.folder.join("delivered.new");
        let mut options = private::options();
        private::open(options.write(true).create(true).truncate(true), &new)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(failed)?;
        self.position = end;
        self.remove_done().map_err(failed)
    }

    /// What was lost before it was spooled.
    pub fn gaps(&self) -> Result<Vec<Gap>, SpoolError> {
        self.gaps
            .read()
            .map_err(|error| disk(&self.folder, "reading its gaps", error))
    }

    /// Takes gaps out of the count that a recorder now knows.
    pub fn gaps_told(&self, told: &[Gap]) -> Result<(), SpoolError> {
        let failed = |error| disk(&self.folder, "noting told gaps", error);
        self.append.lock().map_err(failed)?;
        let outcome = self.gaps.subtract(told);
        self.append.unlock().map_err(failed)?;
        outcome.map_err(failed)
    }

    fn read(&mut self, records_max: usize, bytes_max: usize) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let mut bytes = 0;
        let all = segments(&self.folder)?;
        let waiting = all.iter().filter(|one| one.number >= self.position.segment);
        for (index, segment) in waiting.clone().enumerate() {
            let is_last = index + 1 == waiting.clone().count();
            let start = if segment.number == self.position.segment {
                self.position.at
            } else {
                0
            };
            if self.read_segment(
                segment,
                start,
                is_last,
                &mut batch,
                &mut bytes,
                (records_max, bytes_max),
            )? {
                break;
            }
        }
        Ok(batch)
    }

    /// Reads on in a segment; `true` if the batch is full.
    fn read_segment(
        &self,
        segment: &Segment,
        mut at: u64,
        is_last: bool,
        batch: &mut Batch,
        bytes: &mut usize,
        (records_max, bytes_max): (usize, usize),
    ) -> io::Result<bool> {
        let place = |at| {
            Some(Position {
                segment: segment.number,
                at,
            })
        };
        let mut file = BufReader::new(File::open(segment_path(&self.folder, segment.number))?);
        loop {
            match frame::read_at(&mut file, at, segment.bytes)? {
                Found::Record(record, behind) => {
                    let length = record.bytes().len();
                    let is_over = batch.records.len() >= records_max || *bytes + length > bytes_max;
                    if is_over && !batch.records.is_empty() {
                        return Ok(true);
                    }
                    *bytes += length;
                    batch.records.push(record);
                    at = behind;
                    batch.end = place(at);
                }
                Found::Damaged(behind) => {
                    batch.damaged += 1;
                    at = behind;
                    batch.end = place(at);
                }
                Found::End => return Ok(false),
                Found::Torn => match frame::next_sound(&mut file, at, segment.bytes)? {
                    Some(next) => {
                        batch.damaged += 1;
                        at = next;
                        batch.end = place(at);
                    }
                    // The last one is still written to; in any other nothing can follow what a crash cut off.
                    None if is_last => return Ok(false),
                    None => {
                        batch.damaged += 1;
                        batch.end = place(segment.bytes);
                        return Ok(false);
                    }
                },
            }
        }
    }

    /// Removes the segments before the delivered place, and the one at it if it is at its end and full.
    fn remove_done(&self) -> io::Result<()> {
        for segment in segments(&self.folder)? {
            let is_before = segment.number < self.position.segment;
            let is_here = segment.number == self.position.segment;
            if is_before {
                fs::remove_file(segment_path(&self.folder, segment.number))?;
            } else if is_here && self.position.at >= segment.bytes {
                self.remove_current(segment.number)?;
            }
        }
        Ok(())
    }

    /// Removes the segment at the delivered place unless somebody appended to it meanwhile.
    fn remove_current(&self, number: u64) -> io::Result<()> {
        self.append.lock()?;
        let path = segment_path(&self.folder, number);
        let outcome = match fs::metadata(&path) {
            Ok(metadata) if metadata.len() <= self.position.at => fs::remove_file(&path),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        self.append.unlock()?;
        outcome
    }
}
