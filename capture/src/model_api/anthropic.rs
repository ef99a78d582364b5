//! The Messages API of Anthropic.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, ReturnStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::{self, Block, Content, piece};
use super::{
    CallResult, CompactionItem, Group, ModelCall, ModelRequest, ModelResponse, ReadError,
    call_part, encrypted_part,
};

mod answer;
mod editing;
mod stream;

use editing::ContextManagement;

pub use answer::response;
pub use stream::stream;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    model: Option<String>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<Vec<Message<'a>>>,
    metadata: Option<Metadata>,
    #[serde(borrow)]
    context_management: Option<ContextManagement<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(default)]
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    user_id: Option<String>,
}

/// Reads a request's body.
pub fn request(body: &[u8]) -> Result<ModelRequest, ReadError> {
    let body: Body<'_> = block::read("request", body)?;
    let messages = body
        .messages
        .ok_or_else(|| ReadError::missing("request", "messages"))?;
    let mut request = ModelRequest {
        model: body.model,
        group: body.metadata.and_then(|metadata| group(&metadata.user_id?)),
        threshold_tokens: body
            .context_management
            .as_ref()
            .and_then(ContextManagement::threshold),
        ..ModelRequest::default()
    };
    for tool in body.tools {
        request.parts.push(tool_schema(tool));
    }
    if let Some(system) = body.system {
        content(
            &mut request,
            system,
            Place {
                kind: PartKind::System,
                message: None,
            },
        );
    }
    let before_messages = request.parts.len();
    for (index, message) in messages.iter().enumerate() {
        let kind = match message.role.as_str() {
            "assistant" => PartKind::Assistant,
            "system" => PartKind::System,
            _ => PartKind::User,
        };
        let place = Place {
            kind,
            message: u32::try_from(index).ok(),
        };
        if let Some(raw) = message.content {
            content(&mut request, raw, place);
        }
    }
    leave_out_compacted(&mut request, before_messages);
    let management = body.context_management.as_ref();
    request.clearing = management.and_then(|asked| asked.clearing(&request.parts));
    Ok(request)
}

/// A part that holds a tool's schema.
fn tool_schema(tool: &RawValue) -> Part {
    Part {
        name: piece::<Block<'_>>(tool).and_then(|block| block.name),
        ..Part::inline(PartKind::ToolSchema, tool.get())
    }
}

/// The provider reads nothing that stands before the last compaction block, so that it is no part of the context.
fn leave_out_compacted(request: &mut ModelRequest, before_messages: usize) {
    if request.compaction.is_none() {
        return;
    }
    let at = request
        .parts
        .iter()
        .rposition(|part| part.kind == PartKind::Summary);
    if let Some(at) = at {
        request.left_out = request.parts.drain(before_messages.min(at)..at).collect();
    }
}

/// The session that Claude Code names in `user_id`, which it has written in two ways. Another `user_id` names a user, not a
/// session.
fn group(user_id: &str) -> Option<Group> {
    #[derive(Deserialize)]
    struct Named {
        session_id: String,
    }
    let key = match serde_json::from_str::<Named>(user_id) {
        Ok(named) => named.session_id,
        Err(_) => user_id.rsplit_once("_session_")?.1.to_owned(),
    };
    (!key.is_empty()).then_some(Group {
        key,
        field: "metadata.user_id",
    })
}

/// Where a block stands.
#[derive(Clone, Copy)]
struct Place {
    kind: PartKind,
    message: Option<u32>,
}

impl Place {
    fn part(self, kind: PartKind, text: impl Into<String>) -> Part {
        self.of(Part::inline(kind, text))
    }

    fn of(self, part: Part) -> Part {
        Part {
            message: self.message,
            ..part
        }
    }
}

fn content(request: &mut ModelRequest, raw: &RawValue, place: Place) {
    match Content::of(raw) {
        Content::Text(text) => request.parts.push(place.part(place.kind, text)),
        Content::Blocks(blocks) => {
            for raw in blocks {
                let block = piece(raw).unwrap_or_default();
                content_block(request, raw, &block, place);
            }
        }
        Content::Other(raw) => request.parts.push(place.part(PartKind::Other, raw.get())),
    }
}

