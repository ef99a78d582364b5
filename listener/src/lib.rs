//! Listening for HTTP: how many connections there may be, what each may keep the server waiting for, and how all of them end.

mod connection;
#[cfg(test)]
mod tests;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

/// Connections above the limit that are told so at the same time; further ones are closed without a word.
const REFUSALS_MAX: usize = 64;
/// Longest time that telling them takes.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(1);
/// Pause after the system could not give a connection, as when the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What connections may take, in number, bytes and time.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections at the same time.
    pub connections_max: usize,
    /// The head of a request, in bytes.
    pub head_bytes_max: usize,
    /// From the first byte of a request, or the opening of the connection, to the end of the head.
    pub head_time_max: Duration,
    /// Between two requests.
    pub idle_time_max: Duration,
    /// How long a client may take nothing of an answer, or little.
    pub write_time_max: Duration,
    /// How long requests may go on after the server was asked to stop.
    pub drain_time_max: Duration,
}

/// What is told of connections as they come and go.
pub trait Observer: Send + Sync {
    /// A connection was opened; what is returned is dropped when it ends.
    fn opened(&self) -> Box<dyn Send>;
    /// A connection was refused: there are as many as there may be.
    fn refused(&self);
}

/// What accepts connections and serves a router on them.
pub struct Listener {
    /// Bound, and not yet accepting.
    pub listener: TcpListener,
    /// What answers.
    pub router: Router,
    /// What connections may take.
    pub limits: ConnectionLimits,
    /// What a connection is told that is one too many: the body of a `503`, of type `application/problem+json`.
    pub refusal: String,
    /// Paths whose senders must never be given a body: there, and where the path is not told yet, that `503` has none.
    pub bodiless: &'static [&'static str],
    /// Who is told of connections.
    pub observer: Arc<dyn Observer>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("listener", &self.listener)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Resolves when the server is asked to stop.
pub type StopRequested = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Listener {
    /// Serves until asked to stop; then accepts nothing more, and lets the requests that are being answered finish. Asked
    /// again, or after the longest time that they get, it ends them.
    pub async fn run(self, stop_requested: impl Fn() -> StopRequested) {
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
            () = sleep(limits.drain_time_max) => {
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
        let limits = Arc::new(self.limits.clone());
        let refusal = Arc::new(Refusal::new(&self.refusal, self.bodiless));
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
                let (router, limits) = (self.router.clone(), Arc::clone(&limits));
                let (stops, open) = (stops.clone(), self.observer.opened());
                connections.spawn(async move {
                    connection::serve(stream, router, limits, stops).await;
                    drop((open, place));
                });
                continue;
            }
            self.observer.refused();
            if refusals.len() < REFUSALS_MAX {
                let refusal = Arc::clone(&refusal);
                refusals.spawn(async move {
                    let told = timeout(REFUSAL_TIME_MAX, refuse(stream, &refusal));
                    if let Ok(Err(error)) = told.await {
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

/// The whole answer to a connection that is one too many.
struct Refusal {
    with_body: String,
    without_body: String,
    bodiless: &'static [&'static str],
}

impl Refusal {
    fn new(body: &str, bodiless: &'static [&'static str]) -> Self {
        let answer = |media: &str, body: &str| {
            format!(
                "HTTP/1.1 503 Service Unavailable\r\n\
                 {media}content-length: {}\r\n\
                 retry-after: 1\r\n\
                 cache-control: no-store\r\n\
                 x-content-type-options: nosniff\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            )
        };
        Self {
            with_body: answer("content-type: application/problem+json\r\n", body),
            without_body: answer("", ""),
            bodiless,
        }
    }

    /// The answer to a request that begins with these bytes.
    fn to(&self, begins: &[u8]) -> &str {
        let line = begins.split(|byte| *byte == b'\r').next();
        let words = line.and_then(|line| std::str::from_utf8(line).ok());
        let mut words = words.unwrap_or_default().split(' ');
        // Behind the address stands the version: without it, the address may go on.
        let (Some(_), Some(address), Some(_)) = (words.next(), words.next(), words.next()) else {
            return &self.without_body;
        };
        match self.bodiless.iter().any(|path| address.contains(path)) {
            true => &self.without_body,
            false => &self.with_body,
        }
    }
}

/// Answers a connection that is one too many, and closes it.
async fn refuse(mut stream: TcpStream, refusal: &Refusal) -> io::Result<()> {
    // Some clients do not take an answer before they have asked.
    let mut bytes = [0; 4096];
    let read = stream.read(&mut bytes).await?;
    if read == 0 {
        return Ok(());
    }
    stream
        .write_all(refusal.to(&bytes[..read]).as_bytes())
        .await?;
    stream.shutdown().await?;
    // What the client still sends is read: closing on unread bytes would take the answer away from it.
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
