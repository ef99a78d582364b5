//! Large blobs outside of the database: in a local folder or in a bucket of S3 or a compatible service.
//!
//! A blob lies under the BLAKE3 of its bytes, `blobs/ab/abcd…`, so that its address alone says what it must be. It is written
//! once, never changed, and checked whenever it is read: other bytes are [`Fetched::Damaged`], none are [`Fetched::Missing`],
//! and a store that does not answer is an error that says nothing of the blob. The store is trusted for nothing but keeping
//! bytes: an entry holds the hash, so whoever holds the store can lose a blob, but not change one unnoticed.
//!
//! [`BlobStore::put`] returns after the blob is durable: a local file and its folders are synced, S3 answers after its own
//! replication. The ledger writes the row of a blob after that and an event that names it after the row, so no acknowledged
//! event names a blob that a power cut takes away. What a crash in between leaves is an object without a row:
//! garbage, which `remembrancer gc` finds.
//!
//! Every operation has a limit of time and of bytes. Memory does not grow with the number of blobs: lists are streams.

mod blob;
mod connect;
mod error;
mod location;
mod place;
mod remains;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use remembrancer_schema::{ContentHash, Origin};

pub(crate) use blob::{Blob, Fetched, Listed, Put};
pub use connect::install_crypto_provider;
pub use error::BlobStoreError;
pub use location::BlobLocation;
pub(crate) use remains::Remains;

/// Largest blob, in bytes.
pub const BLOB_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest time that one operation on one object may take, with all retries.
const OPERATION_TIME: Duration = Duration::from_secs(60);
/// Tries to write an object that others write or remove at the same time.
const PUT_ROUNDS_MAX: u32 = 4;
const PUT_PAUSE: Duration = Duration::from_millis(100);
/// Objects removed by one request.
pub(crate) const REMOVED_AT_ONCE_MAX: usize = 500;
/// Folder of the blobs, below the root.
const BLOBS: &str = "blobs";
/// Says whose blobs these are.
const MARKER: &str = "ledger-origin.txt";
const MARKER_SHOWN: &str = "blobs/ledger-origin.txt";
const MARKER_BYTES_MAX: u64 = 4096;

/// The store of one ledger's large blobs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct BlobStore {
    store: Arc<dyn ObjectStore>,
    root: Path,
    location: Arc<BlobLocation>,
}

impl std::fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlobStore({})", self.location)
    }
}

impl BlobStore {
    /// A store by its place. Nothing is read or written yet.
    pub(crate) fn connect(location: BlobLocation) -> Result<Self, BlobStoreError> {
        let connected = connect::connect(&location)?;
        Ok(Self::from_parts(connected, location))
    }

    fn from_parts(connected: connect::Connected, location: BlobLocation) -> Self {
        Self {
            store: connected.store,
            root: connected.root,
            location: Arc::new(location),
        }
    }

    /// The place.
    pub(crate) fn location(&self) -> &BlobLocation {
        &self.location
    }

    /// Makes sure that this is the place of a ledger's blobs. A place that belongs to nobody becomes the ledger's if
    /// `may_take`; a ledger that has blobs already must find its own mark, or it stands before a folder that is not mounted.
    pub(crate) async fn claim(
        &self,
        origin: &Origin,
        may_take: bool,
    ) -> Result<(), BlobStoreError> {
        let path = self.root.clone().join(BLOBS).join(MARKER);
        let doing = "reading whose blobs it holds";
        let mark = format!("{origin}\n");
        for _ in 0..PUT_ROUNDS_MAX {
            if let Some(found) = self.read_marker(&path, doing).await? {
                return if found == mark {
                    Ok(())
                } else {
                    Err(BlobStoreError::AnotherLedger {
                        location: self.location.to_string(),
                        found: found.trim_end().chars().take(100).collect(),
                        origin: origin.to_string(),
                    })
                };
            }
            if !may_take {
                return Err(BlobStoreError::NotClaimed {
                    location: self.location.to_string(),
                    origin: origin.to_string(),
                    marker: MARKER_SHOWN,
                });
            }
            self.make_folder()?;
            let options = PutOptions::from(PutMode::Create);
            let payload = PutPayload::from(Bytes::from(mark.clone()));
            let put = self.store.put_opts(&path, payload, options);
            match self.bounded("writing whose blobs it holds", put).await? {
                Ok(_) => return Ok(()),
                // Somebody else was faster: read what they wrote.
                Err(object_store::Error::AlreadyExists { .. }) => {
                    tokio::time::sleep(PUT_PAUSE).await
                }
                Err(error) => return Err(self.failed("writing whose blobs it holds", &error)),
            }
        }
        Err(self.unavailable(doing, "others change it at the same time"))
    }

