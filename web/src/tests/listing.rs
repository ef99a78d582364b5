//! What the list of sessions costs.

use std::sync::atomic::{AtomicUsize, Ordering};

use remembrancer_recorder::{Page, SessionSummary};
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::payload::Witness;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{EntryHash, Origin, SessionId, TreeHash};

use super::*;
use crate::login::SignIn;
use crate::source::{Answer as SourceAnswer, Source};

/// The fixture's first session under many heads; counts how many analyses run.
struct Counting {
    fixture: Fixture,
    total: AtomicUsize,
}

impl Counting {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            fixture: Fixture::new(str::to_owned),
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

    fn sessions<'a>(
        &'a self,
        _: Option<&'a str>,
        _: u32,
    ) -> SourceAnswer<'a, Page<SessionSummary>> {
        Box::pin(async move {
            let items = self.rows(25).await;
            Ok(Page { items, next: None })
        })
    }

    fn session(&self, number: i64) -> SourceAnswer<'_, Option<SessionSummary>> {
        self.fixture.session(number)
    }

    fn session_named<'a>(&'a self, id: &'a SessionId) -> SourceAnswer<'a, Option<SessionSummary>> {
        self.fixture.session_named(id)
    }

    fn children<'a>(&'a self, id: &'a SessionId) -> SourceAnswer<'a, Vec<SessionSummary>> {
        self.fixture.children(id)
    }

    fn record<'a>(&'a self, id: &'a SessionId) -> SourceAnswer<'a, SessionRecord> {
        self.fixture.record(id)
    }

    fn checkpoint(&self) -> SourceAnswer<'_, Option<String>> {
        self.fixture.checkpoint()
    }

    fn inclusion_proof(&self, index: u64, size: u64) -> SourceAnswer<'_, Vec<TreeHash>> {
        self.fixture.inclusion_proof(index, size)
    }

    fn reading_key<'a>(&'a self, key: &'a str) -> SourceAnswer<'a, Option<String>> {
        self.fixture.reading_key(key)
    }

    fn is_reading_key<'a>(&'a self, id: &'a str) -> SourceAnswer<'a, bool> {
        self.fixture.is_reading_key(id)
    }

    fn analyse(&self, record: &SessionRecord) -> Analysis {
        self.total.fetch_add(1, Ordering::SeqCst);
        let mut analysis = self.fixture.analyse(record);
        if let Some(action) = analysis.actions.first_mut() {
            action.witness = Witness::Claimed;
        }
        analysis
    }
}

#[tokio::test]
async fn the_list_analyses_few_sessions_per_view() {
    let counting = Counting::new();
    let state = crate::ViewerState::over(counting.clone());
    let cookie = state
        .logins()
        .sign_in(SignIn::default())
        .expect("random bytes");
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
        // What the list says of a session rests on its witnesses, so it names them.
        assert_eq!(body.matches("<td>exact, claimed</td>").count(), analysed);
    }
}
