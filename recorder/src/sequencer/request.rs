//! What waits for the sequencer, and what it is answered.

use bytes::Bytes;
use remembrancer_schema::ContentHash;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::GroupLimits;
use crate::error::LedgerError;
use crate::incoming::{Outcome, SaltedEvent};

/// What a caller waits for.
type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// A request to the sequencer.
pub(crate) struct Request {
    pub(crate) work: Work,
    pub(crate) bytes: usize,
    /// Its share of the queue's bytes, given back when it is answered.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// What is asked.
pub(crate) enum Work {
    Append {
        events: Vec<SaltedEvent>,
        reply: Reply<Vec<Outcome>>,
    },
    StoreBlob {
        hash: ContentHash,
        bytes: Bytes,
        reply: Reply<bool>,
    },
}

impl Request {
    fn events(&self) -> usize {
        match &self.work {
            Work::Append { events, .. } => events.len(),
            Work::StoreBlob { .. } => 1,
        }
    }
}

/// The answers of a group, in the order of its requests.
pub(super) enum Answer {
    Appended(Vec<Outcome>),
    BlobStored(bool),
}

/// Takes what waits behind the first request, up to a group's limits.
pub(super) fn collect(
    first: Request,
    queue: &mut mpsc::Receiver<Request>,
    limits: GroupLimits,
) -> Vec<Request> {
    let mut events = first.events();
    let mut bytes = first.bytes;
    let mut requests = vec![first];
    while events < limits.events && bytes < limits.bytes {
        let Ok(request) = queue.try_recv() else { break };
        events += request.events();
        bytes += request.bytes;
        requests.push(request);
    }
    requests
}

/// Answers each request. A client that is gone meanwhile gets no answer; its events are stored all the same.
pub(super) fn answer(requests: Vec<Request>, answers: Vec<Answer>) {
    for (request, answer) in requests.into_iter().zip(answers) {
        let gone = match (request.work, answer) {
            (Work::Append { reply, .. }, Answer::Appended(outcomes)) => {
                reply.send(Ok(outcomes)).is_err()
            }
            (Work::StoreBlob { reply, .. }, Answer::BlobStored(is_new)) => {
                reply.send(Ok(is_new)).is_err()
            }
            _ => unreachable!("answers stand in the order of their requests"),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
        drop(request.permit);
    }
}

/// Answers each request with an error.
pub(super) fn refuse(requests: Vec<Request>, error: impl Fn() -> LedgerError) {
    for request in requests {
        let gone = match request.work {
            Work::Append { reply, .. } => reply.send(Err(error())).is_err(),
            Work::StoreBlob { reply, .. } => reply.send(Err(error())).is_err(),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
        drop(request.permit);
    }
}
