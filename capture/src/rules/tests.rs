use super::*;

/// What a text proposes: `!` stands before a prohibition.
fn told(text: &str) -> Vec<String> {
    let words = |rule: ProposedRule| match rule.kind {
        ConstraintKind::Prohibition => format!("! {}", rule.text),
        _ => rule.text,
    };
    proposed(text).into_iter().map(words).collect()
}

#[test]
fn rules_are_found_in_the_way_that_people_write_them() {
    let cases: &[(&str, &[&str])] = &[
        (
            "please use the british spelling :)",
            &["use the british spelling :)"],
        ),
        (
            "- must be controlled by configuration, default to 'off'",
            &["must be controlled by configuration, default to 'off'"],
        ),
        (
            "A. just manual commit for now (Can we update the issue?)",
            &["just manual commit for now"],
        ),
        ("A. is fine, ensure we log", &["ensure we log"]),
        (
            "intentional - keep it local! let's proceed",
            &["keep it local"],
        ),
        ("don't touch the tests", &["! don't touch the tests"]),
        (
            "Looks good, but never push to main.",
            &["! never push to main"],
        ),
        (
            "skip 5, 7, 8 and do the rest",
            &["! skip 5, 7, 8 and do the rest"],
        ),
        (
            "you must not call the API. Ok?",
            &["! you must not call the API"],
        ),
        ("at most 3 retries", &["at most 3 retries"]),
        ("I'd rather have tabs", &["I'd rather have tabs"]),
        (
            "let's not add a dependency",
            &["! let's not add a dependency"],
        ),
        ("leave the schema alone", &["! leave the schema alone"]),
        (
            "When you cite something, use the primary source.",
            &["When you cite something, use the primary source"],
        ),
        ("Refunds require approval.", &["Refunds require approval"]),
        ("use pnpm instead of npm", &["use pnpm instead of npm"]),
    ];
    for (text, expected) in cases {
        assert_eq!(told(text), *expected, "{text}");
    }
}

#[test]
fn questions_talk_and_tasks_are_no_rules() {
    for text in [
        "should we never push?",
        "I don't know why it fails",
        "it doesn't work, we don't see it",
        "don't worry about it",
        "you don't need to test it",
        "yes, go ahead",
        "create a draft PR please",
        "keep going",
        "that's good enough for now",
        "it can't find the file",
        "the only thing that failed was the build",
        "what is the limit on retries",
        "this requires a refactor",
        "when I run it, it fails",
        "when you are done, we can look at it",
        "",
        "?!",
    ] {
        assert_eq!(told(text), [""; 0], "{text}");
    }
}

#[test]
fn code_quotations_and_what_programs_insert_are_not_read() {
    let text = "fix this:\n```\nnever call this\n```\n> never mind that\n<command-name>/never do</command-name>\n\
                <local>\nnever here\n</local>\n{\"never\": 1}\nnever there";
    assert_eq!(told(text), ["! never there"]);
}

#[test]
fn what_is_proposed_is_bounded_and_names_no_actions() {
    let many: String = (0..200)
        .map(|at| format!("never do thing {at}\n"))
        .collect();
    let rules = proposed(&many);
    assert_eq!(rules.len(), RULES_MAX);
    assert!(rules.iter().all(|rule| rule.actions.is_empty()));
    assert_eq!(told("never push\nNever push.\n"), ["! never push"]);
    assert_eq!(told(&format!("never {}", "x ".repeat(200))), [""; 0]);
    assert_eq!(
        told(&format!("{}\nnever push", "é".repeat(TEXT_BYTES_MAX))),
        [""; 0]
    );
}

mod counted;
