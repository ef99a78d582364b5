//! Analyses that were computed already, kept while there is room.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remembrancer_replay::{Analysis, SessionRecord, bytes_held};
use remembrancer_schema::{EntryHash, Origin, SessionId};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::error::LedgerError;
use crate::reader::Reader;
use crate::session::SessionSummary;

/// Most analyses that are kept.
const KEPT_MAX: usize = 64;
/// Most memory that the kept analyses may take together, in bytes.
const KEPT_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Sessions that are analysed at a time: each takes a core and the memory of a whole record.
const RUNNING_MAX: usize = 2;

/// An analysis that ended without a result.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the analysis of session {session} did not finish: {reason}")]
pub struct AnalysisFailed {
    /// The session.
    pub session: SessionId,
    /// Why.
    pub reason: String,
}

/// A bounded cache of analyses of any ledgers, by ledger, session and hash of its last entry: a session that grows gets a
/// new one. Concurrent requests for the same one wait for one computation.
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

/// An entry's hash follows from its ledger and session already; they are here so that nobody has to rely on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    ledger: Origin,
    session: SessionId,
    head: EntryHash,
}

impl Key {
    fn new(ledger: &Origin, session: &SessionSummary) -> Self {
        Self {
            ledger: ledger.clone(),
            session: session.id.clone(),
            head: session.head,
        }
    }
}

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
    /// The analysis of a session of a ledger as it stands at the summary's head.
    pub async fn of(
        &self,
        reader: &Reader,
        session: &SessionSummary,
    ) -> Result<Arc<Analysis>, LedgerError> {
        let record = reader.record_of(session);
        self.get(
            reader.origin(),
            session,
            record,
            remembrancer_replay::analyse,
        )
        .await
    }

    /// The same from any record of the session. `record` is read, and `analyse` called off the async threads, if it is not
    /// kept.
    pub async fn get<E: From<AnalysisFailed>>(
        &self,
        ledger: &Origin,
        session: &SessionSummary,
        record: impl Future<Output = Result<SessionRecord, E>>,
        analyse: impl FnOnce(&SessionRecord) -> Analysis + Send + 'static,
    ) -> Result<Arc<Analysis>, E> {
        let key = Key::new(ledger, session);
        let cell = self.cell(&key);
        let computed = cell
            .get_or_try_init(|| self.compute(&session.id, record, analyse))
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
    pub fn kept(&self, ledger: &Origin, session: &SessionSummary) -> Option<Arc<Analysis>> {
        let mut kept = self.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let slot = kept.slots.get_mut(&Key::new(ledger, session))?;
        let analysis = slot.cell.get()?.clone();
        slot.last_use = uses;
        Some(analysis)
    }

    /// Waits for leave to do heavy work on the record of a session. It lasts as long as what is returned.
    pub async fn turn(&self, session: &SessionId) -> Result<OwnedSemaphorePermit, AnalysisFailed> {
        let turn = self.running.clone().acquire_owned().await;
        turn.map_err(|error| AnalysisFailed {
            session: session.clone(),
            reason: error.to_string(),
        })
    }

    async fn compute<E: From<AnalysisFailed>>(
        &self,
        session: &SessionId,
        record: impl Future<Output = Result<SessionRecord, E>>,
        analyse: impl FnOnce(&SessionRecord) -> Analysis + Send + 'static,
    ) -> Result<Arc<Analysis>, E> {
        let turn = self.turn(session).await?;
        let record = record.await?;
        // The turn goes along: the work goes on even when nobody waits for it any more.
        let analysis = tokio::task::spawn_blocking(move || {
            let analysis = Arc::new(analyse(&record));
            drop(turn);
            analysis
        });
        analysis.await.map_err(|error| {
            E::from(AnalysisFailed {
                session: session.clone(),
                reason: error.to_string(),
            })
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
