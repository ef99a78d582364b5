//! `/rejected`: which spans did exporters send in vain? They do not tell those who use them.

use askama::Template;
use remembrancer_replay::RecordedEvent;
use remembrancer_schema::SessionId;
use serde::Deserialize;

use crate::error::PageError;
use crate::markup::Markup;
use crate::page::{Page, Shell, count, time};
use crate::state::View;
use crate::text::line;

/// The session in which the intake of traces keeps them, and the type of its events.
const SESSION: &str = "otlp.rejected";
const TYPE: &str = "custom.otlp.rejected";
/// Spans on the page.
const ROWS_MAX: usize = 300;

#[derive(Template)]
#[template(path = "rejected.html")]
pub(crate) struct RejectedView {
    shell: Shell,
    rows: Vec<Row>,
    /// Number of all, in words.
    total: String,
    /// Those that are not shown.
    left_out: String,
    /// Number of the session that holds them.
    session: Option<i64>,
}

#[derive(Debug)]
struct Row {
    received: Markup,
    span: Markup,
    trace: Markup,
    service: Markup,
    reason: Markup,
}

/// What an event says of spans that were rejected together. Anybody who may append can write such an event: nothing of it is
/// taken for granted.
#[derive(Deserialize)]
struct Rejected {
    count: u64,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    trace: String,
    span: String,
    name: String,
    service: Option<String>,
    reason: String,
}

pub(crate) async fn list(view: View) -> Result<Page<RejectedView>, PageError> {
    let id: SessionId = SESSION.parse().expect("it is in the alphabet");
    let summary = view.source.session_named(&id).await?;
    let (rows, total) = match &summary {
        Some(summary) => rows(&view.source.record_of(summary).await?.events),
        None => (Vec::new(), 0),
    };
    Ok(Page(RejectedView {
        shell: Shell::of(&view),
        total: count(total),
        left_out: match total.saturating_sub(rows.len() as u64) {
            0 => String::new(),
            left => count(left),
        },
        rows,
        session: summary.map(|summary| summary.number),
    }))
}

/// The newest spans first, and how many there are in all.
fn rows(events: &[RecordedEvent]) -> (Vec<Row>, u64) {
    let mut rows = Vec::new();
    let mut total = 0u64;
    for event in events.iter().rev() {
        if event.entry.kind.as_str() != TYPE {
            continue;
        }
        let data = event.payload.as_ref().map(|payload| payload.data.as_ref());
        let read = data.and_then(|data| serde_json::from_str::<Rejected>(data).ok());
        let Some(rejected) = read else {
            continue;
        };
        total = total.saturating_add(rejected.count);
        let room = ROWS_MAX.saturating_sub(rows.len());
        let shown = rejected.spans.iter().take(room).map(|span| Row {
            received: time(&event.entry.received),
            span: line(
                if span.name.is_empty() {
                    &span.span
                } else {
                    &span.name
                },
                80,
            ),
            trace: line(&span.trace, 40),
            service: line(span.service.as_deref().unwrap_or("–"), 60),
            reason: line(&span.reason, 500),
        });
        rows.extend(shown);
    }
    (rows, total)
}

#[cfg(test)]
mod tests {
    use remembrancer_replay::record::fixture::SessionFixture;

    use super::*;

    #[test]
    fn the_newest_spans_come_first_and_what_is_no_list_is_left_out() {
        let list = |name: &str, count: u64| {
            format!(
                r#"{{"count":{count},"spans":[{{"trace":"7a","span":"1b","name":"{name}","service":null,"reason":"<b>no</b>"}}]}}"#
            )
        };
        let record = SessionFixture::new()
            .event("session.started", "{}")
            .event(TYPE, list("old", 1))
            .event(TYPE, r#"{"count":"many"}"#)
            .event("custom.other", list("other", 7))
            .event(TYPE, list("new", 60))
            .erased(TYPE)
            .record();
        let (rows, total) = rows(&record.events);
        assert_eq!(total, 61);
        let shown: Vec<String> = rows.iter().map(|row| row.span.to_string()).collect();
        assert_eq!(shown.len(), 2);
        assert!(
            shown[0].contains("new") && shown[1].contains("old"),
            "{shown:?}"
        );
        let reason = rows[0].reason.to_string();
        assert!(reason.contains("&lt;b&gt;no&lt;/b&gt;"), "{reason}");
    }

    #[test]
    fn a_page_has_no_more_rows_than_it_may() {
        let spans: Vec<String> = (0..50)
            .map(|at| {
                format!(r#"{{"trace":"7a","span":"{at}","name":"","service":"s","reason":"r"}}"#)
            })
            .collect();
        let list = format!(r#"{{"count":50,"spans":[{}]}}"#, spans.join(","));
        let mut fixture = SessionFixture::new().event("session.started", "{}");
        for _ in 0..10 {
            fixture = fixture.event(TYPE, list.as_str());
        }
        let (rows, total) = rows(&fixture.record().events);
        assert_eq!((rows.len(), total), (ROWS_MAX, 500));
    }
}
