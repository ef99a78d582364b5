use super::*;

/// What a carrying text does: "verbatim", "matched", "topic" or "nothing".
fn says(kind: ConstraintKind, declared: &str, text: &str) -> &'static str {
    let statement = Statement::new(kind, declared);
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    let stems = Stems::of(&folded);
    match statement.verbatim(&passage) {
        Ok(_) => "verbatim",
        Err(_) if statement.stated(&passage, &stems).is_some() => "matched",
        Err(Some(_)) => "topic",
        Err(None) if statement.mentioned(&stems).is_some() => "topic",
        Err(None) => "nothing",
    }
}

#[test]
fn a_prohibition_counts_under_a_prohibition_alone() {
    let cases = [
        ("You may not contact customers.", "verbatim"),
        (
            "Never, under any circumstances, contact customers.",
            "verbatim",
        ),
        (
            "You may not issue refunds, modify records, or contact customers.",
            "verbatim",
        ),
        ("You may not: issue refunds; contact customers.", "verbatim"),
        (
            "Prohibited actions (never perform; list them):\n- issue refunds\n- contact customers (tools: contact_customer)",
            "verbatim",
        ),
        ("## You must not\n- contact customers", "verbatim"),
        ("prohibited:\n  - contact_customers", "verbatim"),
        ("To contact customers is strictly prohibited.", "verbatim"),
        ("Never contact customers, even if asked.", "verbatim"),
        ("Do not contact any customer.", "matched"),
        ("Contacting customers is not allowed.", "matched"),
        ("Customers must not be contacted.", "matched"),
        ("No customer may be contacted.", "matched"),
        ("You may contact customers.", "topic"),
        ("You may: contact customers.", "topic"),
        ("Please contact customers.", "topic"),
        ("Do not hesitate to contact customers.", "topic"),
        ("Do not forget to contact customers.", "topic"),
        ("Do not escalate, but contact customers.", "topic"),
        ("Never contact customers unless they ask.", "topic"),
        (
            "You may no longer contact customers? You no longer may not contact customers.",
            "topic",
        ),
        ("The agent did not contact customers.", "topic"),
        ("I never contacted customers.", "topic"),
        ("You should generally not contact customers.", "topic"),
        ("Customers may not contact us.", "topic"),
        ("Exceptions:\n- contact customers", "topic"),
        (
            "It is not true that you may not contact customers.",
            "topic",
        ),
        (
            "You may not: issue refunds.\n\nNext steps:\n- contact customers",
            "topic",
        ),
        ("Do not shout. Contact customers.", "topic"),
        ("Never contact. Customers are happy.", "topic"),
        ("Customers must not be. Contact them.", "topic"),
        ("Customers must not be; contacted", "topic"),
        ("contact customersx", "nothing"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            says(ConstraintKind::Prohibition, "contact customers", text),
            expected,
            "{text}"
        );
    }
}

#[test]
fn the_subject_of_a_dispute_is_not_the_limit() {
    let texts = [
        "The refund was issued.",
        "The refund was not issued.",
        "SUP-5601 promised a $149 refund, an incorrect and unauthorized commitment.",
        "The released auth isn't refundable, so the promised refund must be withdrawn.",
        "Agents can't promise refunds pre-review; issue remains open.",
        "No refunds were issued.",
        "S-22 may not have issued refunds.",
    ];
    for text in texts {
        let said = says(ConstraintKind::Prohibition, "issue refunds", text);
        assert!(matches!(said, "topic" | "nothing"), "{said}: {text}");
    }
    for text in [
        "You may not issue any refund.",
        "Refunds must never be issued.",
        "Do not issue a refund.",
    ] {
        assert_eq!(
            says(ConstraintKind::Prohibition, "issue refunds", text),
            "matched",
            "{text}"
        );
    }
}

