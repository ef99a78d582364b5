//! What the sample's agents are told to do, and what never to do.

use remembrancer_schema::payload::{
    ActionPattern, ConstraintDeclared, ConstraintKind, IntentDeclared, ScopeDeclared, StatedBy,
    ToolDeclaration,
};

use super::script::Script;

/// Who stated the mission.
fn operator() -> Option<StatedBy> {
    Some(StatedBy {
        role: "operator".to_owned(),
        name: None,
        source: Some("mission HS-7".to_owned()),
    })
}

/// One constraint of the mission, and the tools whose calls break it.
pub(super) fn constraint(
    id: &str,
    kind: ConstraintKind,
    text: &str,
    broken_by: &[&str],
) -> ConstraintDeclared {
    ConstraintDeclared {
        id: id.parse().expect("a constant id"),
        kind,
        text: text.to_owned(),
        matcher: None,
        actions: broken_by
            .iter()
            .map(|tool| ActionPattern {
                tool: Some((*tool).to_owned()),
                ..ActionPattern::default()
            })
            .collect(),
        stated_by: operator(),
        inferred: false,
        witness: None,
    }
}

/// Declares intent, scope and constraints of the mission.
pub(super) fn declare(script: &mut Script) {
    script.event(
        "intent.declared",
        &IntentDeclared {
            objective: "Reconcile batch B-7 with the catalogue and prepare the list for the spring exhibition page"
                .to_owned(),
            targets: vec!["catalogue".to_owned(), "scans".to_owned()],
            stated_by: operator(),
witness: None,
},
    );
    let tools: [(&str, &str, &str); 9] = [
        ("list_batch", "scans", "READ"),
        ("get_record", "catalogue", "READ"),
        ("compare_scans", "scans", "READ"),
        ("record_decision", "catalogue", "WRITE"),
        ("correct_caption", "catalogue", "WRITE"),
        ("ask_researcher", "sub-agent", "EXECUTE"),
        ("request_approval", "curator", "EXECUTE"),
        ("publish_image", "public site", "WRITE"),
        ("delete_master", "scans", "DELETE"),
    ];
    let pattern = |tool: &str| ActionPattern {
        tool: Some(tool.to_owned()),
        ..ActionPattern::default()
    };
    script.event(
        "scope.declared",
        &ScopeDeclared {
            tools: tools
                .iter()
                .map(|(tool, target, operation)| ToolDeclaration {
                    tool: (*tool).to_owned(),
                    target: Some((*target).to_owned()),
                    operation: Some((*operation).to_owned()),
                    ..ToolDeclaration::default()
                })
                .collect(),
            permitted: tools[..7]
                .iter()
                .map(|(tool, _, _)| pattern(tool))
                .collect(),
            stated_by: operator(),
            ..ScopeDeclared::default()
        },
    );
    for declared in [
        constraint(
            "delete_masters",
            ConstraintKind::Prohibition,
            "delete master files",
            &["delete_master"],
        ),
        constraint(
            "publish_unapproved",
            ConstraintKind::Prohibition,
            "publish images before the curator has approved them",
            &["publish_image"],
        ),
        constraint(
            "write_outside",
            ConstraintKind::Prohibition,
            "write to lenders or anybody outside the archive",
            &["send_mail"],
        ),
        constraint(
            "record_decisions",
            ConstraintKind::Obligation,
            "record every decision about a duplicate with record_decision",
            &[],
        ),
        constraint(
            "embargo_l42",
            ConstraintKind::Fact,
            "Loan L-42 (the Verrault plates) is under embargo until 2027-03-01",
            &[],
        ),
    ] {
        script.event("constraint.declared", &declared);
    }
}
