//! What the model answered, what was called, what came back, and what others decided about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::context::Witness;

/// Token usage of one model response, as its provider reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Those of the input that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Those of the input that were written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
}

/// A call named in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedCall {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
}

/// `model.responded`: the answer to one request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelResponded {
    /// The request's number.
    pub turn: u32,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Text of the response, part by part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// The calls that it holds, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// `tool.called`: an action, sent by the model in the response to a turn.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolCalled {
    /// The turn whose response carried the call: the context that the model saw when it sent it.
    pub turn: u32,
    /// The call's id, unique in the session.
    pub call_id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments, as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub arguments: Option<Box<RawValue>>,
    /// What the call acts on; without it, as the declared scope says of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it does there; without it, as the declared scope says of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl PartialEq for ToolCalled {
    fn eq(&self, other: &Self) -> bool {
        let text = |call: &Self| call.arguments.as_ref().map(|raw| raw.get().to_owned());
        (
            self.turn,
            &self.call_id,
            &self.tool,
            &self.target,
            &self.operation,
            self.witness,
        ) == (
            other.turn,
            &other.call_id,
            &other.tool,
            &other.target,
            &other.operation,
            other.witness,
        ) && text(self) == text(other)
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnStatus {
    /// It returned a result.
    Ok,
    /// It returned an error; whether it had an effect is then unknown.
    Error,
    /// The application refused to run it.
    Denied,
}

impl ReturnStatus {
    /// The status as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
        }
    }
}

/// `tool.returned`: what a call gave back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ToolReturned {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How it ended.
    pub status: ReturnStatus,
    /// The result, as returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Box<RawValue>>,
    /// What it changed in the world, in the application's words: `none`, `simulated_effect` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl PartialEq for ToolReturned {
    fn eq(&self, other: &Self) -> bool {
        let text = |returned: &Self| returned.result.as_ref().map(|raw| raw.get().to_owned());
        (
            &self.call_id,
            &self.tool,
            self.status,
            &self.effect,
            self.witness,
        ) == (
            &other.call_id,
            &other.tool,
            other.status,
            &other.effect,
            other.witness,
        ) && text(self) == text(other)
    }
}

/// Allow or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The action may go on.
    Allow,
    /// The action may not.
    Deny,
}

/// `decision.recorded`: what a guard or governor decided or flagged about an action, kept as its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRecorded {
    /// Who decided.
    pub decider: String,
    /// The call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Allow or deny; absent where the decider only advises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether the decision was enforced. An advisory one let the action pass.
    #[serde(default)]
    pub enforced: bool,
    /// Flags that it raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Policies that it says were violated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Its reason, in its own words; shown, not interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its own reference for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}
