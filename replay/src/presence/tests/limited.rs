//! A text that is too long to be compared as a whole: it is told, and nothing is made certain by it.

use crate::analysis::{Analysis, FindingKind, PresenceState};
use crate::record::SessionRecord;
use crate::record::fixture::SessionFixture;
use crate::{Analyser, analyse};

const DECLARED: &str = "Never alpha beta for 5 days.";
/// Holds half of its words, and says nothing.
const CLAUSE: &str = "alpha beta. ";

/// A turn for each list of parts.
fn session(turns: &[&[(&str, &str)]]) -> SessionRecord {
    let declared = format!(r#"{{"id":"c","kind":"prohibition","text":"{DECLARED}"}}"#);
    let mut fixture = SessionFixture::new().event("constraint.declared", declared);
    for (turn, parts) in (1..).zip(turns) {
        let parts: Vec<String> = parts
            .iter()
            .map(|(kind, text)| format!(r#"{{"kind":"{kind}","text":"{text}"}}"#))
            .collect();
        let captured = format!(r#"{{"turn":{turn},"parts":[{}]}}"#, parts.join(","));
        fixture = fixture.event("context.captured", captured);
    }
    fixture.record()
}

fn states(analysis: &Analysis) -> Vec<PresenceState> {
    let states = analysis.presence.iter().map(|row| row[0].state);
    states.map(|state| state.expect("declared")).collect()
}

fn told(analysis: &Analysis) -> Vec<(Option<u32>, Option<&str>, &str)> {
    let limited = |kind| kind == FindingKind::AnalysisLimited;
    analysis
        .findings
        .iter()
        .filter(|finding| limited(finding.kind))
        .map(|finding| {
            let constraint = finding.constraint.as_deref();
            (finding.turn, constraint, finding.message.as_str())
        })
        .collect()
}

#[test]
fn what_was_not_compared_is_told_once_and_leaves_presence_open() {
    let (few, many) = (CLAUSE.repeat(1_000), CLAUSE.repeat(1_300));
    let analysis = analyse(&session(&[
        &[("user", &few)],
        &[("user", &few), ("user", &many)],
        &[("user", &few), ("user", &many), ("user", "go on")],
        &[("user", &many), ("system", DECLARED)],
        &[("user", "go on")],
    ]));
    let states = states(&analysis);
    assert_ne!(states[0], PresenceState::Opaque, "all of it was compared");
    assert_eq!(states[1..3], [PresenceState::Opaque; 2]);
    assert_eq!(states[3], PresenceState::Verbatim, "that is certain");
    assert_eq!(states[4], PresenceState::NoTrace);
    let reason = analysis.presence[1][0].reason_in_words().expect("a reason");
    assert!(
        reason.contains("position 1") && reason.contains("300"),
        "{reason}"
    );
    let [(turn, constraint, message)] = told(&analysis)[..] else {
        panic!("{:?}", told(&analysis));
    };
    assert_eq!((turn, constraint), (Some(2), Some("c")));
    assert!(message.contains("300 clauses"), "{message}");
}

#[test]
fn another_text_that_is_read_whole_settles_it() {
    let many = CLAUSE.repeat(1_300);
    let softened = "You may alpha beta for 5 days.";
    let analysis = analyse(&session(&[
        &[("user", softened)],
        &[("user", &many), ("user", softened)],
    ]));
    let states = states(&analysis);
    assert_eq!(states, [PresenceState::Altered; 2]);
    assert_eq!(told(&analysis).len(), 1);
}

/// Looked at after each entry.
fn in_steps(record: &SessionRecord) -> Analyser {
    let mut analyser = Analyser::new(&record.session);
    for event in &record.events {
        analyser.extend(std::slice::from_ref(event), &record.blobs);
        analyser.analysis();
    }
    analyser
}

#[test]
fn a_session_that_grows_tells_the_same() {
    let (many, more) = (CLAUSE.repeat(1_300), CLAUSE.repeat(1_400));
    let record = session(&[
        &[("user", &many)],
        &[("user", &many), ("user", &more)],
        &[("user", &more)],
    ]);
    let whole = analyse(&record);
    assert_eq!(told(&whole).len(), 2);
    assert_eq!(**in_steps(&record).analysis(), whole);
    // A later word about an earlier turn: what followed is judged anew, and told once.
    let mut late = record.clone();
    late.events.swap(1, 2);
    let whole = analyse(&late);
    assert_eq!(told(&whole).len(), 2);
    assert_eq!(**in_steps(&late).analysis(), whole);
}
