use proptest::prelude::*;
use remembrancer_schema::payload::MatchTerm;

use super::*;

const DECLARED: &str = "contact customers";

fn limit() -> DeclaredConstraint {
    constraint("contact", ConstraintKind::Prohibition, DECLARED)
}

fn states(
    contexts: &Contexts,
    mutations: &[Mutation],
    declared: &DeclaredConstraint,
) -> Vec<Presence> {
    let rows = matrix(
        &contexts.timeline,
        mutations,
        std::slice::from_ref(declared),
    );
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}

#[test]
fn only_carrying_parts_make_a_statement_present() {
    let text = "You may not contact customers.";
    for (kind, expected) in [
        (PartKind::System, PresenceState::Verbatim),
        (PartKind::User, PresenceState::Verbatim),
        (PartKind::Summary, PresenceState::Verbatim),
        (PartKind::Memory, PresenceState::Verbatim),
        (PartKind::Assistant, PresenceState::Mention),
        (PartKind::Reasoning, PresenceState::Mention),
        (PartKind::ToolCall, PresenceState::Mention),
        (PartKind::ToolResult, PresenceState::Mention),
        (PartKind::ToolSchema, PresenceState::Mention),
        (PartKind::Other, PresenceState::Mention),
    ] {
        let presence = stands(ConstraintKind::Prohibition, DECLARED, kind, text);
        assert_eq!(presence.state, Some(expected), "{kind:?}");
        let (start, end) = presence.evidence[0].range.expect("the text holds it");
        assert_eq!(&text[start..end], DECLARED);
    }
}

#[test]
fn hidden_and_odd_characters_hide_nothing() {
    for text in [
        "You may not con\u{200b}tact cus\u{2060}tomers.",
        "You may not \u{202e}contact\u{202c} customers.",
        "You may not ＣＯＮＴＡＣＴ customers.",
        "You\u{a0}may not \u{201c}contact  customers\u{201d}",
    ] {
        let presence = stands(ConstraintKind::Prohibition, DECLARED, PartKind::User, text);
        assert_eq!(presence.state, Some(PresenceState::Verbatim), "{text:?}");
    }
}

#[test]
fn a_tools_name_is_a_mention_without_a_range() {
    let mut contexts = Contexts::default();
    let call = contexts.tool_part(
        PartKind::ToolCall,
        Some("contact_customer"),
        Ok("{\"to\":\"C-1\"}"),
    );
    contexts.turn(1, vec![call]);
    let presence = &states(&contexts, &[], &limit())[0];
    assert_eq!(presence.state, Some(PresenceState::Mention));
    assert_eq!(presence.evidence[0].range, None);
    assert_eq!(presence.evidence.tokens_from_end(&presence.evidence[0]), 3);
}

#[test]
fn unreadable_parts_leave_it_open_unless_something_readable_settles_it() {
    let cases = [
        (PartKind::Summary, "nothing of it", PresenceState::Opaque),
        (
            PartKind::Summary,
            "to contact customers is a topic",
            PresenceState::Opaque,
        ),
        (PartKind::Reasoning, "nothing of it", PresenceState::Opaque),
        (
            PartKind::Reasoning,
            "to contact customers is a topic",
            PresenceState::Mention,
        ),
        (
            PartKind::Summary,
            "Never contact customers.",
            PresenceState::Verbatim,
        ),
    ];
    for (hidden, text, expected) in cases {
        let mut contexts = Contexts::default();
        let secret = contexts.tool_part(hidden, None, Err(Absence::Encrypted));
        let readable = contexts.part(PartKind::User, text);
        contexts.turn(1, vec![secret, readable]);
        let presence = &states(&contexts, &[], &limit())[0];
        assert_eq!(presence.state, Some(expected), "{hidden:?} {text}");
        let says_why = presence
            .reason_in_words()
            .is_some_and(|reason| reason.contains("position 0") && reason.contains("encrypted"));
        assert_eq!(
            says_why,
            expected == PresenceState::Opaque,
            "{:?}",
            presence.reason
        );
    }
}

