//! The work that hostile texts make, counted in tokens looked at.

use super::*;
use crate::effort;
use crate::record::fixture::SessionFixture;

const HOSTILE: [&str; 16] = [
    "contact or customers may ",
    "usually contact customers 5 days, ",
    "contact customers: may 5; ",
    "or contact customers ",
    "contact customers; ",
    "you may contact customers unless asked. ",
    "unless contact customers ",
    "may not: contact customers\n",
    "You may:\n- contact customers\n",
    "# never\n# contact customers\n",
    "contact or any of the customers ",
    "customers may not be ",
    "no customers may ",
    "never contact ",
    "a: ",
    "contact ",
];

fn watch() -> Watch {
    use ConstraintKind::{Fact, Obligation, Permission, Prohibition};
    let long = "contact customers ".repeat(400);
    let declared = [
        (Prohibition, "contact customers"),
        (Prohibition, "never contact customers"),
        (Permission, "contact customers"),
        (Obligation, "contact customers"),
        (Fact, "contact customers contact customers contact"),
        (Fact, long.as_str()),
        (Prohibition, "never a a a a contact"),
    ];
    let constraints: Vec<_> = (0..)
        .zip(declared)
        .map(|(index, (kind, text)): (u32, _)| constraint(&format!("c{index}"), kind, text))
        .collect();
    Watch::new(&constraints)
}

#[test]
fn work_grows_with_the_text_and_no_faster() {
    let watch = watch();
    let constraints = watch.constraints().len() as u64;
    for unit in HOSTILE {
        let work = |times: usize| {
            let text = unit.repeat(times);
            effort::of(|| drop(watch.sight(&text, PartKind::User, None)))
        };
        let (short, long) = (work(300), work(3000));
        let tokens = 3000 * unit.split_whitespace().count() as u64;
        assert!(
            long <= 11 * short + 1000,
            "{unit:?}: {short} for 300, {long} for 3000"
        );
        assert!(
            long <= 120 * constraints * tokens,
            "{unit:?}: {long} for {tokens} tokens"
        );
    }
    let looked = effort::of(|| drop(watch.sight(&HOSTILE[0].repeat(300), PartKind::User, None)));
    assert!(looked >= 900, "the count counts: {looked}");
}

/// Two megabytes of one hostile unit are judged, and as the topic that they are.
#[test]
fn a_text_of_a_hundred_thousand_occurrences_is_judged() {
    let text = "or contact customers ".repeat(100_000);
    let watch = Watch::new(&[constraint(
        "c",
        ConstraintKind::Prohibition,
        "contact customers",
    )]);
    let mut found = Vec::new();
    let work = effort::of(|| found = watch.sight(&text, PartKind::User, None).found);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].state, PresenceState::Mention);
    assert!(work < 20 * 300_000, "{work}");
}

/// What contexts showed that are no longer those of the session is not kept.
#[test]
fn what_no_context_holds_any_more_is_dropped() {
    let declared = [constraint(
        "c",
        ConstraintKind::Prohibition,
        "contact customers",
    )];
    let parts: Vec<_> = (0..1_000)
        .map(|at| format!(r#"{{"kind":"user","text":"You may not contact customers {at}"}}"#))
        .collect();
    let capture = format!(r#"{{"turn":1,"parts":[{}]}}"#, parts.join(","));
    let record = SessionFixture::new()
        .event("context.captured", capture)
        .record();
    let timeline = ContextTimeline::rebuild(&record);
    let mut seen = Seen::new(&declared);
    let empty = seen.bytes();
    let mut rows = Vec::new();
    seen.extend(&mut rows, &timeline, &[], &declared);
    let held = seen.bytes() - empty;
    assert!(held > 1_000 * size_of::<Sightings>(), "{held}");
    seen.extend(&mut rows, &timeline, &[], &declared);
    assert_eq!(seen.bytes() - empty, held, "nothing new, nothing dropped");
    rows.clear();
    seen.extend(&mut rows, &ContextTimeline::default(), &[], &declared);
    seen.extend(&mut rows, &ContextTimeline::default(), &[], &declared);
    assert_eq!(seen.bytes(), empty);
}
