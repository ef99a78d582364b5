//! A local folder as the store, and what both kinds of store share.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use super::*;

mod s3;

fn local() -> (TempDir, BlobStore) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = BlobLocation::Folder(folder.path().join("with space").join("store"));
    let store = BlobStore::connect(location).expect("a folder");
    (folder, store)
}

fn blob(text: &str) -> Blob {
    Blob::new(Bytes::copy_from_slice(text.as_bytes())).expect("small")
}

fn origin(text: &str) -> Origin {
    text.parse().expect("an origin")
}

fn file(store: &BlobStore, blob: &Blob) -> PathBuf {
    store.file(blob.hash()).expect("a local folder")
}

async fn all(store: &BlobStore) -> (BTreeMap<ContentHash, u64>, Vec<String>) {
    let (mut blobs, mut strangers) = (BTreeMap::new(), Vec::new());
    for found in store.list().collect::<Vec<_>>().await {
        match found.expect("listed") {
            Listed::Blob {
                hash,
                bytes,
                modified,
            } => {
                let now = jiff::Timestamp::now().as_millisecond();
                assert!(
                    (now - 60_000..=now + 60_000).contains(&modified),
                    "{modified}"
                );
                assert_eq!(blobs.insert(hash, bytes), None, "listed once");
            }
            Listed::Stranger(name) => strangers.push(name),
        }
    }
    (blobs, strangers)
}

/// What every store must do, run on each.
async fn keeps_the_contract(store: &BlobStore) {
    let (first, second) = (blob("first"), blob("second"));
    let large = Blob::new(Bytes::from(vec![7; 3 * 1024 * 1024])).expect("not too large");
    assert_eq!(store.fetch(first.hash()).await, Ok(Fetched::Missing));
    assert!(
        all(store).await.0.is_empty(),
        "a store that nobody wrote to is empty"
    );
    for blob in [&first, &second, &large] {
        assert_eq!(store.put(blob).await, Ok(Put::Written));
        assert_eq!(store.put(blob).await, Ok(Put::Present), "again");
        assert_eq!(
            store.fetch(blob.hash()).await,
            Ok(Fetched::Whole(blob.bytes().clone()))
        );
    }
    let (blobs, strangers) = all(store).await;
    let expected: BTreeMap<_, _> = [&first, &second, &large]
        .map(|blob| (*blob.hash(), blob.bytes().len() as u64))
        .into();
    assert_eq!((blobs, strangers), (expected, Vec::new()));

    let gone = [
        *first.hash(),
        *large.hash(),
        ContentHash::of(b"never there"),
    ];
    assert_eq!(store.remove(&gone).await, Ok(3));
    assert_eq!(store.fetch(first.hash()).await, Ok(Fetched::Missing));
    assert_eq!(
        store.fetch(second.hash()).await,
        Ok(Fetched::Whole(second.bytes().clone()))
    );
    assert_eq!(
        store.put(&first).await,
        Ok(Put::Written),
        "after it was removed"
    );

    let (ours, theirs) = (
        origin("ledger.example/ours"),
        origin("ledger.example/theirs"),
    );
    assert!(matches!(
        store.claim(&ours, false).await,
        Err(BlobStoreError::NotClaimed { .. })
    ));
    for may_take in [true, true, false] {
        assert_eq!(store.claim(&ours, may_take).await, Ok(()));
    }
    for may_take in [true, false] {
        let refused = store.claim(&theirs, may_take).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("of the ledger ledger.example/ours, not of"),
            "{refused}"
        );
    }
    assert_eq!(all(store).await.0.len(), 2, "the mark is no blob");
}

/// That many tasks may write the same blob at the same time.
async fn takes_the_same_blob_from_many(store: &BlobStore) {
    let blob = Blob::new(Bytes::from(vec![3; 200_000])).expect("small");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, blob) = (store.clone(), blob.clone());
        tasks.spawn(async move { store.put(&blob).await });
    }
    let done = tasks.join_all().await;
    let written = done.iter().filter(|put| **put == Ok(Put::Written)).count();
    let present = done.iter().filter(|put| **put == Ok(Put::Present)).count();
    assert_eq!((written, present), (1, 7), "{done:?}");
    assert_eq!(
        store.fetch(blob.hash()).await,
        Ok(Fetched::Whole(blob.bytes().clone()))
    );
}

#[tokio::test]
async fn a_folder_keeps_the_contract() {
    let (_folder, store) = local();
    keeps_the_contract(&store).await;
    takes_the_same_blob_from_many(&store).await;
    assert!(
        store.remains().await.unwrap().is_empty(),
        "nothing half-written is left"
    );
}

