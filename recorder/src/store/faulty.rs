//! A store whose steps fail when a test asks for it, in both ways: nothing happened, or it happened and the answer is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};

use super::{
    Administration, Connection, EntryRow, GroupRows, IdentityRow, NewEntry, Result, Store, Writer,
};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;

/// A step of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Begin,
    LookUp,
    WriteEntries,
    Write,
    Commit,
    Rollback,
}

/// How a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does nothing.
    NotDone,
    /// It does all, and reports an error.
    DoneButFailed,
    /// The program has a bug.
    Panic,
}

/// The faults to come, in order. Each waits for its step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan(Arc<Mutex<VecDeque<(Step, Fault)>>>);

impl Plan {
    pub(crate) fn add(&self, step: Step, fault: Fault) {
        let mut plan = self.0.lock().expect("no test panics with it");
        plan.push_back((step, fault));
    }

    pub(crate) fn is_done(&self) -> bool {
        self.0.lock().expect("no test panics with it").is_empty()
    }

    fn take(&self, step: Step) -> Option<Fault> {
        let mut plan = self.0.lock().expect("no test panics with it");
        let (_, fault) = *plan.front().filter(|(planned, _)| *planned == step)?;
        plan.pop_front();
        Some(fault)
    }
}

fn fault(step: Step) -> LedgerError {
    LedgerError::Database(sqlx::Error::Io(std::io::Error::other(format!(
        "a test's fault at {step:?}"
    ))))
}

/// A store with a plan of faults.
pub(crate) struct FaultyStore {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) plan: Plan,
}

#[async_trait]
impl Store for FaultyStore {
    async fn connection(&self) -> Result<Box<dyn Connection>> {
        self.inner.connection().await
    }

    async fn snapshot(&self) -> Result<Box<dyn Connection>> {
        self.inner.snapshot().await
    }

    async fn writer(&self) -> Result<Box<dyn Writer>> {
        if self.plan.take(Step::Open).is_some() {
            return Err(fault(Step::Open));
        }
        Ok(Box::new(FaultyWriter {
            inner: self.inner.writer().await?,
            plan: self.plan.clone(),
        }))
    }

    async fn administration(&self) -> Result<Box<dyn Administration>> {
        self.inner.administration().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

struct FaultyWriter {
    inner: Box<dyn Writer>,
    plan: Plan,
}

/// Does a step, unless or although it is to fail.
macro_rules! step {
    ($self:ident, $step:ident, $done:expr) => {
        match $self.plan.take(Step::$step) {
            None => $done.await,
            Some(Fault::NotDone) => Err(fault(Step::$step)),
            Some(Fault::Panic) => panic!("a test's panic"),
            Some(Fault::DoneButFailed) => {
                $done.await?;
                Err(fault(Step::$step))
            }
        }
    };
}

#[async_trait]
impl Writer for FaultyWriter {
    fn reads(&mut self) -> &mut dyn Connection {
        self.inner.reads()
    }

    async fn write_identity(&mut self, identity: &IdentityRow) -> Result<()> {
        self.inner.write_identity(identity).await
    }

    async fn begin(&mut self) -> Result<u64> {
        step!(self, Begin, self.inner.begin())
    }

    async fn look_up_sessions(&mut self, ids: &[&SessionId]) -> Result<Vec<SessionSummary>> {
        step!(self, LookUp, self.inner.look_up_sessions(ids))
    }

    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>> {
        step!(self, LookUp, self.inner.look_up_events(events))
    }

    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>> {
        step!(self, LookUp, self.inner.look_up_blobs(hashes))
    }

    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        step!(self, LookUp, self.inner.look_up_valid_keys(ids))
    }

    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>> {
        self.inner.look_up_acts(limit).await
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        self.inner.last_session_number().await
    }

    fn entries_at_once(&self) -> usize {
        self.inner.entries_at_once()
    }

    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()> {
        step!(self, WriteEntries, self.inner.write_entries(entries))
    }

    async fn write(&mut self, old_size: u64, rows: &GroupRows) -> Result<()> {
        step!(self, Write, self.inner.write(old_size, rows))
    }

    async fn commit(&mut self) -> Result<()> {
        match self.plan.take(Step::Commit) {
            None => self.inner.commit().await,
            Some(Fault::NotDone) => {
                self.inner.rollback().await?;
                Err(fault(Step::Commit))
            }
            Some(Fault::DoneButFailed) => {
                self.inner.commit().await?;
                Err(fault(Step::Commit))
            }
            Some(Fault::Panic) => panic!("a test's panic"),
        }
    }

    async fn rollback(&mut self) -> Result<()> {
        step!(self, Rollback, self.inner.rollback())
    }

    async fn close(self: Box<Self>) {
        self.inner.close().await;
    }
}
