//! `/v1/sessions`: lists, entries, and what the analysis says.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use remembrancer_replay::{price_of_remembering, view};
use remembrancer_schema::EntryHash;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::immutable;
use super::path::Named;
use super::problem::{Problem, Slug};
use super::state::ApiState;
use super::workspace::Workspace;
use crate::error::LedgerError;
use crate::reader::StoredEntry;
use crate::session::{Page, SessionSummary};

const PAGE_ITEMS_DEFAULT: u32 = 100;

/// Where a page starts and how long it is.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// `next` of the page before.
    #[param(required = false, nullable = false)]
    after: Option<String>,
    /// Most items, 100 unless given.
    #[param(required = false, nullable = false)]
    limit: Option<u32>,
}

impl PageQuery {
    fn limit(&self, state: &ApiState) -> Result<u32, Problem> {
        let max = state.limits.page_items_max;
        match self.limit.unwrap_or(PAGE_ITEMS_DEFAULT.min(max)) {
            limit if (1..=max).contains(&limit) => Ok(limit),
            limit => Err(Problem::new(
                Slug::InvalidParameter,
                format!("limit {limit} is out of range: 1 to {max}"),
            )),
        }
    }
}

/// An entry as the API shows it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EntryView {
    /// Index in the ledger, from 0.
    index: u64,
    /// Hash of the entry.
    #[schema(value_type = String)]
    hash: EntryHash,
    /// The entry, byte for byte.
    #[schema(value_type = super::shapes::Entry)]
    entry: Box<RawValue>,
    /// Salt of the payload's commitment, in hexadecimal; null after redaction.
    salt: Option<String>,
    /// The payload, byte for byte as received; null after redaction.
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Box<RawValue>>,
}

impl EntryView {
    fn new(stored: StoredEntry) -> Result<Self, LedgerError> {
        let index = stored.index;
        let damaged = |reason: String| LedgerError::Corrupt { index, reason };
        let bytes = String::from_utf8(stored.bytes).map_err(|error| damaged(error.to_string()))?;
        let raw =
            |text: String| RawValue::from_string(text).map_err(|error| damaged(error.to_string()));
        Ok(Self {
            index,
            hash: stored.hash,
            entry: raw(bytes)?,
            salt: stored.salt.map(hex::encode),
            data: stored.data.map(raw).transpose()?,
        })
    }
}

fn query<T>(
    query: Result<Query<T>, axum::extract::rejection::QueryRejection>,
) -> Result<T, Problem> {
    query
        .map(|Query(query)| query)
        .map_err(|error| Problem::new(Slug::InvalidParameter, error.body_text()))
}

type QueryResult<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

#[utoipa::path(
    get, path = "/v1/sessions", operation_id = "list_sessions", tag = "read", params(PageQuery),
    responses((status = 200, description = "Sessions, newest first", body = Page<SessionSummary>)),
    security(("key" = []))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    workspace: Workspace,
    page: QueryResult<PageQuery>,
) -> Result<Json<Page<SessionSummary>>, Problem> {
    let page = query(page)?;
    let limit = page.limit(&state)?;
    Ok(Json(
        workspace
            .reader()
            .sessions(page.after.as_deref(), limit)
            .await?,
    ))
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}", operation_id = "get_session", tag = "read",
    params(("session" = String, Path, description = "Its id, or its label if that is unique")),
    responses((status = 200, description = "The session", body = SessionSummary)),
    security(("key" = []))
)]
pub(crate) async fn one(
    workspace: Workspace,
    Named(session): Named,
) -> Result<Json<SessionSummary>, Problem> {
    Ok(Json(workspace.reader().find_session(&session).await?))
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/entries", operation_id = "list_entries", tag = "read",
    params(("session" = String, Path, description = "Its id, or its label if that is unique"), PageQuery),
    responses((status = 200, description = "Its entries, in order", body = Page<EntryView>)),
    security(("key" = []))
)]
pub(crate) async fn entries(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
    page: QueryResult<PageQuery>,
) -> Result<Response, Problem> {
    let page = query(page)?;
    let limit = page.limit(&state)?;
    let session = workspace.reader().find_session(&session).await?;
    let stored = workspace
        .reader()
        .session_entries(&session, page.after.as_deref(), limit)
        .await?;
    let items = stored
        .items
        .into_iter()
        .map(EntryView::new)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Json(Page {
        items,
        next: stored.next,
    })
    .into_response())
}

