//! The rules of the sessions: a mission that is declared in each of them, and sentences of the user that read like rules.
//!
//! Their events say no time, and their ids say what they declare: what is declared again after a loss is told as a duplicate.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{EventType, Part, PartKind, PartOrigin, StatedBy};
use serde::Serialize;

use crate::conversation::Conversation;
use crate::rules;
use crate::transcript::{Declared, DeclaredFrom, DeclaredRule, reduced};
use crate::{SessionWriter, WriteError};

/// Most rules of a session that are found in what the user wrote.
const INFERRED_MAX: usize = 100;

/// What sessions declare that their requests do not.
#[derive(Debug, Clone, Default)]
pub struct SessionRules {
    /// What is declared in every session, such as a mission file's statements.
    pub declared: Declared,
    /// Propose rule-like sentences of the user as inferred constraints.
    pub extract: bool,
}

impl SessionRules {
    /// Declares what holds from the beginning of a session.
    pub(super) fn at_start(
        &self,
        writer: &mut SessionWriter,
        known: &mut Conversation,
    ) -> Result<(), WriteError> {
        if let Some(intent) = &self.declared.intent {
            let id = id_of("mission.intent", intent)?;
            writer.push(&id, &EventType::IntentDeclared, None, intent)?;
        }
        if let Some(scope) = &self.declared.scope {
            let id = id_of("mission.scope", scope)?;
            writer.push(&id, &EventType::ScopeDeclared, None, scope)?;
        }
        let from_start = |rule: &&DeclaredRule| rule.from == DeclaredFrom::Start;
        for rule in self.declared.rules.iter().filter(from_start) {
            declare(rule, writer, known)?;
        }
        Ok(())
    }

    /// Declares what the new texts of a request state, before its context: a rule counts from the first request that was sent with it.
    pub(super) fn stated(
        &self,
        parts: &[Part],
        writer: &mut SessionWriter,
        known: &mut Conversation,
    ) -> Result<(), WriteError> {
        let held: Vec<(&DeclaredRule, String)> = self
            .declared
            .rules
            .iter()
            .filter(|rule| rule.from == DeclaredFrom::FirstStated)
            .filter(|rule| !known.declared.contains(rule.constraint.id.as_str()))
            .map(|rule| (rule, reduced(&rule.constraint.text)))
            .collect();
        if held.is_empty() && !self.extract {
            return Ok(());
        }
        for part in parts.iter().filter(|part| part.kind.is_carrying()) {
            let Some(text) = part.text.as_deref().filter(|text| !writer.has_text(text)) else {
                continue;
            };
            if !held.is_empty() {
                let words = reduced(text);
                for (rule, _) in held
                    .iter()
                    .filter(|(_, held)| words.contains(held.as_str()))
                {
                    declare(rule, writer, known)?;
                }
            }
            let is_users =
                part.kind == PartKind::User && part.effective_origin() == PartOrigin::User;
            if self.extract && is_users {
                infer(text, writer, known)?;
            }
        }
        Ok(())
    }
}

/// Declares the sentences of a user's text that read like rules.
fn infer(
    text: &str,
    writer: &mut SessionWriter,
    known: &mut Conversation,
) -> Result<(), WriteError> {
    for rule in rules::proposed(text) {
        let stated_by = StatedBy {
            role: "user".to_owned(),
            name: None,
            source: Some("a request".to_owned()),
        };
        let Some(constraint) = rule.constraint(stated_by, true) else {
            continue;
        };
        if known.declared.len() >= INFERRED_MAX {
            break;
        }
        let rule = DeclaredRule {
            constraint,
            from: DeclaredFrom::FirstStated,
        };
        declare(&rule, writer, known)?;
    }
    Ok(())
}

/// Declares a rule, once in a session.
fn declare(
    rule: &DeclaredRule,
    writer: &mut SessionWriter,
    known: &mut Conversation,
) -> Result<(), WriteError> {
    let constraint = &rule.constraint;
    if known.declared.contains(constraint.id.as_str()) {
        return Ok(());
    }
    let id = id_of(&format!("rule.{}", constraint.id), constraint)?;
    writer.push(&id, &EventType::ConstraintDeclared, None, constraint)?;
    known.declared.insert(constraint.id.to_string());
    Ok(())
}

/// An id that says what is declared: the same text again is the same event, another one is another.
fn id_of<T: Serialize>(name: &str, declared: &T) -> Result<String, WriteError> {
    let bytes = serde_json::to_vec(declared).map_err(|error| WriteError::Json {
        id: name.to_owned(),
        error,
    })?;
    Ok(format!("{name}.{}", ContentHash::of(&bytes).short()))
}
