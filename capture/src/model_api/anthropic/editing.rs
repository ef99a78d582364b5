//! Context editing: what a request asks the provider to take out of the context by itself.
//!
//! `clear_tool_uses_20250919` puts a placeholder in the place of the oldest tool results, in their order, and leaves the results of
//! the tools in `exclude_tools` and of the newest `keep` calls. So the number that the answer gives says which ones went.

use std::collections::HashSet;

use remembrancer_schema::payload::{Part, PartKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::AskedClearing;
use super::super::block::piece;

/// The edit that clears tool results, without its version.
const CLEARS_TOOL_RESULTS: &str = "clear_tool_uses";
/// How many of the newest calls it leaves unless it is told.
const KEEP_DEFAULT: u64 = 3;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContextManagement<'a> {
    #[serde(borrow)]
    edits: Vec<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Edit<'a> {
    r#type: String,
    trigger: Option<Amount>,
    keep: Option<Amount>,
    exclude_tools: Option<Vec<String>>,
    #[serde(borrow)]
    clear_tool_inputs: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Amount {
    r#type: String,
    value: Option<u64>,
}

impl ContextManagement<'_> {
    fn edits(&self) -> impl Iterator<Item = Edit<'_>> {
        self.edits.iter().filter_map(|raw| piece(raw))
    }

    /// Input size in tokens above which the first of the edits is made.
    pub(super) fn threshold(&self) -> Option<u64> {
        self.edits()
            .filter_map(|edit| edit.trigger)
            .filter(|trigger| trigger.r#type == "input_tokens")
            .filter_map(|trigger| trigger.value)
            .min()
    }

    /// The tool results that the provider is asked to clear. None where the request does not settle it: with two such edits, with
    /// a `keep` or inputs that are told in another way, or with an edit that is not known.
    pub(super) fn clearing(&self, parts: &[Part]) -> Option<AskedClearing> {
        let mut edits = self
            .edits()
            .filter(|edit| edit.r#type.starts_with(CLEARS_TOOL_RESULTS));
        let (edit, None) = (edits.next()?, edits.next()) else {
            return None;
        };
        let keep = match edit.keep {
            None => KEEP_DEFAULT,
            Some(keep) if keep.r#type == "tool_uses" => keep.value?,
            Some(_) => return None,
        };
        let with_inputs = match edit.clear_tool_inputs.map(RawValue::get) {
            None | Some("false" | "null") => false,
            Some("true") => true,
            Some(_) => return None,
        };
        let excluded = edit.exclude_tools.unwrap_or_default();
        Some(AskedClearing {
            calls: clearable(parts, &excluded),
            name: edit.r#type,
            keep,
            with_inputs,
        })
    }
}

/// The calls that have a result among the parts, in order, without those of some tools.
fn clearable(parts: &[Part], excluded: &[String]) -> Vec<String> {
    let returned: HashSet<&str> = of_kind(parts, PartKind::ToolResult)
        .filter_map(|part| part.call_id.as_deref())
        .collect();
    of_kind(parts, PartKind::ToolCall)
        .filter(|part| {
            let tool = part.tool.as_deref();
            !tool.is_some_and(|tool| excluded.iter().any(|excluded| excluded == tool))
        })
        .filter_map(|part| part.call_id.as_deref())
        .filter(|call| returned.contains(call))
        .map(str::to_owned)
        .collect()
}

fn of_kind(parts: &[Part], kind: PartKind) -> impl Iterator<Item = &Part> {
    parts.iter().filter(move |part| part.kind == kind)
}
