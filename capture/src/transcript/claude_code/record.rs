//! Lines of a Claude Code session, as far as they are understood.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Line, whole_characters};
use super::tool_use_result::ToolUseResult;

/// One line.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) subtype: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) parent_uuid: Option<String>,
    pub(super) logical_parent_uuid: Option<String>,
    pub(super) is_sidechain: bool,
    pub(super) agent_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) version: Option<String>,
    pub(super) git_branch: Option<String>,
    pub(super) is_meta: Option<bool>,
    pub(super) is_compact_summary: Option<bool>,
    pub(super) is_visible_in_transcript_only: Option<bool>,
    pub(super) is_api_error_message: Option<bool>,
    pub(super) permission_mode: Option<String>,
    pub(super) tool_denial_kind: Option<String>,
    pub(super) forked_from: Option<ForkedFrom>,
    pub(super) origin: Option<Origin>,
    pub(super) message: Option<Message>,
    pub(super) compact_metadata: Option<CompactMetadata>,
    pub(super) microcompact_metadata: Option<MicrocompactMetadata>,
    pub(super) attachment: Option<Box<RawValue>>,
    pub(super) tool_use_result: ToolUseResult,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForkedFrom {
    pub(super) session_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Origin {
    kind: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) content: Option<Box<RawValue>>,
    pub(super) stop_reason: Option<String>,
    usage: Option<ApiUsage>,
    pub(super) context_management: Option<ContextManagement>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContextManagement {
    pub(super) applied_edits: Option<Vec<AppliedEdit>>,
}

/// What the provider removed from the request by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AppliedEdit {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) cleared_input_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct ApiUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CompactMetadata {
    pub(super) trigger: Option<String>,
    pub(super) pre_tokens: Option<u64>,
    pub(super) post_tokens: Option<u64>,
    pub(super) preserved_segment: Option<PreservedSegment>,
    pub(super) preserved_messages: Option<PreservedMessages>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PreservedSegment {
    pub(super) head_uuid: Option<String>,
    pub(super) anchor_uuid: Option<String>,
    pub(super) tail_uuid: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PreservedMessages {
    pub(super) anchor_uuid: Option<String>,
    pub(super) uuids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MicrocompactMetadata {
    pub(super) trigger: Option<String>,
    pub(super) pre_tokens: Option<u64>,
    pub(super) compacted_tool_ids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Attachment {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) path: Option<String>,
    pub(super) display_path: Option<String>,
    pub(super) content: Option<Box<RawValue>>,
    pub(super) prompt: Option<Box<RawValue>>,
    pub(super) text: Option<Box<RawValue>>,
    pub(super) origin: Option<Origin>,
    pub(super) command_mode: Option<String>,
    pub(super) rendered: Option<Box<RawValue>>,
    pub(super) system_prompt: Option<Box<RawValue>>,
    pub(super) tools: Option<Box<RawValue>>,
}

/// A block of a message's content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) data: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Box<RawValue>>,
    pub(super) tool_use_id: Option<String>,
    pub(super) content: Option<Box<RawValue>>,
    pub(super) is_error: Option<bool>,
    pub(super) source: Option<Source>,
    /// Hash of its JSON, where it is of a type that is not understood.
    #[serde(skip)]
    pub(super) unread: Option<ContentHash>,
}

/// Types of blocks that are understood.
const UNDERSTOOD: [&str; 9] = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "tool_result",
    "image",
    "document",
];
/// Types of blocks that hold all that they say in fields of their own: they are told as they stand.
const TOLD_WHOLE: [&str; 2] = ["tool_reference", "search_result"];

/// The bytes of an image or a document.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Source {
    pub(super) media_type: Option<String>,
    pub(super) data: Option<String>,
}

