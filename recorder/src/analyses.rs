//! Analyses that were computed already, kept while there is room. An open session keeps what it takes to go on from there, so
//! that whoever looks again pays for the new entries alone.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remembrancer_replay::{Analyser, Analysis, SessionRecord, bytes_held};
use remembrancer_schema::{EntryHash, Origin, SessionId};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::error::LedgerError;
use crate::reader::{Behind, Reader};
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

/// A bounded cache of analyses of any ledgers, by ledger, session and hash of its last entry. That of a session that grows is
/// brought up to date and takes the place of the one before. Concurrent requests for the same one wait for one computation.
pub struct Analyses {
    kept: Arc<Mutex<Kept>>,
    running: Arc<Semaphore>,
}

impl Default for Analyses {
    fn default() -> Self {
        Self {
            kept: Arc::default(),
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
    /// What goes on from here when the session grows; its analysis is the one of the cell.
    analyser: Option<Box<Analyser>>,
    bytes: usize,
    last_use: u64,
}

impl Slot {
    /// The state that its analyser goes on from.
    fn state(&self) -> Option<Behind> {
        let analyser = self.analyser.as_ref()?;
        Some(Behind {
            entries: analyser.entries(),
            head: analyser.head()?,
        })
    }
}

impl Analyses {
    /// The analysis of a session of a ledger as it stands at the summary's head. Where an earlier state of the session is
    /// kept, only the entries since then are read and analysed.
    pub async fn of(
        &self,
        reader: &Reader,
        session: &SessionSummary,
    ) -> Result<Arc<Analysis>, LedgerError> {
        let key = Key::new(reader.origin(), session);
        let cell = self.cell(&key);
        let computed = cell
            .get_or_try_init(|| self.follow(reader, session, &key))
            .await;
        if computed.is_err() {
            self.forget(&key);
        }
        computed.cloned()
    }

    /// The analysis of any record of a session, made whole. `record` is read, and `analyse` called off the async threads, if it is not
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

    /// Brings the newest kept state of a session up to its summary, or starts from its first entry.
    async fn follow(
        &self,
        reader: &Reader,
        session: &SessionSummary,
        key: &Key,
    ) -> Result<Arc<Analysis>, LedgerError> {
        let turn = self.turn(&session.id).await?;
        let known = self.lock().newest_state(key, session.entries);
        let (analyser, record) = match known {
            None => (None, None),
            // The state is taken only once nothing is waited for: a request that is given up here leaves it where it is.
            Some((state, known)) => match reader.record_behind(known, session).await {
                Ok(record) => match self.lock().take_analyser(&state, known) {
                    Some(analyser) => (Some(analyser), Some(record)),
                    None => (None, None),
                },
                // What does not go on from the known state is read whole: that tells what is wrong, and where.
                Err(error) => {
                    tracing::debug!(%error, "an analysis cannot go on and starts anew");
                    self.lock().slots.remove(&state);
                    (None, None)
                }
            },
        };
        let record = match record {
            Some(record) => record,
            None => reader.record_of(session).await?,
        };
        let (kept, key, is_open) = (Arc::clone(&self.kept), key.clone(), !session.sealed);
        // The turn goes along, and the work ends where it is kept: it goes on even when nobody waits for it any more.
        let work = tokio::task::spawn_blocking(move || {
            let mut analyser = analyser.unwrap_or_else(|| Box::new(Analyser::new(&record.session)));
            analyser.extend(&record.events, &record.blobs);
            drop(record);
            let analysis = Arc::clone(analyser.analysis());
            let bytes = analyser.bytes_held();
            // Nothing follows the end of a session.
            let analyser = Some(analyser).filter(|_| is_open);
            let bytes = analyser
                .as_ref()
                .map_or_else(|| bytes_held(&analysis), |_| bytes);
            lock(&kept).settle(&key, analyser, bytes);
            drop(turn);
            analysis
        });
        work.await.map_err(|error| {
            LedgerError::from(AnalysisFailed {
                session: session.id.clone(),
                reason: error.to_string(),
            })
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
        lock(&self.kept)
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

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    /// The newest state of a session from which its analysis can go on, up to a number of entries.
    fn newest_state(&self, wanted: &Key, entries: u64) -> Option<(Key, Behind)> {
        self.slots
            .iter()
            .filter(|(key, _)| {
                key.ledger == wanted.ledger && key.session == wanted.session && **key != *wanted
            })
            .filter_map(|(key, slot)| Some((key.clone(), slot.state()?)))
            .filter(|(_, known)| known.entries <= entries)
            .max_by_key(|(_, known)| known.entries)
    }

    /// Takes what goes on from a state, if it still stands there; its place goes to the state that follows.
    fn take_analyser(&mut self, key: &Key, known: Behind) -> Option<Box<Analyser>> {
        self.slots
            .get(key)?
            .state()
            .filter(|state| *state == known)?;
        self.slots.remove(key)?.analyser
    }

    /// Keeps what an analysis goes on with, if its place is still there.
    fn settle(&mut self, key: &Key, analyser: Option<Box<Analyser>>, bytes: usize) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.analyser = analyser;
            slot.bytes = bytes;
        }
        self.evict();
    }

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
