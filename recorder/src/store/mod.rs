//! Where a ledger's tables are: the contract that every database keeps, and the drivers that keep it.
//!
//! The drivers share this contract and one suite of tests, not code: what a database is good at shows in its own statements.
//! All SQL is in them.

mod columns;
mod condition;
#[cfg(test)]
pub(crate) mod contract;
#[cfg(test)]
pub(crate) mod faulty;
mod ledgers;
mod location;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use remembrancer_schema::{ContentHash, EntryHash, SessionId, TreeHash};

use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::session::SessionSummary;
use crate::token::KeyRow;
use crate::tree::FullTile;

pub use condition::MigrationStep;
pub(crate) use condition::{condition, migrations, next_step_for_version};
pub(crate) use ledgers::ledgers;
pub(crate) use location::WORKSPACE_DEFAULT;
pub use location::{BadWorkspaceName, DatabaseUrl, LedgerLocation, WorkspaceName};

pub(crate) type Result<T> = std::result::Result<T, LedgerError>;

/// What a ledger is, as its row says.
#[derive(Debug, Clone)]
pub(crate) struct IdentityRow {
    pub(crate) origin: String,
    /// SPKI PEM.
    pub(crate) public_key: String,
    /// When it was made.
    pub(crate) created: String,
}

/// An entry with its payload, as stored: nothing of it is judged yet.
#[derive(Debug, Clone)]
pub(crate) struct EntryRow {
    pub(crate) index: i64,
    pub(crate) session_no: i64,
    pub(crate) sequence: i64,
    pub(crate) event: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Vec<u8>,
    pub(crate) leaf: Vec<u8>,
    /// Salt of the payload's commitment.
    pub(crate) salt: Option<Vec<u8>>,
    pub(crate) data: Option<Vec<u8>>,
}

/// A signed root as stored.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointRow {
    pub(crate) size: u64,
    pub(crate) root: Vec<u8>,
    pub(crate) note: String,
}

/// How many rows no entry explains, by table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strays {
    pub(crate) entries: i64,
    pub(crate) payloads: i64,
    pub(crate) checkpoints: i64,
    pub(crate) tiles: i64,
}

/// An entry to be written, with its payload.
#[derive(Debug)]
pub(crate) struct NewEntry {
    pub(crate) index: u64,
    pub(crate) session_no: i64,
    pub(crate) sequence: u64,
    pub(crate) event: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: EntryHash,
    pub(crate) leaf: TreeHash,
    pub(crate) salt: [u8; 32],
    pub(crate) data: Bytes,
}

/// A blob to be written. One that has a row already is as new again by that, and else stays as it is.
#[derive(Debug, Clone)]
pub(crate) struct NewBlob {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    /// Its bytes, if they are kept in the database; otherwise they lie in the blob store already.
    pub(crate) inline: Option<Bytes>,
    /// The present moment.
    pub(crate) stored: String,
}

/// What the database says of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobRow {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    /// Whether its bytes are in the database.
    pub(crate) is_inline: bool,
    /// When it was last uploaded.
    pub(crate) stored: String,
}

/// A blob that the garbage collection is removing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CondemnedBlob {
    pub(crate) hash: ContentHash,
    /// Since when.
    pub(crate) since: String,
}

/// A signed root to be written.
#[derive(Debug)]
pub(crate) struct NewCheckpoint {
    pub(crate) size: u64,
    pub(crate) root: TreeHash,
    pub(crate) note: String,
}

/// What a group adds besides entries.
#[derive(Debug, Default)]
pub(crate) struct GroupRows {
    pub(crate) tiles: Vec<FullTile>,
    /// New and changed sessions.
    pub(crate) sessions: Vec<SessionSummary>,
    pub(crate) blobs: Vec<NewBlob>,
    /// Marks of the garbage collection that are taken away, because it was given up long ago.
    pub(crate) pardoned_blobs: Vec<CondemnedBlob>,
    /// Of the new size; there if there are entries.
    pub(crate) checkpoint: Option<NewCheckpoint>,
    /// Ids of admin acts that are entries now: they stop waiting.
    pub(crate) acts: Vec<String>,
}

