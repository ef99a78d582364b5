//! What was permitted and what was prohibited, as Cedar policies, and the verdict on each action.
//!
//! An action is the Cedar request `Agent::"<agent>"`, `Action::"call"`, `Tool::"<tool>"` with the context
//! `{ tool, target?, operation?, arguments }`, where `arguments` holds the top-level arguments that are texts or whole
//! numbers. Bounds are compared with `floors` and `ceilings`, which hold every number rounded down and up; `present` names every
//! argument and `unmeasured` those that are no number: where such a one decides whether a prohibition holds, the action cannot
//! be judged. Where something declared asks what an action touches, there is one request for each effect on each target, with
//! `effect`, `certain`, `path` and `within` in the context: the action is permitted if all of them are, and prohibited if one
//! is. Patterns are compiled to Cedar's JSON form, never to policy text, so nothing that they hold can end a policy.

mod argument;
mod compiled;
mod touch;

use std::collections::BTreeSet;

use cedar_policy::{
    Context, Effect, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};
use remembrancer_schema::payload::{ConstraintDeclared, ConstraintKind, ScopeDeclared};

use crate::analysis::ScopeVerdict;
use crate::effect::{self, Call, Effects, Ground, ShellState, Touch};
use argument::Arguments;
use compiled::{CompiledPolicies, CompiledScope};
use touch::Standing;

/// An action that is about to be judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProposedAction<'a> {
    /// The agent.
    pub agent: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// What it acts on; without it, as the declared scope says of the tool.
    pub target: Option<&'a str>,
    /// What it does there; without it, as the declared scope says of the tool.
    pub operation: Option<&'a str>,
    /// The arguments as sent: JSON.
    pub arguments: Option<&'a str>,
}

/// The verdict on an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the declared scope permits it.
    pub verdict: ScopeVerdict,
    /// Ids of the declared prohibitions that it breaks, sorted.
    pub breaks: Vec<String>,
    /// What it acts on, as stated or as the scope says.
    pub target: Option<String>,
    /// What it does there, as stated or as the scope says.
    pub operation: Option<String>,
    /// What it touches.
    pub effects: Effects,
    /// Which declaration of the scope was in force, counted from 1.
    pub scope_version: Option<u32>,
}

/// Everything declared so far that actions are judged by, and what earlier actions may have left behind for later ones.
/// Compiled once per declaration.
#[derive(Debug, Default)]
pub struct Mandate {
    scope: Option<CompiledScope>,
    scope_version: u32,
    prohibitions: CompiledPolicies,
    prohibition_ids: BTreeSet<String>,
    ground: Ground,
    shell: ShellState,
}

/// Judges one action against a scope and constraints. For many actions, keep a [`Mandate`].
pub fn decide<'a>(
    scope: Option<&ScopeDeclared>,
    constraints: impl IntoIterator<Item = &'a ConstraintDeclared>,
    action: &ProposedAction<'_>,
) -> Judgement {
    let mut mandate = Mandate::default();
    constraints
        .into_iter()
        .for_each(|constraint| mandate.declare_constraint(constraint));
    if let Some(scope) = scope {
        mandate.declare_scope(scope);
    }
    mandate.judge(action)
}

impl Mandate {
    /// Replaces the scope: a new version is in force from here on.
    pub fn declare_scope(&mut self, scope: &ScopeDeclared) {
        let mut ground = scope.places.as_ref().map(Ground::new).unwrap_or_default();
        ground.keep_links_of(&self.ground);
        self.ground = ground;
        self.scope = (!scope.withdrawn).then(|| CompiledScope::new(scope, &self.ground));
        self.scope_version += 1;
        // The paths of prohibitions start where the scope in force says.
        self.prohibitions.lists.compile(&self.ground);
    }

    /// Adds a constraint. Only a prohibition's action patterns decide anything.
    pub fn declare_constraint(&mut self, constraint: &ConstraintDeclared) {
        if constraint.kind != ConstraintKind::Prohibition
            || !self.prohibition_ids.insert(constraint.id.to_string())
        {
            return;
        }
        let name = constraint.id.as_str();
        for (at, pattern) in constraint.actions.iter().enumerate() {
            let id = format!("constraint/{name}/{at}");
            self.prohibitions
                .add_pattern(Effect::Forbid, &id, name, pattern);
        }
        self.prohibitions.lists.compile(&self.ground);
    }

    /// Whether a scope was declared that lists tools, and this tool is not among them.
    pub fn is_undeclared_tool(&self, tool: &str) -> bool {
        self.scope
            .as_ref()
            .is_some_and(|scope| !scope.tools.is_empty() && !scope.tools.contains_key(tool))
    }

    /// Judges an action by what was declared so far. What it may leave behind, such as a shell in another directory, is noted for
    /// the actions after it.
    pub fn judge(&mut self, action: &ProposedAction<'_>) -> Judgement {
        let tool = self
            .scope
            .as_ref()
            .and_then(|scope| scope.tools.get(action.tool));
        let stated = |own: Option<&str>, declared: Option<&String>| {
            own.map(str::to_owned).or_else(|| declared.cloned())
        };
        let target = stated(action.target, tool.and_then(|tool| tool.target.as_ref()));
        let operation = stated(
            action.operation,
            tool.and_then(|tool| tool.operation.as_ref()),
        );
        let call = Call {
            tool: action.tool,
            arguments: action.arguments,
            declared: tool.and_then(|tool| tool.effects.as_deref()),
        };
        let effects = effect::effects_of(call, &mut self.ground, &mut self.shell);
        let request = ProposedAction {
            target: target.as_deref(),
            operation: operation.as_deref(),
            ..*action
        };
        let (verdict, breaks) = self.verdict(&request, &effects);
        Judgement {
            verdict,
            breaks,
            target,
            operation,
            effects,
            scope_version: (self.scope_version > 0).then_some(self.scope_version),
        }
    }

