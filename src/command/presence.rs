//! `remembrancer presence`

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Presence, PresenceState, Risk, ScopeVerdict};

use super::session::SessionArgs;
use crate::failure::Failure;
use crate::terminal::{self, Format, excerpt};

/// Arguments of `presence`.
#[derive(clap::Args)]
pub(crate) struct PresenceArgs {
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) async fn run(args: PresenceArgs) -> Result<(), Failure> {
    let read = args.session.read().await?;
    match args.session.format {
        Format::Json => terminal::print_json(&remembrancer_replay::view::presence(&read.analysis)),
        Format::Text => terminal::print(&text(&read.analysis)),
    }
}

fn text(analysis: &Analysis) -> String {
    let mut text = legend(analysis);
    let constraints: Vec<usize> = (0..analysis.constraints.len())
        .filter(|&constraint| analysis.constraints[constraint].is_limit())
        .collect();
    let mut heading = vec!["turn".to_owned(), "action".to_owned()];
    heading.extend(
        constraints
            .iter()
            .map(|&constraint| excerpt(&analysis.constraints[constraint].id, 24)),
    );
    let rows: Vec<Vec<String>> = analysis
        .actions
        .iter()
        .map(|action| {
            let mark = match &action.scope {
                _ if !action.breaks.is_empty() => " ! prohibited",
                ScopeVerdict::Prohibited { .. } => " ! prohibited",
                ScopeVerdict::OutOfScope => " ! out of scope",
                _ => "",
            };
            let mut row = vec![
                action.turn.to_string(),
                format!("{}{mark}", excerpt(&action.tool, 30)),
            ];
            row.extend(
                constraints
                    .iter()
                    .map(|&constraint| state(analysis.presence_at(action, constraint))),
            );
            row
        })
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    text.push_str(&terminal::table(&heading, &rows));
    text.push_str(&marks(&rows));
    text.push_str(&controls(analysis));
    text.push_str(&summary(analysis));
    text
}

/// Behind a state: it stands only in a summary, or only there and in messages.
const IN_SUMMARY: &str = " (s)";
const IN_MESSAGES: &str = " (m)";

fn state(presence: Option<&Presence>) -> String {
    let state = presence.map_or(PresenceState::Unknown, |presence| presence.state);
    let mark = match presence.and_then(|presence| presence.at_risk) {
        Some(Risk::OnlyInSummary) => IN_SUMMARY,
        Some(Risk::OnlyInMessages) => IN_MESSAGES,
        None => "",
    };
    format!("{}{mark}", state.as_str())
}

/// What the marks behind states mean, for those that occur.
fn marks(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    let mut explain = |mark: &str, meaning: &str| {
        if rows.iter().flatten().any(|cell| cell.ends_with(mark)) {
            text.push_str(&format!("{}: {meaning}\n", mark.trim()));
        }
    };
    explain(
        IN_SUMMARY,
        "at risk, it stands only in a summary, whose words are the summarizer's",
    );
    explain(
        IN_MESSAGES,
        "at risk, it stands only in messages, which the next compaction may take",
    );
    text
}

/// What the checks say where they cannot say anything.
fn controls(analysis: &Analysis) -> String {
    let controls = &analysis.controls;
    let mut text = String::from("\ncontrols:\n");
    for emptied in &controls.emptied {
        text.push_str(&format!("  {}\n", emptied.in_words()));
    }
    let cannot_fail: Vec<String> = controls
        .cannot_fail
        .iter()
        .filter_map(|&constraint| analysis.constraints.get(constraint))
        .map(|constraint| excerpt(&constraint.id, 60))
        .collect();
    if !cannot_fail.is_empty() {
        text.push_str(&format!(
            "  instructions or re-supplied material hold these at every known turn, so their check cannot fail: {}\n",
            cannot_fail.join(", ")
        ));
    }
    for control in &controls.never_stated {
        let result = match &control.found {
            None => "found nowhere, as it must be".to_owned(),
            Some(found) => format!(
                "FOUND at turn {} as {}: the checks of this session are in doubt",
                found.turn,
                found.state.as_str()
            ),
        };
        text.push_str(&format!(
            "  nobody stated {:?}: {result}\n",
            excerpt(&control.text, 80)
        ));
    }
    text
}

fn legend(analysis: &Analysis) -> String {
    let mut text = String::new();
    for constraint in &analysis.constraints {
        let line = format!(
            "{} ({}): {}\n",
            excerpt(&constraint.id, 60),
            constraint.kind.as_str(),
            excerpt(&constraint.text, 100)
        );
        text.push_str(&line);
    }
    text.push('\n');
    text
}

fn summary(analysis: &Analysis) -> String {
    let summary = &analysis.summary;
    let alarming = summary.prohibited_without_trace > 0;
    let style = if alarming {
        Style::new().red().bold()
    } else {
        Style::new()
    };
    format!(
        "\n{} of {} actions were sent while at least one limit had no textual trace in the context;\n{}\n\
         longest stretch without one limit: {} turns. Sequence is not cause: this says what the context held.\n",
        summary.actions_without_trace,
        analysis.actions.len(),
        format!(
            "{} prohibited actions were sent while the limit that they break had none;",
            summary.prohibited_without_trace
        )
        .style(style),
        summary.longest_gap_turns,
    )
}
