//! An older copy of a ledger, put back.

use std::path::Path;

use super::rig::{PATIENCE, Rig};
use crate::support::process::{Ended, Process, Setup, data_in};
use crate::support::random::Random;

/// What a copy of the database consists of. The last file is a checkpoint beside it that a careful copy takes along.
const FILES: [&str; 3] = ["ledger.sqlite", "ledger.sqlite-wal", "ledger.checkpoint"];

#[test]
fn an_older_copy_is_refused_by_the_anchor() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    let anchor = folder.path().join("elsewhere").join("anchor");
    std::fs::create_dir(anchor.parent().expect("has one")).expect("can be made");
    let seed = Random::seed("older copy");
    let setup = Setup::in_folder(&data).serving([Path::new("--anchor"), &anchor]);
    let (mut rig, process) = Rig::new(setup.clone(), &data, 2, seed, std::time::Duration::ZERO);
    let (older, newer) = (folder.path().join("older"), folder.path().join("newer"));
    let older_size = write_some(&mut rig, process);
    copy(&data, &older);
    let newer_size = write_some(&mut rig, setup.start());
    copy(&data, &newer);
    assert!(older_size < newer_size);

    // The whole of the older copy, with the checkpoint that lay beside it: nothing in the folder says that there was more.
    copy(&older, &data);
    let before = contents(&data);
    refused(&setup, &anchor, older_size, newer_size);
    assert_eq!(contents(&data), before, "a refused copy is left as it is");
    refused(&setup, &anchor, older_size, newer_size);

    // The newest copy goes on, and so does the anchor: also the state before this start is refused from now on.
    copy(&newer, &data);
    let process = rig.start_again();
    let newest_size = {
        rig.load.talk_to(&[&process.url]);
        write_some(&mut rig, process)
    };
    assert!(newest_size > newer_size);
    let newest = folder.path().join("newest");
    copy(&data, &newest);
    copy(&newer, &data);
    refused(&setup, &anchor, newer_size, newest_size);
    copy(&newest, &data);
    let process = rig.start_again();
    rig.prove_whole(process);
}

#[test]
fn an_older_database_is_refused_by_the_checkpoint_beside_it() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = data_in(&folder);
    let setup = Setup::in_folder(&data);
    let (mut rig, process) = Rig::new(
        setup.clone(),
        &data,
        2,
        Random::seed("older database"),
        std::time::Duration::ZERO,
    );
    let older_size = write_some(&mut rig, process);
    let older = folder.path().join("older");
    copy(&data, &older);
    let newer_size = write_some(&mut rig, setup.start());
    std::fs::copy(older.join("ledger.sqlite"), data.join("ledger.sqlite"))
        .expect("can be put back");
    refused(
        &setup,
        &data.join("ledger.checkpoint"),
        older_size,
        newer_size,
    );
}

/// Lets the writers write, stops the recorder, and returns how many entries it leaves.
fn write_some(rig: &mut Rig, process: Process) -> u64 {
    rig.load.talk_to(&[&process.url]);
    rig.load.run(|watch| {
        let before = watch.figures().acknowledged;
        watch.wait_until("events are acknowledged", PATIENCE, |now| {
            now.acknowledged > before + 200
        });
    });
    rig.load.settle(PATIENCE);
    assert_eq!(process.stop(PATIENCE).code(), Some(0));
    rig.setup.verify()
}

#[track_caller]
fn refused(setup: &Setup, by: &Path, stored: u64, stated: u64) {
    let Err(Ended { status, said }) = setup.try_start() else {
        panic!("a rolled-back ledger was opened for writing");
    };
    assert_eq!(status.code(), Some(2), "{said}");
    // Where the reason lies, and both sizes, so that an operator can judge which copy is the right one.
    for part in [
        by.to_str().expect("UTF-8"),
        &stored.to_string(),
        &stated.to_string(),
    ] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("can be made");
    for name in FILES {
        drop(std::fs::remove_file(to.join(name)));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).expect("can be copied");
        }
    }
    // What belongs to the files that were there before.
    drop(std::fs::remove_file(to.join("ledger.sqlite-shm")));
}

fn contents(data: &Path) -> Vec<Option<Vec<u8>>> {
    [FILES[0], FILES[2]]
        .map(|name| std::fs::read(data.join(name)).ok())
        .to_vec()
}
