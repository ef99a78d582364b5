//! What a record of a Claude Code session adds to a context.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin};

use super::super::unreadable::unreadable_by_hash;
use super::record::{Attachment, Block, Message, Origin, Record, texts};

/// What stands in the place of a tool result that the program emptied.
pub(super) const CLEARED_RESULT: &str = "[Old tool result content cleared]";

/// Texts that the program puts into the user's messages and that hold what a local command printed.
const LOCAL_OUTPUT: [&str; 4] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
];
/// The program's own remark that such output follows.
const LOCAL_CAVEAT: &str = "<local-command-caveat>";

/// The parts of a message of the user: of what the user wrote, of tool results, and of what the program says in the user's
/// place.
pub(super) fn of_user(record: &Record, message: &Message) -> Vec<Part> {
    let blocks = message.blocks();
    blocks
        .into_iter()
        .flat_map(|block| user_parts(record, block))
        .collect()
}

fn user_parts(record: &Record, block: Block) -> Vec<Part> {
    match block.kind.as_str() {
        "tool_result" => result_parts(block),
        "image" | "document" => vec![medium_part(&block)],
        kind => {
            let unread = block
                .unread
                .map(|hash| unreadable_by_hash(PartKind::User, hash, kind));
            let text = block.text.filter(|text| !text.is_empty());
            let said = text.filter(|_| unread.is_none()).map(|text| {
                let (kind, origin) = user_kind(record, &text);
                Part {
                    origin,
                    ..Part::inline(kind, text)
                }
            });
            said.into_iter().chain(unread).collect()
        }
    }
}

/// Whose words a text in a message of the user is.
fn user_kind(record: &Record, text: &str) -> (PartKind, Option<PartOrigin>) {
    if record.is_compact_summary == Some(true) {
        return (PartKind::Summary, None);
    }
    if LOCAL_OUTPUT.iter().any(|mark| text.starts_with(mark)) {
        return (PartKind::Other, Some(PartOrigin::Tool));
    }
    if text.starts_with(LOCAL_CAVEAT) {
        return (PartKind::Other, None);
    }
    if record.is_meta == Some(true) {
        return (PartKind::Memory, None);
    }
    let is_human = record.origin.as_ref().is_none_or(Origin::is_human);
    let origin = (!is_human).then_some(PartOrigin::Application);
    (PartKind::User, origin)
}

/// A result's texts as one part, and a part for each block of it that is not understood.
fn result_parts(block: Block) -> Vec<Part> {
    let content = super::record::blocks(block.content.as_deref());
    let (mut texts, mut parts) = (Vec::new(), Vec::new());
    for inner in content {
        match inner.kind.as_str() {
            "image" | "document" => texts.extend(medium_part(&inner).text),
            kind => {
                let unread = inner.unread.filter(|_| inner.text.is_none());
                parts.extend(unread.map(|hash| Part {
                    call_id: block.tool_use_id.clone(),
                    ..unreadable_by_hash(PartKind::ToolResult, hash, kind)
                }));
                texts.extend(inner.text);
            }
        }
    }
    let said = Part {
        call_id: block.tool_use_id,
        ..Part::inline(PartKind::ToolResult, texts.join("\n"))
    };
    parts.insert(0, said);
    parts
}

/// An image or a document: what it is and its hash. Its bytes are not kept.
fn medium_part(block: &Block) -> Part {
    let source = block.source.as_ref();
    let data = source
        .and_then(|source| source.data.as_deref())
        .unwrap_or("");
    let media_type = source.and_then(|source| source.media_type.as_deref());
    let text = format!(
        "[{}, {} bytes of base64, BLAKE3 {}]",
        media_type.unwrap_or(&block.kind),
        data.len(),
        ContentHash::of(data.as_bytes())
    );
    Part {
        stub: true,
        ..Part::inline(PartKind::Other, text)
    }
}

/// What stands in the place of an emptied result.
pub(super) fn cleared_result(part: &Part) -> Part {
    Part {
        text: Some(CLEARED_RESULT.to_owned()),
        hash: None,
        stub: true,
        ..part.clone()
    }
}

/// The parts of one line of a message of the model.
pub(super) fn of_assistant(message: &Message) -> Vec<Part> {
    message
        .blocks()
        .into_iter()
        .flat_map(assistant_parts)
        .collect()
}

