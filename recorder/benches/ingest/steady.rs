//! Resident memory under a steady load, the load generator's own included: it makes each request when it sends it.

use std::time::{Duration, Instant};

use crate::client::{self, Connection};
use crate::events::{self, BATCH_EVENTS, Ids};
use crate::server::Server;
use crate::{runtime, setting};

const CLIENTS: usize = 16;
const READING: Duration = Duration::from_secs(10);

pub(crate) fn run() {
    let seconds = setting("BENCH_SECONDS", 600);
    let rate = setting("BENCH_RATE", 10_000);
    println!("{CLIENTS} clients, batches of {BATCH_EVENTS}, {rate} events/s in all");
    runtime().block_on(hold(Duration::from_secs(seconds as u64), rate));
}

async fn hold(time: Duration, rate: usize) {
    let server = Server::start().await;
    let started = Instant::now();
    let pause = Duration::from_secs_f64((BATCH_EVENTS * CLIENTS) as f64 / rate as f64);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|session| {
            let (address, token) = (server.address, server.token.clone());
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                let mut turns = tokio::time::interval(pause);
                let mut sent = 0;
                while started.elapsed() < time {
                    turns.tick().await;
                    let numbers = sent..sent + BATCH_EVENTS;
                    let body = events::batch_text(Ids::Ordered, session, numbers);
                    connection.exchange(&client::request(&token, &body)).await;
                    sent += BATCH_EVENTS;
                }
                sent
            })
        })
        .collect();
    let mut readings = Vec::new();
    while started.elapsed() + READING <= time {
        tokio::time::sleep(READING).await;
        let resident = resident_mib();
        println!(
            "  {:>4} s: {resident:>7.1} MiB resident",
            started.elapsed().as_secs()
        );
        readings.push(resident);
    }
    let mut sent = 0;
    for client in clients {
        sent += client.await.unwrap();
    }
    server.stop(sent).await;
    let half = readings.len() / 2;
    let highest = |readings: &[f64]| readings.iter().copied().fold(0.0, f64::max);
    println!(
        "{sent} events; highest in the first half {:.1} MiB, in the second {:.1} MiB",
        highest(&readings[..half]),
        highest(&readings[half..])
    );
}

/// Memory of this process that is in RAM, as Linux counts it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024.0
}
