//! What the APIs of models say: a request's body becomes the parts that were sent, an answer's body or stream becomes text, calls
//! and usage. Pure functions of bytes.
//!
//! Bytes come from agents, tools and servers, all of which may send anything: what is not understood is kept as it was sent, as a
//! part of kind `other`, and what cannot be read at all is an error and no panic.

pub mod anthropic;
mod block;
pub mod openai_chat;
pub mod openai_responses;
pub mod sse;

use std::collections::BTreeSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, ReturnStatus, TokenCount, Usage};
use serde_json::error::Category;

/// An API of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Api {
    /// `POST …/messages`
    AnthropicMessages,
    /// `POST …/chat/completions`
    OpenAiChat,
    /// `POST …/responses` and `POST …/responses/compact`
    OpenAiResponses,
}

impl Api {
    /// The API that a request to a path speaks, if it is one whose requests are recorded.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let ends = |end: &str| path.ends_with(end);
        if ends("/chat/completions") {
            Some(Self::OpenAiChat)
        } else if ends("/responses") || ends("/responses/compact") {
            Some(Self::OpenAiResponses)
        } else if ends("/messages") && !path.contains("/threads/") {
            Some(Self::AnthropicMessages)
        } else {
            None
        }
    }

    /// The API's name as it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic messages",
            Self::OpenAiChat => "openai chat completions",
            Self::OpenAiResponses => "openai responses",
        }
    }

    /// Reads a request's body.
    pub fn request(self, body: &[u8]) -> Result<ModelRequest, ReadError> {
        match self {
            Self::AnthropicMessages => anthropic::request(body),
            Self::OpenAiChat => openai_chat::request(body),
            Self::OpenAiResponses => openai_responses::request(body),
        }
    }

    /// Reads an answer's body: one JSON object, or a stream of events, whole or broken off.
    pub fn response(self, body: &[u8], is_stream: bool) -> Result<ModelResponse, ReadError> {
        match (self, is_stream) {
            (Self::AnthropicMessages, false) => anthropic::response(body),
            (Self::AnthropicMessages, true) => anthropic::stream(body),
            (Self::OpenAiChat, false) => openai_chat::response(body),
            (Self::OpenAiChat, true) => openai_chat::stream(body),
            (Self::OpenAiResponses, false) => openai_responses::response(body),
            (Self::OpenAiResponses, true) => openai_responses::stream(body),
        }
    }
}

/// A body that is not what its API says.
#[derive(Debug, thiserror::Error)]
#[error("the {what} cannot be read: {reason}")]
pub struct ReadError {
    what: &'static str,
    reason: String,
}

impl ReadError {
    /// With the place alone: the error's own words hold what stands there, which may be a part of a key.
    fn new(what: &'static str, error: &serde_json::Error) -> Self {
        let kind = match error.classify() {
            Category::Io => "it cannot be read",
            Category::Syntax => "no JSON",
            Category::Data => "other JSON than expected",
            Category::Eof => "the end is missing",
        };
        Self {
            what,
            reason: format!("{kind} at line {} column {}", error.line(), error.column()),
        }
    }
}

impl ReadError {
    /// A field that is not there.
    fn missing(what: &'static str, field: &str) -> Self {
        Self {
            what,
            reason: format!("it has no {field:?}"),
        }
    }
}

/// A request, read.
#[derive(Debug, Default)]
pub struct ModelRequest {
    /// The model that is asked.
    pub model: Option<String>,
    /// What is sent to the model, in order: tool schemas, instructions, messages.
    pub parts: Vec<Part>,
    /// Parts that the client sends and the provider leaves out, because a compaction item behind them stands for them.
    pub left_out: Vec<Part>,
    /// Results of calls among the parts.
    pub results: Vec<CallResult>,
    /// The session or conversation that the client's library names.
    pub group: Option<Group>,
    /// What the provider adds before the parts from what it keeps.
    pub kept: Option<KeptContext>,
    /// Why parts may be missing.
    pub incomplete: BTreeSet<String>,
    /// The last compaction item among the parts.
    pub compaction: Option<CompactionItem>,
    /// Input size in tokens above which the provider is asked to change the context.
    pub threshold_tokens: Option<u64>,
    /// Which results the provider is asked to clear once the context is too large.
    pub clearing: Option<AskedClearing>,
}

/// The tool results that a provider is asked to clear from a request, the oldest first, until enough are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedClearing {
    /// The request's name for it, as it comes back in what was applied.
    pub name: String,
    /// The calls whose results may go, in order.
    pub calls: Vec<String>,
    /// How many of the newest of them always stay.
    pub keep: u64,
    /// Whether what was asked of those tools goes too.
    pub with_inputs: bool,
}

impl AskedClearing {
    /// The calls whose results are gone when a number of them is; `None` if the request has no such number to give, so that the
    /// rule is not the one that was followed.
    pub fn cleared(&self, count: u64) -> Option<&[String]> {
        let count = usize::try_from(count).ok()?;
        let keep = usize::try_from(self.keep).ok()?;
        let most = self.calls.len().checked_sub(keep)?;
        (count <= most).then(|| &self.calls[..count])
    }
}

/// A name that a client's library gives to what belongs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name.
    pub key: String,
    /// The field that it stands in.
    pub field: &'static str,
}

