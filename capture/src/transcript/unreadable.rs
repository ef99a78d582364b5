//! What a transcript holds of a context and this program does not understand. It is not left out: an auditor has to know that
//! something was there.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};

use crate::cut::prefix;

/// Longest name of a type that is repeated, in bytes.
const TYPE_BYTES_MAX: usize = 64;

/// A part that is there and cannot be read: the hash of the JSON that tells of it, and its type there.
pub(super) fn unreadable(kind: PartKind, json: &str, told_type: &str) -> Part {
    unreadable_by_hash(kind, ContentHash::of(json.as_bytes()), told_type)
}

/// The same where the hash is all that was kept.
pub(super) fn unreadable_by_hash(kind: PartKind, hash: ContentHash, told_type: &str) -> Part {
    let told = match told_type {
        "" => "without a type",
        told => prefix(told, TYPE_BYTES_MAX),
    };
    Part {
        withheld: Some(format!("not understood: {told}")),
        ..Part::by_hash(kind, hash)
    }
}

#[cfg(test)]
mod tests;
