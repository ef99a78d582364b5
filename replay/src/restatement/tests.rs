use AlterationKind::{Contradicted, Mutated, Weakened};
use ConstraintKind::{Fact, Obligation, Permission, Prohibition};

use super::*;
use crate::folding::{Escapes, Folded};

/// Whether a text restates a constraint, and how it then differs.
fn restated(kind: ConstraintKind, declared: &str, text: &str) -> Option<Option<AlterationKind>> {
    let restatements = Restatements::new([(kind, declared)].into_iter());
    let folded = Folded::new(text, Escapes::Plain);
    let found = restatements
        .find(&Passage::new(text, &folded), &[])
        .restated;
    assert!(found.len() < 2, "{found:?}");
    let first = found.into_iter().next()?;
    Some(first.altered.map(|(kind, _)| kind))
}

fn check(cases: &[(ConstraintKind, &str, &str, Option<Option<AlterationKind>>)]) {
    for (kind, declared, text, expected) in cases {
        assert_eq!(
            restated(*kind, declared, text),
            *expected,
            "{declared} => {text}"
        );
    }
}

const KEPT: Option<Option<AlterationKind>> = Some(None);

#[test]
fn a_permission_contradicts_a_prohibition_unless_it_is_none() {
    let never = "Never ship parcels on Sundays.";
    check(&[
        (
            Prohibition,
            never,
            "Parcels can be shipped on Sundays.",
            Some(Some(Contradicted)),
        ),
        (
            Prohibition,
            never,
            "Shipping parcels on Sundays is fine.",
            Some(Some(Contradicted)),
        ),
        (
            Prohibition,
            never,
            "It is no longer forbidden to ship parcels on Sundays.",
            Some(Some(Contradicted)),
        ),
        (
            Prohibition,
            never,
            "Always ship parcels on Sundays.",
            Some(Some(Contradicted)),
        ),
        (
            Prohibition,
            never,
            "Do not hesitate to ship parcels on Sundays.",
            Some(Some(Contradicted)),
        ),
        (
            Prohibition,
            never,
            "No parcel may be shipped on Sundays.",
            KEPT,
        ),
        (
            Prohibition,
            never,
            "Parcels can never be shipped on Sundays.",
            KEPT,
        ),
        (Prohibition, never, "Can we ship parcels on Sundays?", None),
        (
            Prohibition,
            never,
            "The parcels were shipped on Sundays.",
            None,
        ),
        (
            Permission,
            "You may ship parcels on Sundays.",
            "Parcels must not be shipped on Sundays.",
            Some(Some(Contradicted)),
        ),
        (
            Fact,
            "The depot opens on Sundays.",
            "The depot does not open on Sundays.",
            Some(Some(Contradicted)),
        ),
    ]);
}

#[test]
fn what_is_demanded_is_contradicted_where_it_need_not_be_done() {
    let wear = "Everybody must wear helmets in the yard.";
    check(&[
        (
            Obligation,
            wear,
            "There is no need to wear helmets in the yard.",
            Some(Some(Contradicted)),
        ),
        (
            Obligation,
            wear,
            "Wearing helmets in the yard is optional.",
            Some(Some(Contradicted)),
        ),
        (
            Obligation,
            wear,
            "Wearing helmets in the yard can't be skipped.",
            KEPT,
        ),
        (
            Obligation,
            wear,
            "Nobody may enter the yard without wearing a helmet.",
            KEPT,
        ),
        (
            Obligation,
            wear,
            "Helmets may be worn in the yard.",
            Some(Some(Contradicted)),
        ),
    ]);
}

#[test]
fn one_thing_alone_is_contradicted_by_another_beside_it() {
    let only = "Only park bicycles in the basement.";
    check(&[
        (
            Obligation,
            only,
            "Bicycles can be parked anywhere, the basement included.",
            Some(Some(Contradicted)),
        ),
        (
            Obligation,
            only,
            "Park bicycles wherever there is room, not just in the basement.",
            Some(Some(Contradicted)),
        ),
        (
            Obligation,
            only,
            "Bicycles may only be parked in the basement.",
            KEPT,
        ),
        (
            Obligation,
            only,
            "Park bicycles in the basement.",
            Some(Some(Weakened)),
        ),
    ]);
}

