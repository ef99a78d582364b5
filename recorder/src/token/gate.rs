//! Checks keys, fast for a key that was right before, and without letting wrong ones take the machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remembrancer_schema::ContentHash;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::text::KeyText;
use super::{KeyRow, Principal, Role, secret};
use crate::error::LedgerError;
use crate::random;
use crate::store::{Store, WorkspaceName};

/// Hashes computed at the same time: each takes a thread and 19 MiB.
const HASHES_MAX: usize = 2;
/// How long a key waits for its hash to be computed.
const HASH_WAIT: Duration = Duration::from_secs(10);
/// Wrong secrets for one key within [`FAILURES_WINDOW`] after which it has to wait, unless it was right before.
const FAILURES_MAX: u32 = 10;
const FAILURES_WINDOW: Duration = Duration::from_secs(60);
/// Most keys that are remembered, as right or as failed. A ledger has as many as people made; beyond this, all are checked anew.
const REMEMBERED_MAX: usize = 10_000;

/// Checks the keys of one ledger.
///
/// A key's row is read for each request, so that a revocation holds at once. Computing the hash of its secret takes tens of
/// milliseconds on purpose; so a key that was right once is remembered, by what is stored of it and a keyed hash of its secret.
pub(crate) struct KeyGate {
    store: Arc<dyn Store>,
    workspace: WorkspaceName,
    /// Drawn anew in each process: what is remembered of a secret is of no use elsewhere.
    hash_key: [u8; 32],
    right: Mutex<HashMap<String, Right>>,
    failures: Mutex<HashMap<String, Failures>>,
    hashing: Arc<Semaphore>,
}

/// Whom a request speaks for, as far as what it may do depends on it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The key's id.
    pub(crate) id: Arc<str>,
    pub(crate) role: Role,
    /// Whether the key is known from memory alone: it may be revoked since.
    pub(crate) is_recognised: bool,
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self {
            id: principal.id.into(),
            role: principal.role,
            is_recognised: false,
        }
    }
}

/// A key that was right.
struct Right {
    caller: Caller,
    /// What was stored of its secret then.
    stored: Vec<u8>,
    secret_hash: [u8; 32],
}

/// Wrong secrets for one key.
struct Failures {
    count: u32,
    since: Instant,
}

