//! Migrations over rows that the program of each version wrote (`migrations/data/sqlite/`, one ledger per version).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use remembrancer_schema::ContentHash;

use super::*;
use crate::checkpoint_copy::CheckpointCopy;
use crate::reader::Reader;
use crate::store::LedgerLocation;
use crate::verify::verify_ledger;
use crate::{migrate_ledger, plan_migration};

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/data/sqlite")
}

/// The rows of a version's ledger. Fails if a migration came without them.
fn rows_of(version: i64) -> String {
    let beginning = format!("{version:04}_");
    let files: Vec<PathBuf> = std::fs::read_dir(data_folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(&beginning) && name.ends_with(".sql"))
        })
        .collect();
    assert_eq!(
        files.len(),
        1,
        "migration {version} has {} files of rows in {}: see dump.py there",
        files.len(),
        data_folder().display()
    );
    std::fs::read_to_string(&files[0]).expect("reads")
}

/// A data directory with the tables of a version and the rows that its program wrote.
async fn at_version(data: &Path, version: i64) -> String {
    let folder = DataDir::new(data);
    folder.create().expect("makes");
    folder.create_database_file().expect("makes");
    let rows = rows_of(version);
    let mut connection = SqliteConnection::connect_with(&writing(&folder.database()))
        .await
        .expect("opens");
    let until = MIGRATIONS
        .iter()
        .filter(|migration| migration.version <= version)
        .cloned()
        .collect();
    Migrator::with_migrations(until)
        .run(&mut connection)
        .await
        .expect("migrates");
    sqlx::raw_sql(sqlx::AssertSqlSafe(rows.clone()))
        .execute(&mut connection)
        .await
        .expect("takes the rows");
    let note: Option<String> =
        sqlx::query_scalar("SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1")
            .fetch_optional(&mut connection)
            .await
            .expect("reads");
    if let Some(note) = note {
        CheckpointCopy::new(folder.checkpoint_copy())
            .write(&note, false)
            .expect("writes");
    }
    connection.close().await.expect("closes");
    rows
}

/// What the tables are, whatever order they were made in: the text of each thing without its white space.
async fn tables(file: &Path) -> Vec<String> {
    let mut connection = SqliteConnection::connect_with(&options(file).read_only(true))
        .await
        .expect("opens");
    let rows: Vec<(String, String, Option<String>)> =
        sqlx::query_as("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")
            .fetch_all(&mut connection)
            .await
            .expect("lists");
    connection.close().await.expect("closes");
    let one_form = |sql: Option<String>| {
        let sql = sql.unwrap_or_default().replace('"', "");
        sql.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    rows.into_iter()
        .map(|(kind, name, sql)| format!("{kind} {name}: {}", one_form(sql)))
        .collect()
}

#[tokio::test]
async fn a_ledger_of_each_version_is_brought_up_to_date_and_verifies() {
    let new = tempfile::tempdir().expect("a folder");
    let folder = DataDir::new(new.path());
    migrate(&folder).await.expect("makes a new one");
    let expected = tables(&folder.database()).await;
    assert!(
        expected
            .iter()
            .any(|line| line.starts_with("table entries:"))
    );

    for step in migrations() {
        let old = tempfile::tempdir().expect("a folder");
        let rows = at_version(old.path(), step.version).await;
        let location = LedgerLocation::new(old.path());
        let entries = rows.matches("INSERT INTO entries ").count() as u64;
        assert!(entries > 0, "version {} has no entries", step.version);

        let plan = plan_migration(location.clone()).await.expect("plans");
        assert_eq!((plan.from, plan.to), (step.version, known_version()));
        assert_eq!(plan.steps.len() as i64, known_version() - step.version);
        if !plan.steps.is_empty() {
            let refused = Reader::open(location.clone()).await.expect_err("is older");
            assert!(
                refused.to_string().contains("remembrancer migrate"),
                "{refused}"
            );
        }
        let done = migrate_ledger(location.clone()).await.expect("migrates");
        assert_eq!(done.entries, Some(entries));

        let reader = Reader::open(location.clone()).await.expect("opens");
        let verdict = verify_ledger(&reader, |_| {}).await.expect("is verified");
        assert_eq!(verdict.faults, [], "version {}", step.version);
        assert_eq!(verdict.entries, entries);
        let blob = ContentHash::of(&b"a large result\0\xff".repeat(20));
        let stored = reader.blob(&blob).await.expect("reads");
        assert!(
            stored.is_some(),
            "version {}: its blob is kept",
            step.version
        );
        reader.close().await;

        let keys = crate::list_tokens(location.clone()).await.expect("lists");
        let states: Vec<_> = keys
            .iter()
            .map(|key| (key.name.as_str(), key.revoked.is_some()))
            .collect();
        assert_eq!(
            states,
            [("agent", false), ("auditor", true)],
            "version {}",
            step.version
        );
        assert_eq!(tables(&location.folder().database()).await, expected);

        let again = migrate_ledger(location).await.expect("is up to date");
        assert_eq!((again.from, again.steps), (known_version(), Vec::new()));
    }
}

#[test]
fn a_released_migration_is_what_it_was_when_its_ledger_was_written() {
    for migration in MIGRATIONS.iter() {
        let rows = rows_of(migration.version);
        let stated: Vec<&str> = rows
            .lines()
            .filter_map(|line| line.strip_prefix("-- migration "))
            .collect();
        let made: Vec<String> = MIGRATIONS
            .iter()
            .filter(|other| other.version <= migration.version)
            .map(|other| format!("{} sha384 {}", other.version, hex::encode(&other.checksum)))
            .collect();
        assert_eq!(
            stated, made,
            "version {}: a released migration was edited",
            migration.version
        );
    }
}

#[tokio::test]
async fn a_newer_ledger_is_refused_and_not_touched() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = DataDir::new(data.path());
    migrate(&folder).await.expect("makes");
    let mut connection = SqliteConnection::connect_with(&writing(&folder.database()))
        .await
        .expect("opens");
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'from the future', TRUE, X'00', 0)",
    )
    .execute(&mut connection)
    .await
    .expect("writes");
    connection.close().await.expect("closes");
    let before = std::fs::read(folder.database()).expect("reads");
    for refused in [
        plan_migration(data.path()).await.map(|_| ()),
        migrate_ledger(data.path()).await.map(|_| ()),
        crate::Ledger::open(crate::LedgerOptions::new(data.path()))
            .await
            .map(|_| ()),
        Reader::open(data.path()).await.map(|_| ()),
    ] {
        let refused = refused.expect_err("is newer").to_string();
        assert!(
            refused.contains("9999") && refused.contains("newer program"),
            "{refused}"
        );
    }
    assert_eq!(std::fs::read(folder.database()).expect("reads"), before);
}

