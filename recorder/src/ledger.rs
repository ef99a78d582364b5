//! The ledger opened for writing: one per data directory, in one process.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, RwLock};

use remembrancer_schema::Origin;
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use tokio::sync::{OnceCell, Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use crate::blob_store::BlobStoreError;
use crate::checkpoint_copy::{CheckpointCopies, CheckpointCopy};
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::metrics::LedgerMetrics;
use crate::reader::Reader;
use crate::sequencer::{ActsDue, GroupLimits, Request, Retry, Sequencer, Standing};
use crate::store::{self, Found, LedgerLocation, Store};
use crate::witnesses::{Collector, Publication, Published};

pub(crate) use opening::{Identity, Opening};
use opening::{last_received, new_identity};
pub use options::LedgerOptions;

/// Why a ledger writes no more whose sequencer ended.
const ENDED: &str = "its sequencer ended unexpectedly";
/// Unit in which the queue counts bytes.
const QUEUE_UNIT: usize = 1024;

/// A ledger opened for writing. Cheap to clone; its clones share one sequencer.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    reader: Reader,
    key: Arc<LedgerKey>,
    queue: RwLock<Option<mpsc::Sender<Request>>>,
    queue_bytes: Arc<Semaphore>,
    queue_bytes_max: usize,
    standing: Arc<Standing>,
    metrics: LedgerMetrics,
    sequencer: Mutex<Option<JoinHandle<()>>>,
    blob_inline_bytes_max: usize,
    blob_store_claimed: OnceCell<()>,
    publication: Arc<Publication>,
    /// Asks the witnesses; `None` where there are none.
    collector: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.0.reader.origin())
    }
}

impl Ledger {
    /// Opens a ledger for writing, or makes it; that of another workspace than the default one is there already, or this is
    /// an error. Refuses if another process writes to the same file, and if what is stored does not have the root that its
    /// newest checkpoint signed.
    pub async fn open(options: LedgerOptions) -> Result<Self, LedgerError> {
        if options.location.workspace.is_default() {
            Self::create(options).await
        } else {
            // A name with a slip in it is not to become a workspace.
            Self::open_existing(options).await
        }
    }

    /// The same for any workspace that is there and finished.
    pub(crate) async fn open_existing(options: LedgerOptions) -> Result<Self, LedgerError> {
        let location = &options.location;
        let folder = location.folder();
        DataDir::new(&location.data).refuse_backup()?;
        let missing = || LedgerError::NoWorkspace {
            workspace: location.workspace.to_string(),
            location: location.data.display().to_string(),
        };
        if store::find(location).await? == Found::Nothing {
            // One that lost its database is not one that was never made.
            folder.refuse_remains(
                &location.to_string(),
                &[folder.private_key(), folder.checkpoint_copy()],
            )?;
            return Err(missing());
        }
        let lock = location.database.is_none().then(|| folder.lock());
        let lock = lock.transpose()?;
        let store = store::open(location).await?;
        if store.connection().await?.identity().await?.is_none() {
            return Err(missing());
        }
        Self::over(store, options, lock).await
    }

    /// The same for any workspace: makes it if it is not there.
    pub(crate) async fn create(options: LedgerOptions) -> Result<Self, LedgerError> {
        let (store, lock) = Self::prepare(&options.location).await?;
        Self::over(store, options, lock).await
    }

    /// Takes the lock, where the ledger is a file, and makes its tables if there are none.
    pub(crate) async fn prepare(
        location: &LedgerLocation,
    ) -> Result<(Arc<dyn Store>, Option<File>), LedgerError> {
        let folder = location.folder();
        DataDir::new(&location.data).refuse_backup()?;
        folder.create()?;
        // A database server has its own way to let one write at a time.
        let is_file = location.database.is_none();
        let lock = if is_file { Some(folder.lock()?) } else { None };
        if store::find(location).await? == Found::Nothing {
            // A ledger without its key is never given a new one: that would be a second history under the same name.
            let place = location.to_string();
            folder.refuse_remains(&place, &[folder.checkpoint_copy()])?;
            if is_file {
                folder.refuse_remains(&place, &[folder.private_key()])?;
            }
            store::migrate(location).await?;
        }
        Ok((store::open(location).await?, lock))
    }

