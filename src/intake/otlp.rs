//! `POST /v1/traces`: spans from OpenTelemetry exporters (OTLP/HTTP, protobuf and JSON).
//!
//! The answers are chosen by what exporters do with them: 503 is tried again, 500 and 400 are dropped at once, and a partial
//! success is told to nobody. So whatever may pass later is 503, and rejected spans are recorded where the viewer shows them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode, header};
use remembrancer_capture::Written;
use remembrancer_capture::otlp::{
    self, Conversation, Export, Form, REJECTED_SESSION, Rejected, Session,
};
use remembrancer_recorder::{
    Intake, IntakeAnswer, IntakeDescription, IntakeRequest, LedgerError, Problem, Rejection, Slug,
    WorkspaceName,
};
use remembrancer_replay::SessionRecord;
use remembrancer_schema::SessionId;
use remembrancer_schema::payload::ParentSession;
use tokio::sync::Semaphore;

use super::sessions::{ForeignSession, Sessions};

/// Where exporters send to, unless they are told another path.
pub(crate) const PATH: &str = "/v1/traces";
/// Requests that are worked on at the same time: a body's spans take many times its size in memory.
const REQUESTS_AT_ONCE: usize = 8;
/// How long a request waits for its turn. Exporters give up after ten seconds, and do not try again then.
const WAIT: Duration = Duration::from_secs(5);
/// Traces of which is kept which session they began with.
const TRACES_MAX: usize = 4096;
/// Longest name of an exporter that is kept, in characters.
const SENDER_CHARS_MAX: usize = 128;
/// Seconds after which an exporter tries again where nothing says when.
const RETRY_SECONDS: u64 = 5;

/// The codes of `google.rpc.Code` that are answered with.
const INVALID_ARGUMENT: i32 = 3;
const PERMISSION_DENIED: i32 = 7;
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

impl ForeignSession for Session {
    fn new(session: SessionId) -> Self {
        Self::new(session)
    }

    fn learn(&mut self, record: &SessionRecord) {
        self.learn(record);
    }

