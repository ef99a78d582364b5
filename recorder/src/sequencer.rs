//! The one task that writes: takes what waits, puts it in order, commits it as one group, and only then answers.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, OnceLock};

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::{ContentHash, Origin, SessionId};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::clock;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::group::{self, Group};
use crate::incoming::{Outcome, SaltedEvent};
use crate::session::SessionSummary;
use crate::tree::Edge;

/// Most events that one transaction takes.
const GROUP_EVENTS_MAX: usize = 4096;
/// Bytes after which a transaction takes no further request.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Sessions whose last state is kept in memory.
const SESSIONS_KEPT_MAX: usize = 10_000;

/// What a caller waits for.
type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// A request to the sequencer.
pub(crate) struct Request {
    pub(crate) work: Work,
    pub(crate) bytes: usize,
    /// Its share of the queue's bytes, given back when it is answered.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// What is asked.
pub(crate) enum Work {
    Append {
        events: Vec<SaltedEvent>,
        reply: Reply<Vec<Outcome>>,
    },
    StoreBlob {
        hash: ContentHash,
        bytes: bytes::Bytes,
        reply: Reply<bool>,
    },
}

/// Why a group was not committed.
enum GroupError {
    /// Nothing of it is stored; the next group may be tried.
    NotStored(LedgerError),
    /// Nobody knows whether it is stored. Writing on from a guess is how a chain forks, so the sequencer stops; opening
    /// the ledger again reads what is there.
    Unknown(LedgerError),
}

/// The answers of a group, in the order of its requests.
enum Answer {
    Appended(Vec<Outcome>),
    BlobStored(bool),
}

/// The sequencer's state. `connection`, `edge` and `sessions` belong to its task alone.
pub(crate) struct Sequencer {
    pub(crate) connection: SqliteConnection,
    pub(crate) edge: Edge,
    pub(crate) sessions: HashMap<SessionId, SessionSummary>,
    pub(crate) origin: Origin,
    pub(crate) key: Arc<LedgerKey>,
    /// Set when it stops in doubt: why.
    pub(crate) stopped: Arc<OnceLock<String>>,
    /// Where the copy of the newest checkpoint is kept.
    pub(crate) folder: DataDir,
    /// Held as long as this ledger is written.
    pub(crate) lock: File,
    #[cfg(test)]
    pub(crate) fault: Arc<std::sync::Mutex<Option<Fault>>>,
}

/// A failure that a test asks for at the next commit.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The database refuses before the commit.
    BeforeCommit,
    /// The commit fails and nothing is stored.
    CommitLost,
    /// The commit is done, but its answer is lost.
    CommitDoneAnswerLost,
    /// The sequencer panics.
    Panic,
}

