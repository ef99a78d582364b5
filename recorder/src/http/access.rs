//! Who may do what: bearer keys, checked before a body is read, or waited for where a small one is there already. Whether the
//! key of posted events was revoked meanwhile is checked by the group that stores them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::observe::KeyId;
use super::problem::{Problem, Slug};
use super::secure;
use super::state::ApiState;
use super::workspace::Workspace;
pub(super) use crate::token::Caller;

/// What a handler answers behind [`guarded`].
pub(super) struct Answered {
    pub(super) response: Response,
    /// Whether the sequencer found the key of the request valid on the way.
    pub(super) key_was_valid: bool,
}

/// Everything that stands around the handlers of the API, in one layer: each layer of a router costs every request a few
/// allocations and copies of all layers below.
pub(super) async fn guard(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let answer = |request, workspace, caller| pass(next, request, workspace, caller);
    guarded(&state, request, false, answer).await
}

/// The same around one handler, without a layer. What it rarely does is boxed: each request's future is as large as all that
/// it may become, and is moved to the heap.
pub(super) async fn guarded<F>(
    state: &ApiState,
    request: Request,
    is_append: bool,
    answer: impl FnOnce(Request, Workspace, Caller) -> F,
) -> Response
where
    F: Future<Output = Answered>,
{
    let limit = Duration::from_secs(state.limits.request_seconds_max);
    let admitted = with_key(state, request, is_append, answer);
    let mut response = tokio::time::timeout(limit, admitted)
        .await
        .unwrap_or_else(|_| {
            Problem::new(
                Slug::Timeout,
                "the answer took too long; events may be stored: send them again, and they are told apart by their ids",
            )
            .into_response()
        });
    secure(response.headers_mut());
    response
}

/// The key alone, for a route that is not of the API.
pub(super) async fn require_key(
    State(state): State<ApiState>,
    request: Request,
    next: Next,
) -> Response {
    let answer = |request, workspace, caller| pass(next, request, workspace, caller);
    with_key(&state, request, false, answer).await
}

/// Hands a request on to the routes, with what they have to know of its key.
async fn pass(next: Next, mut request: Request, workspace: Workspace, caller: Caller) -> Answered {
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(workspace);
    Answered {
        response: next.run(request).await,
        key_was_valid: false,
    }
}

/// Lets a request through to the workspace of its key, if the key has the role that its method needs: `read` to get, `write`
/// to append, `admin` for both.
async fn with_key<F>(
    state: &ApiState,
    request: Request,
    is_append: bool,
    answer: impl FnOnce(Request, Workspace, Caller) -> F,
) -> Response
where
    F: Future<Output = Answered>,
{
    let admitted = admit(state, request.method(), request.headers(), is_append).await;
    let (workspace, caller) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => return problem.into_response(),
    };
    let id = Arc::clone(&caller.id);
    let kept = caller.is_recognised.then(|| workspace.clone());
    let Answered {
        mut response,
        key_was_valid,
    } = answer(request, workspace, caller).await;
    response.extensions_mut().insert(KeyId(Arc::clone(&id)));
    match kept {
        Some(workspace) if !key_was_valid => Box::pin(confirm(&workspace, &id, response)).await,
        _ => response,
    }
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

/// Refuses a recognised key that was revoked since, before anything is waited for in its name. What a body has beyond its
/// first bytes is such a thing: whoever has no key any more is told so, and not after an upload.
pub(super) async fn require_valid(workspace: &Workspace, caller: &Caller) -> Result<(), Problem> {
    if !caller.is_recognised || workspace.reader().keys().is_valid(&caller.id).await? {
        return Ok(());
    }
    Err(refused())
}

/// The workspace that a request reaches, and whom it speaks for there.
async fn admit(
    state: &ApiState,
    method: &Method,
    headers: &HeaderMap,
    is_append: bool,
) -> Result<(Workspace, Caller), Problem> {
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
    let caller = match recognised {
        Some(caller) => caller,
        None => {
            let known = Box::pin(keys.authenticate(token)).await?;
            Caller::from(known.ok_or_else(refused)?)
        }
    };
    if let Err(seconds) = state.rates.take(&caller.id) {
        return Err(Problem::rate_limited(
            seconds,
            format!(
                "this key sends too many requests; nothing was done, try again in {seconds} seconds"
            ),
        ));
    }
    let role = caller.role;
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let (may, needed) = if reads {
        (role.may_read(), "read")
    } else {
        (role.may_write(), "write")
    };
    if may {
        return Ok((workspace, caller));
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
