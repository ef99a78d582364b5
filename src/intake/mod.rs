//! What takes in the requests of other programs: each form has its own intake, and all of them share what is kept of sessions
//! between two requests.

mod hooks;
pub(crate) mod otlp;
pub(crate) mod sessions;

pub(crate) use hooks::{CLAUDE_PATH, HookIntake};