    fn take(&mut self) -> Written {
        self.take()
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

/// Takes in traces.
pub(crate) struct Otlp {
    sessions: Arc<Sessions<Session>>,
    traces: Mutex<Traces>,
    working: Semaphore,
    wait: Duration,
}

/// The session that each trace began with, of the traces that were seen last.
#[derive(Default)]
struct Traces {
    first: HashMap<(WorkspaceName, String), SessionId>,
    order: VecDeque<(WorkspaceName, String)>,
}

impl Otlp {
    pub(crate) fn new() -> Self {
        Self {
            sessions: Arc::new(Sessions::new()),
            traces: Mutex::default(),
            working: Semaphore::new(REQUESTS_AT_ONCE),
            wait: WAIT,
        }
    }

    async fn export(&self, form: Form, request: &IntakeRequest) -> Result<IntakeAnswer, Problem> {
        let turn = tokio::time::timeout(self.wait, self.working.acquire()).await;
        let Ok(Ok(_working)) = turn else {
            let detail =
                "too many traces are being taken in; nothing was stored, try again shortly";
            return Err(Problem::new(Slug::Busy, detail));
        };
        let export = match decode(form, request).await? {
            Ok(export) => export,
            Err(error) => {
                self.keep_unreadable(request, &error.to_string()).await;
                let body = otlp::refused(form, INVALID_ARGUMENT, &error.to_string());
                let answer = IntakeAnswer::new(StatusCode::BAD_REQUEST, form.media_type(), body);
                return Ok(answer);
            }
        };
        let mut rejected = export.rejected;
        let mut failed = None;
        for conversation in export.conversations {
            // One session that cannot be written to keeps no other one out: what is sent again is told apart.
            match self.conversation(request, conversation).await {
                Ok(more) => rejected.extend(more),
                Err(error) => failed = Some(error),
            }
        }
        self.keep_rejected(request, &rejected).await?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let spans: BTreeSet<_> = rejected.iter().map(|one| (&one.trace, &one.span)).collect();
        let message = match rejected.first() {
            Some(first) => format!(
                "the first one: {}; the page /rejected of the viewer lists them",
                first.reason
            ),
            None => String::new(),
        };
        let body = otlp::accepted(form, spans.len(), &message);
        Ok(IntakeAnswer::new(StatusCode::OK, form.media_type(), body))
    }

    /// Records a conversation; its agents other than the main one have sessions of their own.
    async fn conversation(
        &self,
        request: &IntakeRequest,
        mut conversation: Conversation,
    ) -> Result<Vec<Rejected>, LedgerError> {
        let mut open = self.sessions.open(request, conversation.session()).await?;
        let others = conversation.split(open.state().agent());
        open.close();
        let mut rejected = self.session(request, conversation).await?;
        for other in others {
            rejected.extend(self.session(request, other).await?);
        }
        Ok(rejected)
    }

    async fn session(
        &self,
        request: &IntakeRequest,
        conversation: Conversation,
    ) -> Result<Vec<Rejected>, LedgerError> {
        if conversation.is_empty() {
            return Ok(Vec::new());
        }
        let (mut rejected, branches) = self.write(request, conversation, true).await?;
        for branch in branches {
            let (more, _) = self.write(request, branch, false).await?;
            rejected.extend(more);
        }
        Ok(rejected)
    }

    /// Records the spans of one session. Those that belong to its branches are returned, if it may have any: what is noted of
    /// them here is durable then.
    async fn write(
        &self,
        request: &IntakeRequest,
        mut conversation: Conversation,
        may_branch: bool,
    ) -> Result<(Vec<Rejected>, Vec<Conversation>), LedgerError> {
        let parent = self.parent(request, &conversation).await?;
        let mut open = self.sessions.open(request, conversation.session()).await?;
        let written = tokio::task::spawn_blocking(move || {
            let branches = match may_branch {
                true => open.state().branch(&mut conversation),
                false => Vec::new(),
            };
            let rejected = open.state().write(&conversation, parent);
            (open, conversation, branches, rejected)
        });
        let (open, conversation, branches, mut rejected) = written.await.map_err(|error| {
            LedgerError::Stopped(format!("spans could not be turned into events: {error}"))
        })?;
        let mut refused = Vec::new();
        for (id, reason) in open.append(request).await? {
            // Somebody else began the session in this moment: everything behind its start was recorded.
            if !matches!(reason, Rejection::SessionAlreadyStarted(_)) {
                refused.push(Rejected::of_event(&id, reason.to_string()));
            }
        }
        self.note_traces(request, &conversation);
        // A request whose note was refused is refused itself: nothing would tell which session it went to.
        let branches = branches.into_iter().map(|branch| branch.without(&refused));
        let branches = branches.collect();
        rejected.extend(refused);
        Ok((rejected, branches))
    }

    /// Who started a session that begins now: as its spans show, or else the one that its trace began with, if exactly one of
    /// that one's calls has not returned.
    async fn parent(
        &self,
        request: &IntakeRequest,
        conversation: &Conversation,
    ) -> Result<Option<ParentSession>, LedgerError> {
        if let Some((session, call_id)) = conversation.parent().cloned() {
            return Ok(Some(ParentSession { session, call_id }));
        }
        let known = request.reader().session(conversation.session()).await?;
        let Some(first) = self.first_of_trace(request, conversation) else {
            return Ok(None);
        };
        if known.is_some() || first == *conversation.session() {
            return Ok(None);
        }
        let mut open = self.sessions.open(request, &first).await?;
        let call_id = open.state().open_call().map(str::to_owned);
        open.close();
        Ok(call_id.map(|call_id| ParentSession {
            session: first,
            call_id: Some(call_id),
        }))
    }

    fn first_of_trace(
        &self,
        request: &IntakeRequest,
        conversation: &Conversation,
    ) -> Option<SessionId> {
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let workspace = request.workspace();
        conversation.traces().into_iter().find_map(|trace| {
            let key = (workspace.clone(), trace.to_owned());
            traces.first.get(&key).cloned()
        })
    }

    fn note_traces(&self, request: &IntakeRequest, conversation: &Conversation) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        for trace in conversation.traces() {
            let key = (request.workspace().clone(), trace.to_owned());
            if traces.first.contains_key(&key) {
                continue;
            }
            traces
                .first
                .insert(key.clone(), conversation.session().clone());
            traces.order.push_back(key);
            if traces.order.len() > TRACES_MAX
                && let Some(oldest) = traces.order.pop_front()
            {
                traces.first.remove(&oldest);
            }
        }
    }

    /// Records that a whole request could not be read. It stays refused where that fails: sending it again helps nobody.
    async fn keep_unreadable(&self, request: &IntakeRequest, reason: &str) {
        let name = match request.body.len() {
            0 => "a request".to_owned(),
            bytes => format!("a request of {bytes} bytes"),
        };
        let rejected = Rejected {
            trace: String::new(),
            span: String::new(),
            name,
            service: Some(sender(request)),
            reason: reason.to_owned(),
        };
        if let Err(problem) = self.keep_rejected(request, &[rejected]).await {
            tracing::error!(
                reason = problem.detail,
                "a request that cannot be read was not recorded"
            );
        }
    }

    async fn keep_rejected(
        &self,
        request: &IntakeRequest,
        rejected: &[Rejected],
    ) -> Result<(), Problem> {
        if rejected.is_empty() {
            return Ok(());
        }
        tracing::warn!(spans = rejected.len(), "spans were rejected");
        let session: SessionId = REJECTED_SESSION.parse().expect("it is in the alphabet");
        let mut open = self.sessions.open(request, &session).await?;
        open.state().reject(rejected).map_err(|error| {
            tracing::error!(%error, "rejected spans could not be recorded");
            Problem::new(Slug::Internal, "rejected spans could not be recorded")
        })?;
        for (id, reason) in open.append(request).await? {
            tracing::error!(%id, %reason, "rejected spans could not be recorded");
        }
        Ok(())
    }
}

/// Reads a request's spans where that holds up nobody.
async fn decode(
    form: Form,
    request: &IntakeRequest,
) -> Result<Result<Export, otlp::DecodeError>, Problem> {
    let body = request.body.clone();
    let decoded = tokio::task::spawn_blocking(move || Export::decode(form, &body));
    decoded.await.map_err(|error| {
        tracing::error!(%error, "spans could not be decoded");
        Problem::new(Slug::Internal, "the spans could not be decoded")
    })
}

#[async_trait]
impl Intake for Otlp {
    fn description(&self) -> IntakeDescription {
        IntakeDescription {
            summary: "Spans of agents: an ExportTraceServiceRequest of OTLP/HTTP",
            media_types: &["application/x-protobuf", "application/json"],
            answers: &[
                (
                    "200",
                    "Taken, durably; a partial success names how many spans were rejected",
                ),
                ("400", "Bytes that can never be accepted"),
                ("401", "No valid key"),
                ("403", "The key may not append"),
                ("413", "The body is too large, unpacked"),
                (
                    "415",
                    "Another media type, or a Content-Encoding that is not unpacked",
                ),
                (
                    "503",
                    "Not taken: send it again after the seconds of Retry-After",
                ),
            ],
        }
    }

