//! Several recorders on one ledger in PostgreSQL: one is killed, one is frozen in the middle of its turn and goes on later.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::rig::{PATIENCE, Rig};
use crate::support::load::Watch;
use crate::support::postgres::Postgres;
use crate::support::process::{Process, Setup};
use crate::support::random::Random;

const WRITERS: usize = 9;
const ROUNDS: usize = 3;
/// Longest time that a frozen recorder may keep the others from answering.
const HOLD_UP_MAX: Duration = Duration::from_secs(10);
/// How often a recorder is frozen at a random moment until that moment is within its turn.
const FREEZES_MAX: usize = 200;
/// Transactions of a process that stands still; those of one that runs are never idle for so long.
const STANDING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND state LIKE 'idle in transaction%' AND now() - state_change > interval '200 milliseconds'";
/// How often every connection of the recorders is cut.
const CUTS: usize = 20;
const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[test]
fn three_recorders_lose_and_fork_nothing_when_one_is_killed_and_one_frozen() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let seed = Random::seed("several recorders");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let setups =
        ["one", "two", "three"].map(|name| on_postgres(&folder.path().join(name), &postgres));
    let [first, second, third] = &setups;
    let (mut rig, mut one) = Rig::new(
        first.clone(),
        &folder.path().join("one"),
        WRITERS,
        seed,
        Duration::ZERO,
    );
    for name in ["two", "three"] {
        share_key(folder.path(), name);
    }
    let (mut two, mut three) = (second.start(), third.start());
    rig.load.talk_to(&[&one.url, &two.url, &three.url]);
    let mut hold_ups = Vec::new();
    for round in 0..ROUNDS {
        rig.load.run(|watch| {
            more(watch, 500, "by three recorders");
            let held = freeze_in_its_turn(&two, &postgres, &mut random);
            let frozen = Instant::now();
            more(watch, 1_000, "while one is frozen");
            let silence = watch.journal().longest_silence(frozen);
            eprintln!(
                "round {round}: frozen in its turn: {held}; the others were held up for {} ms",
                silence.as_millis()
            );
            hold_ups.push((held, silence));
            one.kill();
            more(watch, 500, "by the only one left");
            two.thaw();
            more(watch, 500, "after the frozen one goes on");
            one = first.start();
            watch.talk_to(&[&one.url, &two.url, &three.url]);
            more(watch, 500, "by three recorders again");
        });
        for process in [&mut one, &mut two, &mut three] {
            assert!(process.is_running(), "{}", process.log());
        }
        // Whichever is asked tells the same ledger.
        rig.load.settle(PATIENCE);
        rig.check_new(&two);
        rig.check_all(&three);
    }
    assert!(
        hold_ups.iter().any(|(held, _)| *held),
        "none was frozen within its turn: {hold_ups:?}"
    );
    let worst = hold_ups
        .iter()
        .map(|(_, silence)| *silence)
        .max()
        .expect("there were rounds");
    assert!(worst < HOLD_UP_MAX, "{hold_ups:?}");
    for process in [two, three] {
        assert_eq!(process.stop(PATIENCE).code(), Some(0));
    }
    rig.load.talk_to(&[&one.url]);
    let entries = rig.prove_whole(one);
    let figures = rig.load.figures();
    eprintln!(
        "three recorders, {ROUNDS} kills and {ROUNDS} freezes: {} events acknowledged, {} answers lost with {} events in \
         doubt, of which {} were stored; {entries} entries verified; lost 0; longest hold-up {} ms",
        figures.acknowledged,
        figures.lost_answers,
        figures.in_doubt,
        figures.found_stored,
        worst.as_millis(),
    );
}

#[test]
fn connections_that_the_database_cuts_lose_and_fork_nothing() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let seed = Random::seed("cut connections");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let [first, second] =
        ["one", "two"].map(|name| on_postgres(&folder.path().join(name), &postgres));
    let (mut rig, mut one) = Rig::new(
        first,
        &folder.path().join("one"),
        WRITERS,
        seed,
        Duration::ZERO,
    );
    share_key(folder.path(), "two");
    let mut two = second.start();
    rig.load.talk_to(&[&one.url, &two.url]);
    let mut cut = 0;
    rig.load.run(|watch| {
        for _ in 0..CUTS {
            more(watch, 100, "between two cuts");
            thread::sleep(Duration::from_millis(random.between(0, 50)));
            let count = postgres.ask(CUT);
            cut += count.parse::<u32>().expect("a number");
        }
        more(watch, 500, "after the last cut");
    });
    for process in [&mut one, &mut two] {
        assert!(process.is_running(), "{}", process.log());
    }
    rig.load.settle(PATIENCE);
    assert_eq!(two.stop(PATIENCE).code(), Some(0));
    rig.load.talk_to(&[&one.url]);
    let entries = rig.prove_whole(one);
    let figures = rig.load.figures();
    assert!(figures.unavailable > 0, "no cut was noticed: {figures:?}");
    eprintln!(
        "{cut} connections cut in {CUTS} cuts: {} events acknowledged, {} requests refused with 503, {} events found stored \
         when sent again; {entries} entries verified; lost 0",
        figures.acknowledged, figures.unavailable, figures.found_stored,
    );
}

/// A ledger in a database, with a data folder for its key.
fn on_postgres(data: &Path, postgres: &Postgres) -> Setup {
    let mut setup = Setup::in_folder(data);
    setup
        .ledger
        .extend(["--database".into(), postgres.url.clone().into()]);
    setup
}

/// One ledger has one key: an operator gives it to each recorder.
fn share_key(folder: &Path, name: &str) {
    let data = folder.join(name);
    std::fs::create_dir(&data).expect("can be made");
    std::fs::copy(
        folder.join("one/ledger-key.pem"),
        data.join("ledger-key.pem"),
    )
    .expect("can be copied");
}

fn more(watch: &Watch, count: usize, by: &str) {
    let before = watch.figures().acknowledged;
    watch.wait_until(&format!("events are acknowledged {by}"), PATIENCE, |now| {
        now.acknowledged >= before + count
    });
}

/// Freezes a recorder while it has a transaction open. Says whether that succeeded; frozen it is in any case.
fn freeze_in_its_turn(process: &Process, postgres: &Postgres, random: &mut Random) -> bool {
    for _ in 0..FREEZES_MAX {
        process.freeze();
        thread::sleep(Duration::from_millis(250));
        if postgres.ask(STANDING) != "0" {
            return true;
        }
        process.thaw();
        thread::sleep(Duration::from_millis(random.between(1, 60)));
    }
    process.freeze();
    false
}
