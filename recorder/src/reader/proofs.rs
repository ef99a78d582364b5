//! The ledger as a transparency log: checkpoints, and proofs from stored tiles.

use std::sync::Arc;

use remembrancer_schema::TreeHash;
use remembrancer_schema::merkle::{consistency_ranges, inclusion_ranges};

use super::Reader;
use crate::checkpoint_copy::CheckpointCopy;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::ledger::Opening;
use crate::tree;

impl Reader {
    /// The first checkpoint that was signed over at least `size` entries, if the ledger has grown that far.
    pub async fn first_checkpoint_holding(&self, size: u64) -> Result<Option<String>, LedgerError> {
        let row = self.connection().await?.checkpoint_from(size).await?;
        Ok(row.map(|row| row.note))
    }

    /// The newest signed checkpoint.
    pub async fn checkpoint(&self) -> Result<Option<String>, LedgerError> {
        let row = self.connection().await?.newest_checkpoint().await?;
        Ok(row.map(|row| row.note))
    }

    /// The newest checkpoint that witnesses signed, with their signatures, if it is one of this very history: its first entries
    /// have that root.
    pub async fn cosigned_checkpoint(&self) -> Result<Option<String>, LedgerError> {
        let file = CheckpointCopy::new(DataDir::new(self.data_dir()).cosigned_checkpoint());
        let Some((note, checkpoint)) = file.read_note(self.origin(), self.public_key())? else {
            return Ok(None);
        };
        let is_of_this = checkpoint.size <= self.size().await?
            && self.root(checkpoint.size).await? == checkpoint.root;
        Ok(is_of_this.then_some(note))
    }

    /// Proof that entry `index` is in the tree of the first `size` entries.
    pub async fn inclusion_proof(
        &self,
        index: u64,
        size: u64,
    ) -> Result<Vec<TreeHash>, LedgerError> {
        self.check_size("size", size).await?;
        let ranges = inclusion_ranges(index, size).ok_or_else(|| LedgerError::OutOfRange {
            what: "index",
            value: index,
            allowed: format!("below the size {size}"),
        })?;
        tree::range_roots(&mut *self.connection().await?, ranges).await
    }

    /// Proof that the tree of the first `new` entries extends that of the first `old`.
    pub async fn consistency_proof(
        &self,
        old: u64,
        new: u64,
    ) -> Result<Vec<TreeHash>, LedgerError> {
        self.check_size("new", new).await?;
        let ranges = consistency_ranges(old, new).ok_or_else(|| LedgerError::OutOfRange {
            what: "old",
            value: old,
            allowed: format!("at most new, {new}"),
        })?;
        tree::range_roots(&mut *self.connection().await?, ranges).await
    }

    /// Root of the tree of the first `size` entries.
    pub async fn root(&self, size: u64) -> Result<TreeHash, LedgerError> {
        self.check_size("size", size).await?;
        tree::range_root(&mut *self.connection().await?, 0..size).await
    }

    /// Compares the root of all entries with the newest checkpoint, as opening the ledger for writing does, and says how
    /// many entries there are. Reads tiles, not entries.
    pub(crate) async fn check_newest_checkpoint(&self) -> Result<u64, LedgerError> {
        let opening = Opening {
            store: Arc::clone(&self.0.store),
            origin: self.origin().clone(),
            key: self.public_key().clone(),
            copies: Vec::new(),
        };
        let mut connection = self.snapshot().await?;
        let size = connection.size().await?;
        opening.edge(&mut *connection, size).await?;
        Ok(size)
    }

    async fn check_size(&self, what: &'static str, size: u64) -> Result<(), LedgerError> {
        let stored = self.size().await?;
        if size > stored {
            return Err(LedgerError::OutOfRange {
                what,
                value: size,
                allowed: format!("the ledger has {stored} entries"),
            });
        }
        Ok(())
    }
}
