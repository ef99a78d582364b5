//! Blobs: inline and outside, and what the garbage collection does to their rows.

use super::*;
use crate::store::{CondemnedBlob, NewBlob, Writer};

const LATER: &str = "2026-02-02T00:00:00.000Z";

fn outside(text: &'static str) -> NewBlob {
    NewBlob {
        inline: None,
        ..blob(text)
    }
}

async fn upload(writer: &mut dyn Writer, rest: GroupRows) {
    let group = TestGroup {
        entries: Vec::new(),
        rest,
    };
    commit(writer, &group).await;
}

pub(super) async fn blobs_are_listed_by_where_they_lie(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    assert!(!writer.reads().has_blobs_outside().await.expect("reads"));
    let blobs = vec![blob("a"), blob("b"), blob("c"), outside("far away")];
    let rows = GroupRows {
        blobs: blobs.clone(),
        ..GroupRows::default()
    };
    upload(&mut *writer, rows).await;
    let again = GroupRows {
        blobs: vec![NewBlob {
            stored: LATER.to_owned(),
            ..outside("b")
        }],
        ..GroupRows::default()
    };
    upload(&mut *writer, again).await;
    let reads = writer.reads();
    assert!(reads.has_blobs_outside().await.expect("reads"));
    let wanted: Vec<ContentHash> = ["far away", "b", "none"]
        .iter()
        .map(|text| ContentHash::of(text.as_bytes()))
        .collect();
    let mut found = reads.blob_rows(&wanted).await.expect("reads");
    found.sort_by_key(|row| row.is_inline);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].hash, found[0].size, found[0].is_inline),
        (wanted[0], 8, false)
    );
    assert_eq!(found[0].stored, blobs[3].stored);
    // Uploaded once more it is as new, and stays where it is.
    assert_eq!(
        (found[1].hash, found[1].size, found[1].is_inline),
        (wanted[1], 1, true)
    );
    assert_eq!(found[1].stored, LATER);
    assert_eq!(
        reads
            .inline_blob(&wanted[1])
            .await
            .expect("reads")
            .as_deref(),
        Some(&b"b"[..])
    );
    assert_eq!(reads.inline_blob(&wanted[0]).await.expect("reads"), None);

    let mut inline: Vec<ContentHash> = blobs[..3].iter().map(|blob| blob.hash).collect();
    inline.sort_by_key(|hash| *hash.as_bytes());
    let hashes =
        |rows: Vec<crate::store::BlobRow>| rows.iter().map(|row| row.hash).collect::<Vec<_>>();
    assert_eq!(
        hashes(reads.inline_blob_rows(None, 2).await.expect("reads")),
        inline[..2]
    );
    let rest = reads
        .inline_blob_rows(Some(&inline[1]), 2)
        .await
        .expect("reads");
    assert_eq!(hashes(rest), inline[2..]);
    writer.close().await;
}

pub(super) async fn a_condemned_blob_is_gone_until_it_is_stored_anew(database: TestDatabase) {
    let store = database.store().await;
    let mut writer = store.writer().await.expect("opens");
    let rows = || GroupRows {
        blobs: vec![blob("blob"), outside("far away")],
        ..GroupRows::default()
    };
    upload(&mut *writer, rows()).await;
    let refused = database.refused("DELETE FROM blobs").await;
    assert!(refused.contains("append-only"), "{refused}");

    let mark = |since: &str| CondemnedBlob {
        hash: ContentHash::of(b"blob"),
        since: since.to_owned(),
    };
    let mut administration = store.administration().await.expect("opens");
    assert_eq!(administration.begin().await.expect("begins"), 0);
    assert!(
        administration
            .condemn_blob(&mark("first"))
            .await
            .expect("marks")
    );
    assert!(
        !administration
            .condemn_blob(&mark("second"))
            .await
            .expect("is marked")
    );
    administration.rollback().await.expect("rolls back");
    let reads = administration.reads();
    assert_eq!(reads.condemned_blobs(None).await.expect("reads"), []);
    assert!(
        reads
            .inline_blob(&mark("").hash)
            .await
            .expect("reads")
            .is_some()
    );

    administration.begin().await.expect("begins");
    assert!(
        administration
            .condemn_blob(&mark("first"))
            .await
            .expect("marks")
    );
    administration.commit().await.expect("commits");
    let reads = administration.reads();
    assert_eq!(
        reads.inline_blob(&mark("").hash).await.expect("reads"),
        None
    );
    let among = [ContentHash::of(b"far away")];
    assert_eq!(
        reads.condemned_blobs(Some(&among)).await.expect("reads"),
        []
    );
    let among = [mark("").hash, among[0]];
    assert_eq!(
        reads.condemned_blobs(Some(&among)).await.expect("reads"),
        [mark("first")]
    );
    // A mark of another time stays.
    administration
        .release_blobs(&[mark("other")])
        .await
        .expect("looks");
    let marks = administration.reads().condemned_blobs(None).await;
    assert_eq!(marks.expect("reads"), [mark("first")]);

    // A group pardons it, and stores it anew.
    let pardon = GroupRows {
        pardoned_blobs: vec![mark("first")],
        ..rows()
    };
    upload(&mut *writer, pardon).await;
    let reads = writer.reads();
    assert_eq!(reads.condemned_blobs(None).await.expect("reads"), []);
    assert!(
        reads
            .inline_blob(&mark("").hash)
            .await
            .expect("reads")
            .is_some()
    );

    administration.begin().await.expect("begins");
    assert!(
        administration
            .condemn_blob(&mark("third"))
            .await
            .expect("marks")
    );
    administration
        .release_blobs(&[mark("third")])
        .await
        .expect("releases");
    administration.commit().await.expect("commits");
    assert_eq!(
        writer.reads().condemned_blobs(None).await.expect("reads"),
        []
    );
    assert_eq!(
        writer.look_up_blobs(&among).await.expect("reads"),
        among[1..]
    );
    writer.close().await;
}