#[test]
fn an_unknown_context_is_unknown_unless_a_known_part_carries_it() {
    for (text, expected) in [
        ("hello", PresenceState::Unknown),
        ("Never contact customers.", PresenceState::Verbatim),
    ] {
        let mut contexts = Contexts::default();
        let part = contexts.part(PartKind::User, text);
        contexts.turn(1, vec![part]).unknown = Some("turn 1 was not captured".to_owned());
        let presence = &states(&contexts, &[], &limit())[0];
        assert_eq!(presence.state, Some(expected));
        assert!(
            presence
                .reason_in_words()
                .is_some_and(|reason| reason.contains("not captured"))
        );
    }
}

#[test]
fn it_leaves_with_the_mutation_after_the_last_present_turn_and_may_come_back() {
    let mut contexts = Contexts::default();
    let rule = contexts.part(PartKind::User, "Never contact customers.");
    let other = contexts.part(PartKind::Summary, "Work goes on.");
    contexts.turn(1, vec![rule]);
    contexts.turn(2, vec![rule, other]);
    contexts.turn(4, vec![other]);
    contexts.turn(5, vec![other, other]);
    contexts.turn(6, vec![other, rule]);
    contexts.turn(7, vec![other]);
    let mutations = [mutation(4, 2), mutation(7, 6)];
    let presences = states(&contexts, &mutations, &limit());
    let told: Vec<_> = presences
        .iter()
        .map(|p| (p.is_present(), p.last_present, p.left_with))
        .collect();
    assert_eq!(
        told,
        [
            (true, None, None),
            (true, Some(1), None),
            (false, Some(2), Some(0)),
            (false, Some(2), Some(0)),
            (true, Some(2), None),
            (false, Some(6), Some(1)),
        ]
    );
    assert!(
        presences[2]
            .reason_in_words()
            .is_some_and(|reason| reason.contains("last present at turn 2"))
    );
}

#[test]
fn what_never_was_present_left_with_nothing() {
    let mut contexts = Contexts::default();
    let part = contexts.part(PartKind::User, "Hello.");
    contexts.turn(3, vec![part]);
    let mut declared = limit();
    declared.from_turn = Some(3);
    let presence = &states(&contexts, &[mutation(3, 1)], &declared)[0];
    assert_eq!(
        (presence.state, presence.last_present, presence.left_with),
        (Some(PresenceState::NoTrace), None, None)
    );
    let reason = presence.reason_in_words().unwrap_or_default();
    assert!(reason.contains("no earlier recorded context"), "{reason}");
}

#[test]
fn before_its_declaration_a_constraint_has_no_state_unless_it_is_present() {
    let mut contexts = Contexts::default();
    let hello = contexts.part(PartKind::User, "Hello.");
    let said = contexts.part(PartKind::User, "Never contact customers.");
    let softer = contexts.part(PartKind::User, "Try not to contact customers.");
    contexts.turn(1, vec![hello]);
    contexts.turn(2, vec![softer]);
    contexts.turn(3, vec![hello, said]);
    contexts.turn(4, vec![hello]).unknown = Some("not captured".to_owned());
    contexts.turn(5, vec![hello]);
    contexts.turn(6, vec![softer]);
    for (from_turn, when) in [
        (Some(5), "before turn 5"),
        (None, "after the last recorded turn"),
    ] {
        let declared = DeclaredConstraint {
            from_turn,
            ..limit()
        };
        let presences = states(&contexts, &[], &declared);
        let found: Vec<_> = presences.iter().map(|presence| presence.state).collect();
        let after = from_turn.map(|_| [PresenceState::NoTrace, PresenceState::Altered]);
        let expected = [
            None,
            None,
            Some(PresenceState::Verbatim),
            None,
            after.map(|states| states[0]),
            after.map(|states| states[1]),
        ];
        assert_eq!(found, expected, "{from_turn:?}");
        for before in presences.iter().filter(|presence| presence.state.is_none()) {
            assert!(before.evidence.is_empty() && before.at_risk.is_none());
            assert!(!before.is_present() && !before.has_no_trace());
            let reason = before.reason_in_words().unwrap_or_default();
            assert!(reason.starts_with("not yet declared: "), "{reason}");
            assert!(reason.ends_with(when), "{reason}");
        }
        assert_eq!(presences[4].last_present, Some(3));
    }
}

