//! `/v1/keys`: making, listing and revoking keys. For keys with the role `admin`.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::access::Caller;
use super::body;
use super::path::Named;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::admin_act::Actor;
use crate::token::{NewToken, Role, TokenSummary, create_token_by, list_tokens, revoke_token_by};

/// Largest body that describes a key.
const BODY_BYTES_MAX: usize = 4096;

/// A key to be made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedKey {
    /// What it may do.
    role: Role,
    /// Whose key it is, for people: 1 to 100 characters.
    name: String,
}

/// The keys of a ledger.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyList {
    /// Oldest first, revoked ones included; none with its secret.
    items: Vec<TokenSummary>,
}

#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_keys", tag = "admin",
    responses((status = 200, description = "All keys, without their secrets", body = KeyList)),
    security(("key" = []))
)]
pub(crate) async fn list(workspace: Workspace) -> Result<Json<KeyList>, Problem> {
    let items = list_tokens(workspace.reader().location().clone()).await?;
    Ok(Json(KeyList { items }))
}

#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_key", tag = "admin",
    request_body(content = WantedKey, description = "What the key may do, and whose it is"),
    responses(
        (status = 201, description = "The key; its text is shown this once", body = NewToken),
        (status = "4XX", description = "No key was made", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    workspace: Workspace,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let encoding = body::Encoding::of(&headers)?;
    let upload = body::read(&state, encoding, body, BODY_BYTES_MAX, Slug::BatchTooLarge).await?;
    let wanted: WantedKey = serde_json::from_slice(&upload.bytes).map_err(|error| {
        Problem::new(
            Slug::InvalidParameter,
            format!("a key is asked for as {{\"role\": \"write\", \"name\": \"…\"}}: {error}"),
        )
    })?;
    let location = workspace.reader().location().clone();
    let by = Actor::key(&caller.id);
    let key = create_token_by(location, wanted.role, &wanted.name, &by).await?;
    let address = format!("/v1/keys/{}", key.id);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, address)],
        Json(key),
    )
        .into_response())
}

#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "revoke_key", tag = "admin",
    params(("id" = String, Path, description = "The key's id, as the list shows it")),
    responses((status = 200, description = "The key, revoked; the next request with it is refused", body = TokenSummary)),
    security(("key" = []))
)]
pub(crate) async fn revoke(
    workspace: Workspace,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
) -> Result<Json<TokenSummary>, Problem> {
    let location = workspace.reader().location().clone();
    let revoked = revoke_token_by(location, &id, &Actor::key(&caller.id)).await?;
    workspace.reader().keys().forget(&id);
    Ok(Json(revoked))
}
