//! Bodies that are copied while they pass: each piece is passed on as it comes, and kept by reference.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body, Frame, SizeHint};
use jiff::Timestamp;
use tokio::time::{Sleep, sleep};

use super::queue::{AnsweredMessage, AskedMessage, Message, Queue};
use crate::call_recorder::Ending;
use crate::model_api::Api;

/// Most bytes of a request or an answer that are kept for recording; longer ones pass all the same.
const COPY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) api: Api,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) queue: Queue,
    /// Whether the request was handed over, or counted as lost.
    pub(super) is_asked: AtomicBool,
}

impl Exchange {
    /// Counts it as lost.
    fn lost(&self, reason: &'static str) {
        self.queue.losses.one(self.session.as_deref(), reason);
    }
}

/// The pieces of a body, as many as are kept.
#[derive(Debug)]
struct Copy {
    queue: Queue,
    pieces: Vec<Bytes>,
    /// Bytes that passed.
    bytes: usize,
    /// Bytes whose room was taken.
    held: usize,
    is_cut: bool,
}

impl Copy {
    fn new(queue: &Queue) -> Self {
        Self {
            queue: queue.clone(),
            pieces: Vec::new(),
            bytes: 0,
            held: 0,
            is_cut: false,
        }
    }

    fn take(&mut self, piece: &Bytes) {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.is_cut {
            return;
        }
        if self.bytes > COPY_BYTES_MAX || !self.queue.reserve(piece.len()) {
            self.is_cut = true;
            self.give_back();
            return;
        }
        self.held += piece.len();
        self.pieces.push(piece.clone());
    }

    /// The pieces, whose room is from now on that of the message which holds them.
    fn hand_over(&mut self) -> Vec<Bytes> {
        self.held = 0;
        std::mem::take(&mut self.pieces)
    }

    fn give_back(&mut self) {
        self.pieces.clear();
        self.queue.release(std::mem::take(&mut self.held));
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A request's body on its way.
pub(super) struct RequestTap {
    inner: BodyDataStream,
    /// Its announced length: whoever sends it may stop asking for more once it has that many bytes.
    length: Option<u64>,
    copy: Copy,
    exchange: Option<Arc<Exchange>>,
}

impl RequestTap {
    pub(super) fn new(inner: BodyDataStream, length: Option<u64>, exchange: Arc<Exchange>) -> Self {
        let mut tap = Self {
            inner,
            length,
            copy: Copy::new(&exchange.queue),
            exchange: Some(exchange),
        };
        if length == Some(0) {
            tap.ended();
        }
        tap
    }

    /// All of it came: hands it over, once.
    fn ended(&mut self) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        if exchange.is_asked.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.copy.is_cut {
            exchange
                .lost("a request was larger than what is kept of one, or there was no room for it");
            return;
        }
        let asked = Message::Asked(AskedMessage {
            exchange: exchange.number,
            api: exchange.api,
            body: self.copy.hand_over(),
            session: exchange.session.clone(),
            agent: exchange.agent.clone(),
            at: Timestamp::now(),
        });
        exchange.queue.send(asked, exchange.session.as_deref());
    }
}

impl Stream for RequestTap {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = ready!(Pin::new(&mut self.inner).poll_next(cx));
        match &polled {
            Some(Ok(piece)) => {
                self.copy.take(piece);
                if self
                    .length
                    .is_some_and(|length| self.copy.bytes as u64 >= length)
                {
                    self.ended();
                }
            }
            // Broken off by the client: the API does not take it for a request either.
            Some(Err(_)) => self.exchange = None,
            None => self.ended(),
        }
        Poll::Ready(polled)
    }
}

/// Tells how an exchange ended, also when whoever waits for its answer is gone.
#[derive(Debug)]
pub(super) struct Answer {
    exchange: Option<Arc<Exchange>>,
    status: Option<u16>,
    is_stream: bool,
    /// The announced length.
    length: Option<u64>,
    copy: Copy,
}

impl Answer {
    /// An answer that did not begin yet.
    pub(super) fn awaited(exchange: Arc<Exchange>) -> Self {
        Self {
            status: None,
            is_stream: false,
            length: None,
            copy: Copy::new(&exchange.queue),
            exchange: Some(exchange),
        }
    }

    /// Its head came.
    pub(super) fn begun(&mut self, status: u16, is_stream: bool, length: Option<u64>) {
        self.status = Some(status);
        self.is_stream = is_stream;
        self.length = length;
    }

