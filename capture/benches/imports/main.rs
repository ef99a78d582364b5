//! What an import costs beyond reading its file: made-up histories of Claude Code of 5, 10 and 20 MB, without a compaction, so that
//! the context grows from the first request to the last. Each is imported, and in the same run and in turn its lines are read and
//! parsed as JSON alone, which no import can do without.
//!
//! `cargo bench -p remembrancer-capture --bench imports`
//!
//! Ends with an error if the time for each megabyte grows with the file by more than half.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use remembrancer_capture::Written;
use remembrancer_capture::transcript::{self, ImportOptions, Lines, Sink};
use remembrancer_schema::SessionId;

/// Sizes of the histories, in bytes.
const SIZES: [usize; 3] = [5_000_000, 10_000_000, 20_000_000];
/// Bytes of each result.
const RESULT_BYTES: usize = 1_500;
/// How often each is read; the fastest counts, since whatever else the machine does only adds.
const ROUNDS: usize = 5;
/// How much more a megabyte of the largest may cost than one of the smallest.
const GROWTH_MAX: f64 = 1.5;

/// Counts what is handed on.
#[derive(Default)]
struct Count {
    events: usize,
}

impl Sink for Count {
    fn take(&mut self, _: &SessionId, written: Written) -> bool {
        self.events += written.events.len();
        true
    }

    fn progress(&mut self, _: u64) {}
}

fn history(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 8 * RESULT_BYTES);
    let mut parent = "null".to_owned();
    for turn in 0.. {
        if text.len() >= bytes {
            break;
        }
        let said = format!("line {turn} of what a tool gave back ").repeat(RESULT_BYTES / 36);
        writeln!(
            text,
            r#"{{"type":"assistant","sessionId":"s","uuid":"a{turn}","parentUuid":{parent},"message":{{"id":"m{turn}","role":"assistant","content":[{{"type":"text","text":"step {turn}"}},{{"type":"tool_use","id":"c{turn}","name":"Read","input":{{"path":"src/{turn}.rs"}}}}]}}}}"#
        )
        .unwrap();
        writeln!(
            text,
            r#"{{"type":"user","sessionId":"s","uuid":"r{turn}","parentUuid":"a{turn}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{turn}","content":"{said}"}}]}}}}"#
        )
        .unwrap();
        parent = format!("\"r{turn}\"");
    }
    text
}

/// The import, to where its events would be handed on; and how many they are.
fn import(path: &Path) -> (Duration, usize) {
    let format = transcript::format_named("claude-code").unwrap();
    let mut count = Count::default();
    let begun = Instant::now();
    transcript::import(format, path, &ImportOptions::default(), &mut count).unwrap();
    (begun.elapsed(), count.events)
}

/// Reading the lines and parsing each.
fn parse(path: &Path) -> Duration {
    let begun = Instant::now();
    let mut lines = Lines::open(path).unwrap();
    while let Some(line) = lines.next_line().unwrap() {
        let value: serde_json::Value = serde_json::from_slice(&line.bytes).unwrap();
        std::hint::black_box(value);
    }
    begun.elapsed()
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut for_each_megabyte = Vec::new();
    for bytes in SIZES {
        let path = folder.path().join(format!("{bytes}.jsonl"));
        std::fs::write(&path, history(bytes)).unwrap();
        let (mut imported, mut parsed, mut events) = (Duration::MAX, Duration::MAX, 0);
        for _ in 0..ROUNDS {
            parsed = parsed.min(parse(&path));
            let (took, count) = import(&path);
            imported = imported.min(took);
            events = count;
        }
        let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
        let (imported, parsed) = (imported.as_secs_f64(), parsed.as_secs_f64());
        println!(
            "{megabytes:>5.1} MB, {events:>6} events: import {imported:.3} s, {:.1} ms/MB; lines parsed alone {parsed:.3} s; {:.1} times",
            imported * 1e3 / megabytes,
            imported / parsed
        );
        for_each_megabyte.push(imported / megabytes);
    }
    let growth = for_each_megabyte[SIZES.len() - 1] / for_each_megabyte[0];
    println!("a megabyte of the largest costs {growth:.2} times one of the smallest");
    if growth > GROWTH_MAX {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
