//! `/sessions/{number}/actions/{action}`: what was sent, what came back, and what stood in the context at that moment?

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Action, ScopeVerdict};
use remembrancer_replay::effect::{Known, Target};
use remembrancer_schema::payload::{Effect, Verdict, Witness};

use crate::error::{Ids, PageError};
use crate::links::Links;
use crate::markup::Markup;
use crate::matrix::{Flag, flag};
use crate::page::{Frame, Page, Shell, count, time};
use crate::standing::{Standing, standing};
use crate::state::View;
use crate::text::{self, Block, PART_BYTES_FIRST, line};

#[derive(Template)]
#[template(path = "action.html")]
pub(crate) struct ActionView {
    shell: Shell,
    frame: Frame,
    number: usize,
    of: usize,
    tool: Markup,
    turn: u32,
    turn_link: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    flag: Option<Flag>,
    facts: Vec<(&'static str, Markup)>,
    arguments: Option<Block>,
    returned: Option<ReturnedView>,
    decisions: Vec<DecisionView>,
    scope: &'static str,
    scope_class: &'static str,
    policies: Vec<Markup>,
    scope_reason: Option<Markup>,
    scope_version: Option<ScopeVersionView>,
    touched: Vec<TouchedView>,
    unknown_because: Vec<Markup>,
    broken: Vec<(Markup, String)>,
    standing: Standing,
}

/// Which declaration of the scope was in force.
struct ScopeVersionView {
    version: u32,
    of: usize,
    entry: Markup,
}

/// One effect and what it is on.
struct TouchedView {
    effect: &'static str,
    known: &'static str,
    class: &'static str,
    targets: Vec<(Markup, &'static str)>,
}

struct ReturnedView {
    status: &'static str,
    /// How it became known.
    witness: &'static str,
    effect: Option<Markup>,
    result: Option<Block>,
}

struct DecisionView {
    decider: Markup,
    verdict: &'static str,
    enforced: bool,
    witness: &'static str,
    flags: Vec<Markup>,
    violations: Vec<Markup>,
    reason: Option<Block>,
}

pub(crate) async fn call(
    view: View,
    Ids((number, action)): Ids<(i64, usize)>,
) -> Result<Page<ActionView>, PageError> {
    let session = view.session(number).await?;
    let analysis = &session.analysis;
    let links = Links::Viewer { session: number };
    let missing = || PageError::NotFound("action");
    let index = action.checked_sub(1).ok_or_else(missing)?;
    let action = analysis.actions.get(index).ok_or_else(missing)?;
    let (scope, scope_class, policies, scope_reason) = scope(&action.scope);
    Ok(Page(ActionView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "replay"),
        number: index + 1,
        of: analysis.actions.len(),
        tool: line(&action.tool, 120),
        turn: action.turn,
        turn_link: analysis
            .turn_position(action.turn)
            .and_then(|_| links.turn(action.turn)),
        previous: index.checked_sub(1).map(|index| links.action(index)),
        next: (index + 1 < analysis.actions.len()).then(|| links.action(index + 1)),
        flag: flag(analysis, index),
        facts: facts(analysis, action),
        arguments: action
            .arguments
            .as_deref()
            .map(|json| text::block(json, &[], PART_BYTES_FIRST)),
        returned: action.returned.as_ref().map(|returned| ReturnedView {
            status: returned.status.as_str(),
            witness: returned.witness.as_str(),
            effect: returned.effect.as_deref().map(|effect| line(effect, 120)),
            result: returned
                .result
                .as_deref()
                .map(|json| text::block(json, &[], PART_BYTES_FIRST)),
        }),
        decisions: decisions(action),
        scope,
        scope_class,
        policies,
        scope_reason,
        scope_version: scope_version(analysis, action),
        touched: touched(action),
        unknown_because: action
            .effects
            .reasons()
            .iter()
            .map(|reason| line(reason, 200))
            .collect(),
        broken: action
            .breaks
            .iter()
            .filter_map(|&at| {
                Some((
                    line(&analysis.constraints.get(at)?.text, 300),
                    links.constraint(at),
                ))
            })
            .collect(),
        standing: standing(analysis, action.turn, &action.breaks, |constraint| {
            links.evidence(index, constraint, false)
        }),
    }))
}

