//! `/v1/checkpoint` and `/v1/proofs`: the ledger as a transparency log.

use axum::Json;
use axum::extract::Query;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use remembrancer_schema::TreeHash;
use remembrancer_schema::verifier_key::VerifierKey;
use serde::{Deserialize, Serialize};

use super::problem::{Problem, Slug};
use super::workspace::Workspace;
use crate::witnesses::Published;

/// A proof, in RFC 6962 order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ProofAnswer {
    /// SHA-256 hashes in hexadecimal.
    #[schema(value_type = Vec<String>)]
    proof: Vec<TreeHash>,
    /// Root of the larger tree.
    #[schema(value_type = String)]
    root: TreeHash,
}

/// Which entry, in which tree.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct InclusionQuery {
    /// Index of the entry, from 0.
    index: u64,
    /// Size of the tree.
    size: u64,
}

/// Which two trees.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ConsistencyQuery {
    /// Size of the smaller tree.
    old: u64,
    /// Size of the larger tree.
    new: u64,
}

#[utoipa::path(
    get, path = "/v1/checkpoint", operation_id = "get_checkpoint", tag = "proofs",
    responses(
        (status = 200, description = "The newest signed checkpoint, with the signatures of witnesses", body = String, content_type = "text/plain"),
        (status = 404, description = "The ledger is empty, or not enough witnesses have signed yet", body = Problem, content_type = "application/problem+json"),
    ),
    security(("key" = []))
)]
pub(crate) async fn checkpoint(workspace: Workspace) -> Result<Response, Problem> {
    let note = match workspace.ledger().published_checkpoint().await? {
        Published::Note(note) => note,
        Published::Empty => {
            return Err(Problem::new(
                Slug::NotFound,
                "the ledger is empty: the first event brings the first checkpoint",
            ));
        }
        Published::HeldBack(required) => {
            return Err(Problem::new(
                Slug::NotFound,
                format!(
                    "no checkpoint has the signatures of {required} witnesses yet: try again shortly"
                ),
            ));
        }
    };
    Ok(text(note))
}

#[utoipa::path(
    get, path = "/v1/verifier-key", operation_id = "get_verifier_key", tag = "proofs",
    responses(
        (status = 200, description = "The key that signs this ledger's checkpoints, in the form that programs of transparency logs take (C2SP signed-note). Compare it with what the operator says elsewhere", body = String, content_type = "text/plain"),
    ),
    security(("key" = []))
)]
pub(crate) async fn verifier_key(workspace: Workspace) -> Response {
    let reader = workspace.reader();
    let key = VerifierKey::of_ledger(reader.origin().clone(), reader.public_key().clone());
    text(format!("{key}\n"))
}

fn text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

#[utoipa::path(
    get, path = "/v1/proofs/inclusion", operation_id = "get_inclusion_proof", tag = "proofs", params(InclusionQuery),
    responses((status = 200, description = "Proof that the entry is in the tree", body = ProofAnswer)),
    security(("key" = []))
)]
pub(crate) async fn inclusion(
    workspace: Workspace,
    query: Result<Query<InclusionQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<ProofAnswer>, Problem> {
    let Query(query) =
        query.map_err(|error| Problem::new(Slug::InvalidParameter, error.body_text()))?;
    let proof = workspace
        .reader()
        .inclusion_proof(query.index, query.size)
        .await?;
    let root = workspace.reader().root(query.size).await?;
    Ok(Json(ProofAnswer { proof, root }))
}

#[utoipa::path(
    get, path = "/v1/proofs/consistency", operation_id = "get_consistency_proof", tag = "proofs", params(ConsistencyQuery),
    responses((status = 200, description = "Proof that the larger tree extends the smaller", body = ProofAnswer)),
    security(("key" = []))
)]
pub(crate) async fn consistency(
    workspace: Workspace,
    query: Result<Query<ConsistencyQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<ProofAnswer>, Problem> {
    let Query(query) =
        query.map_err(|error| Problem::new(Slug::InvalidParameter, error.body_text()))?;
    let proof = workspace
        .reader()
        .consistency_proof(query.old, query.new)
        .await?;
    let root = workspace.reader().root(query.new).await?;
    Ok(Json(ProofAnswer { proof, root }))
}
