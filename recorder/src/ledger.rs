//! The ledger opened for writing: one per data directory, in one process.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use remembrancer_schema::{ContentHash, Origin};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::checkpoint_copy::{CheckpointCopies, CheckpointCopy};
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::incoming::{Outcome, OwnedEvent, SaltedEvent};
use crate::reader::Reader;
use crate::sequencer::{GroupLimits, Request, Retry, Sequencer, Standing, Work};
use crate::store::{self, Found, LedgerLocation, Store};

use opening::new_identity;
pub(crate) use opening::{Identity, Opening};

/// Largest blob, in bytes.
pub const BLOB_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Why a ledger writes no more whose sequencer ended.
const ENDED: &str = "its sequencer ended unexpectedly";
/// Unit in which the queue counts bytes.
const QUEUE_UNIT: usize = 1024;

/// How a ledger is opened for writing.
#[derive(Debug, Clone)]
pub struct LedgerOptions {
    /// Where it is. Made, with a key, if there is none.
    pub location: LedgerLocation,
    /// Name of a new ledger; `remembrancer.local/` and eight digits of the key's fingerprint unless given. For a ledger that
    /// exists it must be the one that it has.
    pub origin: Option<Origin>,
    /// A file outside the data directory that keeps a copy of the newest checkpoint; a ledger that is older than it is
    /// refused.
    pub anchor: Option<PathBuf>,
    /// Most requests that wait for the sequencer.
    pub queue_requests_max: usize,
    /// Most bytes of events and blobs that wait for the sequencer.
    pub queue_bytes_max: usize,
    /// Events after which one transaction takes no further request.
    pub group_events_max: usize,
    /// Bytes after which one transaction takes no further request.
    pub group_bytes_max: usize,
}

impl LedgerOptions {
    /// The defaults for a place.
    pub fn new(location: impl Into<LedgerLocation>) -> Self {
        Self {
            location: location.into(),
            origin: None,
            anchor: None,
            queue_requests_max: 1024,
            queue_bytes_max: 128 * 1024 * 1024,
            group_events_max: 4096,
            group_bytes_max: 8 * 1024 * 1024,
        }
    }
}

/// A ledger opened for writing. Cheap to clone; its clones share one sequencer.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    reader: Reader,
    key: Arc<LedgerKey>,
    queue: Mutex<Option<mpsc::Sender<Request>>>,
    queue_bytes: Arc<Semaphore>,
    queue_bytes_max: usize,
    standing: Arc<Standing>,
    sequencer: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.0.reader.origin())
    }
}

impl Ledger {
    /// Opens a ledger for writing, or makes it. Refuses if another process writes to the same file, and if what is stored
    /// does not have the root that its newest checkpoint signed.
    pub async fn open(options: LedgerOptions) -> Result<Self, LedgerError> {
        let (store, lock) = Self::prepare(&options.location).await?;
        Self::over(store, options, lock).await
    }

