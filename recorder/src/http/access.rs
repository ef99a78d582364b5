//! Who may do what: bearer keys, checked before a body is read.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::{Problem, Slug};
use super::state::ApiState;

/// Lets a request through if its key has the role that its method needs: `read` to get, `write` to append, `admin` for both.
pub(crate) async fn require_key(
    State(state): State<ApiState>,
    request: Request,
    next: Next,
) -> Response {
    match check(&state, request.method(), request.headers()).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn check(state: &ApiState, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let unauthorized = |detail| Err(Problem::new(Slug::Unauthorized, detail));
    let Some(token) = bearer(headers) else {
        return unauthorized(
            "send a key as `Authorization: Bearer …`; `remembrancer tokens create` makes one",
        );
    };
    let Some(principal) = state.reader().authenticate(token).await? else {
        return unauthorized("this key is unknown or revoked");
    };
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let role = principal.role;
    if if reads {
        role.may_read()
    } else {
        role.may_write()
    } {
        return Ok(());
    }
    let needed = if reads { "read" } else { "write" };
    Err(Problem::new(
        Slug::Forbidden,
        format!("this key has the role {role}; the request needs {needed} or admin"),
    ))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
