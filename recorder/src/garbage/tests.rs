use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use remembrancer_schema::ContentHash;
use tempfile::TempDir;

use super::*;
use crate::incoming::Outcome;
use crate::testing::{event, started};
use crate::{Ledger, LedgerLocation, LedgerOptions, Rejection};

/// Blobs above this size lie outside of the database.
const INLINE_MAX: usize = 8;
const DAY: Duration = Duration::from_secs(24 * 3600);

struct Fixture {
    folder: TempDir,
    ledger: Ledger,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ledger = open(folder.path()).await;
        ledger.append(vec![started("s")]).await.expect("appends");
        Self { folder, ledger }
    }

    async fn store(&self, text: &str) -> ContentHash {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        self.ledger.store_blob(bytes).await.expect("stores").0
    }

    async fn name(&self, id: &str, hash: &ContentHash) -> Outcome {
        let naming = event(&format!(
            r#"{{"id":"{id}","session":"s","type":"custom.x","blobs":["{hash}"],"data":{{}}}}"#
        ));
        self.ledger.append(vec![naming]).await.expect("appends")[0].clone()
    }

    /// Makes everything that is stored look as if it was uploaded two days ago.
    async fn age(&self) {
        let long_ago = SystemTime::now() - 2 * DAY;
        for file in files(&self.folder.path().join("blobs")) {
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        self.execute("UPDATE blobs SET stored = '2020-01-01T00:00:00.000Z'")
            .await;
    }

    async fn execute(&self, statement: &'static str) {
        let file = self.folder.path().join("ledger.sqlite");
        crate::store::sqlite::execute(&file, statement).await;
    }

    async fn collect(&self, removes: bool) -> GarbageReport {
        let options = GarbageOptions {
            removes,
            ..GarbageOptions::default()
        };
        collect_garbage(self.ledger.reader(), &options, |_| {})
            .await
            .expect("collects")
    }

    /// How many admin acts are entries, once the sequencer has come to them.
    async fn acts(&self) -> u64 {
        let session = remembrancer_schema::payload::ADMIN_SESSION.parse().unwrap();
        for _ in 0..100 {
            let found = self.ledger.reader().session(&session).await.unwrap();
            // The first entry starts the session.
            if let Some(found) = found.filter(|found| found.entries > 2) {
                return found.entries - 1;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no act became an entry");
    }

    async fn has(&self, hash: &ContentHash) -> bool {
        let found = self.ledger.reader().blob(hash).await.expect("reads");
        found.is_some()
    }
}

async fn open(folder: &Path) -> Ledger {
    let options = LedgerOptions {
        blob_inline_bytes_max: INLINE_MAX,
        ..LedgerOptions::new(folder)
    };
    Ledger::open(options).await.expect("opens")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn names(report: &GarbageReport) -> Vec<String> {
    report.items.iter().map(|item| item.name.clone()).collect()
}

fn sorted(hashes: &[ContentHash]) -> Vec<String> {
    let mut names: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

#[tokio::test]
async fn only_what_nothing_refers_to_is_removed_and_only_if_asked() {
    let test = Fixture::new().await;
    let named = [test.store("small a").await, test.store("a large one").await];
    let loose = [
        test.store("small b").await,
        test.store("another large one").await,
    ];
    for (at, hash) in named.iter().enumerate() {
        assert!(test.name(&format!("n{at}"), hash).await.place().is_some());
    }
    assert_eq!(test.collect(true).await.count, 0, "all of it is young");
    test.age().await;

    let found = test.collect(false).await;
    let mut told = names(&found);
    told.sort();
    assert_eq!(told, sorted(&loose));
    assert_eq!((found.count, found.bytes, found.objects), (2, 7 + 17, 2));
    assert!(found.entries_read >= 3 && !found.removed);
    for hash in named.iter().chain(&loose) {
        assert!(test.has(hash).await, "a dry run removes nothing");
    }

    let removed = test.collect(true).await;
    assert_eq!(removed.count, 2);
    assert_eq!(
        test.acts().await,
        2,
        "one for the objects, one for the rows"
    );
    for hash in &named {
        assert!(test.has(hash).await, "an entry names it");
    }
    for hash in &loose {
        assert!(!test.has(hash).await);
    }
    let verdict = crate::verify_ledger(test.ledger.reader(), |_| {})
        .await
        .unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.faults);
    assert_eq!(test.collect(true).await.count, 0, "nothing is left to do");

    // What was removed can be uploaded and named again.
    for (at, hash) in loose.iter().enumerate() {
        let outcome = test.name(&format!("l{at}"), hash).await;
        assert_eq!(outcome, Outcome::Rejected(Rejection::BlobMissing(*hash)));
    }
    assert_eq!(test.store("another large one").await, loose[1]);
    assert!(test.name("l", &loose[1]).await.place().is_some());
    assert!(test.has(&loose[1]).await);
}

#[tokio::test]
async fn what_an_aborted_upload_leaves_is_found() {
    let test = Fixture::new().await;
    test.store("some large one").await;
    // An object whose row was never written, and a file that a crash left half-written.
    let aborted = crate::blob_store::Blob::new(Bytes::from_static(b"never got a row")).unwrap();
    test.ledger
        .reader()
        .blob_store()
        .put(&aborted)
        .await
        .unwrap();
    let object = PathBuf::from(test.ledger.reader().blob_store().address(aborted.hash()));
    let half = object.with_file_name(format!("{}#1", aborted.hash()));
    std::fs::write(&half, b"never").unwrap();
    assert!(!test.has(aborted.hash()).await, "no row, no blob");
    assert_eq!(
        test.collect(true).await.count,
        0,
        "it may still get its row"
    );
    test.age().await;
    test.store("some large one").await;

    let report = test.collect(true).await;
    let places: Vec<GarbagePlace> = report.items.iter().map(|item| item.place).collect();
    assert_eq!(
        places,
        [GarbagePlace::Store, GarbagePlace::HalfWritten],
        "{report:?}"
    );
    assert!(!object.exists() && !half.exists());
}

#[tokio::test]
async fn an_upload_makes_a_blob_young_again() {
    let test = Fixture::new().await;
    let hash = test.store("a large one").await;
    test.age().await;
    assert_eq!(test.collect(false).await.count, 1);
    test.store("a large one").await;
    assert_eq!(test.collect(true).await.count, 0);
    assert!(test.has(&hash).await);
}

/// What a collector does is taken apart here, with a recorder that goes on between its steps.
#[tokio::test]
async fn what_is_named_or_uploaded_during_a_collection_stays() {
    let test = Fixture::new().await;
    let [named, uploaded, loose] = [
        test.store("named meanwhile").await,
        test.store("uploaded meanwhile").await,
        test.store("forgotten").await,
    ];
    test.age().await;
    let options = GarbageOptions {
        removes: true,
        ..GarbageOptions::default()
    };
    let mut run = Run::new(test.ledger.reader(), &options);
    let mut round = Candidates::default();
    for hash in [named, uploaded, loose] {
        round.add(hash, GarbagePlace::Store, 1, String::new());
    }
    let mut connection = test.ledger.reader().connection().await.unwrap();
    let size = round.keep_unnamed(&mut *connection, 0).await.unwrap();
    drop(connection);
    assert_eq!((size, round.len()), (1, 3));

    // After the entries were read and before the head is taken.
    assert!(test.name("n", &named).await.place().is_some());
    test.store("uploaded meanwhile").await;
    let mut administration = test.ledger.reader().administration().await.unwrap();
    run.remove(&mut *administration, round, size).await.unwrap();
    assert_eq!(names(&run.report), [loose.to_string()]);
    assert!(test.has(&named).await && test.has(&uploaded).await);
    assert!(!test.has(&loose).await);
}

#[tokio::test]
async fn an_upload_waits_for_the_removal_of_its_object_and_writes_it_again() {
    let test = Fixture::new().await;
    let hash = test.store("a large one").await;
    test.age().await;
    let reader = test.ledger.reader();
    let mut administration = reader.administration().await.unwrap();
    let mark = CondemnedBlob {
        hash,
        since: clock::now(),
    };
    administration.begin().await.unwrap();
    assert!(administration.condemn_blob(&mark).await.unwrap());
    assert!(
        !administration.condemn_blob(&mark).await.unwrap(),
        "marked already"
    );
    administration.commit().await.unwrap();

    // The row is gone, the object not yet: an event cannot name it, an upload finds the object and must not count on it.
    assert_eq!(
        test.name("early", &hash).await,
        Outcome::Rejected(Rejection::BlobMissing(hash))
    );
    let ledger = test.ledger.clone();
    let upload =
        tokio::spawn(async move { ledger.store_blob(Bytes::from_static(b"a large one")).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!upload.is_finished());
    reader.blob_store().remove(&[hash]).await.unwrap();
    let other = CondemnedBlob {
        hash,
        since: clock::ago(DAY),
    };
    administration.release_blobs(&[other]).await.unwrap();
    let marks = administration.reads().condemned_blobs(None).await.unwrap();
    assert_eq!(marks, std::slice::from_ref(&mark), "a mark of another time");
    administration.release_blobs(&[mark]).await.unwrap();
    assert_eq!(upload.await.unwrap().unwrap(), (hash, true));
    assert!(test.name("late", &hash).await.place().is_some());
    assert!(test.has(&hash).await, "it was written after the removal");
}

#[tokio::test]
async fn the_marks_of_a_collector_that_died_do_not_stay() {
    let test = Fixture::new().await;
    let [again, never] = [
        test.store("uploaded again").await,
        test.store("never uploaded again").await,
    ];
    test.age().await;
    let mut administration = test.ledger.reader().administration().await.unwrap();
    let since = clock::ago(GIVEN_UP_AFTER + Duration::from_secs(1));
    for hash in [again, never] {
        let mark = CondemnedBlob {
            hash,
            since: since.clone(),
        };
        assert!(administration.condemn_blob(&mark).await.unwrap());
    }
    assert_eq!(test.store("uploaded again").await, again);
    assert!(test.has(&again).await);

    let report = test.collect(true).await;
    assert_eq!(report.count, 1, "{report:?}");
    let left = administration.reads().condemned_blobs(None).await.unwrap();
    assert_eq!(left, []);
    let object = test.ledger.reader().blob_store().address(&never);
    assert!(!Path::new(&object).exists());
    assert!(test.has(&again).await);
}

#[tokio::test]
async fn a_young_mark_is_left_to_its_collector() {
    let test = Fixture::new().await;
    let hash = test.store("a large one").await;
    test.age().await;
    let mut administration = test.ledger.reader().administration().await.unwrap();
    let mark = CondemnedBlob {
        hash,
        since: clock::now(),
    };
    assert!(administration.condemn_blob(&mark).await.unwrap());
    assert_eq!(test.collect(true).await.count, 0);
    let left = administration.reads().condemned_blobs(None).await.unwrap();
    assert_eq!(left, [mark]);
    assert!(Path::new(&test.ledger.reader().blob_store().address(&hash)).exists());
}

#[tokio::test]
async fn nothing_is_collected_on_the_word_of_a_ledger_that_cannot_be_trusted() {
    let test = Fixture::new().await;
    let hash = test.store("a large one").await;
    assert!(test.name("n", &hash).await.place().is_some());
    test.age().await;
    let address = PathBuf::from(test.ledger.reader().blob_store().address(&hash));
    test.ledger.close().await;
    let options = GarbageOptions {
        removes: true,
        ..GarbageOptions::default()
    };
    let file = test.folder.path().join("ledger.sqlite");
    let original = std::fs::read(&file).unwrap();
    for (statements, expected) in [
        // The entry that names it is not what was written, is gone, or was cut off with everything that tells of it.
        (
            "DROP TRIGGER entries_update; UPDATE entries SET bytes = x'7b7d' WHERE idx = 1",
            "entry 1",
        ),
        (
            "DROP TRIGGER entries_delete; DELETE FROM entries WHERE idx = 0",
            "not all there",
        ),
        (
            "DROP TRIGGER entries_delete; DELETE FROM entries WHERE idx = 1; \
             DROP TRIGGER checkpoints_delete; DELETE FROM checkpoints WHERE size = 2",
            "rolled-back",
        ),
    ] {
        test.execute(statements).await;
        let reader = Reader::open(LedgerLocation::new(test.folder.path()))
            .await
            .unwrap();
        let error = collect_garbage(&reader, &options, |_| {})
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains(expected),
            "{statements}: {error}"
        );
        assert!(address.exists(), "{statements}");
        reader.close().await;
        for beside in ["-wal", "-shm"] {
            std::fs::remove_file(test.folder.path().join(format!("ledger.sqlite{beside}"))).ok();
        }
        std::fs::write(&file, &original).unwrap();
    }
}

#[tokio::test]
async fn the_place_of_another_ledger_is_never_collected() {
    let test = Fixture::new().await;
    let theirs = test.store("their large one").await;
    test.age().await;
    let place = test.folder.path().to_str().unwrap().parse().unwrap();
    let other = tempfile::tempdir().unwrap();
    let location = LedgerLocation {
        blobs: Some(place),
        ..LedgerLocation::new(other.path())
    };
    let refused = Ledger::open(LedgerOptions::new(location.clone()))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("give each ledger a place of its own"),
        "{refused}"
    );

    // The ledger was made before its place was refused, and can be read.
    let reader = Reader::open(location).await.unwrap();
    let options = GarbageOptions {
        removes: true,
        ..GarbageOptions::default()
    };
    let error = collect_garbage(&reader, &options, |_| {})
        .await
        .unwrap_err();
    assert!(error.to_string().contains("of the ledger"), "{error}");
    assert!(test.has(&theirs).await);
}

#[tokio::test]
async fn many_are_removed_in_batches() {
    let test = Fixture::new().await;
    let count = REMOVED_AT_ONCE_MAX + 20;
    let blobs = (0..count).map(|number| test.store_owned(format!("{number}")));
    let hashes = futures_util::future::join_all(blobs).await;
    assert!(test.name("n", &hashes[7]).await.place().is_some());
    test.age().await;
    let report = test.collect(true).await;
    assert_eq!(report.count, count as u64 - 1);
    assert!(test.has(&hashes[7]).await);
    assert!(!test.has(&hashes[8]).await);
}

impl Fixture {
    async fn store_owned(&self, text: String) -> ContentHash {
        self.store(&text).await
    }
}
