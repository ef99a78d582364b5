//! What was sent to the model, and how it changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;
use crate::limits::CONTEXT_PARTS_MAX;

/// How a record became known, from the strongest witness to the weakest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// Taken at the model call, as it was made.
    Exact,
    /// Spans that arrive after the fact; a missing one proves nothing.
    Telemetry,
    /// Rebuilt from a program's own file.
    Transcript,
    /// Told by a hook.
    Hook,
    /// The application's word.
    Claimed,
}

impl Witness {
    /// Every class, from the strongest to the weakest.
    pub const ALL: [Self; 5] = [
        Self::Exact,
        Self::Telemetry,
        Self::Transcript,
        Self::Hook,
        Self::Claimed,
    ];

    /// The class as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Telemetry => "telemetry",
            Self::Transcript => "transcript",
            Self::Hook => "hook",
            Self::Claimed => "claimed",
        }
    }
}

/// What a context part is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// System prompt or instructions.
    System,
    /// The user's words, rules files included.
    User,
    /// Text that the model wrote.
    Assistant,
    /// The model's reasoning.
    Reasoning,
    /// A tool call that the model wrote.
    ToolCall,
    /// What a tool returned.
    ToolResult,
    /// A summary of earlier parts.
    Summary,
    /// Re-supplied or pinned material.
    Memory,
    /// A tool's schema.
    ToolSchema,
    /// Anything else.
    Other,
}

impl PartKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Summary => "summary",
            Self::Memory => "memory",
            Self::ToolSchema => "tool_schema",
            Self::Other => "other",
        }
    }

    /// Whether a statement in such a part speaks to the agent with authority: system, user, summary and memory parts do;
    /// the agent's own words, tool results and schemas do not.
    pub fn is_carrying(self) -> bool {
        matches!(
            self,
            Self::System | Self::User | Self::Summary | Self::Memory
        )
    }
}

/// Who a part's words come from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PartOrigin {
    /// Whoever operates the agent.
    Operator,
    /// The user.
    User,
    /// A tool.
    Tool,
    /// The model.
    Model,
    /// The application, by rule.
    Application,
}

impl PartOrigin {
    /// The origin as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::User => "user",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Application => "application",
        }
    }
}

/// One part of a context. Exactly one of `text` and `hash` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Whose words it holds. Without it: by kind (system operator, user user, `tool_result` tool, others model).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<PartOrigin>,
    /// The text as sent to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// BLAKE3 of the text's UTF-8 bytes, where those are sent elsewhere: as a text of an event of this session (a part, a
    /// response, a call's arguments, a result, a summary, an artifact), or as a blob that one introduces; or are withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// With `hash`: the bytes may not be kept, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// With `hash`: the bytes are encrypted by the provider; nobody here can read them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// Index of the message that the part belongs to, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// A file's or a document's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The call that a `tool_call` or `tool_result` belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool that a `tool_call` or `tool_result` belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The text stands in for a larger one that was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stub: bool,
    /// For pinned material: the calls whose results it repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

impl Part {
    /// A part with its text inline.
    pub fn inline(kind: PartKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            origin: None,
            text: Some(text.into()),
            hash: None,
            withheld: None,
            encrypted: false,
            message: None,
            name: None,
            call_id: None,
            tool: None,
            stub: false,
            sources: Vec::new(),
        }
    }

    /// A part whose bytes were sent before.
    pub fn by_hash(kind: PartKind, hash: ContentHash) -> Self {
        Self {
            text: None,
            hash: Some(hash),
            ..Self::inline(kind, "")
        }
    }

    /// Whose words the part holds, as stated or by its kind.
    pub fn effective_origin(&self) -> PartOrigin {
        self.origin.unwrap_or(match self.kind {
            PartKind::System | PartKind::ToolSchema => PartOrigin::Operator,
            PartKind::User => PartOrigin::User,
            PartKind::ToolResult => PartOrigin::Tool,
            PartKind::Memory | PartKind::Other => PartOrigin::Application,
            PartKind::Assistant | PartKind::Reasoning | PartKind::ToolCall | PartKind::Summary => {
                PartOrigin::Model
            }
        })
    }
}

/// Where a token count comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// Reported by the provider for this very request.
    Measured,
    /// Counted by the provider's counting endpoint.
    Counted,
    /// Estimated from the text.
    Estimated,
}

impl TokenSource {
    /// The source as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Counted => "counted",
            Self::Estimated => "estimated",
        }
    }
}

/// Size of a context in tokens, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCount {
    /// Tokens.
    pub count: u64,
    /// How the number is known.
    pub source: TokenSource,
}

/// What a check of a rebuilt context against a hash recorded elsewhere gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofOutcome {
    /// The rebuilt text has the recorded hash.
    Verified,
    /// It has, after values that the record withholds were put back.
    VerifiedAfterRestoring,
    /// The record withholds values, so the hash cannot be reproduced from it.
    UnverifiableWithheld,
    /// Nothing is withheld and the hash differs: the rebuilt context is not what was sent.
    Mismatch,
}

impl ProofOutcome {
    /// The outcome as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::VerifiedAfterRestoring => "verified_after_restoring",
            Self::UnverifiableWithheld => "unverifiable_withheld",
            Self::Mismatch => "mismatch",
        }
    }
}

/// A check of a rebuilt context against a hash recorded elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextProof {
    /// How the hash is computed.
    pub method: String,
    /// The recorded hash, in hexadecimal.
    pub expected: String,
    /// What the check gave.
    pub outcome: ProofOutcome,
}

/// `context.captured`: the ordered parts sent to the model at one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCaptured {
    /// Number of the model request within the session, from 1, growing.
    pub turn: u32,
    /// The turn whose whole context comes first, followed by `parts`. Without it, `parts` is the whole context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<u32>,
    /// The parts, in the order sent.
    pub parts: Vec<Part>,
    /// Where the parts are too many for an event: BLAKE3 of a blob that holds them as a JSON list; `parts` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts_blob: Option<ContentHash>,
    /// Why parts that were sent may be missing from the list. A constraint that is not found in it is then `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Size of the request where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCount>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
    /// For rebuilt contexts: how well the result was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ContextProof>,
}

impl ContextCaptured {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.turn == 0 {
            return Err("turn is 0; turns count from 1".to_owned());
        }
        if self.base.is_some_and(|base| base >= self.turn) {
            return Err(format!(
                "base names turn {}, which is not before turn {}",
                self.base.unwrap_or(0),
                self.turn
            ));
        }
        if self.parts_blob.is_some() && !self.parts.is_empty() {
            return Err("parts and parts_blob are both given".to_owned());
        }
        Self::check_parts(&self.parts)
    }

    /// Checks a list of parts that was sent as a blob, as one within an event is checked.
    pub fn check_parts(parts: &[Part]) -> Result<(), String> {
        if parts.len() > CONTEXT_PARTS_MAX {
            return Err(format!(
                "{} parts; at most {CONTEXT_PARTS_MAX} are allowed",
                parts.len()
            ));
        }
        for (index, part) in parts.iter().enumerate() {
            if part.text.is_some() == part.hash.is_some() {
                return Err(format!(
                    "parts[{index}] has not exactly one of text and hash"
                ));
            }
            if part.text.is_some() && (part.encrypted || part.withheld.is_some()) {
                return Err(format!(
                    "parts[{index}] has its text and is marked encrypted or withheld"
                ));
            }
        }
        Ok(())
    }
}
