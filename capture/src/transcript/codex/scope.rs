//! What a rollout declares for its turns.

use remembrancer_schema::payload::{EventType, ScopeDeclared, StatedBy};

use super::super::Line;
use super::item::TurnContext;
use super::{Rollout, writing};

impl Rollout {
    /// What is declared for the turn: the scope, and the rules files.
    pub(super) fn turn_context(&mut self, context: TurnContext, time: Option<&str>, line: &Line) {
        self.input();
        self.model = context.model.clone().or(self.model.take());
        for (name, text) in [
            ("AGENTS.md", &context.user_instructions),
            ("developer instructions", &context.developer_instructions),
        ] {
            if let Some(text) = text
                && !self.rules.contains(text)
            {
                self.recording.rules_file(name, text, time);
                self.rules.push(text.clone());
            }
        }
        self.scope(&context, time, line);
    }

    pub(super) fn scope(&mut self, context: &TurnContext, time: Option<&str>, line: &Line) {
        let word = |value: &Option<serde_json::Value>| match value {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::String(word)) => Some(word.clone()),
            Some(other) => other["mode"]
                .as_str()
                .or_else(|| other["type"].as_str())
                .map_or_else(|| Some(other.to_string()), |mode| Some(mode.to_owned())),
        };
        let sandbox = word(&context.sandbox_policy).or_else(|| word(&context.permission_profile));
        let said: Vec<String> = [
            ("approval policy", word(&context.approval_policy)),
            ("sandbox", sandbox.clone()),
            ("folder", context.cwd.clone()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
        .collect();
        let said = said.join(", ");
        if said.is_empty() || self.scope.as_ref() == Some(&said) {
            return;
        }
        let name = format!("turn-context.line.{}", line.number);
        if self.recording.has_scope() {
            let kind = EventType::Custom("custom.codex.turn_context".to_owned());
            let data = serde_json::json!({ "declares": said });
            self.recording.event(&name, &kind, time, &data);
        } else {
            let is_read_only = sandbox.as_deref() == Some("read-only");
            let scope = ScopeDeclared {
                prohibited: if is_read_only { writing() } else { Vec::new() },
                stated_by: Some(StatedBy {
                    role: "operator".to_owned(),
                    name: Some("codex".to_owned()),
                    source: Some(format!("turn_context: {said}")),
                }),
                ..ScopeDeclared::default()
            };
            self.recording
                .event(&name, &EventType::ScopeDeclared, time, &scope);
        }
        self.scope = Some(said);
    }
}
