//! Bytes changed in the database file itself, with no statement of ours in between.

use super::*;
use crate::StoredEntry;

/// Single bytes of entries, found by an entry's own bytes.
#[tokio::test]
async fn a_byte_changed_in_the_file_is_found() {
    let test = ledger().await;
    let stored = test
        .ledger
        .reader()
        .entries_from(0, 400)
        .await
        .expect("reads");
    test.ledger.close().await;
    let file = test.path().join("ledger.sqlite");
    let original = std::fs::read(&file).expect("reads");
    // Splitting pages leaves stale copies in free space, which are no part of the ledger: every copy is changed.
    let find = |needle: &[u8]| -> Vec<usize> {
        let windows = original.windows(needle.len()).enumerate();
        windows
            .filter(|(_, window)| *window == needle)
            .map(|(at, _)| at)
            .collect()
    };
    let mut tried = 0;
    for index in [0, 7, 150, 299, 305] {
        let entry = &stored[index];
        for (part, offset) in [
            (entry.bytes.as_slice(), 0),
            (entry.bytes.as_slice(), entry.bytes.len() / 2),
            (entry.bytes.as_slice(), entry.bytes.len() - 1),
            (entry.hash.as_bytes().as_slice(), 9),
            (entry.salt.as_ref().expect("kept").as_slice(), 31),
        ] {
            let places = find(part);
            assert!(
                !places.is_empty(),
                "entry {index} is not in one piece in the file"
            );
            let mut changed = original.clone();
            for at in places {
                changed[at + offset] ^= 1;
            }
            std::fs::write(&file, &changed).expect("writes");
            let verdict = verdict(&test).await;
            let fault = verdict.first_bad.expect("a changed byte is found");
            assert_eq!(fault.index, Some(index as u64), "{fault}");
            tried += 1;
        }
    }
    assert_eq!(tried, 25);
}

/// Payloads apart from entries, one of them too large for a page of the database, so that it stands on pages of its own.
#[tokio::test]
async fn a_byte_changed_in_a_payload_is_found() {
    let test = TestLedger::new().await;
    let long = (0..8000)
        .map(|number| format!("{number} "))
        .collect::<String>();
    let outcomes = test
        .ledger
        .append(vec![
            started("a"),
            note("a", "short", "a short text of its own"),
            note("a", "long", &long),
            note("a", "after", "another text"),
        ])
        .await
        .expect("appends");
    assert!(outcomes.iter().all(|outcome| outcome.place().is_some()));
    test.ledger.close().await;
    let file = test.path().join("ledger.sqlite");
    let original = std::fs::read(&file).expect("reads");
    let mut tried = 0;
    // Of the long one what stands beside its entry's number, and what stands on pages of its own.
    for (index, needle) in [
        (1, "a short text of its own"),
        (2, &long[..300]),
        (2, &long[20_000..20_300]),
    ] {
        let at = place(&original, needle.as_bytes());
        for offset in [0, needle.len() / 2, needle.len() - 1] {
            for bit in [0x01, 0x80] {
                let mut changed = original.clone();
                changed[at + offset] ^= bit;
                std::fs::write(&file, &changed).expect("writes");
                let fault = verdict(&test).await.first_bad.expect("a changed byte");
                assert_eq!(fault.index, Some(index), "{fault}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 18);
}

/// The only place of a text in the file.
fn place(file: &[u8], text: &[u8]) -> usize {
    let mut places = file
        .windows(text.len())
        .enumerate()
        .filter(|(_, window)| *window == text)
        .map(|(at, _)| at);
    let first = places.next().expect("it is in one piece in the file");
    assert_eq!(places.next(), None, "it is in the file twice");
    first
}

/// Bytes anywhere: headers, cells' lengths, inner pages and indices as well. Either the change is found, or everything that
/// the ledger hands out is what it was.
#[tokio::test]
async fn a_byte_changed_anywhere_is_found_or_changes_nothing_that_is_read() {
    let test = ledger().await;
    let expected = handed_out(&test).await.expect("reads");
    test.ledger.close().await;
    let file = test.path().join("ledger.sqlite");
    let original = std::fs::read(&file).expect("reads");
    let (mut found, mut harmless) = (0, 0);
    // Steps that share no factor with the page size meet every part of a page.
    for at in (0..original.len()).step_by(original.len() / 121) {
        let mut changed = original.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&file, &changed).expect("writes");
        if is_found(&test).await {
            found += 1;
            continue;
        }
        let read = handed_out(&test).await.expect("a sound ledger can be read");
        assert!(read == expected, "byte {at} changes what is read, unseen");
        harmless += 1;
    }
    assert!(found > 50, "{found} found, {harmless} harmless");
}

/// Whether opening or verifying the ledger tells of damage.
async fn is_found(test: &TestLedger) -> bool {
    let Ok(reader) = Reader::open(test.path()).await else {
        return true;
    };
    let verdict = verify_ledger(&reader, |_| {}).await;
    reader.close().await;
    !verdict.expect("damage is a verdict").is_sound()
}

/// What readers get: every entry in order, and each session's own.
async fn handed_out(test: &TestLedger) -> Result<Vec<String>, LedgerError> {
    let reader = Reader::open(test.path()).await?;
    let show = |stored: &StoredEntry| format!("{stored:?}");
    let mut read: Vec<String> = reader
        .entries_from(0, 1000)
        .await?
        .iter()
        .map(show)
        .collect();
    for session in reader.sessions(None, 10).await?.items {
        read.push(format!("{session:?}"));
        let entries = reader.session_entries(&session, None, 1000).await?;
        read.extend(entries.items.iter().map(show));
        for event in reader.session_record(&session.id).await?.events {
            for hash in &event.entry.blobs {
                read.push(format!("{:?}", reader.blob(hash).await?));
            }
        }
    }
    read.push(format!("{:?}", reader.checkpoint().await?));
    read.push(format!("{:?}", reader.root(reader.size().await?).await?));
    reader.close().await;
    Ok(read)
}
