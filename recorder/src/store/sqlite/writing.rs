//! What a sequencer writes.

use std::path::PathBuf;

use async_trait::async_trait;
use remembrancer_schema::{ContentHash, SessionId};
use sqlx::{Connection as _, SqliteConnection};

use super::direct::Direct;
use super::options;
use super::reading::Reading;
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::store::{Connection, EntryRow, GroupRows, IdentityRow, NewEntry, Result, Writer};

/// Entries that are worth another thread: writing them takes many times what handing them over does.
const ENTRIES_AT_ONCE: usize = 128;

/// The connection of a sequencer, and one beside it for reading.
pub(super) struct SqliteWriter {
    /// `None` while another thread works with it, and from then on where nobody waited for that thread.
    direct: Option<Direct>,
    /// Sees what is committed: while a group is open and has written nothing yet, that is what the group stands on.
    reading: Reading<Box<SqliteConnection>>,
    /// Size at the beginning of the group that is open.
    begun: Option<u64>,
}

impl SqliteWriter {
    pub(super) async fn open(file: PathBuf) -> Result<Self> {
        let reading = SqliteConnection::connect_with(&options(&file).read_only(true)).await?;
        let direct = tokio::task::spawn_blocking(move || Direct::open(&file));
        Ok(Self {
            direct: Some(direct.await.map_err(|_| gone())??),
            reading: Reading(Box::new(reading)),
            begun: None,
        })
    }

    fn direct(&self) -> Result<&Direct> {
        self.direct.as_ref().ok_or_else(gone)
    }

    /// Lets another thread work with the connection, and waits for it. If the waiting ends early, the connection is closed
    /// where it is, which rolls its group back, and every further step here fails.
    async fn away<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Direct) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let direct = self.direct.take().ok_or_else(gone)?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work(&direct);
            (direct, done)
        });
        let (direct, done) = working.await.map_err(|_| gone())?;
        self.direct = Some(direct);
        done
    }
}

/// The connection was lost with the thread that had it.
fn gone() -> LedgerError {
    sqlx::Error::WorkerCrashed.into()
}

#[async_trait]
impl Writer for SqliteWriter {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.reading
    }

    async fn write_identity(&mut self, identity: &IdentityRow) -> Result<()> {
        let identity = identity.clone();
        self.away(move |direct| direct.write_identity(&identity))
            .await
    }

    async fn begin(&mut self) -> Result<u64> {
        // Somebody else who writes may be waiting for this very thread: it is not kept waiting for them.
        if !self.direct()?.try_begin()? {
            self.away(Direct::begin).await?;
        }
        let direct = self.direct()?;
        match direct.size() {
            Ok(size) => {
                self.begun = Some(size);
                Ok(size)
            }
            Err(error) => {
                direct.rollback()?;
                Err(error)
            }
        }
    }

    async fn look_up_sessions(&mut self, ids: &[&SessionId]) -> Result<Vec<SessionSummary>> {
        let direct = self.direct()?;
        let found = ids.iter().filter_map(|id| direct.session(id).transpose());
        found.collect()
    }

    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>> {
        let direct = self.direct()?;
        let found = events
            .iter()
            .filter_map(|(session_no, id)| direct.event(*session_no, id).transpose());
        found.collect()
    }

    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>> {
        let direct = self.direct()?;
        let mut found = Vec::new();
        for hash in hashes {
            if direct.has_blob(hash)? {
                found.push(*hash);
            }
        }
        Ok(found)
    }

    async fn last_session_number(&mut self) -> Result<i64> {
        self.direct()?.last_session_number()
    }

    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        let direct = self.direct()?;
        let mut valid = Vec::new();
        for id in ids {
            if direct.is_valid_key(id)? {
                valid.push((*id).to_owned());
            }
        }
        Ok(valid)
    }

    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>> {
        self.direct()?.acts(limit)
    }

    fn entries_at_once(&self) -> usize {
        ENTRIES_AT_ONCE
    }

    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()> {
        if entries.len() < ENTRIES_AT_ONCE {
            // A small group, or the last entries of a large one: there is nothing to be done meanwhile.
            return self.direct()?.write_entries(&entries);
        }
        self.away(move |direct| direct.write_entries(&entries))
            .await
    }

    async fn write(&mut self, old_size: u64, rows: &GroupRows) -> Result<()> {
        // What `begin` saw cannot have changed since: the lock is held.
        if self.begun != Some(old_size) {
            return Err(LedgerError::HeadMoved {
                expected: old_size,
                stored: self.begun.unwrap_or_default(),
            });
        }
        self.direct()?.write(rows)
    }

    async fn probe(&mut self) -> Result<()> {
        self.direct()?.probe()
    }

    async fn commit(&mut self) -> Result<()> {
        self.begun = None;
        self.direct()?.commit()
    }

    async fn rollback(&mut self) -> Result<()> {
        self.begun = None;
        self.direct()?.rollback()
    }

    async fn close(mut self: Box<Self>) {
        if let Err(error) = (*self.reading.0).close().await {
            tracing::debug!(%error, "closing the connection for reading");
        }
        let Some(direct) = self.direct.take() else {
            return;
        };
        if let Err(error) = tokio::task::spawn_blocking(move || direct.close()).await {
            tracing::warn!(%error, "closing the ledger's database");
        }
    }
}

#[cfg(test)]
mod tests;
