//! The way into a ledger: what is appended waits in a bounded queue until it is durable.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use remembrancer_schema::ContentHash;
use tokio::sync::{mpsc, oneshot};

use super::{ENDED, Ledger, QUEUE_UNIT, units};
use crate::blob_store::Blob;
use crate::error::LedgerError;
use crate::incoming::{BlobTaken, Outcome, OwnedEvent, SaltedEvent, UploadedBlob};
use crate::sequencer::{Request, Work};

/// Tries to store a blob that the garbage collection is removing, and the pause between two, times their number.
const CONDEMNED_ROUNDS_MAX: u32 = 6;
const CONDEMNED_PAUSE: Duration = Duration::from_millis(200);

/// What became of a request that does not wait for room.
enum Offered {
    Taken,
    Full,
    Closed,
}

impl Ledger {
    /// Appends events, in order, and waits until they are durable. Waits for room if the queue is full. One outcome per
    /// event: one that is rejected does not keep the others out.
    pub async fn append(&self, events: Vec<OwnedEvent>) -> Result<Vec<Outcome>, LedgerError> {
        self.submit_events(events, None, true).await
    }

    /// The same, but answers [`LedgerError::Busy`] instead of waiting for room in the queue.
    pub async fn try_append(&self, events: Vec<OwnedEvent>) -> Result<Vec<Outcome>, LedgerError> {
        self.submit_events(events, None, false).await
    }

    /// The same for events that came with a bearer key. The group that takes them checks that the key is valid, and answers
    /// [`LedgerError::KeyRefused`] if it is not.
    pub(crate) async fn try_append_with(
        &self,
        events: Vec<OwnedEvent>,
        key: Arc<str>,
    ) -> Result<Vec<Outcome>, LedgerError> {
        self.submit_events(events, Some(key), false).await
    }

    async fn submit_events(
        &self,
        events: Vec<OwnedEvent>,
        key: Option<Arc<str>>,
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
        self.submit(Work::Append { events, reply }, key, bytes, waits)
            .await?;
        self.wait(answer).await
    }

    /// Stores a blob and waits until it is durable; false if it is stored already. Waits for room if the queue is full.
    pub async fn store_blob(&self, bytes: Bytes) -> Result<(ContentHash, bool), LedgerError> {
        self.submit_blob(bytes, None, true).await
    }

    /// The same, but answers [`LedgerError::Busy`] instead of waiting for room in the queue, and for the holder of a bearer
    /// key, which must still be valid when the blob is stored.
    pub(crate) async fn try_store_blob_with(
        &self,
        bytes: Bytes,
        key: Arc<str>,
    ) -> Result<(ContentHash, bool), LedgerError> {
        self.submit_blob(bytes, Some(key), false).await
    }

    async fn submit_blob(
        &self,
        bytes: Bytes,
        key: Option<Arc<str>>,
        waits: bool,
    ) -> Result<(ContentHash, bool), LedgerError> {
        let blob = Blob::new(bytes)?;
        let hash = *blob.hash();
        let is_inline = blob.bytes().len() <= self.0.blob_inline_bytes_max;
        for round in 0..CONDEMNED_ROUNDS_MAX {
            if round > 0 {
                tokio::time::sleep(CONDEMNED_PAUSE * round).await;
            }
            // A large blob is durable in its store before its row is, and its row before any event that names it.
            if !is_inline {
                self.claim_blob_store().await?;
                self.0.reader.blob_store().put(&blob).await?;
            }
            let uploaded = UploadedBlob {
                hash,
                size: blob.bytes().len() as u64,
                inline: is_inline.then(|| blob.bytes().clone()),
            };
            let queued = uploaded.inline.as_ref().map_or(0, Bytes::len);
            let (reply, answer) = oneshot::channel();
            let work = Work::StoreBlob {
                blob: uploaded,
                reply,
            };
            self.submit(work, key.clone(), queued, waits).await?;
            match self.wait(answer).await? {
                BlobTaken::New => return Ok((hash, true)),
                BlobTaken::Known => return Ok((hash, false)),
                BlobTaken::Condemned => {}
            }
        }
        Err(LedgerError::BlobCondemned(hash))
    }

    /// Makes sure, once, that the blob store is this ledger's.
    async fn claim_blob_store(&self) -> Result<(), LedgerError> {
        self.0
            .blob_store_claimed
            .get_or_try_init(|| self.0.reader.claim_blob_store())
            .await?;
        Ok(())
    }

    async fn submit(
        &self,
        work: Work,
        key: Option<Arc<str>>,
        bytes: usize,
        waits: bool,
    ) -> Result<(), LedgerError> {
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
            place: self.0.metrics.queued(bytes),
            key,
        };
        if waits {
            let sender = self.0.queue.read().ok().and_then(|queue| queue.clone());
            let sender = sender.ok_or_else(|| self.stopped_error())?;
            return sender.send(request).await.map_err(|_| self.stopped_error());
        }
        match self.offer(request) {
            Offered::Taken => Ok(()),
            Offered::Full => Err(LedgerError::Busy),
            // Not while the queue is held: the reason is read from it.
            Offered::Closed => Err(self.stopped_error()),
        }
    }

    /// Puts a request into the queue if there is room. Many can do so at the same time.
    fn offer(&self, request: Request) -> Offered {
        let Ok(queue) = self.0.queue.read() else {
            return Offered::Closed;
        };
        let Some(sender) = queue.as_ref() else {
            return Offered::Closed;
        };
        match sender.try_send(request) {
            Ok(()) => Offered::Taken,
            Err(mpsc::error::TrySendError::Full(_)) => Offered::Full,
            Err(mpsc::error::TrySendError::Closed(_)) => Offered::Closed,
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
}
