//! Who may do what: bearer keys, checked before a body is read.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::observe::KeyId;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::token::{Principal, Role};

/// Where a client posts most: the one address whose keys are checked with the group that takes its events.
pub(super) const EVENTS: &str = "/v1/events";

/// Whom a request speaks for: an extension of the request.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The key's id.
    pub(super) id: Arc<str>,
    pub(super) role: Role,
}

/// The sequencer found the key of the request valid: an extension of the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyWasValid;

/// Lets a request through to the workspace of its key, if the key has the role that its method needs: `read` to get, `write`
/// to append, `admin` for both.
pub(crate) async fn require_key(
    State(state): State<ApiState>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_append = request.method() == Method::POST && request.uri().path() == EVENTS;
    let admitted = admit(&state, request.method(), request.headers(), is_append).await;
    let (workspace, principal, is_recognised) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => return problem.into_response(),
    };
    let id: Arc<str> = principal.id.into();
    request.extensions_mut().insert(Caller {
        id: Arc::clone(&id),
        role: principal.role,
    });
    request.extensions_mut().insert(workspace.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(KeyId(Arc::clone(&id)));
    if !is_recognised || response.extensions().get::<KeyWasValid>().is_some() {
        return response;
    }
    confirm(&workspace, &id, response).await
}

/// Reading a key's row takes a connection and a trip to the database, for each of thousands of small requests a second. So
/// for one that appends, a key that was right before is only recognised, and its row is read once for all the requests of a
/// group, inside the group's transaction. Where an answer comes without a group, the row is read now: no answer tells a
/// revoked key more than that it is revoked.
async fn confirm(workspace: &Workspace, id: &str, response: Response) -> Response {
    // Nothing was done for the request, and the key is checked when it comes again.
    let is_put_off = matches!(
        response.status(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::UNAUTHORIZED
    );
    if is_put_off {
        return response;
    }
    match workspace.reader().keys().is_valid(id).await {
        Ok(true) => response,
        Ok(false) => refused().into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}

/// The workspace that a request reaches, whom it speaks for there, and whether that is known from memory alone.
async fn admit(
    state: &ApiState,
    method: &Method,
    headers: &HeaderMap,
    is_append: bool,
) -> Result<(Workspace, Principal, bool), Problem> {
    let Some(token) = bearer(headers) else {
        return Err(Problem::new(
            Slug::Unauthorized,
            "send a key as `Authorization: Bearer …`; `remembrancer tokens create` makes one",
        ));
    };
    // A key of a workspace that does not exist is as unknown as any other.
    let ledger = state.workspaces.of_key(token).await?;
    let workspace = Workspace(ledger.ok_or_else(refused)?);
    let keys = workspace.reader().keys();
    let recognised = is_append.then(|| keys.recognise(token)).flatten();
    let is_recognised = recognised.is_some();
    let principal = match recognised {
        Some(principal) => principal,
        None => keys.authenticate(token).await?.ok_or_else(refused)?,
    };
    if let Err(seconds) = state.rates.take(&principal.id) {
        return Err(Problem::rate_limited(
            seconds,
            format!(
                "this key sends too many requests; nothing was done, try again in {seconds} seconds"
            ),
        ));
    }
    let role = principal.role;
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let (may, needed) = if reads {
        (role.may_read(), "read")
    } else {
        (role.may_write(), "write")
    };
    if may {
        return Ok((workspace, principal, is_recognised));
    }
    Err(Problem::new(
        Slug::Forbidden,
        format!("this key has the role {role}; the request needs {needed} or admin"),
    ))
}

/// Lets only keys through that may make and revoke keys. Stands behind [`require_key`].
pub(super) async fn require_admin(request: Request, next: Next) -> Response {
    match request.extensions().get::<Caller>() {
        Some(caller) if caller.role.may_administer() => next.run(request).await,
        Some(caller) => Problem::new(
            Slug::Forbidden,
            format!(
                "this key has the role {}; the request needs admin",
                caller.role
            ),
        )
        .into_response(),
        None => refused().into_response(),
    }
}

fn refused() -> Problem {
    Problem::new(Slug::Unauthorized, "this key is unknown or revoked")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