impl GroupRows {
    pub(crate) fn is_empty(&self) -> bool {
        self.blobs.is_empty() && self.pardoned_blobs.is_empty() && self.acts.is_empty()
    }
}

/// Most rows, and most bytes, that one page takes. A page has at least one row if there is one, however large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    pub(crate) rows: u32,
    pub(crate) bytes: usize,
}

/// A page of entries.
#[derive(Debug, Default)]
pub(crate) struct EntryPage {
    pub(crate) rows: Vec<EntryRow>,
    /// Whether there are more behind it.
    pub(crate) has_more: bool,
}

/// One connection, for reading. What it reads is committed, or written by its own group. Rows that cannot be what was
/// written are an error ([`LedgerError::Damaged`] or the database's own), never left out.
#[async_trait]
pub(crate) trait Connection: Send {
    /// What the ledger is; `None` before it is made.
    async fn identity(&mut self) -> Result<Option<IdentityRow>>;
    /// Number of entries.
    async fn size(&mut self) -> Result<u64>;

    /// A session by its id.
    async fn session(&mut self, id: &SessionId) -> Result<Option<SessionSummary>>;
    /// A session by its number.
    async fn session_by_number(&mut self, number: i64) -> Result<Option<SessionSummary>>;
    /// Sessions that have a label, oldest first, at most `limit`.
    async fn sessions_labelled(&mut self, label: &str, limit: u32) -> Result<Vec<SessionSummary>>;
    /// How many sessions have a label.
    async fn count_labelled(&mut self, label: &str) -> Result<u64>;
    /// Sessions with a number below `before`, newest first.
    async fn sessions_before(&mut self, before: i64, limit: u32) -> Result<Vec<SessionSummary>>;
    /// Sessions with a number above `after`, oldest first.
    async fn sessions_after(&mut self, after: i64, limit: u32) -> Result<Vec<SessionSummary>>;
    /// Sessions that a session started, oldest first.
    async fn children(&mut self, parent: &SessionId, limit: u32) -> Result<Vec<SessionSummary>>;

    /// Entries of a session with a sequence number above `after`, in order.
    async fn session_entries(
        &mut self,
        session_no: i64,
        after: i64,
        limits: PageLimits,
    ) -> Result<EntryPage>;
    /// How many entries a session has.
    async fn count_session_entries(&mut self, session_no: i64) -> Result<u64>;
    /// Entries of the ledger from an index on, in order.
    async fn entries(&mut self, from: u64, limits: PageLimits) -> Result<EntryPage>;

    /// Leaf hashes of entries `start..end`, in order: those that are there.
    async fn leaves(&mut self, start: u64, end: u64) -> Result<Vec<Vec<u8>>>;
    /// A full tile.
    async fn tile(&mut self, level: u32, tile: u64) -> Result<Option<Vec<u8>>>;
    /// Full tiles `start..end` of a level, in order: those that are there.
    async fn tiles(&mut self, level: u32, start: u64, end: u64) -> Result<Vec<Vec<u8>>>;

    /// The checkpoint of the greatest size.
    async fn newest_checkpoint(&mut self) -> Result<Option<CheckpointRow>>;
    /// The first checkpoint of at least a size.
    async fn checkpoint_from(&mut self, size: u64) -> Result<Option<CheckpointRow>>;
    /// Checkpoints of sizes above `after` up to `last`, in order.
    async fn checkpoints(&mut self, after: u64, last: u64) -> Result<Vec<CheckpointRow>>;

    /// The rows of blobs among these, in any order.
    async fn blob_rows(&mut self, hashes: &[ContentHash]) -> Result<Vec<BlobRow>>;
    /// Rows of inline blobs with a hash above `after`, in the order of their hashes.
    async fn inline_blob_rows(
        &mut self,
        after: Option<&ContentHash>,
        limit: u32,
    ) -> Result<Vec<BlobRow>>;
    /// The bytes of an inline blob, as stored.
    async fn inline_blob(&mut self, hash: &ContentHash) -> Result<Option<Vec<u8>>>;
    /// Whether any blob lies outside of the database.
    async fn has_blobs_outside(&mut self) -> Result<bool>;
    /// The blobs among these, or all if `None`, that the garbage collection is removing.
    async fn condemned_blobs(
        &mut self,
        among: Option<&[ContentHash]>,
    ) -> Result<Vec<CondemnedBlob>>;
    /// Index and bytes of entries from an index on, in order, without their payloads.
    async fn entry_bytes(&mut self, from: u64, limit: u32) -> Result<Vec<(i64, Vec<u8>)>>;

