//! What a hook is given: one flat JSON object, of which every field but two may be missing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Longest id or name that is taken from a payload, in bytes.
const NAME_BYTES_MAX: usize = 1024;

/// A program whose hooks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The program's name, which sessions and agents are named by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini-cli",
        }
    }
}

/// Why a payload could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadUnreadable {
    /// Not one JSON object.
    #[error("the payload is not a JSON object: {0}")]
    NotAnObject(String),
    /// A field without which nothing can be recorded.
    #[error("the payload has no {0:?} that is a text of 1 to {NAME_BYTES_MAX} bytes")]
    Missing(&'static str),
}

/// A payload as it came. Fields are read when they are asked for: one of an unexpected type is as good as missing, and keeps
/// nothing else from being read.
#[derive(Debug)]
pub struct HookPayload<'a> {
    text: &'a str,
    fields: BTreeMap<String, &'a RawValue>,
    /// The program's own id of the session.
    pub session_id: String,
    /// The event's name.
    pub event: String,
}

impl<'a> HookPayload<'a> {
    /// Reads a payload from its bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, PayloadUnreadable> {
        let not_an_object = |reason: String| PayloadUnreadable::NotAnObject(reason);
        let text = std::str::from_utf8(bytes).map_err(|error| not_an_object(error.to_string()))?;
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| not_an_object(error.to_string()))?;
        let name = |field: &'static str| {
            read::<String>(fields.get(field).copied())
                .filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)
                .ok_or(PayloadUnreadable::Missing(field))
        };
        let (session_id, event) = (name("session_id")?, name("hook_event_name")?);
        Ok(Self {
            text,
            fields,
            session_id,
            event,
        })
    }

    /// The whole payload, as it came.
    pub(super) fn whole(&self) -> &'a str {
        self.text
    }

    /// A field, as it came. `null` counts as missing.
    pub fn raw(&self, field: &str) -> Option<&'a RawValue> {
        let raw = self.fields.get(field).copied()?;
        (raw.get() != "null").then_some(raw)
    }

    /// A field that is read as `T`.
    pub(super) fn read<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        read(self.raw(field))
    }

    /// A field that is a text. One that cannot be read, as with half of a surrogate pair, is given as it is written.
    pub fn text(&self, field: &str) -> Option<String> {
        self.raw(field).map(said)
    }

    /// A field that is a short text, such as a name or an id.
    pub fn name(&self, field: &str) -> Option<String> {
        self.read::<String>(field)
            .filter(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX)
    }

    /// The id of the sub-agent that the event happened in.
    pub fn agent_id(&self) -> Option<String> {
        self.name("agent_id")
    }

    /// The calls of a batch, in their order.
    pub(super) fn batch(&self) -> Vec<BatchedCall> {
        self.read("tool_calls").unwrap_or_default()
    }

    /// The request that is about to be sent, where the program tells it.
    pub(super) fn request(&self) -> Option<ModelRequest> {
        self.read("llm_request")
    }
}

fn read<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// The text in a JSON string, the texts of a list of text blocks, or any other value as it is written.
pub(super) fn said(raw: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Block {
        r#type: String,
        text: String,
    }
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return text;
    }
    match serde_json::from_str::<Vec<Block>>(raw.get()) {
        Ok(blocks) if !blocks.is_empty() && blocks.iter().all(|block| block.r#type == "text") => {
            let texts: Vec<String> = blocks.into_iter().map(|block| block.text).collect();
            texts.join("\n")
        }
        _ => raw.get().to_owned(),
    }
}

/// A call with what the model will see of its result.
#[derive(Debug, Deserialize)]
pub(super) struct BatchedCall {
    #[serde(default)]
    pub(super) tool_name: String,
    pub(super) tool_use_id: String,
    #[serde(default)]
    pub(super) tool_input: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) tool_response: Option<Box<RawValue>>,
}

/// A model request as Gemini CLI tells it: its texts alone.
#[derive(Debug, Deserialize)]
pub(super) struct ModelRequest {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) messages: Vec<ModelMessage>,
}

/// A message of a [`ModelRequest`].
#[derive(Debug, Deserialize)]
pub(super) struct ModelMessage {
    pub(super) role: String,
    pub(super) content: Box<RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_of_another_type_keeps_nothing_else_from_being_read() {
        let bytes = br#"{"session_id":"s","hook_event_name":"Stop","prompt":7,"agent_id":["x"],
            "last_assistant_message":"done","model":null}"#;
        let payload = HookPayload::parse(bytes).expect("an object");
        assert_eq!(
            (payload.session_id.as_str(), payload.event.as_str()),
            ("s", "Stop")
        );
        assert_eq!(payload.agent_id(), None);
        assert_eq!(payload.text("prompt").as_deref(), Some("7"));
        assert_eq!(payload.text("model"), None);
        assert_eq!(
            payload.text("last_assistant_message").as_deref(),
            Some("done")
        );
    }

    #[test]
    fn what_nothing_can_be_recorded_of_says_why() {
        let reason = |bytes: &[u8]| {
            HookPayload::parse(bytes)
                .expect_err("unreadable")
                .to_string()
        };
        assert!(reason(b"[1]").contains("not a JSON object"));
        assert!(reason(b"\xff{}").contains("not a JSON object"));
        assert!(reason(br#"{"session_id":"s"}"#).contains("hook_event_name"));
        assert!(reason(br#"{"session_id":"","hook_event_name":"Stop"}"#).contains("session_id"));
        let long = format!(
            r#"{{"session_id":"{}","hook_event_name":"Stop"}}"#,
            "x".repeat(2000)
        );
        assert!(reason(long.as_bytes()).contains("session_id"));
    }

    #[test]
    fn a_result_is_said_as_the_model_reads_it() {
        let said = |text: &str| said(&RawValue::from_string(text.to_owned()).expect("JSON"));
        assert_eq!(said(r#""a\nb""#), "a\nb");
        assert_eq!(
            said(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#),
            "a\nb"
        );
        assert_eq!(said(r#"{"stdout":"a"}"#), r#"{"stdout":"a"}"#);
        assert_eq!(
            said(r#"[{"type":"image","data":"x"}]"#),
            r#"[{"type":"image","data":"x"}]"#
        );
        assert_eq!(said(r#""\ud800""#), r#""\ud800""#);
    }
}
