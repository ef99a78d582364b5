//! What waits in the spool, for people who ask.

use remembrancer_capture::spool::{Spool, SpoolOptions};
use serde::Serialize;

use super::place::Place;
use crate::failure::Failure;

/// Most records that are counted.
const RECORDS_MAX: usize = 10_000;
/// Most bytes that are read to count them.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// What waits in the spool.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Backlog {
    /// Events and blobs that wait; `None` while somebody sends.
    pub(crate) records: Option<usize>,
    /// There are more than were counted.
    pub(crate) has_more: bool,
    /// Records that were lost and are not told yet.
    pub(crate) lost: u64,
    /// Why the last of them was lost.
    pub(crate) loss: Option<String>,
}

impl Backlog {
    /// Looks into the spool, and changes nothing.
    pub(crate) fn look(place: &Place) -> Result<Self, Failure> {
        if !place.spool.exists() {
            return Ok(Self {
                records: Some(0),
                ..Self::default()
            });
        }
        let spool = Spool::open(&place.spool, SpoolOptions::default())?;
        let Some(mut drainer) = spool.drainer()? else {
            return Ok(Self::default());
        };
        let gaps = drainer.gaps()?;
        let batch = drainer.next(RECORDS_MAX + 1, BYTES_MAX)?;
        let bytes: usize = batch
            .records
            .iter()
            .map(|record| record.bytes().len())
            .sum();
        Ok(Self {
            records: Some(batch.records.len().min(RECORDS_MAX)),
            has_more: batch.records.len() > RECORDS_MAX || bytes >= BYTES_MAX / 2,
            lost: gaps.iter().map(|gap| gap.count).sum(),
            loss: gaps.into_iter().next_back().map(|gap| gap.reason),
        })
    }
}
