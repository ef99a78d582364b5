//! One item of a trace: the trace itself, or a span of it.

use remembrancer_schema::payload::{Part, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::chat;

/// An item, read.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    trace_id: Option<String>,
    pub(super) parent_id: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) ended_at: Option<String>,
    pub(super) workflow_name: Option<String>,
    pub(super) group_id: Option<String>,
    /// None for the trace itself.
    pub(super) data: Option<SpanData>,
    /// What went wrong, as JSON.
    pub(super) error: Option<String>,
}

/// What a span is about.
#[derive(Debug)]
pub(super) enum SpanData {
    /// A model call.
    Model {
        response_id: Option<String>,
        model: Option<String>,
        usage: Option<Usage>,
        /// What was sent, where the span holds it.
        input: Option<Vec<Part>>,
    },
    /// A tool call; input and output as JSON or text.
    Function {
        name: String,
        input: Option<String>,
        output: Option<String>,
    },
    /// A check of an input or an output.
    Guardrail { name: String, triggered: bool },
    /// Anything else, by its type.
    Other(String),
}

#[derive(Deserialize)]
struct Fields<'a> {
    object: String,
    id: String,
    trace_id: Option<String>,
    parent_id: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    workflow_name: Option<String>,
    group_id: Option<String>,
    #[serde(borrow)]
    span_data: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct DataFields<'a> {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    response_id: Option<String>,
    model: Option<String>,
    usage: Option<Value>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    triggered: Option<bool>,
}

impl Item {
    pub(super) fn parse(json: &str) -> Result<Self, String> {
        let fields: Fields<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let data = match fields.object.as_str() {
            "trace" => None,
            "trace.span" => Some(match fields.span_data {
                Some(raw) => SpanData::parse(raw.get())?,
                None => SpanData::Other("span".to_owned()),
            }),
            other => return Err(format!("the object is {other:?}")),
        };
        if data.is_some() && fields.trace_id.is_none() {
            return Err("the span has no trace_id".to_owned());
        }
        Ok(Self {
            id: fields.id,
            trace_id: fields.trace_id,
            parent_id: fields.parent_id,
            started_at: fields.started_at,
            ended_at: fields.ended_at,
            workflow_name: fields.workflow_name,
            group_id: fields.group_id,
            data,
            error: fields
                .error
                .map(|raw| raw.get().to_owned())
                .filter(|raw| raw != "null"),
        })
    }

    /// The trace that it belongs to.
    pub(super) fn trace(&self) -> &str {
        self.trace_id.as_deref().unwrap_or(&self.id)
    }
}

impl SpanData {
    fn parse(json: &str) -> Result<Self, String> {
        let fields: DataFields<'_> =
            serde_json::from_str(json).map_err(|error| error.to_string())?;
        let name = fields.name.unwrap_or_default();
        Ok(match fields.kind.as_str() {
            "response" | "generation" => Self::Model {
                response_id: fields.response_id,
                model: fields.model,
                usage: fields.usage.as_ref().and_then(usage),
                input: fields.input.and_then(|raw| chat::parts(raw.get())),
            },
            "function" => Self::Function {
                name,
                input: fields.input.and_then(text_or_json),
                output: fields.output.and_then(text_or_json),
            },
            "guardrail" => Self::Guardrail {
                name,
                triggered: fields.triggered.unwrap_or(false),
            },
            _ => Self::Other(fields.kind),
        })
    }
}

/// What a value says: a text by itself, anything else as JSON.
fn text_or_json(raw: &RawValue) -> Option<String> {
    match serde_json::from_str::<Option<String>>(raw.get()) {
        Ok(text) => text,
        Err(_) => Some(raw.get().to_owned()),
    }
}

/// Token counts; cached input is a part of the input.
fn usage(value: &Value) -> Option<Usage> {
    let count = |name: &str| value.get(name).and_then(Value::as_u64);
    let details = value.get("input_tokens_details");
    let cached = details.and_then(|details| details.get("cached_tokens")?.as_u64());
    Some(Usage {
        input_tokens: count("input_tokens")?,
        output_tokens: count("output_tokens").unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: None,
    })
}
