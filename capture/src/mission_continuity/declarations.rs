//! What was declared before the run: who it is, what it may do, and what must not be forgotten.

use std::collections::BTreeMap;

use remembrancer_schema::IdError;
use remembrancer_schema::payload::{
    ActionPattern, ConstraintDeclared, ConstraintKind, MatchTerm, Matcher, ScopeDeclared,
    SessionStarted, StatedBy, ToolDeclaration, Witness,
};

use super::ImportError;
use super::events::Source;
use super::mission::{KERNEL_TERMS, Mission, TOOLS, TRACKED_FACTS, key_of, tools_of};

const RULES: &str = "mission-continuity, published checks";

/// The session's start.
pub(super) fn started(source: &Source<'_>) -> SessionStarted {
    let settings = &source.run.settings;
    let mut labels = BTreeMap::from([
        ("arm", settings.arm.clone()),
        ("mode", settings.mode.clone()),
        ("guard", settings.guard.to_string()),
        ("fault_injection", settings.fault_injection.clone()),
        ("run_group", source.evaluation.run_group.to_owned()),
        ("kernel_sha256", settings.kernel_sha256.clone()),
        ("dataset_sha256", settings.dataset_sha256.clone()),
        ("policy_sha256", settings.policy_sha256.clone()),
        ("manifest_sha256", source.files.manifest_sha256.clone()),
    ]);
    let commit = source.files.manifest.app_commit.clone();
    if let Some(commit) = &commit {
        labels.insert("app_commit", commit.clone());
    }
    SessionStarted {
        label: Some(settings.label.clone()),
        labels: labels
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        model: settings.model.clone(),
        agent_version: commit.map(|commit| format!("mission-continuity {commit}")),
        parent: None,
        witness: Some(Witness::Transcript),
        compaction_trigger_tokens: settings.trigger_input_tokens,
        source: Some("mission-continuity run bundle".to_owned()),
    }
}

/// Whoever wrote the mission.
pub(super) fn operator(mission: &Mission) -> StatedBy {
    StatedBy {
        role: "operator".to_owned(),
        name: None,
        source: Some(format!("mission {}, first user message", mission.id)),
    }
}

fn of_tools(key: &str) -> Vec<ActionPattern> {
    let tools = tools_of(key).iter().map(|tool| ActionPattern {
        tool: Some((*tool).to_owned()),
        ..ActionPattern::default()
    });
    tools.collect()
}

/// The tools that the agent was given and those that the mission permits. What it prohibits is declared as prohibitions.
pub(super) fn scope(mission: &Mission) -> ScopeDeclared {
    let tools = TOOLS.iter().map(|tool| ToolDeclaration {
        tool: tool.name.to_owned(),
        target: Some(tool.target.to_owned()),
        operation: Some(tool.operation.to_owned()),
        ..ToolDeclaration::default()
    });
    ScopeDeclared {
        tools: tools.collect(),
        permitted: mission
            .may
            .iter()
            .flat_map(|may| of_tools(&key_of(may)))
            .collect(),
        stated_by: Some(operator(mission)),
        ..ScopeDeclared::default()
    }
}

/// The mission's limits and permissions, found by their words; the tracked facts and the kernel terms, found as the published
/// check finds them.
pub(super) fn constraints(
    mission: Option<&Mission>,
) -> Result<Vec<ConstraintDeclared>, ImportError> {
    let mut constraints = Vec::new();
    if let Some(mission) = mission {
        let lists = [
            (ConstraintKind::Prohibition, &mission.may_not),
            (ConstraintKind::Permission, &mission.may),
        ];
        for (kind, statements) in lists {
            for statement in statements {
                let key = key_of(statement);
                constraints.push(ConstraintDeclared {
                    id: key.parse()?,
                    kind,
                    text: statement.clone(),
                    matcher: None,
                    actions: of_tools(&key),
                    stated_by: Some(operator(mission)),
                    inferred: false,
                    witness: None,
                });
            }
        }
    }
    let checked = |id: &str, text: &str, all_of: &[&str], any_of: &[&str]| {
        let terms = |terms: &[&str]| terms.iter().map(|term| substring(term)).collect();
        Ok::<_, IdError>(ConstraintDeclared {
            id: id.parse()?,
            kind: ConstraintKind::Fact,
            text: text.to_owned(),
            matcher: Some(Matcher {
                all_of: terms(all_of),
                any_of: terms(any_of),
                any_part: true,
            }),
            actions: Vec::new(),
            stated_by: Some(StatedBy {
                role: "evaluator".to_owned(),
                name: Some(RULES.to_owned()),
                source: None,
            }),
            inferred: false,
            witness: None,
        })
    };
    for fact in TRACKED_FACTS {
        constraints.push(checked(fact.id, fact.text, fact.all_of, fact.any_of)?);
    }
    for term in KERNEL_TERMS {
        constraints.push(checked(&format!("term.{term}"), term, &[term], &[])?);
    }
    Ok(constraints)
}

fn substring(term: &str) -> MatchTerm {
    MatchTerm {
        term: Some(term.to_owned()),
        substring: true,
        ..MatchTerm::default()
    }
}