    /// Opens the ledger in a database that has its tables.
    pub(crate) async fn over(
        store: Arc<dyn Store>,
        options: LedgerOptions,
        lock: Option<File>,
    ) -> Result<Self, LedgerError> {
        let folder = options.location.folder();
        let (key, origin) = identify(&store, &options.location, options.origin).await?;
        let beside = CheckpointCopy::new(folder.checkpoint_copy());
        let anchor = options.anchor.map(CheckpointCopy::new);
        let opening = Opening {
            store: Arc::clone(&store),
            origin: origin.clone(),
            key: key.public(),
            copies: [Some(beside.clone()), anchor.clone()]
                .into_iter()
                .flatten()
                .collect(),
        };
        let (writer, edge) = opening.writer().await?;
        tracing::info!(%origin, size = edge.size(), "ledger open");
        let reader = Reader::over(store, options.location).await?;
        let metrics = options.metrics;
        if let Some(received) = last_received(&reader, edge.size()).await {
            metrics.checkpoint(edge.size(), received);
        }
        let blob_store_claimed = OnceCell::new();
        if reader.uses_blob_store().await? {
            match reader.claim_blob_store().await {
                Ok(()) => blob_store_claimed.set(()).unwrap_or_default(),
                // Everything but large blobs can be recorded meanwhile.
                Err(LedgerError::BlobStore(error @ BlobStoreError::Unavailable { .. })) => {
                    tracing::warn!(%error, "large blobs cannot be stored yet");
                }
                Err(error) => return Err(error),
            }
        }
        let mut copies = CheckpointCopies::new(beside, anchor);
        copies.remove_drafts(lock.is_some());
        if let Some(note) = reader.checkpoint().await? {
            copies.follow(note);
            copies.write_all();
        }
        let witness_keys: Vec<_> = options
            .witnesses
            .iter()
            .map(|one| one.key.clone())
            .collect();
        let publication = Arc::new(Publication::open(
            CheckpointCopy::new(folder.cosigned_checkpoint()),
            &origin,
            &key.public(),
            &witness_keys,
            options.witnesses_required,
        ));
        let collector = (!options.witnesses.is_empty()).then(|| {
            let publication = Arc::clone(&publication);
            let collector = Collector::new(reader.clone(), publication, &options.witnesses);
            tokio::spawn(collector.run())
        });
        let key = Arc::new(key);
        let standing = Arc::new(Standing::default());
        let (sender, receiver) = mpsc::channel(options.queue_requests_max.max(1));
        let sequencer = Sequencer {
            opening,
            writer: Some(writer),
            edge,
            sessions: HashMap::new(),
            key: Arc::clone(&key),
            limits: GroupLimits {
                events: options.group_events_max.max(1),
                bytes: options.group_bytes_max.max(1),
            },
            copies,
            standing: Arc::clone(&standing),
            metrics: metrics.clone(),
            lock,
            retry: Retry::default(),
            acts: ActsDue::default(),
            answering: JoinSet::new(),
        };
        // A thread of its own: it waits in calls to SQLite and to the disk; and as a task among those of the requests it would
        // wait its turn at every answer of a database server.
        let runtime = tokio::runtime::Handle::current();
        let task = tokio::task::spawn_blocking(move || runtime.block_on(sequencer.run(receiver)));
        let units = units(options.queue_bytes_max).min(Semaphore::MAX_PERMITS);
        Ok(Self(Arc::new(Inner {
            reader,
            key,
            queue: RwLock::new(Some(sender)),
            queue_bytes: Arc::new(Semaphore::new(units)),
            queue_bytes_max: units,
            standing,
            metrics,
            sequencer: Mutex::new(Some(task)),
            blob_inline_bytes_max: options.blob_inline_bytes_max,
            blob_store_claimed,
            publication,
            collector: Mutex::new(collector),
        })))
    }

