//! What was permitted and what was prohibited, as Cedar policies, and the verdict on each action.
//!
//! An action is the Cedar request `Agent::"<agent>"`, `Action::"call"`, `Tool::"<tool>"` with the context
//! `{ tool, target?, operation?, arguments }`, where `arguments` holds the top-level arguments that are texts or whole
//! numbers. Bounds are compared with `floors` and `ceilings`, which hold every number rounded down and up; `present` names every
//! argument and `unmeasured` those that are no number: where such a one decides whether a prohibition holds, the action cannot
//! be judged. Patterns are compiled to Cedar's JSON form, never to policy text, so nothing that they hold can end a policy.

mod argument;

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{
    Authorizer, Context, Decision, Effect, Entities, EntityId, EntityTypeName, EntityUid, Policy,
    PolicyId, PolicySet, Request, RestrictedExpression,
};
use remembrancer_schema::payload::{
    ActionPattern, ConstraintDeclared, ConstraintKind, ScopeDeclared, ToolDeclaration,
};

use crate::analysis::ScopeVerdict;
use crate::policy::{bounded, compile_open_bounds, compile_pattern, compile_text};
use argument::Arguments;

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
}

/// Everything declared so far that actions are judged by. Compiled once per declaration.
#[derive(Debug, Default)]
pub struct Mandate {
    scope: Option<CompiledScope>,
    prohibitions: CompiledPolicies,
    prohibition_ids: BTreeSet<String>,
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
    /// Replaces the scope.
    pub fn declare_scope(&mut self, scope: &ScopeDeclared) {
        self.scope = Some(CompiledScope::new(scope));
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
    }

    /// Whether a scope was declared that lists tools, and this tool is not among them.
    pub fn is_undeclared_tool(&self, tool: &str) -> bool {
        self.scope
            .as_ref()
            .is_some_and(|scope| !scope.tools.is_empty() && !scope.tools.contains_key(tool))
    }

    /// Judges an action by what was declared so far.
    pub fn judge(&self, action: &ProposedAction<'_>) -> Judgement {
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
        let request = ProposedAction {
            target: target.as_deref(),
            operation: operation.as_deref(),
            ..*action
        };
        let (verdict, breaks) = self.verdict(&request);
        Judgement {
            verdict,
            breaks,
            target,
            operation,
        }
    }

    fn verdict(&self, action: &ProposedAction<'_>) -> (ScopeVerdict, Vec<String>) {
        let arguments = Arguments::read(action.arguments);
        let request = match cedar_request(action, &arguments) {
            Ok(request) => request,
            Err(reason) => return (ScopeVerdict::Unevaluated { reason }, Vec::new()),
        };
        let by_constraints = self.prohibitions.evaluate(&request, &arguments);
        let by_scope = self
            .scope
            .as_ref()
            .map(|scope| scope.policies.evaluate(&request, &arguments));
        let mut forbidding = by_constraints.forbidding;
        let mut failures = by_constraints.failures;
        let mut permitting = BTreeSet::new();
        if let Some(outcome) = by_scope {
            forbidding.extend(outcome.forbidding);
            failures.extend(outcome.failures);
            permitting = outcome.permitting;
        }
        if !forbidding.is_empty() {
            let breaks = forbidding
                .intersection(&self.prohibition_ids)
                .cloned()
                .collect();
            let policies = forbidding.into_iter().collect();
            return (ScopeVerdict::Prohibited { policies }, breaks);
        }
        let verdict = match &self.scope {
            _ if !failures.is_empty() => ScopeVerdict::Unevaluated {
                reason: failures.into_iter().collect::<Vec<_>>().join("; "),
            },
            None => ScopeVerdict::Undeclared,
            Some(scope) if permitting.is_empty() && !scope.permits_everything => {
                ScopeVerdict::OutOfScope
            }
            Some(_) => ScopeVerdict::Permitted {
                policies: permitting.into_iter().collect(),
            },
        };
        (verdict, Vec::new())
    }
}

#[derive(Debug)]
struct CompiledScope {
    tools: BTreeMap<String, ToolDeclaration>,
    permits_everything: bool,
    policies: CompiledPolicies,
}

impl CompiledScope {
    fn new(scope: &ScopeDeclared) -> Self {
        let mut policies = CompiledPolicies::default();
        let lists = [
            (Effect::Permit, "permitted", &scope.permitted),
            (Effect::Forbid, "prohibited", &scope.prohibited),
        ];
        for (effect, list, patterns) in lists {
            for (at, pattern) in patterns.iter().enumerate() {
                let name = format!("{list}[{at}]");
                policies.add_pattern(effect, &name, &name, pattern);
            }
        }
        if let Some(text) = &scope.policy {
            policies.add_text(text);
        }
        Self {
            // The first declaration of a tool counts, as for everything that is named.
            tools: scope
                .tools
                .iter()
                .rev()
                .map(|tool| (tool.tool.clone(), tool.clone()))
                .collect(),
            permits_everything: scope.permitted.is_empty() && scope.policy.is_none(),
            policies,
        }
    }
}

