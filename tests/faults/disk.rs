//! A disk that takes no more, and files that may not be written any more: the same process refuses, and goes on by itself
//! once it can.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::rig::{PATIENCE, Rig};
use crate::support::audit::get;
use crate::support::load::{Watch, agent};
use crate::support::mount::SmallDisk;
use crate::support::process::{Process, Setup, data_in};
use crate::support::random::Random;

/// Large enough for what the writers send before it is filled.
const DISK_MEBIBYTES: u32 = 256;
/// Between two requests of a writer: these tests wait for states, not for volume.
const PAUSE: Duration = Duration::from_millis(20);

/// What keeps a recorder from writing, until it is mended.
struct Obstacle<'a> {
    begin: &'a dyn Fn(&Process),
    mend: &'a dyn Fn(&Process),
}

#[test]
fn a_full_disk_refuses_and_goes_on_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let Some(disk) = SmallDisk::mount(folder.path(), DISK_MEBIBYTES) else {
        // A limit of a file's size is what a process without rights can set for itself; the next test does so everywhere.
        eprintln!("no file system may be mounted here: only the limit of a file's size is tested");
        return;
    };
    let data = data_in(&folder);
    let setup = Setup::in_folder(&data).wrapped(disk.enter());
    let obstacle = Obstacle {
        begin: &|_| disk.fill(),
        mend: &|_| disk.free(),
    };
    refuses_and_goes_on("full disk", setup, &disk.outside(&data), &obstacle);
}

#[test]
fn a_file_that_may_not_grow_refuses_and_goes_on_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    // The signal that comes with the error is ignored, as a service manager's limit on file sizes would have it.
    let setup = Setup::in_folder(&data).wrapped(["sh", "-c", r#"trap "" XFSZ; exec "$0" "$@""#]);
    let limit = |process: &Process, bytes: &str| {
        let id = process.id().to_string();
        run(
            "prlimit",
            &["--pid", &id, &format!("--fsize={bytes}:unlimited")],
        );
    };
    let obstacle = Obstacle {
        begin: &|process| limit(process, "8192"),
        mend: &|process| limit(process, "unlimited"),
    };
    refuses_and_goes_on("file size limit", setup, &data, &obstacle);
}

#[test]
fn read_only_files_refuse_and_go_on_by_themselves() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    if !can_be_immutable(folder.path()) {
        eprintln!(
            "skipped: no file can be made immutable here, and a mode keeps neither root nor an open file from writing"
        );
        return;
    }
    // Made writable again also if the test fails, so that its folder can be removed.
    let _mended = Mended(data.clone());
    let obstacle = Obstacle {
        begin: &|_| immutable(&data, true),
        mend: &|_| immutable(&data, false),
    };
    refuses_and_goes_on("read-only files", Setup::in_folder(&data), &data, &obstacle);
}

/// The whole story: writing, refusing while the obstacle stands, writing again in the same process, and nothing lost.
fn refuses_and_goes_on(name: &str, setup: Setup, data: &Path, obstacle: &Obstacle<'_>) {
    let seed = Random::seed(name);
    let (mut rig, mut process) = Rig::new(setup, data, 4, seed, PAUSE);
    let read_key = rig.read_key.clone();
    for round in 1..=2 {
        rig.load.run(|watch| {
            more_is_acknowledged(watch, "before the obstacle");
            (obstacle.begin)(&process);
            let refused = watch.figures().unavailable;
            watch.wait_until("every writer is refused", PATIENCE, |now| {
                now.unavailable >= refused + 8
            });
            wait_for_readiness(&process, 503);
            stays_unready(&process);
            reading_works(&process, &read_key);
            let refused = watch.figures().unavailable;
            watch.wait_until("it goes on refusing", PATIENCE, |now| {
                now.unavailable >= refused + 8
            });
            let told: Value =
                serde_json::from_str(&watch.figures().last_unavailable).expect("a problem");
            assert_eq!(
                told["type"], "urn:remembrancer:problem:unavailable",
                "{told}"
            );

            (obstacle.mend)(&process);
            let mended = Instant::now();
            more_is_acknowledged(watch, "after the obstacle");
            wait_for_readiness(&process, 200);
            eprintln!(
                "{name}, round {round}: writes again {} ms after it was mended",
                mended.elapsed().as_millis()
            );
        });
    }
    assert!(
        process.is_running(),
        "the same process all the time: {}",
        process.log()
    );
    let entries = rig.prove_whole(process);
    let figures = rig.load.figures();
    eprintln!(
        "{name}: {} events acknowledged, {} requests refused with 503, {entries} entries verified, lost 0",
        figures.acknowledged, figures.unavailable
    );
}

fn more_is_acknowledged(watch: &Watch, when: &str) {
    let before = watch.figures().acknowledged;
    watch.wait_until(
        &format!("events are acknowledged {when}"),
        PATIENCE,
        |now| now.acknowledged >= before + 300,
    );
}

fn wait_for_readiness(process: &Process, wanted: u16) {
    let started = Instant::now();
    let agent = agent(PATIENCE);
    loop {
        let (status, told) = get(&agent, &format!("{}/readyz", process.url), None);
        if status == wanted {
            return;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "/readyz does not answer {wanted}: {status} {told}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Not ready between two groups either, whatever else can still be written.
fn stays_unready(process: &Process) {
    let agent = agent(PATIENCE);
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        let (status, told) = get(&agent, &format!("{}/readyz", process.url), None);
        assert_eq!(status, 503, "ready although nothing can be written: {told}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Nothing that is stored is hidden by a disk that takes no more.
fn reading_works(process: &Process, key: &str) {
    let agent = agent(PATIENCE);
    for path in [
        "v1/sessions",
        "v1/sessions/shared/entries?limit=5",
        "v1/entries/0",
        "v1/checkpoint",
    ] {
        let (status, told) = get(&agent, &format!("{}/{path}", process.url), Some(key));
        assert_eq!(status, 200, "{path}: {told}");
    }
    let (status, _) = get(&agent, &format!("{}/healthz", process.url), None);
    assert_eq!(status, 200, "the process itself is well");
}

/// Makes a ledger's files immutable, or not: writing to them then fails also for root and also where they are open already,
/// as on a disk that was remounted read-only.
fn immutable(data: &Path, is_so: bool) {
    let mode = if is_so { "+i" } else { "-i" };
    for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        let path = data.join(name);
        run("chattr", &[mode, path.to_str().expect("UTF-8")]);
    }
}

fn can_be_immutable(folder: &Path) -> bool {
    let probe = folder.join("probe");
    let mut open = std::fs::File::create(&probe).expect("the folder can be written");
    let set = |mode: &str| {
        let output = Command::new("chattr").arg(mode).arg(&probe).output();
        output.is_ok_and(|output| output.status.success())
    };
    let refuses = set("+i") && std::io::Write::write(&mut open, b"x").is_err();
    let _ = set("-i");
    refuses
}

struct Mended(PathBuf);

impl Drop for Mended {
    fn drop(&mut self) {
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
            drop(
                Command::new("chattr")
                    .arg("-i")
                    .arg(self.0.join(name))
                    .output(),
            );
        }
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
}
