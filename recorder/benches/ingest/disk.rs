//! The disk alone: one record after the other, each with its own flush.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::Measured;

const RECORD_BYTES: usize = 1024;
const RECORDS: usize = 3_000;

/// Appends records one by one, with one `fdatasync` each.
pub(crate) fn append_one_by_one() -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::create(folder.path().join("records")).unwrap();
    let record = vec![b'r'; RECORD_BYTES];
    let started = Instant::now();
    let times = (0..RECORDS)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&record).unwrap();
            file.sync_data().unwrap();
            started.elapsed()
        })
        .collect();
    Measured::of(times, started.elapsed(), Duration::ZERO)
}
