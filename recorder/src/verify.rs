//! Verification of a whole ledger: every entry read again in order, in pages, so that memory does not grow with the ledger.
//! What a single entry, payload or blob must be is judged by `remembrancer_replay::verify`; here are the order, the tree, the
//! checkpoints, and the copies that the database keeps for lookup.

mod entries;
mod faults;
mod sessions;
mod strays;
mod tree;

use std::collections::HashMap;
use std::path::Path;

use remembrancer_replay::verify::Fault;
use remembrancer_schema::{ContentHash, SessionId};
use serde::Serialize;

use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::Connection;
use faults::Faults;
use sessions::Followed;
use tree::GrownTree;

const PAGE_ROWS: u32 = 500;

/// What the verification of a ledger found.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerVerdict {
    /// Entries that were read.
    pub entries: u64,
    /// Sessions that they belong to.
    pub sessions: u64,
    /// Signed checkpoints that were checked.
    pub checkpoints: u64,
    /// Entries whose payload is not there; each of them is a fault.
    pub absent_payloads: u64,
    /// The first entry that does not hold; if every entry holds by itself, the first other fault.
    pub first_bad: Option<Fault>,
    /// Every fault, entries first, at most 100.
    pub faults: Vec<Fault>,
}

impl LedgerVerdict {
    /// Whether everything holds.
    pub fn is_sound(&self) -> bool {
        self.first_bad.is_none()
    }
}

/// Verifies a ledger as it stands when this starts; what is appended meanwhile is left for the next time. `progress` is told
/// how many entries are done. An error means that the check could not be done; damage is a verdict.
pub async fn verify_ledger(
    reader: &Reader,
    progress: impl FnMut(u64),
) -> Result<LedgerVerdict, LedgerError> {
    verify_ledger_against(reader, None, progress).await
}

/// The same, also against an anchor: the copy of the newest checkpoint that the server keeps wherever its operator wants.
pub async fn verify_ledger_against(
    reader: &Reader,
    anchor: Option<&Path>,
    mut progress: impl FnMut(u64),
) -> Result<LedgerVerdict, LedgerError> {
    let mut run = Run::new(reader);
    // Read before the database: a recorder that goes on writing makes both newer, the database first.
    run.read_copies(anchor);
    // Everything below sees one state, while a recorder goes on writing.
    let mut snapshot = reader.snapshot().await?;
    let outcome = run.all(&mut *snapshot, &mut progress).await;
    outcome.map(|()| run.verdict())
}

/// One verification.
struct Run<'a> {
    reader: &'a Reader,
    tree: GrownTree,
    sessions: HashMap<SessionId, Followed>,
    /// The sessions by their numbers, which find the chain of an entry that cannot be read.
    by_number: HashMap<i64, SessionId>,
    /// What is wrong with each blob that was read.
    blobs: HashMap<ContentHash, Option<Fault>>,
    faults: Faults,
}

impl<'a> Run<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            tree: GrownTree::new(),
            sessions: HashMap::new(),
            by_number: HashMap::new(),
            blobs: HashMap::new(),
            faults: Faults::default(),
        }
    }

    async fn all(
        &mut self,
        connection: &mut dyn Connection,
        progress: &mut impl FnMut(u64),
    ) -> Result<(), LedgerError> {
        match self.entries(connection, progress).await {
            Ok(true) => {}
            // The order is broken: nothing can be told of what follows.
            Ok(false) => return Ok(()),
            Err(error) => {
                let index = self.tree.size();
                let reason = damage(error)?;
                self.faults.at(
                    index,
                    format!("cannot be read, nor what follows it: {reason}"),
                );
                return Ok(());
            }
        }
        if let Err(error) = self.ends(connection).await {
            let reason = damage(error)?;
            self.faults.general(reason);
        }
        Ok(())
    }

    /// What can only be told after the last entry.
    async fn ends(&mut self, connection: &mut dyn Connection) -> Result<(), LedgerError> {
        let size = self.tree.size();
        let newest = connection
            .newest_checkpoint()
            .await?
            .map_or(0, |newest| newest.size);
        if newest > size {
            self.faults.at(
                size,
                format!("is missing: a signed checkpoint says that there are {newest} entries"),
            );
        } else if newest < size {
            self.faults.general(format!(
                "the newest checkpoint covers {newest} of {size} entries: the rest was added by somebody without the key"
            ));
        }
        self.check_copy_sizes();
        self.strays(connection).await?;
        self.session_rows(connection).await?;
        self.structure(connection).await
    }

    /// What the database itself finds wrong.
    async fn structure(&mut self, connection: &mut dyn Connection) -> Result<(), LedgerError> {
        for reason in connection.structure_faults().await? {
            self.faults
                .general(format!("the database file is damaged: {reason}"));
        }
        Ok(())
    }

    fn verdict(self) -> LedgerVerdict {
        let faults = self.faults.into_vec();
        LedgerVerdict {
            entries: self.tree.size(),
            sessions: self.sessions.len() as u64,
            checkpoints: self.tree.checked_checkpoints(),
            absent_payloads: self.sessions.values().map(Followed::absent_payloads).sum(),
            first_bad: faults.first().cloned(),
            faults,
        }
    }
}

/// The reason, where an error says that the file's content is at fault rather than the machine.
fn damage(error: LedgerError) -> Result<String, LedgerError> {
    match error {
        LedgerError::Database(error) if is_damage(&error) => {
            Ok(format!("the database file is damaged: {error}"))
        }
        LedgerError::Damaged(reason) => Ok(reason),
        error => Err(error),
    }
}

fn is_damage(error: &sqlx::Error) -> bool {
    const CORRUPT: i64 = 11;
    const NOT_A_DATABASE: i64 = 26;
    match error {
        sqlx::Error::Database(error) => error
            .code()
            .and_then(|code| code.parse::<i64>().ok())
            .is_some_and(|code| matches!(code & 0xff, CORRUPT | NOT_A_DATABASE)),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