    /// Bytes that are kept of earlier actions, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.shell.bytes() + self.ground.bytes_of_made_links()
    }

    fn verdict(
        &self,
        action: &ProposedAction<'_>,
        effects: &Effects,
    ) -> (ScopeVerdict, Vec<String>) {
        let arguments = Arguments::read(action.arguments);
        let asks = |policies: &CompiledPolicies| policies.asks_of_effects;
        let is_asked =
            asks(&self.prohibitions) || self.scope.as_ref().is_some_and(|of| asks(&of.policies));
        let mut touches: Vec<Option<Touch<'_>>> = match is_asked {
            true => effects.touches().into_iter().map(Some).collect(),
            false => Vec::new(),
        };
        if touches.is_empty() {
            touches.push(None);
        }
        let mut sum = Sum::default();
        for touch in touches {
            if let Err(reason) = self.judge_touch(action, &arguments, touch, &mut sum) {
                return (ScopeVerdict::Unevaluated { reason }, Vec::new());
            }
        }
        if sum.is_open() {
            sum.open.extend(effects.reasons().iter().cloned());
        }
        self.conclude(sum)
    }

    /// Judges one effect on one target, or an action as a whole.
    fn judge_touch(
        &self,
        action: &ProposedAction<'_>,
        arguments: &Arguments,
        touch: Option<Touch<'_>>,
        sum: &mut Sum,
    ) -> Result<(), String> {
        let mut standing = self.prohibitions.lists.standing(touch, &self.ground);
        if let Some(scope) = &self.scope {
            standing.add(scope.policies.lists.standing(touch, &self.ground));
        }
        let request = cedar_request(action, arguments, touch, &standing)?;
        let by_constraints = self.prohibitions.evaluate(&request, arguments, touch);
        sum.forbidding.extend(by_constraints.forbidding);
        sum.failures.extend(by_constraints.failures);
        sum.open.extend(by_constraints.open);
        let Some(scope) = &self.scope else {
            return Ok(());
        };
        let outcome = scope.policies.evaluate(&request, arguments, touch);
        if let Some(touch) = touch.filter(|_| outcome.may_forbid) {
            sum.open.insert(touch::open_policy(touch));
        }
        if outcome.permitting.is_empty() && outcome.open.is_empty() && !scope.permits_everything {
            match touch.filter(|_| outcome.may_permit) {
                Some(touch) => {
                    sum.open.insert(touch::open_permission(touch));
                }
                None => sum.is_out_of_scope = true,
            }
        }
        sum.forbidding.extend(outcome.forbidding);
        sum.failures.extend(outcome.failures);
        sum.open.extend(outcome.open);
        sum.permitting.extend(outcome.permitting);
        Ok(())
    }

    fn conclude(&self, sum: Sum) -> (ScopeVerdict, Vec<String>) {
        let reason = |texts: BTreeSet<String>| ScopeVerdict::Unevaluated {
            reason: texts.into_iter().collect::<Vec<_>>().join("; "),
        };
        if !sum.forbidding.is_empty() {
            let breaks = sum
                .forbidding
                .intersection(&self.prohibition_ids)
                .cloned()
                .collect();
            let policies = sum.forbidding.into_iter().collect();
            return (ScopeVerdict::Prohibited { policies }, breaks);
        }
        let verdict = match &self.scope {
            _ if !sum.failures.is_empty() => reason(sum.failures),
            Some(_) if sum.is_out_of_scope => ScopeVerdict::OutOfScope,
            _ if !sum.open.is_empty() => reason(sum.open),
            None => ScopeVerdict::Undeclared,
            Some(_) => ScopeVerdict::Permitted {
                policies: sum.permitting.into_iter().collect(),
            },
        };
        (verdict, Vec::new())
    }
}

/// What was found of an action, over all that it touches.
#[derive(Debug, Default)]
struct Sum {
    permitting: BTreeSet<String>,
    forbidding: BTreeSet<String>,
    /// What could not be compiled or evaluated.
    failures: BTreeSet<String>,
    /// What cannot be told of the action.
    open: BTreeSet<String>,
    /// Nothing permits something that it is known to touch.
    is_out_of_scope: bool,
}

impl Sum {
    fn is_open(&self) -> bool {
        !self.open.is_empty()
    }
}

fn cedar_request(
    action: &ProposedAction<'_>,
    arguments: &Arguments,
    touch: Option<Touch<'_>>,
    standing: &Standing,
) -> Result<Request, String> {
    let entity = |kind: &str, id: &str| -> Result<EntityUid, String> {
        let kind: EntityTypeName = kind.parse().map_err(|error| format!("{kind}: {error}"))?;
        Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
    };
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let mut members = vec![("tool".to_owned(), text(action.tool))];
    let optional = [("target", action.target), ("operation", action.operation)];
    members.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), text(value?)))),
    );
    members.extend(arguments.records()?);
    members.extend(
        touch
            .map(|touch| standing.members(touch))
            .into_iter()
            .flatten(),
    );
    let context = Context::from_pairs(members).map_err(|error| format!("context: {error}"))?;
    Request::new(
        entity("Agent", action.agent.unwrap_or("unnamed"))?,
        entity("Action", "call")?,
        entity("Tool", action.tool)?,
        context,
        None,
    )
    .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
