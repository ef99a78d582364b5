//! Declared patterns and policy texts, compiled, and what they say of a request.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{Authorizer, Decision, Effect, Entities, Policy, PolicyId, PolicySet, Request};
use remembrancer_schema::payload::{ActionPattern, ScopeDeclared, ToolDeclaration};

use super::argument::Arguments;
use super::touch::{PathLists, open_prohibition};
use crate::effect::{Ground, Target, Touch};
use crate::policy::{asks_of_effects, bounded, compile_open, compile_pattern, compile_text};

/// A declared scope.
#[derive(Debug)]
pub(super) struct CompiledScope {
    pub(super) tools: BTreeMap<String, ToolDeclaration>,
    pub(super) permits_everything: bool,
    pub(super) policies: CompiledPolicies,
}

impl CompiledScope {
    pub(super) fn new(scope: &ScopeDeclared, ground: &Ground) -> Self {
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
        policies.lists.compile(ground);
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
pub(super) struct CompiledPolicies {
    set: PolicySet,
    named: BTreeMap<String, PolicyName>,
    /// What could not be compiled.
    failures: BTreeSet<String>,
    /// The paths that patterns name.
    pub(super) lists: PathLists,
    /// Something asks what an action touches.
    pub(super) asks_of_effects: bool,
    /// A policy text does.
    text_asks_of_effects: bool,
    /// A policy text forbids by it.
    text_forbids_by_effects: bool,
}

#[derive(Debug)]
struct PolicyName {
    name: String,
    effect: Effect,
    /// It was given as text, so an error in it is worth telling. In a compiled pattern an error only means that an argument
    /// has another type than the pattern asks for, and such an argument fulfils nothing.
    is_text: bool,
    /// It asks whether a pattern depends on what is not known.
    open: Option<Open>,
}

/// What a pattern may depend on that is not known.
#[derive(Debug, Default)]
struct Open {
    /// Arguments that are bounded and may be no numbers.
    arguments: Vec<String>,
    /// The id of its list of paths.
    list: String,
}

/// What policies say of one request.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) permitting: BTreeSet<String>,
    pub(super) forbidding: BTreeSet<String>,
    pub(super) failures: BTreeSet<String>,
    /// Why prohibitions may or may not hold.
    pub(super) open: BTreeSet<String>,
    /// A permission would hold if what is not known were so.
    pub(super) may_permit: bool,
    /// A policy text may forbid what is not known.
    pub(super) may_forbid: bool,
}

impl CompiledPolicies {
    /// Adds a pattern under an id of its own; `name` is how it is reported.
    pub(super) fn add_pattern(
        &mut self,
        effect: Effect,
        id: &str,
        name: &str,
        pattern: &ActionPattern,
    ) {
        match compile_pattern(effect, id, name, pattern) {
            Ok(policy) => self.add(policy, name.to_owned(), false, None),
            Err(reason) => {
                self.failures.insert(format!("{name}: {reason}"));
                return;
            }
        }
        self.asks_of_effects |= asks_of_effects(pattern);
        self.lists.add(id, &pattern.paths);
        if let Ok(Some(policy)) = compile_open(effect, &format!("open/{id}"), name, pattern) {
            let open = Open {
                arguments: bounded(pattern).map(str::to_owned).collect(),
                list: id.to_owned(),
            };
            self.add(policy, name.to_owned(), false, Some(open));
        }
    }

    fn add_text(&mut self, text: &str) {
        match compile_text(text) {
            Ok(policies) => {
                let words = ["effect", "certain", "path", "within"];
                let asks = |text: &str| words.iter().any(|word| text.contains(word));
                self.text_asks_of_effects |= asks(text);
                self.text_forbids_by_effects |= policies
                    .iter()
                    .any(|policy| policy.effect() == Effect::Forbid && asks(&policy.to_string()));
                self.asks_of_effects |= self.text_asks_of_effects;
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

    fn add(&mut self, policy: Policy, name: String, is_text: bool, open: Option<Open>) {
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
                        open,
                    },
                );
            }
            Err(error) => {
                self.failures.insert(format!("{name}: {error}"));
            }
        }
    }

    /// Evaluates a request.
    pub(super) fn evaluate(
        &self,
        request: &Request,
        arguments: &Arguments,
        touch: Option<Touch<'_>>,
    ) -> Outcome {
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
        // What a text asks for is not looked into: what is not known may be what it permits.
        let is_open = |touch: Touch<'_>| {
            !touch.is_certain || matches!(touch.target, Some(Target::Unknown(_)) | None)
        };
        // Nor is what lies below a directory or is meant by a glob, one by one.
        let is_many = |touch: Touch<'_>| match touch.target {
            Some(Target::File { globs, tree, .. }) => *tree || !globs.is_empty(),
            _ => false,
        };
        outcome.may_forbid = self.text_forbids_by_effects
            && touch.is_some_and(|touch| is_open(touch) || is_many(touch));
        outcome.may_permit = self.text_asks_of_effects && touch.is_some_and(is_open);
        for id in response.diagnostics().reason() {
            let Some(policy) = self.named.get::<str>(id.as_ref()) else {
                continue;
            };
            match (&policy.open, policy.effect) {
                (Some(_), Effect::Permit) => outcome.may_permit = true,
                (Some(open), Effect::Forbid) => {
                    self.note_open(policy, open, arguments, touch, &mut outcome);
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

    /// Says what a prohibition depends on.
    fn note_open(
        &self,
        policy: &PolicyName,
        open: &Open,
        arguments: &Arguments,
        touch: Option<Touch<'_>>,
        outcome: &mut Outcome,
    ) {
        let unmeasured = open
            .arguments
            .iter()
            .filter(|name| arguments.unmeasured.contains(*name));
        outcome.failures.extend(unmeasured.map(|argument| {
            format!(
                "{}: the argument {argument:?} is no number, so whether it is within the bounds of this pattern is open",
                policy.name
            )
        }));
        let Some(touch) = touch else {
            return;
        };
        if let Some(reason) = self.lists.unresolved(&open.list) {
            outcome.open.insert(format!("{}: {reason}", policy.name));
        } else if outcome.failures.is_empty() {
            let reason = open_prohibition(touch);
            outcome.open.insert(format!("{}: {reason}", policy.name));
        }
    }
}
