//! What every handler works on, and the limits that it keeps.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use remembrancer_schema::limits::{EVENT_BLOBS_MAX, EVENT_BYTES_MAX, JSON_DEPTH_MAX};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::analyses::Analyses;
use crate::ledger::{BLOB_BYTES_MAX, Ledger};
use crate::reader::{PAGE_ITEMS_MAX, Reader};
use crate::session::SessionSummary;

/// Makes a session's bundle. The program passes it in, since a bundle holds a page that this crate cannot render.
pub type BundleMaker = Arc<
    dyn Fn(
            Reader,
            SessionSummary,
        ) -> BoxFuture<'static, Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Sync,
>;

/// Limits of the API, as `/v1/limits` prints them.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Limits {
    /// Largest event, in bytes.
    pub event_bytes_max: usize,
    /// Most blobs that one event names.
    pub event_blobs_max: usize,
    /// Deepest nesting of an event.
    pub event_depth_max: usize,
    /// Largest body of `POST /v1/events`, unpacked, in bytes.
    pub batch_bytes_max: usize,
    /// Most events in one `POST /v1/events`.
    pub batch_events_max: usize,
    /// Largest blob, unpacked, in bytes.
    pub blob_bytes_max: usize,
    /// Most items on a page.
    pub page_items_max: u32,
    /// Requests with a body that are worked on at the same time, from its first byte to the answer; further ones are
    /// answered 429.
    pub uploads_max: usize,
    /// Longest time that a body may take to arrive, in seconds.
    pub upload_seconds_max: u64,
    /// Longest time that an answer may take, in seconds.
    pub request_seconds_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            event_bytes_max: EVENT_BYTES_MAX,
            event_blobs_max: EVENT_BLOBS_MAX,
            event_depth_max: JSON_DEPTH_MAX,
            batch_bytes_max: 8 * 1024 * 1024,
            batch_events_max: 5000,
            blob_bytes_max: BLOB_BYTES_MAX,
            page_items_max: PAGE_ITEMS_MAX,
            uploads_max: 64,
            upload_seconds_max: 30,
            request_seconds_max: 120,
        }
    }
}

impl Limits {
    pub(crate) fn upload_time(&self) -> Duration {
        Duration::from_secs(self.upload_seconds_max)
    }
}

/// What every handler works on.
#[derive(Clone)]
pub struct ApiState {
    pub(crate) ledger: Ledger,
    pub(crate) limits: Arc<Limits>,
    pub(crate) uploads: Arc<Semaphore>,
    pub(crate) analyses: Arc<Analyses>,
    pub(crate) bundles: Option<BundleMaker>,
}

impl ApiState {
    /// The API of a ledger.
    pub fn new(ledger: Ledger, bundles: BundleMaker) -> Self {
        Self {
            bundles: Some(bundles),
            ..Self::without_bundles(ledger)
        }
    }

    /// The API of a ledger, where nothing can make bundles.
    pub fn without_bundles(ledger: Ledger) -> Self {
        Self {
            ledger,
            limits: Arc::default(),
            uploads: Arc::new(Semaphore::new(0)),
            analyses: Arc::default(),
            bundles: None,
        }
        .with_limits(Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.uploads = Arc::new(Semaphore::new(limits.uploads_max));
        self.limits = Arc::new(limits);
        self
    }

    pub(crate) fn reader(&self) -> &Reader {
        self.ledger.reader()
    }
}
