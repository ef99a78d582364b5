//! What other programs record, turned into events.
//!
//! An adapter for files is a pure function from files to events: it opens no ledger and asks no clock, so the same files give the
//! same events, byte for byte, and importing them twice adds nothing.
//!
//! What is recorded while an agent works goes through a [`spool`]: nothing here may slow, break or block the agent.

pub mod call_recorder;
pub mod conversation;
mod cut;
pub mod delivery;
pub mod hook;
mod members;
pub mod mission_continuity;
pub mod mission_file;
pub mod model_api;
mod new_event;
pub mod otlp;
pub mod private;
pub mod proxy;
#[cfg(test)]
mod recorded_data;
pub mod rules;
mod session_writer;
pub mod spool;
mod tls;
pub mod transcript;

pub use members::Members;
pub use new_event::{NewEvent, WriteError, Written};
pub use session_writer::SessionWriter;
