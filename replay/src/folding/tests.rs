use proptest::prelude::*;

use super::*;

fn folded(text: &str) -> String {
    Folded::new(text, Escapes::Plain).text().trim().to_owned()
}

#[test]
fn spellings_of_the_same_words_fold_to_the_same() {
    let cases = [
        ("Contact customers!", "contact customers"),
        ("contact_customers", "contact customers"),
        ("\"contact\"\u{a0}\n customers", "contact customers"),
        ("Ｃｏｎｔａｃｔ　ｃｕｓｔｏｍｅｒｓ", "contact customers"),
        ("con\u{200b}tact cus\u{ad}tomers", "contact customers"),
        (
            "\u{202e}contact\u{202c} \u{2066}customers\u{2069}",
            "contact customers",
        ),
        ("cafe\u{301} CAFÉ", "café café"),
        ("Straße STRASSE ẞ", "strasse strasse ss"),
        ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ("ﬁle", "file"),
        ("don\u{2019}t DON'T", "don't don't"),
        ("us\u{2011}west\u{2011}2", "us west 2"),
        ("> never\n> do", "never do"),
        ("## Rules **now**", "rules now"),
        ("<b>never</b>", "b never b"),
    ];
    for (text, expected) in cases {
        assert_eq!(folded(text), expected, "{text:?}");
    }
}

#[test]
fn what_changes_a_number_is_kept() {
    let different = [
        ("3.5", "35"),
        ("3.5", "3 5"),
        ("1,500", "1500"),
        ("$149", "149"),
        ("149€", "149"),
        ("-5", "5"),
        ("\u{2212}5", "5"),
        ("5%", "5"),
        ("10\u{b2}", "102"),
        ("3\u{bd}", "31/2"),
        ("x > 5", "x < 5"),
        ("a != b", "a = b"),
        ("x \u{2265} 5", "x 5"),
        ("02:00", "0200"),
        ("C++", "C"),
        ("c#", "c"),
    ];
    for (one, other) in different {
        assert_ne!(folded(one), folded(other), "{one:?} and {other:?}");
    }
    assert_eq!(folded("costs $149."), "costs $149");
    assert_eq!(folded("10\u{b2}"), folded("10^2"));
}

#[test]
fn a_match_is_of_whole_tokens_and_gives_the_original_bytes() {
    let needle = Folded::new("contact customers", Escapes::Plain);
    let text = "Wir: \u{201c}CON\u{200b}TACT\u{201d} – Customers.";
    let folded = Folded::new(text, Escapes::Plain);
    let at: Vec<usize> = folded.occurrences(&needle).collect();
    assert_eq!(at, [1]);
    let range = folded.original(1..3).expect("two tokens stand there");
    assert_eq!(&text[range], "CON\u{200b}TACT\u{201d} – Customers");
    for text in [
        "contact customersx",
        "recontact customers",
        "contact my customers",
    ] {
        assert_eq!(
            Folded::new(text, Escapes::Plain)
                .occurrences(&needle)
                .count(),
            0,
            "{text}"
        );
    }
    let art = Folded::new("art", Escapes::Plain);
    assert_eq!(
        Folded::new("cart arts", Escapes::Plain)
            .occurrences(&art)
            .count(),
        0
    );
    assert_eq!(
        Folded::new("art art", Escapes::Plain)
            .occurrences(&art)
            .count(),
        2
    );
}

#[test]
fn json_escapes_separate_words_or_stand_for_characters() {
    let text = r#"{"m":"hello\nContact\tcaf\u00e9\"s\\"}"#;
    let json = Folded::new(text, Escapes::Json);
    assert_eq!(json.text().trim(), "m hello contact café s");
    assert_eq!(Folded::new(r"a\u12", Escapes::Json).text().trim(), "a u12");
}

proptest! {
    #[test]
    fn ranges_are_boundaries_of_the_original(text in "\\PC*|[a-z\\\\nu0-9 \u{300}\u{200d}\u{1100}\u{1161}ｶﾞ.,$%<>=-]*") {
        for escapes in [Escapes::Plain, Escapes::Json] {
            let folded = Folded::new(&text, escapes);
            for index in 0..folded.len() {
                let range = folded.original(index..index + 1).expect("the token exists");
                prop_assert!(text.get(range).is_some());
                prop_assert!(text.get(folded.gap(index, text.len())).is_some());
                prop_assert!(!folded.token(index).is_empty());
            }
            prop_assert!(text.get(folded.gap(folded.len(), text.len())).is_some());
        }
    }

    #[test]
    fn folding_twice_changes_nothing(text in "[a-zA-Zéß0-9 _,.!-]{0,40}") {
        let once = folded(&text);
        prop_assert_eq!(folded(&once), once);
    }
}
