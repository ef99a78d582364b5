use super::*;

fn term(text: &str) -> MatchTerm {
    MatchTerm {
        term: Some(text.to_owned()),
        ..MatchTerm::default()
    }
}

fn substring(text: &str) -> MatchTerm {
    MatchTerm {
        substring: true,
        ..term(text)
    }
}

fn regex(text: &str) -> MatchTerm {
    MatchTerm {
        regex: Some(text.to_owned()),
        ..MatchTerm::default()
    }
}

fn found(term: MatchTerm, text: &str) -> Option<String> {
    let search = Search::new(&Matcher {
        all_of: vec![term],
        ..Matcher::default()
    });
    let found = search.find(&Subject::new(text, Escapes::Plain));
    found
        .first()
        .map(|(_, range)| text[range.clone()].to_owned())
}

#[test]
fn terms_stand_on_word_boundaries_and_substrings_anywhere() {
    assert_eq!(
        found(term("refund"), "a Refund."),
        Some("Refund".to_owned())
    );
    assert_eq!(found(term("refund"), "refunds"), None);
    assert_eq!(
        found(substring("refund"), "Nonrefundable"),
        Some("refund".to_owned())
    );
    assert_eq!(found(substring("sup-5602"), "SUP-5601/5602"), None);
    assert_eq!(found(substring("19.6"), "$19.60"), Some("19.6".to_owned()));
    assert_eq!(found(substring("x"), "İİx"), Some("x".to_owned()));
    let literal = MatchTerm {
        literal: Some("No credit-due!".to_owned()),
        ..MatchTerm::default()
    };
    assert_eq!(
        found(literal, "said: \"no  credit due\"."),
        Some("no  credit due".to_owned())
    );
    assert_eq!(
        found(regex(r"TX-\d+"), "see TX-9002"),
        Some("TX-9002".to_owned())
    );
}

#[test]
fn what_cannot_be_compiled_never_holds_and_says_why() {
    for (term, why) in [
        (regex("("), "does not compile"),
        (regex(r"\w{1000}{1000}"), "does not compile"),
        (term("!!"), "holds no word"),
        (substring(" "), "is empty"),
        (regex("x*"), "matches an empty text"),
    ] {
        let search = Search::new(&Matcher {
            any_of: vec![term],
            ..Matcher::default()
        });
        assert!(
            search.error().is_some_and(|error| error.contains(why)),
            "{:?}",
            search.error()
        );
        assert!(!search.holds(|_| true));
    }
}

#[test]
fn an_empty_match_shows_nothing() {
    assert_eq!(found(regex(r"\b"), "a word"), None);
}

#[test]
fn all_and_any_are_combined() {
    let matcher = Matcher {
        all_of: vec![term("a")],
        any_of: vec![term("b"), term("c")],
        any_part: false,
    };
    let search = Search::new(&matcher);
    assert!(search.holds(|at| at != 1));
    assert!(!search.holds(|at| at == 0));
    assert!(!search.holds(|at| at != 0));
}
