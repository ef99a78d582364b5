//! Delivery to a recorder that answers as the test says.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::own_event::STARTED_ID;
use super::*;
use crate::spool::Record;
use crate::spool::SpoolOptions;

/// A recorder that keeps what it takes and does what its plan says first.
#[derive(Default)]
struct Fake {
    plan: Mutex<Vec<Plan>>,
    events: Mutex<Vec<Value>>,
    blobs: Mutex<Vec<Vec<u8>>>,
    started: Mutex<Vec<String>>,
}

#[derive(Clone)]
enum Plan {
    /// Takes no more than a number of events at once, from now on.
    AtMost(usize),
    Later,
    Refuse,
    Reject(&'static str),
}

#[async_trait::async_trait]
impl Recorder for Fake {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError> {
        let mut kept = self.blobs.lock().expect("no panic");
        kept.extend(blobs.iter().map(|blob| blob.to_vec()));
        Ok(blobs.len())
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        let planned = {
            let mut plan = self.plan.lock().expect("no panic");
            match plan.last() {
                Some(Plan::AtMost(max)) if events.len() > *max => {
                    return Err(DeliveryError::Refused(Rejection::named("batch-too-large")));
                }
                Some(Plan::AtMost(_)) => None,
                _ => plan.pop(),
            }
        };
        match &planned {
            Some(Plan::Later) => {
                return Err(DeliveryError::Later {
                    after: Some(Duration::from_millis(1)),
                    reason: "down".to_owned(),
                });
            }
            Some(Plan::Refuse) if events.len() > 1 => {
                return Err(DeliveryError::Refused(Rejection::named("batch-too-large")));
            }
            _ => {}
        }
        let mut kept = self.events.lock().expect("no panic");
        let mut started = self.started.lock().expect("no panic");
        let taken = events.iter().enumerate().map(|(number, event)| {
            let event: Value = serde_json::from_slice(event).expect("JSON");
            let session = event["session"].as_str().expect("a session").to_owned();
            if let (0, Some(Plan::Reject(problem))) = (number, &planned) {
                return Taken::Rejected(Rejection::named(problem));
            }
            if session == "ended" {
                return Taken::Rejected(Rejection::named("session-ended"));
            }
            if event["type"] == "session.started" {
                if started.contains(&session) {
                    return Taken::Rejected(Rejection::named("session-already-started"));
                }
                started.push(session);
            } else if !started.contains(&session) {
                return Taken::Rejected(Rejection::named("unknown-session"));
            }
            kept.push(event);
            Taken::Recorded
        });
        Ok(taken.collect())
    }
}

fn session(name: &str) -> SessionId {
    name.parse().expect("an id")
}

fn event(session: &str, kind: &str, number: u32) -> Record {
    let event = json!({ "id": format!("{number}"), "session": session, "type": kind, "data": {} });
    Record::Event(event.to_string().into_bytes())
}

struct Rig {
    _folder: tempfile::TempDir,
    spool: Arc<Spool>,
    fake: Arc<Fake>,
    appended: Arc<Notify>,
    stop: watch::Sender<bool>,
    running: tokio::task::JoinHandle<()>,
}

impl Rig {
    fn start(plan: &[Plan], options: SpoolOptions, first: &[Record]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Arc::new(Spool::open(folder.path(), options).expect("it opens"));
        spool.append(&session("s"), first).expect("appended");
        let fake = Arc::new(Fake {
            plan: Mutex::new(plan.iter().rev().cloned().collect()),
            ..Fake::default()
        });
        let appended = Arc::new(Notify::new());
        let (stop, stops) = watch::channel(false);
        let delivery = Delivery {
            spool: Arc::clone(&spool),
            recorder: Arc::clone(&fake) as Arc<dyn Recorder>,
            appended: Arc::clone(&appended),
        };
        let running = tokio::spawn(delivery.run(stops));
        Self {
            _folder: folder,
            spool,
            fake,
            appended,
            stop,
            running,
        }
    }

