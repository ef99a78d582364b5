//! What the description of the API has besides what is said at its routes: the payloads of events by their JSON Schemas, and what
//! every operation has alike.

use remembrancer_schema::payload::json_schemas;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// Media types of bytes that are no text.
const BINARY: [&str; 2] = ["application/octet-stream", "application/zip"];
/// Where the description keeps its schemas.
const COMPONENTS: &str = "#/components/schemas/";

/// The description with the payloads' schemas among its own.
pub(super) fn completed(api: &OpenApi) -> Result<Value, serde_json::Error> {
    let mut document = serde_json::to_value(api)?;
    let mut payloads = Vec::new();
    let mut schemas = Map::new();
    for (kind, schema) in json_schemas() {
        // Acts of admins are the recorder's own: nobody posts them.
        if kind.starts_with("admin.") {
            continue;
        }
        let mut schema = serde_json::to_value(schema)?;
        let name = schema["title"].as_str().unwrap_or(kind).to_owned();
        if let Value::Object(members) = &mut schema {
            members.remove("$schema");
            if let Some(Value::Object(defined)) = members.remove("$defs") {
                schemas.extend(defined);
            }
        }
        payloads.push(json!({ "$ref": format!("{COMPONENTS}{name}") }));
        schemas.insert(name, schema);
    }
    let mut schemas = Value::Object(schemas);
    adapt(&mut schemas);
    schemas["CustomPayload"] = json!({
        "type": "object", "additionalProperties": true,
        "description": "The payload of a `custom.` event: any JSON object."
    });
    payloads.push(json!({ "$ref": format!("{COMPONENTS}CustomPayload") }));
    let all = &mut document["components"]["schemas"];
    all["Event"]["properties"]["data"] = json!({
        "description": "Its payload: the schema that belongs to its type, or any object for a `custom.` event.",
        "anyOf": payloads,
    });
    if let (Value::Object(all), Value::Object(schemas)) = (all, schemas) {
        for (name, schema) in all.iter_mut() {
            // A page is made of items that have a schema of their own.
            if let Some(item) = name.strip_prefix("Page_") {
                schema["properties"]["items"]["items"] =
                    json!({ "$ref": format!("{COMPONENTS}{item}") });
            }
        }
        all.extend(schemas);
    }
    let paths = document["paths"].as_object_mut();
    let routes = paths.into_iter().flat_map(Map::values_mut);
    for operation in routes
        .filter_map(Value::as_object_mut)
        .flat_map(Map::values_mut)
    {
        complete(operation);
    }
    Ok(document)
}

/// What every operation has alike: problems, where a key is asked for, and bytes that are bytes. An intake answers in the form
/// that its clients expect, which says nothing of its answers' content here.
fn complete(operation: &mut Value) {
    if operation.get("security").is_some() && answers_have_content(operation) {
        let problem = |what: &str| {
            json!({
                "description": what,
                "content": {"application/problem+json": {"schema": {"$ref": format!("{COMPONENTS}Problem")}}}
            })
        };
        if let Some(responses) = operation["responses"].as_object_mut() {
            responses.entry("4XX").or_insert_with(|| {
                problem("The request was not carried out: its problem says why")
            });
            responses
                .entry("5XX")
                .or_insert_with(|| problem("It could not be carried out at the moment"));
        }
    }
    if let Some(responses) = operation["responses"].as_object_mut() {
        responses.values_mut().for_each(mark_bytes);
    }
    if let Some(request) = operation.get_mut("requestBody") {
        request["required"] = json!(true);
        mark_bytes(request);
    }
}

fn answers_have_content(operation: &Value) -> bool {
    let answers = operation["responses"].as_object();
    let mut answers = answers.into_iter().flat_map(Map::values);
    answers.any(|answer| answer.get("content").is_some())
}

/// Bytes are a binary text in a description, whatever type of ours they have.
fn mark_bytes(body: &mut Value) {
    let content = body.get_mut("content").and_then(Value::as_object_mut);
    for (media, described) in content.into_iter().flatten() {
        if BINARY.contains(&media.as_str()) {
            described["schema"] = json!({"type": "string", "format": "binary"});
        }
    }
}

/// References lead to where the description keeps its schemas, and a choice among fixed texts is written as generators of
/// clients know it.
fn adapt(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                *reference = reference.replace("#/$defs/", COMPONENTS);
            }
            let choices = members.get("oneOf").and_then(Value::as_array);
            let texts: Option<Vec<Value>> = choices.and_then(|choices| {
                let texts = choices.iter().map(|choice| choice.get("const").cloned());
                texts.collect()
            });
            if let Some(texts) = texts {
                members.remove("oneOf");
                members.insert("type".to_owned(), json!("string"));
                members.insert("enum".to_owned(), Value::Array(texts));
            }
            members.values_mut().for_each(adapt);
        }
        Value::Array(items) => items.iter_mut().for_each(adapt),
        _ => {}
    }
}
