//! The running service: the HTTP API and the viewer on one port, over one ledger.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::http::Uri;
use remembrancer_recorder::{ApiState, Ledger, LedgerOptions, Reader, SessionSummary};
use remembrancer_web::ViewerState;
use tokio::net::TcpListener;

use crate::command::bundle::bundle_bytes;
use crate::failure::Failure;

/// A service that listens but does not answer yet.
pub(crate) struct Service {
    pub(crate) ledger: Ledger,
    pub(crate) viewer: ViewerState,
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    api: Router,
}

impl Service {
    /// Binds the address, and opens the ledger of a data folder for writing, or makes it.
    pub(crate) async fn open(options: LedgerOptions, listen: SocketAddr) -> Result<Self, Failure> {
        // The address first: a port that is taken should not leave a new ledger behind.
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::new(format!("cannot listen on {listen}: {error}")).hint(
                "choose another address with --listen, for instance 127.0.0.1:0 for any free port",
            )
        })?;
        let address = listener.local_addr()?;
        let ledger = Ledger::open(options).await?;
        let viewer = ViewerState::new(ledger.reader().clone());
        let api = ApiState::new(ledger.clone(), bundle_maker(ledger.reader().data_dir()));
        let api = remembrancer_recorder::router(api);
        Ok(Self {
            ledger,
            viewer,
            address,
            listener,
            api,
        })
    }

    /// Lets the viewer answer to the address under which a proxy publishes it.
    pub(crate) fn published_at(mut self, public: &Uri) -> Result<Self, Failure> {
        let host = public.host().ok_or_else(|| {
            Failure::new(format!("--public-url {public} names no host"))
                .hint("give scheme and host, such as https://audit.example.org")
        })?;
        self.viewer = self.viewer.with_hosts([host.to_owned()]);
        if public.scheme_str() == Some("https") {
            self.viewer = self.viewer.with_secure_cookies();
        }
        Ok(self)
    }

    /// Answers requests until the process is asked to stop, then lets what runs finish.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let router = self.api.merge(remembrancer_web::router(self.viewer));
        axum::serve(self.listener, router)
            .with_graceful_shutdown(stop_requested())
            .await?;
        self.ledger.close().await;
        Ok(())
    }
}

/// Makes bundles for the API: the program knows both the recorder and the pages of the report.
fn bundle_maker(data: &Path) -> remembrancer_recorder::BundleMaker {
    let data = data.to_owned();
    Arc::new(move |reader: Reader, session: SessionSummary| {
        let data = data.clone();
        Box::pin(async move {
            let read = crate::command::session::read(reader, session.id.as_str()).await;
            let bytes = match read {
                Ok(read) => bundle_bytes(read, &data).await,
                Err(failure) => Err(failure),
            };
            bytes.map_err(|failure| format!("{failure:?}").into())
        })
    })
}

async fn stop_requested() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminated) = signal(SignalKind::terminate()) else {
            drop(interrupted.await);
            return;
        };
        tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        }
    }
    #[cfg(not(unix))]
    drop(interrupted.await);
}