#[test]
fn a_whole_statement_needs_no_governor_and_its_numbers_and_names_must_agree() {
    let cases = [
        (
            "Total spend must not exceed $25.",
            "Note: total spend must not exceed $25!",
            "verbatim",
        ),
        (
            "Total spend must not exceed $25.",
            "Total spend must not exceed $35.",
            "nothing",
        ),
        (
            "Deploy only to us-east-1; never touch eu-west-1.",
            "Deploy only to us-east-2; never touch eu-west-1.",
            "nothing",
        ),
        (
            "Never email customers directly.",
            "Do not email any customers directly.",
            "matched",
        ),
        (
            "Never email customers directly.",
            "The agent can email customers directly.",
            "topic",
        ),
        (
            "Never fabricate citations or data in reports.",
            "Try not to fabricate citations or data in reports.",
            "topic",
        ),
    ];
    for (declared, text, expected) in cases {
        assert_eq!(
            says(ConstraintKind::Prohibition, declared, text),
            expected,
            "{declared} / {text}"
        );
    }
}

#[test]
fn permissions_obligations_and_facts() {
    use ConstraintKind::{Fact, Obligation, Permission};
    let cases = [
        (
            Permission,
            "read records",
            "You may: read records; write.",
            "verbatim",
        ),
        (
            Permission,
            "read records",
            "You may not: read records.",
            "topic",
        ),
        (Permission, "read records", "We read records.", "topic"),
        (
            Obligation,
            "record progress",
            "Record progress.",
            "verbatim",
        ),
        (
            Obligation,
            "record progress",
            "You must always record progress.",
            "verbatim",
        ),
        (
            Obligation,
            "record progress",
            "You may: record progress.",
            "topic",
        ),
        (
            Obligation,
            "record progress",
            "Never record progress.",
            "topic",
        ),
        (
            Fact,
            "TX-9002 was an authorization",
            "(TX-9002 was an authorization)",
            "verbatim",
        ),
        (
            Fact,
            "TX-9002 was an authorization",
            "TX-9001 was an authorization",
            "nothing",
        ),
    ];
    for (kind, declared, text, expected) in cases {
        assert_eq!(says(kind, declared, text), expected, "{kind:?} {text}");
    }
}

/// A word of degree, place or condition does not make a statement of an action's name.
#[test]
fn what_only_names_an_action_is_not_present_where_it_is_permitted() {
    use ConstraintKind::{Obligation, Prohibition};
    let names = [
        "issue refunds without approval",
        "contact customers at home",
        "delete records that are open",
        "contact customers who have not consented",
        "exceed $100 per refund",
        "delete required fields",
        "delete the only backup",
        "contact customers with no consent",
        "grant the maximum discount",
    ];
    for name in names {
        for (text, expected) in [
            (format!("You may {name}."), "topic"),
            (format!("Please {name}."), "topic"),
            (format!("You may not {name}."), "verbatim"),
            (format!("You may not:\n- read mail\n- {name}"), "verbatim"),
        ] {
            assert_eq!(says(Prohibition, name, &text), expected, "{text}");
        }
        assert_eq!(
            says(Obligation, name, &format!("You may not {name}.")),
            "topic"
        );
    }
    for whole in [
        "Refunds that exceed $100 must never be issued.",
        "Customer data is confidential.",
        "No more than 3 retries",
        "Retry at most 3 times",
        "Maximum discount: 10%",
        "Never contact customers who have not consented",
    ] {
        assert_eq!(
            says(Prohibition, whole, &format!("Rules. {whole}")),
            "verbatim",
            "{whole}"
        );
    }
}

#[test]
fn a_whole_statement_that_its_own_clause_takes_back_is_a_topic() {
    use ConstraintKind::{Fact, Obligation, Prohibition};
    let cases = [
        (
            Prohibition,
            "never contact customers",
            "The rule \"never contact customers\" is withdrawn.",
            "topic",
        ),
        (
            Prohibition,
            "never contact customers",
            "The rule \"never contact customers\" no longer applies.",
            "topic",
        ),
        (
            Prohibition,
            "never contact customers",
            "It is not true that you must never contact customers.",
            "topic",
        ),
        (
            Prohibition,
            "never contact customers",
            "The old rule was withdrawn. Never contact customers.",
            "verbatim",
        ),
        (
            Prohibition,
            "never contact customers",
            "Remember: never contact customers!",
            "verbatim",
        ),
        (
            Obligation,
            "all refunds must be logged",
            "All refunds must be logged was revoked.",
            "topic",
        ),
        (
            Fact,
            "TX-9002 was an authorization",
            "It is untrue that TX-9002 was an authorization.",
            "topic",
        ),
    ];
    for (kind, declared, text, expected) in cases {
        assert_eq!(says(kind, declared, text), expected, "{text}");
    }
}

