//! Each entry's row: its bytes and payload, its place in the ledger and in its session's chain, its blobs, and the columns
//! that copy what its bytes say.

use remembrancer_replay::verify::{Fault, PayloadBytes, blob_fault};
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{ContentHash, Entry, Salt, TreeHash};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::{PAGE_ROWS, Run, damage};
use crate::error::LedgerError;
use crate::session::count;
use crate::tree::number;

/// A row of entries with its payload, as stored.
struct StoredRow {
    session_no: i64,
    sequence: i64,
    event: String,
    bytes: Vec<u8>,
    hash: Vec<u8>,
    leaf: Vec<u8>,
    payload: Option<(Vec<u8>, Vec<u8>)>,
}

impl StoredRow {
    fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let salt: Option<Vec<u8>> = row.try_get("salt")?;
        let data: Option<Vec<u8>> = row.try_get("data")?;
        Ok(Self {
            session_no: row.try_get("session_no")?,
            sequence: row.try_get("sequence")?,
            event: row.try_get("event")?,
            bytes: row.try_get("bytes")?,
            hash: row.try_get("hash")?,
            leaf: row.try_get("leaf")?,
            payload: salt.zip(data),
        })
    }

    /// Salt and text of the payload, if they can be such.
    fn payload(&self) -> Option<(Salt, &str)> {
        let (salt, data) = self.payload.as_ref()?;
        let salt = <[u8; 32]>::try_from(salt.as_slice()).ok()?;
        Some((Salt::from_bytes(salt), std::str::from_utf8(data).ok()?))
    }
}

impl Run<'_> {
    /// Checks every entry; false if their order is broken, after which nothing can be told any more.
    pub(super) async fn entries(
        &mut self,
        connection: &mut SqliteConnection,
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
        connection: &mut SqliteConnection,
        limit: u32,
    ) -> Result<Vec<SqliteRow>, LedgerError> {
        let rows = sqlx::query(
            "SELECT e.idx, e.session_no, e.sequence, e.event, e.bytes, e.hash, e.leaf, p.salt, p.data \
             FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx \
             WHERE e.idx >= ? ORDER BY e.idx LIMIT ?",
        )
        .bind(number(self.tree.size())?)
        .bind(limit)
        .fetch_all(connection)
        .await?;
        Ok(rows)
    }

    /// Checks one row; false if the order of entries is broken.
    async fn entry(
        &mut self,
        connection: &mut SqliteConnection,
        row: &SqliteRow,
    ) -> Result<bool, LedgerError> {
        let expected = self.tree.size();
        let index = count(row, "idx")?;
        if index != expected {
            self.faults.at(
                expected,
                format!("is missing: the next entry stored has index {index}"),
            );
            return Ok(false);
        }
        let stored = StoredRow::read(row)?;
        let leaf = leaf_hash(&stored.bytes);
        self.tree.push(leaf);
        match Entry::from_bytes(&stored.bytes) {
            Err(error) => self.unreadable(index, &stored, &error.to_string()),
            Ok(entry) => {
                self.columns(index, &stored, &entry, leaf);
                self.chain(connection, index, &stored, &entry).await?;
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
    fn unreadable(&mut self, index: u64, stored: &StoredRow, reason: &str) {
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
    fn columns(&mut self, index: u64, stored: &StoredRow, entry: &Entry, leaf: TreeHash) {
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
        connection: &mut SqliteConnection,
        index: u64,
        stored: &StoredRow,
        entry: &Entry,
    ) -> Result<(), LedgerError> {
        let payload = stored.payload();
        let mut faults = Vec::new();
        if stored.payload.is_some() && payload.is_none() {
            faults.push("its payload or salt is not what was written".to_owned());
        }
        // Nothing in a ledger erases payloads, so that one which is not there was taken away.
        if stored.payload.is_none() {
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
        connection: &mut SqliteConnection,
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
        let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT bytes FROM blobs WHERE hash = ?")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(connection)
            .await?;
        let fault = blob_fault(entry, hash, bytes.as_deref());
        self.blobs.insert(*hash, fault.clone());
        Ok(fault)
    }
}
