//! Events of a sample, and the messages that they refer to.

use std::cell::Cell;
use std::collections::HashMap;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What every event has.
#[derive(Deserialize)]
pub(super) struct Common {
    pub(super) event: String,
    pub(super) uuid: Option<String>,
    pub(super) span_id: Option<String>,
    pub(super) timestamp: Option<String>,
}

/// The begin of a span.
#[derive(Deserialize)]
pub(super) struct SpanBegin {
    pub(super) event: String,
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
}

/// A model call.
#[derive(Deserialize)]
pub(super) struct ModelCall<'a> {
    pub(super) model: Option<String>,
    #[serde(borrow, default)]
    pub(super) input: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) input_refs: Option<Vec<(usize, usize)>>,
    #[serde(borrow, default)]
    pub(super) tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<ModelOutput<'a>>,
    pub(super) completed: Option<String>,
    pub(super) error: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ModelOutput<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Vec<Choice<'a>>,
    #[serde(default)]
    pub(super) usage: Option<ModelUsage>,
    #[serde(default)]
    pub(super) input_context_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) message: &'a RawValue,
    pub(super) stop_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct ModelUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_cache_read: Option<u64>,
    input_tokens_cache_write: Option<u64>,
}

impl ModelUsage {
    /// Inspect counts cached input apart.
    pub(super) fn usage(&self) -> Usage {
        let cached =
            self.input_tokens_cache_read.unwrap_or(0) + self.input_tokens_cache_write.unwrap_or(0);
        Usage {
            input_tokens: self.input_tokens + cached,
            output_tokens: self.output_tokens,
            cache_read_tokens: self.input_tokens_cache_read,
            cache_write_tokens: self.input_tokens_cache_write,
        }
    }
}

/// A tool call that was run.
#[derive(Deserialize)]
pub(super) struct ToolRun<'a> {
    pub(super) id: String,
    pub(super) function: Option<String>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) completed: Option<String>,
    pub(super) agent_span_id: Option<String>,
}

/// What an approver decided about a call.
#[derive(Deserialize)]
pub(super) struct Approval {
    pub(super) call: ApprovedCall,
    pub(super) approver: Option<String>,
    pub(super) decision: Option<String>,
    pub(super) explanation: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ApprovedCall {
    pub(super) id: String,
}

/// A compaction.
#[derive(Deserialize)]
pub(super) struct Compaction {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) tokens_before: Option<u64>,
    pub(super) tokens_after: Option<u64>,
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) metadata: Option<CompactionMetadata>,
}

#[derive(Default, Deserialize)]
pub(super) struct CompactionMetadata {
    pub(super) strategy: Option<String>,
    pub(super) trigger: Option<String>,
}

/// A message of the pool or of an input.
#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    tool_call_id: Option<String>,
    function: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    metadata: Option<Value>,
}

/// A call in a message.
#[derive(Deserialize)]
pub(super) struct ToolCall<'a> {
    pub(super) id: String,
    pub(super) function: String,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A message, read, with every reference to an attachment resolved.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) parts: Vec<Part>,
    /// Ids, tools and arguments of its calls.
    pub(super) calls: Vec<(String, String, Option<String>)>,
    /// It stands in for what was summarised.
    pub(super) is_summary: bool,
    /// A text that it refers to is not in the log.
    pub(super) lacks_text: bool,
}

/// Bytes of attached texts that are put in their places in one sample, all together. A text may be referred to any number of
/// times, so a small log could otherwise mean a large one.
const RESOLVED_BYTES_MAX: usize = 256 * 1024 * 1024;
const ATTACHMENT: &str = "\"attachment://";

/// Texts that stand elsewhere in the sample.
pub(super) struct Attachments<'a> {
    texts: &'a HashMap<String, String>,
    room: Cell<usize>,
}

impl<'a> Attachments<'a> {
    pub(super) fn new(texts: &'a HashMap<String, String>) -> Self {
        Self {
            texts,
            room: Cell::new(RESOLVED_BYTES_MAX),
        }
    }

