#![doc = include_str!("../README.md")]

pub mod checkpoint;
pub mod commitment;
pub mod cosignature;
pub mod entry;
pub mod event;
pub mod hash;
pub mod id;
pub mod ijson;
pub mod limits;
pub mod merkle;
pub mod note;
pub mod payload;
pub mod receipt;
pub mod signing;
mod text;
pub mod tile;
pub mod verifier_key;

pub use commitment::Salt;
pub use entry::{Entry, EntryError};
pub use event::{Event, EventError};
pub use hash::{Commitment, ContentHash, EntryHash, TreeHash};
pub use id::{AgentName, EventId, IdError, Origin, SessionId};
pub use payload::{EventType, Payload};
