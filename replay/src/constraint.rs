//! The declared constraints, each with its place in the session.

use std::collections::HashMap;

use remembrancer_schema::payload::{
    ConstraintDeclared, ConstraintKind, MatchTerm, Payload, Witness,
};

use crate::analysis::{Constraint, Turn};
use crate::context::DeclaredConstraint;
use crate::reading::{LeftOut, Reading};

/// Most constraints that are looked for in one session.
const CONSTRAINTS_MAX: usize = 500;
/// Most states that are judged in one session: turns × constraints.
const STATES_MAX: usize = 5_000_000;

/// The constraints in order of declaration. Of two with one id the first counts, so that nobody can soften a limit by stating
/// it again; the second is left out and named. So are those beyond what one analysis looks for.
pub(crate) fn declared(
    reading: &Reading,
    turns: &[Turn],
) -> (Vec<DeclaredConstraint>, Vec<LeftOut>) {
    let mut constraints: Vec<DeclaredConstraint> = Vec::new();
    let mut first: HashMap<&str, &ConstraintDeclared> = HashMap::new();
    let mut left_out = Vec::new();
    let recorded = recorded_turns(turns);
    let room = CONSTRAINTS_MAX.min(STATES_MAX / turns.len().max(1));
    for read in &reading.events {
        let Payload::ConstraintDeclared(declared) = &read.payload else {
            continue;
        };
        match first.get(declared.id.as_str()) {
            None => {
                first.insert(declared.id.as_str(), declared);
                if constraints.len() >= room {
                    left_out.push(LeftOut {
                        entry: read.entry(),
                        turn: None,
                        reason: format!(
                            "constraint {} is one more than the {room} that are looked for in {} turns",
                            declared.id,
                            turns.len()
                        ),
                    });
                    continue;
                }
                constraints.push(DeclaredConstraint {
                    declared: ConstraintDeclared {
                        witness: Some(read.witness()),
                        ..declared.clone()
                    },
                    entry: read.entry(),
                    from_turn: first_turn_after(&recorded, read.entry()),
                });
            }
            Some(same) if says_the_same(same, declared) => {}
            Some(_) => left_out.push(LeftOut {
                entry: read.entry(),
                turn: None,
                reason: format!(
                    "constraint {} is declared a second time, with another content; the first declaration counts",
                    declared.id
                ),
            }),
        }
    }
    (constraints, left_out)
}

/// The constraint as the analysis shows it.
pub(crate) fn shown(constraint: &DeclaredConstraint) -> Constraint {
    let declared = &constraint.declared;
    Constraint {
        id: declared.id.to_string(),
        kind: declared.kind,
        text: declared.text.clone(),
        entry: constraint.entry,
        from_turn: constraint.from_turn,
        stated_by: declared.stated_by.clone(),
        inferred: declared.inferred,
        matcher: matcher_in_words(declared),
        witness: declared.witness.unwrap_or(Witness::Claimed),
    }
}

/// Whether two declarations are one, however each became known.
fn says_the_same(one: &ConstraintDeclared, other: &ConstraintDeclared) -> bool {
    let other = ConstraintDeclared {
        witness: one.witness,
        ..other.clone()
    };
    *one == other
}

/// Whether its absence is counted: prohibitions and obligations limit what an agent does.
pub(crate) fn is_limit(constraint: &DeclaredConstraint) -> bool {
    matches!(
        constraint.declared.kind,
        ConstraintKind::Prohibition | ConstraintKind::Obligation
    )
}

/// Entries of turns with the lowest number among those recorded from there on, so that one search answers a constraint.
fn recorded_turns(turns: &[Turn]) -> Vec<(u64, u32)> {
    let mut recorded: Vec<(u64, u32)> = turns
        .iter()
        .filter_map(|turn| {
            let entry = turn
                .entry
                .or(turn.response.as_ref().map(|response| response.entry))?;
            Some((entry, turn.number))
        })
        .collect();
    recorded.sort_unstable();
    let mut lowest = u32::MAX;
    for (_, number) in recorded.iter_mut().rev() {
        lowest = lowest.min(*number);
        *number = lowest;
    }
    recorded
}

