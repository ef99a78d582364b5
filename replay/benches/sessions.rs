//! What a session of hours costs: whole, and by the turn.
//!
//! `cargo bench -p remembrancer-replay --features fixture --bench sessions [-- TURNS...]`
//!
//! Every turn appends some 13 KB (a response, a call, its result), so that a context grows to 800 KB, about 200,000 tokens, in
//! the 60 turns between two compactions. 50 limits are looked for at every turn; every turn sends an action.
//!
//! Checked: chain, commitments and payloads, as before every whole analysis. Whole: contexts, mutations, presence and findings of a record that was read. One turn: the four entries of the last turn
//! appended to the analysis of all before it.
#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use remembrancer_replay::record::fixture::SessionFixture;
use remembrancer_replay::verify::verify_session;
use remembrancer_replay::{Analyser, SessionRecord, analyse};
use remembrancer_schema::ContentHash;

const ROUNDS: usize = 5;
const CONSTRAINTS: usize = 50;
/// Turns between two compactions.
const EPOCH_TURNS: u32 = 60;
/// Bytes of a tool's result and of a response.
const RESULT_BYTES: usize = 12_000;
const RESPONSE_BYTES: usize = 1_300;
/// Entries of one turn.
const TURN_ENTRIES: usize = 4;

fn main() {
    let asked: Vec<u32> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let lengths = if asked.is_empty() {
        vec![1_000, 2_000, 5_000, 10_000]
    } else {
        asked
    };
    println!(
        "{CONSTRAINTS} constraints; medians of {ROUNDS} rounds, {}",
        if on_processor().is_some() {
            "processor time"
        } else {
            "elapsed time"
        }
    );
    let mut whole = Vec::new();
    for turns in lengths {
        let (record, distinct) = session(turns);
        let all = median(|| timed(|| analyse(&record)));
        let one = one_turn(&record);
        let origin = &record.events[0].entry.origin;
        let checked = median(|| timed(|| verify_session(origin, &record)));
        println!(
            "{turns:>6} turns, {:>6.1} MB distinct: checked {checked:>9.2?}   whole {all:>9.2?} ({:>6.1} us a turn)   one turn {one:>9.2?}   ratio {:.0}",
            distinct as f64 / 1e6,
            all.as_secs_f64() * 1e6 / f64::from(turns),
            all.as_secs_f64() / one.as_secs_f64(),
        );
        whole.push((turns, all));
    }
    if let (Some(first), Some(last)) = (whole.first(), whole.last())
        && first.0 < last.0
    {
        let slope = (last.1.as_secs_f64() / first.1.as_secs_f64()).ln()
            / (f64::from(last.0) / f64::from(first.0)).ln();
        println!(
            "slope from {} to {} turns: cost grows with turns to the power of {slope:.2}",
            first.0, last.0
        );
    }
}

/// Appending the last turn to the analysis of everything before it.
fn one_turn(record: &SessionRecord) -> Duration {
    // An analyser cannot go back: each round appends one of the last turns.
    let start = record.events.len() - ROUNDS * TURN_ENTRIES;
    let mut durations: Vec<Duration> = Vec::new();
    let mut analyser = Analyser::new(&record.session);
    analyser.extend(&record.events[..start], &record.blobs);
    analyser.analysis();
    for round in 0..ROUNDS {
        let from = start + round * TURN_ENTRIES;
        durations.push(timed(|| {
            analyser.extend(&record.events[from..from + TURN_ENTRIES], &record.blobs);
            analyser.analysis().turns.len()
        }));
    }
    durations.sort();
    durations[ROUNDS / 2]
}

/// Time that this thread spent on a processor, where the system tells: what others do beside it does not count then.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let (started, at_first) = (Instant::now(), on_processor());
    let done = work();
    let elapsed = match (at_first, on_processor()) {
        (Some(first), Some(now)) => now.saturating_sub(first),
        _ => started.elapsed(),
    };
    black_box(done);
    elapsed
}

#[cfg(unix)]
fn on_processor() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
}

