//! The ledgers that one server has open: one for each workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::analyses::Analyses;
use crate::error::LedgerError;
use crate::ledger::{Ledger, LedgerOptions};
use crate::metrics::Metrics;
use crate::store::{self, Found, LedgerLocation, WORKSPACE_DEFAULT, WorkspaceName};
use crate::token::workspace_in;

pub use making::create_workspace;
pub use summary::{LedgerSummary, WorkspaceSummary, list_workspaces};

/// How long a workspace that did not open is left alone.
const REST: Duration = Duration::from_secs(5);
/// Look-ups of workspaces that are not open, at the same time: anybody can send keys that name some.
const LOOKING_MAX: usize = 4;

/// The ledgers of one server: the default workspace's, which is always there, and one for each other workspace. Cheap to
/// clone.
///
/// A workspace that does not open, or stands still, concerns nobody else: each has its own sequencer, connections and queue.
#[derive(Clone)]
pub struct Workspaces(Arc<Inner>);

struct Inner {
    default: Ledger,
    /// How the others are opened; `None` if there are no others.
    options: Option<LedgerOptions>,
    max: usize,
    metrics: Metrics,
    /// `None` once they are closed.
    others: Mutex<Option<BTreeMap<WorkspaceName, Slot>>>,
    /// Held by whoever opens one, so that none is opened twice.
    opening: tokio::sync::Mutex<()>,
    looking: Semaphore,
    analyses: Arc<Analyses>,
}

#[derive(Clone)]
enum Slot {
    Open(Ledger),
    Failed { reason: String, since: Instant },
}

/// How a workspace stands.
#[derive(Debug, Clone)]
pub struct WorkspaceStanding {
    /// Its name.
    pub name: WorkspaceName,
    /// Its ledger, if it is open.
    pub ledger: Option<Ledger>,
    /// Why it does not write at the moment; `None` as long as it does.
    pub problem: Option<String>,
}

impl From<Ledger> for Workspaces {
    /// A ledger without other workspaces beside it.
    fn from(ledger: Ledger) -> Self {
        Self::new(ledger, None, 0, Metrics::default())
    }
}

impl Workspaces {
    /// Opens the default workspace's ledger, or makes it, and then the others that are there, `max` at most. Only the
    /// default one has to open; what is wrong with another is logged. Each is counted under its name.
    pub async fn open(
        options: LedgerOptions,
        max: usize,
        metrics: Metrics,
    ) -> Result<Self, LedgerError> {
        let name = WorkspaceName::default();
        let options = LedgerOptions {
            location: options.location.workspace(name.clone()),
            metrics: metrics.ledger(name.as_str()),
            ..options
        };
        let default = Ledger::open(options.clone()).await?;
        let all = Self::new(default, Some(options.clone()), max, metrics);
        match store::workspaces(&options.location).await {
            Ok(names) => {
                for name in names {
                    // It logs what is wrong.
                    drop(all.enter(&name).await);
                }
            }
            Err(error) => tracing::error!(%error, "the other workspaces cannot be listed"),
        }
        Ok(all)
    }

