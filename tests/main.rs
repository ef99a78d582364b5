//! End to end: the real binary, real HTTP, real files, a real browser.
//!
//! One target, so that there is one link step.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should say where, and a skipped one should be seen"
)]

mod access;
mod architecture;
mod attacks;
mod backpressure;
mod bad_input;
mod blobs;
mod browser;
mod bundle;
mod configuration;
mod demo;
mod export;
mod faults;
mod hooks;
mod ingest;
mod labelled_sets;
mod observation;
mod operation;
mod otlp;
mod posted_hooks;
mod proxy;
mod recorded_runs;
mod sdk_python;
mod snapshots;
mod support;
mod tlog;
mod transcripts;
