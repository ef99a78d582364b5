//! The auditor itself: it finds nothing in a good ledger, and finds each kind of damage that the crash tests rely on it for.

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::commitment::{Salt, commit};
use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash, genesis};
use remembrancer_schema::merkle::{Frontier, leaf_hash};
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::{Entry, EntryHash, EventType, Origin, SessionId};
use serde_json::json;

use crate::support::ORIGIN;
use crate::support::audit::{Auditor, Stored};
use crate::support::journal::{Acknowledged, Event, Journal, Name, read_answer};

const SESSION: &str = "s";

fn key() -> LedgerKey {
    LedgerKey::from_seed(&[3; 32])
}

fn origin() -> Origin {
    ORIGIN.parse().expect("valid")
}

fn event(number: u64) -> Event {
    let kind = if number == 0 {
        "session.started"
    } else {
        "custom.load"
    };
    Event {
        name: Name {
            session: SESSION.to_owned(),
            id: format!("e{number}"),
        },
        kind,
        data: format!(r#"{{"number":{number}}}"#),
        is_shared: false,
    }
}

/// A ledger that holds events in this order, well linked.
fn ledger(events: &[Event]) -> Vec<Stored> {
    let session: SessionId = SESSION.parse().expect("valid");
    let mut head: EntryHash = genesis(&origin(), &session);
    let mut stored = Vec::new();
    for (event, index) in events.iter().zip(0..) {
        let entry = Entry {
            agent: None,
            blobs: Vec::new(),
            commitment: commit(&Salt::from_bytes([0; 32]), event.data.as_bytes()),
            event: event.name.id.parse().expect("valid"),
            index,
            origin: origin(),
            prev: head,
            received: "2026-11-30T08:00:00.000Z".to_owned(),
            sequence: index,
            session: session.clone(),
            time: None,
            kind: event.kind.parse::<EventType>().expect("valid"),
            v: ENTRY_VERSION,
        };
        let bytes = String::from_utf8(entry.to_bytes()).expect("JSON");
        head = entry_hash(bytes.as_bytes());
        stored.push(Stored {
            index,
            hash: head,
            bytes,
            data: Some(event.data.clone()),
        });
    }
    stored
}

fn checkpoint(stored: &[Stored]) -> Checkpoint {
    let mut tree = Frontier::new();
    for entry in stored {
        tree.push(leaf_hash(entry.bytes.as_bytes()), |_, _, _| {});
    }
    Checkpoint {
        origin: origin(),
        size: tree.size(),
        root: tree.root(),
    }
}

fn place(stored: &Stored) -> ReceiptLine {
    ReceiptLine {
        index: stored.index,
        session: SESSION.parse().expect("valid"),
        sequence: stored.index,
        hash: stored.hash,
    }
}

/// Six events that were sent; the ledger's answer to each.
fn journal() -> (Vec<Event>, Journal) {
    let events: Vec<Event> = (0..6).map(event).collect();
    let mut journal = Journal::new(origin(), key().public());
    journal.will_send(&events);
    for (event, stored) in events.iter().zip(&ledger(&events)) {
        let told = Acknowledged {
            name: event.name.clone(),
            is_new: true,
            place: place(stored),
        };
        journal.acknowledge(vec![told], false);
    }
    (events, journal)
}

/// What the auditor says of a ledger whose newest checkpoint is signed over exactly what is there.
fn faults(stored: &[Stored], journal: &mut Journal) -> String {
    let note = checkpoint(stored).sign(&key());
    Auditor::new(origin(), key().public())
        .audit(stored.to_vec(), Some(&note), journal)
        .join("\n")
}

#[track_caller]
fn found(faults: &str, fault: &str) {
    assert!(faults.contains(fault), "{fault:?} is not among: {faults}");
}

#[test]
fn a_good_ledger_has_no_faults() {
    let (events, mut journal) = journal();
    let stored = ledger(&events);
    assert_eq!(faults(&stored, &mut journal), "");
    // Events in doubt may be stored or not: both are right.
    journal.will_send(&[event(6)]);
    assert_eq!(faults(&stored, &mut journal), "");
    let with_seventh: Vec<Event> = (0..7).map(event).collect();
    assert_eq!(faults(&ledger(&with_seventh), &mut journal), "");
}

#[test]
fn a_lost_event_is_found_wherever_it_stood() {
    for lost in 0..6 {
        let (mut events, mut journal) = journal();
        events.remove(lost);
        found(
            &faults(&ledger(&events), &mut journal),
            &format!("lost: Name {{ session: \"s\", id: \"e{lost}\" }}"),
        );
    }
    // Also where the entries around it are left as they are.
    let (events, mut journal) = journal();
    let mut stored = ledger(&events);
    stored.remove(3);
    found(&faults(&stored, &mut journal), "after index 3 comes 4");
}

#[test]
fn a_doubled_event_is_found() {
    let (mut events, mut journal) = journal();
    events.push(event(4));
    found(
        &faults(&ledger(&events), &mut journal),
        "stands at index 4 and again at 6",
    );
    let (events, mut journal) = self::journal();
    let mut stored = ledger(&events);
    stored.push(stored[5].clone());
    found(&faults(&stored, &mut journal), "index 5 stands twice");
}

#[test]
fn a_forked_event_is_found() {
    // Well-formed, well-linked and signed, but other events stand where those stand that were acknowledged.
    let (mut events, mut journal) = journal();
    events.swap(4, 5);
    let told = faults(&ledger(&events), &mut journal);
    found(&told, "id: \"e4\" } was acknowledged as");
    // A second entry after the same head.
    let (events, mut journal) = self::journal();
    let mut stored = ledger(&events);
    let other = ledger(&[event(0), event(1), event(2), event(3), event(9)]);
    stored[4] = other[4].clone();
    found(&faults(&stored, &mut journal), "a fork or a gap: index 5");
    // A history that begins as one that was signed before, and goes on otherwise.
    let (_, mut journal) = self::journal();
    journal.checkpoints.push(checkpoint(&other));
    found(
        &faults(&ledger(&events), &mut journal),
        "a fork: the checkpoint of size 5",
    );
}

#[test]
fn a_rolled_back_or_unsigned_ledger_is_found() {
    let (events, mut journal) = journal();
    let stored = ledger(&events);
    journal.checkpoints.push(checkpoint(&stored));
    journal.acknowledged.clear();
    found(
        &faults(&stored[..4], &mut journal),
        "rolled back: Some(6) entries were signed, 4 are there",
    );
    let audit = |note: Option<&str>| {
        let (_, mut journal) = self::journal();
        Auditor::new(origin(), key().public())
            .audit(stored.clone(), note, &mut journal)
            .join("\n")
    };
    found(&audit(None), "there is no checkpoint");
    found(
        &audit(Some(&checkpoint(&stored[..5]).sign(&key()))),
        "is not of the 6 entries",
    );
    found(
        &audit(Some(
            &checkpoint(&stored).sign(&LedgerKey::from_seed(&[4; 32])),
        )),
        "the newest checkpoint:",
    );
}

#[test]
fn an_event_that_nobody_sent_or_that_was_changed_is_found() {
    let (mut events, mut journal) = journal();
    events.push(event(7));
    found(
        &faults(&ledger(&events), &mut journal),
        "index 6: nobody sent",
    );
    let (mut events, mut journal) = self::journal();
    events[2].data = r#"{"number":22}"#.to_owned();
    found(
        &faults(&ledger(&events), &mut journal),
        "index 2: Name { session: \"s\", id: \"e2\" } is not what was sent",
    );
    let (events, mut journal) = self::journal();
    let mut stored = ledger(&events);
    stored[2].hash = stored[1].hash;
    found(
        &faults(&stored, &mut journal),
        "index 2 is not the entry that it is given as",
    );
}

#[test]
fn answers_that_cannot_be_right_are_found() {
    let (events, mut journal) = journal();
    let stored = ledger(&events);
    let again = |is_new, place| {
        vec![Acknowledged {
            name: events[2].name.clone(),
            is_new,
            place,
        }]
    };
    journal.acknowledge(again(false, place(&stored[2])), false);
    assert_eq!(journal.faults, [""; 0], "the same place once more is right");
    journal.acknowledge(again(true, place(&stored[2])), false);
    found(
        &journal.faults.pop().unwrap_or_default(),
        "recorded a second time",
    );
    journal.acknowledge(again(false, place(&stored[3])), true);
    found(
        &journal.faults.pop().unwrap_or_default(),
        "acknowledged at two places",
    );
    // A duplicate of what was never stored: right only if an answer was lost before.
    journal.will_send(&[event(6), event(7)]);
    let first = |number| {
        vec![Acknowledged {
            name: event(number).name,
            is_new: false,
            place: place(&stored[5]),
        }]
    };
    journal.acknowledge(first(6), false);
    found(
        &journal.faults.pop().unwrap_or_default(),
        "called a duplicate",
    );
    journal.acknowledge(first(7), true);
    assert_eq!(journal.faults, [""; 0]);
    // What the writers found is told by the audit.
    journal.faults.push("told by a writer".to_owned());
    found(&faults(&stored, &mut journal), "told by a writer");
}

#[test]
fn a_receipt_that_says_otherwise_is_found() {
    let events = [event(0)];
    let stored = ledger(&events);
    let place = place(&stored[0]);
    let read = |lines: &[ReceiptLine], key: &LedgerKey, status: &str| {
        let answer = json!({
            "status": status, "id": "e0", "index": 0, "sequence": 0, "hash": place.hash,
            "receipt": receipt::sign(&origin(), lines, key),
        });
        read_answer(&origin(), &self::key().public(), &events, &answer)
    };
    let good = std::slice::from_ref(&place);
    let told = read(good, &key(), "recorded").expect("right");
    assert_eq!(
        told,
        [Acknowledged {
            name: events[0].name.clone(),
            is_new: true,
            place: place.clone()
        }]
    );
    let other = ReceiptLine {
        index: 1,
        ..place.clone()
    };
    for (lines, key, status, fault) in [
        (
            good,
            &LedgerKey::from_seed(&[4; 32]),
            "recorded",
            "bad receipt",
        ),
        (&[other], &key(), "recorded", "the receipt says otherwise"),
        (&[], &key(), "recorded", "the receipt says otherwise"),
        (good, &key(), "rejected", "was answered"),
    ] {
        found(&read(lines, key, status).expect_err(fault), fault);
    }
}
