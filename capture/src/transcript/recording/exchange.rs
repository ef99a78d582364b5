//! What a model and its tools say to one another, as a transcript tells it.

use remembrancer_schema::payload::{RequestedCall, ReturnStatus, Usage};

/// A tool call in a response.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The turn whose response carried it.
    pub turn: u32,
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments as JSON; what is no JSON is kept as a text.
    pub arguments: Option<String>,
    /// When, as RFC 3339.
    pub time: Option<String>,
}

/// What a call gave back.
#[derive(Debug, Clone)]
pub struct Returned {
    /// The call's id.
    pub call_id: String,
    /// The tool, where it is known.
    pub tool: Option<String>,
    /// How it ended.
    pub status: ReturnStatus,
    /// The result as JSON; what is no JSON is kept as a text.
    pub result: Option<String>,
    /// When, as RFC 3339.
    pub time: Option<String>,
}

/// The answer to one request.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The request's number.
    pub turn: u32,
    /// The provider's id of it.
    pub response_id: Option<String>,
    /// Its texts.
    pub text: Vec<String>,
    /// Its calls.
    pub calls: Vec<RequestedCall>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// The model.
    pub model: Option<String>,
    /// Why it stopped.
    pub stop_reason: Option<String>,
    /// When, as RFC 3339.
    pub time: Option<String>,
}
