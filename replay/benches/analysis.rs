//! Presence over a long session, and verification of its entries, each against a peer in the same run.
//!
//! `cargo bench -p remembrancer-replay --features fixture --bench analysis`
//!
//! Presence: the whole analysis (contexts, mutations, presence of 50 constraints at every turn, findings) against what a plain
//! term check does, which joins and lower-cases every context and looks for one word per constraint.
//! Verification: canonical form, link, commitment and payload of every entry, against parsing and hashing its bytes once.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use remembrancer_replay::record::fixture::SessionFixture;
use remembrancer_replay::verify::verify_session;
use remembrancer_replay::{SessionRecord, analyse};

const ROUNDS: usize = 5;
const TURNS: u32 = 500;
const CONSTRAINTS: u32 = 50;
/// Turns between two compactions.
const EPOCH_TURNS: u32 = 60;

fn main() {
    let record = session();
    let entries = record.events.len();
    let (mut whole, mut plain, mut verified, mut floor) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        whole.push(timed(|| analyse(&record)));
        plain.push(timed(|| plain_term_check(&record)));
        verified.push(timed(|| verify_session(&origin(&record), &record)));
        floor.push(timed(|| parse_and_hash(&record)));
    }
    let (whole, plain) = (median(whole), median(plain));
    println!(
        "{TURNS} turns, {CONSTRAINTS} constraints, {entries} entries; medians of {ROUNDS} rounds"
    );
    println!(
        "analysis        {whole:>10.2?}   plain term check {plain:>10.2?}   ratio {:.2}",
        ratio(plain, whole)
    );
    let (verified, floor) = (median(verified), median(floor));
    println!(
        "verification    {verified:>10.2?}   parse and hash   {floor:>10.2?}   ratio {:.2}",
        ratio(floor, verified)
    );
    println!(
        "verification    {:.0} entries/s on one thread",
        entries as f64 / verified.as_secs_f64()
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    black_box(work());
    started.elapsed()
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}

fn ratio(peer: Duration, ours: Duration) -> f64 {
    peer.as_secs_f64() / ours.as_secs_f64()
}

fn origin(record: &SessionRecord) -> remembrancer_schema::Origin {
    record.events[0].entry.origin.clone()
}

fn limit(number: u32) -> String {
    format!("never touch archive number {number} without a written order")
}

fn session() -> SessionRecord {
    let mut fixture = SessionFixture::new().event("session.started", r#"{"label":"bench"}"#);
    for number in 0..CONSTRAINTS {
        let text = limit(number);
        let data = format!(r#"{{"id":"c{number}","kind":"prohibition","text":"{text}"}}"#);
        fixture = fixture.event("constraint.declared", data);
    }
    let limits: Vec<String> = (0..CONSTRAINTS).map(limit).collect();
    for turn in 1..=TURNS {
        let result = format!(
            "Shelf {turn} holds ledgers, letters and plates; {}",
            "damp at the spine, ".repeat(60)
        );
        let part = format!(r#"{{"kind":"tool_result","text":"{result}","call_id":"call-{turn}"}}"#);
        let context = match turn % EPOCH_TURNS {
            1 if turn == 1 => format!(
                r#"{{"turn":1,"parts":[{{"kind":"user","text":"{}"}}]}}"#,
                limits.join(". ")
            ),
            1 => format!(
                r#"{{"turn":{turn},"parts":[{{"kind":"summary","text":"Shelves up to {turn} were read. {}"}},{part}]}}"#,
                limits[(turn / EPOCH_TURNS) as usize % limits.len()..].join(". ")
            ),
            _ => format!(r#"{{"turn":{turn},"base":{},"parts":[{part}]}}"#, turn - 1),
        };
        fixture = fixture.event("context.captured", context).event(
            "tool.called",
            format!(r#"{{"turn":{turn},"call_id":"call-{turn}","tool":"read_shelf"}}"#),
        );
    }
    fixture.event("session.ended", "{}").record()
}

/// What the recorded runs' own check does, for every turn: join, lower-case, look for a word.
fn plain_term_check(record: &SessionRecord) -> usize {
    let mut context: Vec<String> = Vec::new();
    let mut found = 0;
    for event in &record.events {
        let Some(remembrancer_schema::Payload::ContextCaptured(captured)) = event.read() else {
            continue;
        };
        if captured.base.is_none() {
            context.clear();
        }
        context.extend(captured.parts.into_iter().filter_map(|part| part.text));
        let text = context.join("\n").to_lowercase();
        found += (0..CONSTRAINTS)
            .filter(|number| text.contains(&format!("archive number {number} ")))
            .count();
    }
    found
}

fn parse_and_hash(record: &SessionRecord) -> usize {
    let mut total = 0;
    for event in &record.events {
        let entry: serde_json::Value =
            serde_json::from_slice(&event.entry_bytes).expect("an entry is JSON");
        let hash = remembrancer_schema::ContentHash::of(&event.entry_bytes);
        let data = event.payload.as_ref().map_or("", |payload| &payload.data);
        let payload = remembrancer_schema::ContentHash::of(data.as_bytes());
        total += black_box((entry, hash, payload)).1.as_bytes().len();
    }
    total
}