    /// The same ledger, for reading.
    pub fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// The ledger's name.
    pub fn origin(&self) -> &Origin {
        self.0.reader.origin()
    }

    /// The ledger's public key.
    pub fn public_key(&self) -> &PublicKey {
        self.0.reader.public_key()
    }

    /// Why it does not write at the moment; `None` as long as it does. It begins again by itself, unless it was closed.
    pub fn stopped(&self) -> Option<String> {
        let Ok(queue) = self.0.queue.read() else {
            return Some(ENDED.to_owned());
        };
        match queue.as_ref() {
            None => Some("it was closed".to_owned()),
            // Nobody takes requests any more: the sequencer's task ended, as by a panic.
            Some(sender) if sender.is_closed() => Some(ENDED.to_owned()),
            Some(_) => self.0.standing.reason(),
        }
    }

    /// The checkpoint that readers get: the newest one, or, where witnesses are required, the newest that enough of them signed.
    pub(crate) async fn published_checkpoint(&self) -> Result<Published, LedgerError> {
        let newest = self.0.reader.checkpoint().await?;
        Ok(self.0.publication.published(newest))
    }

    /// What is counted of it.
    pub(crate) fn metrics(&self) -> &LedgerMetrics {
        &self.0.metrics
    }

    /// Signs a receipt over entries of this ledger.
    pub fn receipt(&self, lines: &[ReceiptLine]) -> String {
        receipt::sign(self.origin(), lines, &self.0.key)
    }

    /// Lets what waits be written, then closes the database and gives the lock back.
    pub async fn close(&self) {
        let sender = self.0.queue.write().ok().and_then(|mut queue| queue.take());
        drop(sender);
        let collector = self.0.collector.lock().ok();
        if let Some(collector) = collector.and_then(|mut collector| collector.take()) {
            // What it was about to ask is asked again at the next start.
            collector.abort();
            drop(collector.await);
        }
        let task = self
            .0
            .sequencer
            .lock()
            .ok()
            .and_then(|mut task| task.take());
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the sequencer ended badly");
        }
        self.0.reader.close().await;
    }
}

/// The ledger's key and name: read and compared, or made for a ledger that has none yet.
async fn identify(
    store: &Arc<dyn Store>,
    location: &LedgerLocation,
    asked: Option<Origin>,
) -> Result<(LedgerKey, Origin), LedgerError> {
    let stored = store.connection().await?.identity().await?;
    let folder = location.folder();
    if stored.is_none() {
        folder.refuse_remains(&location.to_string(), &[folder.checkpoint_copy()])?;
    }
    let key = folder.key(stored.is_none())?;
    folder.write_public_key(&key)?;
    let identity = match stored {
        Some(identity) => identity,
        None => {
            let mut writer = store.writer().await?;
            writer
                .write_identity(&new_identity(&key, asked.clone())?)
                .await?;
            writer.close().await;
            // Another process may have been faster: then its name and key count.
            let identity = store.connection().await?.identity().await?;
            identity.ok_or_else(|| LedgerError::Damaged("the ledger's row is gone".to_owned()))?
        }
    };
    let origin = Identity::from_row(&identity)?.check(&key, asked.as_ref(), &folder)?;
    Ok((key, origin))
}

/// The private key of a data directory's ledger, for signing bundles while a server runs. Never makes one.
pub fn load_key(directory: &std::path::Path) -> Result<LedgerKey, LedgerError> {
    DataDir::new(directory).key(false)
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(QUEUE_UNIT)
}

mod appending;
mod opening;
mod options;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
