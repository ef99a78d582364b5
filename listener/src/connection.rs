//! One connection: what it may keep the server waiting for, and how it ends.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::Request;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::ServiceExt as _;

use crate::ConnectionLimits;

/// What a client has to take in each second while an answer waits to be sent, in bytes.
const ANSWER_BYTES_PER_SECOND_MIN: u64 = 16 * 1024;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has come since it was opened.
    Opened(Instant),
    /// Between two requests.
    Idle(Instant),
    /// The head of a request is arriving.
    Head(Instant),
    /// A request is being answered, from its whole head to the last byte of the answer's body.
    Answering,
}

/// An answer that the client does not take as fast as it is sent.
#[derive(Debug, Clone, Copy)]
struct Stall {
    since: Instant,
    bytes: u64,
    /// Whether the last attempt to send had to wait.
    is_waiting: bool,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    stall: Option<Stall>,
}

/// What a connection is doing, as its stream and its requests see it. All of them run in one task.
#[derive(Debug, Clone)]
struct Activity(Arc<Mutex<State>>);

impl Activity {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Opened(Instant::now()),
            stall: None,
        })))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn received(&self) {
        self.change(|state| {
            if matches!(state.phase, Phase::Opened(_) | Phase::Idle(_)) {
                state.phase = Phase::Head(Instant::now());
            }
        });
    }

    /// A request's head is there. It is being answered until what this returns is dropped.
    fn answering(&self) -> Answering {
        self.change(|state| state.phase = Phase::Answering);
        Answering(self.clone())
    }

    fn sent(&self, bytes: usize) {
        self.change(|state| {
            if let Some(stall) = &mut state.stall {
                stall.bytes += bytes as u64;
                stall.is_waiting = false;
            }
        });
    }

    fn waits_to_send(&self) {
        self.change(|state| match &mut state.stall {
            Some(stall) => stall.is_waiting = true,
            None => {
                state.stall = Some(Stall {
                    since: Instant::now(),
                    bytes: 0,
                    is_waiting: true,
                });
            }
        });
    }

    fn sent_all(&self) {
        self.change(|state| state.stall = None);
    }

    /// Whether closing it now would cut off an answer.
    fn is_busy(&self) -> bool {
        self.change(|state| state.phase == Phase::Answering || state.stall.is_some())
    }

    /// When it is to be closed unless something happens before, and why.
    fn deadline(&self, limits: &ConnectionLimits) -> Option<(Instant, &'static str)> {
        let now = Instant::now();
        self.change(|state| {
            let waiting = match state.phase {
                Phase::Opened(since) => Some((since + limits.head_time_max, "no request")),
                Phase::Head(since) => Some((since + limits.head_time_max, "half a head")),
                Phase::Idle(since) => Some((since + limits.idle_time_max, "idle")),
                Phase::Answering => None,
            };
            let stall = state.stall.as_mut().filter(|stall| stall.is_waiting);
            let sending = stall.map(|stall| {
                // One that took enough in its time gets as much time again.
                let enough = limits.write_time_max.as_secs().max(1) * ANSWER_BYTES_PER_SECOND_MIN;
                if now >= stall.since + limits.write_time_max && stall.bytes >= enough {
                    (stall.since, stall.bytes) = (now, 0);
                }
                (
                    stall.since + limits.write_time_max,
                    "its client does not take the answer",
                )
            });
            // While an answer is sent the time between two requests has not begun.
            sending.or(waiting)
        })
    }
}

/// Keeps a connection counted as answering.
struct Answering(Activity);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0
            .change(|state| state.phase = Phase::Idle(Instant::now()));
    }
}

/// Serves a connection until its client closes it, takes too long, or the server stops: then the request that is being
/// answered is finished, and nothing else is waited for.
///
/// Boxed here, so that the machinery of HTTP is compiled with this crate and not anew, at its level, in the one that runs it.
pub(crate) fn serve(
    stream: TcpStream,
    router: Router,
    limits: Arc<ConnectionLimits>,
    stop: watch::Receiver<bool>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(answer_requests(stream, router, limits, stop))
}

async fn answer_requests(
    stream: TcpStream,
    router: Router,
    limits: Arc<ConnectionLimits>,
    mut stop: watch::Receiver<bool>,
) {
    let activity = Activity::new();
    let peer = stream.peer_addr().ok();
    let requests = activity.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = requests.answering();
        let mut request = request.map(Body::new);
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        let answer = router.clone().oneshot(request);
        async move {
            let answer = answer.await?;
            Ok::<_, std::convert::Infallible>(answer.map(|body| AnswerBody {
                body,
                _answering: answering,
            }))
        }
    });
    let stream = Watched {
        stream,
        activity: activity.clone(),
    };
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .header_read_timeout(None)
            .max_header_size(limits.head_bytes_max)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut alarm = Alarm::new();
    let mut is_stopping = false;
    loop {
        let ended = std::future::poll_fn(|context| {
            if let Poll::Ready(outcome) = connection.as_mut().poll(context) {
                if let Err(error) = outcome {
                    tracing::debug!(%error, "a connection ended badly");
                }
                return Poll::Ready(());
            }
            alarm.poll(context, &activity, &limits)
        });
        tokio::select! {
            () = ended => return,
            _ = stop.wait_for(|stops| *stops), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
                if !activity.is_busy() {
                    return;
                }
            }
        }
    }
}

/// Wakes a connection's task when a deadline may have passed.
struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    fn new() -> Self {
        Self(None)
    }

    /// Ready once the connection is to be closed. Most deadlines move on before they are reached: the timer is set again only
    /// when it rings, or for an earlier one.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        activity: &Activity,
        limits: &ConnectionLimits,
    ) -> Poll<()> {
        loop {
            let Some((deadline, reason)) = activity.deadline(limits) else {
                return Poll::Pending;
            };
            let sleep = self
                .0
                .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if deadline < sleep.deadline() {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(context));
            if Instant::now() >= deadline {
                tracing::debug!(reason, "a connection is closed");
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

/// A stream that notes what passes through it.
struct Watched {
    stream: TcpStream,
    activity: Activity,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        outcome
    }
}

impl Watched {
    fn note(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Pending => self.activity.waits_to_send(),
            Poll::Ready(Ok(bytes)) => self.activity.sent(*bytes),
            Poll::Ready(Err(_)) => {}
        }
        outcome
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Asked for once everything before it is written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.activity.sent_all();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of an answer; its request is being answered as long as it is there.
struct AnswerBody {
    body: Body,
    _answering: Answering,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
