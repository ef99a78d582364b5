//! Two workspaces in one viewer: the key of the sign-in decides which one is seen.

use bytes::Bytes;
use remembrancer_recorder::{
    LedgerLocation, LedgerOptions, Metrics, OwnedEvent, Role, WorkspaceName, Workspaces,
    create_token, create_workspace, revoke_token,
};

use super::*;

struct Server {
    folder: tempfile::TempDir,
    workspaces: Workspaces,
    viewer: Viewer,
}

impl Server {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspaces = Workspaces::open(LedgerOptions::new(folder.path()), 8, Metrics::new())
            .await
            .expect("opens");
        let state = ViewerState::new(workspaces.clone());
        let viewer = Viewer {
            router: router(state.clone()),
            fixture: Arc::new(Fixture::new(plain)),
            state,
            cookie: None,
        };
        Self {
            folder,
            workspaces,
            viewer,
        }
    }

    fn place(&self, workspace: &str) -> LedgerLocation {
        LedgerLocation::new(self.folder.path()).workspace(name(workspace))
    }

    async fn record(&self, workspace: &str, label: &str) {
        let event = format!(
            r#"{{"id":"start","session":"{}","type":"session.started","agent":"tester","data":{{"label":"{label}"}}}}"#,
            label.replace(' ', "-")
        );
        let event = OwnedEvent::parse(Bytes::from(event)).expect("an event");
        let ledger = self.workspaces.get(&name(workspace)).await.expect("opens");
        let outcomes = ledger.expect("is there").append(vec![event]).await;
        assert!(outcomes.expect("appends")[0].place().is_some());
    }

    /// Signs in with a new key, and returns its id.
    async fn sign_in(&mut self, workspace: &str, role: Role) -> String {
        let key = create_token(self.place(workspace), role, "test").await;
        let key = key.expect("makes");
        let answer = self
            .viewer
            .sign_in(&format!("key={}", key.token), &[])
            .await;
        let cookie = answer.header("set-cookie").split(';').next();
        self.viewer.cookie = cookie
            .filter(|cookie| !cookie.is_empty())
            .map(str::to_owned);
        key.id
    }
}

fn name(text: &str) -> WorkspaceName {
    text.parse().expect(text)
}

#[tokio::test]
async fn a_key_decides_which_workspace_its_sign_in_sees() {
    let mut server = Server::new().await;
    create_workspace(server.folder.path(), &name("acme"), None)
        .await
        .expect("makes");
    server.record("default", "session of the default one").await;
    server.record("acme", "session of acme").await;

    server.sign_in("acme", Role::Read).await;
    for page in ["/", "/sessions/1", "/sessions/1/integrity"] {
        let shown = server.viewer.get(page).await;
        assert_eq!(shown.status, StatusCode::OK, "{page}");
        assert_page(page, &shown);
        assert!(shown.body.contains("session of acme"), "{page}");
        assert!(!shown.body.contains("session of the default one"), "{page}");
        assert_eq!(shown.text(".workspace"), "Workspace acme", "{page}");
        assert!(shown.text("footer").contains("/acme"), "{page}");
    }
    let help = server.viewer.get("/help").await;
    assert_eq!(help.text(".workspace"), "Workspace acme");

    server.sign_in("default", Role::Read).await;
    let shown = server.viewer.get("/sessions/1").await;
    assert!(shown.body.contains("session of the default one"));
    assert!(!shown.body.contains("session of acme"));
    assert_eq!(shown.count(".workspace"), 0, "it has no need of a name");

    server.sign_in("acme", Role::Write).await;
    assert_eq!(server.viewer.cookie, None, "a key that may not read");
    server.workspaces.close().await;
}

#[tokio::test]
async fn a_permanent_address_shows_each_reader_their_own_workspace_or_nothing() {
    let mut server = Server::new().await;
    create_workspace(server.folder.path(), &name("empty"), None)
        .await
        .expect("makes");
    // The empty one may have a first session: that of its admin acts.
    server.record("default", "first").await;
    server.record("default", "only here").await;
    let key = server.sign_in("empty", Role::Admin).await;
    for page in [
        "/sessions/2",
        "/sessions/2/findings",
        "/sessions/2/integrity",
    ] {
        let shown = server.viewer.get(page).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{page}");
        assert!(!shown.body.contains("only here"), "{page}");
    }
    revoke_token(server.place("empty"), &key)
        .await
        .expect("revokes");
    let shown = server.viewer.get("/").await;
    assert_eq!(shown.status, StatusCode::SEE_OTHER, "revoked at once");
    server.workspaces.close().await;
}
