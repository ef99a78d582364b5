//! Every limit of a server, in one place: name, default, allowed range, and what it bounds.

use remembrancer_schema::limits::{EVENT_BLOBS_MAX, EVENT_BYTES_MAX, JSON_DEPTH_MAX};
use serde::Serialize;

use crate::blob_store::BLOB_BYTES_MAX;
use crate::reader::MISSING_HASHES_MAX;
use crate::reader::PAGE_ITEMS_MAX;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// A limit that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitKey {
    /// Its name.
    pub name: &'static str,
    /// What it bounds.
    pub meaning: &'static str,
    /// Its value unless set.
    pub default: u64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Whether clients are told it, by `/v1/limits`.
    pub is_told: bool,
}

/// Why a limit cannot have a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No limit by this name.
    #[error("there is no limit named {0:?}")]
    Unknown(String),
    /// The value is outside the range.
    #[error("{value} is out of range: {min} to {max}")]
    OutOfRange {
        /// The value.
        value: u64,
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
}

fn whole(value: impl TryInto<u64>) -> Option<u64> {
    value.try_into().ok()
}

macro_rules! limits {
    (
        fixed { $($(#[doc = $fixed_doc:literal])+ $fixed:ident: $fixed_type:ty = $fixed_value:expr;)* }
        told { $($(#[doc = $told_doc:literal])+ $told:ident: $told_type:ty = $told_default:expr, $told_min:expr => $told_max:expr;)* }
        kept { $($(#[doc = $kept_doc:literal])+ $kept:ident: $kept_type:ty = $kept_default:expr, $kept_min:expr => $kept_max:expr;)* }
    ) => {
        /// The limits of a server. What `/v1/limits` prints of them concerns clients.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
        pub struct Limits {
            $($(#[doc = $fixed_doc])+ pub $fixed: $fixed_type,)*
            $($(#[doc = $told_doc])+ pub $told: $told_type,)*
            $($(#[doc = $kept_doc])+ #[serde(skip)] pub $kept: $kept_type,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self {
                    $($fixed: $fixed_value,)*
                    $($told: $told_default as $told_type,)*
                    $($kept: $kept_default as $kept_type,)*
                }
            }
        }

        impl Limits {
            /// The limits that can be set.
            pub const KEYS: &'static [LimitKey] = &[
                $(LimitKey {
                    name: stringify!($told),
                    meaning: concat!($($told_doc),+),
                    default: $told_default as u64,
                    min: $told_min as u64,
                    max: $told_max as u64,
                    is_told: true,
                },)*
                $(LimitKey {
                    name: stringify!($kept),
                    meaning: concat!($($kept_doc),+),
                    default: $kept_default as u64,
                    min: $kept_min as u64,
                    max: $kept_max as u64,
                    is_told: false,
                },)*
            ];

            /// Sets a limit by its name, within its range.
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
                let unknown = || LimitError::Unknown(name.chars().take(64).collect());
                let key = Self::KEYS.iter().find(|key| key.name == name).ok_or_else(unknown)?;
                let LimitKey { min, max, .. } = *key;
                let out_of_range = LimitError::OutOfRange { value, min, max };
                if !(min..=max).contains(&value) {
                    return Err(out_of_range);
                }
                match name {
                    $(stringify!($told) => self.$told = <$told_type>::try_from(value).map_err(|_| out_of_range)?,)*
                    $(stringify!($kept) => self.$kept = <$kept_type>::try_from(value).map_err(|_| out_of_range)?,)*
                    _ => return Err(unknown()),
                }
                Ok(())
            }

            /// The value of a limit that can be set.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($told) => whole(self.$told),)*
                    $(stringify!($kept) => whole(self.$kept),)*
                    _ => None,
                }
            }
        }
    };
}

limits! {
    // What the record's format and the API fix.
    fixed {
        /// Largest event, in bytes.
        event_bytes_max: usize = EVENT_BYTES_MAX;
        /// Most blobs that one event names.
        event_blobs_max: usize = EVENT_BLOBS_MAX;
        /// Deepest nesting of an event.
        event_depth_max: usize = JSON_DEPTH_MAX;
        /// Most hashes in one `POST /v1/blobs/missing`.
        missing_hashes_max: usize = MISSING_HASHES_MAX;
    }
    told {
        /// Largest body of `POST /v1/events`, or of what other programs send, unpacked, in bytes.
        batch_bytes_max: usize = 8 * MIB, 64 * KIB => 256 * MIB;
        /// Most events in one `POST /v1/events`.
        batch_events_max: usize = 5000, 1 => 100_000;
        /// Largest blob, unpacked, in bytes.
        blob_bytes_max: usize = BLOB_BYTES_MAX, KIB => BLOB_BYTES_MAX;
        /// Most items on a page.
        page_items_max: u32 = PAGE_ITEMS_MAX, 1 => PAGE_ITEMS_MAX;
        /// Requests with a body that are worked on at the same time, from its first byte to the answer; further ones are
        /// answered 429.
        uploads_max: usize = 64, 1 => 10_000;
        /// Longest time that a body may take to arrive, in seconds.
        upload_seconds_max: u64 = 30, 1 => 3600;
        /// Longest time that an answer may take to be ready, in seconds.
        request_seconds_max: u64 = 120, 1 => 3600;
        /// Requests that one key may send in a second; 0 for any number. Further ones are answered 429.
        key_requests_per_second_max: u32 = 50_000, 0 => 1_000_000;
        /// Requests that one key may send at once after it rested.
        key_requests_burst_max: u32 = 100_000, 1 => 10_000_000;
    }
    kept {
        /// Workspaces that the server has open, beside the default one; keys of further ones are answered 503.
        workspaces_max: usize = 64, 0 => 256;
        /// Requests that wait for a ledger's sequencer; further ones are answered 429.
        queue_requests_max: usize = 1024, 1 => 1_000_000;
        /// Bytes of events and blobs that wait for a ledger's sequencer; what exceeds them is answered 429.
        queue_bytes_max: usize = 128 * MIB, 64 * KIB => 16 * GIB;
        /// Events after which one commit takes no further request.
        group_events_max: usize = 4096, 1 => 100_000;
        /// Bytes after which one commit takes no further request.
        group_bytes_max: usize = 8 * MIB, 64 * KIB => 256 * MIB;
        /// Largest blob that is kept in the database, in bytes; larger ones go to the blob store.
        blob_inline_bytes_max: usize = 16 * KIB, 0 => BLOB_BYTES_MAX;
        /// Connections that are open at the same time; further ones are answered 503 and closed. The limit of open files
        /// of the process has to be above it by about a hundred.
        connections_max: usize = 512, 1 => 65_536;
        /// Largest head of a request, in bytes.
        header_bytes_max: usize = 32 * KIB, 4 * KIB => MIB;
        /// Longest time that the head of a request may take to arrive, in seconds; then the connection is closed.
        header_seconds_max: u64 = 10, 1 => 300;
        /// Longest time that a connection may be open between two requests, in seconds.
        idle_seconds_max: u64 = 60, 1 => 3600;
        /// Time in which a client has to take 16 KiB for each second of it while an answer waits to be sent, in seconds;
        /// one that takes less is disconnected.
        write_seconds_max: u64 = 30, 1 => 3600;
        /// Longest time that running requests get to finish when the server is asked to stop, in seconds.
        drain_seconds_max: u64 = 30, 0 => 3600;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_in_its_range_and_is_what_a_server_starts_with() {
        let limits = Limits::default();
        for key in Limits::KEYS {
            assert!((key.min..=key.max).contains(&key.default), "{key:?}");
            assert_eq!(limits.get(key.name), Some(key.default), "{key:?}");
        }
    }

    #[test]
    fn every_limit_can_be_set_to_its_ends_and_not_beyond() {
        for key in Limits::KEYS {
            let mut limits = Limits::default();
            for value in [key.min, key.max] {
                limits.set(key.name, value).expect("in range");
                assert_eq!(limits.get(key.name), Some(value), "{key:?}");
            }
            let beyond = [key.max.checked_add(1), key.min.checked_sub(1)];
            for value in beyond.into_iter().flatten() {
                assert_eq!(
                    limits.set(key.name, value),
                    Err(LimitError::OutOfRange {
                        value,
                        min: key.min,
                        max: key.max
                    })
                );
            }
        }
        assert_eq!(
            Limits::default().set("event_bytes_max", 1),
            Err(LimitError::Unknown("event_bytes_max".to_owned())),
            "the format fixes it"
        );
    }

    #[test]
    fn clients_are_told_what_concerns_them() {
        let told = serde_json::to_value(Limits::default()).expect("JSON");
        for key in Limits::KEYS {
            assert_eq!(told.get(key.name).is_some(), key.is_told, "{key:?}");
        }
        assert_eq!(told["event_bytes_max"], EVENT_BYTES_MAX);
    }
}