/// A context at the provider that a request continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptContext {
    /// That of an earlier response with everything before it.
    Response(String),
    /// That of a conversation object.
    Conversation(String),
}

/// An item that stands for what was compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionItem {
    /// Hash of its text, or of its encrypted bytes.
    pub hash: ContentHash,
    /// Its text; none where the provider encrypts it.
    pub summary: Option<String>,
}

/// A call in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// Its id.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments as sent: JSON, or what the model wrote in its place.
    pub arguments: String,
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The call's id.
    pub call_id: String,
    /// How it ended, as far as the API says.
    pub status: ReturnStatus,
    /// The result: JSON, or text.
    pub result: ResultContent,
}

/// A result's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultContent {
    /// Text.
    Text(String),
    /// JSON, as sent.
    Json(String),
}

/// A change that the provider says it made to the context of this very request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEdit {
    /// The provider's name for it.
    pub name: String,
    /// Input tokens that went.
    pub cleared_tokens: Option<u64>,
    /// Tool calls whose results went.
    pub cleared_calls: Option<u64>,
    /// The provider's words, as JSON.
    pub told: String,
}

/// An answer, read.
#[derive(Debug, Default)]
pub struct ModelResponse {
    /// The provider's id.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Why it stopped.
    pub stop_reason: Option<String>,
    /// Its text, part by part.
    pub text: Vec<String>,
    /// The calls in it.
    pub calls: Vec<ModelCall>,
    /// Results of calls that the provider itself ran.
    pub results: Vec<CallResult>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Changes to the context that the provider made.
    pub edits: Vec<ServerEdit>,
    /// All of it as parts, for a context that the provider keeps.
    pub parts: Vec<Part>,
    /// The kind of error that it holds in the place of an answer, or within one.
    pub error: Option<String>,
    /// Whether it has an end.
    pub is_whole: bool,
}

impl ModelResponse {
    /// The size of the request as its provider measured it.
    pub fn measured(&self) -> Option<TokenCount> {
        let count = self.usage?.input_tokens;
        let source = remembrancer_schema::payload::TokenSource::Measured;
        (count > 0).then_some(TokenCount { count, source })
    }
}

/// A tool call's text as a part of a context.
fn call_text(tool: &str, arguments: &str) -> String {
    format!("{tool} {arguments}")
}

/// A call as a part.
fn call_part(call: &ModelCall) -> Part {
    Part {
        call_id: Some(call.call_id.clone()),
        tool: Some(call.tool.clone()),
        ..Part::inline(PartKind::ToolCall, call_text(&call.tool, &call.arguments))
    }
}

/// Bytes that only the provider can read, as a part.
fn encrypted_part(kind: PartKind, bytes: &str) -> Part {
    Part {
        encrypted: true,
        ..Part::by_hash(kind, ContentHash::of(bytes.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::Api;

    #[test]
    fn a_path_says_which_api_is_spoken() {
        for (path, api) in [
            ("/v1/messages", Some(Api::AnthropicMessages)),
            ("/v1/messages/count_tokens", None),
            ("/v1/messages/batches", None),
            ("/v1/chat/completions", Some(Api::OpenAiChat)),
            (
                "/openai/deployments/x/chat/completions/",
                Some(Api::OpenAiChat),
            ),
            ("/v1/responses", Some(Api::OpenAiResponses)),
            ("/v1/responses/compact", Some(Api::OpenAiResponses)),
            // Messages that an assistant's thread gets one by one.
            ("/v1/threads/thread_1/messages", None),
            ("/v1/responses/resp_1", None),
            ("/v1/models", None),
            ("/", None),
        ] {
            assert_eq!(Api::of_path(path), api, "{path}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_repeated() {
        let body = br#"{"error":"Incorrect API key provided: sk-very-secret","messages":"sk-very-secret"}"#;
        for api in [
            Api::AnthropicMessages,
            Api::OpenAiChat,
            Api::OpenAiResponses,
        ] {
            for told in [
                api.request(
                    br#"{"messages":"sk-very-secret","input":[],"tools":"sk-very-secret"}"#,
                )
                .expect_err("no request")
                .to_string(),
                api.response(body, false)
                    .expect_err("no answer")
                    .to_string(),
            ] {
                assert!(!told.contains("sk-"), "{told}");
                assert!(told.contains("other JSON than expected at line 1 column"));
            }
        }
    }

    #[test]
    fn no_beginning_of_a_body_makes_any_reader_panic() {
        let bodies = [
            r#"{"model":"m","system":[{"type":"text","text":"é"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}"#,
            r#"{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0}]},"message":{"tool_calls":[{"function":{}}]}}]}"#,
            r#"{"input":[{"type":"reasoning","summary":[{}]},{"type":"x_call"},{"type":"x_call_output"}],"output":[{"type":"mcp_call"}]}"#,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"content_block_start\"}\n\n",
        ];
        for api in [
            Api::AnthropicMessages,
            Api::OpenAiChat,
            Api::OpenAiResponses,
        ] {
            for body in bodies.map(str::as_bytes) {
                for cut in 0..=body.len() {
                    let whole = api.request(&body[..cut]).is_ok();
                    assert!(cut == body.len() || !whole, "a beginning is no request");
                    drop(api.response(&body[..cut], false));
                    assert!(
                        api.response(&body[..cut], true)
                            .is_ok_and(|read| !read.is_whole)
                    );
                }
            }
        }
    }
}
