//! Sessions whose records arrive over many requests: what an intake has to know of the earlier ones.
//!
//! It is kept in memory for the sessions that were written to last, and read from the ledger's own entries where it is not: after
//! a restart, or where somebody else wrote to the session meanwhile. A request that fails leaves nothing behind here, so that
//! what is kept never runs ahead of the ledger.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::try_join_all;
use remembrancer_capture::{SessionWriter, Written};
use remembrancer_recorder::{
    Behind, IntakeRequest, LedgerError, Outcome, OwnedEvent, Rejection, SessionSummary,
    WorkspaceName,
};
use remembrancer_replay::SessionRecord;
use remembrancer_schema::payload::Witness;
use remembrancer_schema::{EventId, SessionId};
use tokio::sync::OwnedMutexGuard;

/// Sessions that are kept at the same time.
const SESSIONS_MAX: usize = 1024;
/// Bytes that all of them may hold together, as they say themselves.
const BYTES_MAX: usize = 128 * 1024 * 1024;
/// Blobs that are stored at the same time: each waits for a commit.
const BLOBS_AT_ONCE: usize = 32;

/// What an intake knows of one session.
pub(crate) trait ForeignSession: Send + 'static {
    /// Of a session without entries.
    fn new(session: SessionId) -> Self;
    /// Takes note of entries: all of them, or those behind the ones that it knows.
    fn learn(&mut self, record: &SessionRecord);
    /// What was written since this was called last.
    fn take(&mut self) -> Written;
    /// Bytes that it holds, roughly.
    fn bytes(&self) -> usize;
}

impl ForeignSession for SessionWriter {
    fn new(session: SessionId) -> Self {
        Self::new(session, None, Witness::Claimed)
    }

    fn learn(&mut self, record: &SessionRecord) {
        self.learn(record);
    }

