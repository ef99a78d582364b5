//! Action patterns and policy texts as Cedar policies.

use cedar_policy::{Effect, Policy, PolicyId, PolicySet};
use remembrancer_schema::payload::{ActionPattern, ArgumentCondition};
use serde_json::{Value, json};

/// Longest text of one field of a pattern, in bytes: matching costs its length times that of the text it is matched with.
const PATTERN_BYTES_MAX: usize = 512;
/// Most argument conditions of one pattern.
const ARGUMENT_CONDITIONS_MAX: usize = 32;
/// Longest policy text, in bytes.
const POLICY_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of brackets in a policy text. Cedar's parser recurses with them.
const POLICY_DEPTH_MAX: usize = 32;
/// Most words and signs of one policy in a policy text. Cedar recurses along chains such as `a && b && c` too, and an
/// exhausted stack would end the process.
const POLICY_TOKENS_MAX: usize = 512;

/// Most effects and paths of one pattern.
const EFFECTS_AND_PATHS_MAX: usize = 64;

/// What is done with what is not known: an argument that is no number, an effect that an action may have, a file that it may
/// touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unmeasured {
    /// It fulfils nothing.
    Breaks,
    /// It leaves the pattern open, and one thing at least is left open.
    LeavesOpen,
}

/// Compiles an action pattern to a policy with the annotation `@id(name)`.
pub(crate) fn compile_pattern(
    effect: Effect,
    id: &str,
    name: &str,
    pattern: &ActionPattern,
) -> Result<Policy, String> {
    compile(effect, id, name, pattern, Unmeasured::Breaks)
}

/// Compiles the question whether a pattern would hold if only what is not known were so: each argument that is bounded and no
/// number within its bounds, each effect that an action may have one that it has, each file that it may touch one that is meant.
/// `None` for a pattern that asks for none of these.
pub(crate) fn compile_open(
    effect: Effect,
    id: &str,
    name: &str,
    pattern: &ActionPattern,
) -> Result<Option<Policy>, String> {
    let has_bounds = bounded(pattern).next().is_some() && effect == Effect::Forbid;
    if !has_bounds && !asks_of_effects(pattern) {
        return Ok(None);
    }
    compile(effect, id, name, pattern, Unmeasured::LeavesOpen).map(Some)
}

/// Whether a pattern asks what an action touches.
pub(crate) fn asks_of_effects(pattern: &ActionPattern) -> bool {
    !pattern.effects.is_empty() || !pattern.paths.is_empty()
}

/// The arguments that a pattern sets bounds for.
pub(crate) fn bounded(pattern: &ActionPattern) -> impl Iterator<Item = &str> {
    let conditions = pattern.arguments.iter();
    conditions
        .filter(|condition| condition.at_most.is_some() || condition.at_least.is_some())
        .map(|condition| condition.name.as_str())
}

fn compile(
    effect: Effect,
    id: &str,
    name: &str,
    pattern: &ActionPattern,
    unmeasured: Unmeasured,
) -> Result<Policy, String> {
    if pattern.arguments.len() > ARGUMENT_CONDITIONS_MAX {
        return Err(format!(
            "the pattern has {} argument conditions; at most {ARGUMENT_CONDITIONS_MAX} are allowed",
            pattern.arguments.len()
        ));
    }
    let context = json!({"Var": "context"});
    let mut conditions = Vec::new();
    if let Some(tool) = &pattern.tool {
        conditions.push(like(member(&context, "tool"), tool)?);
    }
    if let Some(target) = &pattern.target {
        conditions.push(has(&context, "target"));
        conditions.push(like(member(&context, "target"), target)?);
    }
    if let Some(operation) = &pattern.operation {
        check_length(operation)?;
        conditions.push(has(&context, "operation"));
        conditions.push(binary(
            "==",
            member(&context, "operation"),
            json!({"Value": operation}),
        ));
    }
    for condition in &pattern.arguments {
        conditions.extend(argument_conditions(&context, condition, unmeasured)?);
    }
    conditions.extend(touch_conditions(effect, id, pattern, unmeasured)?);
    if unmeasured == Unmeasured::LeavesOpen && effect == Effect::Forbid {
        let open = member(&context, "unmeasured");
        let bounds = bounded(pattern).map(|name| has(&open, name));
        let any = bounds.chain(open_touches(id, pattern));
        conditions.extend(any.reduce(|left, right| binary("||", left, right)));
    }
    let anything = json!({"op": "All"});
    let policy = json!({
        "effect": match effect {
            Effect::Permit => "permit",
            Effect::Forbid => "forbid",
        },
        "principal": anything,
        "action": anything,
        "resource": anything,
        "conditions": conditions
            .into_iter()
            .map(|body| json!({"kind": "when", "body": body}))
            .collect::<Vec<_>>(),
        "annotations": {"id": name},
    });
    Policy::from_json(Some(PolicyId::new(id)), policy).map_err(|error| error.to_string())
}