#[tokio::test]
async fn a_ledger_that_is_written_is_not_migrated() {
    let test = crate::testing::TestLedger::new().await;
    test.record_notes("s", 1).await;
    let refused = migrate_ledger(test.path()).await.expect_err("is held");
    assert!(matches!(refused, LedgerError::AlreadyOpen(_)), "{refused}");
    let nothing = tempfile::tempdir().expect("a folder");
    let refused = migrate_ledger(nothing.path()).await.expect_err("is none");
    assert!(matches!(refused, LedgerError::NoLedger(_)), "{refused}");
    assert_eq!(std::fs::read_dir(nothing.path()).expect("lists").count(), 0);
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_version_before_it() {
    let data = tempfile::tempdir().expect("a folder");
    at_version(data.path(), 1).await;
    let file = DataDir::new(data.path()).database();
    let before = tables(&file).await;
    let bad = Migration::new(
        9998,
        Cow::Borrowed("bad"),
        MigrationType::Simple,
        SqlSafeStr::into_sql_str(
            "CREATE TABLE half (one INTEGER) STRICT; CREATE TABLE half (one INTEGER) STRICT;",
        ),
        false,
    );
    let mut all: Vec<Migration> = MIGRATIONS
        .iter()
        .filter(|known| known.version == 1)
        .cloned()
        .collect();
    all.push(bad);
    let mut connection = SqliteConnection::connect_with(&writing(&file))
        .await
        .expect("opens");
    Migrator::with_migrations(all)
        .run(&mut connection)
        .await
        .expect_err("fails in its second statement");
    connection.close().await.expect("closes");
    assert_eq!(tables(&file).await, before);
    let found = find(&DataDir::new(data.path())).await.expect("reads");
    assert_eq!(found, Found::Version(1));
}

#[tokio::test]
async fn a_ledger_of_an_older_version_is_backed_up_and_restored_as_it_is() {
    let old = tempfile::tempdir().expect("a folder");
    at_version(old.path(), 1).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (to, data) = (folder.path().join("backup"), folder.path().join("data"));
    let options = crate::BackupOptions {
        location: LedgerLocation::new(old.path()),
        to: to.clone(),
        with_key: true,
        configuration: None,
    };
    let report = crate::back_up(options, &mut |_, _| {})
        .await
        .expect("copies");
    assert_eq!(report.faults, [""; 0]);
    let ledger = &report.manifest.ledgers[0];
    assert_eq!(
        (ledger.tables, ledger.state.is_none()),
        (1, known_version() > 1)
    );
    let options = crate::RestoreOptions {
        from: to,
        data: data.clone(),
        key: None,
        anchor: None,
    };
    let report = crate::restore(options, &mut |_, _| {})
        .await
        .expect("restores");
    assert_eq!(report.faults, [""; 0]);
    assert_eq!(
        tables(&DataDir::new(&data).database()).await,
        tables(&DataDir::new(old.path()).database()).await
    );
    let done = migrate_ledger(data.as_path()).await.expect("migrates");
    assert_eq!((done.from, done.to), (1, known_version()));
}
