use super::*;
use crate::record::fixture::SessionFixture;

fn capture(turn: u32, parts: &str) -> String {
    format!(r#"{{"turn":{turn},"parts":[{parts}]}}"#)
}

const START: &str = r#"{"kind":"system","text":"rules"},{"kind":"user","text":"work"}"#;
const WORK: &str = r#"{"kind":"assistant","text":"thinking about it"}"#;
const SUMMARY: &str = r#"{"kind":"summary","text":"worked"}"#;

fn analysed(fixture: SessionFixture) -> (ContextTimeline, Vec<Mutation>) {
    let record = fixture.record();
    let reading = Reading::of(&record);
    let (mut timeline, _) = crate::context::rebuild(&record);
    let (mutations, _) = mutations(&reading, &mut timeline, Some(100));
    (timeline, mutations)
}

#[test]
fn a_declaration_joins_the_change_of_its_turn_and_its_kind_wins() {
    let (timeline, mutations) = analysed(
        SessionFixture::new()
            .event("context.captured", capture(1, &format!("{START},{WORK}")))
            .event(
                "context.mutated",
                r#"{"turn":2,"kind":"server_edit","name":"cmp-1","trigger":{"threshold_tokens":50},
                    "counted":{"uncompacted":100,"compacted":40,"fixed_overhead":10,"source":"counted"}}"#,
            )
            .event("context.captured", capture(2, &format!("{START},{SUMMARY}"))),
    );
    assert_eq!(mutations.len(), 1);
    let mutation = &mutations[0];
    assert_eq!((mutation.turn, mutation.previous_turn), (2, Some(1)));
    assert_eq!(mutation.kind, MutationKind::ServerEdit);
    assert_eq!(mutation.fates[2].fate, Fate::Summarised);
    assert_eq!(
        mutation
            .budget
            .floor
            .map(|floor| (floor.trigger, floor.required)),
        Some((50, 70))
    );
    assert!(mutation.disagreements.is_empty());
    assert_eq!(timeline.turns[1].mutation, Some(0));
    assert_eq!(timeline.turns[0].mutation, None);
}

#[test]
fn contexts_are_compared_across_turns_that_are_not_known() {
    let (timeline, mutations) = analysed(
        SessionFixture::new()
            .event("context.captured", capture(1, &format!("{START},{WORK}")))
            .event("model.responded", r#"{"turn":2}"#)
            .event("context.captured", capture(3, START)),
    );
    assert_eq!(mutations.len(), 1);
    assert_eq!(
        (mutations[0].turn, mutations[0].previous_turn),
        (3, Some(1))
    );
    assert_eq!(mutations[0].kind, MutationKind::Truncation);
    assert!(mutations[0].declared.is_none());
    assert_eq!(timeline.turns[2].mutation, Some(0));
}

#[test]
fn a_declared_compaction_that_changed_nothing_is_a_mutation_and_a_disagreement() {
    let grown = |kind: &str| {
        analysed(
            SessionFixture::new()
                .event("context.captured", capture(1, START))
                .event(
                    "context.mutated",
                    format!(r#"{{"turn":2,"kind":"{kind}"}}"#),
                )
                .event("context.captured", capture(2, &format!("{START},{WORK}"))),
        )
        .1
    };
    let compaction = grown("compaction");
    assert_eq!(compaction.len(), 1);
    assert!(compaction[0].fates.is_empty());
    assert!(declaration::is_understated(&compaction[0].disagreements[0]));
    assert!(
        grown("restatement")[0].disagreements.is_empty(),
        "a restatement may only append"
    );
}

#[test]
fn declarations_about_turns_that_are_not_known_stay_unjudged() {
    let (timeline, mutations) = analysed(
        SessionFixture::new()
            .event("context.captured", capture(1, START))
            .event("context.mutated", r#"{"turn":2,"kind":"compaction"}"#)
            .event("context.mutated", r#"{"turn":9,"kind":"clear"}"#)
            .event("model.responded", r#"{"turn":3}"#)
            .event("context.mutated", r#"{"turn":3,"kind":"rewind"}"#),
    );
    let told: Vec<_> = mutations
        .iter()
        .map(|mutation| (mutation.turn, mutation.previous_turn))
        .collect();
    assert_eq!(told, [(2, Some(1)), (3, Some(1)), (9, Some(1))]);
    assert!(
        mutations
            .iter()
            .all(|mutation| mutation.disagreements.is_empty() && mutation.fates.is_empty())
    );
    assert_eq!(timeline.turns[1].mutation, Some(1));
}

#[test]
fn two_declarations_of_one_turn_share_what_was_derived() {
    let (timeline, mutations) = analysed(
        SessionFixture::new()
            .event("context.captured", capture(1, &format!("{START},{WORK}")))
            .event("context.mutated", r#"{"turn":2,"kind":"microcompaction"}"#)
            .event("context.mutated", r#"{"turn":2,"kind":"compaction"}"#)
            .event(
                "context.captured",
                capture(2, &format!("{START},{SUMMARY}")),
            ),
    );
    assert_eq!(mutations.len(), 2);
    assert_eq!(mutations[0].fates, mutations[1].fates);
    assert_eq!(timeline.turns[1].mutation, Some(0));
}

#[test]
fn declarations_of_one_turn_beyond_the_bound_are_left_out_and_named() {
    let mut fixture =
        SessionFixture::new().event("context.captured", capture(1, &format!("{START},{WORK}")));
    for _ in 0..18 {
        fixture = fixture.event("context.mutated", r#"{"turn":2,"kind":"compaction"}"#);
    }
    let fixture = fixture.event(
        "context.captured",
        capture(2, &format!("{START},{SUMMARY}")),
    );
    let analysis = crate::analyse(&fixture.record());
    assert_eq!(analysis.mutations.len(), TURN_DECLARATIONS_MAX);
    let told: Vec<_> = analysis
        .findings
        .iter()
        .filter(|finding| {
            finding
                .message
                .contains("16 mutations were declared for turn 2")
        })
        .map(|finding| (finding.turn, finding.entry))
        .collect();
    assert_eq!(told, [(Some(2), Some(17)), (Some(2), Some(18))]);
}
