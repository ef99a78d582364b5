//! Delivery: what a spool holds goes to a recorder, in order, as soon as one takes it.
//!
//! Nothing is taken out of the spool before the recorder has answered for it. While none answers, delivery waits, longer each
//! time, up to [`PAUSE_MAX`]. An event that a recorder refuses for good is kept in `rejected.ndjson` beside the segments and
//! counted as a gap of its session, so that the others go on; a gap is told as an event `custom.gap` in its session.

mod api;
mod handover;
mod http;
mod own_event;
mod rejected;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use remembrancer_schema::SessionId;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::spool::{Drainer, Spool, SpoolError};

pub use api::{ANSWER_BYTES_MAX, Answer, ApiRecorder, Method, Transport};
pub use handover::{HandedOver, hand_over};
pub use http::{HttpRecorder, HttpRecorderError, HttpTransport};

/// Most records that are delivered at once, and most bytes of them.
const BATCH_RECORDS_MAX: usize = 1000;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How often the spool is looked at for what other processes appended.
const POLL: Duration = Duration::from_secs(1);
/// First pause after a recorder did not answer; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(250);
/// Longest pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Session of gaps that belong to no known session.
const GAPS_SESSION: &str = "spool.gaps";

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is recorded, now or before.
    Recorded,
    /// It is refused for good.
    Rejected(Rejection),
}

/// Why a recorder takes something never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The name of the problem.
    pub problem: String,
    /// What else the recorder says of it; may be empty.
    pub detail: String,
}

impl Rejection {
    /// A problem of which the name says everything.
    pub fn named(problem: &str) -> Self {
        Self {
            problem: problem.to_owned(),
            detail: String::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.as_str() {
            "" => f.write_str(&self.problem),
            detail => write!(f, "{}: {detail}", self.problem),
        }
    }
}

/// Why nothing was delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// It may go later.
    #[error("{reason}")]
    Later {
        /// How long the recorder asks to wait.
        after: Option<Duration>,
        /// Why.
        reason: String,
    },
    /// Somebody is there and did not answer in time.
    #[error("{0}")]
    Slow(String),
    /// The request as a whole is refused, and would be again; fewer events at once may be taken.
    #[error("the recorder refuses it: {0}")]
    Refused(Rejection),
}

/// An error that may be over later.
fn later(after: Option<Duration>, reason: impl ToString) -> DeliveryError {
    DeliveryError::Later {
        after,
        reason: reason.to_string(),
    }
}

/// Where events go.
#[async_trait::async_trait]
pub trait Recorder: Send + Sync {
    /// Stores blobs before the events that name them; how many of them it has now.
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError>;
    /// Appends events; one outcome each, in order.
    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError>;
}

/// Delivers a spool until it is told to stop.
pub struct Delivery {
    /// The spool.
    pub spool: Arc<Spool>,
    /// Where it goes.
    pub recorder: Arc<dyn Recorder>,
    /// Told when something was appended, so that it goes at once.
    pub appended: Arc<Notify>,
}

impl Delivery {
    /// Delivers until `stop` says so; then once more what waits, as long as the recorder takes it.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut pause = Pause::default();
        let mut drainer = None;
        loop {
            let is_stopping = *stop.borrow();
            let waits = match self.step(&mut drainer).await {
                Ok(true) => {
                    pause.over();
                    continue;
                }
                Ok(false) if is_stopping => return,
                Ok(false) => {
                    pause.over();
                    POLL
                }
                Err(error) if is_stopping => {
                    tracing::warn!(%error, "stopping with events in the spool; they follow when it is started again");
                    return;
                }
                Err(error) => pause.next(&error),
            };
            let is_idle = pause.is_over();
            tokio::select! {
                () = sleep(waits) => {}
                () = self.appended.notified(), if is_idle => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Delivers one batch; `false` if nothing waits, or if another process drains the spool.
    async fn step(&self, kept: &mut Option<Drainer>) -> Result<bool, StepError> {
        let mut drainer = match kept.take() {
            Some(drainer) => drainer,
            None => match blocking(&self.spool, |spool| spool.drainer()).await? {
                Some(drainer) => drainer,
                None => return Ok(false),
            },
        };
        let (read, mut drainer) = tokio::task::spawn_blocking(move || {
            let batch = drainer.next(BATCH_RECORDS_MAX, BATCH_BYTES_MAX);
            let gaps = drainer.gaps();
            (
                batch.and_then(|batch| gaps.map(|gaps| (batch, gaps))),
                drainer,
            )
        })
        .await
        .map_err(|error| StepError::Task(error.to_string()))?;
        let (batch, gaps) = read?;
        let is_more = !batch.is_empty() || !gaps.is_empty();
        let handed = match hand_over(self.recorder.as_ref(), &batch, &gaps).await {
            Ok(handed) => handed,
            Err(error) => {
                *kept = Some(drainer);
                return Err(error.into());
            }
        };
        let drainer = blocking(&self.spool, move |spool| {
            handed.settle(spool, &mut drainer, &batch, &gaps)?;
            Ok(drainer)
        })
        .await?;
        *kept = Some(drainer);
        Ok(is_more)
    }
}

async fn blocking<T: Send + 'static>(
    spool: &Arc<Spool>,
    work: impl FnOnce(&Spool) -> Result<T, SpoolError> + Send + 'static,
) -> Result<T, StepError> {
    let spool = Arc::clone(spool);
    let done = tokio::task::spawn_blocking(move || work(&spool)).await;
    done.map_err(|error| StepError::Task(error.to_string()))?
        .map_err(StepError::from)
}

#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error("a task ended badly: {0}")]
    Task(String),
}

/// Waits longer each time, and says so once.
#[derive(Debug, Default)]
struct Pause {
    current: Option<Duration>,
    since: Option<Instant>,
}

impl Pause {
    fn next(&mut self, error: &StepError) -> Duration {
        if self.since.is_none() {
            self.since = Some(Instant::now());
            tracing::warn!(%error, "events stay in the spool until the recorder takes them");
        }
        let doubled = self
            .current
            .map_or(PAUSE_MIN, |current| (current * 2).min(PAUSE_MAX));
        self.current = Some(doubled);
        let asked = match error {
            StepError::Delivery(DeliveryError::Later { after, .. }) => *after,
            _ => None,
        };
        asked.map_or(doubled, |asked| asked.clamp(PAUSE_MIN, PAUSE_MAX))
    }

    fn over(&mut self) {
        if let Some(since) = self.since.take() {
            tracing::info!(
                seconds = since.elapsed().as_secs(),
                "the recorder takes events again"
            );
        }
        self.current = None;
    }

    fn is_over(&self) -> bool {
        self.current.is_none()
    }
}

/// Waits until a spool is empty, not longer than a bound; `false` if it is not.
pub async fn drained(spool: &Arc<Spool>, bound: Duration) -> bool {
    let empty = async {
        while !blocking(spool, |spool| spool.is_empty())
            .await
            .unwrap_or(false)
        {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(bound, empty).await.is_ok()
}

/// Session of gaps that belong to no known session.
pub(crate) fn gaps_session() -> SessionId {
    GAPS_SESSION.parse().expect("a constant that is an id")
}
