//! Each entry's row: its bytes and payload, its place in the ledger and in its session's chain, its blobs, and the columns
//! that copy what its bytes say.

use remembrancer_replay::verify::{Fault, PayloadBytes, blob_fault};
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{ContentHash, Entry, Salt, TreeHash};

use super::{PAGE_ROWS, Run, damage};
use crate::error::LedgerError;
use crate::reader::blob::{self, Loaded, Lost};
use crate::store::{Connection, EntryRow, PageLimits};

/// Bytes after which a page takes no further entry.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

impl EntryRow {
    fn has_payload(&self) -> bool {
        self.salt.is_some() && self.data.is_some()
    }

    /// Salt and text of the payload, if they can be such.
    fn payload(&self) -> Option<(Salt, &str)> {
        let (salt, data) = self.salt.as_ref().zip(self.data.as_ref())?;
        let salt = <[u8; 32]>::try_from(salt.as_slice()).ok()?;
        Some((Salt::from_bytes(salt), std::str::from_utf8(data).ok()?))
    }
}

impl Run<'_> {
    /// Checks every entry; false if their order is broken, after which nothing can be told any more.
    pub(super) async fn entries(
        &mut self,
        connection: &mut dyn Connection,
        progress: &mut impl FnMut(u64),
    ) -> Result<bool, LedgerError> {
        let mut limit = PAGE_ROWS;
        loop {
            self.load_checkpoints(connection).await?;
            let rows = match self.page(connection, limit).await {
                Ok(rows) => rows,
                // Read again one by one, to name the entry that cannot be read rather than its page.
                Err(error) if limit > 1 => {
                    damage(error)?;
                    limit = 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if rows.is_empty() {
                return Ok(true);
            }
            for row in &rows {
                if !self.entry(connection, row).await? {
                    return Ok(false);
                }
            }
            self.compare_tiles(connection).await?;
            progress(self.tree.size());
        }
    }

    async fn page(
        &self,
        connection: &mut dyn Connection,
        limit: u32,
    ) -> Result<Vec<EntryRow>, LedgerError> {
        let limits = PageLimits {
            rows: limit,
            bytes: PAGE_BYTES_MAX,
        };
        Ok(connection.entries(self.tree.size(), limits).await?.rows)
    }

    /// Checks one row; false if the order of entries is broken.
    async fn entry(
        &mut self,
        connection: &mut dyn Connection,
        stored: &EntryRow,
    ) -> Result<bool, LedgerError> {
        let expected = self.tree.size();
        let index = expected;
        if u64::try_from(stored.index) != Ok(expected) {
            self.faults.at(
                expected,
                format!(
                    "is missing: the next entry stored has index {}",
                    stored.index
                ),
            );
            return Ok(false);
        }
        let leaf = leaf_hash(&stored.bytes);
        self.tree.push(leaf);
        match Entry::from_bytes(&stored.bytes) {
            Err(error) => self.unreadable(index, stored, &error.to_string()),
            Ok(entry) => {
                self.columns(index, stored, &entry, leaf);
                self.chain(connection, index, stored, &entry).await?;
                for blob in &entry.blobs {
                    if let Some(fault) = self.blob(connection, &entry, blob).await? {
                        self.faults.of_entry(fault);
                    }
                }
            }
        }
        self.pass_checkpoint();
        Ok(true)
    }

    /// An entry whose bytes are none. Its session's chain goes on from it, so that it does not hide a second one.
    fn unreadable(&mut self, index: u64, stored: &EntryRow, reason: &str) {
        let followed = self
            .by_number
            .get(&stored.session_no)
            .and_then(|session| self.sessions.get_mut(session));
        match followed.map(|followed| followed.chain.push(&stored.bytes, None)) {
            Some(Err(fault)) => self.faults.of_entry(Fault {
                index: Some(index),
                ..fault
            }),
            _ => self.faults.at(index, reason),
        }
    }

    /// The copies of what the bytes say, by which entries are looked up.
    fn columns(&mut self, index: u64, stored: &EntryRow, entry: &Entry, leaf: TreeHash) {
        let mut fault = |message: &str| {
            let fault = Fault::of_entry(Some(index), entry.sequence, message);
            self.faults.of_entry(fault);
        };
        if entry.index != index {
            fault(&format!("its bytes say that it is entry {}", entry.index));
        }
        if stored.hash != entry_hash(&stored.bytes).as_bytes() {
            fault("its stored hash is not the hash of its bytes");
        }
        if stored.leaf != leaf.as_bytes() {
            fault("its stored leaf is not the leaf hash of its bytes");
        }
        if stored.event != entry.event.as_str()
            || u64::try_from(stored.sequence) != Ok(entry.sequence)
        {
            fault("its columns name another event or sequence number than its bytes");
        }
    }

    /// Its place in its session's chain, and its payload.
    async fn chain(
        &mut self,
        connection: &mut dyn Connection,
        index: u64,
        stored: &EntryRow,
        entry: &Entry,
    ) -> Result<(), LedgerError> {
        let payload = stored.payload();
        let mut faults = Vec::new();
        if stored.has_payload() && payload.is_none() {
            faults.push("its payload or salt is not what was written".to_owned());
        }
        // Nothing in a ledger erases payloads, so that one which is not there was taken away.
        if !stored.has_payload() {
            faults.push("its payload is missing".to_owned());
        }
        let followed = self
            .followed(connection, &entry.session, stored.session_no)
            .await?;
        if stored.session_no != followed.number {
            faults.push(format!(
                "its column says that it belongs to session number {}; session {} has number {}",
                stored.session_no, entry.session, followed.number
            ));
        }
        let bytes = payload
            .as_ref()
            .map(|(salt, data)| PayloadBytes { salt, data });
        let pushed = followed.chain.push(&stored.bytes, bytes);
        followed.follow(entry, payload.map(|(_, data)| data));
        for message in faults {
            let fault = Fault::of_entry(Some(index), entry.sequence, message);
            self.faults.of_entry(fault);
        }
        if let Err(fault) = pushed {
            self.faults.of_entry(Fault {
                index: Some(index),
                ..fault
            });
        }
        Ok(())
    }

    /// Whether a blob is there and has its address; each is read once.
    async fn blob(
        &mut self,
        connection: &mut dyn Connection,
        entry: &Entry,
        hash: &ContentHash,
    ) -> Result<Option<Fault>, LedgerError> {
        if let Some(known) = self.blobs.get(hash) {
            return Ok(known.clone().map(|fault| Fault {
                index: Some(entry.index),
                sequence: Some(entry.sequence),
                ..fault
            }));
        }
        let loaded = match blob::find(connection, hash).await? {
            Some(found) => self.reader.load(hash, found).await?,
            None => Loaded::Lost(Lost::without_row()),
        };
        let fault = match loaded {
            Loaded::Whole(bytes) => blob_fault(entry, hash, Some(&bytes)),
            Loaded::Lost(why) => Some(Fault::of_entry(
                Some(entry.index),
                entry.sequence,
                why.fault(hash),
            )),
        };
        self.blobs.insert(*hash, fault.clone());
        Ok(fault)
    }
}
