//! Delivery: what a spool holds goes to a recorder, in order, as soon as one takes it.
//!
//! Nothing is taken out of the spool before the recorder has answered for it. While none answers, delivery waits, longer each
//! time, up to [`PAUSE_MAX`]. An event that a recorder refuses for good is kept in `rejected.ndjson` beside the segments and
//! counted as a gap of its session, so that the others go on; a gap is told as an event `custom.gap` in its session.

mod http;
mod own_event;
mod rejected;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use remembrancer_schema::{ContentHash, SessionId};
use serde::Deserialize;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::spool::{Batch, Drainer, Gap, Record, Spool, SpoolError};

use own_event::{gap_count, gap_event, start_event};

pub use http::{HttpRecorder, HttpRecorderError};

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
    /// It is refused for good; the problem's name says why.
    Rejected(String),
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
    /// The request as a whole is refused, and would be again; fewer events at once may be taken.
    #[error("the recorder refuses it: {0}")]
    Refused(String),
}

/// Where events go.
#[async_trait::async_trait]
pub trait Recorder: Send + Sync {
    /// Stores blobs before the events that name them.
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<(), DeliveryError>;
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

/// What of an event delivery looks at.
#[derive(Deserialize)]
struct Envelope {
    session: SessionId,
    r#type: String,
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
        let outcome = self.deliver(&batch, &gaps).await;
        if outcome.is_ok() {
            drainer = tokio::task::spawn_blocking(move || {
                let noted = drainer
                    .delivered(&batch)
                    .and_then(|()| match gaps.is_empty() {
                        true => Ok(()),
                        false => drainer.gaps_told(&gaps),
                    });
                (noted, drainer)
            })
            .await
            .map_err(|error| StepError::Task(error.to_string()))
            .and_then(|(noted, drainer)| noted.map(|()| drainer).map_err(StepError::from))?;
        }
        *kept = Some(drainer);
        outcome
    }

    async fn deliver(&self, batch: &Batch, gaps: &[Gap]) -> Result<bool, StepError> {
        let blobs = batch.records.iter().filter_map(|record| match record {
            Record::Blob(bytes) => Some(bytes.as_slice()),
            Record::Event(_) => None,
        });
        let blobs: Vec<&[u8]> = blobs.collect();
        if !blobs.is_empty() {
            self.recorder.store_blobs(&blobs).await?;
        }
        let events = batch.records.iter().filter_map(|record| match record {
            Record::Event(bytes) => Some(bytes.as_slice()),
            Record::Blob(_) => None,
        });
        let events: Vec<&[u8]> = events.collect();
        self.append_all(&events).await?;
        // Behind the events, so that the sessions are there.
        let told: Vec<Vec<u8>> = gaps.iter().map(gap_event).collect();
        self.append_all(&told.iter().map(Vec::as_slice).collect::<Vec<_>>())
            .await?;
        if batch.damaged > 0 {
            tracing::warn!(
                count = batch.damaged,
                "records in the spool were damaged and are lost"
            );
            let session = session(GAPS_SESSION);
            let count = batch.damaged;
            blocking(&self.spool, move |spool| {
                spool.note_gap(&session, count, "damaged on disk")
            })
            .await?;
        }
        Ok(!batch.is_empty() || !gaps.is_empty())
    }

    /// Appends events, and looks at what became of them.
    async fn append_all(&self, events: &[&[u8]]) -> Result<(), StepError> {
        let outcomes = self.outcomes(events).await?;
        self.look_at(events, outcomes).await
    }

    /// Appends events, as many at once as the recorder takes; one outcome each, in order.
    async fn outcomes(&self, events: &[&[u8]]) -> Result<Vec<Taken>, StepError> {
        let mut outcomes = Vec::with_capacity(events.len());
        let mut waiting = vec![events];
        while let Some(some) = waiting.pop() {
            if some.is_empty() {
                continue;
            }
            match self.recorder.append(some).await {
                Ok(taken) => outcomes.extend(taken),
                Err(DeliveryError::Refused(_)) if some.len() > 1 => {
                    let (first, rest) = some.split_at(some.len() / 2);
                    waiting.extend([rest, first]);
                }
                Err(DeliveryError::Refused(reason)) => outcomes.push(Taken::Rejected(reason)),
                Err(later) => return Err(later.into()),
            }
        }
        Ok(outcomes)
    }

    /// Looks at what became of events; those of sessions whose first event is lost are sent again behind one that is made up.
    async fn look_at(&self, events: &[&[u8]], outcomes: Vec<Taken>) -> Result<(), StepError> {
        let mut orphans: Vec<&[u8]> = Vec::new();
        for (event, outcome) in events.iter().zip(outcomes) {
            match outcome {
                Taken::Recorded => {}
                Taken::Rejected(problem) if problem == "unknown-session" => orphans.push(event),
                Taken::Rejected(problem) => self.refused(event, &problem).await?,
            }
        }
        if orphans.is_empty() {
            return Ok(());
        }
        let mut starts: Vec<Vec<u8>> = Vec::new();
        for event in &orphans {
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(event) {
                let start = start_event(&envelope.session);
                if !starts.contains(&start) {
                    starts.push(start);
                }
            }
        }
        let again: Vec<&[u8]> = starts
            .iter()
            .map(Vec::as_slice)
            .chain(orphans.iter().copied())
            .collect();
        // One more than a whole batch may be too many at once.
        let outcomes = self.outcomes(&again).await?;
        for (event, outcome) in again.iter().zip(outcomes) {
            if let Taken::Rejected(problem) = outcome {
                self.refused(event, &problem).await?;
            }
        }
        Ok(())
    }

    async fn refused(&self, event: &[u8], problem: &str) -> Result<(), StepError> {
        let is_start = serde_json::from_slice::<Envelope>(event)
            .is_ok_and(|envelope| envelope.r#type == "session.started");
        // Somebody else began the session, or this program did before.
        if is_start && matches!(problem, "session-already-started" | "id-conflict") {
            return Ok(());
        }
        self.give_up(event, problem).await
    }

    /// Keeps an event that no recorder will take where people find it, and counts it.
    async fn give_up(&self, event: &[u8], problem: &str) -> Result<(), StepError> {
        let envelope = serde_json::from_slice::<Envelope>(event).ok();
        let kind = envelope
            .as_ref()
            .map_or("unreadable", |envelope| envelope.r#type.as_str());
        tracing::warn!(
            problem,
            kind,
            "the recorder refuses an event; it is kept in rejected.ndjson beside the spool"
        );
        let mut count = 1;
        let gaps = session(GAPS_SESSION);
        let is_gap = kind == "custom.gap";
        if is_gap {
            count = gap_count(event);
        }
        let session = envelope.map_or_else(|| gaps.clone(), |envelope| envelope.session);
        let line = rejected::line(problem, event);
        let reason = format!("the recorder refused it: {problem}");
        blocking(&self.spool, move |spool| {
            rejected::keep(spool.folder(), &line)?;
            match is_gap {
                false => spool.note_gap(&session, count, &reason),
                // A session that ended takes none: it is told beside the sessions.
                true if session != gaps => {
                    spool.note_gap(&gaps, count, &format!("of session {session}: {reason}"))
                }
                // A gap that cannot be told anywhere would be counted for ever.
                true => Ok(()),
            }
        })
        .await
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
    session(GAPS_SESSION)
}

fn session(name: &str) -> SessionId {
    name.parse().expect("a constant that is an id")
}

/// Hash of a blob, as its address.
fn blob_hash(bytes: &[u8]) -> ContentHash {
    ContentHash::of(bytes)
}
