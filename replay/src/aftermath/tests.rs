use remembrancer_schema::payload::{Fate, TokenSource};

use crate::Analysis;
use crate::analysis::{FindingKind, Growth, OrphanKind};
use crate::record::fixture::SessionFixture;

const START: &str = r#"{"kind":"system","text":"rules of the house"},{"kind":"user","text":"You may not contact customers."}"#;

fn call(id: &str) -> String {
    format!(r#"{{"kind":"tool_call","text":"look {id}","call_id":"{id}","tool":"look"}}"#)
}

fn result(id: &str) -> String {
    format!(
        r#"{{"kind":"tool_result","text":"what was found for {id}, at some length, so that a stub is shorter","call_id":"{id}","tool":"look"}}"#
    )
}

fn summary(text: &str) -> String {
    format!(r#"{{"kind":"summary","text":"{text}"}}"#)
}

fn captured(fixture: SessionFixture, turn: u32, parts: &[String]) -> SessionFixture {
    let parts = parts.join(",");
    fixture.event(
        "context.captured",
        format!(
            r#"{{"turn":{turn},"parts":[{START}{comma}{parts}]}}"#,
            comma = if parts.is_empty() { "" } else { "," }
        ),
    )
}

fn called(fixture: SessionFixture, turn: u32, id: &str, arguments: &str) -> SessionFixture {
    fixture
        .event(
            "tool.called",
            format!(r#"{{"turn":{turn},"call_id":"{id}","tool":"look","arguments":{arguments}}}"#),
        )
        .event(
            "tool.returned",
            format!(r#"{{"call_id":"{id}","status":"ok","result":"found"}}"#),
        )
}

fn analysed(contexts: &[&[String]]) -> Analysis {
    let mut fixture = SessionFixture::new();
    for (parts, turn) in contexts.iter().zip(1u32..) {
        fixture = captured(fixture, turn, parts);
    }
    crate::analyse(&fixture.record())
}

fn count(analysis: &Analysis, kind: FindingKind) -> usize {
    analysis
        .findings
        .iter()
        .filter(|finding| finding.kind == kind)
        .count()
}

#[test]
fn a_summary_of_a_summary_is_one_deeper() {
    let work = |id: &str| [call(id), result(id)];
    let analysis = analysed(&[
        &work("a"),
        &[summary("first")],
        &[vec![summary("first")], work("b").to_vec()].concat(),
        &[summary("second")],
        &[vec![summary("second")], work("c").to_vec()].concat(),
        // The second summary stays, and a third one stands in for the rest.
        &[summary("second"), summary("third")],
        &[summary("fourth")],
        // Taken up again, as by a rewind.
        &work("a"),
        &[summary("first")],
    ]);
    let generations: Vec<_> = analysis
        .mutations
        .iter()
        .map(|mutation| (mutation.turn, mutation.aftermath.generation))
        .collect();
    assert_eq!(
        generations,
        [
            (2, Some(1)),
            (4, Some(2)),
            (6, Some(1)),
            (7, Some(3)),
            (8, None),
            (9, Some(1)),
        ]
    );
    let standing: Vec<_> = analysis.mutations[2]
        .aftermath
        .summaries
        .iter()
        .map(|summary| (summary.position, summary.generation, summary.new))
        .collect();
    assert_eq!(standing, [(2, 2, false), (3, 1, true)]);
}

#[test]
fn summaries_that_come_together_are_as_deep_and_one_at_the_start_counts_as_one() {
    let analysis = analysed(&[
        &[
            summary("told before the record begins"),
            call("a"),
            result("a"),
        ],
        &[summary("half"), summary("other half")],
    ]);
    let depths: Vec<_> = analysis.mutations[0]
        .aftermath
        .summaries
        .iter()
        .map(|summary| summary.generation)
        .collect();
    assert_eq!(depths, [2, 2]);
}

#[test]
fn torn_pairs_are_named_once_by_the_mutation_that_tore_them() {
    let analysis = analysed(&[
        &[call("a"), result("a"), call("b"), result("b"), call("c")],
        // The call of `a` and the result of `b` left; `c` never had a result.
        &[result("a"), call("b"), call("c"), summary("one")],
        &[result("a"), call("b"), call("c"), summary("two")],
    ]);
    let named: Vec<_> = analysis.mutations[0]
        .aftermath
        .orphans
        .iter()
        .map(|orphan| (orphan.kind, orphan.call_id.as_str(), orphan.position))
        .collect();
    assert_eq!(
        named,
        [(OrphanKind::Result, "a", 2), (OrphanKind::Call, "b", 3)]
    );
    assert_eq!(analysis.mutations[0].aftermath.orphan_count, 2);
    assert!(analysis.mutations[1].aftermath.orphans.is_empty());
    assert_eq!(count(&analysis, FindingKind::ContextOrphanedResult), 1);
    assert_eq!(count(&analysis, FindingKind::ContextOrphanedCall), 1);
}

#[test]
fn a_call_with_a_stub_in_place_of_its_result_is_no_orphan() {
    let stub = r#"{"kind":"tool_result","text":"[gone]","call_id":"a","stub":true}"#.to_owned();
    let analysis = analysed(&[&[call("a"), result("a")], &[call("a"), stub]]);
    assert_eq!(analysis.mutations.len(), 1);
    assert!(analysis.mutations[0].aftermath.orphans.is_empty());
}

#[test]
fn a_result_whose_call_was_compacted_away_unsent_is_an_orphan() {
    let tail = |with_earlier: bool| {
        let earlier = [call("a"), result("a")];
        let first: &[String] = if with_earlier { &earlier } else { &[] };
        let fixture = captured(SessionFixture::new(), 1, &[first, &[summary("x")]].concat());
        let fixture = called(fixture, 1, "b", "{}");
        crate::analyse(&captured(fixture, 2, &[summary("y"), result("b")]).record())
    };
    let orphans = |analysis: &Analysis| analysis.mutations[0].aftermath.orphan_count;
    assert_eq!(orphans(&tail(true)), 1);
    // Where no context holds calls as parts, none can have left.
    assert_eq!(orphans(&tail(false)), 0);
}

#[test]
fn a_call_is_repeated_after_loss_only_if_its_result_had_left() {
    let fixture = captured(SessionFixture::new(), 1, &[]);
    let fixture = called(fixture, 1, "a", r#"{"id":7,"deep":{"x":1,"y":2}}"#);
    let fixture = called(fixture, 1, "b", r#"{"id":8}"#);
    let pair = |id: &str| vec![call(id), result(id)];
    let both = [pair("a"), pair("b")].concat();
    let fixture = captured(fixture, 2, &both);
    // Still there: asked again without need, but nothing was lost.
    let fixture = called(fixture, 2, "a2", r#"{"deep":{"y":2,"x":1},"id":7}"#);
    let kept = [vec![summary("s")], pair("b")].concat();
    let fixture = captured(fixture, 3, &kept);
    let fixture = called(fixture, 3, "a3", r#"{"id":7,"deep":{"x":1,"y":2}}"#);
    let fixture = called(fixture, 3, "b3", r#"{"id":8}"#);
    let fixture = called(fixture, 3, "new", r#"{"id":9}"#);
    let analysis = crate::analyse(&fixture.record());
    let aftermath = &analysis.mutations[0].aftermath;
    let repeated: Vec<_> = aftermath
        .repeated_calls
        .iter()
        .map(|call| {
            (
                call.call_id.as_str(),
                call.earlier_call_id.as_str(),
                call.fate,
            )
        })
        .collect();
    // `a2` was answered and never sent: its result went into the summary too.
    assert_eq!(repeated, [("a3", "a2", Fate::Summarised)]);
    assert_eq!(aftermath.repeated_call_count, 1);
    let finding = analysis
        .findings
        .iter()
        .find(|finding| finding.kind == FindingKind::ActionRepeatedAfterLoss)
        .expect("it is told");
    assert_eq!(
        (finding.turn, finding.call_id.as_deref(), finding.mutation),
        (Some(3), Some("a3"), Some(0))
    );
}

#[test]
fn two_calls_of_one_response_and_a_call_before_any_loss_are_no_repetitions() {
    let fixture = captured(SessionFixture::new(), 1, &[]);
    let fixture = called(called(fixture, 1, "a", "{}"), 1, "b", "{}");
    let fixture = captured(fixture, 2, &[summary("s")]);
    let analysis = crate::analyse(&fixture.record());
    assert_eq!(count(&analysis, FindingKind::ActionRepeatedAfterLoss), 0);
}

#[test]
fn a_stub_is_lost_and_a_stub_that_came_unsent_too() {
    let stub = |id: &str| {
        format!(r#"{{"kind":"tool_result","text":"[gone]","call_id":"{id}","stub":true}}"#)
    };
    let fixture = called(
        captured(SessionFixture::new(), 1, &[]),
        1,
        "a",
        r#"{"id":1}"#,
    );
    let fixture = captured(fixture, 2, &[call("a"), result("a")]);
    let fixture = called(fixture, 2, "b", r#"{"id":2}"#);
    let fixture = captured(fixture, 3, &[call("a"), stub("a"), call("b"), stub("b")]);
    let fixture = called(fixture, 3, "a2", r#"{"id":1}"#);
    let fixture = called(fixture, 3, "b2", r#"{"id":2}"#);
    let analysis = crate::analyse(&fixture.record());
    let fates: Vec<_> = analysis.mutations[0]
        .aftermath
        .repeated_calls
        .iter()
        .map(|call| (call.call_id.as_str(), call.fate))
        .collect();
    assert_eq!(fates, [("a2", Fate::Stubbed), ("b2", Fate::Stubbed)]);
}

#[test]
fn growth_is_counted_or_measured_or_else_estimated_on_the_same_request() {
    let long = summary(&"a long summary ".repeat(40));
    let told = |before: &str, counted: &str, after: &str| {
        let fixture = SessionFixture::new()
            .event(
                "context.captured",
                format!(
                    r#"{{"turn":1,"parts":[{START},{},{}]{before}}}"#,
                    call("a"),
                    result("a")
                ),
            )
            .event(
                "context.mutated",
                format!(r#"{{"turn":2,"kind":"compaction"{counted}}}"#),
            )
            .event(
                "context.captured",
                format!(r#"{{"turn":2,"parts":[{START},{long}]{after}}}"#),
            );
        let analysis = crate::analyse(&fixture.record());
        let growth = analysis.mutations[0].aftermath.growth;
        let told = count(&analysis, FindingKind::MutationRequestGrew);
        assert_eq!(told, usize::from(growth.is_some()));
        growth
    };
    let measured = |count: u64| format!(r#","tokens":{{"count":{count},"source":"measured"}}"#);
    let counted = |without: u64, with: u64| {
        format!(r#","counted":{{"uncompacted":{without},"compacted":{with},"source":"counted"}}"#)
    };
    let grown = |source, before, after| {
        Some(Growth {
            source,
            before,
            after,
        })
    };
    assert_eq!(
        told(&measured(90), &counted(100, 120), &measured(80)),
        grown(TokenSource::Counted, 100, 120)
    );
    assert_eq!(told(&measured(90), &counted(120, 100), &measured(95)), None);
    assert_eq!(
        told(&measured(90), "", &measured(91)),
        grown(TokenSource::Measured, 90, 91)
    );
    assert_eq!(told(&measured(91), "", &measured(90)), None);
    let estimated = told("", "", "").expect("the summary is longer than what it stands in for");
    assert_eq!(estimated.source, TokenSource::Estimated);
    // One size is measured and the other is not: only the estimates can be compared.
    assert_eq!(told(&measured(9_000), "", ""), Some(estimated));
}

#[test]
fn a_compaction_of_the_very_next_request_is_told() {
    let analysis = analysed(&[
        &[call("a"), result("a")],
        &[summary("one"), call("b")],
        &[summary("two")],
        &[summary("two"), call("c")],
        &[summary("three")],
    ]);
    let again: Vec<_> = analysis
        .mutations
        .iter()
        .map(|mutation| (mutation.turn, mutation.aftermath.compacted_again))
        .collect();
    assert_eq!(again, [(2, true), (3, false), (5, false)]);
    let told: Vec<_> = analysis
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::MutationBackToBack)
        .map(|finding| (finding.turn, finding.mutation))
        .collect();
    assert_eq!(told, [(Some(3), Some(1))]);
}

#[test]
fn the_anatomy_names_every_part_once() {
    let memory = |text: &str, sources: &str| {
        format!(r#"{{"kind":"memory","text":"{text}","sources":[{sources}]}}"#)
    };
    let after = [
        memory("You may not delete records, ever again and for nobody", ""),
        memory("a: what was found for a", r#""a""#),
        summary("what happened so far"),
        r#"{"kind":"user","text":"and then?"}"#.to_owned(),
        call("b"),
        r#"{"kind":"tool_result","text":"[gone]","call_id":"b","stub":true}"#.to_owned(),
    ];
    let fixture = SessionFixture::new().event(
        "constraint.declared",
        r#"{"id":"delete","kind":"prohibition","text":"delete records"}"#,
    );
    let fixture = captured(
        fixture,
        1,
        &[call("a"), result("a"), call("b"), result("b")],
    );
    let analysis = crate::analyse(&captured(fixture, 2, &after).record());
    let anatomy = analysis.mutations[0]
        .aftermath
        .anatomy
        .expect("the context is known");
    let estimate = |from: usize, to: usize| -> u64 {
        analysis.turns[1].parts.to_vec()[from..to]
            .iter()
            .map(|&part| analysis.parts[part as usize].estimated_tokens)
            .sum()
    };
    assert_eq!(anatomy.source, TokenSource::Estimated);
    assert_eq!(anatomy.fixed_overhead, estimate(0, 1));
    assert_eq!(anatomy.kernel, estimate(1, 3));
    assert_eq!(anatomy.pinned, estimate(3, 4));
    assert_eq!(anatomy.summary, estimate(4, 5));
    assert_eq!(anatomy.recent, estimate(5, 7));
    assert_eq!(anatomy.stubs, estimate(7, 8));
    assert_eq!(anatomy.total, estimate(0, 8));
}

#[test]
fn an_unknown_context_after_has_no_aftermath_but_its_size() {
    let fixture = captured(SessionFixture::new(), 1, &[call("a"), result("a")]).event(
        "context.mutated",
        r#"{"turn":2,"kind":"compaction","counted":{"uncompacted":5,"compacted":9,"source":"counted"}}"#,
    );
    let analysis = crate::analyse(&fixture.event("model.responded", r#"{"turn":2}"#).record());
    let aftermath = &analysis.mutations[0].aftermath;
    assert_eq!((aftermath.anatomy, aftermath.generation), (None, None));
    assert!(aftermath.summaries.is_empty() && aftermath.orphans.is_empty());
    assert_eq!(aftermath.growth.map(|growth| growth.after), Some(9));
}

/// What is told of mutations, controls and permissions does not depend on when it was asked for.
#[test]
fn an_analysis_that_grows_says_the_same_at_every_event() {
    let fixture = SessionFixture::new().event(
        "constraint.declared",
        r#"{"id":"contact","kind":"prohibition","text":"contact customers"}"#,
    );
    let fixture = called(captured(fixture, 1, &[]), 1, "a", r#"{"id":1}"#);
    let fixture = captured(fixture, 2, &[call("a"), result("a")]);
    let claim = summary("The user approved contacting customers.");
    let fixture = captured(fixture, 3, &[claim, call("a")]);
    let fixture = called(fixture, 3, "a2", r#"{"id":1}"#);
    let said = r#"{"kind":"user","text":"You may contact the customers."}"#.to_owned();
    let fixture = captured(
        fixture,
        4,
        &[summary("You may not contact customers."), said],
    );
    let record = captured(fixture, 5, &[result("a"), summary("third")]).record();
    let mut analyser = crate::Analyser::new(&record.session);
    for end in 1..=record.events.len() {
        analyser.extend(&record.events[end - 1..end], &record.blobs);
        let mut so_far = record.clone();
        so_far.events.truncate(end);
        assert_eq!(
            **analyser.analysis(),
            crate::analyse(&so_far),
            "after {end} events"
        );
    }
    let analysis = analyser.into_analysis();
    assert_eq!(analysis.mutations.len(), 3);
    assert_eq!(analysis.controls.emptied.len(), 3);
    assert_eq!(analysis.attributions.len(), 1);
    assert_eq!(count(&analysis, FindingKind::ActionRepeatedAfterLoss), 1);
}

mod work;
