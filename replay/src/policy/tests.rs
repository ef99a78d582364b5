use super::*;

#[test]
fn a_policy_text_is_bounded_before_it_is_parsed() {
    let deep = format!(
        "permit(principal, action, resource) when {{ {}true{} }};",
        "(".repeat(40),
        ")".repeat(40)
    );
    assert!(
        compile_text(&deep)
            .expect_err("too deep")
            .contains("nested")
    );
    let long = " ".repeat(POLICY_BYTES_MAX + 1);
    assert!(compile_text(&long).expect_err("too long").contains("bytes"));
    let template = "permit(principal == ?principal, action, resource);";
    assert!(
        compile_text(template)
            .expect_err("a template")
            .contains("template")
    );
    assert!(compile_text("permit(").is_err());
}

const CHAINS: [(&str, &str); 11] = [
    ("true && ", "true"),
    ("true || ", "true"),
    ("1 + ", "1 == 2"),
    ("context.a == 1 || context.", "a"),
    ("if true then true else ", "true"),
    ("!", "true"),
    ("- ", "1 == 2"),
    ("1 < ", "2"),
    ("context has a && ", "true"),
    ("\"a;b\" == \"\" && ", "true"),
    ("true // ;\n&& ", "true"),
];

/// Chains nest without brackets; they must end in a policy or an error, never in an exhausted stack.
#[test]
fn the_longest_chains_that_are_parsed_do_not_exhaust_the_stack() {
    let members = ("context", ".a".repeat(230), " == 1");
    let bodies = CHAINS
        .iter()
        .map(|(piece, end)| {
            let count = (POLICY_TOKENS_MAX - 30) / Shape::of(piece).most_tokens;
            piece.repeat(count) + end
        })
        .chain([format!("{}{}{}", members.0, members.1, members.2)]);
    for body in bodies {
        let start: String = body.chars().take(30).collect();
        let text = format!("permit(principal, action, resource) when {{ {body} }};");
        assert!(Shape::of(&text).most_tokens <= POLICY_TOKENS_MAX, "{start}");
        match compile_text(&text) {
            Ok(policies) => assert_eq!(policies.len(), 1, "{start}"),
            Err(reason) => assert!(!reason.contains("words and signs"), "{start}: {reason}"),
        }
    }
    let clauses = "when { true } ".repeat((POLICY_TOKENS_MAX - 30) / 4);
    let text = format!("permit(principal, action, resource) {clauses};");
    assert!(compile_text(&text).is_ok_and(|set| set.len() == 1));
}

#[test]
fn longer_chains_are_refused_whatever_hides_in_strings_and_comments() {
    for (piece, end) in CHAINS {
        let body = piece.repeat(POLICY_TOKENS_MAX) + end;
        let error = compile_text(&format!(
            "permit(principal, action, resource) when {{ {body} }};"
        ))
        .expect_err("a chain that is too long");
        assert!(error.contains("words and signs"), "{error}");
    }
    let many = "permit(principal, action, resource);".repeat(500);
    assert_eq!(compile_text(&many).map(|set| set.len()), Ok(500));
}

#[test]
fn policies_keep_the_order_of_their_text() {
    let text: String = (0..12)
        .map(|at| format!("@id(\"p{at}\") permit(principal, action, resource);\n"))
        .collect();
    let names: Vec<String> = compile_text(&text)
        .expect("valid")
        .iter()
        .map(|policy| policy.annotation("id").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        names,
        (0..12).map(|at| format!("p{at}")).collect::<Vec<_>>()
    );
}

#[test]
fn patterns_are_bounded() {
    let long = ActionPattern {
        tool: Some("x".repeat(PATTERN_BYTES_MAX + 1)),
        ..ActionPattern::default()
    };
    assert!(compile_pattern(Effect::Permit, "a", "a", &long).is_err());
    let many = ActionPattern {
        arguments: vec![ArgumentCondition::default(); ARGUMENT_CONDITIONS_MAX + 1],
        ..ActionPattern::default()
    };
    assert!(compile_pattern(Effect::Permit, "a", "a", &many).is_err());
}
