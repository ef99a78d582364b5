//! Events arrive once: with a recorder that is killed, an agent that is killed, a wrong key, a disk that is full.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Agent;
use super::contexts::{Contexts, Reader};
use super::front::Front;
use crate::support::mount::SmallDisk;
use crate::support::process::{Process, Setup, data_in};

const PATIENCE: Duration = Duration::from_secs(60);
/// Events of a run: started, intent, constraint and ended, and four a turn.
const EVENTS_AROUND: usize = 4;
const EVENTS_A_TURN: usize = 4;

/// A recorder that comes and goes behind an address that stays.
struct Place {
    folder: tempfile::TempDir,
    setup: Setup,
    front: Front,
    write_key: String,
    read_key: String,
}

impl Place {
    fn new() -> (Self, Process) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let setup = Setup::in_folder(&data_in(&folder));
        let process = setup.start();
        let front = Front::new();
        front.lead_to(Some(&process.url));
        let (write_key, read_key) = (setup.key("write"), setup.key("read"));
        let place = Self {
            folder,
            setup,
            front,
            write_key,
            read_key,
        };
        (place, process)
    }

    fn start_again(&self) -> Process {
        let process = self.setup.start();
        self.front.lead_to(Some(&process.url));
        process
    }

    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    fn options(&self, name: &str, sessions: u32, turns: usize) -> Value {
        json!({
            "url": self.front.url, "key": self.write_key, "spool": self.path("spool"), "name": name,
            "sessions": sessions, "turns": turns, "pause": 0, "expected": self.path(name), "close": 60,
        })
    }

    /// Demands that the ledger holds exactly what an agent did, each event once, with its contexts byte for byte, and no
    /// session besides.
    fn demand(&self, process: &Process, expected: &[(&str, usize)]) {
        let reader = Reader {
            url: &process.url,
            key: &self.read_key,
        };
        let mut sessions = 0;
        for (name, turns) in expected {
            let told = std::fs::read(self.path(name)).expect("the agent told what it did");
            let told: BTreeMap<String, Contexts> = serde_json::from_slice(&told).expect("JSON");
            for (session, contexts) in &told {
                sessions += 1;
                let entries = reader.entries(session);
                assert_eq!(
                    entries.len(),
                    EVENTS_AROUND + turns * EVENTS_A_TURN,
                    "{session}"
                );
                let found = reader.contexts(&entries);
                assert_eq!(found.len(), *turns);
                for (turn, context) in contexts {
                    assert!(
                        found[turn] == *context,
                        "turn {turn} of {session} is not what the agent sent"
                    );
                }
                assert_eq!(entries[0]["entry"]["type"], "session.started");
                assert_eq!(entries[entries.len() - 1]["entry"]["type"], "session.ended");
            }
        }
        let listed = reader.get("/v1/sessions?limit=1000");
        let of_agents = listed["items"].as_array().expect("a list").iter();
        let of_agents = of_agents.filter(|item| item["id"] != crate::support::ADMIN_SESSION);
        assert_eq!(of_agents.count(), sessions);
    }
}