#[test]
fn risk_follows_the_safest_place() {
    let cases = [
        (&[PartKind::Summary][..], Some(Risk::OnlyInSummary)),
        (&[PartKind::User], Some(Risk::OnlyInMessages)),
        (
            &[PartKind::User, PartKind::Summary],
            Some(Risk::OnlyInMessages),
        ),
        (&[PartKind::Summary, PartKind::System], None),
        (&[PartKind::User, PartKind::Memory], None),
    ];
    for (kinds, expected) in cases {
        let mut contexts = Contexts::default();
        let parts = kinds
            .iter()
            .map(|kind| contexts.part(*kind, "Never contact customers."))
            .collect();
        contexts.turn(1, parts);
        assert_eq!(
            states(&contexts, &[], &limit())[0].at_risk,
            expected,
            "{kinds:?}"
        );
    }
}

#[test]
fn evidence_is_bounded_and_counts_tokens_to_the_end() {
    let mut contexts = Contexts::default();
    let rule = contexts.part(PartKind::User, "Never contact customers. Be kind to all."); // 17 characters after it
    let filler = contexts.part(PartKind::User, "abcdefgh");
    let mut parts = vec![rule; 20];
    parts.push(filler);
    contexts.turn(1, parts);
    let presence = &states(&contexts, &[], &limit())[0];
    assert_eq!(presence.evidence.len(), EVIDENCE_MAX);
    assert_eq!(presence.evidence[0].position, 0);
    let rest = "Never contact customers. Be kind to all.".len() - "Never contact customers".len();
    assert_eq!(
        presence.evidence.tokens_from_end(&presence.evidence[0]),
        (rest as u64).div_ceil(4) + 19 * 10 + 2
    );
}

#[test]
fn the_statement_itself_wins_and_the_alteration_stays_as_evidence() {
    let mut contexts = Contexts::default();
    let rule = contexts.part(PartKind::System, "Never contact customers.");
    let softer = contexts.part(PartKind::Summary, "Customers may be contacted when needed.");
    let paraphrase = contexts.part(PartKind::User, "Customers: no contacting them.");
    let both = contexts.part(
        PartKind::User,
        "Never contact customers. From May on, you may contact customers.",
    );
    contexts.turn(1, vec![rule; 12].into_iter().chain([softer]).collect());
    contexts.turn(2, vec![softer, paraphrase]);
    contexts.turn(3, vec![both]);
    let presences = states(&contexts, &[], &limit());
    use PresenceState::{Altered, Verbatim};
    for (presence, expected) in presences.iter().zip([Verbatim, Altered, Verbatim]) {
        assert_eq!(presence.state, Some(expected), "{presence:?}");
        let altered = presence
            .evidence
            .iter()
            .find_map(|place| place.alteration.as_ref());
        let altered = altered.expect("what says otherwise is named");
        assert_eq!(altered.declared, DECLARED);
        assert_eq!(altered.kind, crate::analysis::AlterationKind::Contradicted);
        assert!(altered.said.contains("may") && altered.difference.contains("may"));
    }
    assert_eq!(presences[0].evidence.len(), EVIDENCE_MAX);
    assert!(!presences[1].is_present() && presences[1].at_risk.is_none());
}

#[test]
fn an_alteration_settles_nothing_that_an_unreadable_part_could_say() {
    let mut contexts = Contexts::default();
    let secret = contexts.tool_part(PartKind::Summary, None, Err(Absence::Encrypted));
    let softer = contexts.part(PartKind::User, "You may contact customers.");
    contexts.turn(1, vec![secret, softer]);
    contexts.turn(2, vec![softer]);
    let presences = states(&contexts, &[], &limit());
    assert_eq!(presences[0].state, Some(PresenceState::Opaque));
    assert!(presences[0].evidence[0].alteration.is_some());
    assert_eq!(presences[1].state, Some(PresenceState::Altered));
}

#[test]
fn only_carrying_parts_alter() {
    for kind in [
        PartKind::Assistant,
        PartKind::ToolResult,
        PartKind::ToolCall,
        PartKind::Reasoning,
    ] {
        let text = "You may contact customers.";
        let presence = stands(ConstraintKind::Prohibition, DECLARED, kind, text);
        assert_eq!(presence.state, Some(PresenceState::Mention), "{kind:?}");
    }
}

