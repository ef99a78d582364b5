//! `POST /hooks/claude`: hooks that a coding agent posts itself.
//!
//! The agent reads an answer's body into its context, or as a decision about what it is to do. So there is none, whatever
//! happened: what went wrong is in the status and in the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use remembrancer_capture::hook::{self, Arrival, Attached, HookPayload, Program, SessionStanding};
use remembrancer_recorder::{
    Intake, IntakeAnswer, IntakeDescription, IntakeRequest, LedgerError, Outcome, OwnedEvent,
    PAGE_ITEMS_MAX, Problem, Reader, Rejection, SessionSummary, WorkspaceName,
};
use remembrancer_schema::{Entry, Payload};
use tokio::sync::OwnedMutexGuard;

/// Where agents post to.
pub(crate) const CLAUDE_PATH: &str = "/hooks/claude";
/// Sessions that are remembered; of further ones, those are forgotten that were silent the longest, and found again in the ledger.
const SESSIONS_MAX: usize = 1_000;
/// Most runs of a session that are looked for in the ledger.
const RUNS_MAX: u32 = 1_000;
/// Most entries of a session that are read to find out how it stands.
const ENTRIES_MAX: u64 = 50_000;

type Key = (WorkspaceName, String);
/// What is known of a session. One request has it at a time, so that they are translated one after the other.
type Shared = Arc<tokio::sync::Mutex<SessionStanding>>;

/// Takes in the hooks of one program.
pub(crate) struct HookIntake {
    program: Program,
    sessions: Mutex<HashMap<Key, (Instant, Shared)>>,
}

