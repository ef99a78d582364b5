//! The listener: how many connections there may be, and how all of them end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use remembrancer_recorder::{Limits, Metrics, Problem, Slug};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use super::connection::{self, Times};

/// Connections above the limit that are told so at the same time; further ones are closed without a word.
const REFUSALS_MAX: usize = 64;
/// Longest time that telling them takes.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);
/// Pause after the system could not give a connection, as when the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What accepts connections and serves a router on them.
pub(super) struct Listener {
    pub(super) listener: TcpListener,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
}

impl Listener {
    /// Serves until asked to stop; then accepts nothing more, and lets the requests that are being answered finish. Asked
    /// again, or after the longest time that they get, it ends them.
    pub(super) async fn run<F: Future<Output = ()>>(self, stop_requested: impl Fn() -> F) {
        let (stop, stops) = watch::channel(false);
        let mut connections = JoinSet::new();
        self.accept(&mut connections, &stops, stop_requested())
            .await;
        // Nobody is kept waiting by a listener that accepts no more.
        let Self {
            listener, limits, ..
        } = self;
        drop(listener);
        tracing::info!(connections = connections.len(), "stopping");
        stop.send_replace(true);
        tokio::select! {
            () = all_ended(&mut connections) => {}
            () = sleep(Duration::from_secs(limits.drain_seconds_max)) => {
                tracing::warn!("requests did not finish in time and are given up");
            }
            () = stop_requested() => tracing::warn!("asked to stop again: requests are given up"),
        }
        connections.shutdown().await;
    }

    async fn accept(
        &self,
        connections: &mut JoinSet<()>,
        stops: &watch::Receiver<bool>,
        stop_requested: impl Future<Output = ()>,
    ) {
        let places = Arc::new(Semaphore::new(self.limits.connections_max));
        let mut refusals = JoinSet::new();
        let times = Times::new(&self.limits);
        let mut stop = std::pin::pin!(stop_requested);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => return,
                Some(ended) = connections.join_next() => { log_end(ended); continue; }
                Some(ended) = refusals.join_next() => { log_end(ended); continue; }
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) if concerns_one_connection(&error) => continue,
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted at the moment");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // Answers are written whole: waiting for more to send with them only delays them.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "setting TCP_NODELAY");
            }
            if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                let (router, times) = (self.router.clone(), times.clone());
                let (stops, open) = (stops.clone(), self.metrics.connection_opened());
                connections.spawn(async move {
                    connection::serve(stream, router, &times, stops).await;
                    drop((open, place));
                });
                continue;
            }
            self.metrics.refused(Slug::TooManyConnections);
            if refusals.len() < REFUSALS_MAX {
                refusals.spawn(async move {
                    if let Ok(Err(error)) = timeout(REFUSAL_TIME_MAX, refuse(stream)).await {
                        tracing::debug!(%error, "refusing a connection");
                    }
                });
            }
        }
    }
}

async fn all_ended(connections: &mut JoinSet<()>) {
    while let Some(ended) = connections.join_next().await {
        log_end(ended);
    }
}

fn log_end(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task ended badly");
    }
}

/// Whether accepting the next connection can succeed although this one did not.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// Answers a connection that is one too many, and closes it.
async fn refuse(mut stream: TcpStream) -> io::Result<()> {
    // Some clients do not take an answer before they have asked.
    let mut bytes = [0; 4096];
    if stream.read(&mut bytes).await? == 0 {
        return Ok(());
    }
    let problem = Problem::new(
        Slug::TooManyConnections,
        "this server has as many connections as it may; nothing was stored, try again shortly",
    );
    let body = serde_json::to_string(&problem)?;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\n\
         content-type: application/problem+json\r\n\
         content-length: {}\r\n\
         retry-after: 1\r\n\
         cache-control: no-store\r\n\
         x-content-type-options: nosniff\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // What the client still sends is read: closing on unread bytes would take the answer away from it.
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
