//! Ingest through HTTP against SQLite alone, in one run, alternating.
//!
//! `cargo bench -p remembrancer-recorder --bench ingest`, with `BENCH_EVENTS` for another number of events a round.
//!
//! The peer writes the same rows (entry and payload, same columns, same indices, same page size and flush) in transactions of
//! 1,000 with the fastest statement known here, a multi-row INSERT; nothing is parsed, hashed or signed for it. So the ratio
//! says how much of the disk's and SQLite's speed the whole path from socket to receipt keeps.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

use std::path::Path;
use std::time::Instant;

use remembrancer_recorder::{ApiState, Ledger, LedgerOptions, Role, create_token};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, QueryBuilder, Sqlite};

const ROUNDS: usize = 3;
const CLIENTS: usize = 16;
const BATCH_EVENTS: usize = 100;
const PEER_ROWS_PER_STATEMENT: usize = 50;
const PEER_ROWS_PER_TRANSACTION: usize = 1_000;
/// Size of one event's text, so that an event is about 1 KiB.
const TEXT_BYTES: usize = 880;

fn main() {
    let events: usize = std::env::var("BENCH_EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(50_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (mut http, mut peer) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let alone = runtime.block_on(sqlite_alone(events));
        let whole = runtime.block_on(through_http(events));
        println!(
            "round {round}: SQLite alone {alone:>9.0} rows/s, through HTTP {whole:>9.0} events/s, ratio {:.2}",
            whole / alone
        );
        peer.push(alone);
        http.push(whole);
    }
    let (http, peer) = (median(http), median(peer));
    println!(
        "median:  SQLite alone {peer:>9.0} rows/s, through HTTP {http:>9.0} events/s, ratio {:.2}",
        http / peer
    );
    println!(
        "{events} events a round of about 1 KiB, {CLIENTS} clients, batches of {BATCH_EVENTS}"
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn event(client: usize, number: usize) -> String {
    let (kind, data) = match number {
        0 => ("session.started", "{}".to_owned()),
        _ => (
            "custom.bench",
            format!(
                r#"{{"number":{number},"text":"{}"}}"#,
                "x".repeat(TEXT_BYTES)
            ),
        ),
    };
    format!(
        r#"{{"id":"{number:032}","session":"bench-{client}","type":"{kind}","agent":"bench","data":{data}}}"#
    )
}

async fn through_http(events: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(LedgerOptions::new(folder.path()))
        .await
        .unwrap();
    let token = create_token(folder.path(), Role::Write, "bench")
        .await
        .unwrap()
        .token;
    let router = remembrancer_recorder::router(ApiState::without_bundles(ledger.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let each = events / CLIENTS;
    let bodies: Vec<Vec<String>> = (0..CLIENTS)
        .map(|client| {
            let numbers: Vec<usize> = (0..each).collect();
            let body = |batch: &[usize]| {
                let events: Vec<String> =
                    batch.iter().map(|&number| event(client, number)).collect();
                format!("[{}]", events.join(","))
            };
            numbers.chunks(BATCH_EVENTS).map(body).collect()
        })
        .collect();
    let started = Instant::now();
    let clients: Vec<_> = bodies
        .into_iter()
        .map(|bodies| {
            let (url, token) = (format!("http://{address}/v1/events"), token.clone());
            tokio::task::spawn_blocking(move || post(&url, &token, bodies))
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(
        ledger.reader().size().await.unwrap(),
        (each * CLIENTS) as u64
    );
    server.abort();
    ledger.close().await;
    (each * CLIENTS) as f64 / seconds
}

fn post(url: &str, token: &str, bodies: Vec<String>) {
    let agent = ureq::Agent::new_with_defaults();
    for body in bodies {
        let request = agent
            .post(url)
            .header("authorization", format!("Bearer {token}"));
        let mut response = request.content_type("application/json").send(body).unwrap();
        let answer = response.body_mut().read_to_string().unwrap();
        assert!(!answer.contains("\"rejected\""), "{answer}");
    }
}

async fn sqlite_alone(events: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = SqliteConnectOptions::new()
        .filename(Path::join(folder.path(), "peer.sqlite"))
        .create_if_missing(true)
        .page_size(8192)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "1000")
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql(include_str!("../migrations/sqlite/0001_ledger.sql"))
        .execute(&mut connection)
        .await
        .unwrap();
    let (entry, data) = (vec![b'e'; 560], vec![b'd'; TEXT_BYTES + 30]);
    let each = events / CLIENTS;
    let numbers: Vec<i64> = (0..(each * CLIENTS) as i64).collect();
    let started = Instant::now();
    for group in numbers.chunks(PEER_ROWS_PER_TRANSACTION) {
        let mut transaction = connection.begin().await.unwrap();
        for rows in group.chunks(PEER_ROWS_PER_STATEMENT) {
            let mut entries: QueryBuilder<Sqlite> = QueryBuilder::new(
                "INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) ",
            );
            entries.push_values(rows, |mut values, &row| {
                let (session, sequence) = (row % CLIENTS as i64, row / CLIENTS as i64);
                values
                    .push_bind(row)
                    .push_bind(session)
                    .push_bind(sequence)
                    .push_bind(format!("{sequence:032}"))
                    .push_bind(entry.as_slice())
                    .push_bind([1u8; 32].to_vec())
                    .push_bind([2u8; 32].to_vec());
            });
            entries.build().execute(&mut *transaction).await.unwrap();
            let mut payloads: QueryBuilder<Sqlite> =
                QueryBuilder::new("INSERT INTO payloads (idx, salt, data) ");
            payloads.push_values(rows, |mut values, &row| {
                values
                    .push_bind(row)
                    .push_bind([3u8; 32].to_vec())
                    .push_bind(data.as_slice());
            });
            payloads.build().execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    connection.close().await.unwrap();
    numbers.len() as f64 / seconds
}
