//! A session read whole, and refused unless it is what was recorded: analyses and bundles speak for it.

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_replay::verify::{ChainVerifier, Fault, PayloadBytes, blob_faults};
use remembrancer_replay::{RecordedEvent, SessionRecord};
use remembrancer_schema::{ContentHash, Origin, SessionId};
use sqlx::SqliteConnection;

use super::{Reader, StoredEntry};
use crate::error::LedgerError;
use crate::session::{self, SessionSummary};
use crate::tree::number;

impl Reader {
    /// All of a session, with payloads and the blobs that it introduces. What does not hold together, from chain to
    /// commitments, is an error that names the first bad entry.
    pub async fn session_record(&self, session: &SessionId) -> Result<SessionRecord, LedgerError> {
        self.read_record(session, None).await
    }

    /// The same, as long as the session was when its summary was read: what was recorded since is left out, so that both
    /// speak of one state.
    pub async fn record_of(&self, summary: &SessionSummary) -> Result<SessionRecord, LedgerError> {
        self.read_record(&summary.id, Some(summary)).await
    }

    async fn read_record(
        &self,
        session: &SessionId,
        as_of: Option<&SessionSummary>,
    ) -> Result<SessionRecord, LedgerError> {
        // One read transaction: the row and its entries are of one state, however the session grows meanwhile.
        let mut transaction = self.0.pool.begin().await?;
        let row = session::by_id(&mut transaction, session)
            .await?
            .ok_or_else(|| LedgerError::NoSession(session.to_string()))?;
        check_count(&mut transaction, &row).await?;
        let wanted = as_of.cloned().unwrap_or(row);
        let record = read(&mut transaction, &wanted).await?;
        transaction.rollback().await?;
        let origin = self.origin().clone();
        // Hashing many megabytes would hold up other requests here.
        tokio::task::spawn_blocking(move || check(&origin, &wanted, &record).map(|()| record))
            .await
            .map_err(|_| sqlx::Error::WorkerCrashed)?
    }
}

/// Whether a session has as many entries as its row says.
async fn check_count(
    connection: &mut SqliteConnection,
    row: &SessionSummary,
) -> Result<(), LedgerError> {
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM entries WHERE session_no = ?")
        .bind(row.number)
        .fetch_one(connection)
        .await?;
    if stored == number(row.entries)? {
        return Ok(());
    }
    Err(wrong_count(row, stored))
}

fn wrong_count(row: &SessionSummary, found: impl std::fmt::Display) -> LedgerError {
    LedgerError::Damaged(format!(
        "session {} has {found} of its {} entries",
        row.id, row.entries
    ))
}

/// Reads the entries of a session, as many as its summary says, with their blobs.
async fn read(
    connection: &mut SqliteConnection,
    summary: &SessionSummary,
) -> Result<SessionRecord, LedgerError> {
    let rows = sqlx::query(
        "SELECT e.idx, e.bytes, e.hash, p.salt, p.data \
         FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx \
         WHERE e.session_no = ? ORDER BY e.sequence LIMIT ?",
    )
    .bind(summary.number)
    .bind(number(summary.entries)?)
    .fetch_all(&mut *connection)
    .await?;
    let mut events: Vec<RecordedEvent> = Vec::with_capacity(rows.len());
    for row in &rows {
        let stored = StoredEntry::from_row(row)?;
        let index = stored.index;
        let event = stored.into_event()?;
        if event.entry.index != index {
            return Err(LedgerError::Corrupt {
                index,
                reason: format!("its bytes say that it is entry {}", event.entry.index),
            });
        }
        events.push(event);
    }
    let mut blobs: HashMap<ContentHash, Arc<[u8]>> = HashMap::new();
    for hash in events.iter().flat_map(|event| &event.entry.blobs) {
        if blobs.contains_key(hash) {
            continue;
        }
        let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT bytes FROM blobs WHERE hash = ?")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(bytes) = bytes {
            blobs.insert(*hash, Arc::from(bytes));
        }
    }
    Ok(SessionRecord {
        session: summary.id.clone(),
        events,
        blobs,
    })
}

/// Checks a record as `remembrancer_replay::verify::verify_session` does, and its stored hashes and length besides; ends at
/// the first fault.
fn check(
    origin: &Origin,
    summary: &SessionSummary,
    record: &SessionRecord,
) -> Result<(), LedgerError> {
    let mut chain = ChainVerifier::new(origin.clone(), record.session.clone());
    for event in &record.events {
        let index = event.entry.index;
        let bad = |fault: Fault| LedgerError::Corrupt {
            index,
            reason: fault.message,
        };
        let payload = event.payload.as_ref().map(|payload| PayloadBytes {
            salt: &payload.salt,
            data: &payload.data,
        });
        let entry = chain.push(&event.entry_bytes, payload).map_err(bad)?;
        if chain.head() != event.hash {
            return Err(LedgerError::Corrupt {
                index,
                reason: "its stored hash is not the hash of its bytes".to_owned(),
            });
        }
        if let Some(fault) = blob_faults(&entry, record).into_iter().next() {
            return Err(bad(fault));
        }
    }
    if chain.entries() != summary.entries {
        return Err(wrong_count(summary, chain.entries()));
    }
    match record.events.last() {
        Some(last) if chain.head() != summary.head => Err(LedgerError::Corrupt {
            index: last.entry.index,
            reason: format!(
                "it is not the last entry that the row of session {} says",
                summary.id
            ),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
