//! How a ledger is opened.

use std::path::PathBuf;

use remembrancer_schema::Origin;

use crate::limits::Limits;
use crate::metrics::LedgerMetrics;
use crate::store::LedgerLocation;
use crate::witnesses::WitnessAddress;

/// How a ledger is opened for writing.
#[derive(Debug, Clone)]
pub struct LedgerOptions {
    /// Where it is. Made, with a key, if there is none.
    pub location: LedgerLocation,
    /// Name of a new ledger; `remembrancer.local/` and eight digits of the key's fingerprint unless given. For a ledger that
    /// exists it must be the one that it has.
    pub origin: Option<Origin>,
    /// A file outside the data directory that keeps a copy of the newest checkpoint; a ledger that is older than it is
    /// refused.
    pub anchor: Option<PathBuf>,
    /// Most requests that wait for the sequencer.
    pub queue_requests_max: usize,
    /// Most bytes of events and blobs that wait for the sequencer.
    pub queue_bytes_max: usize,
    /// Events after which one transaction takes no further request.
    pub group_events_max: usize,
    /// Bytes after which one transaction takes no further request.
    pub group_bytes_max: usize,
    /// Largest blob that is kept in the database; larger ones go to the blob store.
    pub blob_inline_bytes_max: usize,
    /// Who is asked to sign each new checkpoint.
    pub witnesses: Vec<WitnessAddress>,
    /// How many of them have to sign a checkpoint before readers get it.
    pub witnesses_required: usize,
    /// What is counted of it.
    pub metrics: LedgerMetrics,
}

impl LedgerOptions {
    /// The defaults for a place.
    pub fn new(location: impl Into<LedgerLocation>) -> Self {
        let limits = Limits::default();
        Self {
            location: location.into(),
            origin: None,
            anchor: None,
            queue_requests_max: limits.queue_requests_max,
            queue_bytes_max: limits.queue_bytes_max,
            group_events_max: limits.group_events_max,
            group_bytes_max: limits.group_bytes_max,
            blob_inline_bytes_max: limits.blob_inline_bytes_max,
            witnesses: Vec::new(),
            witnesses_required: 0,
            metrics: LedgerMetrics::default(),
        }
    }

    /// The same with the limits of a server.
    pub fn with_limits(self, limits: &Limits) -> Self {
        Self {
            queue_requests_max: limits.queue_requests_max,
            queue_bytes_max: limits.queue_bytes_max,
            group_events_max: limits.group_events_max,
            group_bytes_max: limits.group_bytes_max,
            blob_inline_bytes_max: limits.blob_inline_bytes_max,
            ..self
        }
    }
}
