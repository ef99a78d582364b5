#![doc = include_str!("../README.md")]

pub mod adapter;
mod checkpoint_copy;
mod clock;
mod data_dir;
mod error;
mod group;
mod http;
mod incoming;
mod ledger;
mod random;
mod reader;
mod sequencer;
mod session;
mod store;
#[cfg(test)]
mod testing;
mod token;
mod tree;
mod verify;

pub use error::LedgerError;
pub use http::{ApiState, BundleMaker, Limits, Problem, Slug, openapi, router};
pub use incoming::{Outcome, OwnedEvent, Rejection};
pub use ledger::{BLOB_BYTES_MAX, Ledger, LedgerOptions, load_key};
pub use reader::{PAGE_ITEMS_MAX, Reader, StoredEntry};
pub use session::{Page, SessionSummary};
pub use store::{DatabaseUrl, LedgerLocation, WorkspaceName};
pub use token::{
    NewToken, Principal, Role, TokenSummary, UnknownRole, create_token, list_tokens, revoke_token,
};
pub use verify::{LedgerVerdict, verify_ledger};
