//! `/login`, `/login/{code}`, `/logout`.

use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use remembrancer_recorder::LedgerError;
use serde::Deserialize;

use crate::error::{PageError, Params};
use crate::guard::{COOKIE, cookie, is_local, same_origin};
use crate::login::{Attempt, Client, SIGN_IN_TTL, SignIn};
use crate::page::{Page, Shell};
use crate::source::SourceError;
use crate::state::ViewerState;

#[derive(Deserialize)]
pub(crate) struct Return {
    to: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct KeyForm {
    key: String,
    to: Option<String>,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginView {
    shell: Shell,
    to: String,
    problem: Option<&'static str>,
}

pub(crate) async fn form(
    State(state): State<ViewerState>,
    Params(wanted): Params<Return>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let to = local(wanted.to);
    if state.view(&headers).await?.is_some() {
        return Ok(Redirect::to(&to).into_response());
    }
    Ok(refused(StatusCode::OK, to, None))
}

pub(crate) async fn with_key(
    State(state): State<ViewerState>,
    from: Client,
    headers: HeaderMap,
    form: Result<Form<KeyForm>, FormRejection>,
) -> Result<Response, PageError> {
    same_origin(&headers)?;
    let Form(form) = form.map_err(|_| PageError::BadRequest)?;
    let to = local(form.to);
    let key = form.key.trim();
    if let Some(source) = state.ledgers.of_key(key).await? {
        let reading = match source.reading_key(key).await {
            Err(SourceError::Ledger(LedgerError::TooManyAttempts { .. })) => {
                return Ok(throttled(to));
            }
            reading => reading?,
        };
        if let Some(id) = reading {
            let who = SignIn {
                workspace: source.workspace().clone(),
                key: Some(id),
            };
            return sign_in(&state, who, &to);
        }
    }
    if state.logins().wrong_key(from) == Attempt::Throttled {
        return Ok(throttled(to));
    }
    let problem = "This is not a key that may read. Keys with the role write can't be used here.";
    Ok(refused(StatusCode::UNAUTHORIZED, to, Some(problem)))
}

pub(crate) async fn with_code(
    State(state): State<ViewerState>,
    from: Client,
    Path(code): Path<String>,
    Params(wanted): Params<Return>,
) -> Result<Response, PageError> {
    let to = local(wanted.to);
    if state.logins().redeem(&code) {
        return sign_in(&state, SignIn::default(), &to);
    }
    if state.logins().wrong_code(from) == Attempt::Throttled {
        return Ok(throttled(to));
    }
    let problem =
        "This one-time link was used already, or its ten minutes are over. Sign in with a key.";
    Ok(refused(StatusCode::UNAUTHORIZED, to, Some(problem)))
}

pub(crate) async fn out(
    State(state): State<ViewerState>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    same_origin(&headers)?;
    if let Some(secret) = cookie(&headers) {
        state.logins().sign_out(secret);
    }
    let forget = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    Ok(([(header::SET_COOKIE, forget)], Redirect::to("/login")).into_response())
}

fn sign_in(state: &ViewerState, who: SignIn, to: &str) -> Result<Response, PageError> {
    let secret = state
        .logins()
        .sign_in(who)
        .map_err(|error| PageError::Internal(error.to_string()))?;
    let secure = if state.secure_cookies() {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!(
        "{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{secure}",
        SIGN_IN_TTL.as_secs()
    );
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(to)).into_response())
}

fn throttled(to: String) -> Response {
    let problem = "Too many attempts failed. Wait a minute and try again.";
    let mut response = refused(StatusCode::TOO_MANY_REQUESTS, to, Some(problem));
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    response
}

fn refused(status: StatusCode, to: String, problem: Option<&'static str>) -> Response {
    (
        status,
        Page(LoginView {
            shell: Shell::bare(),
            to,
            problem,
        }),
    )
        .into_response()
}

fn local(wanted: Option<String>) -> String {
    wanted
        .filter(|wanted| is_local(wanted))
        .unwrap_or_else(|| "/".to_owned())
}