impl KeyGate {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        workspace: WorkspaceName,
    ) -> Result<Self, LedgerError> {
        Ok(Self {
            store,
            workspace,
            hash_key: random::bytes()?,
            right: Mutex::default(),
            failures: Mutex::default(),
            hashing: Arc::new(Semaphore::new(HASHES_MAX)),
        })
    }

    /// Who a key's text speaks for; `None` if it is unknown, wrong, revoked or of another workspace.
    pub(crate) async fn authenticate(&self, text: &str) -> Result<Option<Principal>, LedgerError> {
        let Some(key) = self.read(text) else {
            return Ok(None);
        };
        let row = self.store.connection().await?.key(key.id).await?;
        let Some(row) = row.filter(|row| row.revoked.is_none()) else {
            self.forget(key.id);
            return Ok(None);
        };
        if row.role()? != key.role {
            return Ok(None);
        }
        if let Some(is_right) = self.remembered(&key, &row.secret) {
            return is_right.then(|| principal(row)).transpose();
        }
        self.verify(&key, row).await
    }

    /// Who a key's text speaks for, if it was right before and unless it was revoked meanwhile: the caller must see to that in
    /// another way. Costs one fast hash.
    pub(crate) fn recognise(&self, text: &str) -> Option<Caller> {
        let key = self.read(text)?;
        let given = self.secret_hash(&key);
        let right = self.right();
        let known = right.get(key.id)?;
        let is_right = bool::from(given.ct_eq(&known.secret_hash));
        (is_right && known.caller.role == key.role).then(|| Caller {
            is_recognised: true,
            ..known.caller.clone()
        })
    }

    /// Whether a key is there and not revoked.
    pub(crate) async fn is_valid(&self, id: &str) -> Result<bool, LedgerError> {
        let row = self.store.connection().await?.key(id).await?;
        let is_valid = row.is_some_and(|row| row.revoked.is_none());
        if !is_valid {
            self.forget(id);
        }
        Ok(is_valid)
    }

    /// A key that was found revoked is not recognised any more.
    pub(crate) fn forget(&self, id: &str) {
        self.right().remove(id);
    }

    fn read<'a>(&self, text: &'a str) -> Option<KeyText<'a>> {
        KeyText::parse(text).filter(|key| key.workspace == self.workspace.as_str())
    }

    /// Whether a secret is right, as far as memory tells: `None` if the key was not right before, or not with what is stored now.
    fn remembered(&self, key: &KeyText<'_>, stored: &[u8]) -> Option<bool> {
        let given = self.secret_hash(key);
        let right = self.right();
        let known = right.get(key.id)?;
        if stored != known.stored {
            return None;
        }
        Some(bool::from(given.ct_eq(&known.secret_hash)))
    }

    /// Computes the hash of a secret and compares it with what is stored. At most [`HASHES_MAX`] at a time, and for a key to
    /// which wrong secrets came only so many a minute.
    async fn verify(
        &self,
        key: &KeyText<'_>,
        row: KeyRow,
    ) -> Result<Option<Principal>, LedgerError> {
        self.check_failures(key.id)?;
        let waiting = Arc::clone(&self.hashing).acquire_owned();
        let Ok(Ok(permit)) = tokio::time::timeout(HASH_WAIT, waiting).await else {
            return Err(LedgerError::TooManyAttempts { seconds: 1 });
        };
        // Others with the same key may have been faster.
        if let Some(is_right) = self.remembered(key, &row.secret) {
            return is_right.then(|| principal(row)).transpose();
        }
        self.check_failures(key.id)?;
        let (given, stored) = (key.secret, row.secret.clone());
        // The permit goes with the work: a client that leaves does not make room for a further hash.
        let work = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let is_right = secret::verify(&given, &stored)?;
            let renewed = if is_right && secret::is_old(&stored) {
                Some(secret::hash(&given)?)
            } else {
                None
            };
            Ok::<_, LedgerError>((is_right, renewed))
        });
        let (is_right, renewed) = work
            .await
            .map_err(|error| LedgerError::Hashing(error.to_string()))??;
        if !is_right {
            self.count_failure(key.id);
            return Ok(None);
        }
        let stored = match renewed {
            Some(renewed) => self.renew(&row, renewed).await,
            None => row.secret.clone(),
        };
        let principal = principal(row)?;
        self.remember(key, principal.clone(), stored);
        Ok(Some(principal))
    }

    /// Stores the hash of today in the place of an old one. Where that fails the old one stays, and the key stays good.
    async fn renew(&self, row: &KeyRow, renewed: Vec<u8>) -> Vec<u8> {
        let stored = async {
            let mut administration = self.store.administration().await?;
            administration
                .replace_secret(&row.id, &row.secret, &renewed)
                .await
        };
        match stored.await {
            Ok(()) => renewed,
            Err(error) => {
                tracing::warn!(%error, key = row.id, "a key keeps its old hash");
                row.secret.clone()
            }
        }
    }

    fn remember(&self, key: &KeyText<'_>, principal: Principal, stored: Vec<u8>) {
        let known = Right {
            caller: principal.into(),
            stored,
            secret_hash: self.secret_hash(key),
        };
        let mut right = self.right();
        if right.len() >= REMEMBERED_MAX {
            right.clear();
        }
        right.insert(key.id.to_owned(), known);
        self.failures().remove(key.id);
    }

    fn secret_hash(&self, key: &KeyText<'_>) -> [u8; 32] {
        // Whoever does not have the key of this process cannot compute it, not even for a secret at hand.
        let mut keyed = [0; 64];
        keyed[..32].copy_from_slice(&self.hash_key);
        keyed[32..].copy_from_slice(&key.secret);
        *ContentHash::of(&keyed).as_bytes()
    }

    fn check_failures(&self, id: &str) -> Result<(), LedgerError> {
        let failures = self.failures();
        let Some(failed) = failures.get(id) else {
            return Ok(());
        };
        let left = FAILURES_WINDOW.saturating_sub(failed.since.elapsed());
        if failed.count < FAILURES_MAX || left.is_zero() {
            return Ok(());
        }
        Err(LedgerError::TooManyAttempts {
            seconds: left.as_secs() + 1,
        })
    }

    /// Counts a wrong secret. Only for keys that there are, so that their number bounds the memory.
    fn count_failure(&self, id: &str) {
        let mut failures = self.failures();
        if failures.len() >= REMEMBERED_MAX {
            failures.clear();
        }
        let failed = failures.entry(id.to_owned()).or_insert_with(|| Failures {
            count: 0,
            since: Instant::now(),
        });
        if failed.since.elapsed() >= FAILURES_WINDOW {
            *failed = Failures {
                count: 0,
                since: Instant::now(),
            };
        }
        failed.count += 1;
    }

    // No code panics while it holds one of these, and no entry can be half written.
    fn right(&self) -> MutexGuard<'_, HashMap<String, Right>> {
        self.right.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<String, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn principal(row: KeyRow) -> Result<Principal, LedgerError> {
    Ok(Principal {
        role: row.role()?,
        id: row.id,
        name: row.name,
    })
}

#[cfg(test)]
mod tests;
