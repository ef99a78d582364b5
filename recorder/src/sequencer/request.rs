//! What waits for the sequencer, and what it is answered.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;

use super::GroupLimits;
use crate::error::LedgerError;
use crate::incoming::{BlobTaken, Outcome, SaltedEvent, UploadedBlob};
use crate::metrics::QueuePlace;

/// What a caller waits for.
type Reply<T> = oneshot::Sender<Result<T, LedgerError>>;

/// A request to the sequencer.
pub(crate) struct Request {
    pub(crate) work: Work,
    pub(crate) bytes: usize,
    /// Its share of the queue's bytes, given back when it is answered.
    pub(crate) permit: OwnedSemaphorePermit,
    /// Keeps it counted as waiting until it is answered.
    pub(crate) place: QueuePlace,
    /// Id of the bearer key that it came with, if the group is to check that it is still valid.
    pub(crate) key: Option<Arc<str>>,
}

/// What is asked.
pub(crate) enum Work {
    Append {
        events: Vec<SaltedEvent>,
        reply: Reply<Vec<Outcome>>,
    },
    StoreBlob {
        blob: UploadedBlob,
        reply: Reply<BlobTaken>,
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
    BlobTaken(BlobTaken),
    /// Its key was revoked meanwhile.
    KeyRefused,
}

impl Answer {
    /// What became of its events.
    pub(super) fn outcomes(&self) -> &[Outcome] {
        match self {
            Self::Appended(outcomes) => outcomes,
            Self::BlobTaken(_) | Self::KeyRefused => &[],
        }
    }
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

/// Requests of a group from which on they are answered by a task of its own.
const SPREAD_MIN: usize = 4;

/// Answers each request. Each answer wakes a task: from the sequencer's thread, which is none of those that run them, every
/// one would go through the queue that all of these share. One task that wakes the others on a thread of theirs does not,
/// and the next group is begun meanwhile. `answering` holds these tasks until they end.
pub(super) fn answer(requests: Vec<Request>, answers: Vec<Answer>, answering: &mut JoinSet<()>) {
    while answering.try_join_next().is_some() {}
    if requests.len() < SPREAD_MIN {
        return answer_each(requests, answers);
    }
    answering.spawn(async move { answer_each(requests, answers) });
}

/// A client that is gone meanwhile gets no answer; its events are stored all the same.
fn answer_each(requests: Vec<Request>, answers: Vec<Answer>) {
    for (request, answer) in requests.into_iter().zip(answers) {
        // It waits no more once its client can know it.
        drop((request.permit, request.place));
        let gone = match (request.work, answer) {
            (Work::Append { reply, .. }, Answer::Appended(outcomes)) => {
                reply.send(Ok(outcomes)).is_err()
            }
            (Work::StoreBlob { reply, .. }, Answer::BlobTaken(taken)) => {
                reply.send(Ok(taken)).is_err()
            }
            (Work::Append { reply, .. }, Answer::KeyRefused) => {
                reply.send(Err(LedgerError::KeyRefused)).is_err()
            }
            (Work::StoreBlob { reply, .. }, Answer::KeyRefused) => {
                reply.send(Err(LedgerError::KeyRefused)).is_err()
            }
            _ => unreachable!("answers stand in the order of their requests"),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
    }
}

/// Answers each request with an error.
pub(super) fn refuse(requests: Vec<Request>, error: impl Fn() -> LedgerError) {
    for request in requests {
        drop((request.permit, request.place));
        let gone = match request.work {
            Work::Append { reply, .. } => reply.send(Err(error())).is_err(),
            Work::StoreBlob { reply, .. } => reply.send(Err(error())).is_err(),
        };
        if gone {
            tracing::debug!("a client left before its answer");
        }
    }
}