    async fn read_marker(
        &self,
        path: &Path,
        doing: &'static str,
    ) -> Result<Option<String>, BlobStoreError> {
        let read = async {
            let found = self.store.get(path).await?;
            if found.meta.size > MARKER_BYTES_MAX {
                return Ok(Bytes::new());
            }
            found.bytes().await
        };
        match self.bounded(doing, read).await? {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.failed(doing, &error)),
        }
    }

    /// Writes a blob and returns when it is durable. What is there already is compared byte by byte.
    pub(crate) async fn put(&self, blob: &Blob) -> Result<Put, BlobStoreError> {
        let doing = "storing a blob";
        let path = self.path(&blob.hash);
        for round in 0..PUT_ROUNDS_MAX {
            if round > 0 {
                tokio::time::sleep(PUT_PAUSE * round).await;
            }
            let options = PutOptions::from(PutMode::Create);
            let payload = PutPayload::from(blob.bytes.clone());
            let put = self.store.put_opts(&path, payload, options);
            match self.bounded(doing, put).await? {
                Ok(_) => return Ok(Put::Written),
                Err(object_store::Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(self.failed(doing, &error)),
            }
            // Not there after all: it was removed meanwhile, or S3 told of an upload at the same time. Once more.
            if self.confirm(blob).await? {
                return Ok(Put::Present);
            }
        }
        Err(self.unavailable(doing, "others write or remove it at the same time"))
    }

    /// Whether the blob is there, durably; other bytes in its place are an error.
    async fn confirm(&self, blob: &Blob) -> Result<bool, BlobStoreError> {
        let doing = "comparing a blob that is there already";
        let occupied = |reason: String| BlobStoreError::Occupied {
            hash: blob.hash,
            location: self.location.to_string(),
            reason,
        };
        if let Some(strange) = self.strange_file(&blob.hash).await {
            return Err(occupied(strange));
        }
        let compare = async {
            let found = self.store.get(&self.path(&blob.hash)).await?;
            if found.meta.size != blob.bytes.len() as u64 {
                return Ok(Some(format!(
                    "{} bytes instead of {}",
                    found.meta.size,
                    blob.bytes.len()
                )));
            }
            // Compared as it arrives, so that no second copy is in memory.
            let (mut chunks, mut rest) = (found.into_stream(), &blob.bytes[..]);
            while let Some(chunk) = chunks.try_next().await? {
                match rest.strip_prefix(&chunk[..]) {
                    Some(after) => rest = after,
                    None => return Ok(Some("other content of the same size".to_owned())),
                }
            }
            Ok((!rest.is_empty()).then(|| "less than its size".to_owned()))
        };
        match self.bounded(doing, compare).await? {
            Ok(None) => {}
            Ok(Some(difference)) => return Err(occupied(difference)),
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) => return Err(self.failed(doing, &error)),
        }
        // Whoever wrote it may not have come to its sync, or failed there.
        self.sync_file(&blob.hash, doing).await?;
        Ok(true)
    }

    /// Reads what stands under an address and compares it with the address.
    pub(crate) async fn fetch(&self, hash: &ContentHash) -> Result<Fetched, BlobStoreError> {
        let doing = "reading a blob";
        if let Some(strange) = self.strange_file(hash).await {
            return Ok(Fetched::Damaged(strange));
        }
        let path = self.path(hash);
        let read = async {
            let found = self.store.get(&path).await?;
            collect(found).await
        };
        let bytes = match self.bounded(doing, read).await? {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(strange)) => return Ok(Fetched::Damaged(strange)),
            Err(error) if is_absent(&error) => return Ok(Fetched::Missing),
            Err(error) => return Err(self.failed(doing, &error)),
        };
        let hash = *hash;
        // Hashing many megabytes would hold up other requests here.
        let checked = tokio::task::spawn_blocking(move || {
            let found = ContentHash::of(&bytes);
            if found == hash {
                Fetched::Whole(bytes)
            } else {
                Fetched::Damaged(format!("its {} bytes have the hash {found}", bytes.len()))
            }
        });
        checked
            .await
            .map_err(|error| self.unavailable(doing, &error.to_string()))
    }

    /// Every object, as a stream: memory does not grow with their number.
    pub(crate) fn list(&self) -> BoxStream<'static, Result<Listed, BlobStoreError>> {
        let doing = "listing its blobs";
        let this = self.clone();
        self.store
            .list(Some(&self.root.clone().join(BLOBS)))
            .try_filter(|meta| std::future::ready(meta.location.filename() != Some(MARKER)))
            .map(move |found| match found {
                Ok(meta) => Ok(listed(&this.root, &meta)),
                Err(error) => Err(this.failed(doing, &error)),
            })
            .boxed()
    }

    /// Removes blobs; one that is not there is removed already. Returns how many are gone now.
    pub(crate) async fn remove(&self, hashes: &[ContentHash]) -> Result<usize, BlobStoreError> {
        let doing = "removing blobs";
        let mut removed = 0;
        for some in hashes.chunks(REMOVED_AT_ONCE_MAX) {
            let paths: Vec<_> = some.iter().map(|hash| Ok(self.path(hash))).collect();
            let done = self
                .store
                .delete_stream(futures_util::stream::iter(paths).boxed())
                .collect::<Vec<_>>();
            let done = tokio::time::timeout(OPERATION_TIME, done)
                .await
                .map_err(|_| self.unavailable(doing, "it took too long"))?;
            for result in done {
                match result {
                    Ok(_) => removed += 1,
                    Err(error) if is_absent(&error) => removed += 1,
                    Err(error) => return Err(self.failed(doing, &error)),
                }
            }
        }
        Ok(removed)
    }

    /// Where a blob lies, for messages.
    pub(crate) fn address(&self, hash: &ContentHash) -> String {
        match self.file(hash) {
            Some(file) => file.display().to_string(),
            None => format!("{}/{}", self.location, blob_name(hash)),
        }
    }

    fn path(&self, hash: &ContentHash) -> Path {
        blob_path(&self.root, hash)
    }

    /// The file of a blob, in a local folder.
    fn file(&self, hash: &ContentHash) -> Option<PathBuf> {
        match &*self.location {
            BlobLocation::Folder(folder) => Some(folder.join(blob_name(hash))),
            BlobLocation::S3 { .. } => None,
        }
    }

    async fn bounded<T>(
        &self,
        doing: &'static str,
        work: impl Future<Output = T>,
    ) -> Result<T, BlobStoreError> {
        tokio::time::timeout(OPERATION_TIME, work)
            .await
            .map_err(|_| self.unavailable(doing, "it took too long"))
    }

    fn failed(&self, doing: &'static str, error: &object_store::Error) -> BlobStoreError {
        self.unavailable(doing, &error::reason(error))
    }

    fn unavailable(&self, doing: &'static str, reason: &str) -> BlobStoreError {
        BlobStoreError::Unavailable {
            location: self.location.to_string(),
            doing,
            reason: reason.to_owned(),
        }
    }
}