#[test]
fn a_declared_matcher_decides_over_all_carrying_parts() {
    let term = |text: &str| MatchTerm {
        term: Some(text.to_owned()),
        ..MatchTerm::default()
    };
    let matcher = |any_part| Matcher {
        all_of: vec![term("contact"), term("customers")],
        any_of: vec![],
        any_part,
    };
    let mut contexts = Contexts::default();
    let one = contexts.part(PartKind::System, "About customers.");
    let two = contexts.part(PartKind::Summary, "No contact.");
    let call = contexts.part(PartKind::ToolCall, "contact");
    contexts.turn(1, vec![one, two]);
    contexts.turn(2, vec![one, call]);
    contexts.turn(3, vec![one]);
    let carrying = states(&contexts, &[], &with_matcher(limit(), matcher(false)));
    let states_of =
        |presences: &[Presence]| presences.iter().filter_map(|p| p.state).collect::<Vec<_>>();
    use PresenceState::{Matched, Mention, NoTrace, Unknown};
    assert_eq!(states_of(&carrying), [Matched, Mention, NoTrace]);
    assert_eq!(carrying[0].evidence.len(), 2);
    let any = states(&contexts, &[], &with_matcher(limit(), matcher(true)));
    assert_eq!(states_of(&any), [Matched, Matched, NoTrace]);
    let broken = Matcher {
        all_of: vec![MatchTerm {
            regex: Some("(".to_owned()),
            ..MatchTerm::default()
        }],
        ..Matcher::default()
    };
    let broken = states(&contexts, &[], &with_matcher(limit(), broken));
    assert_eq!(states_of(&broken), [Unknown; 3]);
    assert!(
        broken[0]
            .reason_in_words()
            .is_some_and(|reason| reason.contains("does not compile"))
    );
}

#[test]
fn walking_through_turns_gives_what_each_turn_alone_gives() {
    let mut contexts = Contexts::default();
    let texts = [
        "Never contact customers.",
        "contact customers",
        "x",
        "You must not contact customers",
        "y",
    ];
    let parts: Vec<PartIndex> = texts
        .iter()
        .map(|text| contexts.part(PartKind::User, text))
        .collect();
    let orders = [
        &[0, 1, 2][..],
        &[0, 1, 2, 3],
        &[4, 2],
        &[1],
        &[1, 3, 3, 0],
        &[],
    ];
    for (number, order) in (1..).zip(orders) {
        contexts.turn(number, order.iter().map(|at: &usize| parts[*at]).collect());
    }
    let together = states(&contexts, &[], &limit());
    for (at, presence) in together.iter().enumerate() {
        let mut alone = Contexts {
            timeline: contexts.timeline.clone(),
        };
        alone.timeline.turns = vec![contexts.timeline.turns[at].clone()];
        let alone = &states(&alone, &[], &limit())[0];
        assert_eq!(
            (presence.state, &presence.evidence, presence.at_risk),
            (alone.state, &alone.evidence, alone.at_risk),
            "turn {at}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn hostile_text_gives_states_with_sound_evidence(
        declared in "\\PC{1,30}|(never |not |contact |customers |[0-9.$;:()] ){1,8}",
        texts in prop::collection::vec("(\\PC{0,6}|contact|customers?|contacted|never|may not|must not|or|be|no|unless|withdrawn| |[.] |\n|\n- |\n# |; |: |[(]|[)]|\\\\u00e9|\u{200b}|\u{301}|\u{1160}){0,40}", 1..5),
        kind in 0_usize..4,
    ) {
        let kinds = [ConstraintKind::Prohibition, ConstraintKind::Permission, ConstraintKind::Obligation, ConstraintKind::Fact];
        let parts = [PartKind::User, PartKind::ToolCall, PartKind::Summary, PartKind::ToolResult];
        let mut contexts = Contexts::default();
        let indices: Vec<PartIndex> = texts.iter().zip(parts.iter().cycle())
            .map(|(text, part)| contexts.tool_part(*part, Some("contact_customer"), Ok(text)))
            .collect();
        contexts.turn(1, indices);
        let presence = &states(&contexts, &[], &constraint("c", kinds[kind], &declared))[0];
        for place in &presence.evidence {
            let part = &contexts.timeline.parts[place.part as usize];
            let text = contexts.timeline.contents[part.content].text.as_deref().unwrap_or("");
            if let Some((start, end)) = place.range {
                prop_assert!(start < end && text.get(start..end).is_some());
            }
        }
        prop_assert_eq!(presence.is_present(), presence.evidence.first().is_some_and(|place| place.state.is_present()));
    }
}