    fn new(default: Ledger, options: Option<LedgerOptions>, max: usize, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            default,
            options,
            max,
            metrics,
            others: Mutex::new(Some(BTreeMap::new())),
            opening: tokio::sync::Mutex::default(),
            looking: Semaphore::new(LOOKING_MAX),
            analyses: Arc::default(),
        }))
    }

    /// The ledger of the default workspace.
    pub fn default_ledger(&self) -> &Ledger {
        &self.0.default
    }

    /// Analyses of sessions of all of them.
    pub fn analyses(&self) -> &Arc<Analyses> {
        &self.0.analyses
    }

    /// The ledger of a workspace; `None` if there is no such workspace. One that was made since the server started is opened
    /// now.
    pub async fn get(&self, name: &WorkspaceName) -> Result<Option<Ledger>, LedgerError> {
        if name.is_default() {
            return Ok(Some(self.0.default.clone()));
        }
        match self.slot(name)? {
            Some(Slot::Open(ledger)) => return Ok(Some(ledger)),
            Some(Slot::Failed { reason, since }) if since.elapsed() < REST => {
                return Err(unavailable(name, reason));
            }
            Some(Slot::Failed { .. }) => {}
            None => {
                if !self.is_there(name).await? {
                    return Ok(None);
                }
            }
        }
        match self.enter(name).await {
            Err(LedgerError::NoWorkspace { .. }) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The ledger whose key a text may be: that of the workspace that it names. Whether it is a key, only that ledger knows.
    pub async fn of_key(&self, key: &str) -> Result<Option<Ledger>, LedgerError> {
        match workspace_in(key) {
            // Most keys, and nothing is copied for them.
            Some(WORKSPACE_DEFAULT) => Ok(Some(self.0.default.clone())),
            Some(name) => match name.parse() {
                Ok(name) => Box::pin(self.get(&name)).await,
                Err(_) => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// How each of them stands, the default one first.
    pub fn standing(&self) -> Vec<WorkspaceStanding> {
        let open = |name: &WorkspaceName, ledger: &Ledger| WorkspaceStanding {
            name: name.clone(),
            ledger: Some(ledger.clone()),
            problem: ledger.stopped(),
        };
        let mut all = vec![open(&WorkspaceName::default(), &self.0.default)];
        let others = self.others();
        all.extend(others.iter().flatten().map(|(name, slot)| match slot {
            Slot::Open(ledger) => open(name, ledger),
            Slot::Failed { reason, .. } => WorkspaceStanding {
                name: name.clone(),
                ledger: None,
                problem: Some(reason.clone()),
            },
        }));
        all
    }

    /// Closes all of them: each writes what waits, then gives its lock back. None is opened afterwards.
    pub async fn close(&self) {
        // Whoever opens one at the moment comes to an end first.
        let _opening = self.0.opening.lock().await;
        let others = self.others().take().unwrap_or_default();
        let open = others.into_values().filter_map(|slot| match slot {
            Slot::Open(ledger) => Some(ledger),
            Slot::Failed { .. } => None,
        });
        let all = open.chain([self.0.default.clone()]);
        futures_util::future::join_all(all.map(|ledger| async move { ledger.close().await })).await;
    }

    fn others(&self) -> MutexGuard<'_, Option<BTreeMap<WorkspaceName, Slot>>> {
        self.0.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, name: &WorkspaceName) -> Result<Option<Slot>, LedgerError> {
        match self.others().as_ref() {
            Some(others) => Ok(others.get(name).cloned()),
            None => Err(unavailable(name, "the server stops".to_owned())),
        }
    }

    /// Whether there is a workspace that is not open, before anything is remembered of its name: anybody can make names up.
    async fn is_there(&self, name: &WorkspaceName) -> Result<bool, LedgerError> {
        let Some(options) = &self.0.options else {
            return Ok(false);
        };
        let looking = self.0.looking.acquire().await;
        let found = store::find(&options.location.workspace(name.clone())).await;
        drop(looking);
        match found {
            Ok(found) => Ok(found != Found::Nothing),
            // There is a file, and something is wrong with it.
            Err(_) if options.location.database.is_none() => Ok(true),
            // The server cannot be asked: that says nothing of this name.
            Err(error) => {
                tracing::error!(workspace = %name, %error, "a workspace cannot be looked for");
                Err(unavailable(name, error.to_string()))
            }
        }
    }

    /// Opens a workspace's ledger unless it is open, and remembers why if it does not open.
    async fn enter(&self, name: &WorkspaceName) -> Result<Ledger, LedgerError> {
        let _opening = self.0.opening.lock().await;
        // Somebody else may have been faster.
        match self.slot(name)? {
            Some(Slot::Open(ledger)) => return Ok(ledger),
            Some(Slot::Failed { reason, since }) if since.elapsed() < REST => {
                return Err(unavailable(name, reason));
            }
            _ => {}
        }
        let opened = match self.open_count(name) {
            count if count >= self.0.max => Err(LedgerError::TooManyWorkspaces { max: self.0.max }),
            _ => self.open_one(name).await,
        };
        let slot = match &opened {
            Ok(ledger) => Slot::Open(ledger.clone()),
            // Half made, or gone: nothing to remember.
            Err(error @ LedgerError::NoWorkspace { .. }) => {
                tracing::warn!(workspace = %name, %error, "a workspace is not finished");
                self.others().as_mut().map(|others| others.remove(name));
                return opened;
            }
            Err(error) => {
                tracing::error!(workspace = %name, %error, "a workspace does not open");
                Slot::Failed {
                    reason: error.to_string(),
                    since: Instant::now(),
                }
            }
        };
        if let Some(others) = self.others().as_mut() {
            others.insert(name.clone(), slot);
        }
        opened.map_err(|error| unavailable(name, error.to_string()))
    }

    /// How many others are open.
    fn open_count(&self, name: &WorkspaceName) -> usize {
        let others = self.others();
        let open = others.iter().flatten();
        open.filter(|(other, slot)| *other != name && matches!(slot, Slot::Open(_)))
            .count()
    }

    async fn open_one(&self, name: &WorkspaceName) -> Result<Ledger, LedgerError> {
        let Some(base) = &self.0.options else {
            return Err(LedgerError::NoWorkspace {
                workspace: name.to_string(),
                location: self.0.default.reader().location().to_string(),
            });
        };
        Ledger::open_existing(LedgerOptions {
            location: base.location.workspace(name.clone()),
            origin: None,
            metrics: self.0.metrics.ledger(name.as_str()),
            anchor: base.anchor.as_deref().map(|anchor| beside(anchor, name)),
            ..base.clone()
        })
        .await
    }
}

/// A workspace's own anchor, beside that of the default one.
fn beside(anchor: &Path, name: &WorkspaceName) -> PathBuf {
    let mut file = anchor.file_name().unwrap_or_default().to_owned();
    file.push(format!(".{name}"));
    anchor.with_file_name(file)
}

fn unavailable(name: &WorkspaceName, reason: String) -> LedgerError {
    LedgerError::WorkspaceUnavailable {
        workspace: name.to_string(),
        reason,
    }
}

/// The ledgers of a place: the default workspace's, then the others by name.
async fn locations(location: &LedgerLocation) -> Result<Vec<LedgerLocation>, LedgerError> {
    let names = store::workspaces(location).await?;
    let all = [WorkspaceName::default()].into_iter().chain(names);
    Ok(all.map(|name| location.workspace(name)).collect())
}

mod making;
mod summary;

#[cfg(test)]
mod tests;
