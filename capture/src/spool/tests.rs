//! Spools on real folders: order, limits, crashes, several processes.

use std::fs;
use std::io::Write as _;

use super::*;

fn session() -> SessionId {
    "s".parse().expect("an id")
}

fn event(text: &str) -> Record {
    Record::Event(text.as_bytes().to_vec())
}

fn open(folder: &Path) -> Spool {
    Spool::open(folder, SpoolOptions::default()).expect("it opens")
}

fn drainer(spool: &Spool) -> Drainer {
    spool
        .drainer()
        .expect("it opens")
        .expect("nobody else drains")
}

/// Everything that waits, in small batches, delivered.
fn drain(drainer: &mut Drainer) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let batch = drainer.next(3, 1 << 20).expect("readable");
        if batch.is_empty() {
            return texts;
        }
        assert!(batch.records.len() <= 3);
        texts.extend(
            batch
                .records
                .iter()
                .map(|record| String::from_utf8_lossy(record.bytes()).into_owned()),
        );
        drainer.delivered(&batch).expect("noted");
    }
}

#[test]
fn what_is_appended_is_drained_once_in_order_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    let mut drain_side = drainer(&spool);
    assert!(drain_side.next(10, 100).expect("readable").is_empty());
    let texts: Vec<String> = (0..10).map(|number| format!("event {number}")).collect();
    for pair in texts.chunks(2) {
        let records: Vec<Record> = pair.iter().map(|text| event(text)).collect();
        spool.append(&session(), &records).expect("appended");
    }
    assert!(!spool.is_empty().expect("readable"));
    assert_eq!(drain(&mut drain_side), texts);
    assert!(spool.is_empty().expect("readable"));
    assert!(segments(folder.path()).expect("listed").is_empty());
    spool
        .append(&session(), &[event("later")])
        .expect("appended");
    assert_eq!(drain(&mut drain_side), ["later"]);
}

#[test]
fn what_was_not_delivered_comes_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    for text in ["a", "b", "c"] {
        spool.append(&session(), &[event(text)]).expect("appended");
    }
    let mut first = drainer(&spool);
    let batch = first.next(1, 100).expect("readable");
    first.delivered(&batch).expect("noted");
    let batch = first.next(1, 100).expect("readable");
    assert_eq!(batch.records, [event("b")]);
    assert!(
        spool.drainer().expect("it opens").is_none(),
        "one drains at a time"
    );
    drop(first);
    assert_eq!(drain(&mut drainer(&open(folder.path()))), ["b", "c"]);
}

#[test]
fn many_segments_are_made_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    let large = Record::Blob(vec![1; 400_000]);
    for _ in 0..10 {
        spool
            .append(&session(), std::slice::from_ref(&large))
            .expect("appended");
    }
    let made = segments(folder.path()).expect("listed");
    assert!(made.len() >= 3, "{made:?}");
    let mut drain_side = drainer(&spool);
    let mut count = 0;
    loop {
        let batch = drain_side.next(100, 1_000_000).expect("readable");
        if batch.is_empty() {
            break;
        }
        assert!(batch.records.len() <= 2, "two fit into the limit");
        count += batch.records.len();
        drain_side.delivered(&batch).expect("noted");
    }
    assert_eq!(count, 10);
    assert!(segments(folder.path()).expect("listed").is_empty());
}

#[test]
fn a_crash_while_writing_loses_only_what_was_not_acknowledged() {
    let whole = {
        let mut bytes = Vec::new();
        event("cut off").write(&mut bytes);
        bytes
    };
    for cut in 0..whole.len() {
        let folder = tempfile::tempdir().expect("a folder");
        open(folder.path())
            .append(&session(), &[event("before")])
            .expect("appended");
        let path = segment_path(folder.path(), 1);
        let mut file = OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("it is there");
        file.write_all(&whole[..cut]).expect("written");
        drop(file);
        let spool = open(folder.path());
        let mut drain_side = drainer(&spool);
        assert_eq!(drain(&mut drain_side), ["before"], "cut at {cut}");
        spool
            .append(&session(), &[event("after")])
            .expect("appended");
        assert_eq!(drain(&mut drain_side), ["after"], "cut at {cut}");
    }
}

#[test]
fn a_damaged_record_is_counted_and_the_next_one_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    for text in ["one", "two", "three"] {
        spool.append(&session(), &[event(text)]).expect("appended");
    }
    let path = segment_path(folder.path(), 1);
    let mut bytes = fs::read(&path).expect("it is there");
    let at = bytes
        .windows(3)
        .position(|part| part == b"two")
        .expect("it is in there");
    bytes[at] = b'T';
    fs::write(&path, bytes).expect("written");
    let mut drain_side = drainer(&spool);
    let batch = drain_side.next(10, 1000).expect("readable");
    assert_eq!(batch.records, [event("one"), event("three")]);
    assert_eq!(batch.damaged, 1);
}

