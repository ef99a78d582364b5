use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ConstraintKind, Fate, MutationKind, PartKind, PartOrigin, Witness,
};
use serde_json::json;

use super::action::excerpt;
use super::*;
use crate::analysis::{
    Action, Aftermath, Constraint, Content, ContextPart, Controls, EmptiedSummary, Evidence,
    Finding, FoundPlaces, Mutation, Overview, Presence, ScopeVerdict,
};

fn presence_of(state: PresenceState) -> Presence {
    Presence::of(Some(state))
}

fn turn(number: u32) -> Turn {
    Turn {
        number,
        entry: Some(u64::from(number)),
        time: None,
        parts: [0].into_iter().collect(),
        unknown: None,
        tokens: None,
        witness: Witness::Transcript,
        proof: None,
        response: None,
        mutation: None,
        incomplete: None,
    }
}

/// A limit that stands at turn 1 and has left at turn 2, where an action breaks it.
pub(crate) fn analysis() -> Analysis {
    let text = "Never contact customers.";
    let fate = |part, fate, appended| PartFate {
        part,
        before: Some(0),
        after: None,
        fate,
        replaced_by: None,
        appended,
    };
    let present = Presence {
        evidence: FoundPlaces::new(
            6,
            [Evidence {
                state: PresenceState::Verbatim,
                position: 0,
                part: 0,
                range: Some((6, 23)),
                tokens_to_part_end: 6,
                tokens_behind: 1,
                note: Some("word for word".to_owned()),
                alteration: None,
            }],
        ),
        ..presence_of(PresenceState::Verbatim)
    };
    let gone = Presence {
        last_present: Some(1),
        left_with: Some(0),
        ..presence_of(PresenceState::NoTrace)
    };
    let action = |turn, call_id: &str| Action {
        turn,
        call_id: call_id.to_owned(),
        tool: "contact_customer".to_owned(),
        target: None,
        operation: None,
        arguments: None,
        entry: 9,
        time: None,
        returned: None,
        decisions: Vec::new(),
        scope: ScopeVerdict::Undeclared,
        scope_version: None,
        breaks: vec![0],
        witness: remembrancer_schema::payload::Witness::Exact,
        effects: Default::default(),
    };
    Analysis {
        overview: Overview {
            session: "s-1".to_owned(),
            ..Overview::default()
        },
        constraints: vec![Constraint {
            id: "contact".to_owned(),
            kind: ConstraintKind::Prohibition,
            text: "contact customers".to_owned(),
            entry: 1,
            from_turn: Some(1),
            stated_by: None,
            matcher: String::new(),
            inferred: false,
            witness: remembrancer_schema::payload::Witness::Exact,
        }],
        contents: vec![Content {
            hash: ContentHash::of(text.as_bytes()),
            bytes: None,
            text: Some(text.into()),
            absence: None,
        }],
        parts: vec![ContextPart {
            content: 0,
            kind: PartKind::User,
            origin: PartOrigin::User,
            entry: 4,
            first_turn: 1,
            message: None,
            name: None,
            call_id: None,
            tool: None,
            stub: false,
            sources: Vec::new(),
            estimated_tokens: 6,
        }],
        turns: vec![turn(1), turn(2)],
        mutations: vec![Mutation {
            turn: 2,
            previous_turn: Some(1),
            kind: MutationKind::Truncation,
            declared: None,
            fates: vec![fate(0, Fate::Dropped, false), fate(0, Fate::Injected, true)],
            disagreements: Vec::new(),
            budget: Budget::default(),
            aftermath: Aftermath::default(),
            clearing: None,
        }],
        actions: vec![action(1, "a"), action(2, "b"), action(7, "c")],
        presence: vec![vec![present], vec![gone]],
        controls: Controls {
            emptied: vec![EmptiedSummary {
                mutation: 0,
                turn: 2,
                summaries: vec![0],
                absent: vec![0],
                says_nothing: true,
                ..EmptiedSummary::default()
            }],
            ..Controls::default()
        },
        attributions: Vec::new(),
        findings: vec![Finding {
            kind: FindingKind::ConstraintLeft,
            severity: Severity::Warning,
            turn: Some(2),
            call_id: None,
            constraint: Some("contact".to_owned()),
            mutation: Some(0),
            entry: None,
            message: "left".to_owned(),
        }],
        summary: Summary {
            actions_without_trace: 1,
            prohibited_without_trace: 1,
            longest_gap_turns: 1,
        },
    }
}

#[test]
fn presence_names_states_by_id_and_evidence_at_actions() {
    let shown = serde_json::to_value(presence(&analysis())).expect("a view is JSON");
    assert_eq!(shown["session"], "s-1");
    assert_eq!(
        shown["constraints"],
        json!([{"id": "contact", "kind": "prohibition", "text": "contact customers", "witness": "exact"}])
    );
    assert_eq!(
        shown["turns"][1],
        json!({"turn": 2, "witness": "transcript", "states": {"contact": "no_trace"}})
    );
    let first = &shown["actions"][0]["states"]["contact"];
    assert_eq!(first["state"], "verbatim");
    assert_eq!(
        first["evidence"][0],
        json!({"state": "verbatim", "entry": 4, "turn": 1, "position": 0, "kind": "user", "origin": "user", "range": [6, 23],
            "excerpt": "Never contact customers.", "tokens_from_end": 1, "note": "word for word"})
    );
    let second = &shown["actions"][1]["states"]["contact"];
    assert_eq!(
        second["left_with"],
        json!({"mutation": 0, "turn": 2, "kind": "truncation"})
    );
    assert_eq!(
        (&second["last_present"], &second["evidence"]),
        (&json!(1), &json!([]))
    );
    assert_eq!(shown["actions"][2]["states"]["contact"]["state"], "unknown");
    assert_eq!(
        shown["controls"]["emptied"][0]["absent"],
        json!(["contact"])
    );
    assert_eq!(shown["controls"]["never_stated_holds"], true);
    assert_eq!(
        shown["summary"],
        json!({"actions_without_trace": 1, "prohibited_without_trace": 1, "longest_gap_turns": 1})
    );
}