    /// JSON with every string that is a reference replaced by the text that it refers to; false if one is not there.
    pub(super) fn resolve(&self, json: &str) -> (String, bool) {
        let mut resolved = String::with_capacity(json.len());
        let (mut rest, mut is_whole) = (json, true);
        while let Some(at) = rest.find(ATTACHMENT) {
            let name = &rest[at + ATTACHMENT.len()..];
            let Some(end) = name.find('"') else { break };
            resolved.push_str(&rest[..at]);
            match self.text(&name[..end]) {
                Some(text) => resolved.push_str(&Value::from(text).to_string()),
                None => {
                    is_whole = false;
                    resolved.push_str(&rest[at..at + ATTACHMENT.len() + end + 1]);
                }
            }
            rest = &name[end + 1..];
        }
        resolved.push_str(rest);
        (resolved, is_whole)
    }

    fn text(&self, hash: &str) -> Option<&'a str> {
        let text = self.texts.get(hash)?;
        self.room.set(self.room.get().checked_sub(text.len())?);
        Some(text)
    }
}

/// Reads a message from JSON whose references are resolved.
pub(super) fn said(json: &str) -> Result<Said, serde_json::Error> {
    let message: Message<'_> = serde_json::from_str(json)?;
    let metadata = message.metadata.as_ref();
    let is_summary =
        metadata.and_then(|metadata| metadata.get("summary")) == Some(&Value::Bool(true));
    let like = match message.role.as_str() {
        "system" => Part::inline(PartKind::System, ""),
        "assistant" => Part::inline(PartKind::Assistant, ""),
        "tool" => Part {
            call_id: message.tool_call_id.clone(),
            tool: message.function.clone(),
            ..Part::inline(PartKind::ToolResult, "")
        },
        _ if is_summary => Part {
            origin: Some(PartOrigin::Model),
            ..Part::inline(PartKind::Summary, "")
        },
        _ => Part::inline(PartKind::User, ""),
    };
    let mut parts = Vec::new();
    let failed = message
        .error
        .map(|error| serde_json::from_str::<Value>(error.get()));
    let failed = failed.transpose()?;
    let reason = failed
        .as_ref()
        .and_then(|error| error.get("message")?.as_str());
    match (reason, message.content) {
        // Of a call that failed, the model is sent the reason in place of a result.
        (Some(reason), _) => parts.push(with_text(&like, reason)),
        (None, Some(content)) => content_parts(content.get(), &like, &mut parts)?,
        (None, None) => {}
    }
    let mut calls = Vec::new();
    for call in message.tool_calls.into_iter().flatten() {
        let arguments = call.arguments.map(|raw| raw.get().to_owned());
        let text = format!("{} {}", call.function, arguments.as_deref().unwrap_or(""));
        parts.push(Part {
            call_id: Some(call.id.clone()),
            tool: Some(call.function.clone()),
            ..Part::inline(PartKind::ToolCall, text)
        });
        calls.push((call.id, call.function, arguments));
    }
    Ok(Said {
        parts,
        calls,
        is_summary,
        lacks_text: false,
    })
}

fn with_text(like: &Part, text: &str) -> Part {
    Part {
        text: Some(text.to_owned()),
        ..like.clone()
    }
}

/// The parts of a content: a text, or a list of blocks.
fn content_parts(
    content: &str,
    like: &Part,
    parts: &mut Vec<Part>,
) -> Result<(), serde_json::Error> {
    if !content.starts_with('[') {
        let text: Option<String> = serde_json::from_str(content)?;
        parts.extend(
            text.filter(|text| !text.is_empty())
                .map(|text| with_text(like, &text)),
        );
        return Ok(());
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content)?;
    for raw in blocks {
        let block: Value = serde_json::from_str(raw.get())?;
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") if field("text").is_some() => {
                parts.extend(field("text").map(|text| with_text(like, text)));
            }
            Some("reasoning") => {
                let text = field("reasoning").unwrap_or("");
                let is_hidden = block.get("redacted") == Some(&Value::Bool(true));
                parts.push(if is_hidden {
                    Part {
                        encrypted: true,
                        ..Part::by_hash(PartKind::Reasoning, ContentHash::of(text.as_bytes()))
                    }
                } else {
                    Part::inline(PartKind::Reasoning, text)
                });
            }
            kind => parts.push(Part {
                text: None,
                hash: Some(ContentHash::of(raw.get().as_bytes())),
                withheld: Some(format!("not text: {}", kind.unwrap_or("unknown"))),
                ..like.clone()
            }),
        }
    }
    Ok(())
}
