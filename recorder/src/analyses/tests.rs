use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::testing::{TestLedger, ended, event, note, tamper};

/// A recorded session under many heads; counts how many analyses run, and how many ran at once at most.
struct Counting {
    test: TestLedger,
    running: AtomicUsize,
    most: AtomicUsize,
    total: AtomicUsize,
}

impl Counting {
    async fn new() -> Arc<Self> {
        let test = TestLedger::new().await;
        test.record_notes("s", 2).await;
        Arc::new(Self {
            test,
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
        })
    }

    async fn rows(&self, number: u8) -> Vec<SessionSummary> {
        let found = self.test.ledger.reader().find_session("s").await;
        let first = found.expect("the session");
        (0..number)
            .map(|at| SessionSummary {
                head: EntryHash::from_bytes([at; 32]),
                ..first.clone()
            })
            .collect()
    }

    async fn analysis(
        self: &Arc<Self>,
        analyses: &Analyses,
        row: &SessionSummary,
    ) -> Result<Arc<Analysis>, LedgerError> {
        let reader = self.test.ledger.reader();
        let counting = Arc::clone(self);
        let record = reader.session_record(&row.id);
        analyses
            .get(reader.origin(), row, record, move |record| {
                counting.analyse(record)
            })
            .await
    }

    fn analyse(&self, record: &SessionRecord) -> Analysis {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.total.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        let analysis = remembrancer_replay::analyse(record);
        self.running.fetch_sub(1, Ordering::SeqCst);
        analysis
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_analyses_run_at_a_time() {
    let counting = Counting::new().await;
    let analyses = Arc::new(Analyses::default());
    let tasks: Vec<_> = counting
        .rows(8)
        .await
        .into_iter()
        .flat_map(|row| [row.clone(), row])
        .map(|row| {
            let (analyses, counting) = (Arc::clone(&analyses), Arc::clone(&counting));
            tokio::spawn(async move { counting.analysis(&analyses, &row).await.map(drop) })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("an analysis");
    }
    let most = counting.most.load(Ordering::SeqCst);
    assert!((1..=RUNNING_MAX).contains(&most), "{most} ran at once");
    assert_eq!(counting.total.load(Ordering::SeqCst), 8, "each one once");
}

#[tokio::test]
async fn what_failed_is_not_kept_and_what_is_too_much_gives_way() {
    let counting = Counting::new().await;
    let analyses = Analyses::default();
    let origin = counting.test.ledger.origin();
    let rows = counting.rows(3).await;
    let unknown = SessionSummary {
        id: "nobody".parse().expect("an id"),
        ..rows[0].clone()
    };
    assert!(counting.analysis(&analyses, &unknown).await.is_err());
    assert!(analyses.lock().slots.is_empty());
    for row in &rows {
        counting
            .analysis(&analyses, row)
            .await
            .expect("an analysis");
    }
    assert!(rows.iter().all(|row| analyses.kept(origin, row).is_some()));
    let elsewhere = "elsewhere.example/ledger".parse().expect("an origin");
    assert!(analyses.kept(&elsewhere, &rows[0]).is_none());
    analyses.weigh(&Key::new(origin, &rows[2]), KEPT_BYTES_MAX - 1);
    let kept: Vec<bool> = rows
        .iter()
        .map(|row| analyses.kept(origin, row).is_some())
        .collect();
    assert_eq!(kept, [false, false, true]);
}

/// A recorded session that grows, with a cache of its own.
struct Growing {
    test: TestLedger,
    analyses: Analyses,
}

impl Growing {
    async fn new() -> Self {
        let test = TestLedger::new().await;
        test.record_notes("s", 2).await;
        Self {
            test,
            analyses: Analyses::default(),
        }
    }

    async fn append(&self, events: Vec<crate::incoming::OwnedEvent>) {
        let outcomes = self.test.ledger.append(events).await.expect("appends");
        assert!(outcomes.iter().all(|outcome| outcome.place().is_some()));
    }

    async fn summary(&self) -> SessionSummary {
        let found = self.test.ledger.reader().find_session("s").await;
        found.expect("the session")
    }

    /// The analysis as it is now, which must be what the whole record gives.
    async fn analysis(&self) -> Arc<Analysis> {
        let (reader, row) = (self.test.ledger.reader(), self.summary().await);
        let analysis = self.analyses.of(reader, &row).await.expect("an analysis");
        let record = reader.record_of(&row).await.expect("a record");
        assert_eq!(*analysis, remembrancer_replay::analyse(&record));
        analysis
    }

    /// Of each kept state: the entries that its analyser knows.
    fn kept(&self) -> Vec<Option<u64>> {
        let kept = self.analyses.lock();
        let analysers = kept.slots.values().map(|slot| slot.analyser.as_ref());
        analysers
            .map(|analyser| analyser.map(|analyser| analyser.entries()))
            .collect()
    }
}

fn capture(turn: u32, text: &str) -> crate::incoming::OwnedEvent {
    let base = match turn {
        1 => String::new(),
        _ => format!(r#""base":{},"#, turn - 1),
    };
    event(&format!(
        r#"{{"id":"c{turn}","session":"s","type":"context.captured",
            "data":{{"turn":{turn},{base}"parts":[{{"kind":"user","text":"{text}"}}]}}}}"#
    ))
}

#[tokio::test]
async fn an_open_session_goes_on_from_where_it_was() {
    let growing = Growing::new().await;
    growing.append(vec![capture(1, "one")]).await;
    let first = Arc::as_ptr(&growing.analysis().await);
    assert_eq!(growing.kept(), [Some(4)]);
    growing.append(vec![capture(2, "two")]).await;
    let second = growing.analysis().await;
    assert_eq!(Arc::as_ptr(&second), first, "brought up to date in place");
    assert_eq!(growing.kept(), [Some(5)], "the state before is not kept");

    // A blob that an earlier entry could not have named, and a reader that still holds the analysis of before.
    let bytes = bytes::Bytes::from_static(b"a large text");
    let (hash, _) = growing.test.ledger.store_blob(bytes).await.expect("stores");
    growing
        .append(vec![event(&format!(
            r#"{{"id":"b","session":"s","type":"context.captured","blobs":["{hash}"],
                "data":{{"turn":3,"parts":[{{"kind":"user","hash":"{hash}"}}]}}}}"#
        ))])
        .await;
    let third = growing.analysis().await;
    assert_eq!((second.turns.len(), third.turns.len()), (2, 3));
    let named = third.contents.iter().find(|content| content.hash == hash);
    assert_eq!(
        named.and_then(|content| content.text.as_deref()),
        Some("a large text")
    );

