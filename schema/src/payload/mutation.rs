//! How a context changed, as its application tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::{PartKind, TokenSource, Witness};
use crate::hash::ContentHash;

/// What kind of change a context underwent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MutationKind {
    /// Older parts replaced by a summary.
    Compaction,
    /// Tool results emptied or stubbed, nothing summarised.
    Microcompaction,
    /// Parts dropped without a summary.
    Truncation,
    /// Changed by the provider.
    ServerEdit,
    /// Everything dropped.
    Clear,
    /// Continued from a stored session.
    Resume,
    /// Gone back to an earlier state.
    Rewind,
    /// Branched off another session.
    Fork,
    /// A record that continues from one that does not exist.
    DanglingParent,
    /// Parts added before the end: by hooks, re-read files or memory.
    Injection,
    /// A constraint stated anew.
    Restatement,
    /// Parts changed in place or reordered.
    Rewrite,
}

impl MutationKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Microcompaction => "microcompaction",
            Self::Truncation => "truncation",
            Self::ServerEdit => "server_edit",
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Rewind => "rewind",
            Self::Fork => "fork",
            Self::DanglingParent => "dangling_parent",
            Self::Injection => "injection",
            Self::Restatement => "restatement",
            Self::Rewrite => "rewrite",
        }
    }
}

/// What became of one part.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Still there, word for word.
    Kept,
    /// Gone.
    Dropped,
    /// Gone, with a summary in its place.
    Summarised,
    /// Replaced by a short pointer.
    Stubbed,
    /// Repeated word for word as re-supplied material.
    Pinned,
    /// New, and not at the end.
    Injected,
    /// Removed because it may not be kept.
    Withheld,
}

impl Fate {
    /// The fate as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Dropped => "dropped",
            Self::Summarised => "summarised",
            Self::Stubbed => "stubbed",
            Self::Pinned => "pinned",
            Self::Injected => "injected",
            Self::Withheld => "withheld",
        }
    }
}

/// What the application says became of one part. The part is named by its content's hash, or by its tool call, or by its
/// position in the context before (for `injected`: after).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeclaredFate {
    /// What became of it.
    pub fate: Fate,
    /// Its content's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// Its tool call; then both the call and its result are meant unless `part_kind` says which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Narrows `call_id` to one kind of part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_kind: Option<PartKind>,
    /// Its position, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
}

/// Why the application changed the context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trigger {
    /// `automatic`, `manual` or the application's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Input size in tokens above which it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_tokens: Option<u64>,
    /// The input size in tokens that set it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_tokens: Option<u64>,
}

/// A summary and what made it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryRecord {
    /// The summary's text as it entered the context.
    pub text: String,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the summarizer read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// Sizes of the same request before and after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedTokens {
    /// The pending request without the change, in tokens.
    pub uncompacted: u64,
    /// The request as sent, in tokens.
    pub compacted: u64,
    /// A request with nothing but instructions and schemas, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_overhead: Option<u64>,
    /// How the numbers are known.
    pub source: TokenSource,
}

/// `context.mutated`: the application's own account of a change that is more than appending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextMutated {
    /// The first turn that was sent with the changed context.
    pub turn: u32,
    /// What kind of change.
    pub kind: MutationKind,
    /// The application's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// What became of the parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DeclaredFate>,
    /// The summary that stands in for what left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryRecord>,
    /// The same request before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedTokens>,
    /// Names of fields whose values were withheld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// Set when the change was damaged on purpose, with what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_fault: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl ContextMutated {
    /// A change of which nothing more is told than its kind.
    pub fn new(turn: u32, kind: MutationKind) -> Self {
        Self {
            turn,
            kind,
            name: None,
            trigger: None,
            parts: Vec::new(),
            summary: None,
            counted: None,
            withheld: Vec::new(),
            injected_fault: None,
            witness: None,
        }
    }
}