impl Record {
    /// Reads a line; a reason where it is no record.
    pub(super) fn parse(line: &Line) -> Result<Self, String> {
        if line.is_too_long {
            return Err("the line is too long".to_owned());
        }
        let text = std::str::from_utf8(&line.bytes).map_err(|error| error.to_string())?;
        match serde_json::from_str(text) {
            Ok(record) => Ok(record),
            Err(error) => whole_characters(text)
                .and_then(|text| serde_json::from_str(&text).ok())
                .ok_or_else(|| error.to_string()),
        }
    }

    /// Whether the program itself wrote an assistant's message, for which no request was sent.
    pub(super) fn is_synthetic(&self) -> bool {
        self.is_api_error_message == Some(true)
            || self
                .message
                .as_ref()
                .is_some_and(|message| message.model.as_deref() == Some("<synthetic>"))
    }
}

impl Attachment {
    /// Reads an attachment. Of one whose fields are of other types than those known, nothing is understood.
    pub(super) fn read(raw: &RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    /// The tools' schemas.
    pub(super) fn tool_schemas(&self) -> Vec<Box<RawValue>> {
        let tools = self.tools.as_ref().map(|raw| raw.get());
        tools
            .and_then(|tools| serde_json::from_str(tools).ok())
            .unwrap_or_default()
    }
}

impl Origin {
    /// Whether a person wrote it.
    pub(super) fn is_human(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "human")
    }
}

impl Message {
    /// The blocks of its content.
    pub(super) fn blocks(&self) -> Vec<Block> {
        blocks(self.content.as_deref())
    }

    /// What the request cost, as its provider reports it.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.usage?;
        let (read, write) = (
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        );
        Some(Usage {
            input_tokens: usage
                .input_tokens
                .unwrap_or(0)
                .saturating_add(read.unwrap_or(0))
                .saturating_add(write.unwrap_or(0)),
            output_tokens: usage.output_tokens.unwrap_or(0),
            cache_read_tokens: read,
            cache_write_tokens: write,
        })
    }

    /// Input tokens of the request, those from a cache included; none where the record says nothing.
    pub(super) fn input_tokens(&self) -> Option<u64> {
        self.usage()
            .map(|usage| usage.input_tokens)
            .filter(|&count| count > 0)
    }
}

/// Content that is a text or a list of blocks.
pub(super) fn blocks(content: Option<&RawValue>) -> Vec<Block> {
    let Some(content) = content.map(RawValue::get) else {
        return Vec::new();
    };
    if let Ok(text) = serde_json::from_str::<String>(content) {
        return vec![text_block(text)];
    }
    match serde_json::from_str::<Vec<Box<RawValue>>>(content) {
        // One block that is not understood does not hide the others.
        Ok(list) => list.iter().map(|raw| block(raw.get())).collect(),
        Err(_) => vec![block(content)],
    }
}

fn block(raw: &str) -> Block {
    let read = serde_json::from_str(raw).or_else(|_| {
        let text = serde_json::from_str::<String>(raw);
        text.map(text_block)
    });
    let mut block = read.unwrap_or_else(|_| Block {
        kind: "unknown".to_owned(),
        ..Block::default()
    });
    if TOLD_WHOLE.contains(&block.kind.as_str()) {
        block.text = Some(raw.to_owned());
    } else if !UNDERSTOOD.contains(&block.kind.as_str()) {
        block.unread = Some(ContentHash::of(raw.as_bytes()));
    }
    block
}

fn text_block(text: String) -> Block {
    Block {
        kind: "text".to_owned(),
        text: Some(text),
        ..Block::default()
    }
}

/// The texts of content, whatever its shape: a text, a list of texts or blocks, or an object that has such content.
pub(super) fn texts(content: Option<&RawValue>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Nested {
        content: Option<Box<RawValue>>,
        file: Option<Box<RawValue>>,
    }
    if let Some(raw) = content
        && let Ok(nested) = serde_json::from_str::<Nested>(raw.get())
    {
        let inner = nested.content.or(nested.file);
        return inner.map_or_else(Vec::new, |inner| texts(Some(&inner)));
    }
    blocks(content)
        .into_iter()
        .filter_map(|block| block.text)
        .filter(|text| !text.is_empty())
        .collect()
}
