//! What an analysis holds grows with what is recorded, however long the contexts become.

use super::*;

/// A session of so many requests whose context only grows. A rule stands at its start, one that no part holds is declared
/// too, and a call in each request mentions the first.
fn growing(turns: usize) -> SessionRecord {
    let rule = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","kind":"prohibition","text":"{text}","stated_by":{{"role":"user"}}}}"#
        )
    };
    let mut fixture = SessionFixture::new()
        .event(
            "constraint.declared",
            rule("contact", "Never contact customers."),
        )
        .event(
            "constraint.declared",
            rule("shelf", "Never move the shelf."),
        )
        .event(
            "context.captured",
            r#"{"turn":1,"parts":[{"kind":"user","text":"Never contact customers."}]}"#,
        );
    for turn in 2..=turns {
        let base = turn - 1;
        fixture = fixture.event(
            "context.captured",
            format!(
                r#"{{"turn":{turn},"base":{base},"parts":[
                    {{"kind":"tool_call","tool":"note","call_id":"c{turn}","text":"contact customers {turn}"}},
                    {{"kind":"tool_result","tool":"note","call_id":"c{turn}","text":"noted {turn}"}}]}}"#
            ),
        );
    }
    fixture.record()
}

fn analysed(record: &SessionRecord, at_a_time: usize) -> Arc<Analysis> {
    let mut analyser = Analyser::new(&record.session);
    for events in record.events.chunks(at_a_time) {
        analyser.extend(events, &record.blobs);
        analyser.analysis();
    }
    analyser.into_analysis()
}

#[test]
fn a_context_that_grows_costs_what_is_new_in_it() {
    let held =
        |turns: usize, at_a_time: usize| weight::bytes_held(&analysed(&growing(turns), at_a_time));
    for at_a_time in [usize::MAX, 1] {
        let (short, long) = (held(100, at_a_time), held(400, at_a_time));
        // Four times as many requests, of which each has up to four times as many parts.
        assert!(
            long < short * 9 / 2,
            "{short} bytes of 100 requests, {long} of 400"
        );
        assert!(long < 400 * 2_000, "{long} bytes");
    }
}

#[test]
fn turns_share_the_places_that_are_the_same_in_both() {
    for at_a_time in [usize::MAX, 1] {
        let analysis = analysed(&growing(60), at_a_time);
        let (before, after) = (&analysis.presence[40][0], &analysis.presence[41][0]);
        assert_eq!(before.evidence.len(), 8);
        let shared = after.evidence.iter().filter(|place| {
            let mut known = before.evidence.iter();
            known.any(|known| Arc::ptr_eq(known, place))
        });
        assert_eq!(shared.count(), 7, "all but the newest mention");
        let rule = &before.evidence[0];
        let [nearer, further] =
            [before, after].map(|presence| presence.evidence.tokens_from_end(rule));
        assert!(nearer < further, "{nearer} and {further}");
        let reasons = [40, 41].map(|turn| {
            let reason = analysis.presence[turn][1].reason_in_words();
            reason.expect("nothing of it is there").into_owned()
        });
        assert!(
            reasons[0].contains("the 81 parts of this context"),
            "{reasons:?}"
        );
        assert!(
            reasons[1].contains("the 83 parts of this context"),
            "{reasons:?}"
        );
    }
}
