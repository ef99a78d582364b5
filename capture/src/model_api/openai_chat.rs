//! The Chat Completions API, also as compatible servers speak it.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{Part, PartKind, ReturnStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::{self, Block, Content, Format, piece};
use super::{CallResult, Group, ModelCall, ModelRequest, ReadError, call_part};

pub(super) mod answer;

pub use answer::{response, stream};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    model: Option<String>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    functions: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    response_format: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<&'a RawValue>>,
    function_call: Option<Function>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCall<'a> {
    index: Option<usize>,
    id: Option<String>,
    function: Option<Function>,
    #[serde(borrow)]
    custom: Option<Custom<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Custom<'a> {
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tool {
    function: Named,
    custom: Named,
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: Option<String>,
}

/// Reads a request's body.
pub fn request(body: &[u8]) -> Result<ModelRequest, ReadError> {
    let body: Body<'_> = block::read("request", body)?;
    let mut request = ModelRequest {
        model: body.model,
        group: group(body.metadata),
        ..ModelRequest::default()
    };
    let tools = body.tools.into_iter().chain(body.functions).flatten();
    request.parts.extend(tools.map(tool_schema));
    if let Some(format) = body.response_format.filter(|raw| Format::is_schema(raw)) {
        request.parts.push(format_part(format));
    }
    for (index, raw) in body.messages.into_iter().enumerate() {
        let index = u32::try_from(index).ok();
        let first = request.parts.len();
        match piece::<Message<'_>>(raw) {
            Some(message) => read_message(&mut request, message),
            None => request.parts.push(Part::inline(PartKind::Other, raw.get())),
        }
        request.parts[first..]
            .iter_mut()
            .for_each(|part| part.message = index);
    }
    Ok(request)
}

/// The conversation that `metadata` names. `prompt_cache_key` names none: applications share one between all their conversations.
pub(super) fn group(metadata: Option<&RawValue>) -> Option<Group> {
    let named: BTreeMap<String, serde_json::Value> = metadata.and_then(piece).unwrap_or_default();
    let fields = [
        ("session_id", "metadata.session_id"),
        ("conversation_id", "metadata.conversation_id"),
        ("thread_id", "metadata.thread_id"),
    ];
    fields.into_iter().find_map(|(name, field)| {
        let key = named.get(name)?.as_str().filter(|key| !key.is_empty())?;
        let key = key.to_owned();
        Some(Group { key, field })
    })
}

pub(super) fn format_part(raw: &RawValue) -> Part {
    Part {
        name: Some("response format".to_owned()),
        ..Part::inline(PartKind::ToolSchema, raw.get())
    }
}

pub(super) fn tool_schema(raw: &RawValue) -> Part {
    let tool: Tool = piece(raw).unwrap_or_default();
    Part {
        name: tool.function.name.or(tool.custom.name).or(tool.name),
        ..Part::inline(PartKind::ToolSchema, raw.get())
    }
}

fn read_message(request: &mut ModelRequest, message: Message<'_>) {
    if matches!(message.role.as_str(), "tool" | "function") {
        return tool_message(request, message);
    }
    let kind = match message.role.as_str() {
        "system" | "developer" => PartKind::System,
        "assistant" => PartKind::Assistant,
        "user" => PartKind::User,
        _ => PartKind::Other,
    };
    request.parts.extend(
        message
            .reasoning_content
            .as_deref()
            .map(|text| Part::inline(PartKind::Reasoning, text)),
    );
    let (parts, unread) = content_parts(message.content, kind);
    request.parts.extend(parts);
    if unread {
        request
            .incomplete
            .insert("a file is sent whose words are not read".to_owned());
    }
    request.parts.extend(
        message
            .refusal
            .as_deref()
            .map(|text| Part::inline(PartKind::Assistant, text)),
    );
    let calls = calls(message.tool_calls, message.function_call);
    request.parts.extend(calls.iter().map(call_part));
}

/// A message's content as parts, and whether it holds a file whose words cannot be read here.
fn content_parts(content: Option<&RawValue>, kind: PartKind) -> (Vec<Part>, bool) {
    let Some(raw) = content else {
        return (Vec::new(), false);
    };
    match Content::of(raw) {
        Content::Text(text) => (vec![Part::inline(kind, text)], false),
        Content::Other(raw) => (vec![Part::inline(PartKind::Other, raw.get())], false),
        Content::Blocks(blocks) => {
            let mut unread = false;
            let parts = blocks.into_iter().map(|raw| {
                let block: Block<'_> = piece(raw).unwrap_or_default();
                unread |= block.r#type == "file";
                match block.text.or(block.refusal) {
                    Some(text) => Part::inline(kind, text),
                    None => Part::inline(PartKind::Other, raw.get()),
                }
            });
            (parts.collect(), unread)
        }
    }
}

fn tool_message(request: &mut ModelRequest, message: Message<'_>) {
    // The older form has a name and no id.
    let call_id = message.tool_call_id.or(message.name).unwrap_or_default();
    request.results.push(CallResult {
        call_id: call_id.clone(),
        status: ReturnStatus::Ok,
        result: block::result(message.content),
    });
    let (parts, _) = content_parts(message.content, PartKind::ToolResult);
    request.parts.extend(parts.into_iter().map(|part| Part {
        call_id: Some(call_id.clone()),
        ..part
    }));
}

fn calls(tool_calls: Option<Vec<&RawValue>>, function: Option<Function>) -> Vec<ModelCall> {
    let tools = tool_calls.unwrap_or_default().into_iter().map(|raw| {
        let call: ToolCall<'_> = piece(raw).unwrap_or_default();
        let (tool, arguments) = match (call.function, call.custom) {
            (Some(function), _) => (function.name, function.arguments.unwrap_or_default()),
            (None, Some(custom)) => (custom.name, block::arguments(custom.input)),
            (None, None) => (None, raw.get().to_owned()),
        };
        ModelCall {
            call_id: call.id.unwrap_or_default(),
            tool: tool.unwrap_or_default(),
            arguments,
        }
    });
    // The older form has no id: its name joins the result to it.
    let older = function.map(|function| ModelCall {
        call_id: function.name.clone().unwrap_or_default(),
        tool: function.name.unwrap_or_default(),
        arguments: function.arguments.unwrap_or_default(),
    });
    tools.chain(older).collect()
}

#[cfg(test)]
mod tests;
