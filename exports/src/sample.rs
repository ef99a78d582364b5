//! A small record with its analysis, made by hand: what the tables must show is known without computing it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use remembrancer_replay::analysis::{
    Absence, Action, Aftermath, Anatomy, Budget, Constraint, Content, ContextPart, Controls,
    Decision, DeclaredMutation, Evidence, Finding, FindingKind, Floor, FoundPlaces, Intent,
    Mutation, Overview, PartFate, Presence, PresenceState, Response, Returned, Risk, ScopeVerdict,
    Score, Severity, Summary, Turn,
};
use remembrancer_replay::{Analysis, RecordedEvent, RecordedPayload, SessionRecord};
use remembrancer_schema::commitment::commit;
use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash, genesis};
use remembrancer_schema::payload::{
    ConstraintKind, ContextProof, CountedTokens, Fate, MutationKind, PartKind, PartOrigin,
    ProofOutcome, RequestedCall, ReturnStatus, SummaryRecord, TokenCount, TokenSource, Trigger,
    Usage, Verdict, Witness,
};
use remembrancer_schema::{ContentHash, Entry, Origin, Salt};

/// The sample ledger's name.
pub(crate) fn origin() -> Origin {
    "ledger.example/sample".parse().expect("valid")
}

/// A session of `entries` entries, chained as a ledger does.
pub(crate) fn record(session: &str, first_index: u64, entries: u64) -> SessionRecord {
    let session: remembrancer_schema::SessionId = session.parse().expect("valid");
    let mut prev = genesis(&origin(), &session);
    let events = (0..entries)
        .map(|sequence| {
            let salt = Salt::from_bytes([sequence as u8; 32]);
            let data = format!("{{\"n\":{sequence}}}");
            let entry = Entry {
                agent: (sequence % 2 == 0).then(|| "billing \"é\"".parse().expect("valid")),
                blobs: vec![ContentHash::of(data.as_bytes()); (sequence % 3) as usize],
                commitment: commit(&salt, data.as_bytes()),
                event: format!("e-{sequence}").parse().expect("valid"),
                index: first_index + sequence,
                origin: origin(),
                prev,
                received: "2026-11-30T08:00:00.250Z".to_owned(),
                sequence,
                session: session.clone(),
                time: (sequence == 0).then(|| "2026-11-30T09:00:00.1239+01:00".to_owned()),
                kind: "custom.note".parse().expect("valid"),
                v: ENTRY_VERSION,
            };
            let bytes = entry.to_bytes();
            prev = entry_hash(&bytes);
            RecordedEvent {
                entry,
                entry_bytes: bytes.into(),
                hash: prev,
                payload: (sequence != 1).then(|| RecordedPayload {
                    salt,
                    data: data.into(),
                }),
            }
        })
        .collect();
    SessionRecord {
        session,
        events,
        blobs: HashMap::new(),
    }
}

/// An analysis for [`record`]: four turns, the third unknown; the limit `contact` leaves with the mutation at turn 4, where
/// the action that breaks it is sent.
pub(crate) fn analysis(session: &str, first_index: u64, entries: u64) -> Analysis {
    Analysis {
        overview: overview(session, entries),
        constraints: vec![
            constraint("contact", ConstraintKind::Prohibition),
            Constraint {
                from_turn: Some(2),
                ..constraint("order", ConstraintKind::Fact)
            },
        ],
        contents: [
            "You may not contact customers",
            "withheld",
            "hello",
            "summary",
        ]
        .map(|text| Content {
            hash: ContentHash::of(text.as_bytes()),
            bytes: Some(text.len() as u64),
            text: Some(Arc::from(text)),
            absence: (text == "withheld").then(|| Absence::Withheld("a name".to_owned())),
        })
        .to_vec(),
        parts: [
            PartKind::System,
            PartKind::User,
            PartKind::Assistant,
            PartKind::Summary,
        ]
        .iter()
        .enumerate()
        .map(|(content, &kind)| part(content, kind))
        .collect(),
        turns: vec![
            turn(1, &[0, 1], None),
            turn(2, &[0, 1, 2], None),
            turn(3, &[], Some("not captured")),
            Turn {
                mutation: Some(0),
                ..turn(4, &[3, 1], None)
            },
        ],
        mutations: vec![mutation(first_index)],
        actions: vec![
            action(2, first_index, "call-1", ScopeVerdict::OutOfScope),
            prohibited_action(first_index),
        ],
        controls: Controls::default(),
        attributions: Vec::new(),
        presence: vec![
            // The second constraint is declared after the first turn.
            vec![present(), absent(None)],
            vec![present(), absent(PresenceState::NoTrace)],
            vec![
                absent(PresenceState::Unknown),
                absent(PresenceState::Unknown),
            ],
            vec![
                Presence {
                    last_present: Some(2),
                    left_with: Some(0),
                    ..absent(PresenceState::NoTrace)
                },
                absent(PresenceState::NoTrace),
            ],
        ],
        findings: vec![Finding {
            kind: FindingKind::ActionProhibited,
            severity: Severity::Alarm,
            turn: Some(4),
            call_id: Some("call-2".to_owned()),
            constraint: Some("contact".to_owned()),
            mutation: Some(0),
            entry: Some(first_index + 3),
            message: "contact_customer breaks contact".to_owned(),
        }],
        summary: Summary {
            actions_without_trace: 1,
            prohibited_without_trace: 1,
            longest_gap_turns: 1,
        },
    }
}

