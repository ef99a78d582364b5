use super::*;
use crate::folding::Escapes;

/// The words of each clause with those of its opener.
fn clauses(text: &str) -> Vec<(String, String)> {
    let folded = Folded::new(text, Escapes::Plain);
    let passage = Passage::new(text, &folded);
    let words = |clause: &Clause| {
        let tokens = clause.tokens.clone();
        tokens
            .map(|at| passage.folded.token(at))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let opener = |clause: &Clause| {
        clause
            .opener
            .map_or(String::new(), |at| words(&passage.clauses[at]))
    };
    passage
        .clauses
        .iter()
        .map(|clause| (words(clause), opener(clause)))
        .collect()
}

fn opener_of(text: &str, clause: &str) -> String {
    let all = clauses(text);
    let found = all.iter().find(|(words, _)| words == clause);
    found
        .unwrap_or_else(|| panic!("{clause:?} is no clause of {all:?}"))
        .1
        .clone()
}

#[test]
fn a_colon_opens_what_follows_up_to_the_end_of_the_sentence() {
    let text = "You may: read. You may not: issue refunds; contact customers. Anything else.";
    assert_eq!(opener_of(text, "contact customers"), "you may not");
    assert_eq!(opener_of(text, "read"), "you may");
    assert_eq!(opener_of(text, "anything else"), "");
}

#[test]
fn headings_and_colons_open_lists_and_other_text_ends_them() {
    let text = "# Never\n\n- lie\n- cheat\n\nSome prose here\n- not governed";
    assert_eq!(opener_of(text, "cheat"), "never");
    assert_eq!(opener_of(text, "not governed"), "");
    let nested = "You may not:\n1. touch these:\n   - refunds\n2. lie\nYou may: read";
    assert_eq!(opener_of(nested, "refunds"), "touch these");
    assert_eq!(opener_of(nested, "lie"), "you may not");
    assert_eq!(opener_of(nested, "you may"), "");
}

#[test]
fn brackets_divide_nothing() {
    let text = "Prohibited (never do; list them):\n- contact (tools: call)\n- pay";
    assert_eq!(
        opener_of(text, "contact tools call"),
        "prohibited never do list them"
    );
    assert_eq!(opener_of(text, "pay"), "prohibited never do list them");
}

#[test]
fn every_token_but_a_list_number_belongs_to_one_clause() {
    for text in [
        "",
        "a",
        "1. a\n2. b",
        ":::",
        "a: b; c. d | e\n\n# f\n- g",
        "((((",
        "- \n- a",
    ] {
        let folded = Folded::new(text, Escapes::Plain);
        let passage = Passage::new(text, &folded);
        for token in 0..passage.folded().len() {
            let number =
                passage.folded().token(token) == "1" || passage.folded().token(token) == "2";
            assert!(
                number || passage.clause(token).contains(&token),
                "token {token} of {text:?}"
            );
        }
    }
}
