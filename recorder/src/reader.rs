//! The ledger opened for reading.

use std::path::Path;
use std::sync::Arc;

use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{Origin, SessionId};

use crate::blob_store::{BlobLocation, BlobStore};
use crate::error::LedgerError;
use crate::ledger::Identity;
use crate::session::{Page, SessionSummary};
use crate::store::{self, Administration, Connection, EntryRow, LedgerLocation, PageLimits, Store};
use crate::token::{KeyGate, Principal};

pub(crate) use blob::MISSING_HASHES_MAX;
pub use entry::StoredEntry;
use paging::{ENTRIES_CURSOR, SESSIONS_CURSOR, cursor, page, parse_cursor};
pub use record::Behind;

/// Most items that one page of a list holds.
pub const PAGE_ITEMS_MAX: u32 = 1000;
/// Bytes of entries and payloads after which a page takes no further entry.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A ledger opened for reading (read-only). Cheap to clone. Sees what is committed while a recorder writes.
#[derive(Clone)]
pub struct Reader(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    location: LedgerLocation,
    directory: std::path::PathBuf,
    identity: Identity,
    blobs: BlobStore,
    keys: KeyGate,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({})", self.origin())
    }
}

impl Reader {
    /// Opens a ledger. Refuses to create one.
    pub async fn open(location: impl Into<LedgerLocation>) -> Result<Self, LedgerError> {
        let location = location.into();
        let store = store::open(&location).await?;
        Self::over(store, location).await
    }

    pub(crate) async fn over(
        store: Arc<dyn Store>,
        location: LedgerLocation,
    ) -> Result<Self, LedgerError> {
        let identity = store
            .connection()
            .await?
            .identity()
            .await?
            .ok_or_else(|| LedgerError::NoLedger(location.to_string()))?;
        let blobs = BlobStore::connect(BlobLocation::of(&location)?)?;
        Ok(Self(Arc::new(Inner {
            blobs,
            identity: Identity::from_row(&identity)?,
            keys: KeyGate::new(Arc::clone(&store), location.workspace.clone())?,
            store,
            directory: location.directory(),
            location,
        })))
    }

    /// The ledger's name.
    pub fn origin(&self) -> &Origin {
        &self.0.identity.origin
    }

    /// The ledger's public key, as its database says.
    pub fn public_key(&self) -> &PublicKey {
        &self.0.identity.public_key
    }

    /// The folder of the ledger's files: its keys, the copy of its newest checkpoint, and its database if that is a file.
    pub fn data_dir(&self) -> &Path {
        &self.0.directory
    }

    /// Where the ledger is.
    pub fn location(&self) -> &LedgerLocation {
        &self.0.location
    }

    pub(crate) async fn connection(&self) -> Result<Box<dyn Connection>, LedgerError> {
        self.0.store.connection().await
    }

    pub(crate) async fn snapshot(&self) -> Result<Box<dyn Connection>, LedgerError> {
        self.0.store.snapshot().await
    }

    pub(crate) async fn administration(&self) -> Result<Box<dyn Administration>, LedgerError> {
        self.0.store.administration().await
    }

    /// Closes the connections. What is read afterwards fails.
    pub async fn close(&self) {
        self.0.store.close().await;
    }

    /// Number of entries.
    pub async fn size(&self) -> Result<u64, LedgerError> {
        self.connection().await?.size().await
    }

