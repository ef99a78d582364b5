use super::*;
use crate::analysis::ScopeVerdict;
use crate::record::fixture::SessionFixture;

fn joined(fixture: SessionFixture) -> Actions {
    let record = fixture.record();
    let reading = Reading::of(&record);
    let (declared, _) = crate::constraint::declared(&reading, &[]);
    let constraints: Vec<Constraint> = declared.iter().map(crate::constraint::shown).collect();
    actions(&reading, &constraints)
}

fn call(id: &str, tool: &str) -> String {
    format!(r#"{{"turn":1,"call_id":"{id}","tool":"{tool}"}}"#)
}

#[test]
fn results_join_their_calls_in_order_and_others_are_told() {
    let joined = joined(
        SessionFixture::new()
            .event(
                "tool.returned",
                r#"{"call_id":"b","status":"ok","result":1}"#,
            )
            .event("tool.called", call("a", "x"))
            .event("tool.called", call("b", "x"))
            .event("tool.called", call("a", "y"))
            .event(
                "tool.returned",
                r#"{"call_id":"a","status":"ok","result":2,"effect":"none"}"#,
            )
            .event("tool.returned", r#"{"call_id":"a","status":"denied"}"#)
            .event("tool.returned", r#"{"call_id":"a","status":"error"}"#)
            .event("tool.returned", r#"{"call_id":"z","status":"ok"}"#),
    );
    let entries: Vec<_> = joined
        .actions
        .iter()
        .map(|action| action.returned.as_ref().map(|returned| returned.entry))
        .collect();
    assert_eq!(entries, [Some(4), Some(0), Some(5)]);
    assert_eq!(
        joined.orphan_results,
        [(6, "a".to_owned()), (7, "z".to_owned())]
    );
}

#[test]
fn decisions_join_the_call_that_they_are_about() {
    let joined = joined(
        SessionFixture::new()
            .event(
                "decision.recorded",
                r#"{"decider":"guard","call_id":"a","verdict":"deny","enforced":true}"#,
            )
            .event("tool.called", call("a", "x"))
            .event("tool.called", call("a", "y"))
            .event(
                "decision.recorded",
                r#"{"decider":"gov","call_id":"a","flags":["F"],"violations":["POL-1"]}"#,
            )
            .event("decision.recorded", r#"{"decider":"gov","call_id":"gone"}"#)
            .event("decision.recorded", r#"{"decider":"gov"}"#),
    );
    let deciders = |at: usize| -> Vec<&str> {
        joined.actions[at]
            .decisions
            .iter()
            .map(|decision| decision.decider.as_str())
            .collect()
    };
    assert_eq!(deciders(0), ["guard"]);
    assert_eq!(deciders(1), ["gov"]);
    assert_eq!(joined.actions[1].decisions[0].violations, ["POL-1"]);
    assert_eq!(joined.loose_decisions.len(), 2);
}

#[test]
fn an_action_is_judged_by_what_was_declared_before_it() {
    let joined = joined(
        SessionFixture::new()
            .event("tool.called", call("a", "pay"))
            .event(
                "constraint.declared",
                r#"{"id":"calm","kind":"prohibition","text":"never pay","actions":[{"tool":"pay"}]}"#,
            )
            .event("tool.called", call("b", "pay"))
            .event(
                "scope.declared",
                r#"{"tools":[{"tool":"look","target":"books","operation":"READ"}],"permitted":[{"target":"books"}]}"#,
            )
            .event("tool.called", call("c", "look"))
            .event("tool.called", call("d", "sing"))
            .event("scope.declared", "{}")
            .event("tool.called", call("e", "sing")),
    );
    let verdicts: Vec<_> = joined
        .actions
        .iter()
        .map(|action| action.scope.clone())
        .collect();
    assert_eq!(
        verdicts,
        [
            ScopeVerdict::Undeclared,
            ScopeVerdict::Prohibited {
                policies: vec!["calm".to_owned()]
            },
            ScopeVerdict::Permitted {
                policies: vec!["permitted[0]".to_owned()]
            },
            ScopeVerdict::OutOfScope,
            ScopeVerdict::Permitted {
                policies: Vec::new()
            },
        ]
    );
    assert_eq!(joined.actions[1].breaks, [0]);
    assert_eq!(joined.actions[2].target.as_deref(), Some("books"));
    assert_eq!(joined.undeclared_tool, [false, false, false, true, false]);
}