    /// What was recorded once everything is delivered: type and id.
    async fn recorded(self) -> Vec<(String, String)> {
        assert!(
            drained(&self.spool, Duration::from_secs(20)).await,
            "the spool does not empty"
        );
        self.stop.send_replace(true);
        self.running.await.expect("it does not panic");
        let events = self.fake.events.lock().expect("no panic");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events
            .iter()
            .map(|event| (text(&event["type"]), text(&event["id"])))
            .collect()
    }
}

fn pair(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

fn start_and_two() -> Vec<Record> {
    vec![
        event("s", "session.started", 1),
        event("s", "custom.x", 2),
        event("s", "custom.x", 3),
    ]
}

fn all_three() -> [(String, String); 3] {
    [
        pair("session.started", "1"),
        pair("custom.x", "2"),
        pair("custom.x", "3"),
    ]
}

#[tokio::test]
async fn what_a_recorder_does_not_take_at_once_follows_in_order() {
    let rig = Rig::start(
        &[Plan::Later, Plan::Later, Plan::Refuse],
        SpoolOptions::default(),
        &start_and_two(),
    );
    assert_eq!(rig.recorded().await, all_three());
}

#[tokio::test]
async fn what_is_appended_later_goes_at_once_behind_its_blobs() {
    let rig = Rig::start(&[], SpoolOptions::default(), &start_and_two());
    assert!(drained(&rig.spool, Duration::from_secs(20)).await);
    rig.spool
        .append(
            &session("s"),
            &[Record::Blob(b"blob".to_vec()), event("s", "custom.x", 4)],
        )
        .expect("appended");
    rig.appended.notify_one();
    let fake = Arc::clone(&rig.fake);
    let recorded = rig.recorded().await;
    assert_eq!(recorded.last(), Some(&pair("custom.x", "4")));
    assert_eq!(*fake.blobs.lock().expect("no panic"), [b"blob".to_vec()]);
}

#[tokio::test]
async fn a_second_start_of_a_session_changes_nothing() {
    let again = [
        start_and_two(),
        vec![event("s", "session.started", 9), event("s", "custom.x", 4)],
    ]
    .concat();
    let rig = Rig::start(&[], SpoolOptions::default(), &again);
    assert!(drained(&rig.spool, Duration::from_secs(20)).await);
    let gaps = std::fs::read_to_string(rig.spool.folder().join("gaps")).expect("it is there");
    assert_eq!(gaps.trim(), "[]", "nothing is lost");
    assert_eq!(rig.recorded().await.last(), Some(&pair("custom.x", "4")));
}

#[tokio::test]
async fn events_of_a_session_whose_start_is_lost_get_one() {
    let rig = Rig::start(
        &[],
        SpoolOptions::default(),
        &[event("t", "custom.x", 2), event("t", "custom.x", 3)],
    );
    let expected = [
        pair("session.started", STARTED_ID),
        pair("custom.x", "2"),
        pair("custom.x", "3"),
    ];
    assert_eq!(rig.recorded().await, expected);
}

#[tokio::test]
async fn an_event_that_is_refused_for_good_is_kept_and_told_as_a_gap() {
    let bad = [
        vec![event("s", "session.started", 1)],
        vec![event("s", "custom.bad", 2)],
        start_and_two()[2..].to_vec(),
    ]
    .concat();
    let rig = Rig::start(&[Plan::Later], SpoolOptions::default(), &bad[..1]);
    assert!(drained(&rig.spool, Duration::from_secs(20)).await);
    rig.fake
        .plan
        .lock()
        .expect("no panic")
        .push(Plan::Reject("invalid-event"));
    rig.spool
        .append(&session("s"), &bad[1..])
        .expect("appended");
    rig.appended.notify_one();
    let fake = Arc::clone(&rig.fake);
    let told = async {
        while !fake
            .events
            .lock()
            .expect("no panic")
            .iter()
            .any(|event| event["type"] == "custom.gap")
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), told)
        .await
        .expect("the gap is told");
    let kept =
        std::fs::read_to_string(rig.spool.folder().join("rejected.ndjson")).expect("it is kept");
    assert!(
        kept.contains("invalid-event") && kept.contains("custom.bad"),
        "{kept}"
    );
    let events = fake.events.lock().expect("no panic");
    assert!(
        events.iter().any(|event| event["id"] == "3"),
        "the others go on"
    );
    let gap = events
        .iter()
        .find(|event| event["type"] == "custom.gap")
        .expect("a gap");
    assert_eq!(
        (&gap["session"], &gap["data"]["count"]),
        (&json!("s"), &json!(1))
    );
    assert_eq!(
        gap["data"]["reason"],
        "the recorder refused it: invalid-event"
    );
}

#[tokio::test]
async fn what_did_not_fit_into_the_spool_is_told_when_recording_works_again() {
    let options = SpoolOptions {
        bytes_max: 600,
        sync: false,
    };
    let rig = Rig::start(&[Plan::Later, Plan::Later], options, &start_and_two());
    let large = Record::Event(vec![b'x'; 1000]);
    assert!(
        rig.spool
            .append(&session("s"), &[large.clone(), large])
            .is_err()
    );
    let fake = Arc::clone(&rig.fake);
    let told = async {
        while !fake
            .events
            .lock()
            .expect("no panic")
            .iter()
            .any(|event| event["type"] == "custom.gap")
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), told)
        .await
        .expect("the gap is told");
    let recorded = rig.recorded().await;
    assert_eq!(recorded[..3], all_three());
    assert_eq!(recorded.len(), 4, "told once: {recorded:?}");
    let events = fake.events.lock().expect("no panic");
    let data = &events[3]["data"];
    assert_eq!(data["count"], 2);
    assert!(
        data["first"].is_string()
            && data["reason"]
                .as_str()
                .is_some_and(|why| why.contains("do not fit")),
        "{data}"
    );
}

