//! The ledger opened for reading.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{ContentHash, Origin, SessionId};
use sqlx::{Row as _, SqlitePool};

use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::ledger::{Identity, read_identity};
use crate::session::{self, Page, SessionSummary, count, select_sessions};
use crate::store;
use crate::token::{self, Principal};
use crate::tree::number;

pub use entry::StoredEntry;
use paging::{ENTRIES_CURSOR, SESSIONS_CURSOR, cursor, page, parse_cursor};

/// Most items that one page of a list holds.
pub const PAGE_ITEMS_MAX: u32 = 1000;
/// Bytes of entries and payloads after which a page takes no further entry.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A ledger opened for reading (read-only). Cheap to clone. Sees what is committed while a recorder writes.
#[derive(Clone)]
pub struct Reader(Arc<Inner>);

struct Inner {
    pool: SqlitePool,
    data: PathBuf,
    identity: Identity,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({})", self.origin())
    }
}

impl Reader {
    /// Opens the ledger in a data directory. Refuses to create one.
    pub async fn open(data: &Path) -> Result<Self, LedgerError> {
        let file = DataDir::new(data).database();
        if !file.exists() {
            return Err(LedgerError::NoLedger(data.to_owned()));
        }
        let pool = store::reading(&file).await?;
        check_version(&pool, data).await?;
        let identity = read_identity(&mut *pool.acquire().await?)
            .await?
            .ok_or_else(|| LedgerError::NoLedger(data.to_owned()))?;
        Ok(Self(Arc::new(Inner {
            pool,
            data: data.to_owned(),
            identity,
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

    /// The data directory.
    pub fn data_dir(&self) -> &Path {
        &self.0.data
    }

    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.0.pool
    }

    /// Closes the connections. What is read afterwards fails.
    pub async fn close(&self) {
        self.0.pool.close().await;
    }

    /// Number of entries.
    pub async fn size(&self) -> Result<u64, LedgerError> {
        let row = sqlx::query("SELECT coalesce(max(idx) + 1, 0) AS size FROM entries")
            .fetch_one(&self.0.pool)
            .await?;
        count(&row, "size")
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
        let rows = sqlx::query(select_sessions!("WHERE no < ? ORDER BY no DESC LIMIT ?"))
            .bind(before)
            .bind(limit + 1)
            .fetch_all(&self.0.pool)
            .await?;
        let items = rows
            .iter()
            .map(session::from_row)
            .collect::<Result<_, _>>()?;
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
        let rows = sqlx::query(select_sessions!("WHERE label = ? ORDER BY no LIMIT 2"))
            .bind(name)
            .fetch_all(&self.0.pool)
            .await?;
        match rows.as_slice() {
            [] => Err(LedgerError::NoSession(name.chars().take(256).collect())),
            [row] => session::from_row(row),
            _ => {
                let row = sqlx::query("SELECT count(*) AS count FROM sessions WHERE label = ?")
                    .bind(name)
                    .fetch_one(&self.0.pool)
                    .await?;
                Err(LedgerError::AmbiguousLabel {
                    label: name.to_owned(),
                    count: count(&row, "count")?,
                })
            }
        }
    }

    /// A session by its id alone.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>, LedgerError> {
        session::by_id(&mut *self.0.pool.acquire().await?, id).await
    }

    /// A session by its number.
    pub async fn session_by_number(
        &self,
        number: i64,
    ) -> Result<Option<SessionSummary>, LedgerError> {
        sqlx::query(select_sessions!("WHERE no = ?"))
            .bind(number)
            .fetch_optional(&self.0.pool)
            .await?
            .as_ref()
            .map(session::from_row)
            .transpose()
    }

    /// Sub-agent sessions whose parent is this one: the first [`PAGE_ITEMS_MAX`].
    pub async fn children(&self, session: &SessionId) -> Result<Vec<SessionSummary>, LedgerError> {
        sqlx::query(select_sessions!("WHERE parent = ? ORDER BY no LIMIT ?"))
            .bind(session.as_str())
            .bind(PAGE_ITEMS_MAX)
            .fetch_all(&self.0.pool)
            .await?
            .iter()
            .map(session::from_row)
            .collect()
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
        let limit = limit.clamp(1, PAGE_ITEMS_MAX);
        let mut rows = sqlx::query(
            "SELECT e.sequence, e.idx, e.bytes, e.hash, p.salt, p.data \
             FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx \
             WHERE e.session_no = ? AND e.sequence > ? ORDER BY e.sequence LIMIT ?",
        )
        .bind(session.number)
        .bind(after)
        .bind(limit + 1)
        .fetch(&self.0.pool);
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let (mut bytes, mut last) = (0_usize, after);
        while let Some(row) = rows.try_next().await? {
            if page.items.len() == limit as usize || bytes >= PAGE_BYTES_MAX {
                page.next = Some(cursor(ENTRIES_CURSOR, last));
                break;
            }
            let stored = StoredEntry::from_row(&row)?;
            bytes = bytes
                .saturating_add(stored.bytes.len())
                .saturating_add(stored.data.as_ref().map_or(0, String::len));
            last = row.try_get("sequence")?;
            page.items.push(stored);
        }
        Ok(page)
    }

    /// Entries of the whole ledger from an index on, at most `limit`.
    pub async fn entries_from(
        &self,
        index: u64,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, LedgerError> {
        sqlx::query(
            "SELECT e.idx, e.bytes, e.hash, p.salt, p.data \
             FROM entries AS e LEFT JOIN payloads AS p ON p.idx = e.idx \
             WHERE e.idx >= ? ORDER BY e.idx LIMIT ?",
        )
        .bind(number(index)?)
        .bind(limit)
        .fetch_all(&self.0.pool)
        .await?
        .iter()
        .map(StoredEntry::from_row)
        .collect()
    }

    /// A blob's bytes. They are what hashes to the address, or this is an error.
    pub async fn blob(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, LedgerError> {
        let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT bytes FROM blobs WHERE hash = ?")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(&self.0.pool)
            .await?;
        match bytes {
            Some(bytes) if ContentHash::of(&bytes) != *hash => Err(LedgerError::Damaged(format!(
                "blob {hash} has other bytes than its address says"
            ))),
            bytes => Ok(bytes),
        }
    }

    /// Who a bearer key speaks for; `None` for a key that is unknown, wrong or revoked. Read from the database each time, so
    /// that a revocation holds at once.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Principal>, LedgerError> {
        token::authenticate(&self.0.pool, token).await
    }

    /// Whether a bearer key with the role `read` or `admin` is this one (constant time). Used by the viewer's login.
    pub async fn may_read(&self, token: &str) -> Result<bool, LedgerError> {
        Ok(self
            .authenticate(token)
            .await?
            .is_some_and(|principal| principal.role.may_read()))
    }
}

mod entry;
mod paging;
mod proofs;
mod record;

async fn check_version(pool: &SqlitePool, data: &Path) -> Result<(), LedgerError> {
    let tables: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'",
    )
    .fetch_one(pool)
    .await?;
    if tables == 0 {
        return Err(LedgerError::NoLedger(data.to_owned()));
    }
    let found: i64 =
        sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success")
            .fetch_one(pool)
            .await?;
    let known = store::known_version();
    if found == known {
        return Ok(());
    }
    Err(LedgerError::SchemaVersion {
        path: data.to_owned(),
        found,
        known,
    })
}

#[cfg(test)]
mod tests;