fn content_block(request: &mut ModelRequest, raw: &RawValue, block: &Block<'_>, place: Place) {
    match block.r#type.as_str() {
        "tool_result" => tool_result(request, block, place),
        "document" => document(request, raw, block, place),
        "compaction" => {
            let part = spoken(raw, block, place);
            request.compaction = compaction(block).or(request.compaction.take());
            request.parts.push(part);
        }
        _ => request.parts.push(spoken(raw, block, place)),
    }
}

fn compaction(block: &Block<'_>) -> Option<CompactionItem> {
    let summary = block.content.and_then(piece::<String>);
    let bytes = summary.as_deref().or(block.encrypted_content.as_deref())?;
    Some(CompactionItem {
        hash: ContentHash::of(bytes.as_bytes()),
        summary: summary.clone(),
    })
}

/// A block that a response may hold too.
fn spoken(raw: &RawValue, block: &Block<'_>, place: Place) -> Part {
    let kind = block.r#type.as_str();
    let text = |part_kind, text: &Option<String>| match text {
        Some(text) => place.part(part_kind, text.as_str()),
        None => place.part(PartKind::Other, raw.get()),
    };
    match kind {
        "text" => text(place.kind, &block.text),
        "thinking" => text(PartKind::Reasoning, &block.thinking),
        "redacted_thinking" => {
            let data = block.data.as_deref().unwrap_or_default();
            place.of(encrypted_part(PartKind::Reasoning, data))
        }
        "compaction" => match (
            block.content.and_then(piece::<String>),
            &block.encrypted_content,
        ) {
            (Some(summary), _) => place.part(PartKind::Summary, summary),
            (None, Some(encrypted)) => place.of(encrypted_part(PartKind::Summary, encrypted)),
            // The provider could not make a summary and says so; nothing is left out then.
            (None, None) => place.part(PartKind::Other, raw.get()),
        },
        _ if kind.ends_with("tool_use") => match call(block) {
            Some(call) => place.of(call_part(&call)),
            None => place.part(PartKind::Other, raw.get()),
        },
        _ if kind.ends_with("_tool_result") => Part {
            call_id: block.tool_use_id.clone(),
            ..place.part(
                PartKind::ToolResult,
                block.content.map_or(raw.get(), RawValue::get),
            )
        },
        _ => place.part(PartKind::Other, raw.get()),
    }
}

fn call(block: &Block<'_>) -> Option<ModelCall> {
    Some(ModelCall {
        call_id: block.id.clone()?,
        tool: block.name.clone()?,
        arguments: block::arguments(block.input),
    })
}

fn tool_result(request: &mut ModelRequest, block: &Block<'_>, place: Place) {
    let call_id = block.tool_use_id.clone().unwrap_or_default();
    let status = match block.is_error {
        Some(true) => ReturnStatus::Error,
        _ => ReturnStatus::Ok,
    };
    request.results.push(CallResult {
        call_id: call_id.clone(),
        status,
        result: block::result(block.content),
    });
    let part = |kind, text: String| Part {
        call_id: Some(call_id.clone()),
        ..place.part(kind, text)
    };
    match block.content.map(Content::of) {
        None => request
            .parts
            .push(part(PartKind::ToolResult, String::new())),
        Some(Content::Text(text)) => request.parts.push(part(PartKind::ToolResult, text)),
        Some(Content::Other(raw)) => request
            .parts
            .push(part(PartKind::ToolResult, raw.get().to_owned())),
        Some(Content::Blocks(blocks)) => {
            for raw in blocks {
                let inner: Block<'_> = piece(raw).unwrap_or_default();
                let (kind, text) = match inner.text {
                    Some(text) if inner.r#type == "text" => (PartKind::ToolResult, text),
                    _ => (PartKind::Other, raw.get().to_owned()),
                };
                request.parts.push(part(kind, text));
            }
        }
    }
}

/// A document: its text where it is text, else a file whose words nobody here can read.
fn document(request: &mut ModelRequest, raw: &RawValue, block: &Block<'_>, place: Place) {
    let source: Block<'_> = block.source.and_then(piece).unwrap_or_default();
    match (source.r#type.as_str(), source.data) {
        ("text", Some(text)) => request.parts.push(Part {
            name: block.title.clone(),
            ..place.part(place.kind, text)
        }),
        _ => {
            request
                .incomplete
                .insert("a document is sent whose words are not read".to_owned());
            request.parts.push(place.part(PartKind::Other, raw.get()));
        }
    }
}

#[cfg(test)]
mod tests;
