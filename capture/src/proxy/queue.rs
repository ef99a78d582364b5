//! The way from the path of requests to the thread that records: bounded, and never waited for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::call_recorder::Ending;
use crate::model_api::Api;

/// Most messages that wait.
const MESSAGES_MAX: usize = 4096;
/// How often the thread looks whether it should end.
const LOOK: Duration = Duration::from_millis(100);
/// Most bytes that are held: of bodies that pass, and of messages that wait.
const BYTES_MAX: usize = 512 * 1024 * 1024;

/// A request that passed.
#[derive(Debug)]
pub(super) struct AskedMessage {
    pub(super) exchange: u64,
    pub(super) api: Api,
    pub(super) body: Vec<Bytes>,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) at: Timestamp,
}

/// What came back for it.
#[derive(Debug)]
pub(super) struct AnsweredMessage {
    pub(super) exchange: u64,
    pub(super) status: Option<u16>,
    pub(super) is_stream: bool,
    pub(super) body: Vec<Bytes>,
    pub(super) ending: Ending,
    pub(super) at: Timestamp,
}

/// One of both.
#[derive(Debug)]
pub(super) enum Message {
    Asked(AskedMessage),
    Answered(AnsweredMessage),
}

impl Message {
    fn bytes(&self) -> usize {
        let body = match self {
            Self::Asked(asked) => &asked.body,
            Self::Answered(answered) => &answered.body,
        };
        body.iter().map(Bytes::len).sum()
    }
}

/// Exchanges that passed and were not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) count: u64,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) reason: &'static str,
}

/// Most sessions whose losses are counted by themselves.
const NAMED_MAX: usize = 64;

/// The count of what was lost since it was told last: by the session that a header names, or else together.
#[derive(Debug, Clone, Default)]
pub(super) struct Losses(Arc<Mutex<BTreeMap<Option<String>, Lost>>>);

impl Losses {
    pub(super) fn add(&self, session: Option<&str>, lost: Lost) {
        let mut held = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let session = session.map(str::to_owned);
        let has_place = held.len() < NAMED_MAX || held.contains_key(&session);
        let session = session.filter(|_| has_place);
        let sum = match held.remove(&session) {
            None => lost,
            Some(before) => Lost {
                count: before.count.saturating_add(lost.count),
                first: before.first.min(lost.first),
                last: before.last.max(lost.last),
                reason: lost.reason,
            },
        };
        held.insert(session, sum);
    }

    pub(super) fn one(&self, session: Option<&str>, reason: &'static str) {
        let now = Timestamp::now();
        let lost = Lost {
            count: 1,
            first: now,
            last: now,
            reason,
        };
        self.add(session, lost);
    }

    pub(super) fn take(&self) -> BTreeMap<Option<String>, Lost> {
        let mut held = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        std::mem::take(&mut *held)
    }
}

/// The end that exchanges write to.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    sender: SyncSender<Message>,
    bytes: Arc<AtomicUsize>,
    next: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
    pub(super) losses: Losses,
}

/// The end that the thread reads from.
#[derive(Debug)]
pub(super) struct Messages {
    receiver: Receiver<Message>,
    bytes: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
}

/// A new queue.
pub(super) fn queue() -> (Queue, Messages) {
    let (sender, receiver) = sync_channel(MESSAGES_MAX);
    let bytes = Arc::new(AtomicUsize::new(0));
    let queue = Queue {
        sender,
        bytes: Arc::clone(&bytes),
        next: Arc::default(),
        is_stopped: Arc::default(),
        losses: Losses::default(),
    };
    let is_stopped = Arc::clone(&queue.is_stopped);
    (
        queue,
        Messages {
            receiver,
            bytes,
            is_stopped,
        },
    )
}

impl Queue {
    /// A number for an exchange.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes room for bytes that are held; `false` if there is none.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before.saturating_add(bytes) <= BYTES_MAX;
        if !has_room {
            self.release(bytes);
        }
        has_room
    }

    /// Gives room back.
    pub(super) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Hands a message over whose room was taken, or counts it as lost; never waits.
    pub(super) fn send(&self, message: Message, session: Option<&str>) {
        let bytes = message.bytes();
        let is_asked = matches!(message, Message::Asked(_));
        if self.sender.try_send(message).is_err() {
            self.release(bytes);
            let reason = match is_asked {
                true => "requests passed faster than they could be recorded",
                false => "answers passed faster than they could be recorded",
            };
            self.losses.one(session, reason);
        }
    }

    /// Lets the thread end when it has taken what waits, whoever still holds the queue.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl Messages {
    /// The next message if one waits.
    pub(super) fn waiting(&self) -> Option<Message> {
        let message = self.receiver.try_recv().ok()?;
        self.bytes.fetch_sub(message.bytes(), Ordering::Relaxed);
        Some(message)
    }

    /// The next message, or nothing once the queue is stopped or gone and everything was taken.
    pub(super) fn next(&self) -> Option<Message> {
        loop {
            let is_stopped = self.is_stopped.load(Ordering::Relaxed);
            match self.receiver.recv_timeout(LOOK) {
                Ok(message) => {
                    self.bytes.fetch_sub(message.bytes(), Ordering::Relaxed);
                    return Some(message);
                }
                Err(RecvTimeoutError::Timeout) if !is_stopped => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> Message {
        Message::Asked(AskedMessage {
            exchange: 0,
            api: Api::OpenAiChat,
            body: vec![Bytes::from(vec![0; bytes])],
            session: None,
            agent: None,
            at: Timestamp::UNIX_EPOCH,
        })
    }

    #[test]
    fn what_does_not_fit_is_counted_and_nobody_waits() {
        let (queue, messages) = queue();
        for _ in 0..MESSAGES_MAX + 3 {
            assert!(queue.reserve(1));
            queue.send(message(1), None);
        }
        assert!(queue.reserve(1));
        queue.send(message(1), Some("run-7"));
        let lost = queue.losses.take();
        let named = Some("run-7".to_owned());
        assert_eq!((lost[&None].count, lost[&named].count), (3, 1));
        assert!(lost[&None].first <= lost[&None].last && queue.losses.take().is_empty());
        assert!(messages.next().is_some());
        assert!(queue.reserve(1));
        queue.send(message(1), None);
        assert!(queue.losses.take().is_empty(), "there is room again");
        while messages.receiver.try_recv().is_ok() {}
    }

    #[test]
    fn bytes_that_are_held_are_bounded_too() {
        let (queue, messages) = queue();
        assert!(queue.reserve(BYTES_MAX - 10));
        assert!(!queue.reserve(11) && queue.reserve(10));
        queue.send(message(10), None);
        assert!(messages.next().is_some());
        assert!(queue.reserve(10), "what was taken makes room");
        queue.release(10);
        assert_eq!(queue.bytes.load(Ordering::Relaxed), BYTES_MAX - 10);
    }

    #[test]
    fn what_waits_is_taken_before_the_thread_ends() {
        let (queue, messages) = queue();
        assert!(queue.reserve(2));
        queue.send(message(2), None);
        queue.stop();
        assert!(messages.next().is_some() && messages.next().is_none());
        let (queue, messages) = super::queue();
        drop(queue);
        assert!(messages.next().is_none());
    }
}