impl Sequencer {
    /// Runs until every sender is gone or a commit's result is unknown.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(first) = queue.recv().await {
            let requests = collect(first, &mut queue);
            match self.commit(&requests).await {
                Ok(answers) => answer(requests, answers),
                Err(GroupError::NotStored(error)) => {
                    tracing::warn!(%error, "a group was not stored");
                    refuse(requests, || LedgerError::NotStored(error.to_string()));
                }
                Err(GroupError::Unknown(error)) => {
                    let reason = error.to_string();
                    tracing::error!(
                        error = reason,
                        "the result of a commit is unknown; writing stops"
                    );
                    let reason = self.stopped.get_or_init(|| reason).clone();
                    refuse(requests, || LedgerError::Stopped(reason.clone()));
                    queue.close();
                    while let Some(request) = queue.recv().await {
                        refuse(vec![request], || LedgerError::Stopped(reason.clone()));
                    }
                    break;
                }
            }
        }
        // Readers may still be open, and a read-only connection cannot empty the WAL when it closes as the last one: done
        // here, so that the database file alone is the whole ledger once its server has stopped.
        if let Err(error) = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut self.connection)
            .await
        {
            tracing::debug!(%error, "emptying the write-ahead log");
        }
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "closing the ledger's database");
        }
        drop(self.lock);
    }

    /// Commits one group. In order, with what a crash right after each step leaves:
    async fn commit(&mut self, requests: &[Request]) -> Result<Vec<Answer>, GroupError> {
        #[cfg(test)]
        let fault = self.fault.lock().expect("no test panics with it").take();

        #[cfg(test)]
        assert_ne!(fault, Some(Fault::Panic), "a test's panic");

        // 1. The write lock is taken. Crash: nothing.
        let mut transaction = self
            .connection
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(|error| GroupError::NotStored(error.into()))?;

        // 2. Every request is decided and written in order, against what is committed and what stands before it in the
        //    group; memory changes in copies. Crash: the transaction is in the WAL without a commit record, and the next
        //    open ignores it: nothing is stored, nothing was acknowledged.
        let mut group = Group::new(
            &self.origin,
            &self.sessions,
            self.edge.clone(),
            clock::now(),
        );
        let mut note = None;
        let written = async {
            let answers = decide(&mut group, &mut transaction, requests).await?;
            group.write(&mut transaction).await?;
            // 3. The checkpoint of the new size, in the same transaction: entries never stand without a signed root, and
            //    the primary key refuses a second root for a size. Crash: as in 2; a signed note that nobody ever saw.
            if group.has_entries() {
                let checkpoint = Checkpoint {
                    origin: self.origin.clone(),
                    size: group.edge.size(),
                    root: group.edge.root(),
                };
                let signed = note.insert(checkpoint.sign(&self.key));
                group::store_checkpoint(&mut transaction, &checkpoint, signed).await?;
            }
            #[cfg(test)]
            if fault == Some(Fault::BeforeCommit) {
                return Err(LedgerError::Damaged("a test's fault".to_owned()));
            }
            Ok(answers)
        }
        .await;
        let (edge, sessions) = (group.edge, group.changed);
        let answers = match written {
            Ok(answers) => answers,
            Err(error) => {
                return Err(match transaction.rollback().await {
                    Ok(()) => GroupError::NotStored(error),
                    Err(rollback) => GroupError::Unknown(rollback.into()),
                });
            }
        };

        // 4. Commit: returns after the WAL's fsync. Crash: all of the group or nothing of it is stored; no client has an
        //    answer, and a client that sends again gets `duplicate` or `recorded`.
        #[cfg(test)]
        if fault == Some(Fault::CommitLost) {
            transaction.rollback().await.expect("rolls back");
            return Err(GroupError::Unknown(sqlx::Error::WorkerCrashed.into()));
        }
        transaction
            .commit()
            .await
            .map_err(|error| GroupError::Unknown(error.into()))?;
        #[cfg(test)]
        if fault == Some(Fault::CommitDoneAnswerLost) {
            return Err(GroupError::Unknown(sqlx::Error::WorkerCrashed.into()));
        }

        // 5. Memory follows the disk. Crash: as after 4, all of it stored.
        self.edge = edge;
        if self.sessions.len() + sessions.len() > SESSIONS_KEPT_MAX {
            self.sessions.clear();
        }
        self.sessions.extend(sessions);

        // 6. The copy of the checkpoint beside the database, not synced. Crash: it is one group behind. A copy that cannot
        //    be written is no reason to deny what is stored.
        if let Some(note) = note
            && let Err(error) = self.folder.write_checkpoint_copy(&note)
        {
            tracing::warn!(%error, "the copy of the newest checkpoint is out of date");
        }
        Ok(answers)
    }
}

/// Takes what waits behind the first request, up to a group's limits.
fn collect(first: Request, queue: &mut mpsc::Receiver<Request>) -> Vec<Request> {
    let mut events = first.events();
    let mut bytes = first.bytes;
    let mut requests = vec![first];
    while events < GROUP_EVENTS_MAX && bytes < GROUP_BYTES_MAX {
        let Ok(request) = queue.try_recv() else { break };
        events += request.events();
        bytes += request.bytes;
        requests.push(request);
    }
    requests
}

async fn decide(
    group: &mut Group<'_>,
    connection: &mut SqliteConnection,
    requests: &[Request],
) -> Result<Vec<Answer>, LedgerError> {
    let events = requests.iter().flat_map(|request| match &request.work {
        Work::Append { events, .. } => events.as_slice(),
        Work::StoreBlob { .. } => &[],
    });
    group.look_up(connection, events).await?;
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        answers.push(match &request.work {
            Work::Append { events, .. } => {
                let mut outcomes = Vec::with_capacity(events.len());
                for event in events {
                    outcomes.push(group.decide(connection, event).await?);
                }
                Answer::Appended(outcomes)
            }
            Work::StoreBlob { hash, bytes, .. } => {
                Answer::BlobStored(group.store_blob(connection, hash, bytes).await?)
            }
        });
    }
    Ok(answers)
}

/// Answers each request. A client that is gone meanwhile gets no answer; its events are stored all the same.
fn answer(requests: Vec<Request>, answers: Vec<Answer>) {
    for (request, answer) in requests.into_iter().zip(answers) {
        let gone = match (request.work, answer) {
            (Work::Append { reply, .. }, Answer::Appended(outcomes)) => {
                reply.send(Ok(outcomes)).is_err()
            }
            (Work::StoreBlob { reply, .. }, Answer::BlobStored(is_new)) => {
                reply.send(Ok(is_new)).is_err()
            }
            _ => unreachable!("answers stand in the order of their requests"),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
        drop(request.permit);
    }
}

fn refuse(requests: Vec<Request>, error: impl Fn() -> LedgerError) {
    for request in requests {
        let gone = match request.work {
            Work::Append { reply, .. } => reply.send(Err(error())).is_err(),
            Work::StoreBlob { reply, .. } => reply.send(Err(error())).is_err(),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
        drop(request.permit);
    }
}

impl Request {
    fn events(&self) -> usize {
        match &self.work {
            Work::Append { events, .. } => events.len(),
            Work::StoreBlob { .. } => 1,
        }
    }
}