    /// Sessions, newest first.
    pub async fn sessions(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<SessionSummary>, LedgerError> {
        let before = match after {
            None => i64::MAX,
            Some(cursor) => parse_cursor(SESSIONS_CURSOR, cursor)?,
        };
        let limit = limit.clamp(1, PAGE_ITEMS_MAX);
        let items = self
            .connection()
            .await?
            .sessions_before(before, limit + 1)
            .await?;
        Ok(page(items, limit, |last: &SessionSummary| {
            cursor(SESSIONS_CURSOR, last.number)
        }))
    }

    /// A session by its id, or by its label if that is unique.
    pub async fn find_session(&self, name: &str) -> Result<SessionSummary, LedgerError> {
        if let Ok(id) = name.parse::<SessionId>()
            && let Some(session) = self.session(&id).await?
        {
            return Ok(session);
        }
        let mut connection = self.connection().await?;
        let mut labelled = connection.sessions_labelled(name, 2).await?;
        match (labelled.pop(), labelled.is_empty()) {
            (None, _) => Err(LedgerError::NoSession(name.chars().take(256).collect())),
            (Some(session), true) => Ok(session),
            (Some(_), false) => Err(LedgerError::AmbiguousLabel {
                label: name.to_owned(),
                count: connection.count_labelled(name).await?,
            }),
        }
    }

    /// A session by its id alone.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>, LedgerError> {
        self.connection().await?.session(id).await
    }

    /// A session by its number.
    pub async fn session_by_number(
        &self,
        number: i64,
    ) -> Result<Option<SessionSummary>, LedgerError> {
        self.connection().await?.session_by_number(number).await
    }

    /// Sub-agent sessions whose parent is this one: the first [`PAGE_ITEMS_MAX`].
    pub async fn children(&self, session: &SessionId) -> Result<Vec<SessionSummary>, LedgerError> {
        self.connection()
            .await?
            .children(session, PAGE_ITEMS_MAX)
            .await
    }

    /// A session's entries in order: at most `limit`, and no more after the first ones that make eight megabytes.
    pub async fn session_entries(
        &self,
        session: &SessionSummary,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<StoredEntry>, LedgerError> {
        let after = match after {
            None => -1,
            Some(cursor) => parse_cursor(ENTRIES_CURSOR, cursor)?,
        };
        let limits = page_limits(limit.clamp(1, PAGE_ITEMS_MAX));
        let found = self
            .connection()
            .await?
            .session_entries(session.number, after, limits)
            .await?;
        let last = found.rows.last().map(|row| row.sequence);
        Ok(Page {
            next: last
                .filter(|_| found.has_more)
                .map(|last| cursor(ENTRIES_CURSOR, last)),
            items: stored(found.rows)?,
        })
    }

    /// Entries of the whole ledger from an index on: at most `limit`, and no more after the first ones that make eight
    /// megabytes.
    pub async fn entries_from(
        &self,
        index: u64,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, LedgerError> {
        let found = self
            .connection()
            .await?
            .entries(index, page_limits(limit))
            .await?;
        stored(found.rows)
    }

    /// Who a bearer key speaks for; `None` for a key that is unknown, wrong, revoked or of another workspace. Its row is read
    /// each time, so that a revocation holds at once.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Principal>, LedgerError> {
        self.0.keys.authenticate(token).await
    }

    pub(crate) fn keys(&self) -> &KeyGate {
        &self.0.keys
    }

    /// Whether a bearer key with the role `read` or `admin` is this one (constant time). Used by the viewer's login.
    pub async fn may_read(&self, token: &str) -> Result<bool, LedgerError> {
        Ok(self
            .authenticate(token)
            .await?
            .is_some_and(|principal| principal.role.may_read()))
    }

    /// Whether the key with an id may still read: it is there, not revoked, and has the role `read` or `admin`.
    pub async fn is_reading_key(&self, id: &str) -> Result<bool, LedgerError> {
        let row = self.connection().await?.key(id).await?;
        row.map_or(Ok(false), |row| row.may_still_read())
    }
}

pub(crate) mod blob;
mod entry;
mod paging;
mod proofs;
mod record;
mod tiles;

fn page_limits(rows: u32) -> PageLimits {
    PageLimits {
        rows,
        bytes: PAGE_BYTES_MAX,
    }
}

fn stored(rows: Vec<EntryRow>) -> Result<Vec<StoredEntry>, LedgerError> {
    rows.into_iter().map(StoredEntry::from_row).collect()
}

#[cfg(test)]
mod tests;