    /// Takes the lock, where the ledger is a file, and makes its tables if there are none.
    pub(crate) async fn prepare(
        location: &LedgerLocation,
    ) -> Result<(Arc<dyn Store>, Option<File>), LedgerError> {
        let folder = location.folder();
        folder.create()?;
        // A database server has its own way to let one write at a time.
        let is_file = location.database.is_none();
        let lock = if is_file { Some(folder.lock()?) } else { None };
        if store::find(location).await? == Found::Nothing {
            // A ledger without its key is never given a new one: that would be a second history under the same name.
            folder.refuse_remains(&[folder.checkpoint_copy()])?;
            if is_file {
                folder.refuse_remains(&[folder.private_key()])?;
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
        let (key, origin) = identify(&store, &folder, options.origin).await?;
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
        let mut copies = CheckpointCopies::new(beside, anchor);
        if let Some(note) = reader.checkpoint().await? {
            copies.follow(note);
            copies.write_all();
        }
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
            lock,
            retry: Retry::default(),
        };
        let task = tokio::spawn(sequencer.run(receiver));
        let units = units(options.queue_bytes_max).min(Semaphore::MAX_PERMITS);
        Ok(Self(Arc::new(Inner {
            reader,
            key,
            queue: Mutex::new(Some(sender)),
            queue_bytes: Arc::new(Semaphore::new(units)),
            queue_bytes_max: units,
            standing,
            sequencer: Mutex::new(Some(task)),
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
        let Ok(queue) = self.0.queue.lock() else {
            return Some(ENDED.to_owned());
        };
        match queue.as_ref() {
            None => Some("it was closed".to_owned()),
            // Nobody takes requests any more: the sequencer's task ended, as by a panic.
            Some(sender) if sender.is_closed() => Some(ENDED.to_owned()),
            Some(_) => self.0.standing.reason(),
        }
    }

    /// Appends events, in order, and waits until they are durable. Waits for room if the queue is full. One outcome per
    /// event: one that is rejected does not keep the others out.
    pub async fn append(&self, events: Vec<OwnedEvent>) -> Result<Vec<Outcome>, LedgerError> {
        self.submit_events(events, true).await
    }

    /// The same, but answers [`LedgerError::Busy`] instead of waiting for room in the queue.
    pub async fn try_append(&self, events: Vec<OwnedEvent>) -> Result<Vec<Outcome>, LedgerError> {
        self.submit_events(events, false).await
    }

    async fn submit_events(
        &self,
        events: Vec<OwnedEvent>,
        waits: bool,
    ) -> Result<Vec<Outcome>, LedgerError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = events
            .iter()
            .map(|event| event.data.len() + QUEUE_UNIT)
            .sum();
        let events = SaltedEvent::salt_all(events)?;
        let (reply, answer) = oneshot::channel();
        self.submit(Work::Append { events, reply }, bytes, waits)
            .await?;
        self.wait(answer).await
    }

    /// Stores a blob and waits until it is durable; false if it is stored already. Waits for room if the queue is full.
    pub async fn store_blob(&self, bytes: Bytes) -> Result<(ContentHash, bool), LedgerError> {
        self.submit_blob(bytes, true).await
    }

    /// The same, but answers [`LedgerError::Busy`] instead of waiting for room in the queue.
    pub async fn try_store_blob(&self, bytes: Bytes) -> Result<(ContentHash, bool), LedgerError> {
        self.submit_blob(bytes, false).await
    }

    async fn submit_blob(
        &self,
        bytes: Bytes,
        waits: bool,
    ) -> Result<(ContentHash, bool), LedgerError> {
        let size = bytes.len();
        if size > BLOB_BYTES_MAX {
            return Err(LedgerError::BlobTooLarge {
                bytes: size,
                max: BLOB_BYTES_MAX,
            });
        }
        let hash = ContentHash::of(&bytes);
        let (reply, answer) = oneshot::channel();
        self.submit(Work::StoreBlob { hash, bytes, reply }, size, waits)
            .await?;
        Ok((hash, self.wait(answer).await?))
    }

    async fn submit(&self, work: Work, bytes: usize, waits: bool) -> Result<(), LedgerError> {
        // One request larger than the whole queue still goes through, alone.
        let share =
            u32::try_from(units(bytes).clamp(1, self.0.queue_bytes_max)).unwrap_or(u32::MAX);
        let semaphore = Arc::clone(&self.0.queue_bytes);
        let permit = if waits {
            semaphore
                .acquire_many_owned(share)
                .await
                .map_err(|_| self.stopped_error())?
        } else {
            semaphore
                .try_acquire_many_owned(share)
                .map_err(|_| LedgerError::Busy)?
        };
        let request = Request {
            work,
            bytes,
            permit,
        };
        let sender = self.0.queue.lock().ok().and_then(|queue| queue.clone());
        let sender = sender.ok_or_else(|| self.stopped_error())?;
        if waits {
            sender.send(request).await.map_err(|_| self.stopped_error())
        } else {
            sender.try_send(request).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => LedgerError::Busy,
                mpsc::error::TrySendError::Closed(_) => self.stopped_error(),
            })
        }
    }

    async fn wait<T>(
        &self,
        answer: oneshot::Receiver<Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        answer.await.map_err(|_| self.stopped_error())?
    }

    fn stopped_error(&self) -> LedgerError {
        LedgerError::Stopped(self.stopped().unwrap_or_else(|| ENDED.to_owned()))
    }

    /// Signs a receipt over entries of this ledger.
    pub fn receipt(&self, lines: &[ReceiptLine]) -> String {
        receipt::sign(self.origin(), lines, &self.0.key)
    }

    /// Lets what waits be written, then closes the database and gives the lock back.
    pub async fn close(&self) {
        let sender = self.0.queue.lock().ok().and_then(|mut queue| queue.take());
        drop(sender);
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
    folder: &DataDir,
    asked: Option<Origin>,
) -> Result<(LedgerKey, Origin), LedgerError> {
    let stored = store.connection().await?.identity().await?;
    if stored.is_none() {
        folder.refuse_remains(&[folder.checkpoint_copy()])?;
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
    let origin = Identity::from_row(&identity)?.check(&key, asked.as_ref(), folder)?;
    Ok((key, origin))
}

/// The private key of a data directory's ledger, for signing bundles while a server runs. Never makes one.
pub fn load_key(directory: &std::path::Path) -> Result<LedgerKey, LedgerError> {
    DataDir::new(directory).key(false)
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(QUEUE_UNIT)
}

mod opening;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
