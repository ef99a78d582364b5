//! A healthy ledger has no failures; each thing that is broken is told by its own check.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;
use crate::store::{self, contract::TestDatabase};
use crate::testing::{TestLedger, started, tamper};
use crate::{BackupOptions, Ledger, LedgerOptions, back_up, plan_migration};

async fn looked_at(data: &Path, anchor: Option<&Path>) -> Vec<Finding> {
    examine(&DoctorOptions {
        location: LedgerLocation::new(data),
        anchor: anchor.map(Path::to_owned),
    })
    .await
}

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    findings
        .iter()
        .find(|finding| finding.check == check)
        .unwrap_or_else(|| panic!("no finding on {check}: {findings:#?}"))
}

fn failures(findings: &[Finding]) -> Vec<&str> {
    findings
        .iter()
        .filter(|finding| finding.level == Level::Fail)
        .map(|finding| finding.check.as_str())
        .collect()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("sets");
}

/// A closed ledger in a folder for its owner alone.
async fn closed(entries: usize) -> TestLedger {
    let test = TestLedger::new().await;
    set_mode(test.path(), 0o700);
    if entries > 0 {
        test.record_notes("s", entries - 1).await;
    }
    test.ledger.close().await;
    test
}

#[tokio::test]
async fn a_healthy_ledger_passes_while_it_is_written_and_after() {
    let test = TestLedger::new().await;
    set_mode(test.path(), 0o700);
    test.record_notes("s", 1500).await;
    let findings = looked_at(test.path(), None).await;
    assert_eq!(failures(&findings), [""; 0], "{findings:#?}");
    assert!(
        of(&findings, "lock").found.starts_with("held by"),
        "{findings:#?}"
    );
    if cfg!(target_os = "linux") {
        let id = format!("process {} ", std::process::id());
        assert!(of(&findings, "lock").found.contains(&id), "{findings:#?}");
    }
    assert_eq!(of(&findings, "anchor").level, Level::Warn);
    assert!(of(&findings, "newest entries").found.contains("last 1000"));
    assert!(
        of(&findings, "newest checkpoint")
            .found
            .starts_with("1501 entries")
    );
    assert_eq!(of(&findings, "journal mode").level, Level::Ok);
    test.ledger.close().await;

    let anchor = test.path().join("ledger.checkpoint");
    let before = std::fs::read_dir(test.path()).expect("lists").count();
    let findings = looked_at(test.path(), Some(&anchor)).await;
    assert_eq!(failures(&findings), [""; 0], "{findings:#?}");
    assert!(of(&findings, "lock").found.starts_with("free"));
    assert_eq!(of(&findings, "anchor").level, Level::Ok);
    let after = std::fs::read_dir(test.path()).expect("lists").count();
    assert!(
        after <= before + 2,
        "no more than the database's own two files were left"
    );
}

#[tokio::test]
async fn nothing_yet_is_told_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let findings = looked_at(&data, None).await;
    assert_eq!(findings.len(), 1);
    assert_eq!(of(&findings, "data directory").level, Level::Warn);
    assert!(!data.exists());
    std::fs::create_dir(&data).expect("makes");
    set_mode(&data, 0o755);
    let findings = looked_at(&data, None).await;
    assert!(of(&findings, "data directory").found.contains("755"));
    assert_eq!(of(&findings, "tables").level, Level::Warn);
    assert_eq!(std::fs::read_dir(&data).expect("lists").count(), 0);
    std::fs::write(data.join("ledger-key.pem"), "left").expect("writes");
    let findings = looked_at(&data, None).await;
    assert_eq!(
        of(&findings, "tables").level,
        Level::Fail,
        "the database is gone"
    );
}

