//! How fast events come in, measured against what the machine alone can do, in one run, alternating.
//!
//! | command | what it measures |
//! |---|---|
//! | `cargo bench -p remembrancer-recorder --bench ingest` | batches and single events through HTTP, beside SQLite alone, the disk alone and HTTP alone |
//! | `… --bench ingest -- growth` | the rate of appending as the ledger grows, with time-ordered and with random ids |
//! | `… --bench ingest -- postgres` | batches through HTTP on PostgreSQL, beside PostgreSQL alone |
//! | `… --bench ingest -- growth-postgres` | as growth, on PostgreSQL |
//! | `… --bench ingest -- steady` | resident memory under a steady load |
//!
//! PostgreSQL is the server that `REMEMBRANCER_BENCH_POSTGRES` names.
//!
//! Each peer is one module with one function: a database that is measured alone gets its own beside [`sqlite`].
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

mod client;
mod compare;
mod disk;
mod events;
mod growth;
mod http_alone;
mod postgres;
mod processor;
mod server;
mod sqlite;
mod steady;

use std::time::Duration;

fn main() {
    let mode = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    println!(
        "cargo bench -p remembrancer-recorder --bench ingest{}",
        mode.as_deref()
            .map(|mode| format!(" -- {mode}"))
            .unwrap_or_default()
    );
    match mode.as_deref() {
        None => compare::run(),
        Some("growth") => growth::run(),
        Some("growth-postgres") => growth::run_on_postgres(),
        Some("postgres") => postgres::run(),
        Some("steady") => steady::run(),
        Some(other) => panic!(
            "{other:?} is no mode; modes are growth, growth-postgres, postgres and steady, and none"
        ),
    }
}

/// A number from the environment, printed so that a run says what it was.
fn setting(name: &str, default: usize) -> usize {
    let value = std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is {text:?}, not a number"))
    });
    println!("{name}={value}");
    value
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How often, and how long one took.
struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
    /// Processor time of the threads that serve HTTP, for each.
    processor: Duration,
}

impl Measured {
    fn of(mut times: Vec<Duration>, whole: Duration, processor: Duration) -> Self {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        Self {
            per_second: times.len() as f64 / whole.as_secs_f64(),
            p50: at(50),
            p99: at(99),
            processor: processor / times.len() as u32,
        }
    }
}
