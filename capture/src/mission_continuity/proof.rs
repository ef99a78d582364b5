//! The check of a rebuilt context against the hash that the application recorded when it sent it.
//!
//! A run's files are published with personal data withheld, so that most hashes cannot be reproduced from them alone. Who has
//! the withheld values may give them: they are put back for the comparison only and enter no event.

use std::collections::BTreeMap;

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::ProofOutcome;
use serde::Serialize;

use super::json::Json;
use super::line::{Line, render};

/// How the recorded hash is computed, for people who want to check it.
pub(super) const METHOD: &str =
    "SHA-256 of the instructions, a line feed and the rendered messages (context_sha256)";
/// Most ways of putting values back that are tried for one context.
const ATTEMPTS_MAX: usize = 4096;
const MARK: &str = "<withheld:";

/// How many contexts had each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProofCounts {
    /// Proved from the files alone.
    pub verified: u64,
    /// Proved after withheld values were put back.
    pub verified_after_restoring: u64,
    /// Not provable without values that are withheld.
    pub unverifiable_withheld: u64,
    /// Nothing is withheld and the hash differs.
    pub mismatch: u64,
    /// Not rebuilt, so not checked.
    pub not_rebuilt: u64,
}

impl ProofCounts {
    pub(super) fn add(&mut self, outcome: ProofOutcome) {
        *match outcome {
            ProofOutcome::Verified => &mut self.verified,
            ProofOutcome::VerifiedAfterRestoring => &mut self.verified_after_restoring,
            ProofOutcome::UnverifiableWithheld => &mut self.unverifiable_withheld,
            ProofOutcome::Mismatch => &mut self.mismatch,
        } += 1;
    }
}

/// Checks a context against its recorded hash.
pub(super) fn prove(lines: &[Line], expected: &str, restorer: Option<&Restorer>) -> ProofOutcome {
    let hashes_as_recorded =
        |lines: &[Line]| hex::encode(sha256(render(lines).as_bytes())) == expected;
    if hashes_as_recorded(lines) {
        return ProofOutcome::Verified;
    }
    if !lines.iter().any(|line| is_withheld(&line.content)) {
        return ProofOutcome::Mismatch;
    }
    let is_restored = restorer.is_some_and(|restorer| {
        let mut attempt = lines.to_vec();
        let choices = restorer.choices(lines);
        let count = choices
            .iter()
            .try_fold(1usize, |count, (_, ways)| count.checked_mul(ways.len()))
            .filter(|&count| (1..=ATTEMPTS_MAX).contains(&count));
        (0..count.unwrap_or(0)).any(|number| {
            let mut rest = number;
            for (index, ways) in &choices {
                attempt[*index].content.clone_from(&ways[rest % ways.len()]);
                rest /= ways.len();
            }
            hashes_as_recorded(&attempt)
        })
    });
    if is_restored {
        ProofOutcome::VerifiedAfterRestoring
    } else {
        ProofOutcome::UnverifiableWithheld
    }
}

fn is_withheld(content: &Json) -> bool {
    match content {
        Json::String(text) => text.contains(MARK),
        Json::Array(items) => items.iter().any(is_withheld),
        Json::Object(members) => members.iter().any(|(_, value)| is_withheld(value)),
        _ => false,
    }
}

/// Values that a run's files withhold, found in a document that holds them, such as the data set that the run's tools read.
#[derive(Debug)]
pub(super) struct Restorer {
    objects: Vec<Vec<(String, Json)>>,
    strings: Vec<String>,
    by_name: BTreeMap<String, Vec<String>>,
}

impl Restorer {
    pub(super) fn new(document: &Json) -> Self {
        let mut restorer = Self {
            objects: Vec::new(),
            strings: Vec::new(),
            by_name: BTreeMap::new(),
        };
        restorer.collect(document);
        restorer
    }

    fn collect(&mut self, value: &Json) {
        match value {
            Json::String(text) if !text.contains(MARK) => self.strings.push(text.clone()),
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(members) => {
                for (name, value) in members {
                    if let Json::String(text) = value
                        && !text.contains(MARK)
                    {
                        let known = self.by_name.entry(name.clone()).or_default();
                        if !known.contains(text) {
                            known.push(text.clone());
                        }
                    }
                    self.collect(value);
                }
                self.objects.push(members.clone());
            }
            _ => {}
        }
    }

