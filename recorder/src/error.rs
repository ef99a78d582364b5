//! What can go wrong with a ledger.

use std::path::PathBuf;

use remembrancer_schema::TreeHash;

/// Why a ledger could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no ledger in the folder.
    #[error("{0} holds no ledger; `remembrancer serve` makes one")]
    NoLedger(String),
    /// The ledger was written by another version.
    #[error(
        "the ledger in {location} has schema version {found}, this program knows {known}; {}",
        next_step_for_version(*.found, *.known)
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
         put the right ledger-key.pem back: a ledger does not change its key silently"
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
        "the ledger in {data} exists, but its key file {path} is missing; put it back from your backup"
    )]
    MissingKey {
        /// The data directory.
        data: PathBuf,
        /// The key file.
        path: PathBuf,
    },
    /// Something is left of a ledger, but not its database.
    #[error(
        "{database} holds no ledger, but {found} is left of one; put its ledger.sqlite back from your backup, \
         or move what is left away to begin a new ledger"
    )]
    MissingDatabase {
        /// Where the database should be.
        database: PathBuf,
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
    /// This program cannot use the database.
    #[error("{0} is not a database that this program can use")]
    UnsupportedDatabase(String),
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
    /// More bytes than a blob may have.
    #[error("the blob has {bytes} bytes; at most {max} are allowed")]
    BlobTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
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
    /// A migration failed.
    #[error("bringing the ledger's tables up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

fn next_step_for_version(found: i64, known: i64) -> &'static str {
    if found < known {
        "bring it up to date with `remembrancer migrate`, after a backup"
    } else {
        "use the newer program that wrote it"
    }
}
