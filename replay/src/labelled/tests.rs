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
        assert_eq!(presence.state, PresenceState::Altered, "{label}");
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
        tally.add(case.label, case.judge().state);
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