/// Policies with the names that they are reported under.
#[derive(Debug, Default)]
struct CompiledPolicies {
    set: PolicySet,
    named: BTreeMap<String, PolicyName>,
    /// What could not be compiled.
    failures: BTreeSet<String>,
}

#[derive(Debug)]
struct PolicyName {
    name: String,
    effect: Effect,
    /// It was given as text, so an error in it is worth telling. In a compiled pattern an error only means that an argument
    /// has another type than the pattern asks for, and such an argument fulfils nothing.
    is_text: bool,
    /// It asks whether a prohibition depends on these arguments, which are no numbers.
    open_bounds: Option<Vec<String>>,
}

#[derive(Debug, Default)]
struct Outcome {
    permitting: BTreeSet<String>,
    forbidding: BTreeSet<String>,
    failures: BTreeSet<String>,
}

impl CompiledPolicies {
    fn add_pattern(&mut self, effect: Effect, id: &str, name: &str, pattern: &ActionPattern) {
        match compile_pattern(effect, id, name, pattern) {
            Ok(policy) => self.add(policy, name.to_owned(), false, None),
            Err(reason) => {
                self.failures.insert(format!("{name}: {reason}"));
            }
        }
        if effect == Effect::Forbid
            && let Ok(Some(policy)) = compile_open_bounds(&format!("open/{id}"), name, pattern)
        {
            let arguments = bounded(pattern).map(str::to_owned).collect();
            self.add(policy, name.to_owned(), false, Some(arguments));
        }
    }

    fn add_text(&mut self, text: &str) {
        match compile_text(text) {
            Ok(policies) => {
                for (at, policy) in policies.into_iter().enumerate() {
                    let name = policy
                        .annotation("id")
                        .map_or_else(|| format!("policy[{at}]"), str::to_owned);
                    self.add(
                        policy.new_id(PolicyId::new(format!("policy/{at}"))),
                        name,
                        true,
                        None,
                    );
                }
            }
            Err(reason) => {
                self.failures.insert(format!("policy: {reason}"));
            }
        }
    }

    fn add(
        &mut self,
        policy: Policy,
        name: String,
        is_text: bool,
        open_bounds: Option<Vec<String>>,
    ) {
        let id = policy.id().to_string();
        let effect = policy.effect();
        match self.set.add(policy) {
            Ok(()) => {
                self.named.insert(
                    id,
                    PolicyName {
                        name,
                        effect,
                        is_text,
                        open_bounds,
                    },
                );
            }
            Err(error) => {
                self.failures.insert(format!("{name}: {error}"));
            }
        }
    }

    fn evaluate(&self, request: &Request, arguments: &Arguments) -> Outcome {
        let mut outcome = Outcome {
            failures: self.failures.clone(),
            ..Outcome::default()
        };
        if self.named.is_empty() {
            return outcome;
        }
        let response = Authorizer::new().is_authorized(request, &self.set, &Entities::empty());
        debug_assert!(
            response.decision() == Decision::Deny
                || response.diagnostics().reason().next().is_some(),
            "an allowed request names the policies that allowed it"
        );
        for id in response.diagnostics().reason() {
            let Some(policy) = self.named.get::<str>(id.as_ref()) else {
                continue;
            };
            match (&policy.open_bounds, policy.effect) {
                (Some(names), _) => {
                    let open = names
                        .iter()
                        .filter(|name| arguments.unmeasured.contains(*name));
                    outcome.failures.extend(open.map(|argument| {
                        format!(
                            "{}: the argument {argument:?} is no number, so whether it is within the bounds of this pattern is open",
                            policy.name
                        )
                    }));
                }
                (None, Effect::Permit) => {
                    outcome.permitting.insert(policy.name.clone());
                }
                (None, Effect::Forbid) => {
                    outcome.forbidding.insert(policy.name.clone());
                }
            }
        }
        for error in response.diagnostics().errors() {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
            if let Some(policy) = self.named.get::<str>(error.policy_id().as_ref())
                && policy.is_text
            {
                outcome
                    .failures
                    .insert(format!("{}: {}", policy.name, error.inner()));
            }
        }
        outcome
    }
}

fn cedar_request(action: &ProposedAction<'_>, arguments: &Arguments) -> Result<Request, String> {
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