    async fn take(&self, request: IntakeRequest) -> IntakeAnswer {
        let Some(form) = form_of(&request.headers) else {
            let problem = Problem::new(
                Slug::UnsupportedMediaType,
                "traces are application/x-protobuf or application/json",
            );
            self.unread(&request, &problem).await;
            return self.refuse(&request.headers, &problem);
        };
        match self.export(form, &request).await {
            Ok(answer) => answer,
            Err(problem) => self.refuse(&request.headers, &problem),
        }
    }

    async fn unread(&self, request: &IntakeRequest, problem: &Problem) {
        self.keep_unreadable(request, &problem.detail).await;
    }

    fn refuse(&self, headers: &HeaderMap, problem: &Problem) -> IntakeAnswer {
        let form = form_of(headers).unwrap_or(Form::Json);
        let status = problem.kind.status();
        let (status, code) = match status {
            StatusCode::UNAUTHORIZED => (status, UNAUTHENTICATED),
            StatusCode::FORBIDDEN => (status, PERMISSION_DENIED),
            // Exporters drop what is answered otherwise at once, and do not know 408; some drop what is answered 429.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE)
            }
            _ if status.is_server_error() => (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE),
            _ => (status, INVALID_ARGUMENT),
        };
        let body = otlp::refused(form, code, &problem.detail);
        let answer = IntakeAnswer::new(status, form.media_type(), body);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return answer.retry_after(problem.seconds_to_wait().unwrap_or(RETRY_SECONDS));
        }
        answer
    }
}

/// Who sent a request that names no service: the exporter as it calls itself, and its key.
fn sender(request: &IntakeRequest) -> String {
    let agent = request.headers.get(header::USER_AGENT);
    let agent = agent.map_or_else(Default::default, |agent| {
        String::from_utf8_lossy(agent.as_bytes())
    });
    let agent: String = agent.chars().take(SENDER_CHARS_MAX).collect();
    match agent.is_empty() {
        true => format!("key {}", request.key()),
        false => format!("{agent}, key {}", request.key()),
    }
}

fn form_of(headers: &HeaderMap) -> Option<Form> {
    Form::of(headers.get(header::CONTENT_TYPE)?.to_str().ok()?)
}

#[cfg(test)]
mod tests;