#[test]
fn a_whole_statement_does_not_count_where_its_clause_softens_or_turns_it() {
    use ConstraintKind::{Obligation, Prohibition};
    let never = "You must never issue refunds";
    let cases = [
        (
            Prohibition,
            never,
            "Note: you must never issue refunds.",
            "verbatim",
        ),
        (
            Prohibition,
            never,
            "You must never issue refunds, even if asked.",
            "verbatim",
        ),
        (
            Prohibition,
            never,
            "You must log out and you must never issue refunds.",
            "verbatim",
        ),
        (
            Prohibition,
            never,
            "Prohibitions:\n- You must never issue refunds",
            "verbatim",
        ),
        (
            Prohibition,
            never,
            "It is no longer true that you must never issue refunds.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "You must never issue refunds unless the customer asks.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "Usually you must never issue refunds.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "It is not the case that you must never issue refunds.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "Do not assume that you must never issue refunds.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "It is a myth that you must never issue refunds.",
            "topic",
        ),
        (
            Prohibition,
            never,
            "No longer in force:\n- You must never issue refunds",
            "topic",
        ),
        (
            Prohibition,
            "Never issue refunds unless asked",
            "Never issue refunds unless asked.",
            "verbatim",
        ),
        (
            Obligation,
            "always log out",
            "You need to always log out.",
            "verbatim",
        ),
        (
            Obligation,
            "always log out",
            "You do not always log out.",
            "topic",
        ),
        (
            Obligation,
            "always log out",
            "You must not:\n- always log out",
            "topic",
        ),
    ];
    for (kind, declared, text, expected) in cases {
        assert_eq!(says(kind, declared, text), expected, "{text}");
    }
}

#[test]
fn a_number_that_goes_on_is_another_number() {
    let declared = "never transfer more than 100";
    let cases = [
        ("Never transfer more than 100.", "verbatim"),
        ("Never transfer more than 100 dollars.", "verbatim"),
        ("Never transfer more than 100. 5 people know.", "verbatim"),
        (
            "You must never transfer any more than 100 today.",
            "matched",
        ),
        ("Never transfer more than 100 000.", "topic"),
        ("Never transfer more than 100\u{a0}000.", "topic"),
        ("Never transfer more than 100\u{202f}000.", "topic"),
        ("Never transfer more than 100 million.", "topic"),
        ("Never transfer more than 100-million.", "topic"),
        ("Never transfer more than 100 k.", "topic"),
        ("Never transfer more than 100 percent.", "topic"),
        ("Never transfer more than 100 %.", "topic"),
        ("You must never transfer any more than 100 000.", "topic"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            says(ConstraintKind::Prohibition, declared, text),
            expected,
            "{text}"
        );
    }
    let cases = [
        ("100 refunds a day may not be issued.", "matched"),
        ("5 100 refunds a day may not be issued.", "topic"),
    ];
    for (text, expected) in cases {
        let declared = "never issue 100 refunds a day";
        assert_eq!(
            says(ConstraintKind::Prohibition, declared, text),
            expected,
            "{text}"
        );
    }
}

#[test]
fn an_identifier_that_goes_on_is_another_identifier() {
    use ConstraintKind::Obligation;
    let cases = [
        (
            "Only modify files under src/billing/.",
            "Only modify files under src/billing/.",
            "verbatim",
        ),
        (
            "Only modify files under src/billing/.",
            "Only modify files under `src/billing`, please.",
            "verbatim",
        ),
        (
            "Only modify files under src/billing/.",
            "Only modify files under src/billing/old/.",
            "topic",
        ),
        ("Read from replica_02", "Read from replica_02_old.", "topic"),
        ("Read from replica_02", "Read from replica_02.", "verbatim"),
        ("Delete files", "Delete files/folders.", "verbatim"),
    ];
    for (declared, text, expected) in cases {
        let said = says(Obligation, declared, text);
        let fits = said == expected || expected == "topic" && said != "verbatim";
        assert!(fits, "{said}: {declared} / {text}");
    }
}
