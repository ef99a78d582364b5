//! The recorder as it is served: a ledger in a folder of its own, its HTTP API on a port of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::serve::ListenerExt as _;
use remembrancer_recorder::{ApiState, Ledger, LedgerLocation, LedgerOptions, Role, create_token};
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub(crate) struct Server {
    folder: TempDir,
    ledger: Ledger,
    serving: JoinHandle<()>,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = LedgerLocation::new(folder.path());
        Self::start_at(folder, location).await
    }

    /// The same, with its ledger where the caller says; the folder goes with it.
    pub(crate) async fn start_at(folder: TempDir, location: LedgerLocation) -> Self {
        let ledger = Ledger::open(LedgerOptions::new(location.clone()))
            .await
            .unwrap();
        let token = create_token(location, Role::Write, "bench")
            .await
            .unwrap()
            .token;
        let router = remembrancer_recorder::router(ApiState::without_bundles(ledger.clone()));
        let (address, serving) = serve(router).await;
        Self {
            folder,
            ledger,
            serving,
            address,
            token,
        }
    }

    /// Stops; every one of `entries` must be there. The folder stays as long as the answer is held.
    pub(crate) async fn stop(self, entries: usize) -> (TempDir, PathBuf) {
        let size = self.ledger.reader().size().await.unwrap();
        // The making of the key is recorded too, in a session of its own.
        let kept = (entries as u64)..=(entries as u64 + 2);
        assert!(kept.contains(&size), "{size} entries instead of {entries}");
        self.serving.abort();
        self.ledger.close().await;
        let file = self.folder.path().join("ledger.sqlite");
        (self.folder, file)
    }
}

/// Serves a router on a free port.
pub(crate) async fn serve(router: axum::Router) -> (SocketAddr, JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, serving)
}
