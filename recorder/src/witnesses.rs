//! Witnesses: who is asked to sign each new checkpoint, and which checkpoint is published once enough have.
//!
//! A witness keeps its own memory of the ledger elsewhere and signs only what extends it (C2SP `tlog-witness`), so that a reader
//! who trusts witnesses does not depend on the operator's word alone. They are asked after the commit, by a task of its own:
//! no receipt waits for one.

mod address;
mod asking;
mod collector;
mod publication;
#[cfg(test)]
mod tests;

pub use address::{BadWitness, WitnessAddress};
pub(crate) use collector::Collector;
pub(crate) use publication::{Publication, Published};
