//! End to end: the real binary, real HTTP, real files, a real browser.
//!
//! One target, so that there is one link step.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should say where, and a skipped one should be seen"
)]

mod architecture;
mod bad_input;
mod browser;
mod bundle;
mod demo;
mod export;
mod ingest;
mod recorded_runs;
mod support;