/// Name of a blob below the root. One level of 256 folders: each new one costs a sync of its parent.
fn blob_name(hash: &ContentHash) -> String {
    let digits = hash.to_string();
    format!("{BLOBS}/{}/{digits}", &digits[..2])
}

fn listed(root: &Path, meta: &ObjectMeta) -> Listed {
    let hash = meta.location.filename().and_then(|name| name.parse().ok());
    match hash.filter(|hash| blob_path(root, hash) == meta.location) {
        Some(hash) => Listed::Blob {
            hash,
            bytes: meta.size,
            modified: meta.last_modified.timestamp_millis(),
        },
        None => Listed::Stranger(meta.location.to_string()),
    }
}

fn blob_path(root: &Path, hash: &ContentHash) -> Path {
    blob_name(hash)
        .split('/')
        .fold(root.clone(), |path, segment| path.join(segment))
}

/// Whether the object is not there. That the whole bucket is not there says nothing of the object.
fn is_absent(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotFound { .. })
        && !error.to_string().contains("NoSuchBucket")
}

/// Reads an object into memory, no more than a blob may have; what is strange about it instead.
async fn collect(found: GetResult) -> Result<Result<Bytes, String>, object_store::Error> {
    let size = found.meta.size;
    if size > BLOB_BYTES_MAX as u64 {
        return Ok(Err(format!("it has {size} bytes, more than any blob")));
    }
    let mut bytes = BytesMut::with_capacity(usize::try_from(size).unwrap_or(0));
    let mut chunks = found.into_stream();
    while let Some(chunk) = chunks.try_next().await? {
        if bytes.len() + chunk.len() > BLOB_BYTES_MAX {
            return Ok(Err("it has more bytes than any blob".to_owned()));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Ok(bytes.freeze()))
}

#[cfg(test)]
mod tests;
