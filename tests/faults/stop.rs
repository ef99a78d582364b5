//! SIGTERM under load.

use std::thread;
use std::time::{Duration, Instant};

use super::rig::{PATIENCE, Rig};
use crate::support::process::{Setup, data_in};
use crate::support::random::Random;

const ROUNDS: usize = 3;

#[test]
fn a_stop_under_load_answers_all_that_it_stored() {
    let seed = Random::seed("stop under load");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    let (mut rig, mut process) = Rig::new(Setup::in_folder(&data), &data, 6, seed, Duration::ZERO);
    for _ in 0..ROUNDS {
        let before = rig.load.figures().acknowledged;
        let (status, took) = rig.load.run(|watch| {
            watch.wait_until("writers are at work", PATIENCE, |now| {
                now.acknowledged > before + 500
            });
            let asked = Instant::now();
            let status = process.stop(PATIENCE);
            // The writers go on knocking: nobody may answer them now.
            thread::sleep(Duration::from_millis(50));
            (status, asked.elapsed())
        });
        assert_eq!(status.code(), Some(0), "how it stopped");
        let log = std::fs::metadata(data.join("ledger.sqlite-wal"));
        assert_eq!(
            log.map_or(0, |file| file.len()),
            0,
            "the database file alone is the whole ledger once its server has stopped"
        );
        rig.setup.verify();
        process = rig.start_again();
        // Before anything is sent again: what is stored has been answered, every event of it.
        let auditor = rig.check_all(&process);
        let acknowledged = rig.load.journal().acknowledged.len();
        assert_eq!(auditor.events(), acknowledged, "stored, and acknowledged");
        eprintln!(
            "stopped after {} ms with {acknowledged} events, all answered",
            took.as_millis()
        );
    }
    rig.prove_whole(process);
}
