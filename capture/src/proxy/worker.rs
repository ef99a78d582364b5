//! The thread that records: it takes what passed from the queue, makes events of it, and appends them to the spool.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use bytes::Bytes;
use jiff::Timestamp;
use remembrancer_schema::SessionId;
use serde_json::json;
use tokio::sync::Notify;

use super::queue::{AnsweredMessage, AskedMessage, Losses, Lost, Message, Messages, Queue, queue};
use super::remembered::Remembered;
use crate::Written;
use crate::call_recorder::{Answered, Asked, CallError, CallPlace, CallRecorder, SessionRules};
use crate::conversation::session_name;
use crate::cut::prefix;
use crate::spool::{Record, Spool};

/// Most exchanges whose answer is awaited.
const AWAITED_MAX: usize = 100_000;
/// Most messages that go to the disk together.
const GROUP_MAX: usize = 256;
/// Most sessions that are told about a loss which belongs to one that is not known.
const TOLD_SESSIONS_MAX: usize = 64;
/// A session that was used so long before a loss may be concerned, in milliseconds.
const CONCERNED_MS: i64 = 10 * 60 * 1000;

/// The thread's own.
pub(super) struct Worker {
    messages: Messages,
    losses: Losses,
    recorder: CallRecorder,
    spool: Arc<Spool>,
    appended: Arc<Notify>,
    remembered: Remembered,
    run: String,
    awaited: BTreeMap<u64, CallPlace>,
    /// When a session was used last, in milliseconds.
    used: BTreeMap<SessionId, i64>,
    gaps: u64,
}

impl Worker {
    /// Starts the thread. It ends when the queue is gone and everything in it was taken.
    pub(super) fn start(
        spool: Arc<Spool>,
        appended: Arc<Notify>,
        upstream: &str,
        rules: SessionRules,
    ) -> io::Result<(Queue, JoinHandle<()>)> {
        let (queue, messages) = queue();
        let remembered = Remembered::beside(spool.folder(), upstream);
        let run = uuid::Uuid::now_v7().simple().to_string();
        let mut recorder = CallRecorder::new(run.clone(), rules);
        for conversation in remembered.load(SystemTime::now()) {
            recorder.remember(conversation);
        }
        let mut worker = Self {
            messages,
            losses: queue.losses.clone(),
            recorder,
            spool,
            appended,
            remembered,
            run,
            awaited: BTreeMap::new(),
            used: BTreeMap::new(),
            gaps: 0,
        };
        let thread = std::thread::Builder::new().name("recording".to_owned());
        let handle = thread.spawn(move || {
            while let Some(first) = worker.messages.next() {
                worker.handle_safely(first);
                // What waits goes to the disk together: one wait for it costs more than many exchanges.
                for _ in 1..GROUP_MAX {
                    let Some(message) = worker.messages.waiting() else { break };
                    worker.handle_safely(message);
                }
                if let Err(error) = worker.spool.sync() {
                    tracing::warn!(%error, "what was recorded last may not survive the end of the machine");
                }
            }
            worker.tell_last_losses();
        })?;
        Ok((queue, handle))
    }

    /// Handles a message. One exchange that cannot be recorded must not end the recording of all others.
    fn handle_safely(&mut self, message: Message) {
        let handled = catch_unwind(AssertUnwindSafe(|| self.handle(message)));
        if handled.is_err() {
            tracing::error!("recording an exchange failed");
            self.losses.one(None, "recording it failed");
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Asked(asked) => self.asked(asked),
            Message::Answered(answered) => self.answered(answered),
        }
        self.tell_losses();
    }

    fn asked(&mut self, message: AskedMessage) {
        let fresh = format!("proxy-{}", uuid::Uuid::now_v7());
        let Ok(fresh) = fresh.parse::<SessionId>() else {
            return;
        };
        let body = joined(&message.body);
        let time = message.at.to_string();
        let asked = Asked {
            api: message.api,
            body: &body,
            session: message.session.as_deref(),
            agent: message
                .agent
                .as_deref()
                .and_then(|agent| agent.parse().ok()),
            time: &time,
            fresh: &fresh,
        };
        match self.recorder.asked(&asked) {
            Ok((place, written)) => {
                self.keep(&place.session, written, message.at);
                if self.awaited.len() >= AWAITED_MAX {
                    self.awaited.pop_first();
                }
                self.awaited.insert(message.exchange, place);
            }
            Err(error) => {
                let reason = match error {
                    CallError::Read(_) => "a request could not be read as what its address says",
                    CallError::Write(_) => "a request could not be written as events",
                };
                let error = shown(&error);
                tracing::warn!(
                    error,
                    api = message.api.as_str(),
                    "a request passed and is not recorded"
                );
                let at = message.at;
                let lost = Lost {
                    count: 1,
                    first: at,
                    last: at,
                    reason,
                };
                self.losses.add(message.session.as_deref(), lost);
            }
        }
    }

