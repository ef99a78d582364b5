use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::testing::TestLedger;

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
