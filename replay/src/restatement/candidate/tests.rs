//! The work and the memory that hostile constraints and texts make together.

use remembrancer_schema::payload::ConstraintKind;

use super::*;
use crate::folding::{Escapes, Folded};
use crate::restatement::{CLAUSE_TOKENS_MAX, Restatements};

/// Most statements that one constraint may be read as: whole, and 16 clauses.
const STATEMENTS_MAX: usize = 17;

fn hostile(count: usize, text: impl Fn(usize) -> String) -> Restatements {
    let texts: Vec<String> = (0..count).map(text).collect();
    let prohibitions = texts
        .iter()
        .map(|text| (ConstraintKind::Prohibition, text.as_str()));
    Restatements::new(prohibitions)
}

/// A word of letters alone: with digits it would be a value.
fn word(number: usize) -> String {
    let letter = |at: usize| char::from(b'k' + u8::try_from(at % 10).unwrap_or(0));
    [number / 100, number / 10, number]
        .map(letter)
        .iter()
        .collect()
}

fn work(restatements: &Restatements, text: &str) -> (u64, usize) {
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    let mut found = 0;
    let work = effort::of(|| found = restatements.find(&passage, &[]).restated.len());
    (work, found)
}

#[test]
fn a_text_of_one_shared_word_costs_little_for_each_of_its_words() {
    let shared = hostile(500, |at| {
        format!(
            "Never alpha the beta{} and the gamma{}.",
            word(at),
            word(at)
        )
    });
    let alone = hostile(500, |_| "Never alpha.".to_owned());
    let tokens = 175_000;
    let text = "alpha ".repeat(tokens);
    assert!(text.len() > 1_000_000);
    // Half of what the first demand is never there. Each of the second is compared, clause by clause.
    for (restatements, each) in [(&shared, 3), (&alone, 500)] {
        let (work, found) = work(restatements, &text);
        assert_eq!(found, 0);
        let bounds = tokens as u64..each * tokens as u64;
        assert!(bounds.contains(&work), "{work} for {tokens} tokens");
    }
}

#[test]
fn work_grows_with_the_text_and_no_faster() {
    let clauses = "alpha beta, no ".repeat(500);
    let restatements = hostile(20, |at| format!("No {clauses} alpha {at} days."));
    assert_eq!(restatements.declared.len(), 20 * STATEMENTS_MAX);
    for unit in [
        "alpha beta ",
        "alpha. ",
        "alpha beta, ",
        "never alpha 5 days. ",
    ] {
        let (short, _) = work(&restatements, &unit.repeat(300));
        let (long, _) = work(&restatements, &unit.repeat(3_000));
        assert!(long <= 11 * short, "{unit:?}: {short} and {long}");
    }
}

#[test]
fn what_is_held_is_bounded_by_one_clause_and_not_by_the_text() {
    let restatements = hostile(20, |at| format!("Never alpha beta for {at} days."));
    let text = "alpha beta. ".repeat(2 * COMPARED_MAX);
    let folded = Folded::new(&text, Escapes::Plain);
    let passage = Passage::new(&text, &folded);
    let mut candidates = restatements
        .index
        .candidates(&restatements.declared, &passage)
        .expect("each constraint's words stand there");
    let places: usize = candidates.places.values().flatten().map(Vec::len).sum();
    assert_eq!(
        places,
        20 * 2,
        "one for each content word of each constraint"
    );
    let (mut called, mut most) = (0, 0);
    candidates.within(&(0..CLAUSE_TOKENS_MAX), false, |_, hits| {
        called += 1;
        most = most.max(hits.len());
    });
    assert_eq!((called, most), (20, 2 * HITS_MAX));
    for clause in (0..passage.words().len()).step_by(2) {
        candidates.within(&(clause..clause + 2), false, |_, _| called += 1);
    }
    assert_eq!(
        called,
        20 * COMPARED_MAX,
        "no more of one text are compared"
    );
    // Once as a clause of the longest kind, and then each one of the text.
    let left = passage.words().len() / 2 + 1 - COMPARED_MAX;
    let expected: Vec<_> = (0..20).map(|constraint| (constraint, left)).collect();
    assert_eq!(candidates.left(), expected, "and what is left is counted");
}

#[test]
fn the_clauses_and_values_of_one_constraint_are_bounded() {
    let read = |text: &str| Declared::read(0, ConstraintKind::Prohibition, text);
    let clauses: String = (0..500)
        .map(|at| format!("alpha beta{}, no ", word(at)))
        .collect();
    assert_eq!(read(&clauses).len(), STATEMENTS_MAX);
    let values: String = (0..500).map(|at| format!("{at} alpha beta, no ")).collect();
    assert!(read(&values).is_empty());
    let few = read("Never ship 5 parcels, no 7 large letters.");
    assert_eq!(few.len(), 3);
    assert!(
        few.iter()
            .all(|one| std::sync::Arc::ptr_eq(&one.family, &few[0].family))
    );
    let words: String = (0..500).map(|at| format!("word{} ", word(at))).collect();
    assert_eq!(read(&words)[0].contents.len(), 64);
}
