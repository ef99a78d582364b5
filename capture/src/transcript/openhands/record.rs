//! One event of `OpenHands`.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::transcript::unreadable::unreadable;
use crate::transcript::{Call, Line};

/// An event, read.
#[derive(Debug)]
pub(super) struct Record {
    /// The whole event, as it stands.
    pub(super) text: String,
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) response_id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) forgotten: Vec<String>,
    pub(super) summary: Option<String>,
    pub(super) summary_offset: Option<usize>,
    pub(super) reason: Option<String>,
    timestamp: Option<String>,
    fields: Value,
    observation: Option<String>,
    schemas: Vec<String>,
}

/// What must stay as it was written.
#[derive(Deserialize)]
struct Verbatim<'a> {
    #[serde(borrow)]
    observation: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
}

impl Record {
    pub(super) fn parse(line: &Line) -> Result<Self, String> {
        if line.is_too_long {
            return Err("the event is too long to be read".to_owned());
        }
        let text = std::str::from_utf8(&line.bytes)
            .map_err(|error| format!("the event is not UTF-8: {error}"))?;
        let fields: Value = serde_json::from_str(text)
            .map_err(|error| format!("the event is not JSON: {error}"))?;
        let string = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(id), Some(kind)) = (string("id"), string("kind")) else {
            return Err("the event has no id or no kind".to_owned());
        };
        let verbatim: Verbatim<'_> =
            serde_json::from_str(text).map_err(|error| format!("the event: {error}"))?;
        // Of another shape than a list they are told as they stand.
        let schemas = verbatim.tools.filter(|tools| tools.get() != "null");
        let schemas = schemas.map(|tools| {
            serde_json::from_str::<Vec<&RawValue>>(tools.get()).unwrap_or_else(|_| vec![tools])
        });
        let forgotten = fields.get("forgotten_event_ids").and_then(Value::as_array);
        let forgotten = forgotten.into_iter().flatten().filter_map(Value::as_str);
        let offset = fields.get("summary_offset").and_then(Value::as_u64);
        Ok(Self {
            response_id: string("llm_response_id").filter(|id| !id.is_empty()),
            call_id: string("tool_call_id"),
            tool: string("tool_name"),
            forgotten: forgotten.map(str::to_owned).collect(),
            summary: string("summary"),
            summary_offset: offset.and_then(|offset| usize::try_from(offset).ok()),
            reason: string("reason"),
            timestamp: string("timestamp"),
            observation: verbatim.observation.map(|raw| raw.get().to_owned()),
            schemas: schemas
                .unwrap_or_default()
                .iter()
                .map(|raw| raw.get().to_owned())
                .collect(),
            text: text.to_owned(),
            id,
            kind,
            fields,
        })
    }

    /// When it happened, where that is a point in time.
    pub(super) fn time(&self) -> Option<String> {
        self.timestamp.clone().filter(|_| !self.has_zoneless_time())
    }

    pub(super) fn has_zoneless_time(&self) -> bool {
        let time = self.timestamp.as_deref();
        time.is_some_and(|time| time.parse::<jiff::Timestamp>().is_err())
    }

    fn message(&self) -> &Value {
        self.fields.get("llm_message").unwrap_or(&Value::Null)
    }

    /// Whether a message is what the model said.
    pub(super) fn is_models(&self) -> bool {
        self.message().get("role").and_then(Value::as_str) == Some("assistant")
    }

    /// The parts of a system prompt: its text, what the conversation adds to it, and the tools.
    pub(super) fn system_parts(&self) -> Vec<Part> {
        let texts = ["system_prompt", "dynamic_context"].into_iter();
        let prompts = texts.filter_map(|name| text_of(self.fields.get(name)?));
        let mut parts: Vec<Part> = prompts
            .map(|text| Part::inline(PartKind::System, text))
            .collect();
        let schemas = self.schemas.iter();
        parts.extend(schemas.map(|schema| Part::inline(PartKind::ToolSchema, schema.as_str())));
        parts
    }

    /// The parts of a message that is not the model's.
    pub(super) fn message_parts(&self) -> Vec<Part> {
        let is_users = self.fields.get("source").and_then(Value::as_str) == Some("user");
        let origin = if is_users {
            PartOrigin::User
        } else {
            PartOrigin::Application
        };
        let said = Part {
            origin: Some(origin),
            ..Part::inline(PartKind::User, "")
        };
        let mut parts = content_parts(self.message().get("content"), &said);
        parts.extend(self.extended());
        parts
    }

    /// What the agent's context adds to a message or a result: skills, rules for the file at hand.
    fn extended(&self) -> Vec<Part> {
        let added = Part {
            origin: Some(PartOrigin::Application),
            ..Part::inline(PartKind::Memory, "")
        };
        content_parts(self.fields.get("extended_content"), &added)
    }

    /// What the model said in it.
    pub(super) fn said(&self) -> Vec<String> {
        let content = if self.kind == "MessageEvent" {
            self.message().get("content")
        } else {
            self.fields.get("thought")
        };
        texts(content)
    }

    /// The call that it is, without its turn.
    pub(super) fn call(&self) -> Option<Call> {
        let call = self.fields.get("tool_call")?;
        let name = call.get("name").and_then(Value::as_str);
        let id = call.get("id").and_then(Value::as_str);
        Some(Call {
            id: self.call_id.clone().or_else(|| id.map(str::to_owned))?,
            tool: self.tool.clone().or_else(|| name.map(str::to_owned))?,
            arguments: call
                .get("arguments")
                .and_then(Value::as_str)
                .map(str::to_owned),
            time: self.time(),
            ..Call::default()
        })
    }

    /// The parts that it leaves in the context as a part of a response.
    pub(super) fn answer_parts(&self) -> Vec<Part> {
        let holder = if self.kind == "MessageEvent" {
            self.message()
        } else {
            &self.fields
        };
        let mut parts = Vec::new();
        let reasoning = holder.get("reasoning_content").and_then(Value::as_str);
        parts.extend(reasoning.map(|text| Part::inline(PartKind::Reasoning, text)));
        let blocks = holder.get("thinking_blocks").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            let thinking = block.get("thinking").and_then(Value::as_str);
            // The same text stands in both where the provider gives it twice.
            let is_new = thinking.is_some() && thinking != reasoning;
            parts.extend(
                thinking
                    .filter(|_| is_new)
                    .map(|text| Part::inline(PartKind::Reasoning, text)),
            );
            let hidden = block.get("data").and_then(Value::as_str);
            parts.extend(hidden.map(|data| Part {
                encrypted: true,
                ..Part::by_hash(PartKind::Reasoning, ContentHash::of(data.as_bytes()))
            }));
            if thinking.is_none() && hidden.is_none() {
                parts.extend(unread_part(block, &Part::inline(PartKind::Reasoning, "")));
            }
        }
        let content = match self.kind.as_str() {
            "MessageEvent" => holder.get("content"),
            _ => holder.get("thought"),
        };
        parts.extend(content_parts(
            content,
            &Part::inline(PartKind::Assistant, ""),
        ));
        if let Some(call) = self.call() {
            let arguments = call.arguments.as_deref().unwrap_or("");
            parts.push(Part {
                call_id: Some(call.id),
                ..Part::inline(PartKind::ToolCall, format!("{} {arguments}", call.tool))
            });
            if let Some(part) = parts.last_mut() {
                part.tool = Some(call.tool);
            }
        }
        parts
    }

    /// Whether an observation says that the tool failed.
    pub(super) fn is_error(&self) -> bool {
        let observation = self.fields.get("observation");
        let is_error = observation.and_then(|result| result.get("is_error"));
        is_error.and_then(Value::as_bool) == Some(true)
    }

    /// The result as JSON.
    pub(super) fn result(&self) -> Option<String> {
        let told = ["rejection_reason", "error"].into_iter();
        let reason = told.filter_map(|name| self.fields.get(name)).next();
        self.observation
            .clone()
            .or_else(|| reason.map(Value::to_string))
    }

    /// The parts that a result leaves in the context.
    pub(super) fn result_parts(&self) -> Vec<Part> {
        let result = Part {
            call_id: self.call_id.clone(),
            tool: self.tool.clone(),
            ..Part::inline(PartKind::ToolResult, "")
        };
        let field = |name: &str| self.fields.get(name).and_then(Value::as_str);
        let mut parts = match (field("rejection_reason"), field("error")) {
            (Some(reason), _) => vec![with_text(&result, format!("Action rejected: {reason}"))],
            (None, Some(error)) => vec![with_text(&result, error)],
            (None, None) => {
                let observation = self.fields.get("observation");
                content_parts(observation.and_then(|seen| seen.get("content")), &result)
            }
        };
        if parts.is_empty() {
            // An older observation, whose words stand in fields of its own.
            let text = self.observation.clone().unwrap_or_default();
            parts.push(with_text(&result, text));
        }
        parts.extend(self.extended());
        parts
    }
}

