use std::sync::Arc;

use remembrancer_replay::SessionRecord;
use remembrancer_schema::{EntryHash, SessionId};

use super::*;
use crate::fixture::Fixture;

async fn outcome_after(damage: fn(&mut SessionRecord)) -> Report {
    outcome_of(1, damage, |_| {}).await
}

/// The outcome for a session whose record and whose row were changed.
async fn outcome_of(
    number: i64,
    damage: fn(&mut SessionRecord),
    change: fn(&mut SessionSummary),
) -> Report {
    let fixture = Arc::new(Fixture::new(str::to_owned));
    let id = if number == 1 { "run-a" } else { "run-b" };
    let id: SessionId = id.parse().expect("a session id");
    damage(
        fixture
            .records
            .lock()
            .expect("not poisoned")
            .get_mut(&id)
            .expect("the session"),
    );
    let source: Arc<dyn Source> = fixture;
    let mut summary = source
        .session(number)
        .await
        .expect("answers")
        .expect("the session");
    change(&mut summary);
    check(&source, &summary).await.expect("answers")
}

fn outcome(report: &Report, name: &str) -> Outcome {
    let step = report.steps.iter().find(|step| step.name == name);
    step.unwrap_or_else(|| panic!("no step {name}")).outcome
}

fn failing(report: &Report) -> Vec<(&'static str, &str)> {
    report
        .steps
        .iter()
        .filter(|step| step.outcome == Outcome::Fails)
        .map(|step| (step.name, step.detail.as_str()))
        .collect()
}

#[tokio::test]
async fn an_intact_record_is_sound() {
    let report = outcome_after(|_| {}).await;
    assert_eq!(report.verdict, Verdict::Sound);
    assert!(
        report
            .steps
            .iter()
            .any(|step| step.detail.starts_with("20 entries are proved"))
    );
}

#[tokio::test]
async fn every_kind_of_damage_is_named() {
    type Damage = fn(&mut SessionRecord);
    let cases: [(Damage, &str); 6] = [
        (
            |record| record.events.swap(3, 4),
            "number 3 of its session): has sequence number 4",
        ),
        (
            |record| drop(record.events.remove(7)),
            "number 7 of its session): has sequence number 8",
        ),
        (
            |record| {
                let mut bytes = record.events[5].entry_bytes.to_vec();
                let at = bytes.len() / 2;
                bytes[at] ^= 1;
                record.events[5].entry_bytes = bytes.into();
            },
            "number 5 of",
        ),
        (
            |record| {
                let late = record.events.last_mut().expect("an entry");
                late.entry.prev = late.hash;
                late.entry_bytes = late.entry.to_bytes().into();
            },
            "does not link to the entry before it",
        ),
        (
            |record| {
                let other = record.events[1].payload.clone();
                record.events[2].payload = other;
            },
            "number 2 of its session): payload or salt",
        ),
        (
            |record| {
                for bytes in record.blobs.values_mut() {
                    *bytes = Arc::from(&b"other"[..]);
                }
            },
            "holds other bytes",
        ),
    ];
    for (damage, detail) in cases {
        let report = outcome_after(damage).await;
        assert_eq!(report.verdict, Verdict::Failed);
        let failing = failing(&report);
        assert!(
            failing
                .iter()
                .any(|(step, why)| *step == "Entries" && why.contains(detail)),
            "{detail}: {failing:?}"
        );
    }
}

#[tokio::test]
async fn a_rewritten_history_is_not_in_the_checkpoint() {
    let report = outcome_after(|record| {
        let last = record.events.last_mut().expect("an entry");
        last.entry.received = "2026-11-30T08:00:00.001Z".to_owned();
        last.entry_bytes = last.entry.to_bytes().into();
        last.hash = entry_hash(&last.entry_bytes);
    })
    .await;
    assert_eq!(report.verdict, Verdict::Failed);
    assert!(
        failing(&report)
            .iter()
            .any(|(step, _)| *step == "Inclusion")
    );
}

