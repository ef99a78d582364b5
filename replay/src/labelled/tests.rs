use super::*;
use crate::analysis::PresenceState;

#[test]
fn both_forms_of_a_line_are_read() {
    let pair = r#"{"id":"p","constraint":"Never shout.","compacted":"x","human_present":true,"judge_present":false}"#;
    let case = Case::parse(pair).expect("a pair");
    assert_eq!((case.label, case.parts.len()), (Label::Present, 1));
    assert_eq!(case.parts[0].0, PartKind::Summary);
    let case = r#"{"case_id":"c","invariant":"Never shout.","label":"mutated","summary":"S","operator":"o","category":"k",
        "after":[{"role":"system","content":"a"},{"role":"user","content":"S"},{"role":"tool","content":"b"},{"role":"assistant","content":"d"}]}"#;
    let case = Case::parse(&case.replace('\n', " ")).expect("a case");
    let kinds: Vec<PartKind> = case.parts.iter().map(|(kind, _)| *kind).collect();
    use PartKind::{Assistant, Summary, System, ToolResult};
    assert_eq!(kinds, [System, Summary, ToolResult, Assistant]);
    assert_eq!(case.label, Label::Mutated);
}

#[test]
fn a_line_of_another_form_says_what_it_lacks() {
    for (line, says) in [
        ("{", "not JSON"),
        ("{}", "neither"),
        (
            r#"{"compacted":"x","id":"i","constraint":"c"}"#,
            "human_present",
        ),
        (
            r#"{"after":[],"case_id":"i","invariant":"c","label":"gone"}"#,
            "\"gone\"",
        ),
        (
            r#"{"after":[{}],"case_id":"i","invariant":"c","label":"dropped"}"#,
            "content",
        ),
        (r#"{"after":3}"#, "a list of messages"),
    ] {
        let error = Case::parse(line).expect_err(line).to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn a_case_is_judged_by_its_messages_alone() {
    let line = |label: &str| {
        format!(
            r#"{{"case_id":"c","invariant":"Never shout at customers.","label":"{label}","operator":"{label}","after":[{{"role":"user","content":"You may shout at customers."}}]}}"#
        )
    };
    for label in ["preserved", "mutated", "contradicted", "dropped"] {
        let presence = Case::parse(&line(label)).expect("a case").judge();
        assert_eq!(presence.state, Some(PresenceState::Altered), "{label}");
    }
}

#[test]
fn kinds_follow_from_the_words() {
    use ConstraintKind::{Obligation, Permission, Prohibition};
    for (text, expected) in [
        ("Never shout.", Prohibition),
        ("Spend must not exceed $5.", Prohibition),
        ("You may shout.", Permission),
        ("Use metric, not imperial.", Obligation),
        ("Shout.", Obligation),
    ] {
        assert_eq!(kind_of(text), expected, "{text}");
    }
}

#[test]
fn precision_and_recall_are_counted_by_class() {
    let mut tally = Tally::default();
    tally.add(Label::Preserved, PresenceState::Verbatim);
    tally.add(Label::Paraphrased, PresenceState::Altered);
    tally.add(Label::Mutated, PresenceState::Altered);
    tally.add(Label::Dropped, PresenceState::Mention);
    assert_eq!(tally.precision(Class::Altered), (1, 2));
    assert_eq!(tally.recall(Class::Altered), (1, 1));
    assert_eq!(tally.recall(Class::Kept), (1, 2));
    assert_eq!(tally.precision(Class::Gone), (1, 1));
    assert_eq!(tally.labelled(Label::Mutated), 1);
    assert_eq!(
        tally.among(Label::Paraphrased, &[PresenceState::Altered]),
        1
    );
}

/// Sentences about many subjects, each a rewrite of the constraint above it, with what was done to it.
const REWRITES: &str = include_str!("tests/rewrites.txt");

#[test]
fn rewrites_about_many_subjects_are_told() {
    let (mut constraint, mut tally) = ("", Tally::default());
    for line in REWRITES.lines() {
        let Some((label, text)) = line
            .trim_start()
            .split_once(": ")
            .filter(|_| line.starts_with(' '))
        else {
            constraint = line;
            continue;
        };
        let text = format!("Summary of the session so far. {text} Work goes on as planned.");
        let case = Case {
            id: String::new(),
            label: Label::of_case(label).expect("a label"),
            constraint: constraint.to_owned(),
            parts: vec![(PartKind::Summary, text)],
        };
        tally.add(
            case.label,
            case.judge().state.expect("declared from the first turn on"),
        );
    }
    let told = |label, state: &[PresenceState]| (tally.among(label, state), tally.labelled(label));
    use PresenceState::{Altered, Matched, Partial, Verbatim};
    assert_eq!(told(Label::Weakened, &[Altered]), (40, 40));
    assert_eq!(told(Label::Mutated, &[Altered]), (12, 12));
    assert_eq!(told(Label::Contradicted, &[Altered]), (32, 34));
    assert_eq!(
        told(Label::Paraphrased, &[Verbatim, Matched, Partial]),
        (29, 29)
    );
}

/// Restatements that the authors of the lists wrote: the first for making the rules, the second before they looked at the lists,
/// and only measured.
const DEVELOPMENT: &str = include_str!("../../testdata/restatements-development.jsonl");
const SEALED: &str = include_str!("../../testdata/restatements-sealed.jsonl");

/// How many cases each label has, and how many of those come out `altered`: weakened, mutated, contradicted, paraphrased.
fn altered(set: &str) -> [(u64, u64); 4] {
    use Label::{Contradicted, Mutated, Paraphrased, Weakened};
    let mut tally = Tally::default();
    for line in set.lines() {
        let case = Case::parse(line).expect("a case");
        let state = case.judge().state.expect("declared before the text");
        tally.add(case.label, state);
    }
    [Weakened, Mutated, Contradicted, Paraphrased].map(|label| {
        let altered = tally.among(label, &[PresenceState::Altered]);
        (altered, tally.labelled(label))
    })
}

/// Whether the shares of a set, in per cent, keep to the bars: at least of the first three, at most of the paraphrases.
fn keeps_to(set: &str, bars: [u64; 4]) {
    let told = altered(set);
    for ((altered, cases), bar) in told.iter().zip(bars).take(3) {
        assert!(*cases > 0 && altered * 100 >= cases * bar, "{told:?}");
    }
    let (altered, cases) = told[3];
    assert!(cases > 0 && altered * 100 <= cases * bars[3], "{told:?}");
}

#[test]
fn own_restatements_are_told() {
    keeps_to(DEVELOPMENT, [94, 98, 94, 2]);
}

#[test]
fn own_restatements_that_no_rule_was_made_for_are_told() {
    keeps_to(SEALED, [90, 96, 90, 5]);
}