fn spooled(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for destination in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(destination.path()).into_iter().flatten() {
            let path = file.expect("it can be listed").path();
            if path.extension().is_some_and(|end| end == "spool") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_recorder_killed_three_times_under_load_loses_and_doubles_nothing() {
    let (place, mut process) = Place::new();
    let turns = 120;
    let mut options = place.options("run", 3, turns);
    options["pause"] = json!(0.005);
    let Some(mut agent) = Agent::start(&options, &[]) else {
        return;
    };
    let reader_key = &place.read_key;
    for _ in 0..3 {
        let before = entries_of(&process.url, reader_key);
        let began = Instant::now();
        // Killed in the middle: when more has arrived than before.
        while entries_of(&process.url, reader_key) < before + 50 {
            assert!(began.elapsed() < PATIENCE, "nothing arrives");
            thread::sleep(Duration::from_millis(10));
        }
        process.kill();
        thread::sleep(Duration::from_millis(150));
        process = place.start_again();
    }
    agent.recorded();
    let said = agent.finish();
    assert_eq!(said["sent"], true, "{said}");
    assert_eq!(
        (&said["rejected"], &said["dropped"], &said["failed_calls"]),
        (&json!(0), &json!(0), &json!(0)),
        "{said}"
    );
    let events = 3 * (EVENTS_AROUND + turns * EVENTS_A_TURN);
    let answered = said["recorded"].as_u64().unwrap() + said["duplicate"].as_u64().unwrap();
    assert_eq!(answered, events as u64, "{said}");
    place.demand(&process, &[("run", turns)]);
    assert_eq!(
        spooled(Path::new(&place.path("spool"))),
        [""; 0].map(Path::new)
    );
    assert!(process.stop(PATIENCE).success());
    place.setup.verify();
}

fn entries_of(url: &str, key: &str) -> u64 {
    let listed = Reader { url, key }.get("/v1/sessions?limit=1000");
    let items = listed["items"].as_array().expect("a list");
    // What was done with keys becomes entries in its own time.
    let of_agents = items
        .iter()
        .filter(|item| item["id"] != "remembrancer.admin");
    let entries = of_agents.map(|item| item["entries"].as_u64().unwrap());
    entries.sum()
}

#[test]
fn what_a_killed_agent_left_is_sent_by_the_next_one() {
    let (place, process) = Place::new();
    place.front.lead_to(None);
    let mut options = place.options("killed", 2, 20);
    options["waits"] = json!(true);
    let Some(mut agent) = Agent::start(&options, &[]) else {
        return;
    };
    agent.recorded();
    // It moves what was recorded into its spool within milliseconds, without being asked; a busy machine may take longer.
    let began = Instant::now();
    while !ends_a_session(Path::new(&place.path("spool"))) {
        assert!(began.elapsed() < PATIENCE, "it does not spool");
        thread::sleep(Duration::from_millis(10));
    }
    agent.kill();
    assert_eq!(entries_of(&process.url, &place.read_key), 0, "no agent's");
    place.front.lead_to(Some(&process.url));
    // The next one does not even close its client: what it has is sent as it ends.
    let mut next = place.options("next", 1, 3);
    next["ends"] = json!(true);
    let mut agent = Agent::start(&next, &[]).expect("Python was there before");
    agent.recorded();
    agent.end();
    place.demand(&process, &[("killed", 20), ("next", 3)]);
    assert_eq!(
        spooled(Path::new(&place.path("spool"))),
        [""; 0].map(Path::new)
    );
}

/// Whether the spool holds the end of the last of two sessions.
fn ends_a_session(spool: &Path) -> bool {
    spooled(spool).iter().any(|path| {
        let bytes = std::fs::read(path).expect("it can be read");
        let ends = bytes
            .windows(15)
            .filter(|some| some == b"\"session.ended\"");
        ends.count() == 2
    })
}

#[test]
fn with_a_wrong_key_the_agent_goes_on_and_the_right_one_sends_it() {
    let (place, process) = Place::new();
    let mut options = place.options("wrong", 1, 5);
    let right = place.write_key.clone();
    let secret = right.rsplit('_').next().expect("a key has fields");
    options["key"] = json!(right.replace(secret, &"0".repeat(secret.len())));
    options["close"] = json!(0.5);
    let Some(mut agent) = Agent::start(&options, &[]) else {
        return;
    };
    agent.recorded();
    let said = agent.finish();
    assert_eq!(said["sent"], false, "{said}");
    assert!(said["trouble"].as_str().unwrap().contains("401"), "{said}");
    assert_eq!(spooled(Path::new(&place.path("spool"))).len(), 1);
    let said = Agent::start(&place.options("right", 1, 2), &[]).map(Agent::finish);
    assert_eq!(said.expect("Python was there before")["sent"], true);
    place.demand(&process, &[("wrong", 5), ("right", 2)]);
}

#[test]
fn a_full_disk_for_the_spool_costs_what_memory_does_not_hold_and_that_is_recorded() {
    let (place, process) = Place::new();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let Some(disk) = SmallDisk::mount(folder.path(), 1) else {
        eprintln!("skipped: no file system may be mounted here");
        return;
    };
    disk.fill();
    place.front.lead_to(None);
    let turns = 60;
    let mut options = place.options("full", 1, turns);
    options["spool"] = json!(folder.path());
    options["waits"] = json!(true);
    options["limits"] = json!({"memory_bytes_max": 60_000});
    let Some(mut agent) = Agent::start(&options, &disk.enter()) else {
        return;
    };
    agent.recorded();
    place.front.lead_to(Some(&process.url));
    let said = agent.finish();
    assert_eq!(said["sent"], true, "{said}");
    let dropped = said["dropped"].as_u64().unwrap();
    assert!(dropped > 0, "the memory held everything: {said}");
    let reader = Reader {
        url: &process.url,
        key: &place.read_key,
    };
    let entries = reader.entries("full-0");
    let gaps: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["entry"]["type"] == "custom.gap")
        .collect();
    let missing: u64 = gaps
        .iter()
        .map(|gap| gap["data"]["events"].as_u64().unwrap())
        .sum();
    assert_eq!(
        missing, dropped,
        "every event that is missing is said to be"
    );
    let events = (EVENTS_AROUND + turns * EVENTS_A_TURN) as u64;
    assert_eq!(entries.len() as u64 - gaps.len() as u64 + missing, events);
    // What is there leans on nothing that is missing.
    assert!(!reader.contexts(&entries).is_empty());
    assert_eq!(entries[entries.len() - 1]["entry"]["type"], "session.ended");
}