/// Reads a policy text. Templates are refused: nothing here fills their slots.
pub(crate) fn compile_text(text: &str) -> Result<Vec<Policy>, String> {
    if text.len() > POLICY_BYTES_MAX {
        return Err(format!(
            "the text has {} bytes; at most {POLICY_BYTES_MAX} are allowed",
            text.len()
        ));
    }
    let shape = Shape::of(text);
    if shape.deepest > POLICY_DEPTH_MAX {
        return Err(format!(
            "brackets are nested deeper than {POLICY_DEPTH_MAX} levels"
        ));
    }
    if shape.most_tokens > POLICY_TOKENS_MAX {
        return Err(format!(
            "a policy has more than {POLICY_TOKENS_MAX} words and signs; split it"
        ));
    }
    let set: PolicySet = text.parse().map_err(|error| format!("{error}"))?;
    if set.templates().next().is_some() {
        return Err("the text holds a template, which no link fills".to_owned());
    }
    let mut policies: Vec<Policy> = set.policies().cloned().collect();
    policies.sort_by_key(place_of);
    Ok(policies)
}

/// Position of a policy in the text that it was parsed from: the parser names them `policy0`, `policy1` …
fn place_of(policy: &Policy) -> (usize, String) {
    let id = policy.id().to_string();
    let number = id
        .strip_prefix("policy")
        .and_then(|number| number.parse().ok())
        .unwrap_or(usize::MAX);
    (number, id)
}

/// What bounds the recursion of Cedar's parser over a text.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    /// Depth of the deepest bracket.
    deepest: usize,
    /// Words and signs of the policy that has the most.
    most_tokens: usize,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self::default();
        let (mut depth, mut tokens, mut is_in_word) = (0usize, 0usize, false);
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            if !(byte.is_ascii_whitespace() || is_word && is_in_word) {
                tokens += 1;
            }
            is_in_word = is_word;
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => skip_string(&mut bytes),
                b'/' if bytes.peek() == Some(&b'/') => skip_comment(&mut bytes),
                _ => {}
            }
            shape.deepest = shape.deepest.max(depth);
            shape.most_tokens = shape.most_tokens.max(tokens);
            if byte == b';' {
                tokens = 0;
            }
        }
        shape
    }
}

fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

fn skip_comment(bytes: &mut impl Iterator<Item = u8>) {
    bytes.find(|byte| matches!(byte, b'\n' | b'\r'));
}

/// What a pattern asks of one effect on one target. The lists that the context holds name the patterns whose `paths` the target
/// lies in or meets, by their id without what marks an open one.
fn touch_conditions(
    effect: Effect,
    id: &str,
    pattern: &ActionPattern,
    unmeasured: Unmeasured,
) -> Result<Vec<Value>, String> {
    if !asks_of_effects(pattern) {
        return Ok(Vec::new());
    }
    let count = pattern.effects.len() + pattern.paths.len();
    if count > EFFECTS_AND_PATHS_MAX {
        return Err(format!(
            "the pattern has {count} effects and paths; at most {EFFECTS_AND_PATHS_MAX} are allowed"
        ));
    }
    pattern
        .paths
        .iter()
        .try_for_each(|path| check_length(path))?;
    let context = json!({"Var": "context"});
    let has_touch = has(&context, "effect");
    let mut conditions = Vec::new();
    if !pattern.effects.is_empty() {
        let names = pattern.effects.iter().map(|effect| effect.as_str());
        let names: Vec<Value> = names.map(|name| json!({"Value": name})).collect();
        let set = json!({"Set": names});
        conditions.push(binary("contains", set, member(&context, "effect")));
    }
    let is_listed = |list: &str| {
        let id = json!({"Value": list_of(id)});
        binary("contains", member(&context, list), id)
    };
    let has_paths = !pattern.paths.is_empty();
    match (effect, unmeasured) {
        (Effect::Permit, Unmeasured::Breaks) if has_paths => conditions.push(is_listed("inside")),
        (Effect::Permit, Unmeasured::LeavesOpen) if has_paths => {
            let may = is_listed("may_lie_inside");
            conditions.push(binary("||", is_listed("inside"), may));
        }
        (Effect::Permit, _) => {}
        (Effect::Forbid, Unmeasured::Breaks) => {
            conditions.push(member(&context, "certain"));
            conditions.extend(has_paths.then(|| is_listed("meets")));
        }
        (Effect::Forbid, Unmeasured::LeavesOpen) => {
            let either = || binary("||", is_listed("meets"), is_listed("may_meet"));
            conditions.extend(has_paths.then(either));
        }
    }
    Ok(match effect {
        // What touches nothing needs no effect permitted.
        Effect::Permit => {
            let not_has = json!({"!": {"arg": has_touch}});
            let needless = match unmeasured {
                Unmeasured::Breaks => not_has,
                // What an action may not even do needs no permission.
                Unmeasured::LeavesOpen => {
                    let is_uncertain = json!({"!": {"arg": member(&context, "certain")}});
                    binary("||", not_has, is_uncertain)
                }
            };
            let covered = conditions.into_iter();
            let covered = covered.map(|one| binary("||", needless.clone(), one));
            covered.collect()
        }
        Effect::Forbid => std::iter::once(has_touch).chain(conditions).collect(),
    })
}

