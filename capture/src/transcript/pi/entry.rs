//! Lines of a pi session.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::unreadable::unreadable_by_hash;
use super::super::{Line, whole_characters};

/// One line. Fields that it does not name are not read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<String>,
    pub(super) parent_id: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) version: Option<u32>,
    pub(super) cwd: Option<String>,
    pub(super) model_id: Option<String>,
    pub(super) message: Option<Message>,
    pub(super) summary: Option<String>,
    pub(super) first_kept_entry_id: Option<String>,
    pub(super) first_kept_entry_index: Option<u64>,
    pub(super) tokens_before: Option<u64>,
    pub(super) from_hook: Option<bool>,
    content: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) role: String,
    content: Option<Box<RawValue>>,
    pub(super) tool_call_id: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<String>,
    usage: Option<PiUsage>,
    command: Option<String>,
    output: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PiUsage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
    data: Option<String>,
    mime_type: Option<String>,
    /// Hash of its JSON, where it is not understood.
    #[serde(skip)]
    unread: Option<ContentHash>,
}

/// Types of blocks that are understood.
const UNDERSTOOD: [&str; 4] = ["text", "thinking", "toolCall", "image"];

/// A call in a message.
pub(super) struct BlockCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Entry {
    /// Reads a line; a reason where it is no entry.
    pub(super) fn parse(line: &Line) -> Result<Self, String> {
        if line.is_too_long {
            return Err("the line is too long".to_owned());
        }
        let text = std::str::from_utf8(&line.bytes).map_err(|error| error.to_string())?;
        match serde_json::from_str(text) {
            Ok(entry) => Ok(entry),
            Err(error) => whole_characters(text)
                .and_then(|text| serde_json::from_str(&text).ok())
                .ok_or_else(|| error.to_string()),
        }
    }

    /// A name that is the same at every import: the entry's id, or its line.
    pub(super) fn name(&self, line: u64) -> String {
        self.id.clone().unwrap_or_else(|| format!("line.{line}"))
    }

    /// The text of a message that an extension added.
    pub(super) fn content_text(&self) -> String {
        text_of(&blocks(self.content.as_deref()))
    }
}

fn blocks(content: Option<&RawValue>) -> Vec<Block> {
    let Some(content) = content.map(RawValue::get) else {
        return Vec::new();
    };
    match serde_json::from_str::<Vec<Box<RawValue>>>(content) {
        // One block that is not understood does not hide the others.
        Ok(list) => list.iter().map(|raw| Block::of(raw.get())).collect(),
        Err(_) => vec![Block::of(content)],
    }
}

impl Block {
    fn of(raw: &str) -> Self {
        if let Ok(text) = serde_json::from_str::<String>(raw) {
            return Self {
                kind: "text".to_owned(),
                text: Some(text),
                ..Self::default()
            };
        }
        let mut block: Self = serde_json::from_str(raw).unwrap_or_default();
        if !UNDERSTOOD.contains(&block.kind.as_str()) {
            block.unread = Some(ContentHash::of(raw.as_bytes()));
        }
        block
    }
}

fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block.text.as_deref())
        .collect();
    texts.join("\n")
}

impl Message {
    /// What the message adds to a context.
    pub(super) fn parts(&self) -> Vec<Part> {
        if self.role == "bashExecution" {
            let text = format!(
                "Ran `{}`\n{}",
                self.command.as_deref().unwrap_or(""),
                self.output.as_deref().unwrap_or("")
            );
            return vec![Part {
                origin: Some(PartOrigin::Tool),
                ..Part::inline(PartKind::Other, text)
            }];
        }
        let is_result = self.role == "toolResult";
        blocks(self.content.as_deref())
            .into_iter()
            .filter_map(|block| self.part(block, is_result))
            .collect()
    }

    fn part(&self, block: Block, is_result: bool) -> Option<Part> {
        let kind = match self.role.as_str() {
            "user" => PartKind::User,
            "assistant" => PartKind::Assistant,
            "toolResult" => PartKind::ToolResult,
            _ => PartKind::Memory,
        };
        let part = match block.kind.as_str() {
            "text" => Part::inline(kind, block.text.filter(|text| !text.is_empty())?),
            "thinking" => Part::inline(
                PartKind::Reasoning,
                block.thinking.filter(|text| !text.is_empty())?,
            ),
            "toolCall" => {
                let name = block.name.unwrap_or_default();
                let arguments = block
                    .arguments
                    .map_or_else(String::new, |raw| raw.get().to_owned());
                return Some(Part {
                    call_id: block.id,
                    tool: Some(name.clone()),
                    ..Part::inline(PartKind::ToolCall, format!("{name} {arguments}"))
                });
            }
            "image" => {
                let data = block.data.unwrap_or_default();
                let text = format!(
                    "[{}, {} bytes of base64, BLAKE3 {}]",
                    block.mime_type.as_deref().unwrap_or("image"),
                    data.len(),
                    ContentHash::of(data.as_bytes())
                );
                Part {
                    stub: true,
                    ..Part::inline(PartKind::Other, text)
                }
            }
            told_type => unreadable_by_hash(kind, block.unread?, told_type),
        };
        Some(Part {
            call_id: self.tool_call_id.clone().filter(|_| is_result),
            tool: self.tool_name.clone().filter(|_| is_result),
            ..part
        })
    }

    /// Its texts.
    pub(super) fn texts(&self) -> Vec<String> {
        blocks(self.content.as_deref())
            .into_iter()
            .filter_map(|block| block.text)
            .collect()
    }

    /// Its text as one.
    pub(super) fn text(&self) -> String {
        text_of(&blocks(self.content.as_deref()))
    }

    /// The calls that it holds.
    pub(super) fn calls(&self) -> Vec<BlockCall> {
        blocks(self.content.as_deref())
            .into_iter()
            .filter(|block| block.kind == "toolCall")
            .filter_map(|block| {
                Some(BlockCall {
                    id: block.id?,
                    name: block.name.unwrap_or_default(),
                    arguments: block
                        .arguments
                        .map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned()),
                })
            })
            .collect()
    }

    /// Input tokens as the provider measured them, with those from a cache.
    pub(super) fn input_tokens(&self) -> Option<u64> {
        self.usage()
            .map(|usage| usage.input_tokens)
            .filter(|&count| count > 0)
    }

    /// What it cost.
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = self.usage?;
        Some(Usage {
            input_tokens: usage
                .input
                .saturating_add(usage.cache_read)
                .saturating_add(usage.cache_write),
            output_tokens: usage.output,
            cache_read_tokens: Some(usage.cache_read),
            cache_write_tokens: Some(usage.cache_write),
        })
    }
}
