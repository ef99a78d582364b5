//! The Merkle tree grown anew from the entries, against the stored tiles and the signed checkpoints.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use remembrancer_schema::TreeHash;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::merkle::Frontier;

use super::{PAGE_ROWS, Run};
use crate::checkpoint_copy::CheckpointCopy;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::store::Connection;
use crate::tree::{TILE_HEIGHT, TILE_WIDTH};

/// The tree of the entries read so far.
pub(super) struct GrownTree {
    frontier: Frontier,
    tiles: HashMap<u32, Vec<TreeHash>>,
    /// Tiles that are full by now and were not compared yet.
    full: Vec<(u32, u64, Vec<u8>)>,
    /// Checkpoints whose size was not reached yet: root and note.
    checkpoints: BTreeMap<u64, (Vec<u8>, String)>,
    checked_checkpoints: u64,
    /// Copies of checkpoints in files outside the database.
    copies: Vec<StatedCopy>,
}

/// What a copy of a checkpoint states.
struct StatedCopy {
    /// Which copy it is, in words.
    name: String,
    checkpoint: Checkpoint,
}

impl GrownTree {
    pub(super) fn new() -> Self {
        Self {
            frontier: Frontier::new(),
            tiles: HashMap::new(),
            full: Vec::new(),
            checkpoints: BTreeMap::new(),
            checked_checkpoints: 0,
            copies: Vec::new(),
        }
    }

    /// Entries so far.
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    pub(super) fn checked_checkpoints(&self) -> u64 {
        self.checked_checkpoints
    }

    pub(super) fn push(&mut self, leaf: TreeHash) {
        let (tiles, full) = (&mut self.tiles, &mut self.full);
        self.frontier.push(leaf, |level, index, hash| {
            if level % TILE_HEIGHT != 0 {
                return;
            }
            let tile = tiles.entry(level / TILE_HEIGHT).or_default();
            tile.push(hash);
            if tile.len() as u64 == TILE_WIDTH {
                let bytes = tile.drain(..).flat_map(|hash| *hash.as_bytes()).collect();
                full.push((level / TILE_HEIGHT, index / TILE_WIDTH, bytes));
            }
        });
    }
}

impl Run<'_> {
    /// Reads the copies of the newest checkpoint: the one beside the database, and an anchor if there is one.
    pub(super) fn read_copies(&mut self, anchor: Option<&Path>) {
        let beside = DataDir::new(self.reader.data_dir()).checkpoint_copy();
        let anchor = anchor.map(|path| (format!("the anchor {}", path.display()), path.to_owned()));
        let copies = [
            Some(("the checkpoint beside it".to_owned(), beside)),
            anchor,
        ];
        for (name, path) in copies.into_iter().flatten() {
            let copy = CheckpointCopy::new(path);
            match copy.read(self.reader.origin(), self.reader.public_key()) {
                Ok(None) => {}
                Ok(Some(checkpoint)) => self.tree.copies.push(StatedCopy { name, checkpoint }),
                Err(error) => self.faults.general(error.to_string()),
            }
        }
    }

    /// Compares the copies with the root of the entries so far, if they are of the present size.
    fn pass_copies(&mut self) {
        let (size, tree) = (self.tree.size(), &self.tree);
        for StatedCopy { name, checkpoint } in &tree.copies {
            if checkpoint.size == size && checkpoint.root != tree.frontier.root() {
                self.faults.general(format!(
                    "the database has another root for {size} entries than {name}: one of the two is of another history"
                ));
            }
        }
    }

    /// Tells of a database that has fewer entries than a copy states.
    pub(super) fn check_copy_sizes(&mut self) {
        let size = self.tree.size();
        for StatedCopy { name, checkpoint } in &self.tree.copies {
            let stated = checkpoint.size;
            if stated > size {
                self.faults.at(
                    size,
                    format!(
                        "is missing: the database is older than {name}, which states {stated} entries: a rolled-back copy"
                    ),
                );
            }
        }
    }

    /// Compares the tiles that became full with the stored ones: proofs are computed from those.
    pub(super) async fn compare_tiles(
        &mut self,
        connection: &mut dyn Connection,
    ) -> Result<(), LedgerError> {
        for (level, tile, expected) in std::mem::take(&mut self.tree.full) {
            let stored = connection.tile(level, tile).await?;
            if stored.as_ref() != Some(&expected) {
                self.faults.general(format!(
                    "tile {tile} of level {level} does not hold the hashes of its entries"
                ));
            }
        }
        Ok(())
    }

    /// Takes the checkpoints of the next page's sizes; all of them are checked as their size passes.
    pub(super) async fn load_checkpoints(
        &mut self,
        connection: &mut dyn Connection,
    ) -> Result<(), LedgerError> {
        let start = self.tree.size();
        let last = start.saturating_add(u64::from(PAGE_ROWS));
        for row in connection.checkpoints(start, last).await? {
            self.tree.checkpoints.insert(row.size, (row.root, row.note));
        }
        Ok(())
    }

    /// Compares the checkpoint of the present size, if there is one, with the root of the entries so far.
    pub(super) fn pass_checkpoint(&mut self) {
        self.pass_copies();
        let size = self.tree.size();
        let Some((root, note)) = self.tree.checkpoints.remove(&size) else {
            return;
        };
        self.tree.checked_checkpoints += 1;
        let checkpoint = match Checkpoint::verify(&note, self.reader.public_key()) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                return self
                    .faults
                    .general(format!("the checkpoint of size {size}: {error}"));
            }
        };
        if checkpoint.origin != *self.reader.origin()
            || checkpoint.size != size
            || root != checkpoint.root.as_bytes()
        {
            return self.faults.general(format!(
                "the checkpoint of size {size} is stored with another size, root or ledger than it states"
            ));
        }
        // After a bad entry every root differs, which says nothing new.
        if checkpoint.root != self.tree.frontier.root() && !self.faults.has_bad_entry() {
            self.faults.at(
                size - 1,
                "the signed checkpoint of this size has another root: this entry, or one since the checkpoint before it, \
                 is not what was recorded",
            );
        }
    }
}