#[tokio::test]
async fn what_was_erased_is_open_and_what_is_missing_fails() {
    let erased = outcome_after(|record| record.events[2].payload = None).await;
    assert_eq!(erased.verdict, Verdict::Incomplete);
    let open: Vec<&str> = erased
        .steps
        .iter()
        .filter(|step| step.outcome == Outcome::Open)
        .map(|step| step.name)
        .collect();
    assert_eq!(open, ["Payloads"]);
    let missing = outcome_after(|record| record.blobs.clear()).await;
    assert_eq!(missing.verdict, Verdict::Failed);
    assert!(failing(&missing)[0].1.contains("is missing"));
}

#[tokio::test]
async fn faults_are_listed_up_to_a_bound() {
    let report = outcome_after(|record| {
        for event in &mut record.events[2..18] {
            if let Some(payload) = &mut event.payload {
                payload.data = "{}".into();
            }
        }
    })
    .await;
    let failing = failing(&report);
    assert_eq!(failing.len(), 1);
    assert!(failing[0].1.ends_with("; and 6 more."), "{}", failing[0].1);
    assert_eq!(failing[0].1.matches("payload or salt").count(), FAULTS_MAX);
}

#[tokio::test]
async fn the_close_is_read_from_the_last_entry() {
    let closed = outcome_of(1, |_| {}, |_| {}).await;
    assert_eq!(outcome(&closed, "Close"), Outcome::Holds);
    let open = outcome_of(3, |_| {}, |_| {}).await;
    assert_eq!(outcome(&open, "Close"), Outcome::Open);
    for number in [1, 3] {
        let contradicted = outcome_of(number, |_| {}, |row| row.sealed = !row.sealed).await;
        assert_eq!(outcome(&contradicted, "Close"), Outcome::Fails, "{number}");
        assert_eq!(contradicted.verdict, Verdict::Failed);
    }
    let unreadable = outcome_after(|record| {
        let last = record.events.last_mut().expect("an entry");
        last.entry_bytes = Arc::from(&b"{"[..]);
    })
    .await;
    assert_eq!(outcome(&unreadable, "Close"), Outcome::Fails);
    let empty = outcome_after(|record| record.events.clear()).await;
    assert_eq!(outcome(&empty, "Close"), Outcome::Fails);
    assert_eq!(outcome(&empty, "Head"), Outcome::Fails);
}

#[tokio::test]
async fn a_session_that_lost_entries_fails_and_one_that_grew_is_open() {
    let lost = outcome_of(3, |record| drop(record.events.pop()), |_| {}).await;
    assert_eq!(outcome(&lost, "Head"), Outcome::Fails);
    assert_eq!(outcome(&lost, "Entries"), Outcome::Holds);
    assert_eq!(lost.verdict, Verdict::Failed);
    let lost_close = outcome_after(|record| drop(record.events.pop())).await;
    assert_eq!(outcome(&lost_close, "Close"), Outcome::Fails);
    let other_head = outcome_of(3, |_| {}, |row| row.head = EntryHash::from_bytes([1; 32])).await;
    assert_eq!(outcome(&other_head, "Head"), Outcome::Fails);
    let lost_and_hidden = outcome_of(
        3,
        |record| drop(record.events.pop()),
        |row| row.entries -= 1,
    )
    .await;
    assert_eq!(outcome(&lost_and_hidden, "Head"), Outcome::Fails);
    let source: Arc<dyn Source> = Arc::new(Fixture::new(str::to_owned));
    let mut row = source
        .session(3)
        .await
        .expect("answers")
        .expect("the session");
    row.entries -= 1;
    row.head = source.record(&row.id).await.expect("answers").events[18].hash;
    let grew = check(&source, &row).await.expect("answers");
    assert_eq!(outcome(&grew, "Head"), Outcome::Open);
    assert_eq!(grew.verdict, Verdict::Incomplete);
}
