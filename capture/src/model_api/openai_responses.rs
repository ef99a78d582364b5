//! The Responses API, and the compaction that belongs to it.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, ReturnStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::{self, Block, Content, Format, piece};
use super::openai_chat::{format_part, group, tool_schema};
use super::{
    CallResult, CompactionItem, KeptContext, ModelCall, ModelRequest, ReadError, call_part,
    encrypted_part,
};

mod answer;

pub use answer::{response, stream};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    model: Option<String>,
    instructions: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    text: Option<TextOptions<'a>>,
    previous_response_id: Option<String>,
    #[serde(borrow)]
    conversation: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    context_management: Option<Vec<Management>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextOptions<'a> {
    #[serde(borrow)]
    format: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Management {
    compact_threshold: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Identified {
    id: String,
}

/// Reads a request's body.
pub fn request(body: &[u8]) -> Result<ModelRequest, ReadError> {
    let body: Body<'_> = block::read("request", body)?;
    let mut request = ModelRequest {
        model: body.model,
        group: group(body.metadata),
        kept: kept(body.previous_response_id, body.conversation),
        threshold_tokens: body
            .context_management
            .iter()
            .flatten()
            .filter_map(|one| one.compact_threshold)
            .min(),
        ..ModelRequest::default()
    };
    request
        .parts
        .extend(body.tools.into_iter().flatten().map(tool_schema));
    let format = body
        .text
        .and_then(|text| text.format)
        .filter(|raw| Format::is_schema(raw));
    request.parts.extend(format.map(format_part));
    request.parts.extend(
        body.instructions
            .map(|text| Part::inline(PartKind::System, text)),
    );
    if let Some(prompt) = body.prompt {
        request
            .incomplete
            .insert("a prompt is used that the provider keeps".to_owned());
        request
            .parts
            .push(Part::inline(PartKind::Other, prompt.get()));
    }
    match body.input.map(Content::of) {
        None => {}
        Some(Content::Text(text)) => request.parts.push(Part {
            message: Some(0),
            ..Part::inline(PartKind::User, text)
        }),
        Some(Content::Other(raw)) => request.parts.push(Part::inline(PartKind::Other, raw.get())),
        Some(Content::Blocks(items)) => {
            for (index, raw) in items.into_iter().enumerate() {
                let first = request.parts.len();
                input_item(&mut request, raw);
                let index = u32::try_from(index).ok();
                request.parts[first..]
                    .iter_mut()
                    .for_each(|part| part.message = index);
            }
        }
    }
    Ok(request)
}

fn kept(response: Option<String>, conversation: Option<&RawValue>) -> Option<KeptContext> {
    let conversation = conversation.and_then(|raw| {
        piece::<String>(raw).or_else(|| piece::<Identified>(raw).map(|object| object.id))
    });
    let conversation = conversation.map(KeptContext::Conversation);
    response.map(KeptContext::Response).or(conversation)
}

fn input_item(request: &mut ModelRequest, raw: &RawValue) {
    let item: Block<'_> = piece(raw).unwrap_or_default();
    if item.r#type == "item_reference" {
        request
            .incomplete
            .insert("an item is sent by its id alone".to_owned());
    }
    if let Some(compaction) = compaction(&item) {
        request.compaction = Some(compaction);
    }
    let read = read_item(raw, &item);
    if read.unread_file {
        request
            .incomplete
            .insert("a file is sent whose words are not read".to_owned());
    }
    request.parts.extend(read.parts);
    request.results.extend(read.result);
}

fn is_compaction(kind: &str) -> bool {
    matches!(kind, "compaction" | "compaction_summary")
}

