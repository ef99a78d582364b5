//! Lines of a Codex rollout.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, PartOrigin, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::unreadable::unreadable_by_hash;
use super::super::{Line, whole_characters};
use super::content::{Content, contents, image};

/// One line: its type, and what it carries.
#[derive(Debug, Deserialize)]
pub(super) struct RolloutLine {
    pub(super) timestamp: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) payload: Option<Box<RawValue>>,
}

/// `session_meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    pub(super) id: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) cli_version: Option<String>,
    pub(super) forked_from_id: Option<String>,
    pub(super) base_instructions: Option<Instructions>,
    pub(super) instructions: Option<String>,
    pub(super) source: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Instructions {
    pub(super) text: Option<String>,
}

impl Meta {
    /// The session that started this one.
    pub(super) fn parent(&self) -> Option<&str> {
        self.source
            .as_ref()?
            .pointer("/subagent/thread_spawn/parent_thread_id")?
            .as_str()
    }
}

/// `turn_context`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnContext {
    pub(super) cwd: Option<String>,
    pub(super) approval_policy: Option<serde_json::Value>,
    pub(super) sandbox_policy: Option<serde_json::Value>,
    pub(super) permission_profile: Option<serde_json::Value>,
    pub(super) model: Option<String>,
    pub(super) user_instructions: Option<String>,
    pub(super) developer_instructions: Option<String>,
}

/// `compacted`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Compacted {
    pub(super) message: Option<String>,
    pub(super) replacement_history: Option<Vec<Box<RawValue>>>,
}

/// `event_msg`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) info: Option<TokenInfo>,
    pub(super) num_turns: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenInfo {
    pub(super) last_token_usage: Option<TokenUsage>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenUsage {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

impl TokenUsage {
    /// The usage as an event has it.
    pub(super) fn usage(self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: Some(self.cached_input_tokens),
            cache_write_tokens: None,
        }
    }
}

/// `response_item`: a part of what the model sees.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) role: Option<String>,
    content: Option<Box<RawValue>>,
    summary: Option<Box<RawValue>>,
    encrypted_content: Option<String>,
    pub(super) name: Option<String>,
    arguments: Option<String>,
    input: Option<String>,
    action: Option<Box<RawValue>>,
    pub(super) call_id: Option<String>,
    id: Option<String>,
    output: Option<Box<RawValue>>,
    /// Of the whole item, where its parts cannot be read from it.
    #[serde(skip)]
    unread: Option<ContentHash>,
}

/// What a tool gave back.
#[derive(Default)]
pub(super) struct ItemOutput {
    pub(super) text: String,
    pub(super) is_error: bool,
    /// What of it is no text and cannot be read.
    unread: Vec<Part>,
}

/// Reads JSON of a line; a text that was cut within a character is repaired.
pub(super) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl RolloutLine {
    /// Reads a line; a reason where it is none of a rollout.
    pub(super) fn parse(line: &Line) -> Result<(Self, String), String> {
        if line.is_too_long {
            return Err("the line is too long".to_owned());
        }
        let text = std::str::from_utf8(&line.bytes).map_err(|error| error.to_string())?;
        let text = whole_characters(text).unwrap_or_else(|| text.to_owned());
        read(&text).map(|parsed| (parsed, text))
    }
}

impl Item {
    /// Reads an item.
    pub(super) fn parse(json: &str) -> Result<Self, String> {
        let mut item: Self = read(json)?;
        if matches!(
            item.kind.as_str(),
            "image_generation_call" | "tool_search_call"
        ) {
            item.unread = Some(ContentHash::of(json.as_bytes()));
        }
        Ok(item)
    }

    /// Whether the model wrote it.
    pub(super) fn is_models(&self) -> bool {
        match self.kind.as_str() {
            "message" => self.role.as_deref() == Some("assistant"),
            "reasoning"
            | "function_call"
            | "local_shell_call"
            | "custom_tool_call"
            | "web_search_call"
            | "image_generation_call"
            | "tool_search_call" => true,
            _ => false,
        }
    }

    /// Whether what it adds to a context is known.
    pub(super) fn is_known(&self) -> bool {
        self.is_models()
            || self.kind.ends_with("_output")
            || matches!(
                self.kind.as_str(),
                "message" | "compaction" | "compaction_summary" | "context_compaction"
            )
            || self.is_never_sent()
    }

    /// Whether the program keeps it among the items and never sends it.
    pub(super) fn is_never_sent(&self) -> bool {
        self.kind == "ghost_snapshot"
    }

    /// Whether the user began a turn with it: a message of the user that the program did not write in the user's place.
    pub(super) fn is_users_turn(&self) -> bool {
        self.kind == "message"
            && self.role.as_deref() == Some("user")
            && !self.texts().iter().any(|text| is_programs_own(text))
    }

