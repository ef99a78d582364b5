//! What Claude Code keeps of a tool's result for itself, beside what the model was given.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Of the result of a sub-agent's call, who the sub-agent was. That of other tools has any shape and may be long: nothing of it
/// is kept.
#[derive(Debug, Default)]
pub(super) struct ToolUseResult {
    pub(super) agent_id: Option<String>,
}

impl<'de> Deserialize<'de> for ToolUseResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyShape)
    }
}

struct AnyShape;

impl<'de> Visitor<'de> for AnyShape {
    type Value = ToolUseResult;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolUseResult, A::Error> {
        let mut result = ToolUseResult::default();
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if name == "agentId" {
                // Anything but a text names nobody.
                let value: serde_json::Value = map.next_value()?;
                result.agent_id = value.as_str().map(str::to_owned);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(result)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ToolUseResult, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToolUseResult::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }

    fn visit_unit<E>(self) -> Result<ToolUseResult, E> {
        Ok(ToolUseResult::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_any_shape_is_read_and_names_an_agent_by_a_text_alone() {
        let agent = |json: &str| {
            let result: ToolUseResult = serde_json::from_str(json).expect("any shape is read");
            result.agent_id
        };
        assert_eq!(
            agent(r#"{"status":"completed","content":[{"a":[1]}],"agentId":"a1"}"#).as_deref(),
            Some("a1")
        );
        let nobody = [
            r#"{"agentId":7}"#,
            r#"{"agentId":{"agentId":"a1"}}"#,
            r#"{"result":{"agentId":"a1"}}"#,
            r#"["agentId","a1"]"#,
            r#""agentId""#,
            "true",
            "-1",
            "1",
            "1.5",
            "null",
            "{}",
        ];
        for json in nobody {
            assert_eq!(agent(json), None, "{json}");
        }
    }
}
