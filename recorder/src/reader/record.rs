//! A session read whole, and refused unless it is what was recorded: analyses and bundles speak for it.

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_replay::verify::{ChainVerifier, Fault, PayloadBytes, blob_faults};
use remembrancer_replay::{RecordedEvent, SessionRecord};
use remembrancer_schema::{ContentHash, EntryHash, SessionId};

use super::blob::{self, Found, Loaded, Lost};
use super::{PAGE_ITEMS_MAX, Reader, StoredEntry, page_limits};
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::store::Connection;
use crate::tree::number;

/// How far a session is known: that many entries, of which the last has that hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// Number of entries.
    pub entries: u64,
    /// Hash of the last one.
    pub head: EntryHash,
}

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

    /// The end of that record, from behind entries that were read and checked before. What is read must go on from them.
    pub async fn record_behind(
        &self,
        known: Behind,
        summary: &SessionSummary,
    ) -> Result<SessionRecord, LedgerError> {
        self.read_from(&summary.id, Some(summary), Some(known))
            .await
    }

    async fn read_record(
        &self,
        session: &SessionId,
        as_of: Option<&SessionSummary>,
    ) -> Result<SessionRecord, LedgerError> {
        self.read_from(session, as_of, None).await
    }

    async fn read_from(
        &self,
        session: &SessionId,
        as_of: Option<&SessionSummary>,
        known: Option<Behind>,
    ) -> Result<SessionRecord, LedgerError> {
        // One read transaction: the row and its entries are of one state, however the session grows meanwhile.
        let mut snapshot = self.snapshot().await?;
        let row = snapshot
            .session(session)
            .await?
            .ok_or_else(|| LedgerError::NoSession(session.to_string()))?;
        check_count(&mut *snapshot, &row).await?;
        let wanted = as_of.cloned().unwrap_or(row);
        let skipped = known.map_or(0, |known| known.entries);
        let (mut record, found) = read(&mut *snapshot, &wanted, skipped).await?;
        // Reading a store of others may take long; the database is not kept from its work meanwhile.
        drop(snapshot);
        let mut lost = HashMap::new();
        for (hash, found) in found {
            let loaded = match found {
                Some(found) => self.load(&hash, found).await?,
                None => Loaded::Lost(Lost::without_row()),
            };
            match loaded {
                Loaded::Whole(bytes) => drop(record.blobs.insert(hash, Arc::from(&bytes[..]))),
                Loaded::Lost(why) => drop(lost.insert(hash, why)),
            }
        }
        let (origin, id) = (self.origin().clone(), wanted.id.clone());
        let chain = match known {
            None => ChainVerifier::new(origin, id),
            Some(known) => ChainVerifier::behind(origin, id, known.entries, known.head),
        };
        // Hashing many megabytes would hold up other requests here.
        tokio::task::spawn_blocking(move || check(chain, &wanted, &record, lost).map(|()| record))
            .await
            .map_err(|_| sqlx::Error::WorkerCrashed)?
    }
}

/// Whether a session has as many entries as its row says.
async fn check_count(
    connection: &mut dyn Connection,
    row: &SessionSummary,
) -> Result<(), LedgerError> {
    let stored = connection.count_session_entries(row.number).await?;
    if stored == row.entries {
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

/// Reads the entries of a session but the first ones, as many as its summary says, and what the database has of their blobs.
async fn read(
    connection: &mut dyn Connection,
    summary: &SessionSummary,
    skipped: u64,
) -> Result<(SessionRecord, HashMap<ContentHash, Option<Found>>), LedgerError> {
    let mut events: Vec<RecordedEvent> = Vec::new();
    let mut after = number(skipped)? - 1;
    loop {
        let left = summary
            .entries
            .saturating_sub(skipped)
            .saturating_sub(events.len() as u64);
        if left == 0 {
            break;
        }
        let rows = u32::try_from(left).map_or(PAGE_ITEMS_MAX, |left| left.min(PAGE_ITEMS_MAX));
        let page = connection
            .session_entries(summary.number, after, page_limits(rows))
            .await?;
        let Some(last) = page.rows.last() else { break };
        after = last.sequence;
        for row in page.rows {
            events.push(event(StoredEntry::from_row(row)?)?);
        }
    }
    let mut found = HashMap::new();
    for hash in events.iter().flat_map(|event| &event.entry.blobs) {
        if !found.contains_key(hash) {
            found.insert(*hash, blob::find(connection, hash).await?);
        }
    }
    let record = SessionRecord {
        session: summary.id.clone(),
        events,
        blobs: HashMap::new(),
    };
    Ok((record, found))
}

/// The event of an entry, which must say that it is where it stands.
fn event(stored: StoredEntry) -> Result<RecordedEvent, LedgerError> {
    let index = stored.index;
    let event = stored.into_event()?;
    if event.entry.index != index {
        return Err(LedgerError::Corrupt {
            index,
            reason: format!("its bytes say that it is entry {}", event.entry.index),
        });
    }
    Ok(event)
}

/// Checks a record, or the end of one, as `remembrancer_replay::verify::verify_session` does, and its stored hashes and length besides; ends at
/// the first fault.
fn check(
    mut chain: ChainVerifier,
    summary: &SessionSummary,
    record: &SessionRecord,
    mut lost: HashMap<ContentHash, Lost>,
) -> Result<(), LedgerError> {
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
        if let Some(hash) = entry.blobs.iter().find(|hash| lost.contains_key(*hash))
            && let Some(why) = lost.remove(hash)
        {
            return Err(why.into_error(*hash, Some(index)));
        }
        if let Some(fault) = blob_faults(&entry, record).into_iter().next() {
            return Err(bad(fault));
        }
    }
    if chain.entries() != summary.entries {
        return Err(wrong_count(summary, chain.entries()));
    }
    match record.events.last() {
        None if chain.entries() > 0 && chain.head() != summary.head => {
            Err(LedgerError::Damaged(format!(
                "session {} has another last entry than it had, and no further one",
                summary.id
            )))
        }
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
