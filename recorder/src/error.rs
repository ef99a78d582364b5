//! What can go wrong with a ledger.

use std::path::PathBuf;

use remembrancer_schema::{ContentHash, TreeHash};

use crate::analyses::AnalysisFailed;
use crate::blob_store::BlobStoreError;

/// Why a ledger could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no ledger in the folder.
    #[error("{0} holds no ledger; `remembrancer serve` makes one")]
    NoLedger(String),
    /// The ledger was written by another version.
    #[error(
        "the ledger in {location} has schema version {found}, this program knows {known}; {}",
        crate::store::next_step_for_version(*.found, *.known)
    )]
    SchemaVersion {
        /// Where the ledger is.
        location: String,
        /// Version of its tables.
        found: i64,
        /// Version known here.
        known: i64,
    },
    /// Another process writes to this ledger.
    #[error(
        "another process writes to the ledger in {0} (its ledger.lock is held); \
         stop it first, or post events to its HTTP API"
    )]
    AlreadyOpen(PathBuf),
    /// The key file and the database do not belong together.
    #[error(
        "the key in {path} is not the one that this ledger was made with; \
         put the right ledger-key.pem back, or copy it from another recorder on the same database: a ledger does not change its \
         key silently"
    )]
    WrongKey {
        /// The key file.
        path: PathBuf,
    },
    /// The key file cannot be used.
    #[error("the key file {path} cannot be used: {reason}")]
    BadKey {
        /// The key file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The key of an existing ledger is gone.
    #[error(
        "the ledger in {data} exists, but its key file {path} is missing; put it back from your backup, or copy it from another \
         recorder on the same database"
    )]
    MissingKey {
        /// The data directory.
        data: PathBuf,
        /// The key file.
        path: PathBuf,
    },
    /// Something is left of a ledger, but not its database.
    #[error(
        "{database} holds no ledger, but {found} is left of one; put its database back from your backup (ledger.sqlite, or \
         the schema on the server), or move what is left away to begin a new ledger"
    )]
    MissingDatabase {
        /// Where the database should be.
        database: String,
        /// What is left.
        found: PathBuf,
    },
    /// The database has fewer entries than a checkpoint that it signed.
    #[error(
        "the database is older than the checkpoint kept outside it: a rolled-back copy ({path} states {stated} entries, {stored} \
         are stored); put the newest database back, or, to go on from the older one knowing that entries are lost, move that \
         file away"
    )]
    RolledBack {
        /// The copy of the checkpoint.
        path: PathBuf,
        /// Entries that it states.
        stated: u64,
        /// Entries that are stored.
        stored: u64,
    },
    /// The copy of the checkpoint is not of this database.
    #[error(
        "{path} is not a checkpoint of this database: {reason}; run `remembrancer verify --data DIR`, and put the file and \
         the database back that belong together"
    )]
    BadCheckpointCopy {
        /// The copy of the checkpoint.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A folder that should be new holds something.
    #[error(
        "{0} is not empty; name a folder that does not exist, or an empty one: nothing is written over"
    )]
    NotEmpty(PathBuf),
    /// A folder is no backup that can be restored.
    #[error(
        "{folder} is not a complete backup: {reason}; name the folder that `remembrancer backup --to` wrote, with its backup.json"
    )]
    NotABackup {
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// A backup is not written to: it would no longer be what its manifest says, and a second history beside the original's.
    #[error(
        "{0} is a backup (it has a backup.json), not a data directory; restore it with `remembrancer restore --from {path} \
         --data DIR`", path = .0.display()
    )]
    IsABackup(PathBuf),
    /// A server's database is backed up by its own means.
    #[error(
        "{0} is backed up by PostgreSQL's own means: pg_dump for one state, or a base backup with archived WAL for any \
         moment; then verify what was restored from it with `remembrancer verify`"
    )]
    BackupOfServer(String),
    /// An origin was asked for that is not this ledger's.
    #[error(
        "this ledger's origin is {found}, not {asked}; an origin is fixed when the ledger is made"
    )]
    WrongOrigin {
        /// The ledger's origin.
        found: String,
        /// The one asked for.
        asked: String,
    },
    /// Stored tree and newest signed checkpoint disagree.
    #[error(
        "the ledger's entries have the Merkle root {computed} at size {size}, but its newest checkpoint says {stated}: \
         something changed the file; run `remembrancer verify --data DIR` to find the first bad entry, and restore a backup"
    )]
    RootMismatch {
        /// Number of entries.
        size: u64,
        /// Root computed from tiles and leaves.
        computed: TreeHash,
        /// Root and size that the checkpoint states, in words.
        stated: String,
    },
    /// The newest checkpoint is not signed by this ledger's key.
    #[error(
        "the newest checkpoint (size {size}) is not valid: {reason}; run `remembrancer verify --data DIR`"
    )]
    BadCheckpoint {
        /// Its size.
        size: u64,
        /// Why.
        reason: String,
    },
    /// Something stored cannot be what was written.
    #[error("entry {index} is damaged: {reason}; run `remembrancer verify --data DIR`")]
    Corrupt {
        /// Index of the entry.
        index: u64,
        /// What is wrong.
        reason: String,
    },
    /// Something stored beside the entries cannot be what was written.
    #[error("the ledger file is damaged: {0}; run `remembrancer verify --data DIR`")]
    Damaged(String),
    /// No session by this name.
    #[error("no session is named {0:?}; `remembrancer sessions` lists them")]
    NoSession(String),
    /// Several sessions share the label.
    #[error("{count} sessions have the label {label:?}: name one by its id")]
    AmbiguousLabel {
        /// The label.
        label: String,
        /// How many have it.
        count: u64,
    },
    /// A cursor that this ledger did not give out.
    #[error("{0:?} is not a cursor of this list; leave it away to start from the beginning")]
    BadCursor(String),
    /// An index or size outside the ledger.
    #[error("{what} {value} is out of range: {allowed}")]
    OutOfRange {
        /// Which parameter.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// No bearer key by this id.
    #[error("no key has the id {0:?}; `remembrancer tokens list` shows them")]
    NoToken(String),
    /// A key's name is empty, too long, or has control characters.
    #[error(
        "a key's name has 1 to 100 characters and no control characters; {0:?} is not such a name"
    )]
    TokenName(String),
    /// Too many wrong secrets came for a key that was not right yet, or too many keys at once.
    #[error("too many attempts with this key; try again in {seconds} seconds")]
    TooManyAttempts {
        /// How long to wait.
        seconds: u64,
    },
    /// A request's key was revoked before its group was written. Nothing of the request was stored.
    #[error("this key is unknown or revoked")]
    KeyRefused,
    /// The hash of a key's secret could not be computed.
    #[error("hashing a key: {0}")]
    Hashing(String),
    /// The queue is full; nothing was stored.
    #[error("the ledger cannot keep up at the moment; nothing was stored, try again shortly")]
    Busy,
    /// The ledger has another size than a group was decided on: somebody else wrote. Nothing was written.
    #[error(
        "the ledger has {stored} entries where {expected} were expected: somebody else wrote; nothing was stored"
    )]
    HeadMoved {
        /// Size that the group was decided on.
        expected: u64,
        /// Size that is stored.
        stored: u64,
    },
    /// There is no such workspace, or it is not finished.
    #[error(
        "{location} holds no workspace {workspace}; `remembrancer workspaces create {workspace}` makes it"
    )]
    NoWorkspace {
        /// Its name.
        workspace: String,
        /// Where it should be.
        location: String,
    },
    /// The workspace is there.
    #[error("there is a workspace {0} already; `remembrancer workspaces list` shows it")]
    WorkspaceExists(String),
    /// Another ledger of the same place has the origin.
    #[error(
        "the workspace {workspace} has the origin {origin} already; give another one with --origin"
    )]
    OriginTaken {
        /// The origin.
        origin: String,
        /// Which workspace has it.
        workspace: String,
    },
    /// The default workspace's origin is too long to be a part of another one.
    #[error(
        "the origin of the default workspace, a slash and {0} are too long for an origin; give one with --origin"
    )]
    LongOrigin(String),
    /// A server has as many workspaces open as it may.
    #[error("{max} other workspaces are open, and no more may be; raise the limit workspaces_max")]
    TooManyWorkspaces {
        /// The limit.
        max: usize,
    },
    /// A workspace's ledger does not open at the moment.
    #[error("the workspace {workspace} cannot be used: {reason}")]
    WorkspaceUnavailable {
        /// Its name.
        workspace: String,
        /// Why.
        reason: String,
    },
    /// An analysis ended without a result.
    #[error(transparent)]
    Analysis(#[from] AnalysisFailed),
    /// The database server cannot be reached, or does not let this program in.
    #[error(
        "the database {database} cannot be used: {source}; check its address, and that the server runs and knows the user"
    )]
    NoDatabase {
        /// Its address, without a password.
        database: String,
        /// What happened.
        source: sqlx::Error,
    },
    /// The database server is not fit to hold a ledger.
    #[error("the database {database} cannot hold a ledger: {reason}")]
    UnfitDatabase {
        /// Its address, without a password.
        database: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The database did not answer in time.
    #[error("the database gave no answer within {0} s")]
    NoAnswer(u64),
    /// The group was rolled back.
    #[error("nothing was stored: {0}")]
    NotStored(String),
    /// Nobody knows whether the group was stored; the ledger is opened anew, which reads what is there.
    #[error(
        "it is unknown whether this was stored ({0}): send it again, ids tell duplicates apart"
    )]
    InDoubt(String),
    /// The ledger is closed, or cannot be opened anew for the moment.
    #[error("the ledger does not write ({0}); what was acknowledged is safe")]
    Stopped(String),
    /// The store of blobs did not do what was asked.
    #[error(transparent)]
    BlobStore(#[from] BlobStoreError),
    /// A blob is recorded, but its bytes are nowhere.
    #[error(
        "blob {hash}{} is missing: {place} holds nothing; put its bytes back there from a backup, or upload them again",
        of_entry(*.entry)
    )]
    BlobMissing {
        /// The blob.
        hash: ContentHash,
        /// Where its bytes should be.
        place: String,
        /// Index of the entry that introduces it, if it was read for one.
        entry: Option<u64>,
    },
    /// Other bytes stand where a blob's should be.
    #[error(
        "blob {hash}{} is damaged: {place} holds other bytes than its address says ({reason}); \
         put the right ones back from a backup",
        of_entry(*.entry)
    )]
    BlobDamaged {
        /// The blob.
        hash: ContentHash,
        /// Where its bytes should be.
        place: String,
        /// What stands there.
        reason: String,
        /// Index of the entry that introduces it, if it was read for one.
        entry: Option<u64>,
    },
    /// A garbage collection that was slower than its marks hold.
    #[error("removing garbage took too long and was ended; run it again in a quarter of an hour")]
    GarbageTooSlow,
    /// The garbage collection is removing the same blob; nothing was stored.
    #[error(
        "blob {0} is being removed as garbage at this moment; nothing was stored, send it again shortly"
    )]
    BlobCondemned(ContentHash),
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes: {0}")]
    Random(String),
    /// A file operation failed.
    #[error("{what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// The database failed.
    #[error("the ledger's database: {0}")]
    Database(#[from] sqlx::Error),
    /// The database failed, told by the driver of a sequencer on SQLite. Means what [`Self::Database`] does.
    #[error("the ledger's database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A migration failed.
    #[error("bringing the ledger's tables up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl LedgerError {
    /// What a reader of the record is told of a blob whose bytes are not there, without where they should be: that may be a
    /// path or a bucket.
    pub fn blob_loss(&self) -> Option<String> {
        let (hash, entry, what) = match self {
            Self::BlobMissing { hash, entry, .. } => (
                hash,
                *entry,
                "is missing: its bytes are gone from this ledger's store",
            ),
            Self::BlobDamaged { hash, entry, .. } => (
                hash,
                *entry,
                "is damaged: other bytes stand under its address",
            ),
            Self::BlobStore(BlobStoreError::Occupied { hash, .. }) => (
                hash,
                None,
                "cannot be stored: other bytes stand under its address",
            ),
            _ => return None,
        };
        Some(format!("blob {hash}{} {what}", of_entry(entry)))
    }
}

fn of_entry(index: Option<u64>) -> String {
    index.map_or_else(String::new, |index| format!(" of entry {index}"))
}
