//! What a rollout declares for its turns.

use remembrancer_schema::payload::{EventType, ScopeDeclared};
use serde_json::Value;

use super::super::{Line, sandbox};
use super::Rollout;
use super::item::TurnContext;

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
        let roots = context.sandbox_policy.as_ref().map(writable_roots);
        let roots = roots.filter(|roots| !roots.is_empty());
        let said: Vec<String> = [
            ("approval policy", word(&context.approval_policy)),
            ("sandbox", sandbox),
            ("folder", context.cwd.clone()),
            ("also writable", roots.map(|roots| roots.join(" "))),
            ("network", network(context).map(|may| may.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value?)))
        .collect();
        let said = said.join(", ");
        if said.is_empty() || self.scope.as_ref() == Some(&said) {
            return;
        }
        let name = format!("turn-context.line.{}", line.number);
        let scope = match self.recording.has_scope() {
            true => None,
            false => sandboxed(context),
        };
        // What a program may do that no sandbox holds is nowhere declared; a scope of before is over then.
        let scope = scope.or_else(|| self.is_scope_in_force.then(sandbox::withdrawn));
        match scope {
            Some(scope) => {
                self.is_scope_in_force = !scope.withdrawn;
                let source = format!("turn_context: {said}");
                let scope = sandbox::stated(scope, "operator", Some("codex"), source);
                self.recording
                    .event(&name, &EventType::ScopeDeclared, time, &scope);
            }
            None => {
                let kind = EventType::Custom("custom.codex.turn_context".to_owned());
                let data = serde_json::json!({ "declares": said });
                self.recording.event(&name, &kind, time, &data);
            }
        }
        self.scope = Some(said);
    }
}

/// What the sandbox permits and forbids; `None` for one that does not say.
fn sandboxed(context: &TurnContext) -> Option<ScopeDeclared> {
    let policy = context.sandbox_policy.as_ref()?;
    let mode = policy.as_str().or_else(|| policy["mode"].as_str());
    match mode.or_else(|| policy["type"].as_str())? {
        "read-only" => Some(sandbox::unchanged_files(context.cwd.as_deref())),
        "workspace-write" => {
            let tmp = policy["exclude_slash_tmp"] != Value::Bool(true);
            let tmp = tmp.then(|| "/tmp".to_owned());
            let roots = writable_roots(policy).into_iter().chain(tmp);
            sandbox::folders(
                context.cwd.as_deref()?,
                roots,
                network(context) == Some(true),
            )
        }
        _ => None,
    }
}

/// Whether the policy lets the agent speak with other machines, where it says.
fn network(context: &TurnContext) -> Option<bool> {
    context.sandbox_policy.as_ref()?["network_access"].as_bool()
}

fn writable_roots(policy: &Value) -> Vec<String> {
    let roots = policy["writable_roots"].as_array();
    let roots = roots.into_iter().flatten();
    roots.filter_map(Value::as_str).map(str::to_owned).collect()
}
