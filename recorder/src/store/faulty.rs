//! A store whose steps fail when a test asks for it, in both ways: nothing happened, or it happened and the answer is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::{Connection as _, PgConnection};

use super::{
    Administration, Connection, DatabaseUrl, EntryRow, GroupRows, IdentityRow, NewEntry, Result,
    Store, Writer,
};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;

/// A step of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Begin,
    LookUpActs,
    LookUpKeys,
    LookUpSessions,
    LookUpSessionNumber,
    LookUpEvents,
    LookUpBlobs,
    WriteEntries,
    Write,
    Probe,
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
    /// No fault: the next one is for a later time that the step is done.
    Passed,
    /// The server ends every connection of the address, as one that is started anew, and the step is tried on what is left.
    /// PostgreSQL alone: a file has no other end.
    Ended,
}

/// The faults to come, in order. Each waits for its step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    faults: Arc<Mutex<VecDeque<(Step, Fault)>>>,
    /// The server that ends connections, with the name under which they are known there.
    server: Option<(DatabaseUrl, String)>,
}

impl Plan {
    /// A plan whose faults a server can have too, for connections that carry a name.
    pub(crate) fn on_server(url: DatabaseUrl, application: String) -> Self {
        Self {
            faults: Arc::default(),
            server: Some((url, application)),
        }
    }

    pub(crate) fn add(&self, step: Step, fault: Fault) {
        let mut plan = self.faults.lock().expect("no test panics with it");
        plan.push_back((step, fault));
    }

    pub(crate) fn is_done(&self) -> bool {
        self.faults
            .lock()
            .expect("no test panics with it")
            .is_empty()
    }

    fn take(&self, step: Step) -> Option<Fault> {
        let mut plan = self.faults.lock().expect("no test panics with it");
        let (_, fault) = *plan.front().filter(|(planned, _)| *planned == step)?;
        plan.pop_front();
        (fault != Fault::Passed).then_some(fault)
    }

    /// Ends the connections, and waits until they are gone.
    async fn end_connections(&self) {
        let (url, application) = self.server.as_ref().expect("the plan has a server");
        let mut connection = PgConnection::connect(url.expose()).await.expect("connects");
        let ended: Vec<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
             WHERE application_name = $1 AND pid <> pg_backend_pid()",
        )
        .bind(application.as_str())
        .fetch_all(&mut connection)
        .await
        .expect("ends them");
        assert!(!ended.is_empty() && ended.iter().all(|ended| *ended));
        connection.close().await.expect("closes");
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
            Some(Fault::Passed) => unreachable!("the plan takes it for no fault"),
            Some(Fault::Ended) => {
                $self.plan.end_connections().await;
                $done.await
            }
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
        step!(self, LookUpSessions, self.inner.look_up_sessions(ids))
    }

    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>> {
        step!(self, LookUpEvents, self.inner.look_up_events(events))
    }

    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>> {
        step!(self, LookUpBlobs, self.inner.look_up_blobs(hashes))
    }

    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        step!(self, LookUpKeys, self.inner.look_up_valid_keys(ids))
    }

    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>> {
        step!(self, LookUpActs, self.inner.look_up_acts(limit))
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        step!(self, LookUpSessionNumber, self.inner.last_session_number())
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

    async fn probe(&mut self) -> Result<()> {
        step!(self, Probe, self.inner.probe())
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
            Some(Fault::Ended) => {
                self.plan.end_connections().await;
                self.inner.commit().await
            }
            Some(Fault::Passed) => unreachable!("the plan takes it for no fault"),
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