fn first_turn_after(recorded: &[(u64, u32)], entry: u64) -> Option<u32> {
    let at = recorded.partition_point(|&(turn_entry, _)| turn_entry < entry);
    recorded.get(at).map(|&(_, number)| number)
}

fn matcher_in_words(declared: &ConstraintDeclared) -> String {
    let Some(matcher) = &declared.matcher else {
        return "the words of its text".to_owned();
    };
    let list = |terms: &[MatchTerm]| {
        terms
            .iter()
            .map(term_in_words)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut clauses = Vec::new();
    if !matcher.all_of.is_empty() {
        clauses.push(format!("all of {}", list(&matcher.all_of)));
    }
    if !matcher.any_of.is_empty() {
        clauses.push(format!("any of {}", list(&matcher.any_of)));
    }
    let place = if matcher.any_part {
        "in every part"
    } else {
        "in carrying parts"
    };
    format!("{} {place}", clauses.join(" and "))
}

fn term_in_words(term: &MatchTerm) -> String {
    match (&term.term, &term.literal, &term.regex) {
        (Some(words), _, _) if term.substring => format!("the substring {words:?}"),
        (Some(words), _, _) => format!("the term {words:?}"),
        (_, Some(text), _) => format!("the text {text:?}"),
        (_, _, Some(regex)) => format!("the expression {regex:?}"),
        (None, None, None) => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::SessionFixture;

    #[test]
    fn the_first_of_two_declarations_counts_and_its_matcher_is_told_in_words() {
        let record = SessionFixture::new()
            .event("context.captured", r#"{"turn":1,"parts":[]}"#)
            .event(
                "constraint.declared",
                r#"{"id":"c","kind":"prohibition","text":"never x",
                    "matcher":{"all_of":[{"term":"x","substring":true}],"any_of":[{"regex":"n.ver"},{"literal":"no"}]}}"#,
            )
            .event("context.captured", r#"{"turn":2,"base":1,"parts":[]}"#)
            .event("constraint.declared", r#"{"id":"c","kind":"prohibition","text":"x if you like"}"#)
            .record();
        let reading = Reading::of(&record);
        let (timeline, _) = crate::context::rebuild(&record);
        let (constraints, left_out) = declared(&reading, &timeline.turns);
        assert_eq!(constraints.len(), 1);
        assert_eq!(constraints[0].declared.text, "never x");
        assert_eq!(constraints[0].from_turn, Some(2));
        assert_eq!(left_out.len(), 1);
        assert_eq!(
            shown(&constraints[0]).matcher,
            r#"all of the substring "x" and any of the expression "n.ver", the text "no" in carrying parts"#
        );
    }

    #[test]
    fn constraints_beyond_the_bounds_are_left_out_and_named() {
        let mut fixture =
            SessionFixture::new().event("context.captured", r#"{"turn":1,"parts":[]}"#);
        for number in 0..502 {
            let data = format!(r#"{{"id":"c{number}","kind":"prohibition","text":"never x"}}"#);
            fixture = fixture.event("constraint.declared", data);
        }
        let record = fixture.record();
        let reading = Reading::of(&record);
        let (timeline, _) = crate::context::rebuild(&record);
        let (constraints, left_out) = declared(&reading, &timeline.turns);
        assert_eq!(constraints.len(), CONSTRAINTS_MAX);
        assert_eq!(left_out.len(), 2);
        assert!(
            left_out[0].reason.starts_with("constraint c500 "),
            "{left_out:?}"
        );
        let turns = vec![timeline.turns[0].clone(); 50_000];
        let (constraints, left_out) = declared(&reading, &turns);
        assert_eq!((constraints.len(), left_out.len()), (100, 402));
        let analysis = crate::analyse(&record);
        let told = analysis.findings.iter().filter(|finding| {
            finding
                .message
                .contains("left out of the analysis: constraint c50")
        });
        assert_eq!(told.count(), 2);
        assert_eq!(analysis.presence[0].len(), CONSTRAINTS_MAX);
    }
}
