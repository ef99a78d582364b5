use std::path::{Path, PathBuf};

use super::*;
use crate::testing::{event, started};
use crate::{Ledger, LedgerOptions};

const SMALL: &[u8] = b"small";
const LARGE: &[u8] = b"large enough to lie outside";

/// A closed ledger with a small and a large blob, both named by entry 1.
async fn folder() -> (tempfile::TempDir, ContentHash, ContentHash) {
    let folder = tempfile::tempdir().unwrap();
    let options = LedgerOptions {
        blob_inline_bytes_max: 8,
        ..LedgerOptions::new(folder.path())
    };
    let ledger = Ledger::open(options).await.unwrap();
    let mut hashes = Vec::new();
    for bytes in [SMALL, LARGE] {
        let (hash, is_new) = ledger.store_blob(Bytes::from_static(bytes)).await.unwrap();
        assert!(is_new);
        let again = ledger.store_blob(Bytes::from_static(bytes)).await.unwrap();
        assert_eq!(again, (hash, false));
        hashes.push(hash);
    }
    let naming = event(&format!(
        r#"{{"id":"n","session":"s","type":"custom.x","blobs":["{}","{}"],"data":{{}}}}"#,
        hashes[0], hashes[1]
    ));
    ledger.append(vec![started("s"), naming]).await.unwrap();
    ledger.close().await;
    (folder, hashes[0], hashes[1])
}

fn object(folder: &Path, hash: &ContentHash) -> PathBuf {
    let digits = hash.to_string();
    folder.join("blobs").join(&digits[..2]).join(digits)
}

async fn record_error(reader: &Reader) -> LedgerError {
    reader
        .session_record(&"s".parse().unwrap())
        .await
        .unwrap_err()
}

#[tokio::test]
async fn small_blobs_are_in_the_database_and_large_ones_outside() {
    let (folder, small, large) = folder().await;
    assert!(!object(folder.path(), &small).exists());
    assert_eq!(std::fs::read(object(folder.path(), &large)).unwrap(), LARGE);
    let reader = Reader::open(folder.path()).await.unwrap();
    assert_eq!(reader.blob(&small).await.unwrap().as_deref(), Some(SMALL));
    assert_eq!(reader.blob(&large).await.unwrap().as_deref(), Some(LARGE));
    assert_eq!(reader.blob(&ContentHash::of(b"x")).await.unwrap(), None);
    let record = reader.session_record(&"s".parse().unwrap()).await.unwrap();
    assert_eq!(&record.blobs[&small][..], SMALL);
    assert_eq!(&record.blobs[&large][..], LARGE);
    assert!(
        crate::verify_ledger(&reader, |_| {})
            .await
            .unwrap()
            .is_sound()
    );
}

#[tokio::test]
async fn a_blob_that_is_gone_is_missing_with_its_hash_wherever_it_is_read() {
    let (folder, _, large) = folder().await;
    std::fs::remove_file(object(folder.path(), &large)).unwrap();
    let reader = Reader::open(folder.path()).await.unwrap();
    let error = reader.blob(&large).await.unwrap_err();
    assert!(
        matches!(error, LedgerError::BlobMissing { entry: None, .. }),
        "{error}"
    );
    assert!(error.to_string().contains(&large.to_string()), "{error}");
    let error = record_error(&reader).await;
    assert!(
        matches!(error, LedgerError::BlobMissing { entry: Some(1), .. }),
        "{error}"
    );
    let verdict = crate::verify_ledger(&reader, |_| {}).await.unwrap();
    let fault = verdict.first_bad.expect("a fault");
    assert_eq!(fault.index, Some(1));
    assert!(
        fault.message.contains(&format!("blob {large} is missing")),
        "{fault}"
    );
    reader.close().await;

    // Uploading it again heals it.
    let ledger = Ledger::open(LedgerOptions {
        blob_inline_bytes_max: 8,
        ..LedgerOptions::new(folder.path())
    });
    let ledger = ledger.await.unwrap();
    let stored = ledger.store_blob(Bytes::from_static(LARGE)).await.unwrap();
    assert_eq!(stored, (large, false));
    assert!(
        crate::verify_ledger(ledger.reader(), |_| {})
            .await
            .unwrap()
            .is_sound()
    );
}

#[tokio::test]
async fn other_bytes_are_damage_wherever_they_are_read() {
    let (folder, small, large) = folder().await;
    std::fs::write(
        object(folder.path(), &large),
        b"forged enough to lie outside",
    )
    .unwrap();
    let file = folder.path().join("ledger.sqlite");
    crate::store::sqlite::execute(
        &file,
        "DROP TRIGGER blobs_update; UPDATE blobs SET bytes = x'00' WHERE place = 'inline'",
    )
    .await;
    let reader = Reader::open(folder.path()).await.unwrap();
    for hash in [small, large] {
        let error = reader.blob(&hash).await.unwrap_err();
        assert!(matches!(error, LedgerError::BlobDamaged { .. }), "{error}");
        assert!(error.to_string().contains(&hash.to_string()), "{error}");
    }
    let error = record_error(&reader).await;
    assert!(
        matches!(error, LedgerError::BlobDamaged { entry: Some(1), .. }),
        "{error}"
    );
    let verdict = crate::verify_ledger(&reader, |_| {}).await.unwrap();
    let told: Vec<String> = verdict.faults.iter().map(ToString::to_string).collect();
    for hash in [small, large] {
        assert!(
            told.iter()
                .any(|fault| fault.contains(&format!("blob {hash} holds other bytes"))),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_ledger_does_not_open_before_a_folder_that_is_not_mounted() {
    let (folder, ..) = folder().await;
    let blobs = folder.path().join("blobs");
    let away = folder.path().join("away");
    std::fs::rename(&blobs, &away).unwrap();
    let error = Ledger::open(LedgerOptions::new(folder.path()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("mount the folder"), "{error}");
    assert!(!blobs.exists(), "no second place was begun");
    std::fs::rename(&away, &blobs).unwrap();
    Ledger::open(LedgerOptions::new(folder.path()))
        .await
        .unwrap();
}
