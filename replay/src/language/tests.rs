use super::*;

fn stance_of(text: &str) -> Stance {
    stance(&words(text.split(' ')))
}

#[test]
fn inflections_share_a_stem_and_other_words_do_not() {
    let groups = [
        &["issue", "issues", "issued", "issuing"][..],
        &["modify", "modifies", "modified", "modifying"],
        &["delete", "deletes", "deleted", "deleting"],
        &["customer", "customers", "customer's"],
        &["stop", "stopped", "stopping"],
    ];
    for group in groups {
        for word in group {
            assert_eq!(stem(word), stem(group[0]), "{word}");
            assert!(word.starts_with(stem(word)));
        }
    }
    for (one, other) in [
        ("refund", "refundable"),
        ("string", "str"),
        ("orders", "or"),
        ("2x", "2"),
    ] {
        assert_ne!(stem(one), stem(other));
    }
}

#[test]
fn openers_prohibit_permit_oblige_or_say_nothing() {
    let cases = [
        ("you may not", Stance::Prohibits),
        (
            "prohibited actions never perform list them for human authorization instead",
            Stance::Prohibits,
        ),
        ("never", Stance::Prohibits),
        ("you may", Stance::Permits),
        ("you must", Stance::Obliges),
        ("findings so far", Stance::Neutral),
        ("what you may and may not do", Stance::Unclear),
        ("no longer prohibited", Stance::Unclear),
        ("do not forget to", Stance::Unclear),
        ("exceptions", Stance::Unclear),
        ("previously prohibited", Stance::Unclear),
        ("not prohibited", Stance::Unclear),
    ];
    for (words, expected) in cases {
        assert_eq!(stance_of(words), expected, "{words}");
    }
}

/// A length that was looked up in a whole text holds in every part of it that has room.
#[test]
fn no_pattern_begins_another_of_its_list() {
    for patterns in [PROHIBITIONS, PROHIBITIONS_AFTER, RELEASES] {
        for (index, one) in patterns.iter().enumerate() {
            for (other_index, other) in patterns.iter().enumerate() {
                assert!(
                    index == other_index || !other.starts_with(one),
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
