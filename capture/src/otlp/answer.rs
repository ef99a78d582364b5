//! The bodies of answers to an exporter.

use prost::Message as _;
use serde_json::json;

use super::export::Form;
use super::wire::{ExportResponse, PartialSuccess, RpcStatus};

impl Form {
    /// The form that a media type names; `None` for one that traces do not come in.
    pub fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/x-protobuf") {
            Some(Self::Protobuf)
        } else if essence.eq_ignore_ascii_case("application/json") {
            Some(Self::Json)
        } else {
            None
        }
    }

    /// The form's media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// `ExportTraceServiceResponse`: what was taken is durable. Without rejected spans it is empty.
pub fn accepted(form: Form, rejected_spans: usize, error_message: &str) -> Vec<u8> {
    let rejected_spans = i64::try_from(rejected_spans).unwrap_or(i64::MAX);
    let partial = (rejected_spans > 0).then(|| PartialSuccess {
        rejected_spans,
        error_message: error_message.to_owned(),
    });
    match (form, &partial) {
        (Form::Protobuf, _) => ExportResponse {
            partial_success: partial,
        }
        .encode_to_vec(),
        (Form::Json, None) => b"{}".to_vec(),
        (Form::Json, Some(partial)) => json!({ "partialSuccess": {
            "rejectedSpans": partial.rejected_spans.to_string(),
            "errorMessage": partial.error_message,
        } })
        .to_string()
        .into_bytes(),
    }
}

/// `google.rpc.Status`: nothing was taken.
pub fn refused(form: Form, code: i32, message: &str) -> Vec<u8> {
    match form {
        Form::Protobuf => RpcStatus {
            code,
            message: message.to_owned(),
        }
        .encode_to_vec(),
        Form::Json => json!({ "code": code, "message": message })
            .to_string()
            .into_bytes(),
    }
}