#[tokio::test]
async fn a_whole_batch_of_a_session_whose_start_is_lost_goes_though_the_made_up_start_is_one_too_many()
 {
    let many: Vec<Record> = (0..8)
        .map(|number| event("t", "custom.x", number))
        .collect();
    let rig = Rig::start(&[Plan::AtMost(8)], SpoolOptions::default(), &many);
    let recorded = rig.recorded().await;
    assert_eq!(recorded.len(), 9);
    assert_eq!(recorded[0], pair("session.started", STARTED_ID));
    assert_eq!(recorded[8], pair("custom.x", "7"));
}

#[tokio::test]
async fn a_gap_of_a_session_that_takes_none_is_told_beside_the_sessions() {
    let rig = Rig::start(&[], SpoolOptions::default(), &start_and_two());
    rig.spool
        .note_gap(&session("ended"), 3, "the queue was full")
        .expect("noted");
    let fake = Arc::clone(&rig.fake);
    let told = async {
        loop {
            let events = fake.events.lock().expect("no panic").clone();
            if let Some(gap) = events.iter().find(|event| event["type"] == "custom.gap") {
                return gap.clone();
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let gap = timeout(Duration::from_secs(20), told)
        .await
        .expect("the gap is told");
    assert_eq!(
        (&gap["session"], &gap["data"]["count"]),
        (&json!(GAPS_SESSION), &json!(3))
    );
    let reason = gap["data"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("session ended"), "{reason}");
}

#[test]
fn a_recorder_that_asks_for_no_pause_gets_one() {
    let error = StepError::Delivery(DeliveryError::Later {
        after: Some(Duration::ZERO),
        reason: "busy".to_owned(),
    });
    assert_eq!(Pause::default().next(&error), PAUSE_MIN);
}