/// What is open of one effect on one target, for a prohibition.
fn open_touches(id: &str, pattern: &ActionPattern) -> Vec<Value> {
    let context = json!({"Var": "context"});
    let has_touch = has(&context, "effect");
    if !asks_of_effects(pattern) {
        return Vec::new();
    }

    let is_listed = binary(
        "contains",
        member(&context, "may_meet"),
        json!({"Value": list_of(id)}),
    );
    let is_uncertain = json!({"!": {"arg": member(&context, "certain")}});
    let open = [is_uncertain, is_listed].map(|open| binary("&&", has_touch.clone(), open));
    open.into()
}

/// The list of paths that a policy of a pattern asks for.
fn list_of(id: &str) -> &str {
    id.strip_prefix("open/").unwrap_or(id)
}

fn argument_conditions(
    context: &Value,
    condition: &ArgumentCondition,
    unmeasured: Unmeasured,
) -> Result<Vec<Value>, String> {
    check_length(&condition.name)?;
    let of = |record: &str| member(&member(context, record), &condition.name);
    let mut conditions = vec![has(&member(context, "present"), &condition.name)];
    if let Some(pattern) = &condition.like {
        conditions.push(like(of("arguments"), pattern)?);
    }
    // A number is at most a whole one when the next whole number above it is, and likewise below.
    let at_most = condition
        .at_most
        .map(|bound| binary("<=", of("ceilings"), json!({"Value": bound})));
    let at_least = condition
        .at_least
        .map(|bound| binary(">=", of("floors"), json!({"Value": bound})));
    let bounds = at_most.into_iter().chain(at_least);
    conditions.extend(bounds.map(|bound| match unmeasured {
        Unmeasured::Breaks => bound,
        Unmeasured::LeavesOpen => {
            let open = has(&member(context, "unmeasured"), &condition.name);
            binary("||", open, bound)
        }
    }));
    Ok(conditions)
}

fn member(of: &Value, name: &str) -> Value {
    json!({".": {"left": of, "attr": name}})
}

fn has(of: &Value, name: &str) -> Value {
    json!({"has": {"left": of, "attr": name}})
}

fn binary(operator: &str, left: Value, right: Value) -> Value {
    json!({operator: {"left": left, "right": right}})
}

/// `*` stands for any run of characters, everything else for itself.
fn like(left: Value, pattern: &str) -> Result<Value, String> {
    check_length(pattern)?;
    let mut elements: Vec<Value> = Vec::new();
    for (at, literal) in pattern.split('*').enumerate() {
        // One wildcard does what a run of them does, without the work.
        if at > 0 && elements.last() != Some(&json!("Wildcard")) {
            elements.push(json!("Wildcard"));
        }
        if !literal.is_empty() {
            elements.push(json!({"Literal": literal}));
        }
    }
    Ok(json!({"like": {"left": left, "pattern": elements}}))
}

fn check_length(text: &str) -> Result<(), String> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "a field of the pattern has {} bytes; at most {PATTERN_BYTES_MAX} are allowed",
            text.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
