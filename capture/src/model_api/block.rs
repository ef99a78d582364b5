//! Pieces of JSON that the APIs share, with the bytes of what is not read further kept as they were sent.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ReadError, ResultContent};

/// Reads JSON, or says what cannot be read.
pub(super) fn read<'a, T: Deserialize<'a>>(
    what: &'static str,
    body: &'a [u8],
) -> Result<T, ReadError> {
    serde_json::from_slice(body).map_err(|error| ReadError::new(what, &error))
}

/// The same of a piece; none if it is something else than expected.
pub(super) fn piece<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// Content that is a text or a list of blocks.
pub(super) enum Content<'a> {
    Text(String),
    Blocks(Vec<&'a RawValue>),
    Other(&'a RawValue),
}

impl<'a> Content<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Self {
        if let Some(text) = piece(raw) {
            Self::Text(text)
        } else if let Some(blocks) = piece(raw) {
            Self::Blocks(blocks)
        } else {
            Self::Other(raw)
        }
    }
}

/// A block or item, with what the APIs have in common.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    pub(super) r#type: String,
    pub(super) id: Option<String>,
    pub(super) role: Option<String>,
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) data: Option<String>,
    pub(super) tool_use_id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) encrypted_content: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) operation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
}

/// Arguments as the model wrote them: the text of a JSON string, else the JSON.
pub(super) fn arguments(raw: Option<&RawValue>) -> String {
    match raw {
        None => "{}".to_owned(),
        Some(raw) => piece::<String>(raw).unwrap_or_else(|| raw.get().to_owned()),
    }
}

/// A result: the text where it is a text, or a list of one text block; else the JSON as sent.
pub(super) fn result(raw: Option<&RawValue>) -> ResultContent {
    let Some(raw) = raw else {
        return ResultContent::Text(String::new());
    };
    match Content::of(raw) {
        Content::Text(text) => ResultContent::Text(text),
        Content::Blocks(blocks) => match blocks.as_slice() {
            [one] => match piece::<Block<'_>>(one) {
                Some(Block {
                    text: Some(text), ..
                }) => ResultContent::Text(text),
                _ => ResultContent::Json(raw.get().to_owned()),
            },
            _ => ResultContent::Json(raw.get().to_owned()),
        },
        Content::Other(raw) => ResultContent::Json(raw.get().to_owned()),
    }
}

/// Whether a request asks for a format of its answer that the model is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Format {
    pub(super) r#type: String,
}

impl Format {
    /// A schema is sent to the model; `text` and `json_object` say nothing that it could read.
    pub(super) fn is_schema(raw: &RawValue) -> bool {
        piece::<Self>(raw).is_some_and(|format| format.r#type == "json_schema")
    }
}
