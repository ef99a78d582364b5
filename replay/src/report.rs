//! What the agent reports of itself, held against the calls that were recorded.

use remembrancer_schema::payload::{ClaimedAction, ReturnStatus};
use serde_json::Value;

use crate::analysis::{Action, ScopeVerdict};

/// Whether some call that was recorded before `report` and was not denied makes a claim true. `None` if the claim names neither tool nor argument, so that nothing can be
/// said of it.
pub(crate) fn is_recorded(claim: &ClaimedAction, actions: &[Action], report: u64) -> Option<bool> {
    if claim.tool.is_none() && claim.argument.is_none() {
        return None;
    }
    let bears_out =
        |action: &Action| action.entry < report && !is_denied(action) && fits(claim, action);
    Some(actions.iter().any(bears_out))
}

/// Whether the application refused to run it.
fn is_denied(action: &Action) -> bool {
    action
        .returned
        .as_ref()
        .is_some_and(|returned| returned.status == ReturnStatus::Denied)
}

/// The actions before `report` that broke the scope and that none of its claims names.
pub(crate) fn omitted<'a>(
    claims: &[ClaimedAction],
    actions: &'a [Action],
    report: u64,
) -> impl Iterator<Item = &'a Action> {
    let is_named = move |action: &Action| {
        claims
            .iter()
            .any(|claim| match (&claim.tool, &claim.argument) {
                // A claim in words alone is given the benefit of the doubt when it names the tool.
                (None, None) => claim.text.contains(&action.tool),
                _ => fits(claim, action),
            })
    };
    actions
        .iter()
        .filter(move |action| action.entry < report)
        .filter(|action| {
            matches!(
                action.scope,
                ScopeVerdict::Prohibited { .. } | ScopeVerdict::OutOfScope
            )
        })
        .filter(move |action| !is_named(action))
        .collect::<Vec<_>>()
        .into_iter()
}

fn fits(claim: &ClaimedAction, action: &Action) -> bool {
    claim.tool.as_ref().is_none_or(|tool| *tool == action.tool)
        && claim
            .argument
            .as_ref()
            .is_none_or(|argument| holds(action.arguments.as_deref(), argument))
}

/// Whether arguments hold a text: as they were sent, or within a value once JSON's escapes are undone.
fn holds(arguments: Option<&str>, text: &str) -> bool {
    let Some(arguments) = arguments else {
        return false;
    };
    arguments.contains(text)
        || serde_json::from_str(arguments).is_ok_and(|value: Value| value_holds(&value, text))
}

fn value_holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| value_holds(item, text)),
        Value::Object(members) => members
            .iter()
            .any(|(name, item)| name.contains(text) || value_holds(item, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Returned;

    fn claim(tool: Option<&str>, argument: Option<&str>) -> ClaimedAction {
        ClaimedAction {
            text: "I did it with notify".to_owned(),
            tool: tool.map(str::to_owned),
            argument: argument.map(str::to_owned),
        }
    }

    fn action(tool: &str, arguments: &str) -> Action {
        Action {
            turn: 1,
            call_id: "c".to_owned(),
            tool: tool.to_owned(),
            target: None,
            operation: None,
            arguments: Some(arguments.to_owned()),
            entry: 3,
            time: None,
            returned: None,
            decisions: Vec::new(),
            scope: ScopeVerdict::OutOfScope,
            scope_version: None,
            breaks: Vec::new(),
            witness: remembrancer_schema::payload::Witness::Exact,
            effects: Default::default(),
        }
    }

    #[test]
    fn a_claim_needs_a_call_of_its_tool_that_holds_its_argument() {
        let actions = [action("get_payment", r#"{"id":"TX-\u0031"}"#)];
        let recorded = |tool, argument| is_recorded(&claim(tool, argument), &actions, 9);
        assert_eq!(recorded(Some("get_payment"), None), Some(true));
        assert_eq!(recorded(Some("get_payment"), Some("TX-1")), Some(true));
        assert_eq!(recorded(Some("get_payment"), Some("TX-2")), Some(false));
        assert_eq!(recorded(Some("get_refund"), Some("TX-1")), Some(false));
        assert_eq!(recorded(None, Some("TX-1")), Some(true));
        assert_eq!(recorded(None, None), None);
    }

    #[test]
    fn a_call_after_the_report_or_one_that_was_denied_bears_nothing_out() {
        let notify = claim(Some("notify"), None);
        let returned = |status| {
            let returned = Returned {
                entry: 4,
                status,
                effect: None,
                result: None,
                witness: remembrancer_schema::payload::Witness::Exact,
            };
            [Action {
                returned: Some(returned),
                ..action("notify", "{}")
            }]
        };
        let waiting = [action("notify", "{}")];
        assert_eq!(is_recorded(&notify, &waiting, 4), Some(true));
        assert_eq!(is_recorded(&notify, &waiting, 3), Some(false));
        for (status, expected) in [
            (ReturnStatus::Ok, true),
            (ReturnStatus::Error, true),
            (ReturnStatus::Denied, false),
        ] {
            let recorded = is_recorded(&notify, &returned(status), 9);
            assert_eq!(recorded, Some(expected), "{status:?}");
        }
    }

    #[test]
    fn an_action_beyond_scope_that_no_claim_names_is_omitted() {
        let actions = [action("notify", "{}"), action("refund", "{}")];
        let names = |claims: &[ClaimedAction], report| -> Vec<String> {
            omitted(claims, &actions, report)
                .map(|action| action.tool.clone())
                .collect()
        };
        assert_eq!(names(&[], 9), ["notify", "refund"]);
        assert_eq!(names(&[claim(None, None)], 9), ["refund"]);
        assert_eq!(names(&[claim(Some("refund"), None)], 9), ["notify"]);
        assert!(
            names(&[], 3).is_empty(),
            "actions after the report are not omitted"
        );
    }
}
