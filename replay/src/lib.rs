#![doc = include_str!("../README.md")]

mod action;
mod aftermath;
mod alignment;
mod analyser;
pub mod analysis;
mod anchor;
mod authority;
mod budget;
pub mod bundle;
mod clearing;
mod constraint;
pub mod context;
mod control;
mod declaration;
pub mod effect;
mod effort;
mod fate;
mod finding;
mod folding;
pub mod labelled;
mod language;
mod matcher;
mod modality;
mod mutation;
mod overview;
mod passage;
mod policy;
pub mod presence;
mod price;
mod reading;
pub mod record;
mod repetition;
mod report;
mod restatement;
pub mod scope;
mod sighting;
mod statement;
mod summary;
pub mod verify;
pub mod view;
mod weight;
mod witnesses;
mod wording;

use std::sync::Arc;

pub use analyser::Analyser;
pub use analysis::Analysis;
pub use price::price_of_remembering;
pub use record::{RecordedEvent, RecordedPayload, SessionRecord};
pub use weight::bytes_held;
pub use witnesses::FindingPlaces;
pub use wording::{Worded, Wording, wording};

/// Computes everything that the auditor says of a session. Linear in turns × constraints plus distinct text.
pub fn analyse(record: &SessionRecord) -> Analysis {
    Arc::unwrap_or_clone(Analyser::of(record).into_analysis())
}