    /// It ended: hands over what came of it, once.
    pub(super) fn ended(&mut self, ending: Ending) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        if self.status.is_some() && !exchange.is_asked.swap(true, Ordering::Relaxed) {
            exchange.lost("an answer came before all of its request had passed");
            return;
        }
        let answered = Message::Answered(AnsweredMessage {
            exchange: exchange.number,
            status: self.status,
            is_stream: self.is_stream,
            body: self.copy.hand_over(),
            ending: if self.copy.is_cut {
                Ending::TooLong
            } else {
                ending
            },
            at: Timestamp::now(),
        });
        exchange.queue.send(answered, exchange.session.as_deref());
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // A body with a length is not asked again once all of it came.
        let is_whole = self
            .length
            .is_some_and(|length| self.copy.bytes as u64 >= length);
        self.ended(if is_whole {
            Ending::Whole
        } else {
            Ending::ClientLeft
        });
    }
}

/// How long a break is held back, so that what came before it reaches the client: a connection that is broken off sends nothing
/// more.
const BREAK_PAUSE: Duration = Duration::from_millis(50);

/// An answer's body on its way.
pub(super) struct ResponseTap<B: Body> {
    inner: B,
    answer: Answer,
    broken: Option<(B::Error, Pin<Box<Sleep>>)>,
}

impl<B: Body> ResponseTap<B> {
    pub(super) fn new(inner: B, answer: Answer) -> Self {
        Self {
            inner,
            answer,
            broken: None,
        }
    }
}

impl<B> Body for ResponseTap<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if this.broken.is_none() {
            match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Some(piece) = frame.data_ref() {
                        this.answer.copy.take(piece);
                        // Whoever sends it on asks no more then: over HTTP/2 the last piece says that it is the last.
                        if this.inner.is_end_stream() {
                            this.answer.ended(Ending::Whole);
                        }
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                None => {
                    this.answer.ended(Ending::Whole);
                    return Poll::Ready(None);
                }
                Some(Err(error)) => {
                    this.answer.ended(Ending::UpstreamBroke);
                    this.broken = Some((error, Box::pin(sleep(BREAK_PAUSE))));
                }
            }
        }
        if let Some((_, pause)) = &mut this.broken {
            ready!(pause.as_mut().poll(cx));
        }
        Poll::Ready(this.broken.take().map(|(error, _)| Err(error)))
    }

    fn is_end_stream(&self) -> bool {
        self.broken.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::queue;
    use super::*;

    /// One piece that says itself that it is the last.
    struct LastPiece(Option<Bytes>);

    impl Body for LastPiece {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Ready(self.0.take().map(|piece| Ok(Frame::data(piece))))
        }

        fn is_end_stream(&self) -> bool {
            self.0.is_none()
        }
    }

    fn exchange(is_asked: bool) -> (Arc<Exchange>, super::super::queue::Messages) {
        let (queue, messages) = queue();
        let exchange = Exchange {
            number: queue.number(),
            api: Api::OpenAiChat,
            session: Some("run-7".to_owned()),
            agent: None,
            queue,
            is_asked: AtomicBool::new(is_asked),
        };
        (Arc::new(exchange), messages)
    }

    #[test]
    fn an_answer_before_the_end_of_its_request_is_a_loss_of_the_session_that_is_named() {
        let (exchange, messages) = exchange(false);
        let body = axum::body::Body::from("{}").into_data_stream();
        let mut upload = RequestTap::new(body, None, Arc::clone(&exchange));
        let mut answer = Answer::awaited(Arc::clone(&exchange));
        answer.begun(413, false, Some(0));
        drop(answer);
        let lost = exchange.queue.losses.take();
        assert_eq!(lost[&Some("run-7".to_owned())].count, 1);
        upload.ended();
        assert!(messages.waiting().is_none(), "it is counted already");
    }

    #[tokio::test]
    async fn an_answer_whose_last_piece_says_so_is_whole_though_nobody_asks_for_more() {
        let (exchange, messages) = exchange(true);
        let mut answer = Answer::awaited(exchange);
        answer.begun(200, false, None);
        let mut tap = ResponseTap::new(LastPiece(Some(Bytes::from_static(b"{}"))), answer);
        let frame = std::future::poll_fn(|cx| Pin::new(&mut tap).poll_frame(cx)).await;
        assert!(frame.is_some_and(|frame| frame.is_ok()) && tap.is_end_stream());
        drop(tap);
        let Some(Message::Answered(told)) = messages.waiting() else {
            panic!("the answer is told");
        };
        assert_eq!(
            (told.ending, told.body.concat()),
            (Ending::Whole, b"{}".to_vec())
        );
        assert!(messages.waiting().is_none());
    }
}
