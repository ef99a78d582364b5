//! The arguments of a call, as policies see them.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::RestrictedExpression;

/// The top-level arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    texts: BTreeMap<String, String>,
    /// Each number rounded down and up; both are the number where it is whole.
    numbers: BTreeMap<String, (i64, i64)>,
    /// Those that are no number.
    pub(super) unmeasured: BTreeSet<String>,
}

impl Arguments {
    pub(super) fn read(json: Option<&str>) -> Self {
        let mut arguments = Self::default();
        let Some(Ok(serde_json::Value::Object(members))) = json.map(serde_json::from_str) else {
            return arguments;
        };
        for (name, value) in members {
            match value {
                serde_json::Value::Number(number) => match whole_around(&number) {
                    Some(around) => {
                        arguments.numbers.insert(name, around);
                    }
                    None => {
                        arguments.unmeasured.insert(name);
                    }
                },
                serde_json::Value::String(text) => {
                    arguments.unmeasured.insert(name.clone());
                    arguments.texts.insert(name, text);
                }
                _ => {
                    arguments.unmeasured.insert(name);
                }
            }
        }
        arguments
    }

    /// The records of the context that tell of them.
    pub(super) fn records(&self) -> Result<Vec<(String, RestrictedExpression)>, String> {
        let long = RestrictedExpression::new_long;
        let texts = self
            .texts
            .iter()
            .map(|(name, text)| (name, RestrictedExpression::new_string(text.clone())));
        let whole = self.numbers.iter().filter(|(_, (low, high))| low == high);
        let yes = |name| (name, RestrictedExpression::new_bool(true));
        let record = |name: &str, members: Vec<(&String, RestrictedExpression)>| {
            let members = members.into_iter().map(|(name, of)| (name.clone(), of));
            RestrictedExpression::new_record(members)
                .map(|record| (name.to_owned(), record))
                .map_err(|error| format!("{name}: {error}"))
        };
        let rounded = |pick: fn(&(i64, i64)) -> i64| {
            let numbers = self.numbers.iter();
            numbers
                .map(|(name, around)| (name, long(pick(around))))
                .collect()
        };
        Ok(vec![
            record(
                "arguments",
                texts
                    .chain(whole.map(|(name, (low, _))| (name, long(*low))))
                    .collect(),
            )?,
            record("floors", rounded(|around| around.0))?,
            record("ceilings", rounded(|around| around.1))?,
            record(
                "present",
                self.numbers
                    .keys()
                    .chain(&self.unmeasured)
                    .map(yes)
                    .collect(),
            )?,
            record("unmeasured", self.unmeasured.iter().map(yes).collect())?,
        ])
    }
}

/// The whole numbers next to a number, below and above. One beyond 64 bits becomes the nearest of them, which lies beyond every
/// bound too: bounds are at most 2^53 − 1.
fn whole_around(number: &serde_json::Number) -> Option<(i64, i64)> {
    if let Some(whole) = number.as_i64() {
        return Some((whole, whole));
    }
    let value = number.as_f64().filter(|value| value.is_finite())?;
    // `as` rounds a double beyond the range to its end.
    Some((value.floor() as i64, value.ceil() as i64))
}