#[test]
fn what_does_not_fit_is_refused_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SpoolOptions {
        bytes_max: 200,
        sync: true,
    };
    let spool = Spool::open(folder.path(), options).expect("it opens");
    spool
        .append(&session(), &[event("fits")])
        .expect("appended");
    let large = event(&"x".repeat(300));
    let error = spool
        .append(&session(), &[large, event("y")])
        .expect_err("too much");
    assert!(
        matches!(error, SpoolError::Full { max: 200, .. }),
        "{error}"
    );
    spool
        .note_gap(&session(), 4, "the queue was full")
        .expect("noted");
    let mut drain_side = drainer(&spool);
    let gaps = drain_side.gaps().expect("readable");
    assert_eq!(gaps.len(), 1);
    assert_eq!(
        (gaps[0].session.clone(), gaps[0].count),
        (Some(session()), 6)
    );
    assert_eq!(gaps[0].reason, "the queue was full");
    drain_side.gaps_told(&gaps).expect("noted");
    assert!(drain_side.gaps().expect("readable").is_empty());
    assert_eq!(drain(&mut drain_side), ["fits"]);
    spool
        .append(&session(), &[event("fits again")])
        .expect("there is room again");
}

#[test]
fn what_was_appended_can_be_made_durable_together_also_where_it_is_drained_already() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    let large = Record::Blob(vec![1; 700_000]);
    for _ in 0..4 {
        spool
            .append(&session(), std::slice::from_ref(&large))
            .expect("appended");
    }
    assert!(spool.unsynced.lock().expect("no panic").len() >= 2);
    let mut drain_side = drainer(&spool);
    let batch = drain_side.next(3, 10_000_000).expect("readable");
    drain_side.delivered(&batch).expect("noted");
    spool.sync().expect("durable");
    assert!(spool.unsynced.lock().expect("no panic").is_empty());
    spool.sync().expect("nothing to do");
    let waits = Spool::open(
        folder.path(),
        SpoolOptions {
            sync: true,
            ..SpoolOptions::default()
        },
    )
    .expect("it opens");
    waits.append(&session(), &[event("x")]).expect("appended");
    assert!(
        waits.unsynced.lock().expect("no panic").is_empty(),
        "it waited for the disk"
    );
}

#[test]
fn a_record_that_no_recorder_takes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let spool = open(folder.path());
    let record = Record::Blob(vec![0; RECORD_BYTES_MAX + 1]);
    let error = spool.append(&session(), &[record]).expect_err("too large");
    assert!(matches!(error, SpoolError::RecordTooLarge(_)), "{error}");
    assert_eq!(drainer(&spool).gaps().expect("readable")[0].count, 1);
}

#[test]
fn several_appenders_and_a_drainer_lose_nothing_and_keep_each_ones_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (writers, each) = (4, 200);
    let spools: Vec<Spool> = (0..writers).map(|_| open(folder.path())).collect();
    let mut texts = Vec::new();
    std::thread::scope(|scope| {
        for (writer, spool) in spools.iter().enumerate() {
            scope.spawn(move || {
                for number in 0..each {
                    let text = format!("{writer}:{number}{}", "x".repeat(3000));
                    spool.append(&session(), &[event(&text)]).expect("appended");
                }
            });
        }
        let mut drain_side = drainer(&spools[0]);
        while texts.len() < writers * each {
            texts.extend(drain(&mut drain_side));
        }
    });
    for writer in 0..writers {
        let own = texts
            .iter()
            .filter_map(|text| text.strip_prefix(&format!("{writer}:")));
        let numbers: Vec<usize> = own
            .map(|text| text.trim_end_matches('x').parse().expect("a number"))
            .collect();
        assert_eq!(numbers, (0..each).collect::<Vec<_>>());
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_what_is_in_a_spool() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("spool");
    let spool = open(&folder);
    for text in ["one", "two"] {
        spool.append(&session(), &[event(text)]).expect("appended");
    }
    let mut drain_side = drainer(&spool);
    let batch = drain_side.next(1, 100).expect("readable");
    drain_side.delivered(&batch).expect("noted");
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).expect("listed") {
        let path = entry.expect("readable").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().expect("a name").to_owned());
    }
    assert!(names.iter().any(|name| name == "delivered"), "{names:?}");
    assert!(names.len() >= 5, "{names:?}");
}

#[test]
fn a_damaged_header_is_counted_and_what_stands_behind_it_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    for text in ["one", "two", "three"] {
        open(folder.path())
            .append(&session(), &[event(text)])
            .expect("appended");
    }
    let path = segment_path(folder.path(), 1);
    let mut bytes = fs::read(&path).expect("it is there");
    bytes[20] = b'X';
    fs::write(&path, bytes).expect("written");
    let spool = open(folder.path());
    spool
        .append(&session(), &[event("four")])
        .expect("appended");
    let mut drain_side = drainer(&spool);
    let batch = drain_side.next(10, 1000).expect("readable");
    assert_eq!(batch.records, ["one", "three", "four"].map(event));
    assert_eq!(batch.damaged, 1);
    drain_side.delivered(&batch).expect("noted");
    assert!(spool.is_empty().expect("readable"));
}

#[cfg(unix)]
#[test]
fn a_spool_that_others_could_read_is_its_owners_alone_once_it_is_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("spool");
    open(&folder)
        .append(&session(), &[event("one")])
        .expect("appended");
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    set(&folder, 0o755);
    for entry in fs::read_dir(&folder).expect("listed") {
        set(&entry.expect("readable").path(), 0o644);
    }
    let spool = open(&folder);
    spool.append(&session(), &[event("two")]).expect("appended");
    assert_eq!(drain(&mut drainer(&spool)), ["one", "two"]);
    spool
        .append(&session(), &[event("three")])
        .expect("appended");
    let mode = |path: &Path| {
        let metadata = fs::metadata(path).expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).expect("listed") {
        let path = entry.expect("readable").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().expect("a name").to_owned());
    }
    assert!(names.len() >= 4, "{names:?}");
}