#[test]
fn mutations_count_and_list_fates_and_findings_say_what_they_are_about() {
    let shown = serde_json::to_value(mutations(&analysis())).expect("a view is JSON");
    assert_eq!(
        (&shown[0]["turn"], &shown[0]["kind"]),
        (&json!(2), &json!("truncation"))
    );
    assert_eq!(shown[0]["counts"], json!({"dropped": 1}));
    assert_eq!(shown[0]["fates"].as_array().map(Vec::len), Some(2));
    assert_eq!(shown[0]["left"], json!(["contact"]));
    assert_eq!(shown[0]["aftermath"]["orphan_count"], 0);
    assert_eq!(
        shown[0]["emptied_summary"],
        json!({"mutation": 0, "turn": 2, "says_nothing": true, "changed": [], "supplied": [], "elsewhere": [],
            "absent": ["contact"],
            "result": "with the summary emptied no result changes at turn 2: the check says nothing about the summary \
                       (1 are not present either way)"})
    );
    let shown = serde_json::to_value(findings(&analysis())).expect("a view is JSON");
    assert_eq!(
        shown,
        json!([{"kind": "constraint.left", "severity": "warning", "turn": 2, "constraint": "contact", "mutation": 0,
            "entry": null, "context_witness": "transcript", "message": "left"}])
    );
}

#[test]
fn excerpts_are_short_and_cut_between_characters() {
    let text = format!("{}contact customers{}", "ä".repeat(300), "ö".repeat(300));
    let start = 600;
    let cut = excerpt(&text, (start, start + 17)).expect("the range is inside");
    assert_eq!(cut.chars().count(), 200);
    assert!(cut.contains("contact customers"));
    assert_eq!(excerpt("ä", (1, 2)), None);
    assert_eq!(excerpt("short", (0, 5)).as_deref(), Some("short"));
}

#[test]
fn what_a_record_rests_on_is_its_own_witness_or_else_its_sessions() {
    use crate::record::fixture::SessionFixture;
    let told = |started: &str| {
        let record = SessionFixture::new()
            .event("session.started", started)
            .event("intent.declared", r#"{"objective":"o","witness":"claimed"}"#)
            .event("scope.declared", r#"{"permitted":[{"tool":"t"}]}"#)
            .event("constraint.declared", r#"{"id":"c","kind":"fact","text":"blue doors"}"#)
            .event("constraint.declared", r#"{"id":"c","kind":"fact","text":"blue doors","witness":"exact"}"#)
            .event("context.captured", r#"{"turn":1,"witness":"exact","parts":[{"kind":"user","text":"a"},{"kind":"user","text":"b"}]}"#)
            .event("decision.recorded", r#"{"decider":"g","call_id":"c1"}"#)
            .event("tool.called", r#"{"turn":1,"call_id":"c1","tool":"t","arguments":{}}"#)
            .event("context.mutated", r#"{"turn":2,"kind":"truncation"}"#)
            .event("context.captured", r#"{"turn":2,"parts":[{"kind":"user","text":"b"}]}"#)
            .event("score.assigned", r#"{"criterion":"k","value":1.0,"witness":"telemetry"}"#)
            .record();
        crate::analyse(&record)
    };
    let analysis = told(r#"{"witness":"hook"}"#);
    let overview = &analysis.overview;
    assert_eq!(overview.intents[0].witness, Witness::Claimed);
    assert_eq!(overview.scopes[0].witness, Witness::Hook);
    assert_eq!(overview.scores[0].witness, Witness::Telemetry);
    assert_eq!(analysis.constraints[0].witness, Witness::Hook);
    assert_eq!(analysis.actions[0].decisions[0].witness, Witness::Hook);
    // The same words from another witness are the same declaration, and no second one.
    assert!(
        !analysis
            .findings
            .iter()
            .any(|one| one.message.contains("second time")),
        "{:?}",
        analysis.findings
    );
    let shown = serde_json::to_value(mutations(&analysis)).expect("a view is JSON");
    assert_eq!(shown[0]["declared"]["witness"], "hook");
    assert_eq!(
        (&shown[0]["previous_witness"], &shown[0]["witness"]),
        (&json!("exact"), &json!("hook"))
    );
    assert_eq!(
        analysis.witness_across(&analysis.mutations[0]),
        Some(Witness::Hook)
    );
    let shown = serde_json::to_value(presence(&analysis)).expect("a view is JSON");
    let action = &shown["actions"][0];
    assert_eq!(
        (&action["witness"], &action["action_witness"]),
        (&json!("exact"), &json!("hook"))
    );
    // Without a word from anybody, it is the application's.
    assert_eq!(told("{}").constraints[0].witness, Witness::Claimed);
}