/// Why a payload was not recorded.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error(transparent)]
    Unreadable(#[from] hook::PayloadUnreadable),
    #[error(transparent)]
    Write(#[from] remembrancer_capture::WriteError),
    #[error(transparent)]
    Event(#[from] remembrancer_schema::EventError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("an event was rejected: {0}")]
    Rejected(Rejection),
    #[error("reading what is recorded of the session ended badly: {0}")]
    Reading(#[from] tokio::task::JoinError),
}

impl HookIntake {
    /// For the hooks of a program.
    pub(crate) fn new(program: Program) -> Self {
        Self {
            program,
            sessions: Mutex::default(),
        }
    }

    /// What is known of a session, shared with the other requests of it.
    fn session(&self, key: Key) -> Shared {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&key) {
            let oldest = sessions
                .iter()
                // One that a request holds would be two if it were forgotten now.
                .filter(|(_, (_, shared))| Arc::strong_count(shared) == 1)
                .min_by_key(|(_, (used, _))| *used)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                sessions.remove(&oldest);
            }
        }
        let (used, shared) = sessions
            .entry(key)
            .or_insert_with(|| (Instant::now(), Shared::default()));
        *used = Instant::now();
        Arc::clone(shared)
    }

    /// What is known of a session, read from the ledger where that was not done yet. An agent that does not wait so long ends its
    /// request; the reading goes on, or a long session would never be known again.
    async fn restored(
        &self,
        shared: Shared,
        payload: &HookPayload<'_>,
        reader: &Reader,
    ) -> Result<OwnedMutexGuard<SessionStanding>, HookError> {
        let mut standing = shared.lock_owned().await;
        let agent_id = payload.agent_id();
        // A sub-agent's session names its parent's.
        if standing.knows(None) && standing.knows(agent_id.as_deref()) {
            return Ok(standing);
        }
        let (program, session, reader) = (self.program, payload.session_id.clone(), reader.clone());
        let reading = tokio::spawn(async move {
            for agent in [None, agent_id.as_deref()] {
                if !standing.knows(agent) {
                    restore(&mut standing, program, &session, agent, &reader).await?;
                }
            }
            Ok(standing)
        });
        reading.await?
    }

    async fn record(&self, request: &IntakeRequest) -> Result<(), HookError> {
        let payload = HookPayload::parse(&request.body)?;
        let key = (request.workspace().clone(), payload.session_id.clone());
        let shared = self.session(key);
        let mut standing = self.restored(shared, &payload, request.reader()).await?;
        let now = jiff::Timestamp::now();
        let (time, name) = (now.to_string(), uuid::Uuid::now_v7().simple().to_string());
        let arrival = Arrival {
            program: self.program,
            payload,
            name: &name,
            time: &time,
            // Its files are on another machine, as far as is known here.
            attached: Attached::default(),
        };
        let mut next = standing.clone();
        let written = hook::translate(&mut next, &arrival)?;
        for (_, bytes) in written.blobs {
            request.store_blob(Bytes::from(bytes)).await?;
        }
        let events = written.events.into_iter();
        let events: Result<Vec<OwnedEvent>, _> = events
            .map(|event| OwnedEvent::parse(Bytes::from(event.bytes)))
            .collect();
        let outcomes = request.append(events?).await?;
        let mut rejections = outcomes.into_iter().filter_map(|outcome| match outcome {
            Outcome::Rejected(rejection) => Some(rejection),
            Outcome::Recorded { .. } | Outcome::Duplicate { .. } => None,
        });
        if let Some(rejection) = rejections.next() {
            // The ledger knows better how the session stands: the next hook looks there.
            *standing = SessionStanding::default();
            return Err(HookError::Rejected(rejection));
        }
        *standing = next;
        Ok(())
    }
}

/// Finds out from the ledger how a session stands: after a restart.
async fn restore(
    standing: &mut SessionStanding,
    program: Program,
    session: &str,
    agent: Option<&str>,
    reader: &Reader,
) -> Result<(), HookError> {
    let mut newest: Option<(u32, SessionSummary)> = None;
    for run in 1..=RUNS_MAX {
        let id = hook::session_id(program, session, agent, run)?;
        match reader.session(&id).await? {
            Some(session) => newest = Some((run, session)),
            None => break,
        }
    }
    if let Some((run, session)) = newest {
        let recorded = payloads(reader, &session).await?;
        standing.restore(agent, run, &recorded);
    }
    Ok(())
}

/// The payloads of a session, in order.
async fn payloads(reader: &Reader, session: &SessionSummary) -> Result<Vec<Payload>, HookError> {
    let mut payloads = Vec::new();
    let (mut after, mut read) = (None::<String>, 0);
    loop {
        let page = reader
            .session_entries(session, after.as_deref(), PAGE_ITEMS_MAX)
            .await?;
        for stored in &page.items {
            read += 1;
            let entry = Entry::from_bytes(&stored.bytes).ok();
            let payload = entry.zip(stored.data.as_deref());
            // What was redacted, or cannot be read, says nothing.
            payloads
                .extend(payload.and_then(|(entry, data)| Payload::parse(&entry.kind, data).ok()));
        }
        after = page.next;
        if after.is_none() || read >= ENTRIES_MAX {
            return Ok(payloads);
        }
    }
}

#[async_trait]
impl Intake for HookIntake {
    fn description(&self) -> IntakeDescription {
        IntakeDescription {
            summary: "Takes the payload of a coding agent's hook. Answers without a body, always: the agent would read it",
            media_types: &["application/json"],
            answers: &[
                ("204", "Recorded"),
                ("4XX", "Not recorded; no body"),
                (
                    "503",
                    "Not recorded, the ledger does not write at the moment; no body",
                ),
            ],
        }
    }

    async fn take(&self, request: IntakeRequest) -> IntakeAnswer {
        match self.record(&request).await {
            Ok(()) => IntakeAnswer::empty(StatusCode::NO_CONTENT),
            Err(HookError::Ledger(error)) => {
                tracing::warn!(%error, "a hook was not recorded");
                self.refuse(&request.headers, &Problem::from(error))
            }
            Err(error @ HookError::Unreadable(_)) => {
                tracing::warn!(%error, "a hook was not recorded");
                IntakeAnswer::empty(StatusCode::BAD_REQUEST)
            }
            Err(error) => {
                tracing::error!(%error, "a hook was not recorded");
                IntakeAnswer::empty(StatusCode::UNPROCESSABLE_ENTITY)
            }
        }
    }

    fn refuse(&self, _: &HeaderMap, problem: &Problem) -> IntakeAnswer {
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let answer = IntakeAnswer::empty(status);
        match problem.seconds_to_wait() {
            Some(seconds) => answer.retry_after(seconds),
            None => answer,
        }
    }
}
