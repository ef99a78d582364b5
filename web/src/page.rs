//! What all pages have in common.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use remembrancer_recorder::SessionSummary;
use remembrancer_replay::Analysis;
use remembrancer_schema::payload::Witness;

use crate::assets;
use crate::markup::Markup;
use crate::state::{Session, View};
use crate::text::{LINE_CHARS_MAX, line, plain};

/// A page to be rendered.
pub(crate) struct Page<T>(pub(crate) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => Html(html).into_response(),
            Err(error) => {
                tracing::error!(%error, "a page could not be rendered");
                let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    kind,
                    "The page could not be made.\n",
                )
                    .into_response()
            }
        }
    }
}

/// The frame around every page.
pub(crate) struct Shell {
    pub(crate) stylesheet: String,
    pub(crate) icon: String,
    /// The ledger's name; absent where no ledger may be shown.
    pub(crate) origin: Option<String>,
    /// The workspace that the ledger is of, unless it is the default one.
    pub(crate) workspace: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) version: &'static str,
}

impl Shell {
    /// For pages that anybody may see.
    pub(crate) fn bare() -> Self {
        Self {
            stylesheet: assets::stylesheet_url(),
            icon: assets::icon_url(),
            origin: None,
            workspace: None,
            fingerprint: String::new(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// For those who are signed in.
    pub(crate) fn of(view: &View) -> Self {
        let workspace = view.source.workspace();
        Self {
            origin: Some(view.source.origin().to_string()),
            workspace: (!workspace.is_default()).then(|| workspace.to_string()),
            fingerprint: view.source.public_key().fingerprint()[..16].to_owned(),
            ..Self::bare()
        }
    }
}

/// The frame around a session's pages.
pub(crate) struct Frame {
    pub(crate) number: i64,
    pub(crate) name: Markup,
    pub(crate) name_plain: String,
    /// Which part of the session's navigation is shown as current.
    pub(crate) tab: &'static str,
    pub(crate) first_turn: Option<u32>,
    pub(crate) findings: usize,
    pub(crate) head: String,
    pub(crate) entries: String,
    pub(crate) sealed: bool,
}

impl Frame {
    pub(crate) fn of(session: &Session, tab: &'static str) -> Self {
        Self::around(&session.summary, Some(&session.analysis), tab)
    }

    /// The frame of a session whose record may be unreadable.
    pub(crate) fn around(
        summary: &SessionSummary,
        analysis: Option<&Analysis>,
        tab: &'static str,
    ) -> Self {
        let name = summary.label.as_deref().unwrap_or(summary.id.as_str());
        Self {
            number: summary.number,
            name: line(name, LINE_CHARS_MAX),
            name_plain: plain(name, 80),
            tab,
            first_turn: analysis
                .and_then(|analysis| analysis.turns.first())
                .map(|turn| turn.number),
            findings: analysis.map_or(0, |analysis| analysis.findings.len()),
            head: summary.head.short(),
            entries: count(summary.entries),
            sealed: summary.sealed,
        }
    }
}

/// A number with its thousands set apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with the word that it counts.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// How what is told of a session became known: each class of witness that occurs, from the strongest to the weakest.
pub(crate) fn witnesses(analysis: &Analysis) -> String {
    witness_names(analysis.witnesses())
}

/// The names of witness classes, in the order given.
pub(crate) fn witness_names(classes: impl IntoIterator<Item = Witness>) -> String {
    let names: Vec<&str> = classes.into_iter().map(Witness::as_str).collect();
    match names.is_empty() {
        true => "–".to_owned(),
        false => names.join(", "),
    }
}

/// A recorded time: as a `<time>` if it is one, else as the text that it is.
pub(crate) fn time(recorded: &str) -> Markup {
    let Ok(timestamp) = recorded.parse::<jiff::Timestamp>() else {
        return line(recorded, 40);
    };
    let mut markup = Markup::new();
    let shown = timestamp.strftime("%Y-%m-%d %H:%M:%S UTC");
    markup.element("time", &[("datetime", &timestamp)], shown);
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(counted(1, "action", "actions"), "1 action");
        assert_eq!(
            time("2026-11-30T08:00:00.000+01:00").to_string(),
            "<time datetime=\"2026-11-30T07:00:00Z\">2026-11-30 07:00:00 UTC</time>"
        );
        assert_eq!(
            time("<b>").to_string(),
            "<bdi class=\"rec\">&lt;b&gt;</bdi>"
        );
    }
}
