//! What the resource of a span declares: an intent and constraints.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{ConstraintDeclared, EventType, IntentDeclared, StatedBy};
use serde::Serialize;

use super::super::export::{Conversation, Rejected};
use super::super::source::Source;
use super::Session;
use crate::WriteError;

impl Session {
    /// Declares what the resource of a span declares, each text once. Returns what is wrong with declarations.
    pub(super) fn declare(&mut self, source: &Source) -> Vec<String> {
        let stated_by = StatedBy {
            role: "operator".to_owned(),
            name: source.service.clone(),
            source: Some("resource attributes".to_owned()),
        };
        let mut wrong = Vec::new();
        if let Some(objective) = &source.intent {
            let declared = IntentDeclared {
                objective: objective.clone(),
                targets: Vec::new(),
                stated_by: Some(stated_by.clone()),
                witness: None,
            };
            let id = format!(
                "otlp.intent.{}",
                ContentHash::of(objective.as_bytes()).short()
            );
            let done = self.declare_once(&id, &EventType::IntentDeclared, &declared);
            wrong.extend(
                done.err()
                    .map(|error| format!("remembrancer.intent: {error}")),
            );
        }
        for (kind, name, text) in &source.constraints {
            let done = name.parse().map_err(WriteError::from).and_then(|id| {
                let declared = ConstraintDeclared {
                    id,
                    kind: *kind,
                    text: text.clone(),
                    matcher: None,
                    actions: Vec::new(),
                    stated_by: Some(stated_by.clone()),
                    inferred: false,
                    witness: None,
                };
                let hash = ContentHash::of(format!("{name}\n{text}").as_bytes()).short();
                let id = format!("otlp.constraint.{hash}");
                self.declare_once(&id, &EventType::ConstraintDeclared, &declared)
            });
            let attribute = || format!("remembrancer.{}.{name}", kind.as_str());
            wrong.extend(done.err().map(|error| format!("{}: {error}", attribute())));
        }
        wrong
    }

    /// Declares in a branch what others declared for the session that it belongs to: a rule does not end where a branch begins.
    /// Returns what cannot be declared.
    pub(super) fn carry(&mut self, conversation: &Conversation) -> Vec<Rejected> {
        let mut wrong = Vec::new();
        for declared in &conversation.carried {
            let hash = match serde_json::to_vec(declared) {
                Ok(bytes) => ContentHash::of(&bytes).short(),
                Err(_) => continue,
            };
            let id = format!("otlp.carried.{hash}");
            let done = self.declare_once(&id, &EventType::ConstraintDeclared, declared);
            let rejected = |error| {
                let first = conversation.spans.first()?;
                Some(first.rejected(format!("constraint {}: {error}", declared.id)))
            };
            wrong.extend(done.err().and_then(rejected));
        }
        wrong
    }

    pub(in crate::otlp) fn has(&self, id: &str) -> bool {
        self.writer.has(id)
    }

    pub(in crate::otlp) fn push<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        data: &T,
    ) -> Result<(), WriteError> {
        self.writer.push(id, kind, None, data)
    }

    fn declare_once<T: Serialize>(
        &mut self,
        id: &str,
        kind: &EventType,
        declared: &T,
    ) -> Result<(), WriteError> {
        if self.writer.has(id) {
            return Ok(());
        }
        self.writer.push(id, kind, None, declared)
    }
}
