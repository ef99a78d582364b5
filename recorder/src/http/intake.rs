//! Routes for what other programs send in forms of their own. The program passes in what understands each form; here such a
//! route is guarded as `POST /v1/events` is: key, role, rate, size, packing, time.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use remembrancer_schema::ContentHash;

use super::access::{self, Answered, Caller};
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use super::{body, events};
use crate::error::LedgerError;
use crate::incoming::{Outcome, OwnedEvent};
use crate::reader::Reader;
use crate::store::WorkspaceName;

/// What an intake is, for the description of the API.
#[derive(Debug, Clone, Copy)]
pub struct IntakeDescription {
    /// What it takes, in one line.
    pub summary: &'static str,
    /// The media types that it reads.
    pub media_types: &'static [&'static str],
    /// Status codes that it answers with, and what each means.
    pub answers: &'static [(&'static str, &'static str)],
}

/// A request that was let in: its body is whole, unpacked, and within the limits.
pub struct IntakeRequest {
    /// The path that the intake is mounted at.
    pub path: &'static str,
    /// The headers as sent, without the key.
    pub headers: HeaderMap,
    /// The body, unpacked.
    pub body: Bytes,
    workspace: Workspace,
    caller: Caller,
}

impl IntakeRequest {
    /// The ledger of the key's workspace, for reading.
    pub fn reader(&self) -> &Reader {
        self.workspace.reader()
    }

    /// The key's workspace.
    pub fn workspace(&self) -> &WorkspaceName {
        &self.reader().location().workspace
    }

    /// The id of the key that it came with: public, as the log has it.
    pub fn key(&self) -> &str {
        &self.caller.id
    }

    /// Appends events and waits until they are durable; one outcome per event. Answers [`LedgerError::Busy`] where the ledger
    /// has no room, and [`LedgerError::KeyRefused`] where the key was revoked meanwhile.
    pub async fn append(&self, events: Vec<OwnedEvent>) -> Result<Vec<Outcome>, LedgerError> {
        let key = Arc::clone(&self.caller.id);
        let appended = self.workspace.ledger().try_append_with(events, key).await;
        self.forget_refused(&appended);
        appended
    }

    /// Stores a blob and waits until it is durable; false if it is stored already. Fails as [`Self::append`] does.
    pub async fn store_blob(&self, bytes: Bytes) -> Result<(ContentHash, bool), LedgerError> {
        let key = Arc::clone(&self.caller.id);
        let ledger = self.workspace.ledger();
        let stored = ledger.try_store_blob_with(bytes, key).await;
        self.forget_refused(&stored);
        stored
    }

    fn forget_refused<T>(&self, done: &Result<T, LedgerError>) {
        if matches!(done, Err(LedgerError::KeyRefused)) {
            self.reader().keys().forget(&self.caller.id);
        }
    }
}

/// The answer of an intake, sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeAnswer {
    /// The status code.
    pub status: StatusCode,
    /// The body's media type, where there is a body.
    pub content_type: Option<&'static str>,
    /// The body.
    pub body: Vec<u8>,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
}

impl IntakeAnswer {
    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content_type: None,
            body: Vec::new(),
            retry_after: None,
        }
    }

    /// An answer with a body.
    pub fn new(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        Self {
            content_type: Some(content_type),
            body,
            ..Self::empty(status)
        }
    }

    /// The same, with when to try again.
    pub fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }
}

/// What understands the requests of one route. What it acknowledges is durable: a sender that was told so does not keep it.
#[async_trait]
pub trait Intake: Send + Sync {
    /// What it is.
    fn description(&self) -> IntakeDescription;

    /// Takes a request in.
    async fn take(&self, request: IntakeRequest) -> IntakeAnswer;

    /// The answer to a request that was not let in, in the sender's form: `problem` says why. Its status and its time to wait
    /// are the problem's, unless the sender's protocol has others.
    fn refuse(&self, headers: &HeaderMap, problem: &Problem) -> IntakeAnswer;