fn with_text(like: &Part, text: impl Into<String>) -> Part {
    Part {
        text: Some(text.into()),
        ..like.clone()
    }
}

fn text_of(content: &Value) -> Option<String> {
    let text = content.get("text").unwrap_or(content);
    text.as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The texts of a content: one text, or a list of blocks.
fn texts(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::Array(blocks)) => blocks.iter().filter_map(text_of).collect(),
        Some(other) => text_of(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// The parts of a content. An image, or what is not understood, is a part that cannot be read as text.
fn content_parts(content: Option<&Value>, like: &Part) -> Vec<Part> {
    let part = |block: &Value| match text_of(block) {
        Some(text) => Some(with_text(like, text)),
        None => unread_part(block, like),
    };
    blocks(content).into_iter().filter_map(part).collect()
}

/// The blocks of a content.
fn blocks(content: Option<&Value>) -> Vec<&Value> {
    match content {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        Some(other) => vec![other],
        None => Vec::new(),
    }
}

/// What stands for a block that is no text; none for an empty one.
fn unread_part(block: &Value, like: &Part) -> Option<Part> {
    let text = block.get("text").unwrap_or(block);
    if text.is_null() || text.is_string() {
        return None;
    }
    if let Some(urls) = block.get("image_urls") {
        return Some(Part {
            text: None,
            hash: Some(ContentHash::of(urls.to_string().as_bytes())),
            withheld: Some("an image".to_owned()),
            ..like.clone()
        });
    }
    let told_type = block.get("type").and_then(Value::as_str);
    let unread = unreadable(like.kind, &block.to_string(), told_type.unwrap_or_default());
    Some(Part {
        text: None,
        hash: unread.hash,
        withheld: unread.withheld,
        ..like.clone()
    })
}