    fn take(&mut self) -> Written {
        self.take()
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

type Key = (WorkspaceName, SessionId);

/// What is kept of one session, for one request at a time. Empty while a request has it, and after one that failed.
type Slot<S> = Arc<tokio::sync::Mutex<Option<Known<S>>>>;

struct Known<S> {
    state: S,
    /// The entries that it speaks for; `None` for a session without any.
    behind: Option<Behind>,
}

struct Kept<S> {
    slot: Slot<S>,
    /// When it was used last, as a count of uses.
    used: u64,
    bytes: usize,
}

struct All<S> {
    kept: HashMap<Key, Kept<S>>,
    uses: u64,
    bytes: usize,
}

/// What is known of the sessions that were written to last.
pub(crate) struct Sessions<S> {
    all: Mutex<All<S>>,
    sessions_max: usize,
    bytes_max: usize,
}

/// A session that one request works on; others wait until it is appended or dropped.
pub(crate) struct Open<S> {
    sessions: Arc<Sessions<S>>,
    key: Key,
    place: OwnedMutexGuard<Option<Known<S>>>,
    known: Known<S>,
}

impl<S: ForeignSession> Sessions<S> {
    pub(crate) fn new() -> Self {
        Self::within(SESSIONS_MAX, BYTES_MAX)
    }

    fn within(sessions_max: usize, bytes_max: usize) -> Self {
        Self {
            all: Mutex::new(All {
                kept: HashMap::new(),
                uses: 0,
                bytes: 0,
            }),
            sessions_max,
            bytes_max,
        }
    }

    /// Opens a session of the request's workspace, as its entries are now.
    pub(crate) async fn open(
        self: &Arc<Self>,
        request: &IntakeRequest,
        session: &SessionId,
    ) -> Result<Open<S>, LedgerError> {
        let key = (request.workspace().clone(), session.clone());
        let mut place = self.slot(&key).lock_owned().await;
        let reader = request.reader();
        let kept = place.take();
        let summary = reader.session(session).await?;
        let known = match (kept, summary) {
            (_, None) => Known {
                state: S::new(session.clone()),
                behind: None,
            },
            (Some(mut known), Some(summary)) if known.is_before(&summary) => {
                if let Some(behind) = known.behind
                    && behind.entries < summary.entries
                {
                    known
                        .state
                        .learn(&reader.record_behind(behind, &summary).await?);
                    known.behind = Some(all_of(&summary));
                }
                known
            }
            (_, Some(summary)) => {
                let mut state = S::new(session.clone());
                state.learn(&reader.record_of(&summary).await?);
                Known {
                    state,
                    behind: Some(all_of(&summary)),
                }
            }
        };
        Ok(Open {
            sessions: Arc::clone(self),
            key,
            place,
            known,
        })
    }

    fn slot(&self, key: &Key) -> Slot<S> {
        let mut all = self.all();
        all.uses += 1;
        let used = all.uses;
        if let Some(kept) = all.kept.get_mut(key) {
            kept.used = used;
            return Arc::clone(&kept.slot);
        }
        let slot = Slot::default();
        let kept = Kept {
            slot: Arc::clone(&slot),
            used,
            bytes: 0,
        };
        all.kept.insert(key.clone(), kept);
        slot
    }

    /// Notes what a session holds now, and forgets those that were used longest ago while there is too much.
    fn weigh(&self, key: &Key, bytes: usize) {
        let mut all = self.all();
        if let Some(kept) = all.kept.get_mut(key) {
            let before = std::mem::replace(&mut kept.bytes, bytes);
            all.bytes = all.bytes - before + bytes;
        }
        while all.kept.len() > self.sessions_max || all.bytes > self.bytes_max {
            // One that a request has is not forgotten: two would number its turns.
            let idle = all
                .kept
                .iter()
                .filter(|(_, kept)| Arc::strong_count(&kept.slot) == 1);
            let oldest = idle.min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            let forgotten = all.kept.remove(&oldest).map_or(0, |kept| kept.bytes);
            all.bytes -= forgotten;
        }
    }

    fn all(&self) -> MutexGuard<'_, All<S>> {
        // No code panics while it holds the lock.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: ForeignSession> Known<S> {
    /// Whether a session, as its row is, goes on from the entries that this speaks for.
    fn is_before(&self, summary: &SessionSummary) -> bool {
        self.behind.is_some_and(|behind| {
            behind.entries < summary.entries
                || (behind.entries == summary.entries && behind.head == summary.head)
        })
    }
}

fn all_of(summary: &SessionSummary) -> Behind {
    Behind {
        entries: summary.entries,
        head: summary.head,
    }
}

impl<S: ForeignSession> Open<S> {
    /// What is known of the session: events are written through it.
    pub(crate) fn state(&mut self) -> &mut S {
        &mut self.known.state
    }

    /// Gives the session back as it was opened: nothing was written.
    pub(crate) fn close(mut self) {
        let bytes = self.known.state.bytes();
        *self.place = Some(self.known);
        drop(self.place);
        self.sessions.weigh(&self.key, bytes);
    }

    /// Appends what was written and waits until it is durable. Returns the events that the ledger refused by themselves.
    pub(crate) async fn append(
        self,
        request: &IntakeRequest,
    ) -> Result<Vec<(EventId, Rejection)>, LedgerError> {
        let Self {
            sessions,
            key,
            mut place,
            mut known,
        } = self;
        let Written { events, blobs } = known.state.take();
        let blobs: Vec<Bytes> = blobs.into_values().map(Bytes::from).collect();
        for some in blobs.chunks(BLOBS_AT_ONCE) {
            try_join_all(some.iter().map(|blob| request.store_blob(blob.clone()))).await?;
        }
        let ids: Vec<EventId> = events.iter().map(|event| event.id.clone()).collect();
        let events = events.into_iter().map(|event| {
            OwnedEvent::parse(Bytes::from(event.bytes)).expect("the writer checked each event")
        });
        let outcomes = request.append(events.collect()).await?;
        known.advance(&outcomes);
        let refused = ids.into_iter().zip(outcomes);
        let refused: Vec<(EventId, Rejection)> = refused
            .filter_map(|(id, outcome)| match outcome {
                Outcome::Rejected(rejection) => Some((id, rejection)),
                _ => None,
            })
            .collect();
        // The writer holds what was refused to be written: the session is read anew when it is opened next.
        let mut bytes = 0;
        if refused.is_empty() {
            bytes = known.state.bytes();
            *place = Some(known);
        }
        drop(place);
        sessions.weigh(&key, bytes);
        Ok(refused)
    }
}

impl<S> Known<S> {
    /// Moves on behind entries that were appended. Where others wrote between them, it stays behind at the last one that it
    /// knows, so that the session is read from there on when it is opened next.
    fn advance(&mut self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            let Outcome::Recorded { sequence, hash, .. } = outcome else {
                continue;
            };
            if *sequence != self.behind.map_or(0, |behind| behind.entries) {
                return;
            }
            self.behind = Some(Behind {
                entries: sequence + 1,
                head: *hash,
            });
        }
    }
}

#[cfg(test)]
mod tests;
