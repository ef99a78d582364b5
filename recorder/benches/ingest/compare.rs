//! Batches and single events through HTTP, and beside each what bounds it, round by round.

use crate::events::{self, BATCH_EVENTS, Ids};
use crate::server::Server;
use crate::{Measured, client, disk, http_alone, median, runtime, setting, sqlite};

const BATCH_CLIENTS: usize = 16;
const SINGLE_CLIENTS: usize = 64;
const LATENCY_CLIENTS: usize = 16;

/// What one round measured, by name.
type Round = Vec<(&'static str, f64)>;

pub(crate) fn run() {
    let events = setting("BENCH_EVENTS", 48_000);
    let singles = setting("BENCH_SINGLES", 24_000);
    let rounds = setting("BENCH_ROUNDS", 3);
    let runtime = runtime();
    let mut all: Vec<Round> = Vec::new();
    for number in 1..=rounds {
        println!("round {number} of {rounds}");
        let mut round = batches(&runtime, events);
        round.extend(single_events(&runtime, singles));
        show(&round);
        all.push(round);
    }
    println!("medians of {rounds} rounds");
    let medians = (0..all[0].len())
        .map(|at| {
            let values: Vec<f64> = all.iter().map(|round| round[at].1).collect();
            (all[0][at].0, median(&values))
        })
        .collect();
    show(&medians);
    println!(
        "batches: {BATCH_CLIENTS} clients, {BATCH_EVENTS} events of {} bytes each; single events: {SINGLE_CLIENTS} clients for \
         the rate, {LATENCY_CLIENTS} for the times",
        events::text(Ids::Ordered, 0, 1).len()
    );
}

fn show(round: &Round) {
    for (name, value) in round {
        println!("  {name:<58} {value:>12.2}");
    }
}

fn batches(runtime: &tokio::runtime::Runtime, events: usize) -> Round {
    let server = runtime.block_on(Server::start());
    let each = events / BATCH_CLIENTS / BATCH_EVENTS;
    let clients = (0..BATCH_CLIENTS)
        .map(|session| {
            let batch = |at: usize| {
                let numbers = at * BATCH_EVENTS..(at + 1) * BATCH_EVENTS;
                let body = events::batch_text(Ids::Ordered, session, numbers);
                client::request(&server.token, &body)
            };
            (0..each).map(batch).collect()
        })
        .collect();
    let http = client::send_all(server.address, clients).per_second * BATCH_EVENTS as f64;
    let stored = each * BATCH_CLIENTS * BATCH_EVENTS;
    let (_folder, file) = runtime.block_on(server.stop(stored));
    let rows = runtime.block_on(sqlite::Rows::read(&file));
    let (group_size, row_bytes) = (rows.group_size(), rows.row_bytes());
    let alone = runtime.block_on(sqlite::write(rows));
    vec![
        ("batches through HTTP, events/s", http),
        ("SQLite alone, the same rows and groups, events/s", alone),
        ("entries a group", group_size),
        ("bytes an entry's rows hold", row_bytes),
        ("RATIO through HTTP : SQLite alone", http / alone),
    ]
}

fn single_events(runtime: &tokio::runtime::Runtime, events: usize) -> Round {
    let disk = disk::append_one_by_one();
    let through = |clients| through_http(runtime, clients, events);
    let (many, few) = (through(SINGLE_CLIENTS), through(LATENCY_CLIENTS));
    let alone = http_alone::send_all(runtime, requests("none", SINGLE_CLIENTS, events));
    let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let flush = micros(disk.p50);
    vec![
        (
            "disk alone: append 1 KiB and fdatasync, records/s",
            disk.per_second,
        ),
        ("disk alone: p50, µs", flush),
        ("disk alone: p99, µs", micros(disk.p99)),
        ("single events, 64 clients, events/s", many.per_second),
        ("HTTP alone, 64 clients, events/s", alone.per_second),
        (
            "RATIO single events : disk alone",
            many.per_second / disk.per_second,
        ),
        (
            "RATIO HTTP alone : disk alone",
            alone.per_second / disk.per_second,
        ),
        (
            "RATIO single events : HTTP alone",
            many.per_second / alone.per_second,
        ),
        (
            "single events, 64 clients: HTTP workers' processor time, µs",
            micros(many.processor),
        ),
        (
            "HTTP alone, 64 clients: the same, µs",
            micros(alone.processor),
        ),
        ("single events, 16 clients, events/s", few.per_second),
        ("single events, 16 clients: p50, µs", micros(few.p50)),
        ("single events, 16 clients: p99, µs", micros(few.p99)),
        ("RATIO p50 : one fdatasync (p50)", micros(few.p50) / flush),
        ("RATIO p99 : one fdatasync (p50)", micros(few.p99) / flush),
    ]
}

fn through_http(runtime: &tokio::runtime::Runtime, clients: usize, events: usize) -> Measured {
    let server = runtime.block_on(Server::start());
    let requests = requests(&server.token, clients, events);
    let measured = client::send_all(server.address, requests);
    runtime.block_on(server.stop(events / clients * clients));
    measured
}

/// One event a request, one session a client.
fn requests(token: &str, clients: usize, events: usize) -> Vec<Vec<Vec<u8>>> {
    let one =
        |session, number| client::request(token, &events::text(Ids::Ordered, session, number));
    (0..clients)
        .map(|session| {
            (0..events / clients)
                .map(|number| one(session, number))
                .collect()
        })
        .collect()
}
