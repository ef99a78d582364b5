use proptest::prelude::*;
use remembrancer_schema::payload::PartKind;

use super::*;
use crate::effort;
use crate::record::fixture::SessionFixture;

/// Few texts and few numbers, so that events meet: what one says of a turn, a call or a text, another says again.
const TEXTS: [&str; 6] = [
    "never contact the customer",
    "the customer was told to wait for the courier",
    "contact the customer at once",
    "a summary: the ledger of shelf seven is damp, and nobody was contacted",
    r#"{"shelf":7,"state":"damp"}"#,
    "",
];
const KINDS: [PartKind; 7] = [
    PartKind::System,
    PartKind::User,
    PartKind::Assistant,
    PartKind::Summary,
    PartKind::ToolCall,
    PartKind::ToolResult,
    PartKind::Memory,
];

/// What one step of a session is made from.
type Step = (u8, u32, usize, usize);

fn text(at: usize) -> &'static str {
    TEXTS[at % TEXTS.len()]
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn part(number: usize, by_hash: bool) -> String {
    let kind = KINDS[number % KINDS.len()].as_str();
    let call = match kind {
        "tool_call" | "tool_result" => {
            format!(r#","call_id":"c{}","tool":"t{}""#, number % 3, number % 2)
        }
        _ => String::new(),
    };
    let said = text(number / 2);
    let content = if by_hash {
        format!(r#""hash":"{}""#, ContentHash::of(said.as_bytes()))
    } else {
        format!(r#""text":{}"#, json(said))
    };
    format!(r#"{{"kind":"{kind}",{content}{call}}}"#)
}

fn parts(seed: usize, by_hash: bool) -> String {
    let parts: Vec<_> = (0..seed % 5)
        .map(|at| part(seed / 5 + at * 11, by_hash))
        .collect();
    parts.join(",")
}

fn declared(seed: usize) -> String {
    match seed % 4 {
        0 => r#"{"id":"c1","kind":"prohibition","text":"never contact the customer","actions":[{"tool":"t1"}]}"#,
        1 => r#"{"id":"c2","kind":"obligation","text":"wait for the courier"}"#,
        2 => r#"{"id":"c1","kind":"fact","text":"shelf seven is damp"}"#,
        _ => r#"{"id":"c3","kind":"prohibition","text":"x","matcher":{"all_of":[{"term":"damp"}],"any_part":true}}"#,
    }
    .to_owned()
}

fn step(fixture: SessionFixture, (kind, turn, a, b): Step) -> SessionFixture {
    let hash = ContentHash::of(text(a).as_bytes());
    let call = format!("c{}", a % 3);
    let (kind, data) = match kind {
        0 | 1 => (
            "context.captured",
            format!(r#"{{"turn":{turn},"parts":[{}]}}"#, parts(a, false)),
        ),
        2 => (
            "context.captured",
            format!(r#"{{"turn":{turn},"parts":[{}]}}"#, parts(a, true)),
        ),
        3..=5 => {
            let base = turn.saturating_sub(1 + u32::from(kind == 5));
            let parts = parts(a, kind == 4);
            (
                "context.captured",
                format!(
                    r#"{{"turn":{turn},"base":{base},"parts":[{parts}],"tokens":{{"count":{b},"source":"counted"}}}}"#
                ),
            )
        }
        6 => {
            let parts = match a % 2 {
                0 => format!(r#"{{"kind":"summary","hash":"{hash}","encrypted":true}}"#),
                _ => format!(r#"{{"kind":"user","hash":"{hash}","withheld":"personal"}}"#),
            };
            (
                "context.captured",
                format!(r#"{{"turn":{turn},"parts":[{parts}]}}"#),
            )
        }
        7 => (
            "model.responded",
            format!(
                r#"{{"turn":{turn},"text":[{}],"usage":{{"input_tokens":{b},"output_tokens":1}}}}"#,
                json(text(a))
            ),
        ),
        8 | 21 | 22 => (
            "tool.called",
            format!(
                r#"{{"turn":{turn},"call_id":"{call}","tool":"t{}","arguments":{}}}"#,
                b % 3,
                text(4)
            ),
        ),
        9 | 23 => (
            "tool.returned",
            format!(
                r#"{{"call_id":"{call}","status":"ok","result":{}}}"#,
                json(text(b))
            ),
        ),
        10 => ("constraint.declared", declared(a)),
        11 => (
            "context.mutated",
            format!(
                r#"{{"turn":{turn},"kind":"compaction","parts":[{{"fate":"kept","position":{}}}],"summary":{{"text":{}}}}}"#,
                b % 3,
                json(text(a))
            ),
        ),
        12 => (
            "decision.recorded",
            format!(r#"{{"decider":"g","call_id":"{call}","verdict":"deny"}}"#),
        ),
        13 => (
            "scope.declared",
            r#"{"tools":[{"tool":"t1"}],"permitted":[{"tool":"t1"},{"tool":"t2"}]}"#.to_owned(),
        ),
        14 => (
            "report.filed",
            r#"{"claimed_actions":[{"text":"did it","tool":"t1"}]}"#.to_owned(),
        ),
        15 => (
            "session.started",
            format!(r#"{{"label":"l","witness":"exact","compaction_trigger_tokens":{b}}}"#),
        ),
        16 => (
            "artifact.changed",
            format!(r#"{{"name":"f","text":{}}}"#, json(text(a))),
        ),
        17 => return fixture.blob(text(a).as_bytes()),
        18 => return fixture.blob(&[0xff, 0xfe]),
        19 => return fixture.erased("context.captured"),
        _ => ("session.ended", "{}".to_owned()),
    };
    fixture.event(kind, data)
}

/// The records of a session after each of its steps.
fn records(steps: &[Step]) -> Vec<SessionRecord> {
    let mut fixture = SessionFixture::new();
    steps
        .iter()
        .map(|&next| {
            fixture = step(fixture.clone(), next);
            fixture.clone().record()
        })
        .collect()
}

/// Appends what a record has beyond what the analyser knows.
fn follow(analyser: &mut Analyser, record: &SessionRecord) {
    let known = usize::try_from(analyser.entries()).unwrap();
    analyser.extend(&record.events[known..], &record.blobs);
}

proptest! {
    #[test]
    fn a_session_in_pieces_gives_what_it_gives_whole(
        steps in proptest::collection::vec((0u8..24, 1u32..9, 0usize..1000, 0usize..90), 1..40),
        looks in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let mut analyser = Analyser::new(&"s-1".parse().unwrap());
        let mut held: Option<(Arc<Analysis>, Analysis)> = None;
        for (record, looked) in records(&steps).iter().zip(looks) {
            follow(&mut analyser, record);
            if looked {
                let whole = crate::analyse(record);
                prop_assert_eq!(&**analyser.analysis(), &whole);
                // What a reader holds stays as it was, whatever is appended later.
                if let Some((held, as_it_was)) = held.replace((Arc::clone(analyser.analysis()), whole)) {
                    prop_assert_eq!(&*held, &as_it_was);
                }
            }
        }
        let last = records(&steps).pop().unwrap();
        prop_assert_eq!(analyser.head(), last.head());
        prop_assert_eq!(&*analyser.into_analysis(), &crate::analyse(&last));
    }
}

/// A session whose every turn appends one result of the same length.
fn growing(turns: u32) -> SessionRecord {
    let mut fixture = SessionFixture::new().event("constraint.declared", declared(0));
    for turn in 1..=turns {
        let text = format!("shelf {turn:05}: never contact the customer about the damp");
        let base = match turn % 20 {
            1 => String::new(),
            _ => format!(r#""base":{},"#, turn - 1),
        };
        fixture = fixture
            .event(
                "context.captured",
                format!(r#"{{"turn":{turn},{base}"parts":[{{"kind":"user","text":"{text}"}}]}}"#),
            )
            .event("model.responded", format!(r#"{{"turn":{turn}}}"#));
    }
    fixture.record()
}

#[test]
fn a_turn_costs_the_same_text_work_early_and_late() {
    let record = growing(200);
    let mut analyser = Analyser::new(&record.session);
    let mut spent = Vec::new();
    for turn in 0..200 {
        let until = 1 + 2 * (turn + 1);
        spent.push(effort::of(|| {
            for end in [until - 1, until] {
                let events = &record.events[usize::try_from(analyser.entries()).unwrap()..end];
                analyser.extend(events, &record.blobs);
                analyser.analysis();
            }
        }));
    }
    assert!(spent[1] > 0, "the work is counted");
    assert!(spent[1..].iter().all(|&work| work == spent[1]), "{spent:?}");
    assert_eq!(analyser.into_analysis().turns.len(), 200);
}

#[test]
fn what_is_held_for_later_events_weighs() {
    let large = "x".repeat(1 << 20);
    let empty = Analyser::of(&SessionFixture::new().record()).bytes_held();
    for (kind, data) in [
        (
            "model.responded",
            format!(r#"{{"turn":1,"text":["{large}"]}}"#),
        ),
        ("intent.declared", format!(r#"{{"objective":"{large}"}}"#)),
        (
            "tool.returned",
            format!(r#"{{"call_id":"c","status":"ok","result":"{large}"}}"#),
        ),
    ] {
        let mut analyser = Analyser::of(&SessionFixture::new().event(kind, data).record());
        analyser.analysis();
        let held = analyser.bytes_held() - empty;
        assert!(held > 1 << 20, "{kind}: {held}");
    }
    let blob = Analyser::of(&SessionFixture::new().blob(large.as_bytes()).record());
    assert!(blob.bytes_held() - empty > 1_000_000);
}

#[test]
fn what_waits_for_a_call_and_what_texts_show_weighs() {
    let start = SessionFixture::new().event(
        "constraint.declared",
        r#"{"id":"c","kind":"prohibition","text":"never contact the customer"}"#,
    );
    let held = |fixture: SessionFixture| {
        let mut analyser = Analyser::of(&fixture.record());
        analyser.analysis();
        analyser.bytes_held()
    };
    let empty = held(start.clone());
    let large = "x".repeat(1 << 20);
    let result = format!(r#"{{"call_id":"c","status":"ok","result":"{large}"}}"#);
    let waiting = held(start.clone().event("tool.returned", result)) - empty;
    assert!(waiting > 2 << 20, "its text and the result: {waiting}");
    let decision =
        format!(r#"{{"decider":"g","call_id":"c","verdict":"deny","reason":"{large}"}}"#);
    let loose = held(start.clone().event("decision.recorded", decision)) - empty;
    assert!(loose > 2 << 20, "the payload and the decision: {loose}");
    let capture = |said: &str| {
        let parts: Vec<_> = (0..400)
            .map(|at| format!(r#"{{"kind":"user","text":"{said} {at:03}"}}"#))
            .collect();
        format!(r#"{{"turn":1,"parts":[{}]}}"#, parts.join(","))
    };
    let plain = held(
        start
            .clone()
            .event("context.captured", capture("the shelf here is so damp")),
    );
    let shown = held(start.event("context.captured", capture("never contact the customer")));
    assert!(
        shown > plain + 400 * size_of::<crate::sighting::Sighting>(),
        "{plain} and {shown}"
    );
}

mod growth;
mod late;
