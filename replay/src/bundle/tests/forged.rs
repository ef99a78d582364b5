//! Attacks by somebody who holds a key: the sums hold, and the rest must tell.

use super::*;

/// Attacks by somebody who can sign: the sums hold, so the chain, the proofs and the recomputed analysis must find them.
#[test]
fn a_forger_with_the_key_is_caught_by_the_chain() {
    let record = session();
    let sound = files_of(&bundle_of(&record));
    let lines = |files: &Files| -> Vec<Vec<u8>> {
        files[layout::ENTRIES]
            .split_inclusive(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let forged = |change: &dyn Fn(&mut Files)| {
        let mut files = sound.clone();
        change(&mut files);
        verified(&resigned(&mut files, &key()))
    };
    let first_bad = |verification: &Verification| {
        verification
            .first_bad
            .as_ref()
            .and_then(|fault| fault.sequence)
    };
    let with_lines = |files: &mut Files, lines: Vec<Vec<u8>>| {
        files.insert(layout::ENTRIES.to_owned(), lines.concat());
    };

    let reordered = forged(&|files| {
        let mut lines = lines(files);
        lines.swap(3, 4);
        with_lines(files, lines);
    });
    assert_eq!(first_bad(&reordered), Some(3));
    let cut_in_the_middle = forged(&|files| {
        let mut lines = lines(files);
        lines.remove(2);
        with_lines(files, lines);
    });
    assert_eq!(first_bad(&cut_in_the_middle), Some(2));
    let cut_tail = forged(&|files| {
        let mut lines = lines(files);
        lines.pop();
        with_lines(files, lines);
    });
    assert_eq!(
        cut_tail.verdict,
        Verdict::Failed,
        "the proofs and payloads of the last entry are left over"
    );
    let inserted = forged(&|files| {
        let mut lines = lines(files);
        lines.insert(3, lines[2].clone());
        with_lines(files, lines);
    });
    assert_eq!(first_bad(&inserted), Some(3));
    let swapped_payload = forged(&|files| {
        files.insert(
            layout::payload(3),
            br#"{"turn":1,"call_id":"c1","tool":"delete"}"#.to_vec(),
        );
    });
    assert_eq!(first_bad(&swapped_payload), Some(3));
    let backdated = forged(&|files| {
        let mut lines = lines(files);
        let text = String::from_utf8(lines[5].clone())
            .expect("UTF-8")
            .replace("2026-11-30", "2025-11-30");
        lines[5] = text.into_bytes();
        with_lines(files, lines);
    });
    assert_eq!(
        first_bad(&backdated),
        Some(5),
        "only the tree shows a change of the last entry"
    );
    let lying = forged(&|files| {
        let analysis = String::from_utf8(files[layout::ANALYSIS].clone()).expect("UTF-8");
        let lie = analysis.replacen("\"entries\":6", "\"entries\":7", 1);
        assert_ne!(lie, analysis);
        files.insert(layout::ANALYSIS.to_owned(), lie.into_bytes());
    });
    assert!(
        lying
            .faults
            .iter()
            .any(|fault| fault.file.as_deref() == Some(layout::ANALYSIS))
    );
    let smuggled = forged(&|files| {
        files.insert("notes/extra.txt".to_owned(), b"read me".to_vec());
    });
    assert!(
        smuggled
            .faults
            .iter()
            .any(|fault| fault.file.as_deref() == Some("notes/extra.txt"))
    );
}

/// A whole history that is consistent in itself, but is not the one that the checkpoint signed.
#[test]
fn a_rewritten_chain_does_not_lead_to_the_signed_root() {
    let record = session();
    let mut files = files_of(&bundle_of(&record));
    let mut entries = Vec::new();
    let mut prev = None;
    for event in &record.events {
        let mut entry: Entry = event.entry.clone();
        entry.received = "2026-11-30T09:00:00.000Z".to_owned();
        entry.prev = prev.unwrap_or(entry.prev);
        let bytes = entry.to_bytes();
        prev = Some(entry_hash(&bytes));
        entries.extend_from_slice(&bytes);
        entries.push(b'\n');
    }
    files.insert(layout::ENTRIES.to_owned(), entries);
    let verification = verified(&resigned(&mut files, &key()));
    assert_eq!(verification.verdict, Verdict::Failed);
    let first = verification.first_bad.expect("an entry is named");
    assert_eq!(first.sequence, Some(0));
    assert!(first.message.contains("checkpoint"), "{first}");
}

/// Files that follow from the entries are no place for a lie, whatever version they claim to be of.
#[test]
fn a_derived_file_that_lies_does_not_verify() {
    let sound = files_of(&bundle_of(&session()));
    let changed = |name: &str, from: &str, to: &str| {
        let mut files = sound.clone();
        let text = String::from_utf8(files[name].clone()).expect("UTF-8");
        assert!(text.contains(from), "{name} holds {from}");
        files.insert(name.to_owned(), text.replacen(from, to, 1).into_bytes());
        verified(&resigned(&mut files, &key()))
    };
    assert_eq!(
        changed(layout::README, "Remembrancer", "Trusted").verdict,
        Verdict::Failed
    );
    assert_eq!(
        changed(layout::REPORT, "session", "sound session").verdict,
        Verdict::Failed
    );
    let of_another_version = changed(
        layout::ANALYSIS,
        "\"analysis_version\":1",
        "\"analysis_version\":2",
    );
    assert_eq!(of_another_version.verdict, Verdict::Incomplete);
    assert!(
        of_another_version
            .not_proven
            .iter()
            .any(|open| open.contains("analysis.json"))
    );
    assert!(
        !of_another_version
            .checked
            .iter()
            .any(|checked| checked.contains("analysis.json"))
    );

    let without_pages =
        verify(&bundle_of(&session()), Some(&key().public()), None).expect("readable");
    assert_eq!(without_pages.verdict, Verdict::Incomplete);
    assert!(
        without_pages
            .not_proven
            .iter()
            .any(|open| open.contains("report.html"))
    );
}
