//! An answer, and what the provider says about it.

use remembrancer_schema::payload::{PartKind, ReturnStatus, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::block::{self, Block, piece};
use super::super::{CallResult, ModelResponse, ReadError, ServerEdit};
use super::{Place, call, spoken};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(borrow)]
    pub(super) content: Vec<&'a RawValue>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<Counts>,
    #[serde(borrow)]
    pub(super) context_management: Option<Applied<'a>>,
    pub(super) error: Option<Fault>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Applied<'a> {
    #[serde(borrow)]
    applied_edits: Vec<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AppliedEdit {
    r#type: String,
    cleared_input_tokens: Option<u64>,
    cleared_tool_uses: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fault {
    r#type: String,
}

impl Counts {
    fn usage(self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let fresh = self.input_tokens.unwrap_or(0);
        Usage {
            input_tokens: fresh.saturating_add(cached).saturating_add(written),
            output_tokens: self.output_tokens.unwrap_or(0),
            cache_read_tokens: self.cache_read_input_tokens,
            cache_write_tokens: self.cache_creation_input_tokens,
        }
    }

    /// The counts that a later message of a stream gives, over those of an earlier one.
    pub(super) fn over(self, earlier: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.or(earlier.input_tokens),
            output_tokens: self.output_tokens.or(earlier.output_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .or(earlier.cache_creation_input_tokens),
            cache_read_input_tokens: self
                .cache_read_input_tokens
                .or(earlier.cache_read_input_tokens),
        }
    }
}

/// Reads an answer's body.
pub fn response(body: &[u8]) -> Result<ModelResponse, ReadError> {
    let answer: Answer<'_> = block::read("response", body)?;
    Ok(ModelResponse {
        is_whole: true,
        ..read_answer(answer)
    })
}

pub(super) fn read_answer(answer: Answer<'_>) -> ModelResponse {
    let mut response = ModelResponse {
        id: answer.id,
        model: answer.model,
        stop_reason: answer.stop_reason,
        usage: answer.usage.map(Counts::usage),
        error: answer.error.map(|fault| fault.r#type),
        ..ModelResponse::default()
    };
    let applied = answer.context_management.unwrap_or_default().applied_edits;
    response.edits = applied.into_iter().map(server_edit).collect();
    for raw in answer.content {
        let block: Block<'_> = piece(raw).unwrap_or_default();
        let place = Place {
            kind: PartKind::Assistant,
            message: None,
        };
        response.parts.push(spoken(raw, &block, place));
        match block.r#type.as_str() {
            "text" => response.text.extend(block.text),
            kind if kind.ends_with("tool_use") => response.calls.extend(call(&block)),
            kind if kind.ends_with("_tool_result") => response.results.push(CallResult {
                call_id: block.tool_use_id.unwrap_or_default(),
                status: if block.is_error == Some(true) {
                    ReturnStatus::Error
                } else {
                    ReturnStatus::Ok
                },
                result: block::result(block.content),
            }),
            _ => {}
        }
    }
    response
}

fn server_edit(raw: &RawValue) -> ServerEdit {
    let edit: AppliedEdit = piece(raw).unwrap_or_default();
    ServerEdit {
        name: edit.r#type,
        cleared_tokens: edit.cleared_input_tokens,
        cleared_calls: edit.cleared_tool_uses,
        told: raw.get().to_owned(),
    }
}
