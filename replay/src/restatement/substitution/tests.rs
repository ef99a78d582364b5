use remembrancer_schema::payload::ConstraintKind;

use crate::analysis::AlterationKind::{self, Contradicted, Mutated};
use crate::folding::{Escapes, Folded};
use crate::passage::Passage;
use crate::restatement::{Restatements, Stated};

/// How a text alters a constraint; the outer `None` where it does not restate it.
fn altered(kind: ConstraintKind, declared: &str, text: &str) -> Option<Option<AlterationKind>> {
    beside(kind, declared, text, &[])
}

fn beside(
    kind: ConstraintKind,
    declared: &str,
    text: &str,
    stated: &[Stated],
) -> Option<Option<AlterationKind>> {
    let restatements = Restatements::new(std::iter::once((kind, declared)));
    let folded = Folded::new(text, Escapes::Plain);
    let found = restatements.find(&Passage::new(text, &folded), stated);
    let first = found.restated.first()?;
    Some(first.altered.as_ref().map(|(kind, _)| *kind))
}

use ConstraintKind::{Obligation, Prohibition};

#[test]
fn another_noun_in_the_place_of_one_is_a_mutation() {
    for (kind, declared, text) in [
        (
            Prohibition,
            "Never paint the north wall.",
            "Never paint the garden wall.",
        ),
        (
            Prohibition,
            "Never ship glass bottles to schools.",
            "Never ship glass bottles to farms.",
        ),
        (
            Obligation,
            "Weigh every parcel on the dock scale.",
            "Weigh every parcel on the shop scale.",
        ),
        (
            Prohibition,
            "Do not lend tools to summer guests.",
            "Tools must not be lent to summer staff.",
        ),
    ] {
        assert_eq!(altered(kind, declared, text), Some(Some(Mutated)), "{text}");
    }
}

#[test]
fn another_verb_and_a_word_for_nearly_anything_are_likely_paraphrases() {
    for (kind, declared, text) in [
        (
            Prohibition,
            "Never paint the north wall.",
            "Never colour the north wall.",
        ),
        (
            Prohibition,
            "Never ship glass bottles to schools.",
            "Never ship glass items to schools.",
        ),
        (
            Obligation,
            "Weigh parcels before loading the truck.",
            "Weigh parcels before filling the truck.",
        ),
        (
            Prohibition,
            "Never paint the north wall.",
            "Never paint the wall that faces north, on any floor.",
        ),
    ] {
        assert_eq!(altered(kind, declared, text), Some(None), "{text}");
    }
}

#[test]
fn an_opposite_contradicts_unless_a_negation_turns_it_back() {
    let declared = "Keep the east gate closed at weekends.";
    let opened = "Keep the east gate open at weekends.";
    assert_eq!(
        altered(Obligation, declared, opened),
        Some(Some(Contradicted))
    );
    let not_opened = "The east gate must not be open at weekends.";
    assert_eq!(altered(Obligation, declared, not_opened), Some(None));
    let order = "Wash the tank before filling the barrels.";
    let turned = "Wash the tank after filling the barrels.";
    assert_eq!(altered(Obligation, order, turned), Some(Some(Contradicted)));
    let same = "Fill the barrels only after the tank has been washed.";
    assert_eq!(altered(Obligation, order, same), Some(None));
}

#[test]
fn a_rule_beside_the_constraint_itself_is_another_rule() {
    let declared = "Never paint the north wall.";
    let text = "Never paint the north wall. Never paint the garden wall.";
    let itself = Stated {
        constraint: 0,
        run: 0..5,
        word_for_word: true,
    };
    assert_eq!(beside(Prohibition, declared, text, &[itself]), None);
    let alone = "Never paint the garden wall.";
    assert_eq!(altered(Prohibition, declared, alone), Some(Some(Mutated)));
}