    /// A bearer key by its id, revoked ones included.
    async fn key(&mut self, id: &str) -> Result<Option<KeyRow>>;
    /// All bearer keys, oldest first.
    async fn keys(&mut self) -> Result<Vec<KeyRow>>;

    /// Counts rows that no entry of a ledger of this size, with this many full tiles above level 0, explains.
    async fn strays(&mut self, size: u64, tiles: u64) -> Result<Strays>;
    /// What the database finds wrong with its own structure, in words.
    async fn structure_faults(&mut self) -> Result<Vec<String>>;
}

/// The one connection through which a sequencer writes.
///
/// A group is `begin`, any number of look-ups, any number of `write_entries`, `write` if there is something to write, then
/// `commit`; or `rollback`. From `begin` on no other writer changes the ledger, in this process or another, until the group
/// ends or the database gives up on this writer, which is then told by an error.
#[async_trait]
pub(crate) trait Writer: Send {
    /// Reads what is committed: between `begin` and the first write of a group, the very state that the group stands on.
    /// Whether it also shows what the group has written since is each driver's own matter; nobody asks.
    fn reads(&mut self) -> &mut dyn Connection;

    /// Writes what the ledger is, unless somebody did already.
    async fn write_identity(&mut self, identity: &IdentityRow) -> Result<()>;

    /// Begins a group and says how many entries are stored. An error leaves nothing begun.
    async fn begin(&mut self) -> Result<u64>;
    /// The sessions among these that exist.
    async fn look_up_sessions(&mut self, ids: &[&SessionId]) -> Result<Vec<SessionSummary>>;
    /// The stored entries among these, each named by session number and event id.
    async fn look_up_events(&mut self, events: &[(i64, &str)]) -> Result<Vec<EntryRow>>;
    /// The blobs among these that are stored.
    async fn look_up_blobs(&mut self, hashes: &[ContentHash]) -> Result<Vec<ContentHash>>;
    /// Number of the newest session; 0 if there is none.
    async fn last_session_number(&mut self) -> Result<i64>;
    /// How many entries `write_entries` takes best at a time.
    fn entries_at_once(&self) -> usize;
    /// Writes entries, in order, without a gap from the stored size or the entries before on.
    async fn write_entries(&mut self, entries: Vec<NewEntry>) -> Result<()>;
    /// The bearer keys among these that are there and not revoked.
    async fn look_up_valid_keys(&mut self, ids: &[&str]) -> Result<Vec<String>>;
    /// Admin acts that wait to become entries, oldest first. Also outside of a group.
    async fn look_up_acts(&mut self, limit: u32) -> Result<Vec<AdminActRow>>;
    /// Writes the rest of a group, after its entries. `old_size` is the size on which it was decided: if the ledger had
    /// another one, the answer is [`LedgerError::HeadMoved`], and the group is to be rolled back.
    async fn write(&mut self, old_size: u64, rows: &GroupRows) -> Result<()>;
    /// Writes, in an open group, something that changes nothing: its commit shows that the database takes writes.
    async fn probe(&mut self) -> Result<()>;
    /// Makes the group durable. After an error nobody knows whether it is stored.
    async fn commit(&mut self) -> Result<()>;
    /// Ends the group without a trace. After an error the connection is not to be used again.
    async fn rollback(&mut self) -> Result<()>;

    /// Closes the connection, leaving the files in order.
    async fn close(self: Box<Self>);
}

