//! What a server counts about itself, in the text format that Prometheus reads. Labels have few values, and none of them
//! comes from a request's text.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::clock;
use crate::http::Slug;
use crate::incoming::Outcome;

/// Media type of the text.
pub(crate) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;
/// Name of the workspace that a ledger outside of any belongs to.
const WORKSPACE_DEFAULT: &str = "default";

/// Upper ends of the classes of a request's time, in seconds.
const REQUEST_SECONDS: [f64; 11] = [
    0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0,
];

type Labels<const N: usize> = [(&'static str, String); N];
type Seconds = Gauge<f64, AtomicU64>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// The counters of a server. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    requests: Family<Labels<3>, Counter>,
    request_seconds: Histograms<1>,
    refused: Family<Labels<1>, Counter>,
    connections: Gauge,
    queue_requests: Family<Labels<1>, Gauge>,
    queue_bytes: Family<Labels<1>, Gauge>,
    group_events: Histograms<1>,
    commit_seconds: Histograms<1>,
    commits_failed: Family<Labels<2>, Counter>,
    events: Family<Labels<2>, Counter>,
    rejected: Family<Labels<2>, Counter>,
    ledger_entries: Family<Labels<1>, Gauge>,
    checkpoint_entries: Family<Labels<1>, Gauge>,
    checkpoint_age: Family<Labels<1>, Seconds>,
    ledgers: Mutex<Vec<LedgerMetrics>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Counters that stand at nothing.
    pub fn new() -> Self {
        let group_sizes: fn() -> Histogram = || Histogram::new(exponential_buckets(1.0, 4.0, 8));
        let commits: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        let requests: fn() -> Histogram = || Histogram::new(REQUEST_SECONDS);
        let mut inner = Inner {
            registry: Registry::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(requests),
            refused: Family::default(),
            connections: Gauge::default(),
            queue_requests: Family::default(),
            queue_bytes: Family::default(),
            group_events: Family::new_with_constructor(group_sizes),
            commit_seconds: Family::new_with_constructor(commits),
            commits_failed: Family::default(),
            events: Family::default(),
            rejected: Family::default(),
            ledger_entries: Family::default(),
            checkpoint_entries: Family::default(),
            checkpoint_age: Family::default(),
            ledgers: Mutex::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }

    /// The counters of one workspace's ledger.
    pub fn ledger(&self, workspace: &str) -> LedgerMetrics {
        let inner = &self.0;
        let label = || [("workspace", workspace.to_owned())];
        let outcome = |outcome: &str| {
            let labels = [
                ("workspace", workspace.to_owned()),
                ("outcome", outcome.to_owned()),
            ];
            inner.events.get_or_create_owned(&labels)
        };
        let ledger = LedgerMetrics(Arc::new(LedgerInner {
            workspace: workspace.to_owned(),
            queue_requests: inner.queue_requests.get_or_create_owned(&label()),
            queue_bytes: inner.queue_bytes.get_or_create_owned(&label()),
            group_events: inner.group_events.get_or_create_owned(&label()),
            commit_seconds: inner.commit_seconds.get_or_create_owned(&label()),
            commits_failed: inner.commits_failed.clone(),
            recorded: outcome("recorded"),
            duplicate: outcome("duplicate"),
            rejected: inner.rejected.clone(),
            ledger_entries: inner.ledger_entries.get_or_create_owned(&label()),
            checkpoint_entries: inner.checkpoint_entries.get_or_create_owned(&label()),
            checkpoint_age: inner.checkpoint_age.get_or_create_owned(&label()),
            checkpoint_at: AtomicI64::new(0),
        }));
        if let Ok(mut ledgers) = inner.ledgers.lock() {
            ledgers.retain(|known| known.0.workspace != workspace);
            ledgers.push(ledger.clone());
        }
        ledger
    }

    /// A connection is open until what this returns is dropped.
    pub fn connection_opened(&self) -> OpenConnection {
        self.0.connections.inc();
        OpenConnection(self.0.connections.clone())
    }

    /// A request was refused because the server cannot take it at the moment.
    pub fn refused(&self, kind: Slug) {
        let labels = [("problem", kind.as_str().to_owned())];
        self.0.refused.get_or_create(&labels).inc();
    }

    /// A request was answered. `route` is a template, never an address. Without a status, its client left before.
    pub(crate) fn request(&self, method: &str, route: &str, status: Option<u16>, took: Duration) {
        let status = status.map_or("none".to_owned(), |status| status.to_string());
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", status),
        ];
        self.0.requests.get_or_create(&labels).inc();
        let labels = [("route", route.to_owned())];
        let seconds = self.0.request_seconds.get_or_create(&labels);
        seconds.observe(took.as_secs_f64());
    }

    /// Everything as text.
    pub fn text(&self) -> String {
        if let Ok(ledgers) = self.0.ledgers.lock() {
            ledgers.iter().for_each(LedgerMetrics::age);
        }
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.0.registry)
            .expect("writing to a string does not fail");
        text
    }
}

