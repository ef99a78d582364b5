//! One message of a Gemini CLI session.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind, RequestedCall, ReturnStatus, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::transcript::{Answer, Call, Returned};

/// A message, read.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) time: Option<String>,
    model: Option<String>,
    content: Vec<Piece>,
    calls: Vec<ToolCall>,
    tokens: Option<Tokens>,
}

/// A piece of a content.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// What cannot be read as text, as JSON.
    Other(String),
}

#[derive(Debug, Clone)]
struct ToolCall {
    id: String,
    name: String,
    arguments: Option<String>,
    result: Option<String>,
    status: String,
    time: Option<String>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    timestamp: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(rename = "toolCalls", borrow)]
    calls: Option<Vec<CallFields<'a>>>,
    tokens: Option<Tokens>,
}

#[derive(Deserialize)]
struct CallFields<'a> {
    id: String,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    status: String,
    timestamp: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Tokens {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cached: u64,
    #[serde(default)]
    thoughts: Option<u64>,
}

impl Message {
    pub(super) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let fields: Fields<'_> = serde_json::from_str(json)?;
        let calls = fields.calls.into_iter().flatten().map(|call| ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.args.map(|raw| raw.get().to_owned()),
            result: call
                .result
                .map(|raw| raw.get().to_owned())
                .filter(|raw| raw != "null"),
            status: call.status,
            time: call.timestamp,
        });
        Ok(Self {
            id: fields.id,
            kind: fields.kind,
            time: fields.timestamp,
            model: fields.model,
            content: fields
                .content
                .map_or_else(|| Ok(Vec::new()), |raw| pieces(raw.get()))?,
            calls: calls.collect(),
            tokens: fields.tokens,
        })
    }

    /// Whether it is a part of the conversation, and not something that the program told the user.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "gemini")
    }

    pub(super) fn is_models(&self) -> bool {
        self.kind == "gemini"
    }

    /// The provider's count for the request that it answers; cached input is a part of the input.
    pub(super) fn usage(&self) -> Option<Usage> {
        let tokens = self.tokens?;
        Some(Usage {
            input_tokens: tokens.input,
            output_tokens: tokens.output + tokens.thoughts.unwrap_or(0),
            cache_read_tokens: Some(tokens.cached),
            cache_write_tokens: None,
        })
    }

    pub(super) fn answer(&self, turn: u32) -> Answer {
        let text = self.content.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Other(_) => None,
        });
        let calls = self.calls.iter().map(|call| RequestedCall {
            call_id: call.id.clone(),
            tool: call.name.clone(),
        });
        Answer {
            turn,
            response_id: None,
            text: text.collect(),
            calls: calls.collect(),
            usage: self.usage(),
            model: self.model.clone(),
            stop_reason: None,
            time: self.time.clone(),
        }
    }

    /// Its calls, each with what it returned if that is known.
    pub(super) fn actions(&self, turn: u32) -> impl Iterator<Item = (Call, Option<Returned>)> {
        self.calls.iter().map(move |call| {
            let status = match call.status.as_str() {
                "success" => Some(ReturnStatus::Ok),
                "error" => Some(ReturnStatus::Error),
                "cancelled" => Some(ReturnStatus::Denied),
                _ => None,
            };
            let returned = status.map(|status| Returned {
                call_id: call.id.clone(),
                tool: Some(call.name.clone()),
                status,
                result: call.result.clone(),
                time: call.time.clone(),
            });
            let sent = Call {
                turn,
                id: call.id.clone(),
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                time: self.time.clone(),
            };
            (sent, returned)
        })
    }

    /// What it leaves in the context: its words, its calls, and behind them the results.
    pub(super) fn parts(&self) -> Vec<Part> {
        let kind = if self.is_models() {
            PartKind::Assistant
        } else {
            PartKind::User
        };
        let said = self.content.iter().map(|piece| match piece {
            Piece::Text(text) => Part::inline(kind, text.as_str()),
            Piece::Other(json) => Part {
                withheld: Some("not text".to_owned()),
                ..Part::by_hash(kind, ContentHash::of(json.as_bytes()))
            },
        });
        let of_call = |call: &ToolCall, kind: PartKind, text: String| Part {
            call_id: Some(call.id.clone()),
            tool: Some(call.name.clone()),
            ..Part::inline(kind, text)
        };
        let calls = self.calls.iter().map(|call| {
            let arguments = call.arguments.as_deref().unwrap_or("");
            of_call(
                call,
                PartKind::ToolCall,
                format!("{} {arguments}", call.name),
            )
        });
        let results = self.calls.iter().filter_map(|call| {
            let result = call.result.as_deref()?;
            Some(of_call(call, PartKind::ToolResult, result_text(result)))
        });
        said.chain(calls).chain(results).collect()
    }
}

/// The pieces of a content: a text, a part, or a list of either.
fn pieces(json: &str) -> Result<Vec<Piece>, serde_json::Error> {
    if json.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(json)?;
        return list.into_iter().map(|raw| piece(raw.get())).collect();
    }
    let one = piece(json)?;
    Ok(match one {
        Piece::Text(text) if text.is_empty() => Vec::new(),
        one => vec![one],
    })
}

fn piece(json: &str) -> Result<Piece, serde_json::Error> {
    let value: Value = serde_json::from_str(json)?;
    let text = value.get("text").unwrap_or(&value);
    Ok(match text.as_str() {
        Some(text) => Piece::Text(text.to_owned()),
        None if value.is_null() => Piece::Text(String::new()),
        None => Piece::Other(json.to_owned()),
    })
}

/// What a result says: the output of its response where there is one, else the result as it stands.
fn result_text(json: &str) -> String {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let list = match &value {
        Value::Array(list) => list.iter().collect(),
        other => vec![other],
    };
    let outputs: Option<Vec<&str>> = list
        .into_iter()
        .map(|part| {
            let response = part
                .get("functionResponse")
                .and_then(|answer| answer.get("response"));
            let output = response
                .and_then(|response| response.get("output").or_else(|| response.get("error")));
            output.or_else(|| part.get("text")).unwrap_or(part).as_str()
        })
        .collect();
    outputs.map_or_else(|| json.to_owned(), |outputs| outputs.join("\n"))
}
