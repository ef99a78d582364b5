//! The one task that writes: takes what waits, puts it in order, commits it as one group, and only then answers.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use remembrancer_schema::SessionId;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::LedgerKey;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::checkpoint_copy::CheckpointCopies;
use crate::clock;
use crate::error::LedgerError;
use crate::group::Group;
use crate::ledger::Opening;
use crate::metrics::LedgerMetrics;
use crate::session::SessionSummary;
use crate::store::{NewCheckpoint, Writer};
use crate::tree::Edge;

pub(crate) use acts::ActsDue;
use deciding::decide;
use request::{Answer, answer, collect, refuse};
pub(crate) use request::{Request, Work};
pub(crate) use standing::Standing;

/// Sessions whose last state is kept in memory.
const SESSIONS_KEPT_MAX: usize = 10_000;
/// Time between two attempts to open the ledger again, at first and at most.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_LAST: Duration = Duration::from_secs(2);
/// Longest time that a group may take up to its commit.
const GROUP_TIME_MAX: Duration = Duration::from_secs(60);

/// How much one group takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLimits {
    /// Events after which a group takes no further request.
    pub(crate) events: usize,
    /// Bytes after which a group takes no further request.
    pub(crate) bytes: usize,
}

/// Why a group was not committed.
enum GroupError {
    /// Nothing of it is stored; the next group may be tried.
    NotStored(LedgerError),
    /// Nobody knows whether it is stored. Writing on from a guess is how a chain forks, so the connection is given up and
    /// the ledger opened again, which reads what is there.
    Unknown(LedgerError),
}

/// The sequencer's state. Everything here belongs to its task alone but `standing`, which others read.
pub(crate) struct Sequencer {
    pub(crate) opening: Opening,
    /// `None` while the ledger has to be opened again.
    pub(crate) writer: Option<Box<dyn Writer>>,
    pub(crate) edge: Edge,
    pub(crate) sessions: HashMap<SessionId, SessionSummary>,
    pub(crate) key: Arc<LedgerKey>,
    pub(crate) limits: GroupLimits,
    pub(crate) copies: CheckpointCopies,
    pub(crate) standing: Arc<Standing>,
    pub(crate) metrics: LedgerMetrics,
    /// Held as long as this ledger is written, where it is a file.
    pub(crate) lock: Option<File>,
    pub(crate) retry: Retry,
    pub(crate) acts: ActsDue,
    /// Groups that are stored and whose answers are on their way.
    pub(crate) answering: JoinSet<()>,
}

/// When the ledger is opened again.
pub(crate) struct Retry {
    at: Instant,
    pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            at: Instant::now(),
            pause: RETRY_FIRST,
        }
    }
}

impl Retry {
    fn failed(&mut self) {
        self.at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(RETRY_LAST);
    }
}