#[test]
fn another_value_is_a_mutation_and_another_spelling_is_none() {
    let wait = "Wait at least 3 days before you close ticket queue-7.";
    check(&[
        (
            Obligation,
            wait,
            "Wait at least three days before you close ticket queue-7.",
            KEPT,
        ),
        (
            Obligation,
            wait,
            "Wait at least 72 hours before closing ticket queue-7.",
            KEPT,
        ),
        (
            Obligation,
            wait,
            "Wait at least 5 days before you close ticket queue-7.",
            Some(Some(Mutated)),
        ),
        (
            Obligation,
            wait,
            "Wait at least 3 days before you close ticket queue-9.",
            Some(Some(Mutated)),
        ),
        (
            Obligation,
            wait,
            "Wait a while before you close ticket queue-7.",
            Some(Some(Mutated)),
        ),
        (
            Fact,
            "\u{9053}\u{8def} costs 3.5 EUR per day.",
            "\u{9053}\u{8def} costs 35 EUR per day.",
            Some(Some(Mutated)),
        ),
    ]);
}

#[test]
fn a_longer_path_is_another_value() {
    let only = "Only modify files under src/billing/.";
    let deeper = "Only modify files under src/billing/old/.";
    check(&[(Obligation, only, deeper, Some(Some(Mutated)))]);
}

#[test]
fn a_softer_word_weakens_unless_the_declared_text_has_it_too() {
    let never = "Never forward letters to the old address.";
    check(&[
        (
            Prohibition,
            never,
            "Try not to forward letters to the old address.",
            Some(Some(Weakened)),
        ),
        (
            Prohibition,
            never,
            "Letters should not be forwarded to the old address.",
            Some(Some(Weakened)),
        ),
        (
            Prohibition,
            never,
            "Letters should never be forwarded to the old address.",
            KEPT,
        ),
        (
            Prohibition,
            never,
            "Never forward letters to the old address unless asked.",
            Some(Some(Weakened)),
        ),
        (
            Prohibition,
            never,
            "Never forward important letters to the old address.",
            Some(Some(Weakened)),
        ),
        (
            Prohibition,
            "Try not to forward letters to the old address.",
            "Letters: try not to forward them to the old address.",
            KEPT,
        ),
        (
            Obligation,
            "Forward all letters to the new address.",
            "Letters should be forwarded to the new address.",
            KEPT,
        ),
        (
            Obligation,
            "Forward all letters to the new address.",
            "Forward letters that are urgent to the new address.",
            Some(Some(Weakened)),
        ),
        (
            Obligation,
            "Forward all letters to the new address.",
            "User prefers letters forwarded to the new address.",
            KEPT,
        ),
    ]);
}

#[test]
fn one_of_several_clauses_is_enough_for_a_change_and_not_for_a_paraphrase() {
    let both = "Deliver goods to the east gate, never to the private flats.";
    check(&[
        (
            Obligation,
            both,
            "Goods can be delivered to the private flats.",
            Some(Some(Contradicted)),
        ),
        (
            Obligation,
            both,
            "Goods are to be delivered to the east gate and not to private flats.",
            KEPT,
        ),
        (Obligation, both, "The private flats were painted.", None),
    ]);
}

#[test]
fn the_fullest_clause_decides() {
    let declared = "Write every amount in your letters as a word, not as digits.";
    let text = "Rule: write every amount in letters as a word, not as digits. Amounts should be words where possible.";
    assert_eq!(restated(Obligation, declared, text), KEPT);
}

#[test]
fn a_sentence_that_states_another_constraint_alters_none() {
    let declared = [
        (Prohibition, "Never touch archive 7 without an order."),
        (Prohibition, "Never touch archive 8 without an order."),
    ];
    let restatements = Restatements::new(declared.into_iter());
    let text = "Never touch archive 8 without an order.";
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    let alone = restatements.find(&passage, &[]).restated;
    assert_eq!(
        alone[0].altered.as_ref().map(|(kind, _)| *kind),
        Some(Mutated)
    );
    let itself = Stated {
        constraint: 1,
        run: 0..folded.len(),
        word_for_word: true,
    };
    let stated = restatements.find(&passage, &[itself]).restated;
    assert!(
        stated.iter().all(|found| found.altered.is_none()),
        "{stated:?}"
    );
}

#[test]
fn words_that_hide_or_fold_are_found() {
    let declared = "Never ship parcels on Sundays.";
    for text in [
        "Par\u{200b}cels can be ship\u{ad}ped on Sundays.",
        "PARCELS CAN BE SHIPPED ON SUNDAYS",
        "\u{ff30}arcels \u{ff43}an be shipped on Sundays.",
    ] {
        assert_eq!(
            restated(Prohibition, declared, text),
            Some(Some(Contradicted)),
            "{text}"
        );
    }
}

#[test]
fn an_impossible_hour_is_compared_and_stops_nothing() {
    let declared = "Never ship parcels before 99999999:00 on Sundays.";
    let same = "Parcels can be shipped before 99999999:00 on Sundays.";
    assert_eq!(
        restated(Prohibition, declared, same),
        Some(Some(Contradicted))
    );
}
