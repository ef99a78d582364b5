use super::*;
use crate::incoming::Rejection;
use crate::testing::{TestLedger, note, started};
use crate::{Ledger, LedgerOptions};

/// The value of a line that begins so.
fn value(text: &str, beginning: &str) -> f64 {
    let line = text.lines().find(|line| {
        line.strip_prefix(beginning)
            .is_some_and(|rest| rest.starts_with(' '))
    });
    let line = line.unwrap_or_else(|| panic!("{beginning} is missing:\n{text}"));
    let number = line.rsplit(' ').next().expect("split gives one part");
    number.parse().expect("a number")
}

#[test]
fn every_counter_has_a_name_a_kind_and_help() {
    let metrics = Metrics::new();
    let ledger = metrics.ledger("default");
    metrics.request("GET", "/v1/sessions", Some(200), Duration::from_millis(2));
    metrics.request("GET", "/v1/sessions", None, Duration::from_millis(2));
    metrics.refused(Slug::Busy);
    ledger.rejected(Slug::TooDeep);
    ledger.group_failed(true);
    ledger.checkpoint(5, clock::moment());
    let text = metrics.text();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().expect("split gives one part");
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .filter(|family| text.contains(&format!("# TYPE {family} histogram")))
            .unwrap_or(name);
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
        assert!(text.contains(&format!("# HELP {family} ")), "{line}");
    }
    let page = include_str!("../../../docs/http-api.md");
    let named = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut families = 0;
    for family in named {
        let (name, kind) = family.split_once(' ').expect("a name and a kind");
        assert!(page.contains(&format!("| `{name}` | {kind} |")), "{family}");
        families += 1;
    }
    let listed = page
        .lines()
        .filter(|line| line.starts_with("| `remembrancer_"));
    assert_eq!(listed.count() + 1, families, "a counter that is gone");
    let requests = "remembrancer_http_requests_total{method=\"GET\",route=\"/v1/sessions\",status=";
    assert!(value(&text, &format!("{requests}\"200\"}}")) >= 1.0);
    assert!(value(&text, &format!("{requests}\"none\"}}")) >= 1.0);
    assert!(value(&text, "process_start_time_seconds") > 1.7e9);
}

#[test]
fn what_waits_is_counted_until_it_is_answered() {
    let metrics = Metrics::new();
    let ledger = metrics.ledger("a");
    let other = metrics.ledger("b");
    let requests = "remembrancer_queue_requests{workspace=\"a\"}";
    let bytes = "remembrancer_queue_bytes{workspace=\"a\"}";
    let places = [ledger.queued(100), ledger.queued(20)];
    let _elsewhere = other.queued(7);
    let text = metrics.text();
    assert_eq!((value(&text, requests), value(&text, bytes)), (2.0, 120.0));
    drop(places);
    let text = metrics.text();
    assert_eq!((value(&text, requests), value(&text, bytes)), (0.0, 0.0));
    assert_eq!(
        value(&text, "remembrancer_queue_bytes{workspace=\"b\"}"),
        7.0
    );
    let open = metrics.connection_opened();
    assert_eq!(value(&metrics.text(), "remembrancer_connections"), 1.0);
    drop(open);
    assert_eq!(value(&metrics.text(), "remembrancer_connections"), 0.0);
}

#[test]
fn the_age_of_a_checkpoint_grows_from_when_it_was_signed() {
    let metrics = Metrics::new();
    let ledger = metrics.ledger("default");
    let minute_ago = clock::moment() - jiff::SignedDuration::from_secs(60);
    ledger.checkpoint(9, minute_ago);
    let text = metrics.text();
    let age = value(
        &text,
        "remembrancer_checkpoint_age_seconds{workspace=\"default\"}",
    );
    assert!((60.0..70.0).contains(&age), "{age}");
    assert_eq!(
        value(
            &text,
            "remembrancer_checkpoint_entries{workspace=\"default\"}"
        ),
        9.0
    );
}

#[tokio::test]
async fn a_ledger_counts_what_it_commits() {
    let test = TestLedger::new().await;
    test.ledger.close().await;
    let metrics = Metrics::new();
    let options = || LedgerOptions {
        metrics: metrics.ledger("default"),
        ..LedgerOptions::new(test.path())
    };
    let ledger = Ledger::open(options()).await.expect("opens");
    let events = vec![
        started("s"),
        note("s", "1", "x"),
        note("s", "1", "x"),
        note("t", "1", "x"),
    ];
    let outcomes = ledger.append(events).await.expect("appends");
    assert!(matches!(
        outcomes[3],
        Outcome::Rejected(Rejection::UnknownSession(_))
    ));
    let text = metrics.text();
    let events = |outcome: &str| {
        let labels = format!("{{workspace=\"default\",outcome=\"{outcome}\"}}");
        value(&text, &format!("remembrancer_events_total{labels}"))
    };
    assert_eq!((events("recorded"), events("duplicate")), (2.0, 1.0));
    let rejected = "{workspace=\"default\",problem=\"unknown-session\"}";
    assert_eq!(
        value(
            &text,
            &format!("remembrancer_events_rejected_total{rejected}")
        ),
        1.0
    );
    let label = "{workspace=\"default\"}";
    assert_eq!(
        value(&text, &format!("remembrancer_group_events_count{label}")),
        1.0
    );
    assert_eq!(
        value(&text, &format!("remembrancer_group_events_sum{label}")),
        4.0
    );
    assert_eq!(
        value(&text, &format!("remembrancer_commit_seconds_count{label}")),
        1.0
    );
    assert_eq!(
        value(&text, &format!("remembrancer_ledger_entries{label}")),
        2.0
    );
    assert_eq!(
        value(&text, &format!("remembrancer_queue_requests{label}")),
        0.0
    );
    ledger.close().await;
    // A server that starts knows how old the newest checkpoint is.
    let metrics = Metrics::new();
    let again = LedgerOptions {
        metrics: metrics.ledger("default"),
        ..LedgerOptions::new(test.path())
    };
    let ledger = Ledger::open(again).await.expect("opens");
    let text = metrics.text();
    assert_eq!(
        value(&text, &format!("remembrancer_ledger_entries{label}")),
        2.0
    );
    let age = value(
        &text,
        &format!("remembrancer_checkpoint_age_seconds{label}"),
    );
    assert!((0.0..60.0).contains(&age), "{age}");
    ledger.close().await;
}