    fn answered(&mut self, message: AnsweredMessage) {
        // Without a request that was recorded there is nothing to answer; that it was not is counted there.
        let Some(place) = self.awaited.remove(&message.exchange) else {
            return;
        };
        let body = joined(&message.body);
        let answered = Answered {
            status: message.status,
            is_stream: message.is_stream,
            body: &body,
            ending: message.ending,
            time: &message.at.to_string(),
        };
        match self.recorder.answered(&place, answered) {
            Ok(written) => self.keep(&place.session, written, message.at),
            Err(error) => {
                let error = shown(&error);
                tracing::warn!(error, session = %place.session, "an answer passed and is not recorded");
                drop(self.spool.note_gap(
                    &place.session,
                    1,
                    "an answer could not be written as events",
                ));
            }
        }
    }

    fn keep(&mut self, session: &SessionId, written: Written, at: Timestamp) {
        let records = records(written);
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.spool.append(session, &records) {
            // The spool has counted it. What was not kept is sent again with the next request.
            tracing::warn!(%error, %session, "events are lost; the agent is not concerned");
            self.recorder.lost(session);
            return;
        }
        self.appended.notify_one();
        self.used.insert(session.clone(), at.as_millisecond());
        if self.used.len() > TOLD_SESSIONS_MAX * 4 {
            let oldest = self
                .used
                .iter()
                .min_by_key(|(_, at)| **at)
                .map(|(session, _)| session.clone());
            oldest.map(|session| self.used.remove(&session));
        }
        if let Some(conversation) = self.recorder.conversation(session)
            && let Err(error) = self.remembered.save(conversation)
        {
            tracing::warn!(%error, %session, "the conversation is not remembered for the next start");
        }
        for forgotten in self.recorder.take_forgotten() {
            self.remembered.forget(&forgotten);
        }
    }

    /// Tells about exchanges that were not recorded, in every session that they may belong to.
    fn tell_losses(&mut self) {
        for (session, lost) in self.losses.take() {
            match session {
                Some(name) => self.count_gap(&session_name(&name, 1), &lost),
                None => self.tell_concerned(lost),
            }
        }
    }

    /// At the end nobody is waited for: what has no session to tell is counted beside the sessions.
    fn tell_last_losses(&mut self) {
        self.tell_losses();
        for lost in self.losses.take().into_values() {
            self.count_gap(&crate::delivery::gaps_session(), &lost);
        }
    }

    /// Counts it in the spool, from where it is told. Where even that fails nobody is left to tell.
    fn count_gap(&self, session: &SessionId, lost: &Lost) {
        match self.spool.note_gap(session, lost.count, lost.reason) {
            Ok(()) => self.appended.notify_one(),
            Err(error) => tracing::warn!(%error, %session, "exchanges passed and are not counted"),
        }
    }

    fn tell_concerned(&mut self, lost: Lost) {
        let from = lost.first.as_millisecond() - CONCERNED_MS;
        let mut concerned: Vec<(i64, SessionId)> = self
            .used
            .iter()
            .filter(|(_, at)| **at >= from)
            .map(|(session, at)| (*at, session.clone()))
            .collect();
        if concerned.is_empty() {
            // Nobody to tell yet: with the next session that is used.
            self.losses.add(None, lost);
            return;
        }
        concerned.sort();
        self.gaps += 1;
        for (_, session) in concerned.into_iter().rev().take(TOLD_SESSIONS_MAX) {
            let event = json!({
                "id": format!("{}.gap.{}", self.run, self.gaps),
                "session": session,
                "type": "custom.gap",
                "data": {
                    "count": lost.count,
                    "first": lost.first.to_string(),
                    "last": lost.last.to_string(),
                    "reason": lost.reason,
                    "scope": "the proxy: whether they belong to this session is not known",
                },
            });
            let record = Record::Event(event.to_string().into_bytes());
            match self.spool.append(&session, &[record]) {
                Ok(()) => self.appended.notify_one(),
                Err(error) => tracing::warn!(%error, %session, "a gap is counted in the spool"),
            }
        }
    }
}

/// An error for the log: it may name what a provider sent.
fn shown(error: &impl ToString) -> String {
    prefix(&error.to_string(), 300).escape_debug().to_string()
}

fn joined(pieces: &[Bytes]) -> Bytes {
    match pieces {
        [one] => one.clone(),
        many => many.concat().into(),
    }
}

/// The records of events, behind the blobs that they name.
fn records(written: Written) -> Vec<Record> {
    let blobs = written.blobs.into_values().map(Record::Blob);
    let events = written
        .events
        .into_iter()
        .map(|event| Record::Event(event.bytes));
    blobs.chain(events).collect()
}