    growing.append(vec![ended("s")]).await;
    assert!(growing.analysis().await.overview.sealed);
    assert_eq!(growing.kept(), [None], "nothing follows the end");
}

#[tokio::test]
async fn a_request_that_is_given_up_leaves_the_known_state() {
    use futures_util::FutureExt as _;

    let growing = Growing::new().await;
    growing.analysis().await;
    growing.append(vec![capture(1, "one")]).await;
    let row = growing.summary().await;
    let reader = growing.test.ledger.reader();
    let given_up = growing.analyses.of(reader, &row).now_or_never();
    assert!(given_up.is_none(), "reading takes longer than one poll");
    assert!(growing.kept().contains(&Some(3)), "{:?}", growing.kept());
    let followed = growing.analysis().await;
    assert_eq!(followed.turns.len(), 1);
    assert!(!growing.kept().contains(&Some(3)), "its place is taken");
}

#[tokio::test]
async fn a_state_ahead_of_the_summary_is_left_alone() {
    let growing = Growing::new().await;
    let early = growing.summary().await;
    growing.append(vec![capture(1, "one")]).await;
    growing.analysis().await;
    let reader = growing.test.ledger.reader();
    let analysis = growing.analyses.of(reader, &early).await.expect("reads");
    assert_eq!((analysis.overview.entries, analysis.turns.len()), (3, 0));
    let mut kept = growing.kept();
    kept.sort_unstable();
    assert_eq!(kept, [Some(3), Some(4)]);
}

#[tokio::test]
async fn what_does_not_go_on_from_the_known_state_is_refused() {
    let growing = Growing::new().await;
    growing.analysis().await;
    growing.append(vec![note("s", "later", "x")]).await;
    growing.test.ledger.close().await;
    tamper(
        &growing.test,
        "UPDATE payloads SET data = CAST('{\"text\":\"other\"}' AS BLOB) WHERE idx = 3",
    )
    .await;
    let reader = Reader::open(growing.test.path()).await.expect("opens");
    let row = reader.find_session("s").await.expect("the session");
    let refused = growing.analyses.of(&reader, &row).await;
    assert!(
        matches!(refused, Err(LedgerError::Corrupt { index: 3, .. })),
        "{refused:?}"
    );
    assert!(growing.kept().is_empty());
    let other = Behind {
        entries: 3,
        head: EntryHash::from_bytes([7; 32]),
    };
    let refused = reader.record_behind(other, &row).await;
    assert!(
        matches!(refused, Err(LedgerError::Corrupt { index: 3, .. })),
        "another state before the new entries"
    );
    let past = Behind {
        entries: 9,
        ..other
    };
    assert!(reader.record_behind(past, &row).await.is_err());
    reader.close().await;
}