    /// Takes note of a request whose body was refused for good before it could be read: too large, or packed as nobody can
    /// unpack it. Its body is empty here. The sender is answered with [`Self::refuse`], whatever becomes of the note.
    async fn unread(&self, _request: &IntakeRequest, _problem: &Problem) {}
}

/// An intake and its route.
#[derive(Clone)]
pub(crate) struct Mounted {
    pub(super) path: &'static str,
    pub(super) intake: Arc<dyn Intake>,
}

/// The routes of all intakes. Each is guarded within its handler, as that of events is.
pub(super) fn routes(state: &ApiState) -> Router<ApiState> {
    state.intakes.iter().fold(Router::new(), |router, mounted| {
        let taking = mounted.clone();
        let take =
            move |State(state): State<ApiState>, request: Request| taking.answer(state, request);
        let refusing = mounted.clone();
        let refuse =
            move |State(state): State<ApiState>, request: Request| refusing.other(state, request);
        router.route(mounted.path, post(take).fallback(refuse))
    })
}

impl Mounted {
    async fn answer(self, state: ApiState, request: Request) -> Response {
        let headers = without_key(request.headers());
        let response = access::guarded(
            &state,
            request,
            false,
            async |request, workspace, caller| {
                let response = match self.take(&state, request, workspace, caller).await {
                    Ok(answer) => answer.into_response(),
                    Err(problem) => problem.into_response(),
                };
                Answered {
                    response,
                    key_was_valid: false,
                }
            },
        )
        .await;
        self.in_its_form(&headers, response)
    }

    /// The answer to another method, in the sender's form too.
    async fn other(self, state: ApiState, request: Request) -> Response {
        let headers = without_key(request.headers());
        let response = events::other_method(State(state), request).await;
        self.in_its_form(&headers, response)
    }

    async fn take(
        &self,
        state: &ApiState,
        request: Request,
        workspace: Workspace,
        caller: Caller,
    ) -> Result<IntakeAnswer, Problem> {
        debug_assert_eq!(request.method(), Method::POST);
        let mut taken = IntakeRequest {
            path: self.path,
            headers: without_key(request.headers()),
            body: Bytes::new(),
            workspace,
            caller,
        };
        let place = match read(state, &taken.headers, request.into_body()).await {
            Ok(body::Upload { bytes, place }) => {
                taken.body = bytes;
                place
            }
            Err(problem) => {
                // What may be taken when it comes again is no loss yet.
                let is_final = matches!(
                    problem.kind,
                    Slug::BatchTooLarge | Slug::BadEncoding | Slug::UnsupportedMediaType
                );
                if is_final {
                    self.intake.unread(&taken, &problem).await;
                }
                return Err(problem);
            }
        };
        let request = taken;
        let answer = self.intake.take(request).await;
        drop(place);
        Ok(answer)
    }

    /// Turns a problem that arose around the intake into the sender's form. What is counted and logged stays.
    fn in_its_form(&self, headers: &HeaderMap, response: Response) -> Response {
        let Some(problem) = response.extensions().get::<Problem>() else {
            return response;
        };
        let mut told = self.intake.refuse(headers, problem).into_response();
        *told.extensions_mut() = response.extensions().clone();
        if let Some(challenge) = response.headers().get(header::WWW_AUTHENTICATE) {
            told.headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge.clone());
        }
        super::secure(told.headers_mut());
        told
    }
}

/// Reads a body and unpacks it, as its headers say.
async fn read(
    state: &ApiState,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<body::Upload, Problem> {
    let encoding = body::Encoding::of(headers)?;
    let bytes_max = state.limits.batch_bytes_max;
    body::read(state, encoding, body, bytes_max, Slug::BatchTooLarge).await
}

impl IntakeAnswer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        let headers = response.headers_mut();
        match self.content_type {
            Some(media) => headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media)),
            None => headers.remove(header::CONTENT_TYPE),
        };
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The headers of a request, but for its key: nothing behind the guard has a use for it.
fn without_key(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(header::AUTHORIZATION);
    headers
}