/// Answers with a view of a session's analysis; its tag is the session's head, so that an unchanged session costs nothing.
async fn analysed<T: Serialize>(
    state: &ApiState,
    workspace: &Workspace,
    name: &str,
    headers: &HeaderMap,
    of: impl FnOnce(&remembrancer_replay::Analysis) -> T,
) -> Result<Response, Problem> {
    let session = workspace.reader().find_session(name).await?;
    let analysis = state
        .workspaces
        .analyses()
        .of(workspace.reader(), &session)
        .await?;
    let body = Json(of(&analysis)).into_response();
    Ok(super::tagged(headers, &session.head.to_string(), || body))
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/presence", operation_id = "get_presence", tag = "audit",
    params(("session" = String, Path, description = "Its id, or its label if that is unique")),
    responses((status = 200, description = "How each constraint stood at each turn and action", body = std::collections::BTreeMap<String, serde_json::Value>)),
    security(("key" = []))
)]
pub(crate) async fn presence(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    analysed(&state, &workspace, &session, &headers, |analysis| {
        serde_json::to_value(view::presence(analysis)).ok()
    })
    .await
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/mutations", operation_id = "get_mutations", tag = "audit",
    params(("session" = String, Path, description = "Its id, or its label if that is unique")),
    responses((status = 200, description = "How its context changed", body = Vec<std::collections::BTreeMap<String, serde_json::Value>>)),
    security(("key" = []))
)]
pub(crate) async fn mutations(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    analysed(&state, &workspace, &session, &headers, |analysis| {
        serde_json::to_value(view::mutations(analysis)).ok()
    })
    .await
}

/// What a session's price is told against.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceQuery {
    /// The other session of the pair: its id, or its label if that is unique.
    against: String,
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/price", operation_id = "get_price", tag = "audit",
    params(("session" = String, Path, description = "Its id, or its label if that is unique"), PriceQuery),
    responses((status = 200, description = "What its compacted requests cost more than those of the other session", body = std::collections::BTreeMap<String, serde_json::Value>)),
    security(("key" = []))
)]
pub(crate) async fn price(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
    pair: QueryResult<PriceQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let pair = query(pair)?;
    let reader = workspace.reader();
    let session = reader.find_session(&session).await?;
    let against = reader.find_session(&pair.against).await?;
    let tag = format!("{}-{}", session.head, against.head);
    let analyses = state.workspaces.analyses();
    let first = analyses.of(reader, &against).await?;
    let second = analyses.of(reader, &session).await?;
    let body = Json(price_of_remembering(&first, &second)).into_response();
    Ok(super::tagged(&headers, &tag, || body))
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/findings", operation_id = "get_findings", tag = "audit",
    params(("session" = String, Path, description = "Its id, or its label if that is unique")),
    responses((status = 200, description = "What the auditor noticed", body = Vec<std::collections::BTreeMap<String, serde_json::Value>>)),
    security(("key" = []))
)]
pub(crate) async fn findings(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    analysed(&state, &workspace, &session, &headers, |analysis| {
        serde_json::to_value(view::findings(analysis)).ok()
    })
    .await
}

#[utoipa::path(
    get, path = "/v1/sessions/{session}/bundle", operation_id = "get_bundle", tag = "audit",
    params(("session" = String, Path, description = "Its id, or its label if that is unique")),
    responses((status = 200, description = "The session's bundle", body = Vec<u8>, content_type = "application/zip")),
    security(("key" = []))
)]
pub(crate) async fn bundle(
    State(state): State<ApiState>,
    workspace: Workspace,
    Named(session): Named,
) -> Result<Response, Problem> {
    let session = workspace.reader().find_session(&session).await?;
    let maker = state
        .bundles
        .as_ref()
        .ok_or_else(|| Problem::new(Slug::NotFound, "this server makes no bundles"))?;
    let name = format!("attachment; filename=\"{}.rmb\"", session.id);
    let bytes = maker(workspace.reader().clone(), session)
        .await
        .map_err(|error| match error.downcast::<LedgerError>() {
            Ok(error) => Problem::from(*error),
            Err(error) => Problem::internal(&error),
        })?;
    Ok((
        [
            (header::CONTENT_TYPE, "application/zip".to_owned()),
            (header::CONTENT_DISPOSITION, name),
        ],
        bytes,
    )
        .into_response())
}

#[utoipa::path(
    get, path = "/v1/entries/{index}", operation_id = "get_entry", tag = "read",
    params(("index" = u64, Path, description = "Index in the ledger, from 0")),
    responses((status = 200, description = "The entry", body = EntryView)),
    security(("key" = []))
)]
pub(crate) async fn entry(
    workspace: Workspace,
    Named(index): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let index: u64 = index
        .parse()
        .map_err(|_| Problem::new(Slug::InvalidParameter, "an index is a number from 0"))?;
    let stored = workspace
        .reader()
        .entries_from(index, 1)
        .await?
        .into_iter()
        .next();
    let stored = stored
        .filter(|stored| stored.index == index)
        .ok_or_else(|| Problem::new(Slug::NotFound, format!("there is no entry {index}")))?;
    let tag = stored.hash.to_string();
    let body = Json(EntryView::new(stored)?).into_response();
    Ok(immutable(&headers, &tag, || body))
}
