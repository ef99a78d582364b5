//! Backups made, damaged, restored, and refused where they must be.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::testing::{TestLedger, note, tamper};
use crate::{Ledger, LedgerOptions};

fn options(data: &Path, to: &Path, with_key: bool) -> BackupOptions {
    BackupOptions {
        location: LedgerLocation::new(data),
        to: to.to_owned(),
        with_key,
        configuration: None,
    }
}

async fn made(data: &Path, to: &Path, with_key: bool) -> BackupReport {
    let report = back_up(options(data, to, with_key), &mut |_, _| {})
        .await
        .expect("backs up");
    assert!(report.is_sound(), "{:?}", report.faults);
    report
}

fn restoring(from: &Path, data: &Path) -> RestoreOptions {
    RestoreOptions {
        from: from.to_owned(),
        data: data.to_owned(),
        key: None,
        anchor: None,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let paths = files_below(folder).expect("lists");
    paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

#[tokio::test]
async fn a_backup_is_one_state_while_a_recorder_writes_on() {
    let test = TestLedger::new().await;
    test.record_notes("s", 300).await;
    test.ledger
        .store_blob(Bytes::from_static(b"a blob"))
        .await
        .expect("stores");
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("backup");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let write = async {
        let mut number = 0;
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            number += 1;
            let outcomes = test
                .ledger
                .append(vec![note("s", &format!("w{number}"), "more")])
                .await
                .expect("appends");
            assert!(outcomes[0].place().is_some(), "{outcomes:?}");
        }
        number
    };
    let copy = async {
        let mut seen = Vec::new();
        let report = back_up(options(test.path(), &to, false), &mut |done, total| {
            seen.push((done, total));
        })
        .await
        .expect("backs up");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (report, seen)
    };
    let (written, (report, seen)) = tokio::join!(write, copy);
    assert!(report.is_sound(), "{:?}", report.faults);
    let state = report.manifest.ledgers[0].state.clone().expect("a state");
    assert!((301..=301 + written).contains(&state.entries), "{state:?}");
    assert_eq!(seen.last(), Some(&(state.entries, state.entries)));
    let checkpoint = state.checkpoint.expect("a checkpoint");
    assert!(
        checkpoint.lines().nth(1) == Some(state.entries.to_string().as_str()),
        "the checkpoint is of exactly this state: {checkpoint}"
    );
    assert_eq!(
        names(&to),
        [
            "backup.json",
            "ledger.checkpoint",
            "ledger.pub.pem",
            "ledger.sqlite"
        ]
    );
    for path in names(&to) {
        let mode = std::fs::metadata(to.join(&path))
            .expect(&path)
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
    assert!(
        report
            .manifest
            .not_included
            .iter()
            .any(|text| text.contains("ledger-key.pem")),
        "{:?}",
        report.manifest.not_included
    );
    let read = Manifest::read(&to).expect("reads");
    assert_eq!(read, report.manifest);
}

#[tokio::test]
async fn what_is_restored_goes_on_where_the_backup_was() {
    let test = TestLedger::new().await;
    test.record_notes("s", 5).await;
    std::fs::write(
        test.path().join(CONFIGURATION),
        "listen = \"127.0.0.1:1\"\n",
    )
    .expect("writes");
    let folder = tempfile::tempdir().expect("a folder");
    let (to, data) = (folder.path().join("backup"), folder.path().join("data"));
    made(test.path(), &to, true).await;
    test.record_notes("later", 3).await;

    let refused = Ledger::open(LedgerOptions::new(&to))
        .await
        .expect_err("a backup is not written to");
    assert!(matches!(refused, LedgerError::IsABackup(_)), "{refused}");

    let anchor = test.path().join("ledger.checkpoint");
    test.ledger.close().await;
    let report = restore(
        RestoreOptions {
            anchor: Some(anchor.clone()),
            ..restoring(&to, &data)
        },
        &mut |_, _| {},
    )
    .await
    .expect("restores");
    assert!(report.is_sound(), "{:?}", report.faults);
    let restored = &report.ledgers[0];
    assert_eq!(restored.entries, Some(6));
    assert_eq!(restored.key, KeyAfterRestore::Present);
    assert_eq!(
        restored.anchor_states,
        Some(10),
        "entries were lost, and that is said"
    );
    assert!(data.join(CONFIGURATION).exists());
    assert!(
        !data.join(MANIFEST_FILE).exists(),
        "a data directory is no backup"
    );

    let with_anchor = LedgerOptions {
        anchor: Some(anchor),
        ..LedgerOptions::new(&data)
    };
    let refused = Ledger::open(with_anchor)
        .await
        .expect_err("is older than the anchor");
    assert!(
        matches!(refused, LedgerError::RolledBack { .. }),
        "{refused}"
    );
    let ledger = Ledger::open(LedgerOptions::new(&data))
        .await
        .expect("opens without it");
    let outcomes = ledger
        .append(vec![note("s", "next", "text")])
        .await
        .expect("appends");
    assert_eq!(outcomes[0].place().map(|place| place.0), Some(6));
    ledger.close().await;
}

#[tokio::test]
async fn without_its_key_a_restored_ledger_is_read_and_not_written() {
    let test = TestLedger::new().await;
    test.record_notes("s", 5).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (to, data) = (folder.path().join("backup"), folder.path().join("data"));
    made(test.path(), &to, false).await;
    let report = restore(restoring(&to, &data), &mut |_, _| {})
        .await
        .expect("restores");
    assert_eq!(report.ledgers[0].key, KeyAfterRestore::Missing);
    let refused = Ledger::open(LedgerOptions::new(&data))
        .await
        .expect_err("has no key");
    assert!(
        matches!(refused, LedgerError::MissingKey { .. }),
        "{refused}"
    );
    assert!(!data.join("ledger-key.pem").exists(), "none was made");

    let other = TestLedger::new().await;
    let with_key = |key: &Path, data: &Path| RestoreOptions {
        key: Some(key.to_owned()),
        ..restoring(&to, data)
    };
    let elsewhere = folder.path().join("elsewhere");
    let wrong = with_key(&other.path().join("ledger-key.pem"), &elsewhere);
    let refused = restore(wrong, &mut |_, _| {})
        .await
        .expect_err("is of another ledger");
    assert!(matches!(refused, LedgerError::WrongKey { .. }), "{refused}");
    assert!(!elsewhere.exists(), "nothing was written");
    let right = with_key(&test.path().join("ledger-key.pem"), &elsewhere);
    let report = restore(right, &mut |_, _| {}).await.expect("restores");
    assert_eq!(report.ledgers[0].key, KeyAfterRestore::Present);
}

#[tokio::test]
async fn nothing_is_written_over() {
    let test = TestLedger::new().await;
    test.record_notes("s", 2).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (to, full) = (folder.path().join("backup"), folder.path().join("full"));
    std::fs::create_dir(&full).expect("makes");
    std::fs::write(full.join("mine"), "mine").expect("writes");
    let refused = back_up(options(test.path(), &full, false), &mut |_, _| {})
        .await
        .expect_err("is full");
    assert!(matches!(refused, LedgerError::NotEmpty(_)), "{refused}");
    made(test.path(), &to, false).await;
    for target in [&full, &to] {
        let refused = restore(restoring(&to, target), &mut |_, _| {})
            .await
            .expect_err("is full");
        assert!(matches!(refused, LedgerError::NotEmpty(_)), "{refused}");
    }
    assert_eq!(names(&full), ["mine"]);
    let nothing = folder.path().join("nothing");
    let refused = restore(restoring(&full, &nothing), &mut |_, _| {})
        .await
        .expect_err("is no backup");
    assert!(
        matches!(refused, LedgerError::NotABackup { .. }),
        "{refused}"
    );
    assert!(!nothing.exists());
}

#[tokio::test]
async fn each_damaged_file_of_a_backup_is_named_and_nothing_restored() {
    let test = TestLedger::new().await;
    test.record_notes("s", 20).await;
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("backup");
    made(test.path(), &to, true).await;
    for (number, name) in names(&to)
        .into_iter()
        .filter(|name| name != MANIFEST_FILE)
        .enumerate()
    {
        let path = to.join(&name);
        let whole = std::fs::read(&path).expect("reads");
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        for damaged in [Some(changed), Some(whole[..middle].to_vec()), None] {
            match &damaged {
                Some(bytes) => std::fs::write(&path, bytes).expect("writes"),
                None => std::fs::remove_file(&path).expect("removes"),
            }
            let data = folder.path().join(format!("data-{number}"));
            let report = restore(restoring(&to, &data), &mut |_, _| {})
                .await
                .expect("is compared");
            assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
            assert!(report.faults[0].contains(&name), "{:?}", report.faults);
            assert!(report.ledgers.is_empty());
            assert!(names(&data).is_empty(), "nothing was restored");
        }
        std::fs::write(&path, whole).expect("writes");
    }
}

#[tokio::test]
async fn a_ledger_that_does_not_hold_gives_no_backup() {
    let test = TestLedger::new().await;
    test.record_notes("s", 20).await;
    test.ledger.close().await;
    tamper(
        &test,
        "UPDATE payloads SET data = CAST('{\"text\":\"other\"}' AS BLOB) WHERE idx = 7",
    )
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("backup");
    let report = back_up(options(test.path(), &to, true), &mut |_, _| {})
        .await
        .expect("copies");
    assert!(
        report.faults.iter().any(|fault| fault.contains('7')),
        "{:?}",
        report.faults
    );
    assert!(!to.join(MANIFEST_FILE).exists());
    let refused = restore(restoring(&to, &folder.path().join("data")), &mut |_, _| {})
        .await
        .expect_err("is no backup");
    assert!(
        matches!(refused, LedgerError::NotABackup { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn every_workspace_is_in_the_backup() {
    let test = TestLedger::new().await;
    test.record_notes("s", 2).await;
    let acme = LedgerLocation::new(test.path()).workspace("acme".parse().expect("a name"));
    let ledger = Ledger::create(LedgerOptions::new(acme))
        .await
        .expect("makes one");
    ledger
        .append(vec![crate::testing::started("t")])
        .await
        .expect("appends");
    ledger.close().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (to, data) = (folder.path().join("backup"), folder.path().join("data"));
    let report = made(test.path(), &to, true).await;
    let taken: Vec<_> = report
        .manifest
        .ledgers
        .iter()
        .map(|ledger| {
            (
                ledger.folder.as_str(),
                ledger.state.as_ref().map(|state| state.entries),
            )
        })
        .collect();
    assert_eq!(taken, [("", Some(3)), ("workspaces/acme", Some(1))]);
    let in_backup = LedgerLocation::new(&to).workspace("acme".parse().expect("a name"));
    let refused = Ledger::open(LedgerOptions::new(in_backup))
        .await
        .expect_err("a backup is not written to");
    assert!(matches!(refused, LedgerError::IsABackup(_)), "{refused}");
    let report = restore(restoring(&to, &data), &mut |_, _| {})
        .await
        .expect("restores");
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!(report.ledgers.len(), 2);
    assert!(data.join("workspaces/acme/ledger-key.pem").exists());
}
