//! The recording proxy: stands between an agent and the API of a model, passes everything on as it comes, and records what passed.
//!
//! The path of a request holds no recording: bytes are copied by reference while they pass, and handed to a bounded queue. One
//! thread takes them from there, makes events of them and appends these to a spool, from which they go to a recorder. Where the
//! queue is full the exchange passes all the same, and is counted as lost.
//!
//! No header is recorded or logged: they hold the keys. The headers `x-remembrancer-session` and `x-remembrancer-agent`, which
//! name what they say, do not reach the API.

mod forward;
mod queue;
mod remembered;
mod tap;
#[cfg(test)]
mod tests;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt as _;
use reqwest::{Client, Url, redirect};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::call_recorder::SessionRules;
use crate::delivery::{Delivery, Recorder, drained};
use crate::spool::Spool;
use forward::Forward;
use worker::Worker;

/// Longest time for a connection to the API.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// How long exchanges may go on after the proxy was asked to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// How long what was recorded may take to reach the recorder then; the rest stays in the spool.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

/// What a proxy is made of.
pub struct ProxyOptions {
    /// Address of the API, such as `https://api.anthropic.com`.
    pub upstream: String,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where events wait.
    pub spool: Spool,
    /// Where they go.
    pub recorder: Arc<dyn Recorder>,
    /// What is declared in every session.
    pub rules: SessionRules,
}

/// Why a proxy cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// Not an address.
    #[error("--upstream {0:?} is not the address of an API, such as https://api.anthropic.com")]
    Upstream(String),
    /// The port is taken, or may not be used.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The client could not be made.
    #[error("no HTTP client can be made: {0}")]
    Client(reqwest::Error),
    /// The thread could not be started, or the server ended.
    #[error("the proxy: {0}")]
    Io(#[from] io::Error),
}

/// A proxy that listens but does not answer yet.
pub struct Proxy {
    listener: TcpListener,
    address: SocketAddr,
    upstream: Url,
    client: Client,
    spool: Arc<Spool>,
    recorder: Arc<dyn Recorder>,
    rules: SessionRules,
}

impl Proxy {
    /// Binds the address.
    pub async fn bind(options: ProxyOptions) -> Result<Self, ProxyError> {
        let upstream = upstream(&options.upstream)?;
        let failed = |error| ProxyError::Listen {
            address: options.listen,
            error,
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr()?;
        crate::tls::install();
        let mut client = Client::builder()
            .connect_timeout(CONNECT_TIME_MAX)
            .redirect(redirect::Policy::none())
            // What the API sends is what the agent gets, byte for byte.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        if crate::tls::is_loopback(&upstream) {
            client = client.no_proxy();
        }
        Ok(Self {
            listener,
            address,
            upstream,
            client: client.build().map_err(ProxyError::Client)?,
            spool: Arc::new(options.spool),
            recorder: options.recorder,
            rules: options.rules,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Passes requests on until asked to stop; then lets exchanges and recording end, each within its bound.
    pub async fn run(
        self,
        stop_requested: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ProxyError> {
        let appended = Arc::new(Notify::new());
        let (queue, worker) = Worker::start(
            Arc::clone(&self.spool),
            Arc::clone(&appended),
            self.upstream.as_str(),
            self.rules,
        )?;
        let (stop_delivery, stops) = watch::channel(false);
        let delivery = Delivery {
            spool: Arc::clone(&self.spool),
            recorder: self.recorder,
            appended,
        };
        let delivery = tokio::spawn(delivery.run(stops));
        let forward = Arc::new(Forward::new(self.client, self.upstream, queue.clone()));
        let router = Router::new().fallback(forward::pass).with_state(forward);
        serve(self.listener, router, stop_requested).await?;
        // Exchanges that were given up may still hold the queue.
        queue.stop();
        if tokio::task::spawn_blocking(move || worker.join())
            .await
            .is_err()
        {
            tracing::error!("the thread that records ended badly");
        }
        if !drained(&self.spool, DRAIN_TIME_MAX).await {
            tracing::warn!(
                "some events stay in the spool; they follow when the proxy is started again"
            );
        }
        stop_delivery.send_replace(true);
        if tokio::time::timeout(DRAIN_TIME_MAX, delivery)
            .await
            .is_err()
        {
            tracing::warn!("the recorder does not answer; what it did not take stays in the spool");
        }
        Ok(())
    }
}

async fn serve(
    listener: TcpListener,
    router: Router,
    stop_requested: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // Pieces of a stream are sent as they come: waiting for more only delays them.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY");
        }
    });
    let (stopped, mut stopping) = watch::channel(false);
    let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
        stop_requested.await;
        stopped.send_replace(true);
    });
    let late = async {
        drop(stopping.wait_for(|is_stopping| *is_stopping).await);
        tokio::time::sleep(STOP_TIME_MAX).await;
    };
    tokio::select! {
        served = serving => served,
        () = late => {
            tracing::warn!("exchanges did not end in time and are given up");
            Ok(())
        }
    }
}

fn upstream(text: &str) -> Result<Url, ProxyError> {
    let bad = || ProxyError::Upstream(text.to_owned());
    let url = Url::parse(text).map_err(|_| bad())?;
    let is_base = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some()
        && url.query().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_base { Ok(url) } else { Err(bad()) }
}