fn assistant_parts(block: Block) -> Vec<Part> {
    let said = |kind: PartKind, text: Option<String>| {
        let text = text.filter(|text| !text.is_empty());
        text.map(|text| Part::inline(kind, text))
    };
    let part = match block.kind.as_str() {
        "text" => said(PartKind::Assistant, block.text),
        "thinking" => said(PartKind::Reasoning, block.thinking),
        "redacted_thinking" => {
            let data = block.data.unwrap_or_default();
            Some(Part {
                encrypted: true,
                ..Part::by_hash(PartKind::Reasoning, ContentHash::of(data.as_bytes()))
            })
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let name = block.name.unwrap_or_default();
            let input = block
                .input
                .map_or_else(String::new, |raw| raw.get().to_owned());
            Some(Part {
                call_id: block.id,
                tool: Some(name.clone()),
                ..Part::inline(PartKind::ToolCall, format!("{name} {input}"))
            })
        }
        "image" | "document" => Some(medium_part(&block)),
        _ => return provided_parts(block),
    };
    part.into_iter().collect()
}

/// What a tool of the provider returned stands in the model's own message; or it is something that is not understood.
fn provided_parts(block: Block) -> Vec<Part> {
    let inner = super::record::blocks(block.content.as_deref());
    let is_all_read = !inner.is_empty()
        && inner
            .iter()
            .all(|inner| inner.text.is_some() || inner.unread.is_none());
    let found = texts(block.content.as_deref()).join("\n");
    let (call_id, kind) = (block.tool_use_id, PartKind::ToolResult);
    let said = (!found.is_empty()).then(|| Part::inline(kind, found));
    let unread = block.unread.filter(|_| !is_all_read);
    let unread = unread.map(|hash| unreadable_by_hash(kind, hash, &block.kind));
    let parts = said.into_iter().chain(unread);
    parts
        .map(|part| Part {
            call_id: call_id.clone(),
            ..part
        })
        .collect()
}

/// What an attachment adds to a context.
pub(super) struct Attached {
    pub(super) parts: Vec<Part>,
    /// It is sent before everything else with every request: its name there.
    pub(super) head: Option<String>,
    /// A rules file: its name and its text.
    pub(super) rules: Option<(String, String)>,
}

pub(super) fn of_attachment(attachment: &Attachment) -> Attached {
    let kind = attachment.kind.as_deref().unwrap_or("");
    if kind == "prompt_snapshot" {
        return head(attachment);
    }
    let rendered = texts(attachment.rendered.as_deref());
    let content = texts(attachment.content.as_deref());
    let prompt = texts(attachment.prompt.as_deref());
    let text = texts(attachment.text.as_deref());
    let found = [rendered, content.clone(), prompt, text]
        .into_iter()
        .find(|texts| !texts.is_empty())
        .unwrap_or_default();
    let (part_kind, origin) = match kind {
        "queued_command" => {
            let is_users = attachment.origin.as_ref().is_none_or(Origin::is_human)
                && attachment
                    .command_mode
                    .as_deref()
                    .is_none_or(|mode| mode != "task-notification");
            let origin = (!is_users).then_some(PartOrigin::Application);
            (PartKind::User, origin)
        }
        "nested_memory" | "instructions" => (PartKind::Memory, Some(PartOrigin::Operator)),
        "hook_additional_context"
        | "invoked_skills"
        | "plan_file_reference"
        | "relevant_memories" => (PartKind::Memory, None),
        "file" | "compact_file_reference" | "edited_text_file" | "selected_lines_in_ide" => {
            (PartKind::Other, Some(PartOrigin::Tool))
        }
        _ => (PartKind::Other, None),
    };
    let is_rules = matches!(kind, "nested_memory" | "instructions");
    let name = attachment
        .path
        .clone()
        .or_else(|| attachment.display_path.clone());
    // Claude Code reads these from disk and sends them with every request, also after a compaction.
    let head =
        (kind == "instructions").then(|| format!("instructions {}", name.as_deref().unwrap_or("")));
    let rules = is_rules.then(|| {
        let text = if content.is_empty() { &found } else { &content };
        (
            name.clone().unwrap_or_else(|| kind.to_owned()),
            text.join("\n"),
        )
    });
    let parts = found.into_iter().map(|text| Part {
        origin,
        name: name.clone(),
        ..Part::inline(part_kind, text)
    });
    Attached {
        parts: parts.collect(),
        head,
        rules,
    }
}

fn head(attachment: &Attachment) -> Attached {
    let prompts = texts(attachment.system_prompt.as_deref())
        .into_iter()
        .map(|text| Part::inline(PartKind::System, text));
    let tools = attachment.tool_schemas().into_iter();
    let schemas = tools.map(|tool| Part::inline(PartKind::ToolSchema, tool.get()));
    Attached {
        parts: prompts.chain(schemas).collect(),
        head: Some("prompt".to_owned()),
        rules: None,
    }
}