fn overview(session: &str, entries: u64) -> Overview {
    Overview {
        session: session.to_owned(),
        label: Some("a label with <b>markup</b>".to_owned()),
        labels: BTreeMap::from([("arm".to_owned(), "baseline".to_owned())]),
        started: Some("2026-11-30T08:00:00Z".to_owned()),
        last_event: Some("2026-11-30T08:00:00.250Z".to_owned()),
        sealed: true,
        entries,
        unreadable_entries: u64::from(entries > 1),
        intents: vec![Intent {
            entry: 0,
            objective: "settle the dispute".to_owned(),
            stated_by: None,
            witness: remembrancer_schema::payload::Witness::Exact,
        }],
        scores: vec![Score {
            criterion: "care".to_owned(),
            value: 0.5,
            out_of: Some(1.0),
            assigned_by: None,
            witness: remembrancer_schema::payload::Witness::Exact,
        }],
        ..Overview::default()
    }
}

fn constraint(id: &str, kind: ConstraintKind) -> Constraint {
    Constraint {
        id: id.to_owned(),
        kind,
        text: "contact customers".to_owned(),
        entry: 0,
        from_turn: Some(1),
        stated_by: None,
        matcher: "its own words".to_owned(),
        inferred: false,
        witness: remembrancer_schema::payload::Witness::Exact,
    }
}

fn part(content: usize, kind: PartKind) -> ContextPart {
    ContextPart {
        content,
        kind,
        origin: PartOrigin::Operator,
        entry: content as u64,
        first_turn: 1,
        message: Some(0),
        name: None,
        call_id: None,
        tool: None,
        stub: false,
        sources: vec!["call-1".to_owned()],
        estimated_tokens: 10,
    }
}

fn turn(number: u32, parts: &[u32], unknown: Option<&str>) -> Turn {
    Turn {
        number,
        entry: unknown.is_none().then_some(u64::from(number)),
        time: Some("2026-11-30T08:00:01Z".to_owned()),
        parts: parts.iter().copied().collect(),
        unknown: unknown.map(str::to_owned),
        tokens: Some(TokenCount {
            count: 1000,
            source: TokenSource::Measured,
        }),
        witness: Witness::Transcript,
        proof: Some(ContextProof {
            method: "sha256".to_owned(),
            expected: "00".to_owned(),
            outcome: ProofOutcome::Verified,
        }),
        response: Some(Response {
            entry: 2,
            response_id: Some("r-1".to_owned()),
            text: vec!["text".to_owned()],
            calls: vec![RequestedCall {
                call_id: "call-1".to_owned(),
                tool: "t".to_owned(),
            }],
            usage: Some(Usage {
                input_tokens: 1000,
                output_tokens: 50,
                ..Usage::default()
            }),
            model: None,
            stop_reason: Some("tool_use".to_owned()),
            witness: remembrancer_schema::payload::Witness::Exact,
        }),
        mutation: None,
        incomplete: None,
    }
}