/// The connection of a command that manages a ledger while a recorder may run on it.
#[async_trait]
pub(crate) trait Administration: Send {
    /// The same connection, for reading.
    fn reads(&mut self) -> &mut dyn Connection;
    /// Takes the head, as a sequencer does for a group: nobody else writes until [`Self::commit`] or [`Self::rollback`].
    /// Says how many entries are stored.
    async fn begin(&mut self) -> Result<u64>;
    /// Makes what was written since durable.
    async fn commit(&mut self) -> Result<()>;
    /// Ends without a trace.
    async fn rollback(&mut self) -> Result<()>;
    /// Marks a blob as being removed and takes its row away; false if it is marked already, by somebody else.
    async fn condemn_blob(&mut self, blob: &CondemnedBlob) -> Result<bool>;
    /// Adds a bearer key and the act of doing so, both or neither.
    async fn add_key(&mut self, key: &KeyRow, act: &AdminActRow) -> Result<()>;
    /// Revokes a bearer key and adds the act of doing so, both or neither, unless it is revoked; false if there is none with
    /// that id.
    async fn revoke_key(&mut self, id: &str, when: &str, act: &AdminActRow) -> Result<bool>;
    /// Replaces what is stored of a key's secret, if it is still `old`.
    async fn replace_secret(&mut self, id: &str, old: &[u8], new: &[u8]) -> Result<()>;
    /// Adds an admin act.
    async fn record_act(&mut self, act: &AdminActRow) -> Result<()>;
    /// Takes these very marks away; one of another time stays.
    async fn release_blobs(&mut self, blobs: &[CondemnedBlob]) -> Result<()>;
}

/// A database that holds a ledger.
#[async_trait]
pub(crate) trait Store: Send + Sync {
    /// A connection for reading. Waits a bounded time for one that is free.
    async fn connection(&self) -> Result<Box<dyn Connection>>;
    /// A connection that sees one state of the ledger for as long as it is kept.
    async fn snapshot(&self) -> Result<Box<dyn Connection>>;
    /// Opens the connection of a sequencer.
    async fn writer(&self) -> Result<Box<dyn Writer>>;
    /// Opens the connection of a managing command.
    async fn administration(&self) -> Result<Box<dyn Administration>>;
    /// Closes the connections for reading. What is read afterwards fails.
    async fn close(&self);
}

/// What stands where a ledger is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// Tables of a version.
    Version(i64),
}

/// Looks what is there, without changing it.
pub(crate) async fn find(location: &LedgerLocation) -> Result<Found> {
    match &location.database {
        None => sqlite::find(&location.folder()).await,
        Some(url) => postgres::find(url, location).await,
    }
}

/// The workspaces beside the default one, by name, whether or not they can be used.
pub(crate) async fn workspaces(location: &LedgerLocation) -> Result<Vec<WorkspaceName>> {
    match &location.database {
        None => sqlite::workspaces(&location.workspaces()),
        Some(url) => postgres::workspaces(url).await,
    }
}

/// The version that this program reads and writes.
pub(crate) fn known_version(location: &LedgerLocation) -> i64 {
    match &location.database {
        None => sqlite::known_version(),
        Some(_) => postgres::known_version(),
    }
}

/// Makes the tables, or brings those of an older version up to date.
pub(crate) async fn migrate(location: &LedgerLocation) -> Result<()> {
    match &location.database {
        None => sqlite::migrate(&location.folder()).await,
        Some(url) => postgres::migrate(url, location).await,
    }
}

/// Opens a ledger of the version that this program knows. Refuses any other, and never makes one.
pub(crate) async fn open(location: &LedgerLocation) -> Result<Arc<dyn Store>> {
    let known = known_version(location);
    match find(location).await? {
        Found::Nothing => Err(LedgerError::NoLedger(location.to_string())),
        Found::Version(found) if found != known => Err(LedgerError::SchemaVersion {
            location: location.to_string(),
            found,
            known,
        }),
        Found::Version(_) => match &location.database {
            None => Ok(Arc::new(
                sqlite::SqliteStore::open(&location.folder()).await?,
            )),
            Some(url) => Ok(Arc::new(
                postgres::PostgresStore::open(url, location).await?,
            )),
        },
    }
}
