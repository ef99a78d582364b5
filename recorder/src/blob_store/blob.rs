//! A blob on its way into the store or out of it, and what stands there.

use bytes::Bytes;
use remembrancer_schema::ContentHash;

use super::{BLOB_BYTES_MAX, BlobStoreError};

/// Bytes with their address, at most [`BLOB_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(super) hash: ContentHash,
    pub(super) bytes: Bytes,
}

impl Blob {
    /// Computes the address.
    pub(crate) fn new(bytes: Bytes) -> Result<Self, BlobStoreError> {
        if bytes.len() > BLOB_BYTES_MAX {
            return Err(BlobStoreError::TooLarge {
                bytes: bytes.len(),
                max: BLOB_BYTES_MAX,
            });
        }
        Ok(Self {
            hash: ContentHash::of(&bytes),
            bytes,
        })
    }

    pub(crate) fn hash(&self) -> &ContentHash {
        &self.hash
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// What became of a blob that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It was not there.
    Written,
    /// It was there, with these very bytes.
    Present,
}

/// What stands under a blob's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// The bytes that have this address.
    Whole(Bytes),
    /// Nothing.
    Missing,
    /// Something else; what it is, in words.
    Damaged(String),
}

/// An object of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Under a blob's address.
    Blob {
        /// The address.
        hash: ContentHash,
        /// Size in bytes.
        bytes: u64,
        /// When it was last written, in milliseconds since 1970.
        modified: i64,
    },
    /// Under a name that this program gives to nothing; never touched.
    Stranger(String),
}
