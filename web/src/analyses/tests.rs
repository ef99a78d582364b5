use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use remembrancer_recorder::Page;
use remembrancer_replay::SessionRecord;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{Origin, TreeHash};

use super::*;
use crate::fixture::Fixture;
use crate::source::Answer;

/// The fixture's first session under many heads; counts how many analyses run, and how many ran at once at most.
struct Counting {
    fixture: Fixture,
    running: AtomicUsize,
    most: AtomicUsize,
    total: AtomicUsize,
}

impl Counting {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            fixture: Fixture::new(str::to_owned),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
        })
    }

    async fn rows(&self, number: u8) -> Vec<SessionSummary> {
        let first = self.fixture.session(1).await;
        let first = first.expect("answers").expect("the session");
        (0..number)
            .map(|at| SessionSummary {
                head: EntryHash::from_bytes([at; 32]),
                ..first.clone()
            })
            .collect()
    }
}

impl Source for Counting {
    fn origin(&self) -> &Origin {
        self.fixture.origin()
    }

    fn public_key(&self) -> &PublicKey {
        self.fixture.public_key()
    }

    fn sessions<'a>(&'a self, _: Option<&'a str>, _: u32) -> Answer<'a, Page<SessionSummary>> {
        Box::pin(async move {
            let items = self.rows(25).await;
            Ok(Page { items, next: None })
        })
    }

    fn session(&self, number: i64) -> Answer<'_, Option<SessionSummary>> {
        self.fixture.session(number)
    }

    fn session_named<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        self.fixture.session_named(id)
    }

    fn children<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Vec<SessionSummary>> {
        self.fixture.children(id)
    }

    fn record<'a>(&'a self, id: &'a SessionId) -> Answer<'a, SessionRecord> {
        self.fixture.record(id)
    }

    fn checkpoint(&self) -> Answer<'_, Option<String>> {
        self.fixture.checkpoint()
    }

    fn inclusion_proof(&self, index: u64, size: u64) -> Answer<'_, Vec<TreeHash>> {
        self.fixture.inclusion_proof(index, size)
    }

    fn may_read<'a>(&'a self, key: &'a str) -> Answer<'a, bool> {
        self.fixture.may_read(key)
    }

    fn analyse(&self, record: &SessionRecord) -> Analysis {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.total.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        let analysis = self.fixture.analyse(record);
        self.running.fetch_sub(1, Ordering::SeqCst);
        analysis
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn few_analyses_run_at_a_time() {
    let counting = Counting::new();
    let source: Arc<dyn Source> = counting.clone();
    let analyses = Arc::new(Analyses::default());
    let tasks: Vec<_> = counting
        .rows(8)
        .await
        .into_iter()
        .flat_map(|row| [row.clone(), row])
        .map(|row| {
            let (analyses, source) = (analyses.clone(), source.clone());
            tokio::spawn(async move { analyses.get(&source, &row).await.map(drop) })
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
async fn the_list_analyses_few_sessions_per_view() {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt as _;

    let counting = Counting::new();
    let state = crate::ViewerState::over(counting.clone());
    let cookie = state.logins().sign_in().expect("random bytes");
    let router = crate::router(state);
    for (analysed, waiting) in [(10, 15), (20, 5), (25, 0)] {
        let request = Request::get("/")
            .header("host", "localhost")
            .header("cookie", format!("remembrancer_session={cookie}"))
            .body(Body::empty())
            .expect("a request");
        let answer = router.clone().oneshot(request).await.expect("infallible");
        let body = to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
        let body = String::from_utf8(body.to_vec()).expect("UTF-8");
        assert_eq!(counting.total.load(Ordering::SeqCst), analysed);
        assert_eq!(body.matches("analysed when opened").count(), waiting);
    }
}

#[tokio::test]
async fn what_failed_is_not_kept_and_what_is_too_much_gives_way() {
    let counting = Counting::new();
    let source: Arc<dyn Source> = counting.clone();
    let analyses = Analyses::default();
    let rows = counting.rows(3).await;
    let taken = counting
        .fixture
        .records
        .lock()
        .expect("not poisoned")
        .remove(&rows[0].id)
        .expect("the record");
    assert!(analyses.get(&source, &rows[0]).await.is_err());
    assert!(analyses.lock().slots.is_empty());
    counting
        .fixture
        .records
        .lock()
        .expect("not poisoned")
        .insert(rows[0].id.clone(), taken);
    for row in &rows {
        analyses.get(&source, row).await.expect("an analysis");
    }
    assert!(rows.iter().all(|row| analyses.kept(row).is_some()));
    let heavy = (rows[2].id.clone(), rows[2].head);
    analyses.weigh(&heavy, KEPT_BYTES_MAX - 1);
    let kept: Vec<bool> = rows
        .iter()
        .map(|row| analyses.kept(row).is_some())
        .collect();
    assert_eq!(kept, [false, false, true]);
}