impl Inner {
    fn register(&mut self) {
        let started: Seconds = Gauge::default();
        started.set(clock::moment().as_duration().as_secs_f64());
        let registry = &mut self.registry;
        registry.register(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
            started,
        );
        let ours = registry.sub_registry_with_prefix("remembrancer");
        ours.register(
            "http_requests",
            "Requests answered, by route template",
            self.requests.clone(),
        );
        ours.register(
            "http_request_seconds",
            "Time from a request's head to its answer",
            self.request_seconds.clone(),
        );
        ours.register(
            "refused",
            "Requests and connections refused with 429 or 503, by problem",
            self.refused.clone(),
        );
        ours.register("connections", "Open connections", self.connections.clone());
        ours.register(
            "queue_requests",
            "Requests that wait for a ledger's sequencer or are being committed",
            self.queue_requests.clone(),
        );
        ours.register(
            "queue_bytes",
            "Bytes of those requests",
            self.queue_bytes.clone(),
        );
        ours.register(
            "group_events",
            "Events of one commit",
            self.group_events.clone(),
        );
        ours.register(
            "commit_seconds",
            "Time to decide, write and commit a group",
            self.commit_seconds.clone(),
        );
        ours.register(
            "commits_failed",
            "Groups that were not stored, or of which that is unknown",
            self.commits_failed.clone(),
        );
        ours.register("events", "Events taken, by outcome", self.events.clone());
        ours.register(
            "events_rejected",
            "Events not taken, by problem",
            self.rejected.clone(),
        );
        ours.register(
            "ledger_entries",
            "Entries of a ledger",
            self.ledger_entries.clone(),
        );
        ours.register(
            "checkpoint_entries",
            "Entries that the newest checkpoint covers",
            self.checkpoint_entries.clone(),
        );
        ours.register(
            "checkpoint_age_seconds",
            "Time since the newest checkpoint was signed",
            self.checkpoint_age.clone(),
        );
    }
}

/// Keeps a connection counted as open.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The counters of one ledger. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct LedgerMetrics(Arc<LedgerInner>);

struct LedgerInner {
    workspace: String,
    queue_requests: Gauge,
    queue_bytes: Gauge,
    group_events: Histogram,
    commit_seconds: Histogram,
    commits_failed: Family<Labels<2>, Counter>,
    recorded: Counter,
    duplicate: Counter,
    rejected: Family<Labels<2>, Counter>,
    ledger_entries: Gauge,
    checkpoint_entries: Gauge,
    checkpoint_age: Seconds,
    /// When the newest checkpoint was signed, in milliseconds since 1970; 0 if there is none.
    checkpoint_at: AtomicI64,
}

impl fmt::Debug for LedgerMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LedgerMetrics({})", self.0.workspace)
    }
}

impl Default for LedgerMetrics {
    /// Counters of their own, that no server shows.
    fn default() -> Self {
        Metrics::new().ledger(WORKSPACE_DEFAULT)
    }
}

impl LedgerMetrics {
    /// A request waits for the sequencer, until what this returns is dropped: when it is answered.
    pub(crate) fn queued(&self, bytes: usize) -> QueuePlace {
        let bytes = whole(bytes);
        self.0.queue_requests.inc();
        self.0.queue_bytes.inc_by(bytes);
        QueuePlace {
            ledger: self.clone(),
            bytes,
        }
    }

    /// A group is stored: what became of its events, and how long that took.
    pub(crate) fn group_committed<'a>(
        &self,
        outcomes: impl Iterator<Item = &'a Outcome>,
        took: Duration,
    ) {
        let (mut recorded, mut duplicate, mut all) = (0, 0, 0_u32);
        for outcome in outcomes {
            all += 1;
            match outcome {
                Outcome::Recorded { .. } => recorded += 1,
                Outcome::Duplicate { .. } => duplicate += 1,
                Outcome::Rejected(rejection) => {
                    self.rejected(rejection.into());
                }
            }
        }
        self.0.recorded.inc_by(recorded);
        self.0.duplicate.inc_by(duplicate);
        self.0.group_events.observe(f64::from(all));
        self.0.commit_seconds.observe(took.as_secs_f64());
    }

    /// A group was not committed; `is_known` says whether nothing of it is stored for certain.
    pub(crate) fn group_failed(&self, is_known: bool) {
        let result = if is_known { "not_stored" } else { "unknown" };
        let labels = [
            ("workspace", self.0.workspace.clone()),
            ("result", result.to_owned()),
        ];
        self.0.commits_failed.get_or_create(&labels).inc();
    }

    /// An event was refused.
    pub(crate) fn rejected(&self, kind: Slug) {
        let labels = [
            ("workspace", self.0.workspace.clone()),
            ("problem", kind.as_str().to_owned()),
        ];
        self.0.rejected.get_or_create(&labels).inc();
    }

    /// The newest checkpoint covers `entries`, which are all that are stored, and was signed then.
    pub(crate) fn checkpoint(&self, entries: u64, signed: Timestamp) {
        let entries = i64::try_from(entries).unwrap_or(i64::MAX);
        self.0.ledger_entries.set(entries);
        self.0.checkpoint_entries.set(entries);
        let at = signed.as_millisecond();
        self.0.checkpoint_at.store(at, Ordering::Relaxed);
    }

    fn age(&self) {
        let signed = self.0.checkpoint_at.load(Ordering::Relaxed);
        if signed > 0 {
            let age = clock::moment().as_millisecond().saturating_sub(signed);
            let age = u64::try_from(age).unwrap_or(0);
            self.0
                .checkpoint_age
                .set(Duration::from_millis(age).as_secs_f64());
        }
    }
}

/// Keeps a request counted as waiting.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    ledger: LedgerMetrics,
    bytes: i64,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.ledger.0.queue_requests.dec();
        self.ledger.0.queue_bytes.dec_by(self.bytes);
    }
}

fn whole(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
