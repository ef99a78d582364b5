//! The rate of appending as the ledger grows: through `Ledger::append`, without HTTP, so that the ledger alone decides.

use std::sync::Arc;
use std::time::Instant;

use remembrancer_recorder::{Ledger, LedgerLocation, LedgerOptions};
use tokio::sync::Mutex;

use crate::events::{self, BATCH_EVENTS, Ids};
use crate::postgres::Place;
use crate::{runtime, setting};

const SESSIONS: usize = 64;
const WRITERS: usize = 16;
/// Entries between two readings of the clock.
const WINDOW: usize = 200_000;

pub(crate) fn run() {
    let runtime = runtime();
    each(|ids, entries| {
        let folder = tempfile::tempdir().unwrap();
        runtime.block_on(grow(folder.path().into(), ids, entries));
    });
}

pub(crate) fn run_on_postgres() {
    let runtime = runtime();
    each(|ids, entries| {
        let place = runtime.block_on(Place::make());
        runtime.block_on(grow(place.location(), ids, entries));
        runtime.block_on(place.remove());
    });
}

fn each(grow: impl Fn(Ids, usize)) {
    let ordered = setting("BENCH_ENTRIES", 5_000_000);
    let random = setting("BENCH_ENTRIES_RANDOM", 1_000_000);
    for (name, ids, entries) in [
        ("UUIDv7 ids", Ids::Ordered, ordered),
        ("random ids", Ids::Random, random),
    ] {
        println!(
            "{name}: {SESSIONS} active sessions, {WRITERS} writers, batches of {BATCH_EVENTS} through Ledger::append"
        );
        grow(ids, entries);
    }
}

async fn grow(location: LedgerLocation, ids: Ids, entries: usize) {
    let ledger = Ledger::open(LedgerOptions::new(location)).await.unwrap();
    let sessions: Arc<Vec<Mutex<usize>>> = Arc::new((0..SESSIONS).map(|_| Mutex::new(0)).collect());
    let mut first = None;
    for _ in 1..=entries.div_ceil(WINDOW) {
        let started = Instant::now();
        let batches = WINDOW / BATCH_EVENTS / WRITERS;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (ledger, sessions) = (ledger.clone(), Arc::clone(&sessions));
                tokio::spawn(async move {
                    for batch in 0..batches {
                        // A writer's own sessions, in turn.
                        let session = (batch * WRITERS + writer) % SESSIONS;
                        append(&ledger, &sessions[session], ids, session).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let rate = (batches * BATCH_EVENTS * WRITERS) as f64 / started.elapsed().as_secs_f64();
        let first = *first.get_or_insert(rate);
        println!(
            "  {:>9} entries: {rate:>8.0} entries/s, {:.2} of the first",
            ledger.reader().size().await.unwrap(),
            rate / first
        );
    }
    ledger.close().await;
}

async fn append(ledger: &Ledger, next: &Mutex<usize>, ids: Ids, session: usize) {
    let mut next = next.lock().await;
    let batch = events::batch(ids, session, *next..*next + BATCH_EVENTS);
    *next += BATCH_EVENTS;
    let outcomes = ledger.append(batch).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.place().is_some()));
}
