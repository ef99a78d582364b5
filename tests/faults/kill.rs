//! SIGKILL at random moments under load.

use std::thread;
use std::time::{Duration, Instant};

use super::rig::Rig;
use crate::support::process::{Setup, data_in};
use crate::support::random::Random;

const ROUNDS: u64 = 50;
const WRITERS: usize = 4;
/// Every so many rounds the whole ledger is read anew, and verified by the program on the files as the kill left them.
const FULL_CHECK_ROUNDS: u64 = 10;
/// Every so many rounds the recorder is killed once more, while it starts: what recovers may be interrupted too.
const RECOVERY_KILL_ROUNDS: u64 = 3;

#[test]
fn fifty_kills_lose_nothing_that_was_acknowledged() {
    let seed = Random::seed("fifty kills");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    let started = Instant::now();
    let (mut rig, mut process) = Rig::new(
        Setup::in_folder(&data),
        &data,
        WRITERS,
        seed,
        Duration::ZERO,
    );
    let mut slowest_start = Duration::ZERO;
    for round in 1..=ROUNDS {
        let before = rig.load.figures().acknowledged;
        let moment = Duration::from_millis(random.between(10, 300));
        rig.load.run(|watch| {
            // Counted from the first answer, so that a slow start does not make an idle round.
            watch.wait_until("an event is acknowledged", super::rig::PATIENCE, |now| {
                now.acknowledged > before
            });
            thread::sleep(moment);
            process.kill();
        });
        let is_full = round % FULL_CHECK_ROUNDS == 0;
        if is_full {
            rig.setup.verify();
        }
        if round % RECOVERY_KILL_ROUNDS == 0 {
            rig.setup
                .kill_while_starting(Duration::from_millis(random.between(0, 60)));
        }
        let restarted = Instant::now();
        process = rig.start_again();
        slowest_start = slowest_start.max(restarted.elapsed());
        rig.check_new(&process);
        if is_full {
            rig.check_all(&process);
        }
    }
    let entries = rig.prove_whole(process);
    let figures = rig.load.figures();
    // A kill that never hits a request on its way proves little.
    assert!(figures.lost_answers as u64 >= ROUNDS / 2, "{figures:?}");
    assert!(
        figures.found_stored > 0,
        "no kill came between a commit and its answer: {figures:?}"
    );
    eprintln!(
        "{ROUNDS} kills in {:.0} s: {} events acknowledged, {} answers lost with {} events in doubt, of which {} were stored; \
         {entries} entries verified; lost 0; slowest start {} ms",
        started.elapsed().as_secs_f64(),
        figures.acknowledged,
        figures.lost_answers,
        figures.in_doubt,
        figures.found_stored,
        slowest_start.as_millis(),
    );
}
