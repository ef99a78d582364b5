//! Spans of agents, as OpenTelemetry exporters send them, turned into events.
//!
//! Read are the `GenAI` semantic conventions under their names of now and before, `OpenInference` and `OpenLLMetry`. Contexts come
//! from what each request to the model holds, never from the history that an agent tells when its run is over: where that was
//! rewritten, it is the rewritten one. Spans arrive after the fact, and a missing one proves nothing: every record is marked as
//! telemetry.

mod agents;
mod answer;
mod attributes;
mod counted;
mod export;
mod flat;
mod messages;
mod older;
mod rejected;
mod salvage;
mod session;
mod source;
mod span;
mod wire;
mod wire_json;

pub use answer::{accepted, refused};
pub use export::{Conversation, DecodeError, Export, Form, REJECTED_SESSION, Rejected};
pub use rejected::REJECTED_TYPE;
pub use session::Session;

#[cfg(test)]
mod tests;