fn mutation(first_index: u64) -> Mutation {
    let fate = |part, fate, appended| PartFate {
        part,
        before: Some(0),
        after: Some(0),
        fate,
        replaced_by: None,
        appended,
    };
    Mutation {
        turn: 4,
        previous_turn: Some(2),
        kind: MutationKind::Compaction,
        declared: Some(DeclaredMutation {
            entry: first_index + 2,
            name: Some("cmp-1".to_owned()),
            kind: MutationKind::Compaction,
            trigger: Some(Trigger {
                cause: Some("automatic".to_owned()),
                threshold_tokens: Some(11_000),
                observed_tokens: Some(11_500),
            }),
            summary: Some(SummaryRecord {
                text: "summary".to_owned(),
                ..SummaryRecord::default()
            }),
            withheld: vec!["name".to_owned()],
            injected_fault: None,
            witness: remembrancer_schema::payload::Witness::Exact,
        }),
        fates: vec![
            fate(0, Fate::Summarised, false),
            fate(1, Fate::Kept, false),
            fate(2, Fate::Dropped, false),
            fate(3, Fate::Injected, true),
        ],
        disagreements: Vec::new(),
        budget: Budget {
            counted: Some(CountedTokens {
                uncompacted: 1000,
                compacted: 1100,
                fixed_overhead: Some(200),
                source: TokenSource::Counted,
            }),
            saved_tokens: Some(-100),
            reduction_percent: Some(-10.0),
            ratio: Some(1.1),
            compressible_after: Some(900),
            floor: Some(Floor {
                trigger: 1500,
                required: 2000,
                holds: false,
            }),
            ..Budget::default()
        },
        clearing: None,
        aftermath: Aftermath {
            generation: Some(2),
            orphans: Vec::new(),
            orphan_count: 3,
            anatomy: Some(Anatomy {
                source: TokenSource::Estimated,
                fixed_overhead: 1,
                kernel: 2,
                pinned: 3,
                summary: 4,
                recent: 5,
                stubs: 6,
                total: 21,
                told: None,
            }),
            compacted_again: true,
            repeated_call_count: 7,
            ..Aftermath::default()
        },
    }
}

fn action(turn: u32, first_index: u64, call_id: &str, scope: ScopeVerdict) -> Action {
    Action {
        turn,
        call_id: call_id.to_owned(),
        tool: "contact_customer".to_owned(),
        target: Some("crm".to_owned()),
        operation: None,
        arguments: Some("{\"text\":\"\\u001b[2J\"}".to_owned()),
        entry: first_index + 3,
        time: None,
        returned: Some(Returned {
            entry: first_index + 4,
            status: ReturnStatus::Ok,
            effect: Some("simulated_effect".to_owned()),
            result: None,
            witness: remembrancer_schema::payload::Witness::Exact,
        }),
        decisions: Vec::new(),
        scope,
        scope_version: None,
        breaks: Vec::new(),
        witness: remembrancer_schema::payload::Witness::Exact,
        effects: Default::default(),
    }
}

fn prohibited_action(first_index: u64) -> Action {
    let policies = vec!["prohibited-0".to_owned()];
    Action {
        breaks: vec![0],
        decisions: vec![Decision {
            entry: first_index + 3,
            decider: "governor".to_owned(),
            verdict: Some(Verdict::Deny),
            enforced: false,
            flags: vec!["SCOPE_INTENT_MISMATCH".to_owned()],
            violations: vec!["POL-001".to_owned()],
            reason: None,
            witness: remembrancer_schema::payload::Witness::Exact,
        }],
        ..action(
            4,
            first_index,
            "call-2",
            ScopeVerdict::Prohibited { policies },
        )
    }
}

fn present() -> Presence {
    Presence {
        evidence: FoundPlaces::new(
            30,
            [Evidence {
                state: PresenceState::Verbatim,
                position: 0,
                part: 0,
                range: Some((12, 29)),
                tokens_to_part_end: 12,
                tokens_behind: 2,
                note: None,
                alteration: None,
            }],
        ),
        at_risk: Some(Risk::OnlyInMessages),
        ..Presence::of(Some(PresenceState::Verbatim))
    }
}

fn absent(state: impl Into<Option<PresenceState>>) -> Presence {
    Presence {
        reason: Some("nothing found".into()),
        ..Presence::of(state.into())
    }
}
