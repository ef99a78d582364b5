//! Analyses that were computed already, kept while there is room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remembrancer_recorder::SessionSummary;
use remembrancer_replay::Analysis;
use remembrancer_schema::{EntryHash, SessionId};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::source::{Source, SourceError};
use crate::weight::bytes_held;

/// Most analyses that are kept.
const KEPT_MAX: usize = 64;
/// Most memory that the kept analyses may take together, in bytes.
const KEPT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Sessions that are analysed at a time: each takes a core and the memory of a whole record.
const RUNNING_MAX: usize = 2;

/// A bounded cache of analyses, by session and hash of its last entry: a session that grows gets a new one. Concurrent
/// requests for the same one wait for one computation.
pub struct Analyses {
    kept: Mutex<Kept>,
    running: Arc<Semaphore>,
}

impl Default for Analyses {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            running: Arc::new(Semaphore::new(RUNNING_MAX)),
        }
    }
}

type Key = (SessionId, EntryHash);

#[derive(Default)]
struct Kept {
    slots: HashMap<Key, Slot>,
    uses: u64,
}

#[derive(Default)]
struct Slot {
    cell: Arc<OnceCell<Arc<Analysis>>>,
    bytes: usize,
    last_use: u64,
}

impl Analyses {
    /// The analysis of a session as it stands at `summary.head`.
    pub async fn get(
        &self,
        source: &Arc<dyn Source>,
        summary: &SessionSummary,
    ) -> Result<Arc<Analysis>, SourceError> {
        let key = (summary.id.clone(), summary.head);
        let cell = self.cell(&key);
        let computed = cell
            .get_or_try_init(|| self.compute(source, &summary.id))
            .await;
        let analysis = match computed {
            Ok(analysis) => analysis.clone(),
            Err(error) => {
                self.forget(&key);
                return Err(error);
            }
        };
        self.weigh(&key, bytes_held(&analysis));
        Ok(analysis)
    }

    /// The analysis of a session if it was computed already.
    pub(crate) fn kept(&self, summary: &SessionSummary) -> Option<Arc<Analysis>> {
        let mut kept = self.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let slot = kept.slots.get_mut(&(summary.id.clone(), summary.head))?;
        let analysis = slot.cell.get()?.clone();
        slot.last_use = uses;
        Some(analysis)
    }

    /// Waits for leave to do heavy work on the record of a session. It lasts as long as what is returned.
    pub(crate) async fn turn(
        &self,
        session: &SessionId,
    ) -> Result<OwnedSemaphorePermit, SourceError> {
        let turn = self.running.clone().acquire_owned().await;
        turn.map_err(|error| SourceError::Analysis {
            session: session.clone(),
            reason: error.to_string(),
        })
    }

    async fn compute(
        &self,
        source: &Arc<dyn Source>,
        session: &SessionId,
    ) -> Result<Arc<Analysis>, SourceError> {
        let turn = self.turn(session).await?;
        let record = source.record(session).await?;
        let source = source.clone();
        // The turn goes along: the work goes on even when nobody waits for it any more.
        let analysis = tokio::task::spawn_blocking(move || {
            let analysis = Arc::new(source.analyse(&record));
            drop(turn);
            analysis
        });
        analysis.await.map_err(|error| SourceError::Analysis {
            session: session.clone(),
            reason: error.to_string(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the place of an analysis that failed, unless another request has computed it since.
    fn forget(&self, key: &Key) {
        let mut kept = self.lock();
        if kept
            .slots
            .get(key)
            .is_some_and(|slot| !slot.cell.initialized())
        {
            kept.slots.remove(key);
        }
    }

    fn cell(&self, key: &Key) -> Arc<OnceCell<Arc<Analysis>>> {
        let mut kept = self.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let slot = kept.slots.entry(key.clone()).or_default();
        slot.last_use = uses;
        slot.cell.clone()
    }

    fn weigh(&self, key: &Key, bytes: usize) {
        let mut kept = self.lock();
        if let Some(slot) = kept.slots.get_mut(key) {
            slot.bytes = bytes;
        }
        kept.evict();
    }
}

impl Kept {
    /// Drops the least recently used until both limits hold. One analysis is always kept, however large.
    fn evict(&mut self) {
        while self.slots.len() > 1
            && (self.slots.len() > KEPT_MAX
                || self.slots.values().map(|slot| slot.bytes).sum::<usize>() > KEPT_BYTES_MAX)
        {
            let oldest = self
                .slots
                .iter()
                .min_by_key(|(_, slot)| slot.last_use)
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.slots.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