fn compaction(item: &Block<'_>) -> Option<CompactionItem> {
    let encrypted = item
        .encrypted_content
        .as_ref()
        .filter(|_| is_compaction(&item.r#type))?;
    Some(CompactionItem {
        hash: ContentHash::of(encrypted.as_bytes()),
        summary: None,
    })
}

/// What an item of an input or an output says.
#[derive(Default)]
struct Item {
    parts: Vec<Part>,
    text: Vec<String>,
    call: Option<ModelCall>,
    result: Option<CallResult>,
    unread_file: bool,
}

fn read_item(raw: &RawValue, item: &Block<'_>) -> Item {
    let other = || Item {
        parts: vec![Part::inline(PartKind::Other, raw.get())],
        ..Item::default()
    };
    match item.r#type.as_str() {
        // A message may leave its type away.
        "message" | "" if item.role.is_some() => message(item),
        "reasoning" => Item {
            parts: reasoning(raw, item),
            ..Item::default()
        },
        kind if is_compaction(kind) => match &item.encrypted_content {
            Some(encrypted) => Item {
                parts: vec![encrypted_part(PartKind::Summary, encrypted)],
                ..Item::default()
            },
            None => other(),
        },
        kind if kind.ends_with("_call_output") || kind == "tool_search_output" => {
            returned(raw, item)
        }
        kind if kind.ends_with("_call") => called(raw, item),
        _ => other(),
    }
}

fn message(item: &Block<'_>) -> Item {
    let kind = match item.role.as_deref() {
        Some("system" | "developer") => PartKind::System,
        Some("assistant") => PartKind::Assistant,
        Some("user") => PartKind::User,
        _ => PartKind::Other,
    };
    let mut read = Item::default();
    match item.content.map(Content::of) {
        None => {}
        Some(Content::Text(text)) => {
            read.text.push(text.clone());
            read.parts.push(Part::inline(kind, text));
        }
        Some(Content::Other(raw)) => read.parts.push(Part::inline(PartKind::Other, raw.get())),
        Some(Content::Blocks(blocks)) => {
            for raw in blocks {
                let block: Block<'_> = piece(raw).unwrap_or_default();
                read.unread_file |= block.r#type == "input_file";
                match block.text.or(block.refusal) {
                    Some(text) => {
                        read.text.push(text.clone());
                        read.parts.push(Part::inline(kind, text));
                    }
                    None => read.parts.push(Part::inline(PartKind::Other, raw.get())),
                }
            }
        }
    }
    read
}

/// Reasoning: what can be read of it, and what only the provider reads.
fn reasoning(raw: &RawValue, item: &Block<'_>) -> Vec<Part> {
    let texts = |raw: Option<&RawValue>| -> Vec<String> {
        let blocks: Vec<Block<'_>> = raw.and_then(piece).unwrap_or_default();
        blocks.into_iter().filter_map(|block| block.text).collect()
    };
    let readable = texts(item.summary).into_iter().chain(texts(item.content));
    let mut parts: Vec<Part> = readable
        .map(|text| Part::inline(PartKind::Reasoning, text))
        .collect();
    let encrypted = item.encrypted_content.as_deref();
    parts.extend(encrypted.map(|bytes| encrypted_part(PartKind::Reasoning, bytes)));
    if parts.is_empty() {
        parts.push(Part::inline(PartKind::Reasoning, raw.get()));
    }
    parts
}

fn called(raw: &RawValue, item: &Block<'_>) -> Item {
    let without = |kind: &str| kind.strip_suffix("_call").unwrap_or(kind).to_owned();
    let arguments = [item.arguments, item.input, item.action, item.operation];
    let arguments = arguments.into_iter().flatten().next();
    // A call that the client answers has a `call_id`; one that the provider ran itself holds its result.
    let by_provider = item.call_id.is_none();
    let call = ModelCall {
        call_id: item.call_id.clone().or(item.id.clone()).unwrap_or_default(),
        tool: item.name.clone().unwrap_or_else(|| without(&item.r#type)),
        arguments: match arguments {
            Some(arguments) => block::arguments(Some(arguments)),
            None => raw.get().to_owned(),
        },
    };
    let output = item.output.or(item.error);
    let result = by_provider.then(|| CallResult {
        call_id: call.call_id.clone(),
        status: if item.error.is_some() {
            ReturnStatus::Error
        } else {
            ReturnStatus::Ok
        },
        result: block::result(output),
    });
    let mut parts = vec![call_part(&call)];
    if let (true, Some(output)) = (by_provider, output) {
        parts.push(result_part(&call.call_id, output));
    }
    Item {
        parts,
        call: Some(call),
        result,
        ..Item::default()
    }
}

fn result_part(call_id: &str, output: &RawValue) -> Part {
    let text = piece::<String>(output).unwrap_or_else(|| output.get().to_owned());
    Part {
        call_id: Some(call_id.to_owned()),
        ..Part::inline(PartKind::ToolResult, text)
    }
}

fn returned(raw: &RawValue, item: &Block<'_>) -> Item {
    let call_id = item.call_id.clone().unwrap_or_default();
    let output = item.output.unwrap_or(raw);
    let result = block::result(Some(output));
    let mut parts = Vec::new();
    match Content::of(output) {
        Content::Blocks(blocks) => {
            for raw in blocks {
                let block: Block<'_> = piece(raw).unwrap_or_default();
                let (kind, text) = match block.text {
                    Some(text) => (PartKind::ToolResult, text),
                    None => (PartKind::Other, raw.get().to_owned()),
                };
                let call_id = Some(call_id.clone());
                parts.push(Part {
                    call_id,
                    ..Part::inline(kind, text)
                });
            }
        }
        _ => parts.push(result_part(&call_id, output)),
    }
    let status = ReturnStatus::Ok;
    Item {
        parts,
        result: Some(CallResult {
            call_id,
            status,
            result,
        }),
        ..Item::default()
    }
}

#[cfg(test)]
mod tests;
