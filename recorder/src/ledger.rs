//! The ledger opened for writing: one per data directory, in one process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use remembrancer_schema::{ContentHash, Origin};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::checkpoint_copy;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::incoming::{Outcome, OwnedEvent, SaltedEvent};
use crate::reader::Reader;
use crate::sequencer::{Request, Sequencer, Work};
use crate::store;

pub(crate) use opening::{Identity, read_identity};
use opening::{recover, write_identity};

/// Largest blob, in bytes.
pub const BLOB_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Why a ledger writes no more whose sequencer did not say why.
const ENDED: &str = "its sequencer ended unexpectedly";
/// Unit in which the queue counts bytes.
const QUEUE_UNIT: usize = 1024;

/// How a ledger is opened for writing.
#[derive(Debug, Clone)]
pub struct LedgerOptions {
    /// The data directory. Made, with a ledger and a key in it, if it holds none.
    pub data: PathBuf,
    /// Name of a new ledger; `remembrancer.local/` and eight digits of the key's fingerprint unless given. For a ledger that
    /// exists it must be the one that it has.
    pub origin: Option<Origin>,
    /// Most requests that wait for the sequencer.
    pub queue_requests_max: usize,
    /// Most bytes of events and blobs that wait for the sequencer.
    pub queue_bytes_max: usize,
}

impl LedgerOptions {
    /// The defaults for a data directory.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            origin: None,
            queue_requests_max: 1024,
            queue_bytes_max: 128 * 1024 * 1024,
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
    stopped: Arc<OnceLock<String>>,
    sequencer: Mutex<Option<JoinHandle<()>>>,
    #[cfg(test)]
    fault: Arc<Mutex<Option<crate::sequencer::Fault>>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger({})", self.0.reader.origin())
    }
}

impl Ledger {
    /// Opens the ledger of a data directory for writing, or makes it. Refuses if another process writes to it, and if what
    /// is stored does not have the root that its newest checkpoint signed.
    pub async fn open(options: LedgerOptions) -> Result<Self, LedgerError> {
        let folder = DataDir::new(&options.data);
        folder.create()?;
        let lock = folder.lock()?;
        // A ledger without its key is never given a new one: that would be a second history under the same name.
        let is_new = !folder.database().exists();
        if is_new {
            folder.refuse_remains(&[folder.checkpoint_copy(), folder.private_key()])?;
        }
        folder.create_database_file()?;
        let mut connection =
            SqliteConnection::connect_with(&store::writing(&folder.database())).await?;
        store::MIGRATIONS.run(&mut connection).await?;
        let identity = read_identity(&mut connection).await?;
        if identity.is_none() {
            folder.refuse_remains(&[folder.checkpoint_copy()])?;
        }
        let key = folder.key(is_new || identity.is_none())?;
        folder.write_public_key(&key)?;
        let origin = match identity {
            Some(identity) => identity.check(&key, options.origin.as_ref(), &folder)?,
            None => write_identity(&mut connection, &key, options.origin).await?,
        };
        let edge = recover(&mut connection, &origin, &key.public()).await?;
        if let Some(copy) = checkpoint_copy::read(&folder, &origin, &key.public())? {
            checkpoint_copy::compare(&folder, &mut connection, edge.size(), &copy).await?;
        }
        tracing::info!(%origin, size = edge.size(), "ledger open");

        let reader = Reader::open(&options.data).await?;
        if let Some(note) = reader.checkpoint().await? {
            folder.write_checkpoint_copy(&note)?;
        }
        let key = Arc::new(key);
        let stopped = Arc::new(OnceLock::new());
        let (sender, receiver) = mpsc::channel(options.queue_requests_max.max(1));
        #[cfg(test)]
        let fault = Arc::new(Mutex::new(None));
        let sequencer = Sequencer {
            connection,
            edge,
            sessions: HashMap::new(),
            origin,
            key: Arc::clone(&key),
            stopped: Arc::clone(&stopped),
            folder,
            lock,
            #[cfg(test)]
            fault: Arc::clone(&fault),
        };
        let task = tokio::spawn(sequencer.run(receiver));
        let units = units(options.queue_bytes_max).min(Semaphore::MAX_PERMITS);
        Ok(Self(Arc::new(Inner {
            reader,
            key,
            queue: Mutex::new(Some(sender)),
            queue_bytes: Arc::new(Semaphore::new(units)),
            queue_bytes_max: units,
            stopped,
            sequencer: Mutex::new(Some(task)),
            #[cfg(test)]
            fault,
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

    /// Why it writes no more; `None` as long as it does.
    pub fn stopped(&self) -> Option<&str> {
        if let Some(reason) = self.0.stopped.get() {
            return Some(reason);
        }
        let Ok(queue) = self.0.queue.lock() else {
            return Some(ENDED);
        };
        match queue.as_ref() {
            None => Some("it was closed"),
            // Nobody takes requests any more: the sequencer's task ended without saying why, as by a panic.
            Some(sender) if sender.is_closed() => Some(ENDED),
            Some(_) => None,
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
        LedgerError::Stopped(self.stopped().unwrap_or(ENDED).to_owned())
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

    #[cfg(test)]
    pub(crate) fn fail_next_commit(&self, fault: crate::sequencer::Fault) {
        *self.0.fault.lock().expect("no test panics with it") = Some(fault);
    }
}

/// The private key of a data directory's ledger, for signing bundles while a server runs. Never makes one.
pub fn load_key(data: &std::path::Path) -> Result<LedgerKey, LedgerError> {
    DataDir::new(data).key(false)
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(QUEUE_UNIT)
}

mod opening;

#[cfg(test)]
mod tests;