#[cfg(not(unix))]
fn on_processor() -> Option<Duration> {
    None
}

fn median(mut round: impl FnMut() -> Duration) -> Duration {
    let mut durations: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    durations.sort();
    durations[ROUNDS / 2]
}

fn limit(number: usize) -> String {
    format!("never move the ledger of archive {number} without a written order")
}

/// Words that follow one another as in no other text, and some of the words of the limits among them.
struct Prose(u64);

impl Prose {
    const WORDS: [&str; 24] = [
        "shelf",
        "ledger",
        "damp",
        "spine",
        "archive",
        "letter",
        "plate",
        "written",
        "box",
        "room",
        "index",
        "entry",
        "page",
        "binding",
        "seal",
        "order",
        "margin",
        "note",
        "copy",
        "folio",
        "without",
        "list",
        "catalogue",
        "moved",
    ];

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let word = Self::WORDS[(self.0 >> 33) as usize % Self::WORDS.len()];
            let end = if (self.0 >> 40).is_multiple_of(12) {
                ". "
            } else {
                " "
            };
            text.extend([word, end]);
        }
        text
    }
}

/// A session as a client records it that sends every text once: a context names by hash what the events before it said.
fn session(turns: u32) -> (SessionRecord, usize) {
    let mut prose = Prose(7);
    let mut fixture = SessionFixture::new().event("session.started", r#"{"label":"bench"}"#);
    for number in 0..CONSTRAINTS {
        let text = limit(number);
        let data = format!(r#"{{"id":"c{number}","kind":"prohibition","text":"{text}"}}"#);
        fixture = fixture.event("constraint.declared", data);
    }
    let limits: Vec<String> = (0..CONSTRAINTS).map(limit).collect();
    let rules = limits.join(".\n");
    let mut distinct = rules.len();
    let hash = |text: &str| ContentHash::of(text.as_bytes()).to_string();
    // The parts of the turn before, which the next context appends.
    let mut tail = format!(
        r#"{{"kind":"user","text":{}}}"#,
        serde_json::to_string(&rules).expect("text is JSON")
    );
    for turn in 1..=turns {
        let epoch = (turn - 1) % EPOCH_TURNS;
        let context = if turn > 1 && epoch == 0 {
            let kept = limits[(turn / EPOCH_TURNS) as usize % limits.len()..].join(". ");
            let summary = format!("Up to turn {turn}: {} {kept}", prose.text(2_000));
            distinct += summary.len();
            format!(r#"{{"turn":{turn},"parts":[{{"kind":"summary","text":"{summary}"}},{tail}]}}"#)
        } else if turn == 1 {
            format!(r#"{{"turn":1,"parts":[{tail}]}}"#)
        } else {
            format!(r#"{{"turn":{turn},"base":{},"parts":[{tail}]}}"#, turn - 1)
        };
        let response = prose.text(RESPONSE_BYTES);
        let result = prose.text(RESULT_BYTES);
        let arguments = format!(r#"{{"shelf":{turn}}}"#);
        distinct += response.len() + result.len() + arguments.len();
        tail = format!(
            r#"{{"kind":"assistant","hash":"{}"}},{{"kind":"tool_call","hash":"{}","call_id":"k{turn}","tool":"read"}},{{"kind":"tool_result","hash":"{}","call_id":"k{turn}","tool":"read"}}"#,
            hash(&response),
            hash(&arguments),
            hash(&result),
        );
        fixture = fixture
            .event("context.captured", context)
            .event(
                "model.responded",
                format!(r#"{{"turn":{turn},"text":["{response}"]}}"#),
            )
            .event(
                "tool.called",
                format!(
                    r#"{{"turn":{turn},"call_id":"k{turn}","tool":"read","arguments":{arguments}}}"#
                ),
            )
            .event(
                "tool.returned",
                format!(r#"{{"call_id":"k{turn}","status":"ok","result":"{result}"}}"#),
            );
    }
    (fixture.record(), distinct)
}
