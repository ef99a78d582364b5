//! Which calls have no result, and which results no call: neither is sent.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::payload::{Part, PartKind};

/// The calls and results of the entries that stand in a history, by the call's id. What an entry costs that comes or goes does
/// not grow with the history.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    calls: HashMap<String, Pair>,
    /// Those of which one half is missing.
    unpaired: HashSet<String>,
}

/// What stands there of a call: the entries with the call, and those with a result of it.
#[derive(Debug, Default)]
struct Pair {
    called: Vec<String>,
    returned: Vec<String>,
}

impl Pairs {
    /// An entry came.
    pub(super) fn add(&mut self, entry: &str, parts: &[Part]) {
        for (call, is_call) in halves(parts) {
            let pair = self.calls.entry(call.to_owned()).or_default();
            pair.half(is_call).push(entry.to_owned());
            self.settle(call);
        }
    }

    /// An entry left.
    pub(super) fn remove(&mut self, entry: &str, parts: &[Part]) {
        for (call, is_call) in halves(parts) {
            if let Some(pair) = self.calls.get_mut(call) {
                let half = pair.half(is_call);
                if let Some(at) = half.iter().rposition(|known| known == entry) {
                    half.remove(at);
                }
            }
            self.settle(call);
        }
    }

    fn settle(&mut self, call: &str) {
        let Some(pair) = self.calls.get(call) else {
            return;
        };
        match (pair.called.is_empty(), pair.returned.is_empty()) {
            (true, true) => {
                self.calls.remove(call);
                self.unpaired.remove(call);
            }
            (false, false) => {
                self.unpaired.remove(call);
            }
            _ => {
                self.unpaired.insert(call.to_owned());
            }
        }
    }

    /// The entries that have a call without a result, or a result without a call.
    pub(super) fn unpaired(&self) -> HashSet<String> {
        let pairs = self.unpaired.iter().filter_map(|call| self.calls.get(call));
        let entries = pairs.flat_map(|pair| pair.called.iter().chain(&pair.returned));
        entries.cloned().collect()
    }
}

impl Pair {
    fn half(&mut self, is_call: bool) -> &mut Vec<String> {
        if is_call {
            &mut self.called
        } else {
            &mut self.returned
        }
    }
}

/// The calls that parts make, and those whose results they are. One without an id is one with an empty id.
fn halves(parts: &[Part]) -> impl Iterator<Item = (&str, bool)> {
    parts.iter().filter_map(|part| {
        let is_call = match part.kind {
            PartKind::ToolCall => true,
            PartKind::ToolResult => false,
            _ => return None,
        };
        Some((part.call_id.as_deref().unwrap_or(""), is_call))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(kind: PartKind, call: &str) -> Vec<Part> {
        let part = Part::inline(kind, "text");
        vec![Part {
            call_id: Some(call.to_owned()),
            ..part
        }]
    }

    #[test]
    fn one_half_is_unpaired_until_the_other_comes_and_after_it_left() {
        let mut pairs = Pairs::default();
        let unpaired = |pairs: &Pairs| {
            let mut entries: Vec<String> = pairs.unpaired().into_iter().collect();
            entries.sort();
            entries
        };
        pairs.add("a", &half(PartKind::ToolCall, "1"));
        pairs.add("b", &half(PartKind::ToolCall, "2"));
        assert_eq!(unpaired(&pairs), ["a", "b"]);
        let result = half(PartKind::ToolResult, "1");
        pairs.add("c", &result);
        assert_eq!(unpaired(&pairs), ["b"]);
        pairs.add("d", &result);
        pairs.remove("c", &result);
        assert_eq!(unpaired(&pairs), ["b"]);
        pairs.remove("d", &result);
        assert_eq!(unpaired(&pairs), ["a", "b"]);
        pairs.remove("a", &half(PartKind::ToolCall, "1"));
        pairs.remove("b", &half(PartKind::ToolCall, "2"));
        assert!(unpaired(&pairs).is_empty() && pairs.calls.is_empty());
    }
}
