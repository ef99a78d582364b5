use proptest::prelude::*;
use remembrancer_schema::Payload;
use remembrancer_schema::payload::ActionPattern;

use super::*;

mod effects;
mod sentences;

fn scope(json: &str) -> ScopeDeclared {
    serde_json::from_str(json).expect("a scope")
}

fn prohibition(id: &str, actions: &str) -> ConstraintDeclared {
    let data =
        format!(r#"{{"id":"{id}","kind":"prohibition","text":"never","actions":{actions}}}"#);
    let kind = "constraint.declared".parse().expect("known");
    match Payload::parse(&kind, &data) {
        Ok(Payload::ConstraintDeclared(constraint)) => constraint,
        other => panic!("{other:?}"),
    }
}

fn call(tool: &str) -> ProposedAction<'_> {
    ProposedAction {
        tool,
        ..ProposedAction::default()
    }
}

fn prohibited(names: &[&str]) -> ScopeVerdict {
    ScopeVerdict::Prohibited {
        policies: names.iter().map(ToString::to_string).collect(),
    }
}

fn permitted(names: &[&str]) -> ScopeVerdict {
    ScopeVerdict::Permitted {
        policies: names.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_list_of_permissions_puts_everything_else_out_of_scope() {
    let scope = scope(
        r#"{"permitted":[{"tool":"get_*"},{"target":"notes"}],"prohibited":[{"tool":"get_secret"}]}"#,
    );
    let verdict = |action: ProposedAction<'_>| decide(Some(&scope), [], &action).verdict;
    assert_eq!(verdict(call("get_invoice")), permitted(&["permitted[0]"]));
    assert_eq!(verdict(call("get_secret")), prohibited(&["prohibited[0]"]));
    assert_eq!(verdict(call("forget_invoice")), ScopeVerdict::OutOfScope);
    let noted = ProposedAction {
        target: Some("notes"),
        ..call("get_note")
    };
    assert_eq!(verdict(noted), permitted(&["permitted[0]", "permitted[1]"]));
}

#[test]
fn without_permissions_everything_that_is_not_prohibited_is_in_scope() {
    let scope = scope(r#"{"prohibited":[{"operation":"DELETE"}]}"#);
    let delete = ProposedAction {
        operation: Some("DELETE"),
        ..call("x")
    };
    assert_eq!(
        decide(Some(&scope), [], &delete).verdict,
        prohibited(&["prohibited[0]"])
    );
    assert_eq!(decide(Some(&scope), [], &call("x")).verdict, permitted(&[]));
}

#[test]
fn target_and_operation_default_to_the_declared_tool() {
    let scope = scope(
        r#"{"tools":[{"tool":"contact","target":"comms","operation":"EXECUTE"},{"tool":"contact","target":"other"}],
            "permitted":[{"target":"billing"}]}"#,
    );
    let judgement = decide(Some(&scope), [], &call("contact"));
    assert_eq!(judgement.target.as_deref(), Some("comms"));
    assert_eq!(judgement.operation.as_deref(), Some("EXECUTE"));
    assert_eq!(judgement.verdict, ScopeVerdict::OutOfScope);
    let stated = ProposedAction {
        target: Some("billing"),
        ..call("contact")
    };
    assert_eq!(
        decide(Some(&scope), [], &stated).verdict,
        permitted(&["permitted[0]"])
    );
}

#[test]
fn a_prohibition_counts_without_a_scope_and_other_actions_stay_undeclared() {
    let constraint = prohibition(
        "no_refunds",
        r#"[{"tool":"issue_refund"},{"tool":"issue_*"}]"#,
    );
    let judgement = decide(None, [&constraint], &call("issue_refund"));
    assert_eq!(judgement.verdict, prohibited(&["no_refunds"]));
    assert_eq!(judgement.breaks, ["no_refunds"]);
    assert_eq!(
        decide(None, [&constraint], &call("look")).verdict,
        ScopeVerdict::Undeclared
    );
}

#[test]
fn a_scope_that_is_withdrawn_permits_and_prohibits_nothing() {
    let mut mandate = Mandate::default();
    mandate.declare_scope(&scope(r#"{"prohibited":[{"tool":"x"}]}"#));
    let before = mandate.judge(&call("x"));
    assert!(matches!(before.verdict, ScopeVerdict::Prohibited { .. }));
    mandate.declare_scope(&scope(r#"{"withdrawn":true,"prohibited":[{"tool":"x"}]}"#));
    let after = mandate.judge(&call("x"));
    assert_eq!(after.verdict, ScopeVerdict::Undeclared);
    assert_eq!(after.scope_version, Some(2));
}

#[test]
fn only_prohibitions_forbid_and_none_is_replaced_by_a_later_one_of_its_name() {
    let mut permission = prohibition("may", r#"[{"tool":"x"}]"#);
    permission.kind = ConstraintKind::Permission;
    assert_eq!(
        decide(None, [&permission], &call("x")).verdict,
        ScopeVerdict::Undeclared
    );
    let (strict, soft) = (
        prohibition("c", r#"[{"tool":"x"}]"#),
        prohibition("c", r#"[{"tool":"y"}]"#),
    );
    assert_eq!(
        decide(None, [&strict, &soft], &call("x")).verdict,
        prohibited(&["c"])
    );
}

#[test]
fn an_argument_that_cannot_be_compared_leaves_a_prohibition_open() {
    let scope = scope(
        r#"{"prohibited":[{"tool":"pay","arguments":[{"name":"amount","at_least":100}]},
                          {"tool":"read","arguments":[{"name":"path","like":"/etc/*"}]}]}"#,
    );
    let verdict = |tool: &str, arguments: &str| {
        decide(
            Some(&scope),
            [],
            &ProposedAction {
                arguments: Some(arguments),
                ..call(tool)
            },
        )
        .verdict
    };
    for broken in ["100", "100.5", "1e3", "1e30", "100.0"] {
        assert_eq!(
            verdict("pay", &format!(r#"{{"amount":{broken}}}"#)),
            prohibited(&["prohibited[0]"]),
            "{broken}"
        );
    }
    for open in [r#""150""#, r#""""#, "null", "true", "[150]", "{}"] {
        let arguments = format!(r#"{{"amount":{open}}}"#);
        match verdict("pay", &arguments) {
            ScopeVerdict::Unevaluated { reason } => assert!(
                reason.contains("\"amount\"") && reason.starts_with("prohibited[0]: "),
                "{reason}"
            ),
            other => panic!("{open}: {other:?}"),
        }
        assert_eq!(verdict("pray", &arguments), permitted(&[]));
    }
    for fine in [
        r#"{"amount":99}"#,
        r#"{"amount":99.5}"#,
        r#"{"amount":-1e30}"#,
        r#"{"other":"100"}"#,
        "{}",
        "[1]",
        "null",
    ] {
        assert_eq!(verdict("pay", fine), permitted(&[]), "{fine}");
    }
    assert_eq!(
        verdict("read", r#"{"path":"/etc/passwd"}"#),
        prohibited(&["prohibited[1]"])
    );
    assert_eq!(verdict("read", r#"{"path":7}"#), permitted(&[]));
}

#[test]
fn bounds_of_several_arguments_are_open_only_where_the_rest_holds() {
    let scope = scope(
        r#"{"prohibited":[{"tool":"pay","arguments":[{"name":"amount","at_least":100,"at_most":200},
                                                      {"name":"fee","at_most":5}]}]}"#,
    );
    let verdict = |arguments| {
        let action = ProposedAction {
            arguments: Some(arguments),
            ..call("pay")
        };
        decide(Some(&scope), [], &action).verdict
    };
    let both = r#"{"amount":200,"fee":4.5}"#;
    assert_eq!(verdict(both), prohibited(&["prohibited[0]"]));
    assert_eq!(verdict(r#"{"amount":200.5,"fee":1}"#), permitted(&[]));
    assert_eq!(verdict(r#"{"amount":"x","fee":6}"#), permitted(&[]));
    assert_eq!(verdict(r#"{"amount":"x"}"#), permitted(&[]));
    let open = verdict(r#"{"amount":"x","fee":1}"#);
    assert!(
        matches!(&open, ScopeVerdict::Unevaluated { reason }
            if reason.contains("\"amount\"") && !reason.contains("\"fee\"")),
        "{open:?}"
    );
}

#[test]
fn further_policies_are_evaluated_together_with_the_lists() {
    let scope = scope(
        r#"{"permitted":[{"tool":"a"}],
            "policy":"@id(\"late\") permit(principal == Agent::\"bot\", action == Action::\"call\", resource == Tool::\"b\"); forbid(principal, action, resource) when { context has target && context.target == \"vault\" };"}"#,
    );
    let bot = ProposedAction {
        agent: Some("bot"),
        ..call("b")
    };
    assert_eq!(decide(Some(&scope), [], &bot).verdict, permitted(&["late"]));
    assert_eq!(
        decide(Some(&scope), [], &call("b")).verdict,
        ScopeVerdict::OutOfScope
    );
    let vault = ProposedAction {
        target: Some("vault"),
        ..call("a")
    };
    assert_eq!(
        decide(Some(&scope), [], &vault).verdict,
        prohibited(&["policy[1]"])
    );
}

#[test]
fn a_policy_that_names_a_prohibition_says_which_limit_it_guards() {
    let scope = scope(r#"{"policy":"@id(\"calm\") forbid(principal, action, resource);"}"#);
    let judgement = decide(Some(&scope), [&prohibition("calm", "[]")], &call("x"));
    assert_eq!(judgement.breaks, ["calm"]);
}

#[test]
fn what_cannot_be_evaluated_is_said_and_hides_no_prohibition() {
    let broken =
        scope(r#"{"permitted":[{}],"prohibited":[{"tool":"x"}],"policy":"permit(principal,"}"#);
    let ScopeVerdict::Unevaluated { reason } = decide(Some(&broken), [], &call("y")).verdict else {
        panic!("a policy that does not parse leaves the scope open");
    };
    assert!(reason.starts_with("policy: "), "{reason}");
    assert_eq!(
        decide(Some(&broken), [], &call("x")).verdict,
        prohibited(&["prohibited[0]"])
    );
    let failing = scope(
        r#"{"policy":"permit(principal, action, resource); forbid(principal, action, resource) when { context.absent == 1 };"}"#,
    );
    assert!(matches!(
        decide(Some(&failing), [], &call("x")).verdict,
        ScopeVerdict::Unevaluated { .. }
    ));
}

#[test]
fn a_tool_is_undeclared_only_where_tools_are_declared() {
    let mut mandate = Mandate::default();
    assert!(!mandate.is_undeclared_tool("x"));
    mandate.declare_scope(&scope("{}"));
    assert!(!mandate.is_undeclared_tool("x"));
    mandate.declare_scope(&scope(r#"{"tools":[{"tool":"y"}]}"#));
    assert!(mandate.is_undeclared_tool("x"));
    assert!(!mandate.is_undeclared_tool("y"));
}

const HOSTILE: [&str; 12] = [
    "x\"}; permit(principal, action, resource); //",
    "\"); permit(principal, action, resource); @id(\"",
    "\\",
    "\\*",
    "a\"b",
    "line\nbreak",
    "\u{0}",
    "\u{202e}gnp",
    "?principal",
    "${x}",
    "__entity",
    "'; DROP TABLE entries; --",
];

/// Nothing that a pattern holds can end a policy: a hostile text matches itself and nothing else.
#[test]
fn hostile_texts_in_patterns_match_only_themselves() {
    for text in HOSTILE {
        let literal = text.replace('*', "");
        let pattern = ActionPattern {
            tool: Some(literal.clone()),
            target: Some(literal.clone()),
            operation: Some(literal.clone()),
            arguments: vec![remembrancer_schema::payload::ArgumentCondition {
                name: literal.clone(),
                like: Some(literal.clone()),
                ..Default::default()
            }],
            ..ActionPattern::default()
        };
        let scope = ScopeDeclared {
            permitted: vec![pattern],
            ..ScopeDeclared::default()
        };
        let arguments = serde_json::json!({ literal.clone(): literal.clone() }).to_string();
        let same = ProposedAction {
            agent: Some(text),
            tool: &literal,
            target: Some(&literal),
            operation: Some(&literal),
            arguments: Some(&arguments),
        };
        assert_eq!(
            decide(Some(&scope), [], &same).verdict,
            permitted(&["permitted[0]"]),
            "{text:?}"
        );
        for other in ["x", "", "permit", "ab"] {
            let other = ProposedAction {
                tool: other,
                ..same
            };
            assert_eq!(
                decide(Some(&scope), [], &other).verdict,
                ScopeVerdict::OutOfScope,
                "{text:?}"
            );
        }
    }
}

/// The plain meaning of a glob, by trying every split.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|text| {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| glob(rest, &text[at..]))
        }),
    }
}

proptest! {
    #[test]
    fn a_glob_means_what_it_says(pattern in "[ab*\"\\\\]{0,6}", tool in "[ab*\"\\\\]{0,6}") {
        let scope = ScopeDeclared {
            permitted: vec![ActionPattern { tool: Some(pattern.clone()), ..ActionPattern::default() }],
            ..ScopeDeclared::default()
        };
        let is_permitted = decide(Some(&scope), [], &call(&tool)).verdict == permitted(&["permitted[0]"]);
        prop_assert_eq!(is_permitted, glob(&pattern, &tool));
    }

    #[test]
    fn any_text_in_a_scope_is_answered(text in ".{0,40}", policy in ".{0,80}") {
        let pattern = ActionPattern { tool: Some(text.clone()), target: Some(text.clone()), ..ActionPattern::default() };
        let scope = ScopeDeclared { prohibited: vec![pattern], policy: Some(policy), ..ScopeDeclared::default() };
        let action = ProposedAction { agent: Some(&text), target: Some(&text), arguments: Some(&text), ..call(&text) };
        prop_assert_eq!(decide(Some(&scope), [], &action).verdict, prohibited(&["prohibited[0]"]));
    }
}