    /// For every line that withholds something, the contents that it may have had.
    fn choices(&self, lines: &[Line]) -> Vec<(usize, Vec<Json>)> {
        let withheld = lines.iter().enumerate();
        withheld
            .filter(|(_, line)| is_withheld(&line.content))
            .map(|(index, line)| {
                let mut ways = vec![self.restored(&line.content, None)];
                while let Some(at) = ways.iter().position(is_withheld) {
                    let way = ways.swap_remove(at);
                    let guesses = self.guesses(&way);
                    if guesses.is_empty() || ways.len() + guesses.len() > ATTEMPTS_MAX {
                        return (index, vec![line.content.clone()]);
                    }
                    ways.extend(guesses);
                }
                (index, ways)
            })
            .collect()
    }

    /// Puts back what the document settles: a member of an object that is otherwise the same, and a text of which only the
    /// withheld places differ.
    fn restored(&self, value: &Json, within: Option<(&str, &[(String, Json)])>) -> Json {
        match value {
            Json::String(text) if text.contains(MARK) => within
                .and_then(|(name, members)| self.member(name, members, text))
                .or_else(|| self.whole_text(text))
                .map_or_else(|| value.clone(), Json::String),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.restored(item, None)).collect())
            }
            Json::Object(members) => Json::Object(
                members
                    .iter()
                    .map(|(name, value)| {
                        let within = Some((name.as_str(), members.as_slice()));
                        (name.clone(), self.restored(value, within))
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// The member of the one object that has the same plain values as the given one, wherever both have the member.
    fn member(&self, name: &str, members: &[(String, Json)], text: &str) -> Option<String> {
        if mark(text).is_none_or(|(start, end, _)| start != 0 || end != text.len()) {
            return None;
        }
        let is_plain = |value: &Json| !matches!(value, Json::Array(_) | Json::Object(_));
        let mut found = self.objects.iter().filter_map(|object| {
            let get = |name: &str| object.iter().find(|(member, _)| member == name);
            let (_, value) = get(name).filter(|(_, value)| !is_withheld(value))?;
            let mut agreements = 0;
            for (member, mine) in members {
                match get(member) {
                    Some((_, theirs)) if is_plain(mine) && !is_withheld(mine) => {
                        if mine != theirs {
                            return None;
                        }
                        agreements += 1;
                    }
                    _ => {}
                }
            }
            (agreements > 0).then_some((agreements, value.as_str()?))
        });
        let first = found.next()?;
        let best = found.fold(
            first,
            |best, next| if next.0 > best.0 { next } else { best },
        );
        Some(best.1.to_owned())
    }

    /// The text of the document that equals this one outside its withheld places.
    fn whole_text(&self, text: &str) -> Option<String> {
        let mut literals = Vec::new();
        let mut rest = text;
        while let Some((start, end, _)) = mark(rest) {
            literals.push(&rest[..start]);
            rest = &rest[end..];
        }
        if literals.iter().all(|literal| literal.is_empty()) && rest.is_empty() {
            return None;
        }
        let (first, others) = literals.split_first()?;
        let fits = |candidate: &str| {
            let Some(mut left) = candidate.strip_prefix(first) else {
                return false;
            };
            for literal in others {
                match left.find(literal) {
                    Some(at) => left = &left[at + literal.len()..],
                    None => return false,
                }
            }
            left.ends_with(rest)
        };
        self.strings
            .iter()
            .find(|candidate| fits(candidate))
            .cloned()
    }

    /// The value with its first withheld place filled in every way that the document's members of that name allow.
    fn guesses(&self, value: &Json) -> Vec<Json> {
        match value {
            Json::String(text) => {
                let Some((start, end, name)) = mark(text) else {
                    return Vec::new();
                };
                let suffix = format!("_{name}");
                self.by_name
                    .iter()
                    .filter(|(known, _)| known.as_str() == name || known.ends_with(&suffix))
                    .flat_map(|(_, values)| values)
                    .map(|put| Json::String(format!("{}{put}{}", &text[..start], &text[end..])))
                    .collect()
            }
            Json::Array(items) => {
                filled(items, is_withheld, |item| self.guesses(item), Json::Array)
            }
            Json::Object(members) => filled(
                members,
                |(_, value)| is_withheld(value),
                |(name, value)| {
                    let guesses = self.guesses(value).into_iter();
                    guesses.map(|guess| (name.clone(), guess)).collect()
                },
                Json::Object,
            ),
            _ => Vec::new(),
        }
    }
}

/// The list with its first withheld item replaced, once for each way.
fn filled<T: Clone>(
    items: &[T],
    is_withheld: impl Fn(&T) -> bool,
    guesses: impl Fn(&T) -> Vec<T>,
    wrap: fn(Vec<T>) -> Json,
) -> Vec<Json> {
    let Some(at) = items.iter().position(is_withheld) else {
        return Vec::new();
    };
    let ways = guesses(&items[at]).into_iter().map(|guess| {
        let mut copy = items.to_vec();
        copy[at] = guess;
        wrap(copy)
    });
    ways.collect()
}

/// The first withheld place of a text: its start, its end, and the name of what is withheld.
fn mark(text: &str) -> Option<(usize, usize, &str)> {
    let start = text.find(MARK)?;
    let name = &text[start + MARK.len()..];
    let length = name.find('>')?;
    Some((start, start + MARK.len() + length + 1, &name[..length]))
}

#[cfg(test)]
mod tests {
    use super::super::line::LineKind;
    use super::*;

    const DOCUMENT: &str = r#"{
        "account": {"id": "A-1", "plan": "p", "owner_phone": "555-0100", "seats": [
            {"seat": 1, "role": "owner", "name": "Ada \u00c9"}, {"seat": 2, "role": "admin", "name": "Bo"}]},
        "ticket": {"text": "Call (555) 0100 now, please."}
    }"#;

    fn line(content: &str) -> Line {
        let content = Json::parse(content).expect("JSON");
        Line::of_call(LineKind::Return, 1, Some("c"), Some("t"), content)
    }

    fn hash_of(contents: &[&str]) -> String {
        let lines: Vec<Line> = contents.iter().map(|content| line(content)).collect();
        hex::encode(sha256(render(&lines).as_bytes()))
    }

    fn outcome(withheld: &[&str], sent: &[&str], document: Option<&str>) -> ProofOutcome {
        let lines: Vec<Line> = withheld.iter().map(|content| line(content)).collect();
        let restorer = document.map(|text| Restorer::new(&Json::parse(text).expect("JSON")));
        prove(&lines, &hash_of(sent), restorer.as_ref())
    }

    #[test]
    fn values_are_put_back_where_they_stood() {
        let withheld = [
            r#"{"new": true, "id": "A-1", "plan": "p", "owner_phone": "<withheld:owner_phone>", "seats": [
                {"seat": 1, "name": "<withheld:name>"}, {"seat": 2, "name": "<withheld:name>"}]}"#,
            r#"{"text": "Call <withheld:phone> now, please."}"#,
            r#"{"note": "seat <withheld:name> did it, call <withheld:phone>"}"#,
        ];
        let sent = [
            r#"{"new": true, "id": "A-1", "plan": "p", "owner_phone": "555-0100", "seats": [
                {"seat": 1, "name": "Ada \u00c9"}, {"seat": 2, "name": "Bo"}]}"#,
            r#"{"text": "Call (555) 0100 now, please."}"#,
            r#"{"note": "seat Bo did it, call 555-0100"}"#,
        ];
        let restored = outcome(&withheld, &sent, Some(DOCUMENT));
        assert_eq!(restored, ProofOutcome::VerifiedAfterRestoring);
        assert_eq!(
            outcome(&withheld, &sent, None),
            ProofOutcome::UnverifiableWithheld
        );
        assert_eq!(
            outcome(&sent, &sent, Some(DOCUMENT)),
            ProofOutcome::Verified
        );
    }

    #[test]
    fn a_document_that_has_not_the_values_proves_nothing() {
        let withheld = [r#"{"id": "A-1", "owner_phone": "<withheld:owner_phone>"}"#];
        let sent = [r#"{"id": "A-1", "owner_phone": "555-0199"}"#];
        for document in [
            DOCUMENT,
            "{}",
            r#"{"owner_phone": "<withheld:owner_phone>"}"#,
        ] {
            let outcome = outcome(&withheld, &sent, Some(document));
            assert_eq!(outcome, ProofOutcome::UnverifiableWithheld, "{document}");
        }
        let broken = [r#"{"note": "<withheld:name"}"#];
        let outcome = outcome(&broken, &sent, Some(DOCUMENT));
        assert_eq!(outcome, ProofOutcome::UnverifiableWithheld);
    }

    #[test]
    fn without_anything_withheld_another_hash_is_a_mismatch() {
        let (mine, sent) = ([r#"{"a": 1}"#], [r#"{"a": 1.0}"#]);
        assert_eq!(
            outcome(&mine, &sent, Some(DOCUMENT)),
            ProofOutcome::Mismatch
        );
    }

    #[test]
    fn too_many_ways_are_not_tried() {
        let names: Vec<String> = (0..10).map(|number| format!("\"n{number}\"")).collect();
        let document = format!(
            "[{}]",
            names
                .iter()
                .map(|name| format!("{{\"name\": {name}}}"))
                .collect::<Vec<_>>()
                .join(",")
        );
        let many = format!("\"{}\"", "<withheld:name> ".repeat(30));
        let outcome = outcome(&[&many], &["\"x\""], Some(&document));
        assert_eq!(outcome, ProofOutcome::UnverifiableWithheld);
    }
}