impl Sequencer {
    /// Runs until every sender is gone.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        loop {
            let first = match queue.try_recv() {
                Ok(first) => first,
                Err(mpsc::error::TryRecvError::Disconnected) => break,
                Err(mpsc::error::TryRecvError::Empty) => {
                    match tokio::time::timeout_at(self.next_duty(), queue.recv()).await {
                        Ok(Some(first)) => first,
                        Ok(None) => break,
                        Err(_) => {
                            self.do_duties().await;
                            continue;
                        }
                    }
                }
            };
            let requests = collect(first, &mut queue, self.limits);
            self.serve(requests).await;
            self.copies.write_due();
        }
        while self.answering.join_next().await.is_some() {}
        self.copies.write_all();
        if let Some(writer) = self.writer {
            writer.close().await;
        }
        drop(self.lock);
    }

    /// Commits a group and answers it, whatever comes of it.
    async fn serve(&mut self, requests: Vec<Request>) {
        if let Err(error) = self.open_again().await {
            let reason = error.to_string();
            return refuse(requests, || LedgerError::Stopped(reason.clone()));
        }
        let begun = Instant::now();
        match self.commit(&requests).await {
            Ok((answers, has_written)) => {
                if has_written {
                    self.standing.resume();
                }
                let outcomes = answers.iter().flat_map(Answer::outcomes);
                self.metrics.group_committed(outcomes, begun.elapsed());
                answer(requests, answers, &mut self.answering);
                // What was known already, or refused, shows nothing about writing; and where requests come without a pause
                // there is no other moment to look.
                if !has_written && self.standing.reason().is_some() {
                    self.look_whether_it_writes().await;
                }
            }
            Err(GroupError::NotStored(error)) => {
                let reason = error.to_string();
                tracing::warn!(error = reason, "a group was not stored");
                self.metrics.group_failed(true);
                self.standing.suspend(&reason);
                refuse(requests, || LedgerError::NotStored(reason.clone()));
            }
            Err(GroupError::Unknown(error)) => {
                let reason = error.to_string();
                tracing::error!(
                    error = reason,
                    "the result of a commit is unknown; the ledger is opened again"
                );
                self.metrics.group_failed(false);
                self.standing.suspend(&reason);
                refuse(requests, || LedgerError::InDoubt(reason.clone()));
            }
        }
    }

    /// Opens the ledger again if its connection was given up, by the way it is opened at the start. Attempts are spaced;
    /// between them the answer is the last one's error.
    async fn open_again(&mut self) -> Result<(), LedgerError> {
        if self.writer.is_some() {
            return Ok(());
        }
        if Instant::now() < self.retry.at {
            return Err(LedgerError::Stopped(
                self.standing.reason().unwrap_or_default(),
            ));
        }
        match self.opening.again(&self.edge).await {
            Ok((writer, edge)) => {
                tracing::info!(size = edge.size(), "ledger open again");
                self.writer = Some(writer);
                self.edge = edge;
                self.sessions.clear();
                self.retry = Retry::default();
                Ok(())
            }
            Err(error) => {
                tracing::warn!(%error, "the ledger cannot be opened again yet");
                self.standing.suspend(&error.to_string());
                self.retry.failed();
                Err(error)
            }
        }
    }

    /// When something is to be done although nobody asks.
    fn next_duty(&self) -> Instant {
        let idle = Instant::now() + Duration::from_secs(3600);
        let retry = if self.standing.reason().is_some() {
            self.retry.at.max(Instant::now() + RETRY_FIRST)
        } else {
            idle
        };
        let duty = retry.min(self.acts.at());
        self.copies.due().map_or(duty, |due| due.min(duty))
    }

    /// Writes the copies that are due; takes admin acts that wait; and where the last group failed, looks whether writing is
    /// possible again, so that readiness comes back without somebody trying.
    async fn do_duties(&mut self) {
        self.copies.write_due();
        if self.standing.reason().is_none() {
            if self.acts.is_due() {
                self.take_acts().await;
            }
            return;
        }
        self.acts.put_off();
        self.look_whether_it_writes().await;
    }

    /// Readiness comes back only with a write that went through.
    async fn look_whether_it_writes(&mut self) {
        if Instant::now() < self.retry.at || self.open_again().await.is_err() {
            return;
        }
        match self.probe().await {
            Ok(()) => self.standing.resume(),
            Err(error) => {
                self.standing.suspend(&error.to_string());
                self.retry.failed();
            }
        }
    }

    /// A group for the admin acts that wait, if any does.
    async fn take_acts(&mut self) {
        let Some(writer) = self.writer.as_mut() else {
            return self.acts.put_off();
        };
        match writer.look_up_acts(1).await {
            Ok(acts) if acts.is_empty() => self.acts.put_off(),
            Ok(_) => self.serve(Vec::new()).await,
            Err(error) => {
                tracing::warn!(%error, "looking for admin acts; the ledger is opened again");
                self.acts.put_off();
                self.writer = None;
                self.standing.suspend(&error.to_string());
            }
        }
    }

    /// A group that writes without a change, and a synced write where the ledger's files are. A database whose file refuses
    /// writes still begins groups, and the files beside it may take some all the same: only a commit tells.
    async fn probe(&mut self) -> Result<(), LedgerError> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let stored = writer.begin().await?;
        let checked = self
            .opening
            .follow(writer.reads(), &self.edge, stored)
            .await;
        match checked {
            Ok(_) => {
                writer.probe().await?;
                writer.commit().await?;
            }
            Err(error) => {
                writer.rollback().await?;
                self.writer = Some(writer);
                return Err(error);
            }
        }
        self.writer = Some(writer);
        if self.lock.is_none() {
            // The ledger is not in these files.
            return Ok(());
        }
        self.copies.probe()
    }

    /// Commits one group. In order, with what a crash right after each step leaves. The writer is put back only where it is
    /// known what it left. Says also whether anything was written.
    async fn commit(&mut self, requests: &[Request]) -> Result<(Vec<Answer>, bool), GroupError> {
        let Some(mut writer) = self.writer.take() else {
            unreachable!("a group is committed only on an open ledger");
        };

        // 1. The head is taken: nobody else writes from here on. Crash: nothing.
        let stored = writer.begin().await.map_err(GroupError::NotStored)?;

        // 2. Every request is decided in order, against what is committed and what stands before it in the group, and
        //    written; memory changes in copies. Crash: an unfinished transaction, which the database forgets: nothing is
        //    stored, nothing was acknowledged.
        let writing = async {
            // Another process had its turn: what is remembered here is of an older head.
            if stored != self.edge.size() {
                self.edge = self
                    .opening
                    .follow(writer.reads(), &self.edge, stored)
                    .await?;
                self.sessions.clear();
            }
            let acts = self.acts.take(&mut *writer).await?;
            let mut group = Group::new(&self.opening.origin, self.edge.clone(), clock::now());
            let answers = decide(&mut group, &mut *writer, &self.sessions, &acts, requests).await?;
            let (mut rows, edge) = group.finish();
            let has_entries = edge.size() > stored;
            // 3. The checkpoint of the new size, in the same transaction: entries never stand without a signed root, and
            //    no size has two. Crash: as in 2; a signed note that nobody ever saw.
            if has_entries {
                let checkpoint = Checkpoint {
                    origin: self.opening.origin.clone(),
                    size: edge.size(),
                    root: edge.root(),
                };
                rows.checkpoint = Some(NewCheckpoint {
                    size: checkpoint.size,
                    root: checkpoint.root,
                    note: checkpoint.sign(&self.key),
                });
            }
            let is_empty = !has_entries && rows.is_empty();
            if !is_empty {
                writer.write(stored, &rows).await?;
            }
            Ok((answers, rows, edge, is_empty))
        };
        // A server that gives no answer must not hold up the clients' answers for ever. SQLite answers on this very thread,
        // where its own bounded wait for another writer is the only one.
        let written = tokio::time::timeout(GROUP_TIME_MAX, writing)
            .await
            .unwrap_or(Err(LedgerError::NoAnswer(GROUP_TIME_MAX.as_secs())));
        let (answers, rows, edge, is_empty) = match written {
            Ok(written) => written,
            Err(error) => {
                // No commit was asked for, so that nothing is stored, whatever becomes of the connection. Where the database
                // failed the connection is given up: SQLite opens a file that may not be written for reading alone, says
                // so only at a write, and would never write through that connection again.
                let is_usable = !error.is_of_database();
                if writer.rollback().await.is_ok() && is_usable {
                    self.writer = Some(writer);
                }
                return Err(GroupError::NotStored(error));
            }
        };
        if is_empty {
            // Everything was known already, and durable, or refused.
            writer.rollback().await.map_err(GroupError::NotStored)?;
            self.writer = Some(writer);
            return Ok((answers, false));
        }

        // 4. Commit: returns when the group is durable. Crash: all of it or nothing of it is stored; no client has an
        //    answer, and a client that sends again gets `duplicate` or `recorded`.
        writer.commit().await.map_err(GroupError::Unknown)?;
        self.writer = Some(writer);

        // 5. Memory follows the disk. Crash: as after 4, all of it stored.
        self.edge = edge;
        if self.sessions.len() + rows.sessions.len() > SESSIONS_KEPT_MAX {
            self.sessions.clear();
        }
        for session in rows.sessions {
            self.sessions.insert(session.id.clone(), session);
        }

        // 6. The copies of the checkpoint outside the database follow after the answer. Crash: they are some groups behind.
        if let Some(checkpoint) = rows.checkpoint {
            self.metrics.checkpoint(checkpoint.size, clock::moment());
            self.copies.follow(checkpoint.note);
        }
        Ok((answers, true))
    }
}

mod acts;
mod deciding;
mod request;
mod standing;