    /// Whether it is a call of a tool.
    pub(super) fn is_call(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "function_call" | "local_shell_call" | "custom_tool_call" | "web_search_call"
        )
    }

    /// The call's id.
    pub(super) fn call_name(&self) -> Option<String> {
        self.call_id.clone().or_else(|| self.id.clone())
    }

    /// The tool that it calls.
    pub(super) fn tool(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| match self.kind.as_str() {
                "local_shell_call" => "local_shell".to_owned(),
                "web_search_call" => "web_search".to_owned(),
                other => other.to_owned(),
            })
    }

    /// The call's arguments, as JSON where they are.
    pub(super) fn call_arguments(&self) -> Option<String> {
        let action = self.action.as_ref().map(|raw| raw.get().to_owned());
        self.arguments
            .clone()
            .or_else(|| self.input.clone())
            .or(action)
    }

    /// Its texts.
    pub(super) fn texts(&self) -> Vec<String> {
        contents(self.content.as_deref())
            .into_iter()
            .filter_map(Content::text)
            .collect()
    }

    /// What a tool gave back: a text, an object with content and success, or a list of texts and images.
    pub(super) fn tool_output(&self) -> Option<ItemOutput> {
        #[derive(Deserialize)]
        struct Structured {
            content: Option<String>,
            success: Option<bool>,
        }
        if !self.kind.ends_with("_output") {
            return None;
        }
        let raw = self.output.as_deref()?;
        let is_object = raw.get().starts_with('{');
        if is_object && let Ok(structured) = serde_json::from_str::<Structured>(raw.get()) {
            // One that is neither is told as it stands: all of it is what the model is sent.
            let is_known = structured.content.is_some() || structured.success.is_some();
            let content = structured.content.filter(|_| is_known);
            return Some(ItemOutput {
                text: content.unwrap_or_else(|| raw.get().to_owned()),
                is_error: structured.success == Some(false),
                unread: Vec::new(),
            });
        }
        let mut output = ItemOutput::default();
        let mut texts: Vec<String> = Vec::new();
        for content in contents(Some(raw)) {
            match content {
                Content::Text(text) => texts.push(text),
                Content::Image(url) => texts.push(image(&url)),
                other => output.unread.extend(other.part(PartKind::ToolResult)),
            }
        }
        output.text = texts.join("\n");
        Some(output)
    }

    /// What it adds to a context.
    pub(super) fn parts(&self) -> Vec<Part> {
        match self.kind.as_str() {
            "message" => self.message_parts(),
            "reasoning" => self.reasoning_parts(),
            "compaction" | "compaction_summary" | "context_compaction" => {
                self.encrypted(PartKind::Summary)
            }
            kind if kind.ends_with("_output") => {
                let output = self.tool_output().unwrap_or_default();
                let text = Part::inline(PartKind::ToolResult, output.text);
                let parts = [text].into_iter().chain(output.unread);
                let call_id = &self.call_id;
                parts
                    .map(|part| Part {
                        call_id: call_id.clone(),
                        ..part
                    })
                    .collect()
            }
            _ if self.is_call() => {
                let arguments = self.call_arguments().unwrap_or_default();
                vec![Part {
                    call_id: self.call_name(),
                    tool: Some(self.tool()),
                    ..Part::inline(PartKind::ToolCall, format!("{} {arguments}", self.tool()))
                }]
            }
            kind => {
                let unread = self.unread.into_iter();
                unread
                    .map(|hash| unreadable_by_hash(PartKind::Assistant, hash, kind))
                    .collect()
            }
        }
    }

    fn message_parts(&self) -> Vec<Part> {
        let kind = match self.role.as_deref() {
            Some("assistant") => PartKind::Assistant,
            Some("system" | "developer") => PartKind::System,
            _ => PartKind::User,
        };
        contents(self.content.as_deref())
            .into_iter()
            .filter_map(|content| {
                let other = content.part(kind);
                if other.is_some() {
                    return other;
                }
                let text = content.text()?;
                if kind == PartKind::User && is_programs_own(&text) {
                    let is_rules = text.starts_with(RULES_HEADING);
                    return Some(Part {
                        origin: Some(if is_rules {
                            PartOrigin::Operator
                        } else {
                            PartOrigin::Application
                        }),
                        ..Part::inline(PartKind::Memory, text)
                    });
                }
                Some(Part::inline(kind, text))
            })
            .collect()
    }

    fn reasoning_parts(&self) -> Vec<Part> {
        let summaries = contents(self.summary.as_deref())
            .into_iter()
            .chain(contents(self.content.as_deref()))
            .filter_map(|content| {
                let kind = PartKind::Reasoning;
                let other = content.part(kind);
                other.or_else(|| Some(Part::inline(kind, content.text()?)))
            });
        summaries
            .chain(self.encrypted(PartKind::Reasoning))
            .collect()
    }

    fn encrypted(&self, kind: PartKind) -> Vec<Part> {
        let content = self.encrypted_content.as_ref();
        content
            .map(|content| Part {
                encrypted: true,
                ..Part::by_hash(kind, ContentHash::of(content.as_bytes()))
            })
            .into_iter()
            .collect()
    }
}

/// How the message begins in which Codex passes on rules files.
const RULES_HEADING: &str = "# AGENTS.md instructions";

/// Whether a text in a message of the user is the program's own.
fn is_programs_own(text: &str) -> bool {
    const OWN: [&str; 6] = [
        RULES_HEADING,
        "<environment_context>",
        "<user_instructions>",
        "<permissions instructions>",
        "<turn_aborted>",
        "<subagent_notification>",
    ];
    OWN.iter().any(|own| text.starts_with(own))
}