#[tokio::test]
async fn a_key_that_is_open_wrong_or_gone_is_told() {
    let test = closed(3).await;
    let key = test.path().join("ledger-key.pem");
    set_mode(&key, 0o644);
    let findings = looked_at(test.path(), None).await;
    let told = of(&findings, "private key");
    assert_eq!(told.level, Level::Fail);
    assert!(
        told.next
            .as_deref()
            .is_some_and(|next| next.starts_with("chmod 600")),
        "{told:?}"
    );
    let text = std::fs::read_to_string(&key).expect("reads");
    let secret = text.lines().nth(1).expect("a line");
    assert!(
        !format!("{findings:?}").contains(secret),
        "no secret is told"
    );

    let other = closed(1).await;
    std::fs::copy(other.path().join("ledger-key.pem"), &key).expect("copies");
    set_mode(&key, 0o600);
    let findings = looked_at(test.path(), None).await;
    assert!(
        of(&findings, "private key").found.contains("not the one"),
        "{findings:#?}"
    );
    std::fs::remove_file(&key).expect("removes");
    let findings = looked_at(test.path(), None).await;
    assert_eq!(failures(&findings), ["private key"]);
}

#[tokio::test]
async fn what_was_changed_in_the_file_is_told() {
    for (statement, check) in [
        (
            "UPDATE payloads SET data = CAST('{}' AS BLOB) WHERE idx = 2",
            "newest entries",
        ),
        (
            "UPDATE entries SET hash = leaf WHERE idx = 1",
            "newest entries",
        ),
        ("DELETE FROM checkpoints", "newest checkpoint"),
        ("DELETE FROM entries WHERE idx = 3", "newest checkpoint"),
        (
            "UPDATE _sqlx_migrations SET version = version + 9000",
            "tables",
        ),
    ] {
        let test = closed(4).await;
        tamper(&test, statement).await;
        let findings = looked_at(test.path(), None).await;
        assert_eq!(
            of(&findings, check).level,
            Level::Fail,
            "{statement}: {findings:#?}"
        );
    }
}

#[tokio::test]
async fn an_older_copy_of_the_database_is_told() {
    let test = closed(4).await;
    let database = test.path().join("ledger.sqlite");
    let old = std::fs::read(&database).expect("reads");
    let test = test.reopen().await;
    test.record_notes("later", 4).await;
    test.ledger.close().await;
    std::fs::write(&database, old).expect("writes");
    let anchor = test.path().join("anchor");
    std::fs::copy(test.path().join("ledger.checkpoint"), &anchor).expect("copies");
    let findings = looked_at(test.path(), Some(&anchor)).await;
    assert_eq!(
        failures(&findings),
        ["checkpoint beside", "anchor"],
        "{findings:#?}"
    );
    std::fs::remove_file(test.path().join("ledger.checkpoint")).expect("removes");
    let findings = looked_at(test.path(), None).await;
    assert_eq!(of(&findings, "checkpoint beside").level, Level::Warn);
}

#[tokio::test]
async fn a_ledger_on_postgresql_is_looked_at_and_backed_up_by_its_own_means() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let location = database.location.clone();
    let ledger = Ledger::create(LedgerOptions::new(location.clone()))
        .await
        .expect("makes one");
    ledger.append(vec![started("s")]).await.expect("appends");
    ledger.close().await;
    let findings = examine(&DoctorOptions {
        location: location.clone(),
        anchor: None,
    })
    .await;
    assert_eq!(failures(&findings), [""; 0], "{findings:#?}");
    assert!(
        of(&findings, "database server")
            .found
            .starts_with("PostgreSQL ")
    );
    assert_eq!(of(&findings, "fsync").level, Level::Ok);
    assert!(findings.iter().all(|finding| finding.check != "lock"));

    let plan = plan_migration(location.clone()).await.expect("plans");
    assert_eq!((plan.from, plan.steps.len()), (plan.to, 0));
    assert_eq!(
        store::migrations(&location).last().map(|step| step.version),
        Some(plan.to)
    );
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("backup");
    let options = BackupOptions {
        location,
        to: to.clone(),
        with_key: false,
        configuration: None,
    };
    let refused = back_up(options, &mut |_, _| {})
        .await
        .expect_err("has other means");
    assert!(refused.to_string().contains("pg_dump"), "{refused}");
    assert!(!to.exists());
}