#[tokio::test]
async fn a_blob_is_a_file_that_anybody_can_check() {
    let (folder, store) = local();
    let blob = blob("content");
    store.put(&blob).await.unwrap();
    let digits = blob.hash().to_string();
    let path = folder
        .path()
        .join("with space/store/blobs")
        .join(&digits[..2])
        .join(&digits);
    assert_eq!(fs::read(&path).unwrap(), b"content");
    assert_eq!(store.address(blob.hash()), path.display().to_string());
}

#[tokio::test]
async fn other_bytes_under_an_address_are_found_and_never_taken_for_the_blob() {
    let (_folder, store) = local();
    let blob = blob("content");
    store.put(&blob).await.unwrap();
    for (other, what) in [
        (&b"CONTENT"[..], "other content of the same size"),
        (b"", "0 bytes instead of 7"),
        (b"content and more", "16 bytes instead of 7"),
    ] {
        fs::write(file(&store, &blob), other).unwrap();
        let Ok(Fetched::Damaged(reason)) = store.fetch(blob.hash()).await else {
            panic!("{other:?} was taken for the blob");
        };
        assert!(
            reason.contains(&ContentHash::of(other).to_string()),
            "{reason}"
        );
        let refused = store.put(&blob).await.unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
        assert_eq!(
            fs::read(file(&store, &blob)).unwrap(),
            other,
            "left as it was found"
        );
    }
    let huge = fs::File::create(file(&store, &blob)).unwrap();
    huge.set_len(BLOB_BYTES_MAX as u64 + 1).unwrap();
    let Ok(Fetched::Damaged(reason)) = store.fetch(blob.hash()).await else {
        panic!("more than a blob may have was read");
    };
    assert!(reason.contains("more than any blob"), "{reason}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_or_a_folder_in_place_of_a_blob_is_damage() {
    let (folder, store) = local();
    let blob = blob("content");
    store.put(&blob).await.unwrap();
    let path = file(&store, &blob);
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    for _ in 0..2 {
        let Ok(Fetched::Damaged(reason)) = store.fetch(blob.hash()).await else {
            panic!("what is no file was read");
        };
        assert!(reason.contains("no plain file"), "{reason}");
        assert!(matches!(
            store.put(&blob).await,
            Err(BlobStoreError::Occupied { .. })
        ));
        fs::remove_file(&path).ok();
        fs::create_dir(&path).ok();
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let most = Blob::new(Bytes::from(vec![0; BLOB_BYTES_MAX]));
    assert!(most.is_ok());
    let refused = Blob::new(Bytes::from(vec![0; BLOB_BYTES_MAX + 1]));
    assert_eq!(
        refused,
        Err(BlobStoreError::TooLarge {
            bytes: BLOB_BYTES_MAX + 1,
            max: BLOB_BYTES_MAX
        })
    );
}

#[tokio::test]
async fn half_written_files_and_strangers_are_told_apart() {
    let (_folder, store) = local();
    let blob = blob("content");
    store.put(&blob).await.unwrap();
    let path = file(&store, &blob);
    let named = |name: String| path.with_file_name(name);
    fs::write(named(format!("{}#12", blob.hash())), b"cont").unwrap();
    for stranger in [
        "notes.txt#1".to_owned(),
        format!("{}#1a", blob.hash()),
        // A right name in a wrong folder.
        ContentHash::of(b"another").to_string(),
    ] {
        fs::write(named(stranger), b"x").unwrap();
    }
    let remains = store.remains().await.unwrap();
    assert_eq!(remains.len(), 1, "{remains:?}");
    assert_eq!(remains[0].bytes, 4);
    let (blobs, strangers) = all(&store).await;
    assert_eq!(blobs.keys().collect::<Vec<_>>(), [blob.hash()]);
    // The library leaves names like `notes.txt#1` out of its lists.
    assert_eq!(strangers.len(), 2, "{strangers:?}");

    store.remove_remains(&remains[0]).unwrap();
    store.remove_remains(&remains[0]).unwrap();
    assert!(store.remains().await.unwrap().is_empty());
    // A write goes on beside what another one left.
    fs::write(named(format!("{}#1", blob.hash())), b"cont").unwrap();
    store.remove(&[*blob.hash()]).await.unwrap();
    assert_eq!(store.put(&blob).await, Ok(Put::Written));
    assert_eq!(
        store.fetch(blob.hash()).await,
        Ok(Fetched::Whole(blob.bytes().clone()))
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_no_missing_blob() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, b"x").unwrap();
    let store = BlobStore::connect(BlobLocation::Folder(in_the_way)).unwrap();
    let blob = blob("content");
    for outcome in [
        store.put(&blob).await.map(|_| ()),
        store.fetch(blob.hash()).await.map(|_| ()),
        store.claim(&origin("ledger.example/ours"), true).await,
    ] {
        assert!(
            matches!(outcome, Err(BlobStoreError::Unavailable { .. })),
            "{outcome:?}"
        );
    }
}
