//! What is declared about a transcript from outside it, and the rules that are read from what stands in it.

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{ConstraintDeclared, IntentDeclared, ScopeDeclared};
use serde_json::{Value, json};

use super::proposed_rule::RuleReader;

/// What somebody declares about the sessions of a transcript, because the transcript does not: it enters every session that is
/// read from it, right after its start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declared {
    /// What the agent was to do.
    pub intent: Option<IntentDeclared>,
    /// What it was allowed to do. A scope that the transcript itself declares is then kept as a note only.
    pub scope: Option<ScopeDeclared>,
    /// The rules.
    pub rules: Vec<DeclaredRule>,
}

/// A rule, and from when on it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredRule {
    /// The rule.
    pub constraint: ConstraintDeclared,
    /// When it is declared in the session.
    pub from: DeclaredFrom,
}

/// When a rule is declared. Its absence is counted from there on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeclaredFrom {
    /// At the start of the session.
    #[default]
    Start,
    /// Before the first request whose context holds its text. A rule that was never said is then never declared, and said so.
    FirstStated,
}

impl Declared {
    /// Everything that it declares as JSON, the same whatever built this: sessions are named after it. How it became known is no
    /// part of that.
    fn canonical(&self) -> String {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|rule| {
                let from = match rule.from {
                    DeclaredFrom::Start => "start",
                    DeclaredFrom::FirstStated => "first_stated",
                };
                let constraint = ConstraintDeclared {
                    witness: None,
                    ..rule.constraint.clone()
                };
                json!({ "constraint": constraint, "from": from })
            })
            .collect();
        let intent = self.intent.clone().map(|intent| IntentDeclared {
            witness: None,
            ..intent
        });
        let scope = self.scope.clone().map(|scope| ScopeDeclared {
            witness: None,
            ..scope
        });
        let mut whole = json!({ "intent": intent, "scope": scope, "rules": rules });
        whole.sort_all_objects();
        whole.to_string()
    }

    /// Whether it declares nothing.
    pub fn is_empty(&self) -> bool {
        self.intent.is_none() && self.scope.is_none() && self.rules.is_empty()
    }
}

/// How transcripts are read.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// What is declared from outside.
    pub declared: Declared,
    /// Finds rules in rules files that the transcript holds, and if `extract_rules` is set in what the user wrote. Without it,
    /// no rule is read from a transcript.
    pub rules: Option<RuleReader>,
    /// Propose rule-like sentences of the user as inferred constraints.
    pub extract_rules: bool,
}

impl ImportOptions {
    /// What sets a session that is imported with these options apart from one imported with others, as the end of its id:
    /// a session says the same at every import, and what is declared at its start is a part of what it says.
    pub(super) fn suffix(&self) -> String {
        let mut suffix = String::new();
        if !self.declared.is_empty() {
            let declared = self.declared.canonical();
            suffix.push_str(&format!(
                "-m{}",
                &hex::encode(sha256(declared.as_bytes()))[..8]
            ));
        }
        if self.extract_rules {
            suffix.push_str("-x");
        }
        suffix
    }
}

/// A text reduced to what decides whether a rule was stated in it: lower-case words with one space between them.
pub(crate) fn reduced(text: &str) -> String {
    let mut reduced = String::with_capacity(text.len() + 2);
    reduced.push(' ');
    for character in text.chars() {
        if character.is_alphanumeric() {
            reduced.extend(character.to_lowercase());
        } else if !reduced.ends_with(' ') {
            reduced.push(' ');
        }
    }
    if !reduced.ends_with(' ') {
        reduced.push(' ');
    }
    reduced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_found_by_its_words() {
        let text = reduced("please use the British\nspelling :)");
        assert!(text.contains(&reduced("british spelling")));
        assert!(!text.contains(&reduced("british spell")));
    }

    #[test]
    fn what_is_declared_sets_a_session_apart() {
        let mut options = ImportOptions::default();
        assert_eq!(options.suffix(), "");
        options.declared.intent = Some(IntentDeclared {
            objective: "a".to_owned(),
            ..IntentDeclared::default()
        });
        let first = options.suffix();
        // What names sessions of past imports must not change.
        assert_eq!(
            options.declared.canonical(),
            r#"{"intent":{"objective":"a"},"rules":[],"scope":null}"#
        );
        options.extract_rules = true;
        assert!(first.starts_with("-m") && options.suffix() == format!("{first}-x"));
    }
}
