//! JSON objects whose members keep their order and, where nothing changes in them, their bytes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in their order.
#[derive(Debug, Clone, Default)]
pub struct Members(pub Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

impl Members {
    /// The member of this name. One that is there twice is two answers to one question, and none.
    pub fn get(&self, name: &str) -> Result<Option<&RawValue>, String> {
        let mut found = self.0.iter().filter(|(own, _)| own == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(format!("the member {name:?} is there twice"));
        }
        Ok(first.map(|(_, value)| &**value))
    }

    /// Gives a member another value, or adds it at the end.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The object as text, its members `depth` levels deep.
    pub fn text(&self, depth: usize) -> Result<String, serde_json::Error> {
        if self.0.is_empty() {
            return Ok("{}".to_owned());
        }
        let inner = "  ".repeat(depth + 1);
        let members: Result<Vec<String>, serde_json::Error> = self
            .0
            .iter()
            .map(|(name, value)| {
                Ok(format!(
                    "{inner}{}: {}",
                    serde_json::to_string(name)?,
                    value.get()
                ))
            })
            .collect();
        Ok(format!(
            "{{\n{}\n{}}}",
            members?.join(",\n"),
            "  ".repeat(depth)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_there_twice_has_no_value() {
        let members: Members = serde_json::from_str(r#"{"a":1,"a":2,"b":3}"#).expect("an object");
        assert!(members.get("a").is_err());
        assert_eq!(
            members.get("b").expect("once").map(RawValue::get),
            Some("3")
        );
        assert!(members.get("c").expect("none").is_none());
    }
}