fn facts(analysis: &Analysis, action: &Action) -> Vec<(&'static str, Markup)> {
    let mut facts = Vec::new();
    if let Some(target) = &action.target {
        facts.push(("Acts on", line(target, 120)));
    }
    if let Some(operation) = &action.operation {
        facts.push(("Operation", line(operation, 80)));
    }
    if let Some(recorded) = &action.time {
        facts.push(("Sent", time(recorded)));
    }
    facts.push(("Action witness", line(action.witness.as_str(), 30)));
    let context = analysis.witness_of(action.turn);
    let context = context.map_or("unknown", Witness::as_str);
    facts.push(("Context witness", line(context, 30)));
    facts.push(("Call id", line(&action.call_id, 128)));
    facts.push(("Ledger entry", line(&count(action.entry), 30)));
    facts
}

fn scope_version(analysis: &Analysis, action: &Action) -> Option<ScopeVersionView> {
    let version = action.scope_version?;
    let scopes = &analysis.overview.scopes;
    let declared = scopes.iter().find(|scope| scope.version == version)?;
    Some(ScopeVersionView {
        version,
        of: scopes.len(),
        entry: line(&count(declared.entry), 30),
    })
}

/// Every effect, so that one that the action is known not to have is told as well.
fn touched(action: &Action) -> Vec<TouchedView> {
    let of = |effect: Effect| {
        let (known, class) = match action.effects.of(effect) {
            Known::True if action.effects.may_touch_more(effect) => {
                ("yes, and perhaps on more", "warning-text")
            }
            Known::True => ("yes", "nowrap"),
            Known::False => ("no", "meta"),
            Known::Unknown => ("unknown", "warning-text"),
        };
        let targets = action.effects.targets(effect).take(64).map(|target| {
            let note = match target {
                Target::File { tree: true, .. } => "with everything below",
                Target::File { .. } => "",
                Target::Elsewhere(_) => "no file of this machine",
                Target::Unknown(_) => "unknown which, as it stands in the call",
            };
            (line(&target.words(), 200), note)
        });
        TouchedView {
            effect: effect.as_str(),
            known,
            class,
            targets: targets.collect(),
        }
    };
    Effect::ALL.into_iter().map(of).collect()
}

fn decisions(action: &Action) -> Vec<DecisionView> {
    let lines = |texts: &[String]| texts.iter().take(20).map(|text| line(text, 160)).collect();
    action
        .decisions
        .iter()
        .take(50)
        .map(|decision| DecisionView {
            decider: line(&decision.decider, 80),
            verdict: match decision.verdict {
                Some(Verdict::Allow) => "allow",
                Some(Verdict::Deny) => "deny",
                None => "no decision, advice only",
            },
            enforced: decision.enforced,
            witness: decision.witness.as_str(),
            flags: lines(&decision.flags),
            violations: lines(&decision.violations),
            reason: decision
                .reason
                .as_deref()
                .map(|reason| text::block(reason, &[], 4096)),
        })
        .collect()
}

type ScopeWords = (&'static str, &'static str, Vec<Markup>, Option<Markup>);

fn scope(verdict: &ScopeVerdict) -> ScopeWords {
    let lines = |policies: &[String]| {
        policies
            .iter()
            .take(50)
            .map(|policy| line(policy, 200))
            .collect()
    };
    match verdict {
        ScopeVerdict::Undeclared => (
            "No scope had been declared when it was sent.",
            "quiet",
            Vec::new(),
            None,
        ),
        ScopeVerdict::Permitted { policies } => (
            "The declared scope permits it.",
            "sound",
            lines(policies),
            None,
        ),
        ScopeVerdict::OutOfScope => (
            "Nothing in the declared scope permits it.",
            "alarm",
            Vec::new(),
            None,
        ),
        ScopeVerdict::Prohibited { policies } => (
            "The declared scope prohibits it.",
            "alarm",
            lines(policies),
            None,
        ),
        ScopeVerdict::Unevaluated { reason } => (
            "The scope could not be evaluated for it.",
            "warning",
            Vec::new(),
            Some(line(reason, 300)),
        ),
    }
}
