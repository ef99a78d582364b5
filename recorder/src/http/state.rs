//! What every handler works on.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::intake::{Intake, Mounted};
use super::observe::MetricsAccess;
use super::rates::Rates;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::reader::Reader;
use crate::session::SessionSummary;
use crate::workspaces::Workspaces;

/// Makes a session's bundle. The program passes it in, since a bundle holds a page that this crate cannot render.
pub type BundleMaker = Arc<
    dyn Fn(
            Reader,
            SessionSummary,
        ) -> BoxFuture<'static, Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Sync,
>;

impl Limits {
    pub(crate) fn upload_time(&self) -> Duration {
        Duration::from_secs(self.upload_seconds_max)
    }
}

/// What every handler works on, beside the ledger of its request's workspace. Cheap to clone: each request does it.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

/// What the clones of a state share.
#[derive(Clone)]
pub struct Shared {
    pub(crate) workspaces: Workspaces,
    pub(crate) limits: Arc<Limits>,
    pub(crate) uploads: Arc<Semaphore>,
    pub(crate) bundles: Option<BundleMaker>,
    pub(crate) intakes: Vec<Mounted>,
    pub(crate) metrics: Metrics,
    pub(crate) metrics_access: MetricsAccess,
    pub(crate) rates: Arc<Rates>,
}

impl Deref for ApiState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl ApiState {
    /// The API of the ledgers of a server.
    pub fn new(workspaces: impl Into<Workspaces>, bundles: BundleMaker) -> Self {
        let mut state = Self::without_bundles(workspaces);
        Arc::make_mut(&mut state.0).bundles = Some(bundles);
        state
    }

    /// The same where nothing can make bundles.
    pub fn without_bundles(workspaces: impl Into<Workspaces>) -> Self {
        let shared = Shared {
            workspaces: workspaces.into(),
            limits: Arc::default(),
            uploads: Arc::new(Semaphore::new(0)),
            bundles: None,
            intakes: Vec::new(),
            metrics: Metrics::default(),
            metrics_access: MetricsAccess::Key,
            rates: Arc::new(Rates::new(0, 0)),
        };
        Self(Arc::new(shared)).with_limits(Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        let shared = Arc::make_mut(&mut self.0);
        shared.uploads = Arc::new(Semaphore::new(limits.uploads_max));
        shared.rates = Arc::new(Rates::new(
            limits.key_requests_per_second_max,
            limits.key_requests_burst_max,
        ));
        shared.limits = Arc::new(limits);
        self
    }

    /// The same with a route that takes in what other programs send: `POST` at `path`, which must be none of the API's own.
    pub fn with_intake(mut self, path: &'static str, intake: Arc<dyn Intake>) -> Self {
        let shared = Arc::make_mut(&mut self.0);
        shared.intakes.push(Mounted { path, intake });
        self
    }

    /// The same with the counters that `/metrics` shows, and who may see them.
    pub fn with_metrics(mut self, metrics: Metrics, access: MetricsAccess) -> Self {
        let shared = Arc::make_mut(&mut self.0);
        shared.metrics = metrics;
        shared.metrics_access = access;
        self
    }
}
