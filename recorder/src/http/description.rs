//! The description of the API that `/openapi.json` serves.

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use utoipa::OpenApi as _;
use utoipa::openapi::content::Content;
use utoipa::openapi::path::{HttpMethod, OperationBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};

use super::intake::Mounted;
use super::state::ApiState;
use super::{Problem, blobs, events, keys, observe, proofs, schemas, sessions, tlog};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Remembrancer",
        description = "Records what AI agents declared, saw and did, and audits it"
    ),
    paths(
        events::post,
        blobs::put,
        blobs::get,
        blobs::missing,
        sessions::list,
        sessions::one,
        sessions::entries,
        sessions::presence,
        sessions::mutations,
        sessions::price,
        sessions::findings,
        sessions::bundle,
        sessions::entry,
        proofs::checkpoint,
        proofs::inclusion,
        proofs::consistency,
        proofs::verifier_key,
        tlog::checkpoint,
        tlog::tile,
        tlog::entries,
        keys::list,
        keys::create,
        keys::revoke,
        super::limits,
        super::healthy,
        super::ready,
        observe::metrics
    )
)]
struct Api;

/// The description of an API (version 3.1 of that format), with the routes of its intakes.
pub(super) fn of(state: &ApiState) -> utoipa::openapi::OpenApi {
    let mut api = Api::openapi();
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key that `remembrancer tokens create` made"))
        .build();
    api.components
        .get_or_insert_default()
        .add_security_scheme("key", SecurityScheme::Http(scheme));
    for mounted in &state.intakes {
        api.paths
            .add_path_operation(mounted.path, vec![HttpMethod::Post], operation(mounted));
    }
    api
}

fn operation(mounted: &Mounted) -> OperationBuilder {
    let described = mounted.intake.description();
    let body = described
        .media_types
        .iter()
        .fold(RequestBodyBuilder::new(), |body, media| {
            body.content(*media, content(media))
        });
    let key = SecurityRequirement::new("key", Vec::<String>::new());
    described
        .answers
        .iter()
        .fold(OperationBuilder::new(), |operation, (status, meaning)| {
            operation.response(*status, Response::new(*meaning))
        })
        .tag("record")
        .operation_id(Some(format!("post{}", mounted.path.replace('/', "_"))))
        .summary(Some(described.summary))
        .request_body(Some(body.build()))
        .security(key)
}

/// A body: an object that its own format describes, or bytes.
fn content(media: &str) -> Content {
    let schema = if media.ends_with("json") {
        ObjectBuilder::new()
    } else {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
    };
    Content::new(Some(schema))
}

pub(super) async fn serve(State(state): State<ApiState>) -> Result<Json<Value>, Problem> {
    schemas::completed(&of(&state))
        .map(Json)
        .map_err(|error| Problem::internal(&error))
}
